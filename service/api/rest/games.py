"""The games, in words and data."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.api.http import Endpoint, reply
from service.rules import GAMES, RULES_VERSION, Game
from service.storage.shelf import NotFound


def _shown(game: Game) -> dict[str, Any]:
    return {
        "game": game.name,
        "title": game.titles,
        "goal": {"cards": game.goal, "text": game.goal_text},
        "piles": game.piles,
        "rules": game.rules,
        "rules_version": RULES_VERSION,
    }


class Games(Endpoint):
    """`/v1/games`"""

    async def get(self, _request: Request) -> Response:
        return reply({"items": [_shown(game) for game in GAMES.values()], "next": None})


class OneGame(Endpoint):
    """`/v1/games/{game}`"""

    async def get(self, request: Request) -> Response:
        game = GAMES.get(request.path_params["game"])
        if game is None:
            raise NotFound
        return reply(_shown(game))


routes = [Route("/games", Games), Route("/games/{game}", OneGame)]
