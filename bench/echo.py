"""The yardstick: a bare Starlette WebSocket echo on the very server that runs the service."""

import sys

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from service import logs, server
from service.settings import Settings


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    try:
        while True:
            await socket.send_text(await socket.receive_text())
    except WebSocketDisconnect:
        return


def main(port: int) -> None:
    logs.set_up("error")
    config = server._config(Settings(), 1, "127.0.0.1", port)
    config.app, config.factory = Starlette(routes=[WebSocketRoute("/v1/ws", echo)]), False
    config.lifespan = "off"
    server.uvicorn.Server(config).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
