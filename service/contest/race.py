"""A race: one deal played by many, as the fold of its events.

Commands (`join`, `leave`, …) and `due` return the events to append, in order, or raise; `after`
folds them. Nothing here knows the seed before the event that tells it to everybody.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from service.contest import events as e
from service.contest.play import TIMEOUT_GRACE_MS, Status
from service.contest.player import Player
from service.contest.race_header import RaceHeader, Settings
from service.contest.ranking import Result, Standing, standings
from service.contest.refusals import (
    NotEntrant,
    NotHost,
    RaceFull,
    RaceNotEnded,
    RaceNotOpen,
    RaceOver,
    RaceStarted,
    WrongKind,
)

IDLE_LOBBY_MS = 3_600_000
LATE_START_MS = 2_000
"""A start carried out later than this (after a restart) counts from when it was carried out."""

State = Literal["lobby", "countdown", "scheduled", "running", "ended", "cancelled"]


class Ended(NamedTuple):
    """What an entrant's play came to."""

    status: Status
    score: int
    score_ms: int
    score_plies: int
    moved: bool


class Entrant(NamedTuple):
    player: Player
    ready: bool = False
    play: str | None = None
    ended: Ended | None = None


class Due(NamedTuple):
    """What is owed now: plays whose time is up, then events to append as one block."""

    timeouts: tuple[str, ...]
    events: tuple[e.Event, ...]


NOTHING = Due((), ())


