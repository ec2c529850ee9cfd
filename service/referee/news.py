"""Whom the bus wakes when a race has moved on. What it was they read for themselves."""

from collections.abc import Sequence

import msgspec

from service.contest import events as e
from service.contest.race import Race
from service.live.bus import Bus, Wake

LOBBY = "lobby"

_UNLISTED = e.EntrantReady | e.EntrantEnded
"""What changes nothing that the list of races shows at once."""


def tell(bus: Bus, race: Race, events: Sequence[e.Event]) -> None:
    """Wake who watches a race, the list of races, or what happens to an entrant."""
    bus.publish(Wake(f"race:{race.header.id}", race.v))
    if race.header.listed and not all(isinstance(event, _UNLISTED) for event in events):
        bus.publish(Wake(LOBBY, 0))
    if any(isinstance(event, e.Countdown | e.Started) for event in events):
        for player in race.entrants:
            bus.publish(Wake(f"player:{player}", 0))


def tell_entered(bus: Bus, race: Race, player: str) -> None:
    """A player's clock in an open race has begun to run."""
    bus.publish(Wake(f"player:{player}", 0))
    if race.header.listed:
        bus.publish(Wake(LOBBY, 0))


def tell_rematch(bus: Bus, parent: Race, rematch: Race) -> None:
    """A race that has ended has a rematch: its log is closed, so this is no event of it."""
    told = {"race": rematch.header.id, "host": rematch.header.creator}
    bus.publish(Wake(f"race:{parent.header.id}", parent.v, msgspec.json.encode(told)))
