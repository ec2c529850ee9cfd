"""Blocks: consecutive events for the end of a race's log."""

from collections.abc import Sequence

from service.contest import events as e
from service.contest.race import Race


def block(race: Race, events: Sequence[e.Event], now: int) -> list[e.Logged]:
    """The events with the versions that follow the race's; time never runs backwards."""
    at = max(race.at, now)
    return [e.Logged(race.v + n, at, event) for n, event in enumerate(events, 1)]
