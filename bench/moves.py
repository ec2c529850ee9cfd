"""(b) Acknowledged, stored moves a second, beside a bare echo of the same messages.

All servers run at once on the server's core, and are measured by turns in short rounds: whatever
else the machine does then falls on all of them.
"""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from typing import NamedTuple

import asyncpg

from bench.client import Socket, all_opened, ask_all, command, until
from bench.games import deals, whole_game
from bench.machine import Used, used
from bench.report import count, median, ms, percent, quantile, table
from bench.servers import Running, echo, service

LEVELS = (1, 50, 200, 1000)
AIM_RATIO, AIM_P99_MS, AIM_LEVEL = 0.45, 25, 200
WARM_UP_SECONDS = 0.3
GUESS, ECHO_GUESS = 50_000, 200_000
"""Messages a second that no server passes; by it those of the first round are laid in."""


class Load:
    """What a number of sockets do at once, each with one message in flight."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.going = False
        self.flying = 0
        self.dry = 0
        self.refused: bytes | None = None


class Mover(Socket):
    """A socket that sends its next move as soon as the last one is answered."""

    def __init__(self, server: Running, token: str | None, load: Load) -> None:
        super().__init__(server.port, "/v1/ws", token)
        self.token = token
        self.frames: list[bytes] = []
        self.sent = 0
        self._load = load
        self._at = 0.0
        self._expected = b'{"op":"move"' if token is None else b'{"op":"ack"'

    def move(self) -> None:
        load = self._load
        if self.sent == len(self.frames):
            load.dry += 1
            return
        load.flying += 1
        self._at = time.perf_counter()
        self.transport.write(self.frames[self.sent])
        self.sent += 1

    def on_text(self, text: bytes) -> None:
        load = self._load
        if not text.startswith(self._expected):
            if text.startswith(b'{"op":"reject"') or text.startswith(b'{"op":"error"'):
                load.refused = text
            return
        load.latencies.append(time.perf_counter() - self._at)
        load.flying -= 1
        if load.going:
            self.move()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._load.going:
            self._load.refused = b"the server hung up"


class Round(NamedTuple):
    """What one round gave."""

    seconds: float
    latencies: list[float]
    servers: list[Used]
    generator: Used

    @property
    def server(self) -> Used:
        return Used(*map(sum, zip(*self.servers, strict=True)))

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


class Target:
    """A server, its players and how many moves it has acknowledged."""

    def __init__(self, server: Running, watching: bool = False) -> None:
        self.server = server
        self.name = server.name
        self.acknowledged = 0
        self.pids = [server.pid]
        self.margin = 1.0
        self._watching = watching
        self._tokens: list[str] = []
        self._deals = iter(deals(100_000))
        self._echoed = tuple(_frames("AZ8KmXmQcACf0dcVg1fXWQ", *next(self._deals)))
        self._sockets: list[Mover] = []
        self._load = Load()
        self._pace = self._fastest = 0.0

    async def open(self, level: int) -> None:
        """Open that many sockets, each of a guest of its own."""
        self._pace = ECHO_GUESS if self.server.database is None else GUESS
        self._fastest = 0.0
        self._load = Load()
        tokens: list[str | None] = [None] * level
        if self.server.database is not None:
            missing = level - len(self._tokens)
            made = await ask_all(self.server.port, [("POST", "/v1/guests", None, None)] * missing)
            self._tokens += [answer["token"] for answer in made]
            tokens = list(self._tokens[:level])
        self._sockets = [Mover(self.server, token, self._load) for token in tokens]
        await all_opened(self._sockets)

    async def close(self) -> None:
        for socket in self._sockets:
            socket.transport.close()
        self._sockets = []
        await asyncio.sleep(0.2)

    async def round(self, seconds: float) -> Round:
        """Let all sockets move for a while."""
        await self.begin(seconds)
        found = await self.look(seconds)
        await self.end()
        # The next round may be quicker, when others leave the machine alone.
        self._fastest = max(self._fastest, found.rate)
        self._pace = min(self._pace, self._fastest * 3)
        return found

    async def begin(self, seconds: float) -> None:
        """Let all sockets begin to move, with moves for so long laid in."""
        moves = (seconds + WARM_UP_SECONDS) * self._pace / len(self._sockets)
        await self._lay_in(moves * self.margin + 10)
        self._load.going = True
        for socket in self._sockets:
            socket.move()
        await asyncio.sleep(WARM_UP_SECONDS)

    async def look(self, seconds: float) -> Round:
        """What the moving sockets do in the next seconds."""
        load = self._load
        self._count()
        before, generator = list(map(used, self.pids)), used(os.getpid())
        begun = time.perf_counter()
        await asyncio.sleep(seconds)
        taken, latencies = time.perf_counter() - begun, load.latencies
        self._count()
        servers = [used(pid).since(was) for pid, was in zip(self.pids, before, strict=True)]
        return Round(taken, latencies, servers, used(os.getpid()).since(generator))

    async def end(self) -> None:
        """Let the sockets come to rest."""
        self._load.going = False
        await self._landed()
        self._count()
        if self._load.dry:
            raise RuntimeError(f"{self._load.dry} sockets ran out of moves")

    def _count(self) -> None:
        self.acknowledged += len(self._load.latencies)
        self._load.latencies = []

    async def _landed(self) -> None:
        load = self._load
        await until(lambda: not load.flying or load.refused is not None)
        if load.refused is not None:
            raise RuntimeError(f"{self.name}: {load.refused!r}")

    async def _lay_in(self, moves: float) -> None:
        """See to it that every socket has that many moves ahead."""
        if self.server.database is None:
            for socket in self._sockets:
                while len(socket.frames) - socket.sent < moves:
                    socket.frames += self._echoed
            return
        wanted: list[tuple[Mover, str, str]] = []
        for socket in self._sockets:
            ahead = len(socket.frames) - socket.sent
            while ahead < moves:
                game, seed = next(self._deals)
                wanted.append((socket, game, seed))
                ahead += len(whole_game(game, seed))
        made = await ask_all(
            self.server.port,
            [
                ("POST", "/v1/plays", socket.token, {"game": game, "seed": seed})
                for socket, game, seed in wanted
            ],
        )
        for (socket, game, seed), play in zip(wanted, made, strict=True):
            socket.frames += _frames(play["id"], game, seed)
            if self._watching:
                socket.transport.write(command(op="watch", topic=f"play:{play['id']}"))
        await asyncio.sleep(0.3)

    async def stored(self) -> int:
        """How many moves are in the store."""
        assert self.server.database is not None
        query = "SELECT count(*) FROM moves"
        if self.name == "SQLite":
            with contextlib.closing(sqlite3.connect(self.server.database)) as file:
                return int(file.execute(query).fetchone()[0])
        connection = await asyncpg.connect(self.server.database)
        try:
            return int(await connection.fetchval(query))
        finally:
            await connection.close()


def _frames(play: str, game: str, seed: str) -> Iterator[bytes]:
    return (
        command(op="move", play=play, ply=ply, move=move, id=f"{play[-6:]}-{ply}")
        for ply, move in enumerate(whole_game(game, seed), 1)
    )


class Level(NamedTuple):
    """The rounds of every server at one number of sockets."""

    sockets: int
    rounds: dict[str, list[Round]]

    def rate(self, name: str) -> float:
        return median([found.rate for found in self.rounds[name]])

    def ratio(self, name: str) -> float:
        """To the echo, round by round: neighbours in time had the same machine."""
        pairs = zip(self.rounds[name], self.rounds["echo"], strict=True)
        return median([own.rate / bare.rate for own, bare in pairs])

    def latency(self, name: str, share: float) -> float:
        return quantile([x for found in self.rounds[name] for x in found.latencies], share)

    def cost(self, name: str) -> float:
        """Microseconds of the server's CPU a message."""
        rounds = self.rounds[name]
        return sum(r.server.ran for r in rounds) / sum(len(r.latencies) for r in rounds) * 1e6

    def busy(self, name: str, who: str) -> float:
        """The share of the time in which the server or the generator ran or was ready to."""
        rounds = self.rounds[name]
        spent = sum(sum(getattr(r, who)) for r in rounds)
        return min(1.0, spent / sum(r.seconds for r in rounds))


