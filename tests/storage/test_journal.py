"""The journal on both databases: the key is the lock, groups, ends, culprits, blocks, stopping."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine, make_url

from service.contest.play import Entry
from service.storage.database import Database, OutcomeUnknown, Unavailable
from service.storage.ids import id_text, new_id
from service.storage.journal import GROUP, Journal, play_key
from service.storage.move_store import End
from tests.storage.rows import a_player, an_entry, derived, log, scalar, some_keys, some_plays

WON = End("solved", 40, 900, 70, True, False, 5_000, 77)
LOST = End("stuck", 3, 80, 9, True, True, 4_000)
PLAYING = ("playing", 0, 0, 0, False, False, None, None)


# The key is the lock


async def test_what_is_stored_can_be_read(journal):
    (key,) = some_keys(1)
    entries = [Entry(1, "c5-w", 7, "a", 1), Entry(2, "turn", 7, "ä∞", 2), an_entry(3, "resign")]
    for entry in entries:
        assert await journal.append(key, entry) is True
    play = id_text(key.bytes)
    assert await journal.entries(play) == entries
    assert await journal.entries(play, after=1, limit=1) == entries[1:2]
    assert await journal.all_entries(play, after=3) == []
    assert await journal.last_entries([play, new_id(1)]) == {play: (3, 0)}
    assert await journal.last_entries([]) == {}


async def test_a_log_longer_than_a_page(journal, monkeypatch):
    monkeypatch.setattr("service.storage.journal.PAGE", 4)
    (key,) = some_keys(1)
    for ply in range(1, 10):
        await journal.append(key, an_entry(ply))
    assert [entry.ply for entry in await log(journal, key)] == list(range(1, 10))


async def test_a_ply_is_taken_once(journal):
    (key,) = some_keys(1)
    assert await journal.append(key, an_entry(1, move_id="first"))
    assert await journal.append(key, an_entry(1, move_id="second")) is False
    assert [entry.id for entry in await log(journal, key)] == ["first"]


async def test_many_for_one_ply_at_once(journal):
    (key,) = some_keys(1)
    took = [journal.append(key, an_entry(1, move_id=f"m{n}")) for n in range(20)]
    assert Counter(await asyncio.gather(*took)) == {True: 1, False: 19}
    assert len(await log(journal, key)) == 1


async def test_two_processes_race_for_the_same_plies(database_url):
    plies, keys = 12, some_keys(6)
    stores = [Database(make_url(database_url)) for _ in range(2)]
    journals = [Journal(store) for store in stores]
    for store, journal in zip(stores, journals, strict=True):
        await store.start()
        await journal.start()

    async def run(journal: Journal, name: str, key: uuid.UUID) -> list[tuple[uuid.UUID, int, str]]:
        won = []
        while (head := len(await log(journal, key))) < plies:
            entry = an_entry(head + 1, move_id=name)
            if await journal.append(key, entry):
                won.append((key, entry.ply, name))
        return won

    runs = [run(journals[n], f"process {n}", key) for key in keys for n in range(2)]
    won = [victory for victories in await asyncio.gather(*runs) for victory in victories]
    assert Counter((key, ply) for key, ply, _ in won) == Counter(
        {(key, ply): 1 for key in keys for ply in range(1, plies + 1)}
    )
    for key in keys:
        entries = await log(journals[0], key)
        assert [entry.ply for entry in entries] == list(range(1, plies + 1))
        assert {(key, entry.ply, entry.id) for entry in entries} <= set(won)
    for store, journal in zip(stores, journals, strict=True):
        await journal.stop()
        await store.stop()


# Groups


@pytest.fixture
def commits(database_kind, request) -> AsyncIterator[list[None]]:
    """Grows with each commit that SQLAlchemy makes."""
    seen: list[None] = []

    def committed(_connection) -> None:
        seen.append(None)

    event.listen(Engine, "commit", committed)
    yield seen
    event.remove(Engine, "commit", committed)


async def test_many_plays_are_committed_in_few_groups(journal, database, commits):
    keys = some_keys(4 * GROUP)
    before = len(commits)
    assert all(await asyncio.gather(*(journal.append(key, an_entry(1)) for key in keys)))
    assert await scalar(database, "SELECT count(*) FROM moves") == len(keys)
    if database.dialect == "postgresql":
        assert await scalar(database, "SELECT count(DISTINCT xmin::text) FROM moves") <= 5
    else:
        assert len(commits) - before <= 5


async def test_a_group_holds_one_entry_a_play(journal, database, commits):
    keys = some_keys(3)
    before = len(commits)
    took = [journal.append(key, an_entry(ply)) for ply in range(1, 6) for key in keys]
    assert await asyncio.gather(*took) == [True] * 15
    for key in keys:
        assert [entry.ply for entry in await log(journal, key)] == [1, 2, 3, 4, 5]
    if database.dialect == "postgresql":
        counts = "SELECT count(*) AS n FROM moves GROUP BY xmin::text, play_id"
        assert await scalar(database, f"SELECT max(n) FROM ({counts}) AS counts") == 1
        assert await scalar(database, "SELECT count(DISTINCT xmin::text) FROM moves") == 5
    else:
        assert len(commits) - before == 5


async def test_ends_are_written_only_with_rows_that_the_log_took(journal, database):
    player = await a_player(database, "Ann")
    won, late, going = (header.id for header in await some_plays(database, player, 3))
    assert await journal.append(play_key(late), an_entry(1))
    took = [
        journal.append(play_key(won), an_entry(1), WON),
        journal.append(play_key(late), an_entry(1), WON),
        journal.append(play_key(going), an_entry(1)),
    ]
    assert await asyncio.gather(*took) == [True, False, True]
    assert await derived(database, won) == tuple(WON)
    assert await derived(database, late) == PLAYING
    assert await derived(database, going) == PLAYING

    assert await journal.append(play_key(late), an_entry(2), LOST)
    assert await derived(database, late) == tuple(LOST)
    again = LOST._replace(status="playing", ended_at=None)  # an undo takes the end back
    assert await journal.append(play_key(late), an_entry(3), again)
    assert await derived(database, late) == tuple(again)


@pytest.mark.parametrize(
    ("culprit", "kinds"),
    [
        (an_entry(1, move="tu\0rn"), {"postgres"}),  # SQLite takes it
        (an_entry(1, move="\ud800"), {"postgres", "sqlite"}),
        (an_entry(1, move_id="\udcff"), {"postgres", "sqlite"}),
        (an_entry(40_000), {"postgres"}),  # beyond a smallint, which SQLite does not know
        (an_entry(1, at_ms=2**63), {"postgres", "sqlite"}),
        (Entry(1, "turn", 1, "m", 10**400), {"postgres", "sqlite"}),
        (Entry(1, None, 1, "m", 0), {"postgres", "sqlite"}),
    ],
    ids=["nul", "surrogate", "surrogate in id", "ply", "at_ms", "400 digits", "null"],
)
async def test_a_culprit_fails_alone(journal, database, database_kind, culprit, kinds):
    if database_kind not in kinds:
        (key,) = some_keys(1)
        assert await journal.append(key, culprit)
        assert await log(journal, key) == [culprit]
        return
    player = await a_player(database, "Ann")
    ids = [header.id for header in await some_plays(database, player, 9)]
    took = [
        journal.append(play_key(play), culprit if n == 4 else an_entry(1), WON)
        for n, play in enumerate(ids)
    ]
    done = await asyncio.gather(*took, return_exceptions=True)
    fault = done.pop(4)
    assert isinstance(fault, Exception)
    assert not isinstance(fault, Unavailable | OutcomeUnknown)
    assert done == [True] * 8
    guilty = ids.pop(4)
    assert await journal.entries(guilty) == []
    assert await derived(database, guilty) == PLAYING
    for play in ids:
        assert await derived(database, play) == tuple(WON)
    assert await journal.append(play_key(guilty), an_entry(1))
