"""What never changes of a race."""

from typing import Literal, NamedTuple

import msgspec

from service.contest.play import Ranking
from service.contest.player import Player

Kind = Literal["live", "open"]
Deals = Literal["winnable", "any"]


class RaceHeader(msgspec.Struct, frozen=True):
    """What never changes of a race. The deal's seed is not part of it."""

    id: str
    game: str
    kind: Kind
    name: str | None
    creator: Player | None
    deal_version: int
    commitment: str
    certified: bool
    rules_version: int
    ranking: Ranking
    capacity: int
    time_limit_ms: int
    rated: bool
    listed: bool
    created_at: int
    opens_at: int | None = None
    closes_at: int | None = None
    deals: Deals = "winnable"
    """What its deal was to be drawn from; `certified` says whether it was."""
    daily: str | None = None
    """The UTC date of a daily, else None."""
    parent: str | None = None
    """The race that this one is the rematch of."""

    @property
    def alone(self) -> float | None:
        """The match points of an entrant without an opponent that moved."""
        return 100.0 if self.daily is not None else None


class Settings(NamedTuple):
    """What two live races have in common when one is the rematch of the other."""

    game: str
    name: str | None
    capacity: int
    time_limit_ms: int
    ranking: Ranking
    rated: bool
    listed: bool
    deals: Deals
