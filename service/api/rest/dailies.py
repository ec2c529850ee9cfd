"""The daily: one open race a game and UTC date. Tomorrow's does not exist for anybody."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.api.house import house_of
from service.api.http import Endpoint, carried_out, reply, viewer
from service.contest.season import day_start
from service.rules import GAMES
from service.storage.shelf import NotFound


async def _daily(request: Request, day: str | None) -> Response:
    house = house_of(request)
    who = await viewer(request)
    game = request.path_params["game"]
    if game not in GAMES:
        raise NotFound
    race_id = await carried_out(house.open_races.daily(game, day))
    return reply(await house.reader.race_view(race_id, who))


class Today(Endpoint):
    """`/v1/daily/{game}`"""

    async def get(self, request: Request) -> Response:
        return await _daily(request, None)


class Dated(Endpoint):
    """`/v1/daily/{game}/{date}`"""

    async def get(self, request: Request) -> Response:
        day = request.path_params["date"]
        try:
            day_start(day)
        except ValueError:
            raise NotFound from None
        return await _daily(request, day)


routes = [Route("/daily/{game}", Today), Route("/daily/{game}/{date}", Dated)]