class Race(NamedTuple):
    """A race after `v` events. `entrants` keeps the order of joining."""

    header: RaceHeader
    v: int = 0
    at: int = 0
    state: State = "lobby"
    host: str | None = None
    entrants: Mapping[str, Entrant] = {}
    starts_at: int | None = None
    ended_at: int | None = None
    total: int = 0
    seed: str | None = None
    bots: Mapping[str, int] = {}
    """House bots that the host would like, by level."""

    # What players ask for

    def join(self, player: Player) -> tuple[e.Event, ...]:
        """Idempotent. Raises `RaceFull`, `RaceStarted`, `RaceOver`, `WrongKind`."""
        self._live()
        if self.over:
            raise RaceOver
        if player.id in self.entrants:
            return ()
        if self.state != "lobby":
            raise RaceStarted
        if len(self.entrants) >= self.header.capacity:
            raise RaceFull
        return (e.EntrantJoined(player),)

    def leave(self, player: str, seed: str, now: int, countdown_ms: int) -> tuple[e.Event, ...]:
        """Until the start; the longest-standing entrant follows a host, nobody left cancels.

        When all who stay are ready, and at least two, the countdown begins by itself.

        Raises `NotEntrant`, `RaceStarted`, `RaceOver`, `WrongKind`.
        """
        self._live()
        if self.over:
            raise RaceOver
        if player not in self.entrants:
            raise NotEntrant
        if self.state == "running":
            raise RaceStarted
        rest = [other for other in self.entrants if other != player]
        if not rest:
            return (e.EntrantLeft(player), e.Cancelled("empty", seed))
        events: list[e.Event] = [e.EntrantLeft(player)]
        if self.host == player:
            events.append(e.HostChanged(rest[0]))
        all_ready = len(rest) > 1 and all(self.entrants[other].ready for other in rest)
        if self.state == "lobby" and all_ready:
            events.append(e.Countdown(now + countdown_ms))
        return tuple(events)

    def ready(self, player: str, ready: bool, now: int, countdown_ms: int) -> tuple[e.Event, ...]:
        """All ready and at least two in: the countdown begins by itself.

        Raises `NotEntrant`, `RaceStarted`, `RaceOver`, `WrongKind`.
        """
        self._live()
        if self.over:
            raise RaceOver
        if player not in self.entrants:
            raise NotEntrant
        if self.entrants[player].ready == ready:
            return ()
        if self.state != "lobby":
            raise RaceStarted
        others = (other for key, other in self.entrants.items() if key != player)
        if ready and len(self.entrants) > 1 and all(other.ready for other in others):
            return (e.EntrantReady(player, ready), e.Countdown(now + countdown_ms))
        return (e.EntrantReady(player, ready),)

    def enter(self, now: int) -> None:
        """Whether an open race can be entered at this instant.

        Raises `RaceNotOpen`, `RaceOver` (from `closes_at` on), `WrongKind`.
        """
        if self.header.kind != "open":
            raise WrongKind
        opens_at, closes_at = self.header.opens_at, self.header.closes_at
        if self.over or (closes_at is not None and now >= closes_at):
            raise RaceOver
        if opens_at is not None and now < opens_at:
            raise RaceNotOpen

    def start(self, player: str, now: int, countdown_ms: int) -> tuple[e.Event, ...]:
        """The host begins the countdown; again during it: nothing more.

        Raises `NotHost`, `RaceStarted`, `RaceOver`, `WrongKind`.
        """
        self._live()
        if self.over:
            raise RaceOver
        if player != self.host:
            raise NotHost
        if self.state == "countdown":
            return ()
        if self.state != "lobby":
            raise RaceStarted
        return (e.Countdown(now + countdown_ms),)

    def ask_bots(self, player: str, level: e.BotLevel, count: int) -> tuple[e.Event, ...]:
        """The host would like house bots in the lobby; asking again counts instead.

        Raises `NotHost`, `RaceFull` when all that are wanted would not get in, `RaceStarted`,
        `RaceOver`, `WrongKind`.
        """
        self._live()
        if self.over:
            raise RaceOver
        if player != self.host:
            raise NotHost
        if self.state != "lobby":
            raise RaceStarted
        wanted = {**self.bots, level: count}
        others = sum(entrant.player.kind != "bot" for entrant in self.entrants.values())
        if others + sum(wanted.values()) > self.header.capacity:
            raise RaceFull
        return () if wanted == self.bots else (e.BotsAsked(level, count),)

    def cancel(self, player: str, seed: str) -> tuple[e.Event, ...]:
        """By the host, before the start; again: nothing more.

        Raises `NotHost`, `RaceStarted`, `RaceOver`.
        """
        if player != self.host:
            raise NotHost
        if self.state == "cancelled":
            return ()
        if self.state == "ended":
            raise RaceOver
        if self.state == "running":
            raise RaceStarted
        return (e.Cancelled("host", seed),)

    def _live(self) -> None:
        if self.header.kind != "live":
            raise WrongKind

    def rematch(self, player: str) -> Settings:
        """What a rematch is like. Raises `WrongKind`, `NotEntrant`, `RaceNotEnded`."""
        self._live()
        if player not in self.entrants:
            raise NotEntrant
        if self.state != "ended":
            raise RaceNotEnded("only a race that has ended has a rematch")
        return Settings(*(getattr(self.header, field) for field in Settings._fields))

    # What time asks for

    def due(
        self, plays: Mapping[str, Ended | None], now: int, seed: str, ids: Iterator[str]
    ) -> Due:
        """What is owed at `now`. `plays`: by entrant, how the play ended, None while it goes on.

        `ids` are fresh ids for plays that the start makes. Whoever appends the events first has
        carried them out; asking again then owes nothing.
        """
        match self.state:
            case "lobby" if now >= self.at + IDLE_LOBBY_MS:
                return Due((), (e.Cancelled("idle", seed),))
            case "countdown" if self.starts_at is not None and now >= self.starts_at:
                late = now > self.starts_at + LATE_START_MS
                started_at = now if late else self.starts_at
                return Due(
                    (), (e.Started(started_at, dict(zip(self.entrants, ids, strict=False))),)
                )
            case "running" if self.header.kind == "live":
                return self._due_running(plays, now, seed)
            case "scheduled" if self.header.opens_at is not None and now >= self.header.opens_at:
                return Due((), (e.Opened(),))
            case _:
                return NOTHING

    def due_open(self, total: int, going: int, now: int, seed: str) -> Due:
        """What is owed at `now` in an open race that has `total` plays, `going` of them running.

        Like a move, an entry counts by its stamp: those that came in time are carried out first.
        """
        closed_at = self.next_due
        if self.state != "running" or closed_at is None or now < closed_at or going:
            return NOTHING
        return Due((), (e.RaceEnded(total, seed),))

    def _due_running(self, plays: Mapping[str, Ended | None], now: int, seed: str) -> Due:
        timeouts: list[str] = []
        events: list[e.Event] = []
        going = 0
        for key, entrant in self.entrants.items():
            if entrant.ended is not None:
                continue
            ended = plays.get(key)
            if ended is not None:
                events.append(e.EntrantEnded(key, *ended))
                continue
            going += 1
            if now >= self.deadline_at + TIMEOUT_GRACE_MS and entrant.play is not None:
                timeouts.append(entrant.play)
        if not going:
            events.append(e.RaceEnded(len(self.entrants), seed))
        return Due(tuple(timeouts), tuple(events))

    @property
    def next_due(self) -> int | None:
        """When time next asks for something by itself (epoch ms), None: never again."""
        match self.state:
            case "lobby":
                return self.at + IDLE_LOBBY_MS
            case "countdown":
                return self.starts_at
            case "scheduled":
                return self.header.opens_at
            case "running":
                if self.header.kind == "live":
                    return self.deadline_at + TIMEOUT_GRACE_MS
                closes_at = self.header.closes_at
                return None if closes_at is None else closes_at + TIMEOUT_GRACE_MS
            case _:
                return None

    # What it is

    @property
    def over(self) -> bool:
        return self.state in ("ended", "cancelled")

    @property
    def deadline_at(self) -> int:
        """When every play of a started live race is out of time (epoch ms)."""
        return (self.starts_at or 0) + self.header.time_limit_ms

    def results(self) -> list[Result]:
        """The ended plays of a live race."""
        return [
            Result(entrant.player, entrant.play, *entrant.ended)
            for entrant in self.entrants.values()
            if entrant.play is not None and entrant.ended is not None
        ]

    def standings(self) -> tuple[Standing, ...]:
        """The standings so far of a live race; final once it has ended."""
        return standings(self.results(), self.header.ranking, alone=self.header.alone)

    def after(self, logged: e.Logged) -> "Race":
        """The race with one more event; its version must be the next."""
        if logged.v != self.v + 1:
            raise ValueError(f"version {logged.v} does not follow {self.v}")
        race = self._replace(v=logged.v, at=logged.at)
        match logged.event:
            case e.Unknown():
                return race
            case e.Created():
                state: State = "lobby" if self.header.kind == "live" else "scheduled"
                host = self.header.creator.id if self.header.creator is not None else None
                return race._replace(state=state, host=host)
            case e.EntrantJoined(player):
                return race._seats({**self.entrants, player.id: Entrant(player)})
            case e.EntrantLeft(player=key):
                return race._seats({k: v for k, v in self.entrants.items() if k != key})
            case e.EntrantReady(player=key, ready=ready):
                return race._seat(key, self.entrants[key]._replace(ready=ready))
            case e.HostChanged(host=host):
                return race._replace(host=host)
            case e.BotsAsked(level=level, count=count):
                return race._replace(bots={**self.bots, level: count})
            case e.Countdown(starts_at=starts_at):
                return race._replace(state="countdown", starts_at=starts_at)
            case e.Opened():
                return race._replace(state="running")
            case e.Started(starts_at=starts_at, plays=plays):
                seats = {k: v._replace(play=plays[k]) for k, v in self.entrants.items()}
                return race._replace(state="running", starts_at=starts_at, entrants=seats)
            case e.EntrantEnded(player=key):
                ended = Ended(*msgspec.structs.astuple(logged.event)[1:])
                return race._seat(key, self.entrants[key]._replace(ended=ended))
            case e.RaceEnded(total=total, seed=seed):
                return race._replace(state="ended", ended_at=logged.at, seed=seed, total=total)
            case e.Cancelled(seed=seed):
                return race._replace(state="cancelled", ended_at=logged.at, seed=seed)

    def _seats(self, entrants: Mapping[str, Entrant]) -> "Race":
        return self._replace(entrants=entrants, total=len(entrants))

    def _seat(self, key: str, entrant: Entrant) -> "Race":
        return self._replace(entrants={**self.entrants, key: entrant})


def fold(race: Race, log: Iterable[e.Logged]) -> Race:
    """The race with more of its log."""
    for logged in log:
        race = race.after(logged)
    return race
