"""A client as a third party would write it: it follows a race and its own play, through whatever.

It holds the server to the protocol while it listens: after v comes v + 1, an ack stands for its
event, a move is answered once. What it finds wrong it tells at the next `until`.
"""

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self

import httpx2
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from service.contest.proof import verify
from tests.e2e.served import PATIENCE_S, Service, Services, caller, deadline

Json = dict[str, Any]

RETRYABLE = frozenset({"unavailable", "outcome-unknown", "rate-limited"})
MEANWHILE = "meanwhile"


class Gone(Exception):
    """The socket closed while something was awaited from it."""


class Socket:
    """One WebSocket; everything that came is kept."""

    def __init__(
        self, connection: ClientConnection, on_frame: Callable[[Json], None] | None
    ) -> None:
        self._connection = connection
        self._on_frame = on_frame
        self._news = asyncio.Event()
        self._failure: Exception | None = None
        self.raw: list[str] = []
        self.frames: list[Json] = []
        self.code: int | None = None
        """The close code, None while it is open."""
        self._reader = asyncio.ensure_future(self._read())

    @classmethod
    async def open(
        cls, url: str, token: str | None = None, on_frame: Callable[[Json], None] | None = None
    ) -> Self:
        """Raises `OSError` and `InvalidHandshake` when there is no service at that address."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        connection = await connect(
            url.replace("http", "ws", 1) + "/v1/ws",
            additional_headers=headers,
            compression=None,
            max_queue=None,
            max_size=256 * 1024,
            ping_interval=None,
            open_timeout=PATIENCE_S,
            close_timeout=1,
            proxy=None,
        )
        return cls(connection, on_frame)

    async def _read(self) -> None:
        try:
            async for text in self._connection:
                frame = json.loads(text)
                self.raw.append(text)
                self.frames.append(frame)
                if self._on_frame is not None:
                    try:
                        self._on_frame(frame)
                    except Exception as error:
                        self._failure = self._failure or error
                self._news.set()
        except ConnectionClosed:
            pass
        finally:
            self.code = self._connection.close_code or 1006
            self._news.set()

    async def send(self, **frame: Any) -> None:
        try:
            await self._connection.send(json.dumps(frame))
        except ConnectionClosed:
            raise Gone from None

    async def until(self, condition: Callable[[], Any], what: str) -> Any:
        """The first true value of the condition. Raises `Gone` if the socket closes before."""
        async with deadline(what):
            while True:
                self._news.clear()
                if self._failure is not None:
                    raise self._failure
                if found := condition():
                    return found
                if self.code is not None:
                    raise Gone
                await self._news.wait()

    async def frame(self, **fields: Any) -> Json:
        """The first frame, past or to come, that has these fields."""

        def found() -> Json | None:
            return next((f for f in self.frames if fields.items() <= f.items()), None)

        answer: Json = await self.until(found, f"a frame with {fields}")
        return answer

    async def closed(self) -> int:
        """Its close code, once it is closed."""
        async with deadline("the socket is closed"):
            await asyncio.wait([self._reader])
        assert self.code is not None
        return self.code

    async def close(self) -> None:
        await self._connection.close()
        await asyncio.wait([self._reader])


class Player:
    """An account: its token, and REST calls at any of the servers."""

    def __init__(self, services: Services, urls: list[str], entered: Json) -> None:
        self.urls = urls
        self.id: str = entered["player"]["id"]
        self.name: str = entered["player"]["name"]
        self.token: str = entered["token"]
        self.services = services
        services.secrets.add(self.token)
        self._http = {url: caller(url, self.token) for url in urls}
        self.heard: list[bytes] = []
        """Every reply that it got, heads and bodies."""

    @classmethod
    async def guest(cls, services: Services, *at: Service) -> Self:
        urls = [service.url for service in at]
        async with caller(urls[0]) as http:
            answer = await http.post("/v1/guests")
        assert answer.status_code == 201, answer.text
        return cls(services, urls, answer.json())

    async def call(
        self, method: str, path: str, body: Any = None, at: int = 0, **query: Any
    ) -> httpx2.Response:
        http = self._http[self.urls[at % len(self.urls)]]
        answer = await http.request(method, path, json=body, params=query or None)
        self.heard += [str(dict(answer.headers)).encode(), answer.content]
        return answer

    async def insist(self, method: str, path: str) -> httpx2.Response:
        """The same, asked again as long as it is told to come again."""
        async with deadline(f"{method} {path} is answered"):
            while (answer := await self.call(method, path)).status_code == 503:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        return answer

    async def done(
        self, method: str, path: str, body: Any = None, at: int = 0, **query: Any
    ) -> Any:
        """What a call that succeeds answers."""
        answer = await self.call(method, path, body, at, **query)
        assert answer.is_success, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    async def refused(
        self, method: str, path: str, body: Any = None, at: int = 0
    ) -> tuple[int, str]:
        """Status and code of a call that fails."""
        answer = await self.call(method, path, body, at)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        return answer.status_code, answer.json()["code"]

    async def close(self) -> None:
        for http in self._http.values():
            await http.aclose()


class Racer(Player):
    """A player in a race, on a socket that is opened anew whenever it is lost."""

    def __init__(self, services: Services, urls: list[str], entered: Json) -> None:
        super().__init__(services, urls, entered)
        self.race = ""
        self.race_v = -1
        self.events: dict[int, Json] = {}
        """The race's events by version, as they were told."""
        self.play: Json = {}
        """Its play as it was told at ply 0."""
        self.board: Json = {}
        self.ply = -1
        self.legal: list[str] = []
        self.status = "none"
        self.score = 0
        self.acked: dict[int, Json] = {}
        """The deltas that were acknowledged: whatever happens, they count."""
        self.told: dict[int, Json] = {}
        """The deltas that were told in one way or another."""
        self.progress: dict[str, Json] = {}
        self.end: Json | None = None
        """The data of `race-ended`."""
        self.sockets: list[Socket] = []
        self.turn = 0
        """At which of its servers its next socket opens."""
        self._ids = itertools.count(1)

    # Listening

    @property
    def socket(self) -> Socket:
        return self.sockets[-1]

    async def listen(self) -> Socket:
        """The open socket, or a new one that takes up where the last one ended."""
        async with deadline(f"{self.name} connects"):
            while not self.sockets or self.socket.code is not None:
                url = self.urls[self.turn % len(self.urls)]
                try:
                    socket = await Socket.open(url, self.token, self._take)
                except (OSError, InvalidHandshake):
                    self.turn += 1
                    await asyncio.sleep(0.05)
                    continue
                self.sockets.append(socket)
                try:
                    await self._watch(f"race:{self.race}", self.race_v)
                    if self.play:
                        await self.follow()
                except Gone:
                    self.turn += 1
                    await asyncio.sleep(0.05)
        return self.socket

    async def follow(self) -> None:
        """Watch its own play, from where it knows it."""
        await self._watch(f"play:{self.play['id']}", self.ply)

    async def _watch(self, topic: str, v: int) -> None:
        socket = self.socket
        await socket.send(op="watch", topic=topic, **({} if v < 0 else {"since": v}))
        await socket.until(lambda: self._watching(socket, topic), topic)

    def _watching(self, socket: Socket, topic: str) -> bool:
        for frame in socket.frames:
            if frame.get("topic") == topic and frame["op"] == "watching":
                return True
            if frame.get("topic") == topic and frame["op"] == "error":
                if frame["code"] in RETRYABLE:
                    raise Gone  # as good as
                raise AssertionError(frame)
        return False

    def _take(self, frame: Json) -> None:
        match frame:
            case {"op": "snapshot", "topic": topic, "v": v, "data": data} if topic[:5] == "race:":
                self.race_v = v
                self._race(data)
            case {"op": "event", "topic": topic, "v": v, "data": data} if topic[:5] == "race:":
                if v > self.race_v:
                    assert v == self.race_v + 1, f"event {v} after {self.race_v}"
                    self.race_v = v
                    self.events[v] = data
                    self._event(data)
            case {"op": "snapshot", "topic": topic, "data": data} if self._is_own(topic[5:]):
                self._begin(data)
            case {"op": "event", "topic": topic, "v": v, "data": data} if self._is_own(topic[5:]):
                if v > self.ply:
                    self._delta(v, data)
            case {"op": "ack", "play": play, "ply": ply, "data": data} if self._is_own(play):
                self.acked[ply] = data
                if ply > self.ply:
                    self._delta(ply, data)
                else:
                    assert {**self.told[ply], "type": ""} == {**data, "type": ""}
            case {"op": "progress", "data": data}:
                for player, now in data.items():
                    if now["ply"] >= self.progress.get(player, {"ply": -1})["ply"]:
                        self.progress[player] = now

    def _is_own(self, play: str) -> bool:
        return bool(self.play) and play == self.play["id"]

    def _race(self, race: Json) -> None:
        for entrant in race["entrants"]:
            if entrant["ply"] is not None:
                keys = ("score", "ply", "status")
                self.progress[entrant["player"]["id"]] = {key: entrant[key] for key in keys}

    def _event(self, data: Json) -> None:
        match data:
            case {"type": "started", "play": play} if play is not None:
                self._begin(play)
            case {"type": "race-ended", "seed": seed}:
                self.services.secrets.add(seed)
                self.end = data

    def _begin(self, play: Json) -> None:
        self.play = self.play or play
        self.board = play["board"]
        self.ply, self.legal = play["ply"], play["legal"]
        self.status, self.score = play["status"], play["score"]

    def _delta(self, ply: int, data: Json) -> None:
        assert ply == data["ply"] == self.ply + 1, f"delta {ply} after {self.ply}"
        self.told[ply] = data
        self.ply, self.legal = ply, data["legal"]
        self.status, self.score = data["status"], data["score"]

    async def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait for something to be told, reconnecting when the socket is lost."""
        async with deadline(what):
            while True:
                try:
                    return await (await self.listen()).until(condition, what)
                except Gone:
                    self.turn += 1

    # Acting

    async def move(self, text: str) -> None:
        """Make a move; asks until it is answered by an ack, or the play is over."""
        move_id, ply = f"r{next(self._ids)}", self.ply + 1
        async with deadline(f"{self.name}'s move {ply} is answered"):
            while self.status == "playing":
                try:
                    socket = await self.listen()
                    seen = len(socket.frames)
                    await socket.send(
                        op="move", play=self.play["id"], ply=ply, move=text, id=move_id
                    )
                    answer = await socket.until(
                        lambda s=socket, n=seen: _answer(s.frames[n:], move_id), "an answer"
                    )
                except Gone:
                    self.turn += 1
                    continue
                if answer["op"] == "ack":
                    return
                if answer["code"] in RETRYABLE:
                    assert answer["retry_after_ms"] > 0
                    await asyncio.sleep(0.1)
                elif answer["code"] == "play-over":
                    await self.until(lambda: self.status != "playing", "the end of the play")
                else:
                    raise AssertionError(answer)

    async def play_on(
        self, pick: Callable[["Racer"], str], enough: Callable[[], bool] = lambda: False
    ) -> None:
        """Play until the play is over, or it is enough."""
        while self.status == "playing" and not enough():
            await self.move(pick(self))

    async def close(self) -> None:
        for socket in self.sockets:
            await socket.close()
        await super().close()


def _answer(frames: Sequence[Json], move_id: str) -> Json | None:
    answers = [f for f in frames if f["op"] in ("ack", "reject") and f.get("id") == move_id]
    assert len(answers) < 2, answers
    return answers[0] if answers else None


# Habits


def eager(racer: Racer) -> str:
    """Whatever brings a card onward, else the stock."""
    return next((move for move in racer.legal if "-" in move), racer.legal[0])


def last(racer: Racer) -> str:
    """Another habit, for another game."""
    return racer.legal[-1]


def lazy(racer: Racer) -> str:
    """Every other chance is let go."""
    moves = [move for move in racer.legal if "-" in move]
    idle = [move for move in racer.legal if "-" not in move]
    return moves[0] if moves and (racer.ply % 2 or not idle) else idle[0]


# Races


def go(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Have something done meanwhile; it does not outlive its test."""
    return asyncio.create_task(work, name=MEANWHILE)


