"""More than one process on one Postgres and one Redis: it makes no difference which one serves.

Nor does it when one of them, Redis, or Postgres goes away in the middle: nothing that was
acknowledged is lost, nothing is doubled, and what was missed is made up for.
"""

import asyncio
import itertools
import random
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
import redis

from tests.e2e.conftest import Listen, Racers
from tests.e2e.racing import Json, Racer, Socket, eager, ended, go, last, lazy, proved, race_of
from tests.e2e.served import Service, Services, caller, deadline, true_of
from tests.servers import Postgres, RedisServer

pytestmark = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)


async def several(services: Services, database_url: str, redis_url: str) -> list[Service]:
    return [await services.start(database_url, redis_url) for _ in range(2)]


async def over_rest(racer: Racer, pick: Callable[[Racer], str]) -> None:
    """A move by REST, asked for twice, and again and again where nobody answers."""
    ply = racer.ply + 1
    path = f"/v1/plays/{racer.play['id']}/moves"
    asked = {"ply": ply, "move": pick(racer), "id": f"rest-{ply}"}
    replies: list[Json] = []
    async with deadline("a move by REST is answered"):
        for at in itertools.count(racer.turn + 1):  # first where the socket is not
            try:
                replies.append(await racer.done("POST", path, asked, at=at))
            except httpx2.TransportError:
                await asyncio.sleep(0.05)
            if len(replies) == 2:
                break
    assert replies[0] == replies[1]
    await racer.until(lambda: racer.ply >= ply, "the move made by REST")
    assert {**racer.told[ply], "type": ""} == {**replies[0], "type": ""}
    racer.acked[ply] = replies[0]


async def mixed(racer: Racer, pick: Callable[[Racer], str]) -> None:
    """A whole game, every seventh move of it by REST somewhere else."""
    while racer.status == "playing":
        if racer.ply % 7 == 3:
            await over_rest(racer, pick)
        else:
            await racer.move(pick(racer))


@pytest.mark.parametrize("game", ["kings-way", "royal-mullein"])
async def test_four_players_race_across_two_servers_and_one_is_killed(
    services: Services, racers: Racers, database_url: str, redis_url: str, game: str
) -> None:
    first, second = await several(services, database_url, redis_url)
    four = await racers(4, first, second)
    await race_of(four, game)
    habits = (eager, last, lazy, eager)

    rounds = [go(mixed(*pair)) for pair in zip(four, habits, strict=True)]
    await true_of(
        lambda: all(racer.ply > 20 for racer in four), "they are all in the middle", rounds
    )
    first.kill()
    await asyncio.gather(*rounds)

    assert sum(len(racer.sockets) > 1 for racer in four) == 2  # those who had to move over
    proof = await proved(four, at=1)
    assert len(proof["plays"]) == len(proof["standings"]) == 4
    assert {row["status"] for row in proof["standings"]} <= {"solved", "stuck"}
    await first.start()
    for path in ("standings", "proof"):
        here, there = [
            await four[0].done("GET", f"/v1/races/{four[0].race}/{path}", at=n) for n in (0, 1)
        ]
        assert here | {"as_of": ""} == there | {"as_of": ""}


async def test_two_workers_are_as_good_as_one_and_one_is_killed(
    services: Services, racers: Racers, listen: Listen, database_url: str, redis_url: str
) -> None:
    server = await services.start(database_url, redis_url, workers=2)
    four = await racers(4, server)
    race = await race_of(four, "kings-way")
    watchers = [await listen(server) for _ in range(6)]
    for watcher in watchers:
        await watcher.send(op="watch", topic=f"race:{race}")
        await watcher.frame(op="snapshot")
    assert await server.number("samedeal_sockets") == 10

    rounds = [
        go(mixed(racer, pick)) for racer, pick in zip(four, (eager, last, lazy, eager), strict=True)
    ]
    await true_of(lambda: all(racer.ply > 5 for racer in four), "some moves are made", rounds)
    server.workers()[0].kill()
    await asyncio.gather(*rounds)
    await proved(four)
    await true_of(lambda: len(server.workers()) == 2, "the worker is replaced")

    async def as_many_as_there_are() -> bool:
        living = sum(socket.code is None for socket in (*watchers, *(r.socket for r in four)))
        return await server.number("samedeal_sockets") == living

    await true_of(as_many_as_there_are, "only living sockets are counted")
    for watcher in watchers:
        if watcher.code is None:
            await watcher.frame(op="event", v=four[0].race_v)


