"""What a game is to everybody else: a name, some data and positions that know their moves.

A third game is one file beside this one and one line in `GAMES`.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from service.rules.cards import Card, Deck


class UnknownGame(LookupError):
    """There is no game of that name."""


class IllegalMove(ValueError):
    """The move is not in `Position.legal`; `legal` is that list."""

    def __init__(self, move: str, legal: tuple[str, ...]) -> None:
        super().__init__("not a legal move in this position")
        self.move = move
        self.legal = legal


class Moved(msgspec.Struct, frozen=True, tag_field="do", tag="move", rename={"from_": "from"}):
    """One card went, face up, from the end of a pile onto another."""

    card: Card
    from_: str
    to: str


class Revealed(msgspec.Struct, frozen=True, tag_field="do", tag="reveal"):
    """The last face-down card of a pile was turned face up (`KW3`)."""

    card: Card
    pile: str


class Packed(msgspec.Struct, frozen=True, tag_field="do", tag="pack", rename={"from_": "from"}):
    """The top `count` cards of a pile were turned face down into another (`KW6`, `RM7`)."""

    from_: str
    to: str
    count: int


Change = Moved | Revealed | Packed


class Pile(msgspec.Struct, frozen=True):
    """A pile as a viewer sees it: `down` face-down cards beneath, then `up`, bottom first."""

    down: int
    up: tuple[Card, ...]


class Turns(NamedTuple):
    """How far the stock is: the pass (from 1), cards still to turn in it, redeals still to come."""

    pass_: int
    pass_left: int
    redeals_left: int


class Board(msgspec.Struct, frozen=True, rename={"pass_": "pass"}):
    """All that a player may see of a position."""

    piles: dict[str, Pile]
    pass_: int
    pass_left: int
    redeals_left: int

    def after(self, changes: tuple[Change, ...], turns: Turns) -> "Board":
        """The board after a delta, from the delta alone, as a client works it out."""
        piles = dict(self.piles)
        for change in changes:
            match change:
                case Moved(card, from_, to):
                    source, target = piles[from_], piles[to]
                    if source.up:
                        piles[from_] = Pile(source.down, source.up[:-1])
                    else:
                        piles[from_] = Pile(source.down - 1, ())
                    piles[to] = Pile(target.down, (*target.up, card))
                case Revealed(card, pile):
                    piles[pile] = Pile(piles[pile].down - 1, (card,))
                case Packed(from_, to, count):
                    source, target = piles[from_], piles[to]
                    piles[from_] = Pile(source.down, source.up[: len(source.up) - count])
                    piles[to] = Pile(target.down + count, target.up)
        return Board(piles, turns.pass_, turns.pass_left, turns.redeals_left)


class Position(Protocol):
    """An immutable state of one game, with full knowledge of the cards."""

    @property
    def score(self) -> int:
        """Cards home (or cleared), 0 to the game's goal."""

    @property
    def solved(self) -> bool:
        """Whether the goal is reached (`KW8`, `RM8`)."""

    @property
    def turns(self) -> Turns:
        """Where in its passes the game is."""

    def legal(self) -> tuple[str, ...]:
        """The legal moves, sorted by code point. Empty: solved or stuck."""

    def apply(self, move: str) -> "Step":
        """The position after a legal move and what changed. Raises `IllegalMove`."""

    def apply_unchecked(self, move: str) -> "Step":
        """The same without the check: for callers that took `move` from `legal` themselves."""

    def board(self) -> Board:
        """What the player sees; never a face-down card."""


class Step(NamedTuple):
    """What a move makes: the next position and the changes a viewer sees."""

    position: Any
    changes: tuple[Change, ...]


class Game(msgspec.Struct, frozen=True):
    """The data of a game; `lay_out` takes the 96 shuffled cards, the first dealt first."""

    name: str
    titles: dict[str, str]
    goal: int
    goal_text: str
    piles: dict[str, str]
    rules: tuple[str, ...]
    deck: Deck
    lay_out: Callable[[Deck], Position]
    max_moves: int
    """No game has more moves than this (`KW8`, `RM8`); `undo` and the like not counted."""
    ranking: Literal["time", "moves"]
    """The default ranking of open races: `time` or `moves`."""
