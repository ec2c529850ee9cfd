"""A play looked at afterwards: which ply lost the game, which choices cost moves."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from service import rules
from service.rules import IllegalMove, Position
from service.solver.solve import par, solve
from service.solver.verdict import Cancelled, Progress, check_budget

ANALYSIS_BUDGETS = {"kings-way": 100_000_000, "royal-mullein": 30_000}
"""States by game and position looked at. King's Way needs about seven positions a play."""

_ENDS = ("resign", "timeout")


class BadLog(ValueError):
    """The entry `ply` (from 1) of a log cannot stand there."""

    def __init__(self, ply: int, why: str) -> None:
        super().__init__(f"ply {ply}: {why}")
        self.ply = ply


class Looked(msgspec.Struct, frozen=True, omit_defaults=True):
    """After an entry of the log (ply 0: at the start).

    King's Way: `winnable`, null when not known. Royal Mullein: `best`, the fewest moves known from
    there (null: none known), and `cost`, by how many moves this entry made the game longer.
    """

    ply: int
    entry: str
    winnable: bool | None = None
    best: int | None = None
    cost: int = 0


class Analysis(msgspec.Struct, frozen=True):
    """`fatal`: the ply that lost the game, when that is known. `par`: the best line known."""

    game: str
    plies: tuple[Looked, ...]
    fatal: int | None
    par: tuple[str, ...]
    states: int


def after(position: Position, moves: Iterable[str]) -> Position:
    """The position after these moves. `BadLog` names the first that is not legal."""
    for ply, move in enumerate(moves, 1):
        try:
            position = position.apply(move).position
        except IllegalMove as error:
            raise BadLog(ply, str(error)) from None
    return position


class _Node(NamedTuple):
    position: Position
    parent: int
    move: str


def _replayed(start: Position, log: Iterable[str]) -> tuple[list[_Node], list[int]]:
    """The positions met, and which one each entry (0: the start) led to; `undo` leads back."""
    nodes = [_Node(start, -1, "")]
    at = [0]
    for ply, entry in enumerate(log, 1):
        here = at[-1]
        if entry in _ENDS:
            at.append(here)
        elif entry == "undo":
            if nodes[here].parent < 0:
                raise BadLog(ply, "there is nothing to undo")
            at.append(nodes[here].parent)
        else:
            try:
                position = nodes[here].position.apply(entry).position
            except IllegalMove as error:
                raise BadLog(ply, str(error)) from None
            nodes.append(_Node(position, here, entry))
            at.append(len(nodes) - 1)
    return nodes, at


def analysis(
    game: str,
    seed: str,
    log: Iterable[str],
    budget: int | None = None,
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    python: bool = False,
) -> Analysis:
    """Looks at every ply of an ended play's log; `budget` states for each position.

    Raises `UnknownGame`, `BadSeed`, `BadBudget`, `BadLog`.
    """
    name = rules.game_named(game).name
    budget = check_budget(ANALYSIS_BUDGETS[name] if budget is None else budget)
    log = tuple(log)
    nodes, at = _replayed(rules.start(name, seed), log)
    entries = tuple(zip(range(len(at)), ("", *log), at, strict=True))
    run = _Run(name, nodes, budget, progress, cancelled, python)
    if name == "kings-way":
        run.find_winnable()
        plies = tuple(Looked(ply, entry, winnable=run.winnable[n]) for ply, entry, n in entries)
    else:
        run.find_best()
        plies = tuple(
            Looked(ply, entry, best=run.best(n), cost=run.cost(n, entry))
            for ply, entry, n in entries
        )
    return Analysis(name, plies, run.fatal(at), run.lines[0] or (), run.states)


