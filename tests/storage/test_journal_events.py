"""Race events: blocks, whole or not at all."""

import asyncio

import pytest
from sqlalchemy.engine import make_url

from service.contest.events import Countdown, Created, Logged
from service.contest.player import Player
from service.storage import players
from service.storage.database import Database
from service.storage.ids import new_id
from service.storage.journal import Conflict, Journal
from tests.storage.rows import scalar


def block(first: int, count: int, at: int = 1) -> list[Logged]:
    return [Logged(v, at, Countdown(v)) for v in range(first, first + count)]


async def test_events_are_read_as_they_were_written(journal, database):
    race, other = new_id(1), new_id(2)
    events = [Logged(1, 5, Created()), Logged(2, 6, Countdown(99)), Logged(3, 6, Countdown(7))]
    await database.transact(lambda c: journal.append_events(c, race, events))
    assert await journal.events(race) == events
    assert await journal.events(race, after=1, limit=1) == events[1:2]
    assert await journal.events(other) == []
    assert await journal.race_heads([race, other]) == {race: 3}
    assert await journal.race_heads([]) == {}


async def test_a_block_is_appended_whole_or_not_at_all(journal, database):
    race = new_id(1)
    await database.transact(lambda c: journal.append_events(c, race, block(1, 2)))

    async def command(connection) -> None:
        await players.create(connection, Player(new_id(3), "Ann", "guest"), None, 1)
        await journal.append_events(connection, race, block(2, 3, at=9))

    with pytest.raises(Conflict):
        await database.transact(command)
    assert await journal.events(race) == block(1, 2)
    assert await scalar(database, "SELECT count(*) FROM players") == 0


async def test_two_processes_race_with_blocks(database_url):
    race, rounds = new_id(1), 15
    stores = [Database(make_url(database_url)) for _ in range(2)]
    for store in stores:
        await store.start()
    journals = [Journal(store) for store in stores]

    async def run(n: int) -> int:
        won = 0
        while (head := len(await journals[n].events(race))) < 3 * rounds:
            events = block(head + 1, 3, at=n)
            try:
                await stores[n].transact(
                    lambda c, events=events: journals[n].append_events(c, race, events)
                )
            except Conflict:
                continue
            won += 1
        return won

    assert sum(await asyncio.gather(run(0), run(1))) == rounds
    events = await journals[0].events(race)
    assert [logged.v for logged in events] == list(range(1, 3 * rounds + 1))
    # Nobody's block has another's event in it.
    assert all(
        len({logged.at for logged in events[n : n + 3]}) == 1 for n in range(0, len(events), 3)
    )
    for store in stores:
        await store.stop()
