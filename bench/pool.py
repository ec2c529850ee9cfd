"""(i) Stored moves a second while the pool of certified deals is filled, and while it is not."""

import asyncio
import os
import signal

import asyncpg

from bench.client import until
from bench.machine import CORES, children
from bench.moves import Round, Target
from bench.report import count, median, ms, quantile, table
from bench.servers import service

SOCKETS = 200
PAIRS = 5
SPELL_SECONDS, SETTLE_SECONDS = 0.5, 0.1
POOL = 200
AIM = 0.9


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    if "Postgres" not in stores:
        return "Left out: it takes a Postgres that answers."
    rounds = 2 if quick else 10
    still: list[Round] = []
    filling: list[Round] = []
    async with service("Postgres", pool=POOL, cores=tuple(CORES)) as server:
        target = Target(server)
        await until(lambda: children(server.pid))  # the process that works the deals out
        await target.open(SOCKETS)
        await target.round(1.0)  # which tells how many moves to lay in
        _signal(server.pid, signal.SIGSTOP)
        before = await _pooled(server.database)
        for _ in range(rounds):
            await target.begin(2 * PAIRS * (SPELL_SECONDS + SETTLE_SECONDS))
            for number in range(PAIRS):
                for fills in (True, False) if number % 2 else (False, True):
                    _signal(server.pid, signal.SIGCONT if fills else signal.SIGSTOP)
                    await asyncio.sleep(SETTLE_SECONDS)
                    (filling if fills else still).append(await target.look(SPELL_SECONDS))
            await target.end()
        _signal(server.pid, signal.SIGCONT)
        pooled = await _pooled(server.database)
        certified = pooled - before
        await target.close()
    if not certified or pooled >= 2 * POOL:
        raise RuntimeError(f"the pool was not being filled: {certified} more, {pooled} in all")
    # Of neighbours in time; in some the whole machine stood still.
    pairs = list(zip(still, filling, strict=True))
    ratio = median([b.rate / a.rate for a, b in pairs if a.latencies])
    rows = [_row("stopped", still, "–"), _row("at work", filling, str(certified))]
    head = ("the pool's process", "moves a second", "p50 ms", "p99 ms", "deals certified meanwhile")
    return (
        f"`SAMEDEAL_POOL={POOL}` on Postgres, {SOCKETS} sockets, each with one move in flight; "
        f"{len(pairs)} times half a second each by turns, for which the process that works the certificates "
        f"out is stopped or let go on. **While the pool is filled, {ratio:.2f} of the moves are done** "
        f"(aim on two cores: ≥ {AIM}).\n\n{table(head, rows)}\n\n"
        f"What limits it: one process of the lowest priority, beside the service, Postgres and the "
        f"load generator on {len(CORES)} cores. It gets what the others leave, and takes from them "
        "the processor's caches and memory, which the tables of King's Way do not spare."
    )


def _signal(server: int, kind: signal.Signals) -> None:
    for child in children(server):
        os.kill(child, kind)


async def _pooled(database: str | None) -> int:
    connection = await asyncpg.connect(database)
    try:
        return int(await connection.fetchval("SELECT count(*) FROM pool"))
    finally:
        await connection.close()


def _row(name: str, rounds: list[Round], certified: str) -> tuple[object, ...]:
    latencies = [x for found in rounds for x in found.latencies]
    return (
        name, count(median([found.rate for found in rounds])), ms(quantile(latencies, 0.5)),
        ms(quantile(latencies, 0.99)), certified,
    )  # fmt: skip
