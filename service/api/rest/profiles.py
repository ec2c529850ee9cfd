"""What everybody may know of a player."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.api.errors import Malformed
from service.api.house import house_of
from service.api.http import (
    Endpoint,
    cursor_number,
    cursor_text,
    one_of,
    page_limit,
    path_id,
    reply,
)
from service.rules import GAMES


class OnePlayer(Endpoint):
    """`/v1/players/{id}`"""

    async def get(self, request: Request) -> Response:
        return reply(await house_of(request).profiles.profile(path_id(request)))


class RatingHistory(Endpoint):
    """`/v1/players/{id}/rating-history`"""

    async def get(self, request: Request) -> Response:
        player_id = path_id(request)
        game = one_of(request, "game", tuple(GAMES))
        if game is None:
            raise Malformed(f"game must be one of {', '.join(GAMES)}")
        scope = f"ratings {player_id} {game}"
        after = cursor_number(request, scope)
        steps, following = await house_of(request).profiles.rating_history(
            player_id, game, after, page_limit(request)
        )
        return reply(
            {
                "items": steps,
                "next": None if following is None else cursor_text(scope, str(following)),
            }
        )


routes = [
    Route("/players/{id}", OnePlayer),
    Route("/players/{id}/rating-history", RatingHistory),
]