async def lobby(racers: Sequence[Racer], game: str, **settings: Any) -> str:
    """A race of these racers that has not begun; the first is its host, and all listen."""
    host = racers[0]
    made = await host.done("POST", "/v1/races", {"game": game, "kind": "live"} | settings)
    for n, racer in enumerate(racers):
        racer.race = made["id"]
        if racer is not host:
            await racer.done("POST", f"/v1/races/{racer.race}/entrants", at=n)
    await asyncio.gather(*(racer.listen() for racer in racers))
    return racers[0].race


async def begin(racers: Sequence[Racer], at: int = 0) -> None:
    """The host starts it; returns when everybody has been dealt."""
    await racers[0].done("POST", f"/v1/races/{racers[0].race}/start", at=at)
    for racer in racers:
        await racer.until(lambda r=racer: r.play, "the race starts")
        await racer.follow()


async def race_of(racers: Sequence[Racer], game: str, **settings: Any) -> str:
    """A race of these racers that has just begun."""
    race = await lobby(racers, game, **settings)
    await begin(racers)
    return race


async def ended(racers: Sequence[Racer]) -> None:
    """Everybody has been told that the race has ended."""
    await asyncio.gather(*(racer.until(lambda r=racer: r.end, "the race ends") for racer in racers))


async def proved(racers: Sequence[Racer], at: int = 0) -> Json:
    """The proof of a race that has ended. It holds, and has everything that was acknowledged."""
    await ended(racers)
    caller = racers[0]
    proof: Json = await caller.done("GET", f"/v1/races/{caller.race}/proof", at=at, limit=100)
    verify(msgspec.json.encode(proof))
    logs = {play["play"]: {e["ply"]: e for e in play["log"]} for play in proof["plays"]}
    for racer in racers:
        log = logs[racer.play["id"]]
        assert list(log) == list(range(1, len(log) + 1))
        for ply, delta in racer.told.items():
            assert log[ply] == {key: delta[key] for key in ("ply", "move", "at_ms")}
        assert racer.acked.keys() <= log.keys()
        assert proof["standings"] == racer.end["standings"]
    # All were told the same, version by version, apart from what is each one's own.
    for v in set().union(*(racer.events for racer in racers)):
        shared = [r.events[v] | {"play": None} for r in racers if v in r.events]
        assert all(told == shared[0] for told in shared), shared
    return proof
