"""Transactions: their limits, their ends, and errors that tell no secrets."""

import asyncio
import traceback

import pytest
from sqlalchemy import insert, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from service.contest.events import Created, Logged
from service.contest.player import Player
from service.storage import players
from service.storage.database import Database, OutcomeUnknown, Unavailable
from service.storage.database import database_url as address_of
from service.storage.ids import new_id
from service.storage.journal import Journal
from service.storage.tables import deals
from tests.storage.rows import an_entry, scalar, some_keys, until

postgres = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


async def count_players(database: Database) -> int:
    return await scalar(database, "SELECT count(*) FROM players")


async def add_player(connection) -> None:
    await players.create(connection, Player(new_id(1), "Ann", "guest"), None, 1)


@postgres
async def test_limits_are_set_on_every_connection(database):
    for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
        query = text(f"SHOW {setting}")
        assert await scalar(database, f"SHOW {setting}") == "10s"
        assert await database.transact(lambda c, q=query: c.scalar(q)) == "10s"


@sqlite
async def test_sqlite_syncs_fully_and_readers_only_read(database):
    assert await database.transact(lambda c: c.scalar(text("PRAGMA synchronous"))) == 2
    assert await database.transact(lambda c: c.scalar(text("PRAGMA journal_mode"))) == "wal"
    assert await scalar(database, "PRAGMA query_only") == 1
    with pytest.raises(Unavailable):
        async with database.read() as connection:
            await connection.execute(text("DELETE FROM players"))


@postgres
async def test_an_idle_transaction_is_ended(database_url, monkeypatch):
    monkeypatch.setattr("service.storage.engines.IDLE_TRANSACTION_MS", 100)
    database = Database(make_url(database_url))

    async def work(connection) -> None:
        await add_player(connection)
        pid = await connection.scalar(text("SELECT pg_backend_pid()"))

        async def gone() -> bool:
            query = "SELECT count(*) FROM pg_stat_activity WHERE pid = :pid"
            return await scalar(database, query, pid=pid) == 0

        await until(gone)
        await connection.execute(text("SELECT 1"))

    with pytest.raises(Unavailable):
        await database.transact(work)
    assert await count_players(database) == 0
    await database.stop()


@postgres
async def test_a_connection_killed_before_the_commit(database):
    async def work(connection) -> None:
        await add_player(connection)
        pid = await connection.scalar(text("SELECT pg_backend_pid()"))
        await scalar(database, "SELECT pg_terminate_backend(:pid, 10000)", pid=pid)

    with pytest.raises((Unavailable, OutcomeUnknown)):
        await database.transact(work)
    assert await count_players(database) == 0
    await database.transact(add_player)
    assert await count_players(database) == 1


@postgres
@pytest.mark.parametrize("idle", [True, False])
async def test_a_connection_that_died_in_the_pool(idle, database, database_url, monkeypatch):
    """Tried before it is used if it has been idle; else the first to use it comes upon it."""
    monkeypatch.setattr("service.storage.engines.IDLE_SECONDS", 0 if idle else 3600)
    pool = Database(make_url(database_url))
    reads = [await scalar(pool, "SELECT pg_backend_pid()") for _ in range(3)]
    await pool.transact(add_player)
    for pid in set(reads):
        assert await scalar(database, "SELECT pg_terminate_backend(:pid, 10000)", pid=pid)
    if not idle:
        with pytest.raises(Unavailable):
            await count_players(pool)
    assert await count_players(pool) == 1
    await pool.stop()


@postgres
async def test_a_transaction_whose_answer_is_lost(far, database):
    cable, far_database, _ = far

    async def work(connection) -> None:
        await add_player(connection)
        cable.hold_replies()

    waiting = asyncio.create_task(far_database.transact(work))

    async def committed() -> bool:
        return await count_players(database) == 1

    await until(committed)
    cable.cut()
    with pytest.raises(OutcomeUnknown):
        await waiting
    cable.mend()
    assert await count_players(far_database) == 1


async def test_a_caller_that_goes_does_not_take_its_transaction_along(database, database_url):
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(connection) -> None:
        await add_player(connection)
        begun.set()
        await go_on.wait()

    waiter = asyncio.create_task(database.transact(work))
    await begun.wait()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    stopping = asyncio.create_task(database.stop())
    await asyncio.sleep(0)
    go_on.set()
    await stopping
    again = Database(make_url(database_url))
    assert await count_players(again) == 1
    await again.stop()