async def measure(
    levels: tuple[int, ...], stores: tuple[str, ...], rounds: int, seconds: float, watching: bool
) -> list[Level]:
    """Every level on every server, by turns."""
    async with contextlib.AsyncExitStack() as stack:
        targets = [Target(await stack.enter_async_context(echo()))]
        for store in stores:
            running = await stack.enter_async_context(service(store))
            targets.append(Target(running, watching))
        found = []
        for sockets in levels:
            level = Level(sockets, {target.name: [] for target in targets})
            for target in targets:
                await target.open(sockets)
            for _ in range(rounds):
                for target in targets:
                    level.rounds[target.name].append(await target.round(seconds))
            for target in targets:
                await target.close()
            found.append(level)
        for target in targets[1:]:
            stored = await target.stored()
            if stored != target.acknowledged:
                raise RuntimeError(
                    f"{target.name}: {target.acknowledged} moves acknowledged, {stored} stored"
                )
        return found


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    rounds, seconds = (1, 1.0) if quick else (3, 2.0)
    levels = await measure(LEVELS, stores, rounds, seconds, False)
    watched = []
    if "Postgres" in stores:
        watched = await measure((AIM_LEVEL,), ("Postgres",), rounds, seconds, True)
    return _told(levels, watched, stores)


def _told(levels: list[Level], watched: list[Level], stores: tuple[str, ...]) -> str:
    rows = []
    spent = []
    for level in levels:
        rows.append((level.sockets, "echo", *_figures(level, "echo"), "–"))
        rows += [
            (level.sockets, store, *_figures(level, store), f"{level.ratio(store):.2f}")
            for store in stores
        ]
        spent += [_costs(level, name, name) for name in ("echo", *stores)]
    for level in watched:
        name = "Postgres, watching"
        rows.append(
            (level.sockets, name, *_figures(level, "Postgres"), f"{level.ratio('Postgres'):.2f}")
        )
        spent.append(_costs(level, name, "Postgres"))
    head = ("sockets", "server", "a second", "p50 ms", "p99 ms", "to the echo")
    costs = ("sockets", "server", "CPU µs a message", "server busy", "generator busy", "limited by")
    return (
        "Moves acknowledged after they were stored, every socket a guest of its own with a "
        "practice play of its own and one move in flight; medians of rounds taken by turns, "
        "latencies of whole requests. `watching`: the sockets also watch their plays. The number "
        "of rows in the store was compared with the number of acknowledgements: equal. "
        f"Aim at {AIM_LEVEL} sockets on Postgres: ≥ {AIM_RATIO} of the echo, p99 ≤ {AIM_P99_MS} ms."
        f"\n\n{table(head, rows)}\n\n"
        "What limits it (busy: ran, or was ready to run while others had the core; Postgres' own "
        f"processes are not pinned, and share both cores):\n\n{table(costs, spent)}"
    )


def _figures(level: Level, name: str) -> tuple[str, str, str]:
    return (
        count(level.rate(name)),
        ms(level.latency(name, 0.5)),
        ms(level.latency(name, 0.99)),
    )


def _costs(level: Level, shown: str, name: str) -> tuple[object, ...]:
    server, generator = level.busy(name, "server"), level.busy(name, "generator")
    if server > 0.9:
        limit = "the server's core"
    elif generator > 0.9:
        limit = "the load generator"
    elif name == "echo":
        limit = "the round trip"
    else:
        limit = "the commit"
    return (
        level.sockets, shown, f"{level.cost(name):.0f}", percent(server), percent(generator), limit,
    )  # fmt: skip
