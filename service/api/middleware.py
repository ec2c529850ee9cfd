"""Around every request: an id, a log line, numbers, and errors as problems."""

import secrets
import time
from collections.abc import Callable

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.errors import shape_of
from service.api.http import error_response
from service.metrics import REQUESTS, SECONDS

log = structlog.get_logger()


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
                ]
            await send(message)

        try:
            await self._app(scope, receive, sending)
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


def _template(scope: Scope) -> str:
    """The path with its parameters named, so that numbers and logs hold no ids."""
    endpoint = scope.get("endpoint")
    if endpoint is None:
        return "unmatched"
    named: list[str] = (endpoint.__doc__ or "").split("`")
    return named[1] if len(named) > 1 else "unnamed"
