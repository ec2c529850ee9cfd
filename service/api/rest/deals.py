"""The catalogue of open practice deals, with what the solver knows of them."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.api.errors import Malformed
from service.api.house import house_of
from service.api.http import Endpoint, cursor_number, cursor_text, one_of, page_limit, reply
from service.rules import GAMES
from service.storage import certificates
from service.storage.certificates import Listed

EASE = {"hard": (0, 19), "medium": (20, 99), "easy": (100, 200)}
"""How many of 200 greedy play-outs win, by band: under a tenth, under a half, and the rest."""

NAMES = sorted(GAMES)
STRIDE = 1_000_000
"""More than any game has deals in the catalogue: game and number make one number of a cursor."""


def _shown(deal: Listed) -> dict[str, object]:
    return {
        "game": deal.game,
        "version": deal.deal_version,
        "seed": deal.seed,
        "commitment": deal.commitment,
        "certificate": {
            "verdict": deal.verdict,
            "solver_version": deal.solver_version,
            "budget": deal.budget,
            "states": deal.states,
            "par": deal.par,
            "ease": deal.ease / 200,
        },
    }


class Deals(Endpoint):
    """`/v1/deals`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        game = one_of(request, "game", tuple(GAMES))
        verdict = one_of(request, "verdict", ("solved", "unwinnable", "unknown"))
        ease = one_of(request, "ease", tuple(EASE))
        scope = f"deals {game} {verdict} {ease}"
        at_game, number = divmod(cursor_number(request, scope), STRIDE)
        if at_game >= len(NAMES):
            raise Malformed("cursor is not one of ours")
        limit = page_limit(request)
        async with house.database.read() as connection:
            rows = await certificates.page(
                connection,
                game=game,
                verdict=verdict,
                ease=(0, 200) if ease is None else EASE[ease],
                after=(NAMES[at_game], number),
                limit=limit + 1,
            )
        following = None
        if len(rows) > limit:
            last = rows[limit - 1]
            following = cursor_text(scope, str(NAMES.index(last.game) * STRIDE + last.number))
        return reply({"items": [_shown(row) for row in rows[:limit]], "next": following})


routes = [Route("/deals", Deals)]
