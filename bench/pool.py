"""(i) Stored moves a second while the pool of certified deals is filled, and while it is not."""

import os
import signal

import asyncpg

from bench.client import until
from bench.machine import CORES, children
from bench.moves import Round, Target
from bench.report import count, median, ms, quantile, table
from bench.servers import service

SOCKETS = 200
POOL = 200
AIM = 0.9


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    if "Postgres" not in stores:
        return "Left out: it takes a Postgres that answers."
    rounds, seconds = (2, 1.0) if quick else (6, 2.0)
    still: list[Round] = []
    filling: list[Round] = []
    certified = 0
    async with service("Postgres", pool=POOL, cores=tuple(CORES)) as server:
        target = Target(server)
        await until(lambda: children(server.pid))  # the process that works the deals out
        await target.open(SOCKETS)
        for number in range(rounds):
            for fills in (True, False) if number % 2 else (False, True):
                _signal(server.pid, signal.SIGCONT if fills else signal.SIGSTOP)
                before = await _pooled(server.database)
                (filling if fills else still).append(await target.round(seconds))
                if fills:
                    certified += await _pooled(server.database) - before
        _signal(server.pid, signal.SIGCONT)
        await target.close()
        pooled = await _pooled(server.database)
    if not certified or pooled >= 2 * POOL:
        raise RuntimeError(f"the pool was not being filled: {certified} more, {pooled} in all")
    ratio = median([b.rate / a.rate for a, b in zip(still, filling, strict=True)])
    rows = [_row("stopped", still, "–"), _row("at work", filling, str(certified))]
    head = ("the pool's process", "moves a second", "p50 ms", "p99 ms", "deals certified meanwhile")
    return (
        f"`SAMEDEAL_POOL={POOL}` on Postgres, {SOCKETS} sockets, each with one move in flight; "
        f"{rounds} rounds each by turns, for which the process that works the certificates out is "
        f"stopped or let go on. **While the pool is filled, {ratio:.2f} of the moves are done** "
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
