"""(c) One race watched by many: from a move's acknowledgement to the last watcher's progress."""

import asyncio
import json
import random
import time
from typing import Any

from bench.client import Socket, all_opened, ask, ask_all, command, until
from bench.games import NAMES
from bench.machine import used
from bench.report import count, ms, percent, quantile, table
from bench.servers import Running, service

WATCHERS, MOVERS = 500, 4
AIM_MS = 200
PAUSE_SECONDS = 0.3
"""Between two moves of one player, on average."""


class Arrivals:
    """When each player's ply had been told to all watchers."""

    def __init__(self) -> None:
        self._frame = b""
        self._told: dict[str, int] = {}
        self._seen: dict[str, dict[int, int]] = {}
        self.last: dict[tuple[str, int], float] = {}
        self.frames = 0

    def came(self, text: bytes, heads: dict[str, int]) -> None:
        """A watcher, at `heads`, has got this text."""
        if not text.startswith(b'{"op":"progress"'):
            return
        now = time.perf_counter()
        self.frames += 1
        if text != self._frame:
            self._frame = text
            data = json.loads(text)["data"]
            self._told = {player: progress["ply"] for player, progress in data.items()}
        for player, ply in self._told.items():
            seen = self._seen.setdefault(player, {})
            for reached in range(heads.get(player, 0) + 1, ply + 1):
                seen[reached] = seen.get(reached, 0) + 1
                if seen[reached] == WATCHERS:
                    self.last[player, reached] = now
            heads[player] = max(ply, heads.get(player, 0))


class Watcher(Socket):
    def __init__(self, server: Running, arrivals: Arrivals) -> None:
        super().__init__(server.port, "/v1/ws", None)
        self._arrivals = arrivals
        self._heads: dict[str, int] = {}
        self.texts = 0

    def on_text(self, text: bytes) -> None:
        self.texts += 1
        self._arrivals.came(text, self._heads)


class Racer(Socket):
    def __init__(self, server: Running, player: str, token: str) -> None:
        super().__init__(server.port, "/v1/ws", token)
        self.player = player
        self.token = token
        self.acked: dict[int, float] = {}

    def on_text(self, text: bytes) -> None:
        if text.startswith(b'{"op":"ack"'):
            now = time.perf_counter()
            self.acked[json.loads(text)["ply"]] = now
        elif text.startswith((b'{"op":"reject"', b'{"op":"error"')):
            raise RuntimeError(text.decode())

    async def race(self, play: str, game: str, seed_moves: tuple[str, ...], until: float) -> None:
        pause = random.Random(self.player)
        for ply, move in enumerate(seed_moves, 1):
            await asyncio.sleep(pause.expovariate(1 / PAUSE_SECONDS))
            if time.perf_counter() > until:
                return
            self.transport.write(command(op="move", play=play, ply=ply, move=move, id=f"m{ply}"))


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    rows = [await _measure(store, 3.0 if quick else 15.0) for store in stores]
    head = ("server", "moves", "p50 ms", "p99 ms", "worst ms", "frames a second", "server busy")
    return (
        f"{MOVERS} players race, each moving every {PAUSE_SECONDS} s on average; {WATCHERS} others "
        "watch. Milliseconds from the acknowledgement of a move (it is then stored) until the last "
        f"of the watchers has been told (aim: p99 ≤ {AIM_MS}).\n\n{table(head, rows)}\n\n"
        "What limits it: the protocol itself, which tells progress at most ten times a second a "
        "race, so that a move waits up to 100 ms for the next frame; the rest is the time in which "
        "one frame is written to every watcher."
    )


async def _measure(store: str, seconds: float) -> tuple[Any, ...]:
    async with service(store) as server:
        racers, game, plays, moves = await _started(server)
        arrivals = Arrivals()
        watchers = [Watcher(server, arrivals) for _ in range(WATCHERS)]
        await all_opened(watchers)
        for first in range(0, WATCHERS, 50):
            some = watchers[first : first + 50]
            for watcher in some:
                watcher.transport.write(command(op="watch", topic=f"race:{plays['race']}"))
            # ready, watching, snapshot
            await until(lambda some=some: all(watcher.texts >= 3 for watcher in some))
        begun = time.perf_counter()
        before, frames = used(server.pid), arrivals.frames
        await asyncio.gather(
            *(racer.race(plays[racer.player], game, moves, begun + seconds) for racer in racers)
        )
        taken = time.perf_counter() - begun
        busy = sum(used(server.pid).since(before)) / taken
        rate = (arrivals.frames - frames) / taken
        await asyncio.sleep(1)
        took = []
        for racer in racers:
            for ply, acked in racer.acked.items():
                if (racer.player, ply) not in arrivals.last:
                    raise RuntimeError("a move was not told to every watcher")
                took.append(arrivals.last[racer.player, ply] - acked)
        for socket in (*watchers, *racers):
            socket.transport.close()
        return (
            store, len(took), ms(quantile(took, 0.5)), ms(quantile(took, 0.99)), ms(max(took)),
            count(rate), percent(busy),
        )  # fmt: skip


async def _started(server: Running) -> tuple[list[Racer], str, dict[str, str], tuple[str, ...]]:
    """A live race that is running: its players, and their plays by player (and `race`)."""
    guests = await ask_all(server.port, [("POST", "/v1/guests", None, None)] * MOVERS)
    racers = [Racer(server, guest["player"]["id"], guest["token"]) for guest in guests]
    await all_opened(racers)
    game = NAMES[0]
    wish = {"game": game, "kind": "live", "capacity": MOVERS}
    race = (await ask(server.port, "POST", "/v1/races", racers[0].token, wish))["id"]
    for racer in racers[1:]:
        await ask(server.port, "POST", f"/v1/races/{race}/entrants", racer.token, {})
    await ask(server.port, "POST", f"/v1/races/{race}/start", racers[0].token, {})
    plays = {"race": race}
    for racer in racers:
        async with asyncio.timeout(20):
            while True:
                told = await ask(server.port, "GET", f"/v1/races/{race}", racer.token)
                if told["state"] == "running":
                    break
                await asyncio.sleep(0.1)
        plays[racer.player] = told["me"]["play"]
    # The deal is secret while the race runs: all that is known of it is that cards can be turned.
    return racers, game, plays, ("turn",) * 50
