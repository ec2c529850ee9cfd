"""Guests, players, log-in and log-out, tokens."""

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.accounts.accounts import Entry
from service.accounts.limits import ACCOUNTS, TOKENS
from service.api.errors import Malformed
from service.api.house import house_of
from service.api.http import (
    COOKIE,
    PRIVATE,
    Endpoint,
    bearer,
    carried_out,
    cursor_id,
    cursor_text,
    granted,
    page_limit,
    path_id,
    player,
    reply,
    sent,
    sent_or,
    token_of,
)
from service.api.messages import Credentials, NewToken, Nothing, is_name
from service.api.rates import address, note_of, spend
from service.feed.views import instant, instant_or_none
from service.storage.players import Listed
from service.storage.shelf import NotFound

COOKIE_SECONDS = 180 * 24 * 3600
MAX_TOKEN_MS = 10 * 366 * 24 * 3600 * 1000
"""How far off a token may expire."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _entered(entry: Entry, status: int) -> Response:
    return reply({"player": entry.player, "token": entry.token}, status)


class Guests(Endpoint):
    """`/v1/guests`"""

    async def post(self, request: Request) -> Response:
        await spend(request, ACCOUNTS, address(request))
        await sent_or(request, Nothing, Nothing())
        return _entered(await carried_out(house_of(request).accounts.guest()), 201)


class Players(Endpoint):
    """`/v1/players`"""

    async def get(self, request: Request) -> Response:
        name = request.query_params.get("name")
        if name is None:
            raise Malformed("name must be given")
        found = None
        if is_name(name):
            found = await house_of(request).accounts.named(name)
        return reply({"items": [] if found is None else [found], "next": None})

    async def post(self, request: Request) -> Response:
        token = await token_of(request, safe=False)
        await spend(request, ACCOUNTS, address(request))
        asked = await sent(request, Credentials)
        accounts = house_of(request).accounts
        if token is not None and token.player.kind == "guest":
            granted(token, "account")
            work = accounts.claim(token.player, asked.name, asked.password)
        else:
            work = accounts.register(asked.name, asked.password)
        return _entered(await carried_out(work), 201)


class Login(Endpoint):
    """`/v1/login`"""

    async def post(self, request: Request) -> Response:
        asked = await sent(request, Credentials)
        house = house_of(request)
        entry = await carried_out(
            house.accounts.log_in(asked.name, asked.password, address(request), note_of(request))
        )
        public = house.settings.public_url or ""
        response = _entered(entry, 200)
        response.set_cookie(
            COOKIE,
            entry.token,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https" or public.startswith("https:"),
        )
        return response


class Logout(Endpoint):
    """`/v1/logout`"""

    async def post(self, request: Request) -> Response:
        token = await bearer(request, None)
        await sent_or(request, Nothing, Nothing())
        await carried_out(house_of(request).accounts.revoke(token.player, token.id))
        response = Response(status_code=204, headers=PRIVATE)
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
        return response


class Me(Endpoint):
    """`/v1/me`"""

    async def get(self, request: Request) -> Response:
        return reply((await bearer(request, "read")).player)


class MeBot(Endpoint):
    """`/v1/me/bot`"""

    async def post(self, request: Request) -> Response:
        who = await player(request, "account")
        await sent_or(request, Nothing, Nothing())
        return reply(await carried_out(house_of(request).accounts.become_bot(who)))


def _token_view(token: Listed, current: str) -> dict[str, Any]:
    return {
        "id": token.id,
        "label": token.label,
        "scopes": sorted(token.scopes),
        "created_at": instant(token.created_at),
        "expires": instant_or_none(token.expires),
        "current": token.id == current,
    }


class Tokens(Endpoint):
    """`/v1/tokens`: a player's own, the newest first."""

    async def get(self, request: Request) -> Response:
        own = await bearer(request, "account")
        scope = f"tokens {own.player.id}"
        before = cursor_id(request, scope)
        limit = page_limit(request)
        found = await house_of(request).accounts.tokens_of(own.player, before, limit + 1)
        items = [_token_view(token, own.id) for token in found[:limit]]
        more = len(found) > limit
        following = cursor_text(scope, found[limit - 1].id) if more else None
        return reply({"items": items, "next": following})

    async def post(self, request: Request) -> Response:
        house = house_of(request)
        own = await bearer(request, "account", TOKENS)
        asked = await sent(request, NewToken)
        expires = None
        if asked.expires is not None:
            expires = (asked.expires - _EPOCH) // timedelta(milliseconds=1)
            if not 0 < expires - house.now() <= MAX_TOKEN_MS:
                raise Malformed("expires must be to come, and within ten years")
        made = await carried_out(
            house.accounts.make_token(own, frozenset(asked.scopes), asked.label, expires)
        )
        view = _token_view(made.token, own.id)
        return reply({**view, "token": made.secret}, 201)


class OneToken(Endpoint):
    """`/v1/tokens/{id}`"""

    async def delete(self, request: Request) -> Response:
        own = await bearer(request, "account")
        token_id = path_id(request)
        if not await carried_out(house_of(request).accounts.revoke(own.player, token_id)):
            raise NotFound
        return Response(status_code=204, headers=PRIVATE)


routes = [
    Route("/guests", Guests),
    Route("/players", Players),
    Route("/login", Login),
    Route("/logout", Logout),
    Route("/me", Me),
    Route("/me/bot", MeBot),
    Route("/tokens", Tokens),
    Route("/tokens/{id}", OneToken),
]
