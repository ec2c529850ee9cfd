"""What the service tells its clients, as far as this one reads it.

The contract is open: fields that are not named here are ignored, and texts such as `status` and
`code` may get values that nobody knows yet, so they are plain `str`.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")


class Player(Struct, frozen=True):
    """`kind`: guest, human or bot."""

    id: str
    name: str
    kind: str


class Account(Struct, frozen=True):
    """A player and the token that speaks for them. The token is told only once."""

    player: Player
    token: str


class Page(Struct, Generic[T], frozen=True):
    """One page of a list; `next` is the cursor of the following one, None at the end."""

    items: tuple[T, ...]
    next: str | None = None


# Boards


class Pile(Struct, frozen=True):
    """`down` cards face down, and on them `up`, the last one on top."""

    down: int
    up: tuple[str, ...]


class Change(Struct, frozen=True, rename={"from_": "from"}):
    """`do`: `move` (card, from, to), `reveal` (card, pile) or `pack` (from, to, count)."""

    do: str
    card: str = ""
    from_: str = ""
    to: str = ""
    pile: str = ""
    count: int = 0


class Board(Struct, frozen=True, rename={"pass_": "pass"}):
    """All that its player may see of a position."""

    piles: Mapping[str, Pile]
    pass_: int
    pass_left: int
    redeals_left: int

    def after(self, changes: tuple[Change, ...]) -> Mapping[str, Pile]:
        """The piles after the changes of a delta. Raises `ValueError` for a change unknown here."""
        piles = dict(self.piles)
        for change in changes:
            match change.do:
                case "move":
                    source, target = piles[change.from_], piles[change.to]
                    if source.up:
                        piles[change.from_] = Pile(source.down, source.up[:-1])
                    else:  # from the stock, of which nobody sees a card before it is turned
                        piles[change.from_] = Pile(source.down - 1, ())
                    piles[change.to] = Pile(target.down, (*target.up, change.card))
                case "reveal":
                    piles[change.pile] = Pile(piles[change.pile].down - 1, (change.card,))
                case "pack":
                    source, target = piles[change.from_], piles[change.to]
                    left = source.up[: len(source.up) - change.count]
                    piles[change.from_] = Pile(source.down, left)
                    piles[change.to] = Pile(target.down + change.count, target.up)
                case other:
                    raise ValueError(f"no change known here is called {other}")
        return piles


# Plays


class Delta(Struct, frozen=True, rename={"pass_": "pass"}):
    """What one entry of a play's log did. `board` comes instead of changes after an undo."""

    ply: int
    move: str
    at_ms: int
    score: int
    status: str
    pass_: int
    pass_left: int
    redeals_left: int
    legal: tuple[str, ...] = ()
    can_undo: bool = False
    changes: tuple[Change, ...] = ()
    board: Board | None = None


class Play(Struct, frozen=True):
    """A play. `board` and `legal` are there only for those who may see them."""

    id: str
    game: str
    player: Player
    status: str
    ply: int
    score: int
    goal: int
    race: str | None = None
    board: Board | None = None
    legal: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        return self.status != "playing"

    def after(self, delta: Delta) -> "Play":
        """The play with the next delta: just what the service would tell when asked anew."""
        board = delta.board
        if board is None and self.board is not None:
            piles = self.board.after(delta.changes)
            board = Board(piles, delta.pass_, delta.pass_left, delta.redeals_left)
        return msgspec.structs.replace(
            self,
            ply=delta.ply,
            score=delta.score,
            status=delta.status,
            legal=delta.legal,
            board=board,
        )


# Races


class Entrant(Struct, frozen=True):
    """`status`, `score` and `ply` are None before the start."""

    player: Player
    ready: bool
    status: str | None = None
    score: int | None = None
    ply: int | None = None


class Me(Struct, frozen=True):
    """One's own part in a race; `play` is None before the start."""

    ready: bool
    play: str | None = None


class Standing(Struct, frozen=True):
    """A row of the standings. `rank` and `points` are None without a move."""

    rank: int | None
    player: Player
    status: str
    score: int
    score_ms: int
    score_plies: int
    points: float | None
    play: str


class Deal(Struct, frozen=True):
    """`seed` is None while the deal is secret; the commitment stands from the beginning.

    `certified`: the deal is known to be winnable.
    """

    commitment: str
    seed: str | None = None
    certified: bool = False


class Race(Struct, frozen=True):
    """A race at version `v`."""

    id: str
    game: str
    deal: Deal
    state: str
    v: int
    total: int
    entrants: tuple[Entrant, ...]
    me: Me | None = None
    kind: str = "live"
    capacity: int = 0
    bots_wanted: Mapping[str, int] = {}
    """House bots that the host would like, by level."""


class RaceRemoved(Struct, frozen=True):
    """A race is no longer one of the list that the topic `lobby` tells."""

    race: str


class RaceList(Struct, frozen=True):
    """All of that list."""

    races: tuple[Race, ...]


class RaceEvent(Struct, frozen=True):
    """One event of a race; `type` says which, and so which of the other fields are there.

    `started` brings an entrant the whole play at ply 0, others None.
    """

    type: str
    v: int = 0
    player: Player | str | None = None
    host: Player | None = None
    ready: bool | None = None
    starts_at: str | None = None
    play: Play | None = None
    status: str | None = None
    score: int | None = None
    standings: tuple[Standing, ...] = ()
    total: int | None = None
    seed: str | None = None
    level: str = ""
    count: int = 0


class Progress(Struct, frozen=True):
    """How far a rival is."""

    score: int
    ply: int
    status: str


class RaceProgress(Struct, frozen=True):
    """By player id, those who have got on. Unversioned: of two, the higher ply is the later."""

    players: Mapping[str, Progress]


# Frames


class Frame(Struct, frozen=True):
    """Any frame of the server; `op` says which fields are there, `data` waits to be decoded."""

    op: str
    topic: str = ""
    v: int = 0
    play: str | None = None
    id: str | int | None = None
    ply: int | None = None
    code: str = ""
    detail: str = ""
    legal: tuple[str, ...] = ()
    retry_after_ms: int | None = None
    data: msgspec.Raw = msgspec.Raw()


# What goes wrong


class Refused(Exception):
    """The service said no. `code` is stable, `str(error)` for people; the rest where it helps."""

    def __init__(
        self, code: str, detail: str, *, ply: int | None = None, legal: tuple[str, ...] = ()
    ) -> None:
        super().__init__(f"{detail} ({code})")
        self.code = code
        self.ply = ply
        self.legal = legal


class Lost(Exception):
    """The service cannot be reached, or not any more, although it was tried for a while."""
