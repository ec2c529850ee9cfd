"""How the demo looks: a live table on a terminal, plain lines anywhere else."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from service.bots.messages import Standing
from service.bots.reports import Analysis
from service.demo.daily import Day
from service.demo.scene import Scene
from service.demo.stage import Result
from service.demo.trio import Trio
from service.rules import Game

REPORT_SECONDS = 5.0
STYLES = {"solved": "green", "stuck": "yellow", "resigned": "red", "timed_out": "red"}


class Unread(Exception):
    """Nobody reads what is shown any more."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would exit at once, in the middle of a task; there is a server to be ended first."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Unread("nobody reads this any more")


class Show:
    """What is shown, on standard output."""

    def __init__(self) -> None:
        # Whatever the environment would force: a file full of escapes helps nobody.
        terminal = sys.stdout.isatty()
        self._console = _Console(highlight=False, force_terminal=terminal)
        self._live = terminal and not self._console.is_dumb_terminal

    def line(self, text: str) -> None:
        """One line, never wrapped."""
        self._console.print(Text(text), soft_wrap=True)

    def news(self, text: str) -> None:
        """A line that a live table makes unnecessary."""
        if not self._live:
            self.line(text)

    @contextlib.asynccontextmanager
    async def following(self, scenes: list[Scene]) -> AsyncIterator[None]:
        """Show these races for as long as it lasts."""
        if self._live:
            with Live(
                get_renderable=lambda: Group(*map(_table, scenes)),
                console=self._console,
                refresh_per_second=10,
            ):
                yield
            return
        reporting = asyncio.create_task(self._report(scenes))
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)

    async def _report(self, scenes: list[Scene]) -> None:
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            for scene in scenes:
                if scene.state == "running":
                    scores = ", ".join(f"{row.name} {row.score}" for row in scene.rows.values())
                    self.line(f"{scene.title}: {scores} of {scene.goal}")

    def result(self, scene: Scene, result: Result) -> None:
        """The standings, and whether they can be believed."""
        names = {player: row.name for player, row in scene.rows.items()}
        self.line("")
        self.line(f"{scene.title}, standings:")
        self._console.print(_standings(result.standings, names, scene.goal))
        for fault in result.faults:
            self.line(f"{scene.title}: WRONG: {fault}.")
        if result.checked is not None and not result.faults:
            self.line(
                f"{scene.title}: the proof is verified. The seed {result.proof.seed} is the one "
                f"committed to before the start; {result.checked.plays} plays of together "
                f"{result.checked.moves} log entries replay by the rules, and the standings follow."
            )

    def daily(self, game: Game, day: Day, names: dict[str, str]) -> None:
        """Today's leaderboard so far."""
        self.line("")
        self.line(f"{game.titles['en']}, today's daily, leaderboard so far:")
        self._console.print(_standings(day.standings, names, game.goal))
        for fault in day.faults:
            self.line(f"The daily: WRONG: {fault}.")

    def trio(self, scene: Scene, trio: Trio) -> None:
        """What the bots' deal was like, how the last of them lost, and what they are rated now."""
        if trio.result.race.deal.certified:
            self.line(f"{scene.title}: this deal was certified winnable before they raced it.")
        else:
            self.line(
                f"{scene.title}: no certified deal was ready, so perhaps this one had no win."
            )
        if trio.lesson is not None:
            name = scene.rows[trio.lesson.player].name
            self.line(f"{scene.title}: {_lost(name, trio.lesson.analysis)}")
        rows = ", ".join(f"{scene.rows[r.player.id].name} {r.rating}" for r in trio.ratings)
        self.line(f"{scene.title}: ratings after one race: {rows}.")


def _lost(name: str, analysis: Analysis | None) -> str:
    if analysis is None:
        return f"how {name} lost is not known in the time there is."
    if analysis.fatal is not None:
        move = analysis.plies[analysis.fatal].entry
        return (
            f"{name} lost with ply {analysis.fatal}, {move}: "
            "before it the game could still be won, after it no more."
        )
    if analysis.plies[0].winnable is False:
        return f"{name} could not have won: the analysis proves that nobody could."
    return f"{name} did not win, and no single move is known to have lost the game."


def _table(scene: Scene) -> Table:
    table = Table(title=f"{scene.title}: {scene.state}", title_justify="left", width=76)
    table.add_column("player", width=10)
    table.add_column("score", width=7, justify="right")
    table.add_column("", width=30)
    table.add_column("ply", width=4, justify="right")
    table.add_column("status", width=10)
    for row in scene.rows.values():
        table.add_row(
            row.name,
            f"{row.score}/{scene.goal}",
            ProgressBar(
                scene.goal, row.score, width=30, complete_style="cyan", finished_style="green"
            ),
            str(row.ply),
            Text(row.status, STYLES.get(row.status, "")),
        )
    return table


def _standings(rows: tuple[Standing, ...], names: dict[str, str], goal: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("rank", "player", "status", "score", "reached at", "in moves", "points"):
        table.add_column(heading, justify="left" if heading in ("player", "status") else "right")
    for row in rows:
        table.add_row(
            "-" if row.rank is None else f"{row.rank}.",
            names.get(row.player.id, row.player.name),
            Text(row.status, STYLES.get(row.status, "")),
            f"{row.score}/{goal}",
            f"{row.score_ms / 1000:.3f} s",
            str(row.score_plies),
            "-" if row.points is None else f"{row.points:.1f}",
        )
    return table
