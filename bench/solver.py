"""(h) The solver, on one core: verdicts, pars, states, hints.

Seconds are of the processor (`time.process_time`), which others on the machine do not lengthen;
the clock on the wall stands beside them.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from bench.games import whole_game
from bench.report import count, ms, percent, quantile, table
from service.rules import Position, start
from service.solver import HINT_BUDGETS, Verdict, hint, kings_way, par, royal_mullein, solve

KINGS_WAY, MULLEIN = "kings-way", "royal-mullein"
VERDICT_SECONDS = 1.0
PAR_SECONDS = (0.1, 1.0, 10.0)
PLIES = (0, 30, 60)
AIM_DECIDED, AIM_LINES, AIM_TIMES, AIM_HINT_MS = 0.97, 20, 30, 500
C_BUDGET = {KINGS_WAY: 200_000_000, MULLEIN: 1_000_000}
PYTHON_BUDGET = {KINGS_WAY: 400_000, MULLEIN: 60_000}

T = TypeVar("T")


class Timed(NamedTuple):
    """Seconds of the processor and on the wall."""

    cpu: float
    wall: float


def timed(work: Callable[..., T], *args: Any, **options: Any) -> tuple[T, Timed]:
    """What a call gives, and its seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = work(*args, **options)
    return found, Timed(time.process_time() - cpu, time.perf_counter() - wall)


class Sum(list[Timed]):
    """Many calls together."""

    @property
    def cpu(self) -> float:
        return sum(one.cpu for one in self)

    @property
    def wall(self) -> float:
        return sum(one.wall for one in self)


def run(quick: bool) -> str:
    """The part as Markdown."""
    if not (kings_way.COMPILED and royal_mullein.COMPILED):
        return "Left out: the extension is not built here."
    seeds = [f"trial-{n}" for n in range(20 if quick else 200)]
    found, verdicts = _verdicts(seeds)
    parts = [verdicts, _lines(seeds), _pars(seeds, (10, 3) if quick else (40, 8, 2))]
    parts += [_speeds(seeds[0]), _hints(found, 3 if quick else 10)]
    return "\n\n".join(parts)


def _verdicts(seeds: list[str]) -> tuple[dict[str, Verdict], str]:
    found: dict[str, Verdict] = {}
    took = Sum()
    for seed in seeds:
        until = time.process_time() + VERDICT_SECONDS
        found[seed], one = timed(
            solve,
            KINGS_WAY,
            start(KINGS_WAY, seed),
            cancelled=lambda until=until: time.process_time() > until,
        )
        took.append(one)
    told = [verdict.verdict for verdict in found.values()]
    within = sum(
        name != "unknown" and one.cpu <= VERDICT_SECONDS
        for name, one in zip(told, took, strict=True)
    )
    decided = len(told) - told.count("unknown")
    rows = [
        (
            len(seeds), told.count("solved"), told.count("unwinnable"), percent(within / len(seeds)),
            f"{decided / took.cpu:.1f}", f"{decided / took.wall:.1f}",
            f"{quantile([one.cpu for one in took], 0.5):.2f}",
            f"{quantile([one.cpu for one in took], 0.99):.2f}",
        )
    ]  # fmt: skip
    head = (
        "deals", "solved", "unwinnable", "decided in a second", "verdicts a second (CPU)", "(wall)",
        "p50 s", "p99 s",
    )  # fmt: skip
    return found, (
        f"King's Way, seeds `{seeds[0]}` to `{seeds[-1]}`, each given up after one second of the "
        f"processor (aim: {percent(AIM_DECIDED)} decided):\n\n{table(head, rows)}"
    )


def _lines(seeds: list[str]) -> str:
    took = Sum()
    solved = moves = 0
    for seed in seeds:
        verdict, one = timed(solve, MULLEIN, start(MULLEIN, seed))
        took.append(one)
        solved += verdict.verdict == "solved"
        moves += len(verdict.moves)
    rows = [
        (
            len(seeds), solved, f"{solved / took.cpu:.0f}", f"{solved / took.wall:.0f}",
            f"{moves / max(1, solved):.1f}",
        )
    ]  # fmt: skip
    head = ("deals", "solved", "lines a second (CPU)", "(wall)", "mean moves")
    return (
        f"Royal Mullein, the first winning line of each deal (aim: ≥ {AIM_LINES} a second):\n\n"
        f"{table(head, rows)}"
    )


