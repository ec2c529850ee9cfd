"""Which lobbies a house bot joins, and when it leaves again. Pure: what it sees, it is told.

A bot of a level is known by its name, which begins with the level, and by being marked as a bot.
"""

from collections.abc import Iterable
from typing import NamedTuple

from service.bots.messages import Player, Race

UNASKED_SECONDS = 10.0
"""How long somebody waits alone before a bot comes without having been asked."""


class Manners(NamedTuple):
    """`game`: None is any. `race_each_other`: also without any people."""

    level: str
    game: str | None = None
    race_each_other: bool = False


def players(race: Race) -> tuple[Player, ...]:
    """Who is in, in the order of joining."""
    return tuple(entrant.player for entrant in race.entrants)


def joins(manners: Manners, race: Race, waited: float) -> bool:
    """Whether to join a lobby that has been listed for `waited` seconds."""
    if race.kind != "live" or race.state != "lobby" or race.total >= race.capacity:
        return False
    if manners.game not in (None, race.game):
        return False
    inside = players(race)
    if _only_bots(inside):
        return manners.race_each_other
    if race.bots_wanted:
        return _of_level(manners.level, inside) < race.bots_wanted.get(manners.level, 0)
    return waited >= UNASKED_SECONDS and not any(player.kind == "bot" for player in inside)


def stays(manners: Manners, inside: Iterable[Player], bots_wanted: dict[str, int], me: str) -> bool:
    """Whether to stay in a lobby that one is in.

    Of several bots that came at once the first ones stay: the log of the race has put them in an
    order that is the same for all.
    """
    inside = tuple(inside)
    if _only_bots(inside):
        return manners.race_each_other
    before = inside[: [player.id for player in inside].index(me)]
    if bots_wanted:
        return _of_level(manners.level, before) < bots_wanted.get(manners.level, 0)
    return not any(player.kind == "bot" for player in before)


def _only_bots(inside: tuple[Player, ...]) -> bool:
    return all(player.kind == "bot" for player in inside)


def _of_level(level: str, inside: tuple[Player, ...]) -> int:
    return sum(player.kind == "bot" and player.name.startswith(f"{level}-") for player in inside)
