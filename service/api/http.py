"""What every REST handler shares: who asks, what was sent, how it is answered."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import URL
from starlette.endpoints import HTTPEndpoint
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from service.accounts.accounts import BadToken
from service.accounts.limits import Limit
from service.api.errors import (
    BadJson,
    ForeignOrigin,
    Malformed,
    MethodNotAllowed,
    MissingScope,
    NotJson,
    TooLarge,
    Unauthorized,
    problem,
)
from service.api.house import House, house_of
from service.api.messages import TokenScope
from service.api.rates import recognised, spend
from service.contest.player import Player
from service.storage import receipts
from service.storage.ids import is_id
from service.storage.players import Token
from service.storage.receipts import Receipt, Reply
from service.storage.shelf import NotFound

T = TypeVar("T")

MAX_BODY = 64 * 1024
COOKIE = "samedeal"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PRIVATE = {"Cache-Control": "private, no-store"}
Scope = TokenScope

_encode = msgspec.json.Encoder().encode


class Endpoint(HTTPEndpoint):
    """One path; its methods are those that the class has."""

    async def method_not_allowed(self, request: Request) -> Response:
        return error_response(
            MethodNotAllowed(), {"Allow": ", ".join(sorted(self._allowed_methods))}
        )


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON reply that depends on who asked."""
    return Response(
        _encode(value), status, {**PRIVATE, **(headers or {})}, media_type="application/json"
    )


def error_response(error: Exception, headers: dict[str, str] | None = None) -> Response:
    """An error as `application/problem+json`."""
    status, body, own = problem(error)
    return Response(
        body,
        status,
        {**PRIVATE, **own, **(headers or {})},
        media_type="application/problem+json",
    )


# What was sent


async def body_bytes(request: Request) -> bytes:
    """The body, read once and not beyond its limit. Raises `TooLarge`."""
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length[:12]) > MAX_BODY:
        raise TooLarge
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise TooLarge
    return bytes(body)


def parsed(request: Request, body: bytes, form: type[T]) -> T:
    """The body as that form. Raises `NotJson`, `BadJson`, `Malformed`."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise NotJson
    return decoded(body, msgspec.json.Decoder(form))


def decoded(body: bytes | str, decoder: msgspec.json.Decoder[T]) -> T:
    """JSON as the decoder's form; total: whatever a client sends is `BadJson` or `Malformed`."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadJson from None


async def sent(request: Request, form: type[T]) -> T:
    """The request's body as that form. Raises `TooLarge` and as `parsed`."""
    return parsed(request, await body_bytes(request), form)


async def sent_or(request: Request, form: type[T], default: T) -> tuple[bytes, T]:
    """The body of a request that may come without one, raw and as that form."""
    body = await body_bytes(request)
    return body, parsed(request, body, form) if body else default


def path_id(request: Request, name: str = "id") -> str:
    """An id in the path. Raises `NotFound` for what cannot be one."""
    text: str = request.path_params[name]
    if not is_id(text):
        raise NotFound
    return text


