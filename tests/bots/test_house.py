"""House bots as their own process against a real service: asked in, racing, ending."""

import asyncio
import json
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.bots.client import Client
from service.bots.messages import Race
from tests.bots.conftest import Home

PATIENCE_S = 60.0
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def bots(home: Home, tmp_path: Path) -> Iterator[Start]:
    """Starts `samedeal bots`; whatever is left of them is ended."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", "from service.cli import main; main()", "bots"),
                *("--server", home.address, "--state-dir", str(tmp_path / "state")),
                *("--pace", "0", *options),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


async def until(client: Client, race_id: str, held: Callable[[Race], bool]) -> Race:
    async with asyncio.timeout(PATIENCE_S):
        while not held(race := await client.race(race_id)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return race


def bots_in(race: Race) -> list[str]:
    return [
        entrant.player.name.partition("-")[0]
        for entrant in race.entrants
        if entrant.player.kind == "bot"
    ]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, err


async def test_as_many_as_are_asked_for_come_and_race(
    home: Home, bots: Start, tmp_path: Path
) -> None:
    house = bots("--level", "steady", "--count", "3")
    async with await Client.guest(home.address) as host:
        race = await host.create_race("kings-way")
        assert (await host.ask_bots(race.id, "steady", 2)).bots_wanted == {"steady": 2}
        race = await until(host, race.id, lambda race: len(bots_in(race)) >= 2)
        await asyncio.sleep(2)  # the third would have come by now, or gone again
        race = await host.race(race.id)
        assert bots_in(race) == ["steady", "steady"]
        await host.ready(race.id)
        race = await until(host, race.id, lambda race: race.state == "running")
        assert race.me is not None
        assert race.me.play is not None
        await host.resign(race.me.play)
        race = await until(host, race.id, lambda race: race.state == "ended")
        rows = await host.standings(race.id)
        assert {row.status for row in rows if row.player.kind == "bot"} <= {"solved", "stuck"}

    assert ended(house) == (0, "")
    (kept,) = (tmp_path / "state").glob("*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    names = {identity["player"]["name"] for identity in json.loads(kept.read_bytes())}
    assert len(names) == 3
    again = bots("--level", "steady", "--count", "1")
    assert again.stdout is not None
    assert again.stdout.readline().split()[0] in names
    assert ended(again) == (0, "")


async def test_who_ends_in_mid_race_lets_nobody_wait(home: Home, bots: Start) -> None:
    house = bots("--level", "easy", "--pace", "1")
    async with await Client.guest(home.address) as host:
        race = await host.create_race("kings-way")
        await host.ask_bots(race.id, "easy", 1)
        await until(host, race.id, lambda race: bots_in(race) == ["easy"])
        await host.ready(race.id)
        race = await until(
            host, race.id, lambda race: any((entrant.ply or 0) > 0 for entrant in race.entrants)
        )
        assert await asyncio.to_thread(ended, house) == (0, "")
        assert race.me is not None
        assert race.me.play is not None
        await host.resign(race.me.play)
        race = await until(host, race.id, lambda race: race.state == "ended")
        assert {entrant.status for entrant in race.entrants} == {"resigned"}


async def test_who_ends_in_a_lobby_leaves_it(home: Home, bots: Start) -> None:
    house = bots("--level", "easy")
    async with await Client.guest(home.address) as host:
        race = await host.create_race("royal-mullein")
        await host.ask_bots(race.id, "easy", 1)
        await until(host, race.id, lambda race: race.total == 2)
        assert await asyncio.to_thread(ended, house) == (0, "")
        race = await host.race(race.id)
        assert (race.state, race.total) == ("lobby", 1)
        await host.cancel(race.id)


async def test_they_come_back_after_the_service_has(home: Home, bots: Start) -> None:
    house = bots("--level", "steady")
    assert house.stdout is not None
    assert re.match(r"steady-\w+-\w+ is here", house.stdout.readline())
    home.stop()
    home.start()
    async with await Client.guest(home.address) as host:
        race = await host.create_race("royal-mullein")
        await host.ask_bots(race.id, "steady", 1)
        await until(host, race.id, lambda race: race.total == 2)
        await host.cancel(race.id)
    assert ended(house) == (0, "")


@pytest.mark.slow
async def test_they_race_each_other_when_asked_to(home: Home, bots: Start) -> None:
    house = bots("--level", "easy", "--count", "2", "--race-each-other", "--game", "kings-way")
    assert house.stdout is not None
    said = ""
    async with asyncio.timeout(PATIENCE_S):
        while not re.search(r"(solved|stuck), \d+ of 40", said):
            said = await asyncio.to_thread(house.stdout.readline)
    assert ended(house)[0] == 0


def test_two_houses_of_one_level_do_not_share_their_names(bots: Start) -> None:
    first = bots("--level", "easy")
    assert first.stdout is not None
    first.stdout.readline()
    second = bots("--level", "easy")
    assert second.wait(PATIENCE_S) == 1
    assert second.stderr is not None
    assert "are running" in second.stderr.read()
    assert ended(first) == (0, "")
