"""(d) What an idle watching socket keeps of the server's memory."""

import asyncio
from typing import Any

from bench.client import Socket, all_opened, ask, ask_all, command, until
from bench.games import NAMES, deals
from bench.machine import memory
from bench.report import table
from bench.servers import Running, service

WARM_UP = 200
AIM_KIB = 64


class Idle(Socket):
    def __init__(self, server: Running, token: str | None, topic: str) -> None:
        super().__init__(server.port, "/v1/ws", token)
        self.topic = topic
        self.texts = 0

    def on_text(self, text: bytes) -> None:
        self.texts += 1


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    sockets = 500 if quick else 2_000
    rows = []
    for store in stores:
        async with service(store) as server:
            for name, opened in (
                ("nobody in particular, all one race", _spectators),
                ("guests, each their own play", _players),
            ):
                await opened(server, WARM_UP)
                before = memory(server.pid)
                await opened(server, sockets)
                grown = memory(server.pid) - before
                rows.append((store, name, sockets, f"{grown / sockets / 1024:.1f}"))
    head = ("server", "who watches what", "sockets", "KiB a socket")
    return (
        f"Growth of the server's memory (proportional set size) for each socket that watches and "
        f"is idle, after {WARM_UP} others (aim ≤ {AIM_KIB}). The kernel's own buffers are not "
        f"counted.\n\n"
        f"{table(head, rows)}\n\n"
        "What limits it: the web server's parser, handshake and headers, which it keeps for every "
        "socket; the tasks and queues of a session come next. A player's play adds its position, "
        "its log's ids and its lock, kept for the last 5,000 plays whether or not they are watched."
    )


async def _spectators(server: Running, number: int) -> list[Idle]:
    guest = await ask(server.port, "POST", "/v1/guests")
    wish = {"game": NAMES[0], "kind": "live"}
    race = await ask(server.port, "POST", "/v1/races", guest["token"], wish)
    return await _watching([Idle(server, None, f"race:{race['id']}") for _ in range(number)])


async def _players(server: Running, number: int) -> list[Idle]:
    port = server.port
    guests = await ask_all(port, [("POST", "/v1/guests", None, None)] * number)
    wishes: list[Any] = [
        ("POST", "/v1/plays", guest["token"], {"game": game, "seed": seed})
        for guest, (game, seed) in zip(guests, deals(number), strict=True)
    ]
    plays = await ask_all(port, wishes)
    return await _watching(
        [
            Idle(server, guest["token"], f"play:{play['id']}")
            for guest, play in zip(guests, plays, strict=True)
        ]
    )


async def _watching(sockets: list[Idle]) -> list[Idle]:
    await all_opened(sockets)
    for start in range(0, len(sockets), 100):
        some = sockets[start : start + 100]
        for socket in some:
            socket.transport.write(command(op="watch", topic=socket.topic))
        # ready, watching, snapshot
        await until(lambda some=some: all(socket.texts >= 3 for socket in some))
    await asyncio.sleep(0.5)
    return sockets
