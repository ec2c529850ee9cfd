"""The three levels: what a bot thinks of its board. It sees that and nothing else.

`easy` plays the first sensible move, `steady` weighs what is visible, `sharp` samples what is not.
"""

import random
import time
from collections.abc import Iterator, Mapping
from typing import Protocol

from service.bots import kings_way, royal_mullein
from service.bots.messages import Board

Legal = tuple[str, ...]

SECONDS = 0.15
FEWEST = 4


class Mind(Protocol):
    """Somebody at one play: it is asked at every turn, and may remember what it has seen."""

    def choose(self, board: Board, legal: Legal) -> str:
        """One of the legal moves, of which there is at least one."""


class Easy:
    """Plays the first sensible move."""

    def __init__(self, game: str) -> None:
        self._choose = _EASY[game]

    def choose(self, board: Board, legal: Legal) -> str:
        return self._choose(board, legal)


class Steady:
    """Weighs what is visible."""

    def __init__(self, game: str) -> None:
        self._choose = _STEADY[game]

    def choose(self, board: Board, legal: Legal) -> str:
        return self._choose(board, legal)


class Sharp:
    """Deals the hidden cards at random, many times, and plays each of its moves out as `Steady`.

    What lies where is known once a waste has become the stock: that order it remembers.
    """

    def __init__(
        self,
        game: str,
        rng: random.Random,
        worlds: int | None = None,
        seconds: float | None = SECONDS,
    ) -> None:
        """`worlds`: how often the hidden cards are dealt a move at most; less often when `seconds`
        are over, None being never.
        """
        self._sample = _SAMPLE[game]
        self._worlds = _WORLDS[game] if worlds is None else worlds
        self._seconds = seconds
        self._rng = rng
        self._waste: tuple[str, ...] = ()
        self._pass = 1
        self._known: tuple[str, ...] = ()

    def choose(self, board: Board, legal: Legal) -> str:
        self._remember(board)
        if len(legal) == 1:
            return legal[0]
        return self._sample(board, legal, self._known, self._while_time(), self._rng)

    def _while_time(self) -> Iterator[int]:
        """A number for each deal; a few whatever the time, so that there is something to compare."""
        until = None if self._seconds is None else time.monotonic() + self._seconds
        for number in range(self._worlds):
            if number >= FEWEST and until is not None and time.monotonic() >= until:
                return
            yield number

    def _remember(self, board: Board) -> None:
        down = board.piles["s"].down
        if board.pass_ == self._pass + 1:
            # The waste that was seen last became the lowest cards of the stock, or all of it.
            self._known = self._waste
        elif board.pass_ != self._pass:
            self._known = ()
        self._known = self._known[max(0, len(self._known) - down) :]
        self._waste, self._pass = board.piles["w"].up, board.pass_


LEVELS = ("easy", "steady", "sharp")

_EASY = {"kings-way": kings_way.easy, "royal-mullein": royal_mullein.easy}
_STEADY = {"kings-way": kings_way.steady, "royal-mullein": royal_mullein.steady}
_SAMPLE = {"kings-way": kings_way.sharp, "royal-mullein": royal_mullein.sharp}
_WORLDS: Mapping[str, int] = {"kings-way": 240, "royal-mullein": 24}


def mind(level: str, game: str, rng: random.Random) -> Mind:
    """A mind for one play. Raises `KeyError` for a level or a game that is not known here."""
    match level:
        case "easy":
            return Easy(game)
        case "steady":
            return Steady(game)
        case "sharp":
            return Sharp(game, rng)
        case _:
            raise KeyError(level)