def whole(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number in the query. Raises `Malformed`."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and low <= int(text) <= high):
        raise Malformed(f"{name} must be a whole number from {low} to {high}")
    return int(text)


def one_of(request: Request, name: str, choices: tuple[str, ...]) -> str | None:
    """A choice in the query. Raises `Malformed`."""
    text = request.query_params.get(name)
    if text is not None and text not in choices:
        raise Malformed(f"{name} must be one of {', '.join(choices)}")
    return text


# Lists


def page_limit(request: Request) -> int:
    """How many items are asked for, 1–100."""
    return whole(request, "limit", 20, 1, 100)


def cursor_at(request: Request, scope: str) -> str | None:
    """Where a list goes on; a cursor counts only for the list and order it came from."""
    text = request.query_params.get("cursor")
    if text is None:
        return None
    try:
        whole_text = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        raise Malformed("cursor is not one of ours") from None
    told, _, at = whole_text.rpartition(" ")
    if told != scope or cursor_text(scope, at) != text:
        raise Malformed("cursor does not belong to this list")
    return at


def cursor_id(request: Request, scope: str) -> str | None:
    """The id after which a list goes on. Anybody can forge a cursor, so it is looked at."""
    at = cursor_at(request, scope)
    if at is not None and not is_id(at):
        raise Malformed("cursor is not one of ours")
    return at


def cursor_number(request: Request, scope: str) -> int:
    """The number of items that went before, 0 at the beginning."""
    at = cursor_at(request, scope)
    if at is None:
        return 0
    if not (at.isascii() and at.isdigit() and len(at) <= 9):
        raise Malformed("cursor is not one of ours")
    return int(at)


def cursor_text(scope: str, at: str) -> str:
    """The opaque cursor for a place in a list."""
    return base64.urlsafe_b64encode(f"{scope} {at}".encode()).decode().rstrip("=")


# Who asks


async def token_of(request: HTTPConnection, *, safe: bool) -> Token | None:
    """The token that a request bears, None without one.

    Raises `BadToken`, and `ForeignOrigin` when a cookie comes with an unsafe request from a
    page that is not ours.
    """
    house = house_of(request)
    text, by_cookie = token_text(request)
    if text is None:
        return None
    if by_cookie and not safe and not own_origin(request, house):
        raise ForeignOrigin
    try:
        token = await house.accounts.token(text)
    except BadToken:
        if by_cookie:
            return None  # a stale cookie is an anonymous browser, not an error
        raise
    recognised(request, token.player.id)
    return token


def token_text(request: HTTPConnection) -> tuple[str | None, bool]:
    """The token as it was sent, and whether in our cookie. Raises `BadToken`."""
    header = request.headers.get("authorization")
    if header is None:
        return request.cookies.get(COOKIE), True
    kind, _, text = header.partition(" ")
    if kind.lower() != "bearer" or not text:
        raise BadToken
    return text.strip(), False


def own_origin(request: HTTPConnection, house: House) -> bool:
    """Whether the browser says that one of our own pages sent this."""
    origin = request.headers.get("origin")
    if origin is None:
        return False
    public = house.settings.public_url
    if public is not None:
        url = URL(public)
        return origin == f"{url.scheme}://{url.netloc}"
    scheme, _, authority = origin.partition("://")  # any text: `null`, or what no browser sends
    return scheme in ("http", "https") and authority == request.headers.get("host")


async def viewer(request: Request) -> str | None:
    """The player who looks, None for anybody else. Raises `MissingScope` and as `token_of`."""
    token = await token_of(request, safe=request.method in SAFE)
    if token is None:
        return None
    granted(token, "read")
    return token.player.id


async def player(request: Request, scope: Scope, limit: Limit | None = None) -> Player:
    """The player who acts, and takes one of a limit.

    Raises `Unauthorized`, `MissingScope`, `RateLimited` and as `token_of`.
    """
    return (await bearer(request, scope, limit)).player


async def bearer(request: Request, scope: Scope | None, limit: Limit | None = None) -> Token:
    """The token of the player who acts. Raises as `player`."""
    token = await token_of(request, safe=request.method in SAFE)
    if token is None:
        raise Unauthorized
    if scope is not None:
        granted(token, scope)
    if limit is not None:
        await spend(request, limit, token.player.id)
    return token


def granted(token: Token, scope: Scope) -> None:
    """Raises `MissingScope`."""
    if scope not in token.scopes:
        raise MissingScope(scope)


# Once


async def once(
    request: Request,
    who: Player,
    body: bytes,
    effect: Callable[[tuple[Receipt, Callable[[T], Reply]] | None], Awaitable[T]],
    shown: Callable[[T], Response],
) -> Response:
    """The reply to a POST that an `Idempotency-Key` makes safe to send again.

    `effect` gets the slip to fill in its transaction, None without the header. A vanished
    client does not stop what has begun.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return shown(await carried_out(effect(None)))
    if not (1 <= len(key) <= 255 and key.isascii() and key.isprintable()):
        raise Malformed("Idempotency-Key must be 1 to 255 printable characters")
    database = house_of(request).database
    taken = await receipts.take(database, (who.id, request.method, request.url.path, key), body)
    if isinstance(taken, Reply):
        where = None if taken.location is None else {"Location": taken.location}
        return reply(msgspec.Raw(taken.body), taken.status, where)

    async def work() -> Response:
        replies: list[Response] = []

        def write(value: T) -> Reply:
            response = shown(value)
            replies[:] = [response]
            location = response.headers.get("location")
            return Reply(response.status_code, bytes(response.body), location)

        try:
            await effect((taken, write))
        except BaseException:
            await receipts.give_up(database, taken)
            raise
        return replies[0]

    return await carried_out(work())


async def carried_out(work: Awaitable[T]) -> T:
    """The result of work that goes on even when the one who waits for it has gone."""
    return await asyncio.shield(asyncio.ensure_future(work))
