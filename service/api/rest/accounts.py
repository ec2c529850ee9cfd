"""Guests, players, log-in and log-out."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.accounts.accounts import Entry
from service.api.errors import Malformed
from service.api.house import house_of
from service.api.http import (
    COOKIE,
    PRIVATE,
    Endpoint,
    bearer,
    carried_out,
    path_id,
    reply,
    sent,
    sent_or,
    token_of,
)
from service.api.messages import Credentials, Nothing, is_name
from service.storage.shelf import NotFound

COOKIE_SECONDS = 180 * 24 * 3600


def _entered(entry: Entry, status: int) -> Response:
    return reply({"player": entry.player, "token": entry.token}, status)


class Guests(Endpoint):
    """`/v1/guests`"""

    async def post(self, request: Request) -> Response:
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
        asked = await sent(request, Credentials)
        accounts = house_of(request).accounts
        if token is not None and token.player.kind == "guest":
            work = accounts.claim(token.player, asked.name, asked.password)
        else:
            work = accounts.register(asked.name, asked.password)
        return _entered(await carried_out(work), 201)


class OnePlayer(Endpoint):
    """`/v1/players/{id}`"""

    async def get(self, request: Request) -> Response:
        found = await house_of(request).accounts.player(path_id(request))
        if found is None:
            raise NotFound
        return reply(found)


class Login(Endpoint):
    """`/v1/login`"""

    async def post(self, request: Request) -> Response:
        asked = await sent(request, Credentials)
        entry = await carried_out(house_of(request).accounts.log_in(asked.name, asked.password))
        response = _entered(entry, 200)
        response.set_cookie(
            COOKIE,
            entry.token,
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return response


class Logout(Endpoint):
    """`/v1/logout`"""

    async def post(self, request: Request) -> Response:
        token = await bearer(request, "read")
        await sent_or(request, Nothing, Nothing())
        await carried_out(house_of(request).accounts.log_out(token.id))
        response = Response(status_code=204, headers=PRIVATE)
        response.delete_cookie(COOKIE, httponly=True, samesite="lax")
        return response


class Me(Endpoint):
    """`/v1/me`"""

    async def get(self, request: Request) -> Response:
        return reply((await bearer(request, "read")).player)


routes = [
    Route("/guests", Guests),
    Route("/players", Players),
    Route("/players/{id}", OnePlayer),
    Route("/login", Login),
    Route("/logout", Logout),
    Route("/me", Me),
]