class _Run:
    def __init__(
        self,
        game: str,
        nodes: list[_Node],
        budget: int,
        progress: Progress | None,
        cancelled: Cancelled | None,
        python: bool,
    ) -> None:
        self.game, self.nodes, self.budget, self.python = game, nodes, budget, python
        self.progress, self.cancelled = progress, cancelled
        self.states = 0
        self.winnable: list[bool | None] = [None] * len(nodes)
        self.lines: list[tuple[str, ...] | None] = [None] * len(nodes)
        self.asked = [False] * len(nodes)

    def _told(self, states: int) -> None:
        if self.progress is not None:
            self.progress(self.states + states)

    def _ask(self, n: int, best: bool) -> None:
        """Solve the position n; a line found serves every position along it as well."""
        if self.cancelled is not None and self.cancelled():
            return
        find = par if best else solve
        found = find(
            self.game,
            self.nodes[n].position,
            self.budget,
            progress=self._told,
            cancelled=self.cancelled,
            python=self.python,
        )
        self.asked[n] = True
        self.states += found.states
        if found.verdict == "solved":
            self.winnable[n] = True
            self.lines[n] = found.moves
        elif found.verdict == "unwinnable":
            self.winnable[n] = False

    def _path(self, n: int) -> list[int]:
        path = [n]
        while self.nodes[path[-1]].parent >= 0:
            path.append(self.nodes[path[-1]].parent)
        return path[::-1]

    def find_winnable(self) -> None:
        """Once lost, always lost: so halving finds the ply, on each way that was tried."""
        self._ask(0, best=False)
        leaves = set(range(len(self.nodes))) - {node.parent for node in self.nodes}
        for leaf in sorted(leaves):
            self._halve(self._path(leaf))
        for n, node in enumerate(self.nodes):
            if node.parent >= 0 and self.winnable[node.parent] is False:
                self.winnable[n] = False

    def _halve(self, path: list[int]) -> None:
        won = [i for i, n in enumerate(path) if self.winnable[n]]
        lost = [i for i, n in enumerate(path) if self.winnable[n] is False]
        low, high = max(won, default=-1), min(lost, default=len(path))
        spans = [(low, high)]
        if high == len(path):  # the last position first: most of the time it tells all
            spans = [(low, high - 1), (high - 2, high)] if high - low > 1 else []
            spans.reverse()
        while spans:
            low, high = spans.pop()
            middle = (low + high) // 2
            if high - low < 2 or self.winnable[path[middle]] is not None:
                continue
            self._ask(path[middle], best=False)
            if self.winnable[path[middle]]:
                for n in path[:middle]:
                    self.winnable[n] = True
            elif self.winnable[path[middle]] is False:
                for n in path[middle:]:
                    self.winnable[n] = False
            spans += [(low, middle), (middle, high)]

    def find_best(self) -> None:
        for n, node in enumerate(self.nodes):
            before = self.lines[node.parent] if node.parent >= 0 else None
            if before and before[0] == node.move:
                self.lines[n] = before[1:]
            if not self._forced(node):
                self._ask_better(n)
        for n in range(len(self.nodes) - 1, 0, -1):  # what was found later holds for earlier
            node, line = self.nodes[n], self.lines[n]
            if line is not None:
                better = (node.move, *line)
                known = self.lines[node.parent]
                if known is None or len(better) < len(known):
                    self.lines[node.parent] = better
        for n, node in enumerate(self.nodes[1:], 1):
            before = self.lines[node.parent]
            if before and before[0] == node.move:
                self.lines[n] = before[1:]

    def _forced(self, node: _Node) -> bool:
        return node.parent >= 0 and len(self.nodes[node.parent].position.legal()) == 1

    def _ask_better(self, n: int) -> None:
        known = self.lines[n]
        self._ask(n, best=True)
        found = self.lines[n]
        if known is not None and (found is None or len(found) > len(known)):
            self.lines[n] = known

    def best(self, n: int) -> int | None:
        line = self.lines[n]
        return None if line is None else len(line)

    def cost(self, n: int, entry: str) -> int:
        if not entry or entry == "undo" or entry in _ENDS:
            return 0
        here, before = self.best(n), self.best(self.nodes[n].parent)
        return 0 if here is None or before is None else here + 1 - before

    def fatal(self, at: list[int]) -> int | None:
        """On the way that was played to the end: the ply that led from won to lost."""
        for n in self._path(at[-1])[1:]:
            if self.winnable[self.nodes[n].parent] and self.winnable[n] is False:
                return max(
                    ply
                    for ply in range(1, len(at))
                    if at[ply] == n and at[ply - 1] == self.nodes[n].parent
                )
        return None
