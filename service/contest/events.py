"""The events of a race's log, as stored. Instants are epoch milliseconds.

A closed union: a new event is a new struct here. What a later release has written is `Unknown` to
an old process that still runs, and changes nothing for it.
"""

from typing import Literal

import msgspec

from service.contest.play import Status
from service.contest.player import Player

BotLevel = Literal["easy", "steady", "sharp"]


class Created(msgspec.Struct, frozen=True, tag_field="type", tag="created"):
    """Version 1 of every race."""


class EntrantJoined(msgspec.Struct, frozen=True, tag_field="type", tag="entrant-joined"):
    player: Player


class EntrantLeft(msgspec.Struct, frozen=True, tag_field="type", tag="entrant-left"):
    player: str


class EntrantReady(msgspec.Struct, frozen=True, tag_field="type", tag="entrant-ready"):
    player: str
    ready: bool


class HostChanged(msgspec.Struct, frozen=True, tag_field="type", tag="host-changed"):
    host: str


class BotsAsked(msgspec.Struct, frozen=True, tag_field="type", tag="bots-asked"):
    """The host would like that many house bots of a level; it counts instead of what was before."""

    level: BotLevel
    count: int


class Countdown(msgspec.Struct, frozen=True, tag_field="type", tag="countdown"):
    starts_at: int


class Cancelled(msgspec.Struct, frozen=True, tag_field="type", tag="cancelled"):
    """`reason`: `host`, `empty` or `idle`. The deal is told, for nobody can play it any more."""

    reason: str
    seed: str


class Opened(msgspec.Struct, frozen=True, tag_field="type", tag="opened"):
    """An open race began to take entrants."""


class Started(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """`plays`: play id by player id."""

    starts_at: int
    plays: dict[str, str]


class EntrantEnded(msgspec.Struct, frozen=True, tag_field="type", tag="entrant-ended"):
    player: str
    status: Status
    score: int
    score_ms: int
    score_plies: int
    moved: bool


class RaceEnded(msgspec.Struct, frozen=True, tag_field="type", tag="race-ended"):
    """`total` entrants stand in the standings, which follow from the events before."""

    total: int
    seed: str


class Unknown(msgspec.Struct, frozen=True, tag_field="type", tag="unknown"):
    """An event of a later release."""


Event = (
    Unknown
    | Created
    | EntrantJoined
    | EntrantLeft
    | EntrantReady
    | HostChanged
    | BotsAsked
    | Countdown
    | Cancelled
    | Opened
    | Started
    | EntrantEnded
    | RaceEnded
)


class Logged(msgspec.Struct, frozen=True):
    """An event in its place: version `v` of its race, at an instant."""

    v: int
    at: int
    event: Event
