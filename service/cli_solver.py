"""The part of the `samedeal` command that asks the solver."""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.pool import Pool
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from service.rules import GAMES, UnknownGame, start
from service.rules.deal import BadSeed
from service.solver import (
    DEFAULT_BUDGETS,
    MAX_BUDGET,
    BadLog,
    Certificate,
    Verdict,
    after,
    catalogue,
    par,
    survey,
)

GAME = click.argument("game", type=click.Choice(tuple(GAMES)))
BUDGET = click.option(
    "--budget", type=click.IntRange(1, MAX_BUDGET), help="States to look at, for each deal."
)


@click.command()
@click.argument("game")
@click.argument("seed")
@click.option("--from", "line", default="", help="Moves already made, a space between.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@BUDGET
def solve(game: str, seed: str, line: str, as_json: bool, budget: int | None) -> None:
    """Print whether a deal can be won, and the moves that win it."""
    try:
        position = after(start(game, seed), line.split())
    except UnknownGame:
        names = ", ".join(GAMES)
        raise click.ClickException(f"there is no such game; the games are {names}") from None
    except (BadSeed, BadLog) as error:
        raise click.ClickException(str(error)) from None
    found: Verdict = par(game, position, budget)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    click.echo(f"{found.verdict}, {len(found.moves)} moves, {found.states} states looked at")
    if found.moves:
        click.echo(" ".join(found.moves))


@click.command("survey")
@GAME
@click.option("--deals", default=1_000, show_default=True, type=click.IntRange(1, 1_000_000))
@click.option("--prefix", default="survey", show_default=True, help="Seeds are PREFIX-1, …")
@click.option(
    "--rows",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep what is found of each deal there; what is there already is not worked out again.",
)
@BUDGET
def survey_(game: str, deals: int, prefix: str, path: Path | None, budget: int | None) -> None:
    """Solve many deals on all cores; print the share winnable with its 95 % interval."""
    seeds = survey.seeds(prefix, deals)
    found: dict[str, survey.Surveyed] = {}
    with contextlib.ExitStack() as stack:
        file = None if path is None else stack.enter_context(path.open("a+b"))
        if file is not None:
            try:
                kept = survey.kept(file)
            except msgspec.DecodeError:
                raise click.ClickException(f"{path} holds something else than a survey") from None
            wanted = frozenset(seeds)
            found = {row.seed: row for row in kept if row.game == game and row.seed in wanted}
        tasks = [(game, seed, budget) for seed in seeds if seed not in found]
        pool, advance = stack.enter_context(_processes()), stack.enter_context(_bar(len(tasks)))
        for row in pool.imap_unordered(survey.surveyed, tasks, chunksize=4):
            found[row.seed] = row
            if file is not None:
                file.write(msgspec.json.encode(row) + b"\n")
                file.flush()
            advance()
    click.echo(msgspec.json.format(msgspec.json.encode(survey.summary(game, found.values()))))


@click.command("catalogue")
@GAME
@click.option("--deals", default=1_000, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--output", required=True, type=click.Path(path_type=Path, dir_okay=False))
@BUDGET
def catalogue_(game: str, deals: int, output: Path, budget: int | None) -> None:
    """Write the catalogue of open practice deals anew: seeds 1, 2, 3 …"""
    states = DEFAULT_BUDGETS[game] if budget is None else budget
    tasks = [(game, str(number), states) for number in range(1, deals + 1)]
    with _processes() as pool, _bar(len(tasks)) as advance:

        def told() -> Iterator[tuple[str, Certificate]]:
            for certified in pool.imap(catalogue.certified, tasks, chunksize=4):
                advance()
                yield certified

        output.write_bytes(b"".join(line + b"\n" for line in catalogue.write(game, states, told())))


@contextlib.contextmanager
def _processes() -> Iterator[Pool]:
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        yield pool


@contextlib.contextmanager
def _bar(total: int) -> Iterator[Callable[[], object]]:
    """A progress bar on standard error, plain silence where that is no terminal."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, disable=not console.is_terminal)
    with progress:
        task = progress.add_task("deals", total=total)
        yield lambda: progress.advance(task)
