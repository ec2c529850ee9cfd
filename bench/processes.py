"""(g) Two processes against one: stored moves a second on the same Postgres and Redis."""

import asyncio
import contextlib
from pathlib import Path

from bench.client import until
from bench.machine import CORES, children
from bench.moves import Round, Target
from bench.report import count, median, ms, percent, quantile, table
from bench.servers import has_redis, redis_server, service

SOCKETS = 200
WORKERS = (1, 2)


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    if "Postgres" not in stores or not has_redis():
        return "Left out: it takes a Postgres that answers and a `redis-server` program."
    rounds, seconds = (2, 1.0) if quick else (4, 2.0)
    told: dict[int, list[Round]] = {workers: [] for workers in WORKERS}
    async with contextlib.AsyncExitStack() as stack:
        redis = await stack.enter_async_context(redis_server())
        targets = {}
        for workers in WORKERS:
            running = await stack.enter_async_context(
                service(
                    "Postgres",
                    name=f"{workers} of them",
                    redis=redis,
                    prefix=f"{workers}:",
                    workers=workers,
                    cores=tuple(CORES),
                )
            )
            targets[workers] = Target(running)
            if workers > 1:
                await until(lambda pid=running.pid, n=workers: len(_workers(pid)) == n)
                await asyncio.sleep(3)  # so that each of them accepts its share of the sockets
                targets[workers].pids = _workers(running.pid)
                targets[workers].margin = 3.0  # whose process has fewer sockets is the quicker
            await targets[workers].open(SOCKETS)
        for number in range(rounds):
            # By turns in who is first, too.
            for workers in WORKERS if number % 2 else WORKERS[::-1]:
                told[workers].append(await targets[workers].round(seconds))
        for target in targets.values():
            await target.close()
            if await target.stored() != target.acknowledged:
                raise RuntimeError(f"{target.name}: not as many moves stored as acknowledged")
    ratio = median([two.rate / one.rate for one, two in zip(told[1], told[2], strict=True)])
    rows = [_row(workers, told[workers]) for workers in WORKERS]
    head = (
        "processes",
        "moves a second",
        "p50 ms",
        "p99 ms",
        "each process busy",
        "generator busy",
    )
    return (
        f"`samedeal serve --workers N` on Postgres and Redis, {SOCKETS} sockets, each with one move "
        f"in flight; medians of {rounds} rounds taken by turns. **Two processes do {ratio:.2f} times "
        f"as many moves a second as one.**\n\n{table(head, rows)}\n\n"
        f"What limits it: the machine. Its {len(CORES)} cores are shared by the processes of the "
        "service, Postgres, Redis and the load generator, none of which is pinned but the "
        "generator; a second process can only have what the first and all the others leave over. "
        "So this says what a second process costs or gives on such a machine, not how the service "
        "grows with cores of its own."
    )


def _workers(supervisor: int) -> list[int]:
    """The serving processes that a supervisor has begun."""
    return [
        child
        for child in children(supervisor)
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def _row(workers: int, rounds: list[Round]) -> tuple[object, ...]:
    latencies = [x for found in rounds for x in found.latencies]
    seconds = sum(found.seconds for found in rounds)
    each = [sum(sum(found.servers[n]) for found in rounds) / seconds for n in range(workers)]
    generator = sum(sum(found.generator) for found in rounds) / seconds
    return (
        workers, count(median([found.rate for found in rounds])), ms(quantile(latencies, 0.5)),
        ms(quantile(latencies, 0.99)), ", ".join(map(percent, each)), percent(min(1.0, generator)),
    )  # fmt: skip