def _pars(seeds: list[str], numbers: tuple[int, ...]) -> str:
    """Budgets are in states; how many are looked at in a second is measured first."""
    probe, one = timed(par, MULLEIN, start(MULLEIN, seeds[0]), 2_000_000)
    rate = probe.states / one.cpu
    pars: dict[float, list[int]] = {}
    rows = []
    for seconds, number in zip(PAR_SECONDS, numbers, strict=False):
        budget = round(rate * seconds)
        took = Sum()
        lengths = []
        for seed in seeds[:number]:
            verdict, one = timed(par, MULLEIN, start(MULLEIN, seed), budget)
            took.append(one)
            lengths.append(len(verdict.moves))
        if not all(lengths):
            raise RuntimeError("no line was found")
        pars[seconds] = lengths
        few = numbers[-1]
        rows.append(
            (
                f"{seconds:g} s", count(budget), number, f"{took.cpu / number:.2f}",
                f"{took.wall / number:.2f}", f"{sum(lengths) / number:.1f}",
                f"{sum(lengths[:few]) / few:.1f}",
            )
        )  # fmt: skip
    head = (
        "time", "budget in states", "deals", "s a deal (CPU)", "(wall)", "mean par",
        f"of the first {numbers[-1]}",
    )  # fmt: skip
    return (
        "Royal Mullein, the fewest moves found with a budget of so much of the processor's time, "
        f"on as many of the same seeds as there is time for:\n\n{table(head, rows)}"
    )


def _speeds(seed: str) -> str:
    rows = []
    for game, call in ((KINGS_WAY, solve), (MULLEIN, par)):
        position = start(game, seed)
        c, c_took = timed(call, game, position, C_BUDGET[game])
        python, python_took = timed(call, game, position, PYTHON_BUDGET[game], python=True)
        each = c.states / c_took.cpu, python.states / python_took.cpu
        rows.append((game, count(each[0]), count(each[1]), f"{each[0] / each[1]:.0f}"))
    head = ("game", "states a second in C", "in Python", "times")
    return (
        f"States a second of the processor on `{seed}`, the Python twin with a smaller budget "
        f"(aim: ≥ {AIM_TIMES} times):\n\n{table(head, rows)}"
    )


def _hints(found: dict[str, Verdict], number: int) -> str:
    """Of the deals that took most states: along the line that wins, or any play of those lost."""
    hard = sorted(found, key=lambda seed: -found[seed].states)[:number]
    rows = []
    every = Sum()
    for ply in PLIES:
        took = Sum()
        answers = []
        for seed in hard:
            position = _at(seed, found[seed].moves, ply)
            answer, one = timed(hint, KINGS_WAY, position)
            took.append(one)
            answers.append(answer.hint)
        every += took
        rows.append((f"ply {ply}", *_hint_row(took), *map(answers.count, ("move", "none"))))
        rows[-1] += (answers.count("unknown"),)
    rows.append(("all", *_hint_row(every), "–", "–", "–"))
    head = (
        "at",
        "hints",
        "p50 ms (CPU)",
        "p95 ms (CPU)",
        "p95 ms (wall)",
        "move",
        "none",
        "unknown",
    )
    return (
        f"Hints in King's Way, on those {number} of the deals above that took the most states, with "
        f"the budget of {count(HINT_BUDGETS[KINGS_WAY])} states that hints have (aim: p95 ≤ "
        f"{AIM_HINT_MS} ms):\n\n{table(head, rows)}\n\n"
        "What limits it: memory. King's Way sweeps a table of millions of bytes a card, which no "
        "cache of a core holds; Royal Mullein copies and hashes small positions."
    )


def _hint_row(took: Sum) -> tuple[object, ...]:
    cpu = [one.cpu for one in took]
    return (
        len(took), ms(quantile(cpu, 0.5)), ms(quantile(cpu, 0.95)),
        ms(quantile([one.wall for one in took], 0.95)),
    )  # fmt: skip


def _at(seed: str, line: tuple[str, ...], ply: int) -> Position:
    position = start(KINGS_WAY, seed)
    for move in (line or whole_game(KINGS_WAY, seed))[:ply]:
        position = position.apply_unchecked(move).position
    return position
