"""Leaderboards: season, rating and deal. A race's own are its standings."""

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.api.boards import board_page
from service.api.house import house_of
from service.api.http import Endpoint
from service.rules import GAMES, check_seed
from service.rules.deal import BadSeed
from service.storage.shelf import NotFound

MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


def _game(request: Request) -> str:
    game: str = request.path_params["game"]
    if game not in GAMES:
        raise NotFound
    return game


class Season(Endpoint):
    """`/v1/leaderboards/season/{game}/{month}`"""

    async def get(self, request: Request) -> Response:
        boards, game, month = (
            house_of(request).leaderboards,
            _game(request),
            request.path_params["month"],
        )
        if not MONTH.fullmatch(month):
            raise NotFound
        return await board_page(
            request, f"season {game} {month}", lambda ask: boards.season(game, month, ask)
        )


class Rating(Endpoint):
    """`/v1/leaderboards/rating/{game}`"""

    async def get(self, request: Request) -> Response:
        boards, game = house_of(request).leaderboards, _game(request)
        return await board_page(request, f"rating {game}", lambda ask: boards.rating(game, ask))


class Deal(Endpoint):
    """`/v1/leaderboards/deals/{game}/{seed}`"""

    async def get(self, request: Request) -> Response:
        boards, game = house_of(request).leaderboards, _game(request)
        try:
            seed = check_seed(request.path_params["seed"])
        except BadSeed:
            raise NotFound from None
        return await board_page(
            request, f"deal {game} {seed}", lambda ask: boards.deal(game, seed, ask)
        )


routes = [
    Route("/leaderboards/season/{game}/{month}", Season),
    Route("/leaderboards/rating/{game}", Rating),
    Route("/leaderboards/deals/{game}/{seed}", Deal),
]
