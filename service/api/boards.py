"""Asking for a page of a board, and answering with one."""

import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from service.api.errors import Malformed, Unauthorized
from service.api.http import cursor_at, cursor_text, one_of, page_limit, reply, viewer
from service.feed.boards import BoardPage
from service.storage.boards import Ask
from service.storage.ids import is_id

KINDS = ("guest", "human", "bot")
_MERIT = re.compile(r"-?[0-9]{1,18}")


async def board_page(
    request: Request, scope: str, read: Callable[[Ask], Awaitable[BoardPage]]
) -> Response:
    """Answer a request for a page of a board: `limit`, `cursor`, `around=me|PLAYER_ID`, `kind`.

    A cursor belongs to its board and kind. Raises `Malformed`, `NotOnBoard`, and `Unauthorized`
    for `around=me` without a token.
    """
    who = await viewer(request)
    kind = one_of(request, "kind", KINDS)
    around = request.query_params.get("around")
    if around == "me":
        if who is None:
            raise Unauthorized
        around = who
    elif around is not None and not is_id(around):
        raise Malformed("around must be me or the id of a player")
    scope = f"{scope} {kind}"
    after = None
    at = cursor_at(request, scope)
    if at is not None:
        merit, _, player = at.partition("/")
        if not (_MERIT.fullmatch(merit) and is_id(player)):
            raise Malformed("cursor is not one of ours")
        after = int(merit), player
    page = await read(Ask(page_limit(request), kind, after, around, who))
    following = None
    if page.next is not None:
        merit_, player_ = page.next
        following = cursor_text(scope, f"{merit_}/{player_}")
    return reply(
        {
            "items": page.items,
            "next": following,
            "total": page.total,
            "as_of": page.as_of,
            "me": page.me,
        }
    )