@postgres
async def test_a_deadlock_is_tried_again(database):
    for name in ("Ann", "Bob"):
        await database.transact(
            lambda c, n=name: players.create(c, Player(new_id(1), n, "guest"), None, 1)
        )
    at_work = asyncio.Barrier(2)
    first_try = {"Ann", "Bob"}

    async def swap(connection, mine: str, other: str) -> None:
        update = text("UPDATE players SET created_at = created_at + 1 WHERE name = :name")
        await connection.execute(update, {"name": mine})
        if mine in first_try:
            first_try.remove(mine)
            await at_work.wait()  # both hold theirs now, and want the other's
        await connection.execute(update, {"name": other})

    await asyncio.gather(
        database.transact(lambda c: swap(c, "Ann", "Bob")),
        database.transact(lambda c: swap(c, "Bob", "Ann")),
    )
    assert await scalar(database, "SELECT sum(created_at) FROM players") == 6


# Errors


async def test_a_fault_is_not_taken_for_an_outage(database):
    for query in ("SELECT * FROM nothing", "SELECT nothing FROM plays", "SELEKT 1"):
        with pytest.raises(DBAPIError):
            async with database.read() as connection:
                await connection.execute(text(query))


@pytest.mark.parametrize(
    "values",
    [{"game": None}, {"game": "kings-way", "deal_version": 70_000}, {"game": "kings-way"}],
    ids=["null", "range", "twice"],
)
async def test_errors_hide_seeds(database, values):
    seed = "secret-of-the-deal"
    first = {"deal_version": 1, "seed": seed, "commitment": "c", "created_at": 1}

    async def work(connection) -> None:
        for n in range(2):
            await connection.execute(insert(deals).values({"id": new_id(n)} | first | values))

    with pytest.raises(DBAPIError) as caught:
        await database.transact(work)
    assert seed not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("fault", [{"at_ms": 2**63}, {"id": None}, {"move": "secret\0"}])
async def test_errors_of_moves_hide_them_too(journal, database_kind, fault):
    if database_kind == "sqlite" and "move" in fault:
        return  # no fault there
    (key,) = some_keys(1)
    secret = "".join(["sec", "ret"])  # not as such in the lines of a traceback
    entry = an_entry(1, move=secret, move_id=secret)._replace(**fault)
    (error,) = await asyncio.gather(journal.append(key, entry), return_exceptions=True)
    assert isinstance(error, Exception)
    assert secret not in "".join(traceback.format_exception(error))


async def test_another_error_in_a_transaction_rolls_back(journal, database):
    async def work(connection) -> None:
        await add_player(connection)
        await journal.append_events(connection, new_id(1), [Logged(1, 1, Created())])
        raise LookupError

    with pytest.raises(LookupError):
        await database.transact(work)
    assert await count_players(database) == 0
    assert await scalar(database, "SELECT count(*) FROM race_events") == 0


# Addresses


def test_addresses(tmp_path):
    assert address_of(None, tmp_path).database == str(tmp_path / "samedeal.db")
    assert address_of("sqlite:///x.db", tmp_path).drivername == "sqlite+aiosqlite"
    for scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        url = address_of(f"{scheme}://u:p%40@h:1/d?sslmode=require", tmp_path)
        assert url.render_as_string(hide_password=False) == (
            "postgresql+asyncpg://u:p%40@h:1/d?ssl=require"
        )


@pytest.mark.parametrize("address", ["", "mysql://u:secret@h/d", "secret", "://", "redis://h"])
def test_other_addresses_are_refused_without_repeating_them(address, tmp_path):
    with pytest.raises(ValueError, match="must begin with") as caught:
        address_of(address, tmp_path)
    assert "secret" not in "".join(traceback.format_exception_only(caught.value))


@postgres
async def test_the_journal_takes_the_same_address(database_url):
    url = make_url(database_url).update_query_dict({"ssl": "prefer"})
    store = Database(url)
    journal = Journal(store)
    await journal.start()
    (key,) = some_keys(1)
    assert await journal.append(key, an_entry(1))
    assert await scalar(store, "SELECT count(*) FROM moves") == 1
    await journal.stop()
    await store.stop()
