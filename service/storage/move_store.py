"""What the journal hands to a database: groups of entries, and how they end plays."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from service.contest.play import Entry


class End(NamedTuple):
    """The derived columns of a play, written with an entry that ends it or takes its end back."""

    status: str
    score: int
    score_ms: int
    score_plies: int
    moved: bool
    undone: bool
    ended_at: int | None
    merit: int | None = None


class Waiting(NamedTuple):
    """An entry on its way into the log."""

    play_id: uuid.UUID
    entry: Entry
    end: End | None
    done: "asyncio.Future[bool]"


class MoveStore(Protocol):
    """One database's way to insert a group of entries, sorted by play."""

    async def insert(self, group: Sequence[Waiting]) -> set[uuid.UUID]:
        """The plays whose entry is now in the log; the others' ply was taken.

        Raises `Unavailable` (nothing is stored), `OutcomeUnknown`, or another error for a fault
        of the group's content, after which nothing of it is stored.
        """

    async def stop(self) -> None:
        """Close what it holds open."""
