"""Who may see what. REST, socket, proof and dumps all ask here and nowhere else."""

from typing import Literal

from service.contest.play import Header

Sight = Literal["full", "numbers"]

OPEN_STATES = frozenset({"ended", "cancelled"})
"""The states of a race in which its deal is no longer secret."""


def sight_of_play(
    header: Header, *, over: bool, race_state: str | None, viewer: str | None
) -> Sight:
    """`full` shows board, moves and log; `numbers` only score, ply and status.

    A race play is its player's own until the race has ended; entrants who have finished get no
    more than others (a confederate could resign and look). Practice opens when it is over.
    """
    if viewer is not None and viewer == header.player.id:
        return "full"
    opened = over if header.race is None else race_state == "ended"
    return "full" if opened else "numbers"


def seed_is_open(race_state: str | None) -> bool:
    """Whether a deal's seed may be told: practice deals always, a race's once it is over."""
    return race_state is None or race_state in OPEN_STATES