async def test_workers_do_not_outlive_their_supervisor(
    services: Services, database_url: str, redis_url: str
) -> None:
    server = await services.start(database_url, redis_url, workers=2)
    workers = server.workers()
    server.process.kill()
    await true_of(lambda: not any(map(_lives, workers)), "the workers are gone")
    server.kill()
    await server.start()  # on the same port


def _lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


async def test_wakes_cross_processes(
    services: Services, racers: Racers, listen: Listen, database_url: str, redis_url: str
) -> None:
    first, second = await several(services, database_url, redis_url)
    (racer,) = await racers(1, first)
    race = await race_of([racer], "kings-way")
    sockets = [await listen(server, racer.token) for server in (first, second)]
    for socket in sockets:
        for topic in (f"play:{racer.play['id']}", f"race:{race}"):
            await socket.send(op="watch", topic=topic)
            await socket.frame(op="snapshot", topic=topic)
    await racer.play_on(eager)
    await ended([racer])
    for socket in sockets:
        await socket.frame(op="event", topic=f"race:{race}", v=racer.race_v)
        plies = [f for f in socket.frames if f.get("topic") == f"play:{racer.play['id']}"]
        seen = [f["v"] for f in plies if f["op"] == "event"]
        assert seen == list(range(1, racer.ply + 1))
        assert [f["data"]["move"] for f in plies if f["op"] == "event"] == [
            racer.told[v]["move"] for v in seen
        ]


async def test_redis_goes_and_comes_back(
    services: Services,
    racers: Racers,
    listen: Listen,
    database_url: str,
    redis_url: str,
    redis_server: RedisServer,
) -> None:
    first, second = servers = await several(services, database_url, redis_url)
    pair = await racers(2, first, second)
    race = await race_of(pair, "royal-mullein")
    # Each one's second socket, and an onlooker, at the server where the moves are not made.
    others = [
        await listen(server, racer.token)
        for racer, server in zip(pair, (second, first), strict=True)
    ]
    onlooker = await listen(second)
    await onlooker.send(op="watch", topic=f"race:{race}")
    for other, racer in zip(others, pair, strict=True):
        await other.send(op="watch", topic=f"play:{racer.play['id']}")
        await other.frame(op="snapshot")

    def known(socket: Socket, player: Racer) -> int:
        plies = [
            frame["data"][player.id]["ply"]
            for frame in socket.frames
            if frame["op"] == "progress" and player.id in frame["data"]
        ]
        return max(plies, default=-1)

    async def some_moves() -> None:
        """Moves on both servers, told in the end to everybody at both."""
        goal = max(racer.ply for racer in pair) + 8
        await asyncio.gather(*(r.play_on(lazy, lambda r=r: r.ply >= goal) for r in pair))
        for other, racer in zip(others, pair, strict=True):
            await other.frame(op="event", v=racer.ply)
            await onlooker.until(
                lambda r=racer: known(onlooker, r) >= r.ply, f"progress at ply {racer.ply}"
            )

    await some_moves()
    redis_server.stop()
    try:
        for server in servers:
            await server.ready(bus="down")
        await some_moves()
        (late,) = await racers(1, first)  # everything else goes on as well
        assert (await late.done("GET", f"/v1/races/{race}"))["state"] == "running"
    finally:
        redis_server.start()
    for server in servers:
        await server.ready(bus="up")
    await some_moves()
    redis_server.flush()
    await some_moves()
    # Gone for less time than it takes to notice: what was told to nobody is told again.
    redis_server.stop()
    goal = pair[0].ply + 1
    await pair[0].play_on(lazy, lambda: pair[0].ply >= goal)
    redis_server.start()
    await others[0].frame(op="event", v=pair[0].ply)
    await onlooker.until(lambda: known(onlooker, pair[0]) >= goal, f"progress at ply {goal}")
    with redis.Redis.from_url(redis_url) as client:
        client.client_pause(2_000, all=True)
    await some_moves()
    await asyncio.gather(*(racer.play_on(lazy) for racer in pair))
    await proved(pair)
    for other, racer in zip(others, pair, strict=True):
        await other.frame(op="event", v=racer.ply)
        seen = [frame["v"] for frame in other.frames if frame["op"] == "event"]
        assert seen == list(range(1, racer.ply + 1))


