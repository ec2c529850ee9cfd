"""Into a lobby without knowing one (the rematch, the quick race), and house bots asked into one."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.accounts.limits import RACES
from service.api.house import house_of
from service.api.http import Endpoint, body_bytes, once, parsed, path_id, player, reply, sent_or
from service.api.messages import AskBots, NewRace, Nothing, Quick
from service.contest.player import Player
from service.referee.lobbies import Entered, Slip


async def _entered(
    request: Request,
    who: Player,
    body: bytes,
    command: Callable[[Slip | None], Awaitable[Entered]],
) -> Response:
    """201 with the race that was made, or 200 with the one that was joined."""
    house = house_of(request)

    def shown(entered: Entered) -> Response:
        view = house.reader.still_view(entered.race, who.id)
        if entered.made:
            return reply(view, 201, {"Location": f"/v1/races/{view.id}"})
        return reply(view)

    return await once(request, who, body, command, shown)


class Rematch(Endpoint):
    """`/v1/races/{id}/rematch`"""

    async def post(self, request: Request) -> Response:
        lobbies, race_id = house_of(request).lobbies, path_id(request)
        who = await player(request, "host", RACES)
        body, _ = await sent_or(request, Nothing, Nothing())
        return await _entered(request, who, body, lambda slip: lobbies.rematch(race_id, who, slip))


class QuickRace(Endpoint):
    """`/v1/quick`"""

    async def post(self, request: Request) -> Response:
        lobbies = house_of(request).lobbies
        who = await player(request, "host", RACES)
        body = await body_bytes(request)
        asked = parsed(request, body, Quick)
        # What anybody gets who makes a race and says nothing more about it.
        settings = NewRace(game=asked.game, kind="live").live()
        return await _entered(request, who, body, lambda slip: lobbies.quick(who, settings, slip))


class HouseBots(Endpoint):
    """`/v1/races/{id}/bots`"""

    async def post(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        who = await player(request, "host")
        body = await body_bytes(request)
        asked = parsed(request, body, AskBots)
        return await once(
            request,
            who,
            body,
            lambda slip: house.races.ask_bots(race_id, who.id, asked.level, asked.count, slip),
            lambda race: reply(house.reader.still_view(race, who.id)),
        )


routes = [
    Route("/races/{id}/bots", HouseBots),
    Route("/races/{id}/rematch", Rematch),
    Route("/quick", QuickRace),
]
