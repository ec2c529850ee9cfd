"""What viewers are told, as the REST objects and snapshots of the protocol.

`None` and left out differ: fields that a viewer may not see are left out.
"""

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET, UnsetType

from service.contest.play import Mode, Play, Ranking, Status
from service.contest.player import Player
from service.contest.race import Race, State
from service.contest.race_header import Deals, Kind
from service.contest.ranking import Standing
from service.contest.sight import Sight, seed_is_open
from service.rules import GAMES
from service.rules.game import Board


def instant(ms: int) -> str:
    """RFC 3339 UTC with milliseconds.

    >>> instant(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    whole = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"


def instant_or_none(ms: int | None) -> str | None:
    """The same, for instants that may not have come."""
    return None if ms is None else instant(ms)


class DealView(msgspec.Struct, frozen=True):
    """`seed` is null while the deal is secret."""

    version: int
    seed: str | None
    commitment: str


class PlayView(msgspec.Struct, frozen=True):
    """A play. `board`, `legal` and `can_undo` only for those who may see them."""

    id: str
    game: str
    rules_version: int
    mode: Mode
    player: Player
    race: str | None
    deal: DealView
    status: Status
    ply: int
    score: int
    goal: int
    started_at: str
    deadline_at: str | None
    ended_at: str | None
    elapsed_ms: int
    board: Board | UnsetType = UNSET
    legal: tuple[str, ...] | UnsetType = UNSET
    can_undo: bool | UnsetType = UNSET


def play_view(play: Play, sight: Sight, race_state: str | None, now: int) -> PlayView:
    """A play at its present ply for a viewer of that sight."""
    header = play.header
    ended_at = play.ended_at
    full = sight == "full"
    return PlayView(
        id=header.id,
        game=header.game,
        rules_version=header.rules_version,
        mode=header.mode,
        player=header.player,
        race=header.race,
        deal=DealView(
            header.deal_version,
            header.seed if seed_is_open(race_state) else None,
            header.commitment,
        ),
        status=play.status,
        ply=play.ply,
        score=play.score,
        goal=GAMES[header.game].goal,
        started_at=instant(header.started_at),
        deadline_at=instant_or_none(header.deadline_at),
        ended_at=instant_or_none(ended_at),
        elapsed_ms=max(0, (now if ended_at is None else ended_at) - header.started_at),
        board=play.position.board() if full else UNSET,
        legal=play.legal if full else UNSET,
        can_undo=play.can_undo if full else UNSET,
    )


class RaceDealView(msgspec.Struct, frozen=True):
    """The deal of a race; `certified`: known beforehand to be winnable."""

    version: int
    commitment: str
    seed: str | None
    certified: bool


class EntrantView(msgspec.Struct, frozen=True):
    """`status`, `score` and `ply` are null before the start."""

    player: Player
    ready: bool
    status: Status | None
    score: int | None
    ply: int | None


class MeView(msgspec.Struct, frozen=True):
    """The viewer's own part in a race; `play` is null before the start."""

    ready: bool
    play: str | None


class RaceView(msgspec.Struct, frozen=True):
    """A race with its first fifty entrants. `me` is null for those who are not in it.

    `parent` is the race that this one is the rematch of, `rematch` the one of this race;
    `bots_wanted` the house bots that the host would like, by level.
    """

    id: str
    game: str
    kind: Kind
    name: str | None
    state: State
    v: int
    host: Player | None
    rules_version: int
    deal: RaceDealView
    capacity: int
    time_limit_ms: int
    ranking: Ranking
    rated: bool
    listed: bool
    deals: Deals
    created_at: str
    starts_at: str | None
    opens_at: str | None
    closes_at: str | None
    ended_at: str | None
    parent: str | None
    rematch: str | None
    total: int
    entrants: tuple[EntrantView, ...]
    me: MeView | None
    bots_wanted: dict[str, int]


def race_view(
    race: Race, entrants: tuple[EntrantView, ...], me: MeView | None, rematch: str | None = None
) -> RaceView:
    """A race at its present version."""
    header = race.header
    host = header.creator
    if race.host is not None and race.host in race.entrants:
        host = race.entrants[race.host].player
    return RaceView(
        id=header.id,
        game=header.game,
        kind=header.kind,
        name=header.name,
        state=race.state,
        v=race.v,
        host=host,
        rules_version=header.rules_version,
        deal=RaceDealView(header.deal_version, header.commitment, race.seed, header.certified),
        capacity=header.capacity,
        time_limit_ms=header.time_limit_ms,
        ranking=header.ranking,
        rated=header.rated,
        listed=header.listed,
        deals=header.deals,
        created_at=instant(header.created_at),
        starts_at=instant_or_none(race.starts_at),
        opens_at=instant_or_none(header.opens_at),
        closes_at=instant_or_none(header.closes_at),
        ended_at=instant_or_none(race.ended_at),
        parent=header.parent,
        rematch=rematch,
        total=race.total,
        entrants=entrants,
        me=me,
        bots_wanted=dict(race.bots),
    )


class LogEntryView(msgspec.Struct, frozen=True):
    """A row of a play's log."""

    ply: int
    move: str
    at_ms: int


class ProofPlay(msgspec.Struct, frozen=True):
    """One entrant's whole log."""

    player: Player
    play: str
    started_at: str
    log: tuple[LogEntryView, ...]


class Proof(msgspec.Struct, frozen=True):
    """With this alone anyone can re-deal, replay and re-rank a race that has ended."""

    race: str
    game: str
    kind: Kind
    deal_version: int
    rules_version: int
    ranking_version: int
    seed: str
    commitment: str
    ranking: Ranking
    time_limit_ms: int
    plays: tuple[ProofPlay, ...]
    standings: tuple[Standing, ...]
    next: str | None
    daily: str | None = None


class Progress(msgspec.Struct, frozen=True):
    """What others see of a play while its board is not theirs to see."""

    score: int
    ply: int
    status: Status