async def test_logging_out_closes_the_sockets_of_a_token_in_every_process(
    services: Services,
    racers: Racers,
    listen: Listen,
    database_url: str,
    redis_url: str,
    redis_server: RedisServer,
) -> None:
    first, second = servers = await several(services, database_url, redis_url)
    one, two, other = await racers(3, first, second)

    async def sockets_of(racer: Racer) -> list[Socket]:
        opened = [await listen(server, racer.token) for server in (*servers, *servers)]
        for socket in opened:
            await socket.frame(op="ready")
        return opened

    kept = await sockets_of(other)
    gone = await sockets_of(one)
    await one.done("POST", "/v1/logout")
    assert [await socket.closed() for socket in gone] == [4001] * 4
    assert await one.refused("GET", "/v1/me", at=1) == (401, "bad-token")

    gone = await sockets_of(two)
    redis_server.stop()
    try:
        await two.done("POST", "/v1/logout")
        assert [await socket.closed() for socket in gone] == [4001] * 4
    finally:
        redis_server.start()
    for socket in kept:
        assert socket.code is None


class Outage:
    """Takes a database away, and gives it back."""

    def __init__(self, server: Postgres, url: str) -> None:
        self._server = server
        self._name = urlsplit(url).path.removeprefix("/")

    def cut(self) -> None:
        """Ends every connection there is."""
        self._server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{self._name}' AND pid <> pg_backend_pid()"
        )

    def begin(self) -> None:
        self._server.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS false")
        self.cut()

    def end(self) -> None:
        self._server.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS true")


async def test_postgres_restarts_in_mid_race(
    services: Services,
    racers: Racers,
    listen: Listen,
    database_url: str,
    redis_url: str,
    postgres_server: Postgres,
) -> None:
    first, second = servers = await several(services, database_url, redis_url)
    four = await racers(4, first, second)
    race = await race_of(four, "royal-mullein")
    outage = Outage(postgres_server, database_url)
    habits = (eager, last, lazy, eager)
    rounds = [go(racer.play_on(pick)) for racer, pick in zip(four, habits, strict=True)]
    dice = random.Random(1)
    for _ in range(6):
        least = min(racer.ply for racer in four) + dice.randrange(1, 9)
        await asyncio.to_thread(outage.cut)
        await true_of(
            lambda n=least: all(r.ply >= n or r.status != "playing" for r in four),
            "play goes on",
            rounds,
        )
    await asyncio.to_thread(outage.begin)
    try:
        for at, server in enumerate(servers):
            async with caller(server.url) as http:
                await true_of(lambda h=http: _says(h, "/readyz", 503), "it is not ready")
                assert (await http.get("/livez")).status_code == 200
                answer = await http.post("/v1/guests")
                assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
                assert int(answer.headers["retry-after"]) > 0
            for path in (f"/v1/races/{race}", f"/v1/plays/{four[0].play['id']}/moves"):
                assert await four[0].refused("GET", path, at=at) == (503, "unavailable")
            # A socket that cannot be let in is asked to come again.
            stranger = await listen(server, four[0].token)
            assert await stranger.closed() == 1012
            stranger = await listen(server)
            await stranger.send(op="auth", token=four[0].token)
            assert (await stranger.frame(op="error"))["code"] == "unavailable"
            assert await stranger.closed() == 1012
        # Moves meanwhile: retryable, and the sockets stay.
        for racer in four:
            if racer.status == "playing":
                await racer.socket.frame(op="reject", code="unavailable")
    finally:
        await asyncio.to_thread(outage.end)
    await asyncio.gather(*rounds)
    await proved(four)
    assert all(len(racer.sockets) == 1 for racer in four)
    for server in servers:
        await server.ready()


async def test_postgres_is_away_when_a_race_should_end(
    services: Services,
    racers: Racers,
    database_url: str,
    redis_url: str,
    postgres_server: Postgres,
) -> None:
    first, second = await several(services, database_url, redis_url)
    pair = await racers(2, first, second)
    outage = Outage(postgres_server, database_url)
    await race_of(pair, "kings-way", time_limit_ms=2_000)
    await pair[0].move("turn")
    await asyncio.to_thread(outage.begin)
    try:
        async with caller(first.url) as http:
            await true_of(lambda: _says(http, "/readyz", 503), "it is not ready")
        await asyncio.sleep(2.6)  # beyond the deadline: time is what is tested here
    finally:
        await asyncio.to_thread(outage.end)
    await ended(pair)
    proof = await proved(pair)
    assert [row["status"] for row in proof["standings"]] == ["timed_out"] * 2


async def _says(http: object, path: str, status: int) -> bool:
    return (await http.get(path)).status_code == status
