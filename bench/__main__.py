"""`python -m bench`: all parts, or those that are named."""

import asyncio
import datetime
import resource
import time
from pathlib import Path

import click
import uvloop

from bench import boards, closing, idle, machine, moves, pool, processes, rules, solver, watching
from bench.report import table
from bench.servers import STORES, postgres_version

RESULTS = Path(__file__).parent / "results.md"
TITLES = {
    "rules": "(a) The rules",
    "moves": "(b) Stored moves a second",
    "watching": "(c) One race, many watchers",
    "idle": "(d) Memory of an idle socket",
    "boards": "(e) A board of a million rows",
    "closing": "(f) Closing a race of a thousand",
    "processes": "(g) Two processes against one",
    "solver": "(h) The solver",
    "pool": "(i) Moves while the pool is filled",
}
FILES = 20_000
"""Open files that the widest part may need."""


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(tuple(TITLES)))
@click.option("--quick", is_flag=True, help="Short rounds: to see that it runs, not to compare.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write. Without: bench/results.md after a whole run that is not quick.",
)
def main(parts: tuple[str, ...], quick: bool, output: Path | None) -> None:
    """Measure the service. PARTS: all of them if none is named.

    SAMEDEAL_BENCH_DATABASE_URL names the Postgres on which a database of the bench's own is made
    and dropped; without one that answers only SQLite is measured.
    """
    if output is None and not parts and not quick:
        output = RESULTS
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    machine.pin(machine.GENERATOR_CORE)
    text = uvloop.run(_run(parts or tuple(TITLES), quick))
    if output is not None:
        output.write_text(text)
        click.echo(f"\nwritten to {output}")


async def _run(parts: tuple[str, ...], quick: bool) -> str:
    begun = time.monotonic()
    told: list[str] = []

    def tell(text: str) -> None:
        click.echo(text + "\n")
        told.append(text)

    postgres = await postgres_version()
    stores = STORES if postgres is not None else STORES[:1]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows = [("date", today), *machine.describe(), ("Postgres", postgres or "none answered")]
    tell("# Results of `make bench`" + (" (quick: not for comparison)" if quick else ""))
    tell(table(("what", "which"), rows))
    for part in TITLES:
        if part not in parts:
            continue
        tell(f"## {TITLES[part]}")
        match part:
            case "rules":
                tell(await asyncio.to_thread(rules.run, quick))
            case "moves":
                tell(await moves.run(quick, stores))
            case "watching":
                tell(await watching.run(quick, stores))
            case "idle":
                tell(await idle.run(quick, stores))
            case "boards":
                tell(await boards.run(quick, stores))
            case "closing":
                tell(await closing.run(quick, stores))
            case "processes":
                tell(await processes.run(quick, stores))
            case "solver":
                tell(await asyncio.to_thread(solver.run, quick))
            case "pool":
                tell(await pool.run(quick, stores))
    tell(f"The whole took {time.monotonic() - begun:.0f} seconds.")
    return "\n\n".join(told) + "\n"


if __name__ == "__main__":
    main()
