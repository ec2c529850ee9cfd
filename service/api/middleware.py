"""Around every request: an id, a log line, numbers, errors as problems, and limits."""

import secrets
import time
from collections.abc import Callable

import structlog
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.accounts.accounts import BadToken
from service.accounts.limits import RateLimited
from service.api.errors import shape_of
from service.api.house import house_of
from service.api.http import error_response, token_text
from service.api.rates import count_request, count_socket, rate_headers
from service.metrics import REQUESTS, SECONDS

log = structlog.get_logger()

GONE = 499
"""Counted and logged for a request whose sender did not wait for its answer, as proxies do."""


class Watchman:
    """Pure ASGI: sees the request's template of a path, never its tokens or bodies."""

    def __init__(self, app: ASGIApp, on_error: Callable[[Exception], None]) -> None:
        self._app = app
        self._on_error = on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        request_id = secrets.token_hex(8)
        with structlog.contextvars.bound_contextvars(request=request_id):
            if scope["type"] == "websocket":
                await self._socket(scope, receive, send)
            else:
                await self._request(scope, receive, send, request_id)
        return None

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except OSError:
            return  # the client went away in the middle of a frame
        except Exception as error:
            self._on_error(error)

    async def _request(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        began = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    *rate_headers(scope),
                ]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:  # in the middle of its request; nobody is left to be answered
            status = status or GONE
        except Exception as error:
            if shape_of(error).status == 500:
                self._on_error(error)
            if status == 0:
                await error_response(error)(scope, receive, sending)
        took = time.perf_counter() - began
        path = _template(scope)
        REQUESTS.labels(scope["method"], path, status).inc()
        SECONDS.labels(path).observe(took)
        log.info(
            "request",
            method=scope["method"],
            path=path,
            status=status,
            ms=round(took * 1000, 1),
        )


class Gate:
    """Pure ASGI: counts what comes in, before anything is done for it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not scope["path"].startswith("/v1/"):
            return await self._app(scope, receive, send)
        connection = HTTPConnection(scope)
        if scope["type"] == "http":
            count_request(connection, self._known(connection))
            return await self._app(scope, receive, send)
        try:
            count_socket(connection)
        except RateLimited as error:
            refusal = error_response(error)
            refusal.raw_headers.extend(rate_headers(scope))
            return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)

    def _known(self, connection: HTTPConnection) -> str | None:
        """Whose the request is, if its token is one that was looked up before.

        Asking the database comes later: the stamp of a move does not wait for it.
        """
        try:
            text, _ = token_text(connection)
        except BadToken:
            return None
        return None if text is None else house_of(connection).accounts.last_known(text)


def _template(scope: Scope) -> str:
    """The path with its parameters named, so that numbers and logs hold no ids."""
    endpoint = scope.get("endpoint")
    if endpoint is None:
        return "unmatched"
    named: list[str] = (endpoint.__doc__ or "").split("`")
    return named[1] if len(named) > 1 else "unnamed"
