"""The frames that the server sends, as JSON text; encoded once for all who get the same."""

from collections.abc import Sequence

import msgspec

from service.contest.events import (
    BotsAsked,
    Cancelled,
    Countdown,
    Created,
    EntrantEnded,
    EntrantJoined,
    EntrantLeft,
    EntrantReady,
    HostChanged,
    Logged,
    Opened,
    RaceEnded,
    Started,
    Unknown,
)
from service.contest.play import Delta, begin
from service.contest.race import Race
from service.contest.ranking import Standing
from service.contest.sight import sight_of_play
from service.feed.views import instant, play_view
from service.storage.deals import Deal
from service.storage.plays import header_of

SHOWN_STANDINGS = 50

_encode = msgspec.json.Encoder().encode


def event_frame(topic: str, v: int, data: bytes) -> str:
    """An `event` frame around data that is JSON already."""
    return f'{{"op":"event","topic":"{topic}","v":{v},"data":{data.decode()}}}'


def snapshot_frame(topic: str, v: int, data: bytes) -> str:
    """A `snapshot` frame around data that is JSON already."""
    return f'{{"op":"snapshot","topic":"{topic}","v":{v},"data":{data.decode()}}}'


def rematch_frame(topic: str, data: bytes) -> str:
    """A `rematch` frame around data that is JSON already; it has no version."""
    return f'{{"op":"rematch","topic":"{topic}","data":{data.decode()}}}'


def delta_data(delta: Delta) -> bytes:
    """The data of a play's event."""
    kind = b"play-ended" if delta.move in ("resign", "timeout") else b"move"
    return b'{"type":"%b",%b' % (kind, _encode(delta)[1:])


def race_data(race: Race, logged: Logged, rows: Sequence[Standing]) -> bytes:
    """The data of a race's event for everybody; `race` is the race just after it.

    `rows`: the final standings, for the event that tells them.
    """
    return _encode(_shared(race, logged, rows) | {"at": instant(logged.at)})


def _shared(race: Race, logged: Logged, rows: Sequence[Standing]) -> dict[str, object]:
    match logged.event:
        case Unknown():
            return {"type": "unknown"}
        case Created():
            return {"type": "created"}
        case EntrantJoined(player):
            return {"type": "entrant-joined", "player": player}
        case EntrantLeft(player=key):
            return {"type": "entrant-left", "player": key}
        case EntrantReady(player=key, ready=ready):
            return {"type": "entrant-ready", "player": key, "ready": ready}
        case HostChanged(host=key):
            return {"type": "host-changed", "host": race.entrants[key].player}
        case BotsAsked(level=level, count=count):
            return {"type": "bots-asked", "level": level, "count": count}
        case Countdown(starts_at=starts_at):
            return {"type": "countdown", "starts_at": instant(starts_at)}
        case Cancelled(reason=reason, seed=seed):
            return {"type": "cancelled", "reason": reason, "seed": seed}
        case Opened():
            return {"type": "opened"}
        case Started(starts_at=starts_at):
            return {"type": "started", "starts_at": instant(starts_at), "play": None}
        case EntrantEnded():
            return msgspec.to_builtins(logged.event)  # type: ignore[no-any-return]
        case RaceEnded(total=total, seed=seed):
            first = rows[:SHOWN_STANDINGS]
            return {"type": "race-ended", "standings": first, "total": total, "seed": seed}


def personal_data(
    race: Race, logged: Logged, rows: Sequence[Standing], viewer: str, deal: Deal
) -> bytes | None:
    """The data of an event for one entrant where it differs from everybody's, else None.

    `deal` is for the entrant's own play; its seed is not part of what is returned.
    """
    match logged.event:
        case Started(starts_at=starts_at):
            entrant = race.entrants.get(viewer)
            if entrant is None or entrant.play is None:
                return None
            header = header_of(
                entrant.play,
                deal,
                entrant.player,
                rules_version=race.header.rules_version,
                race=race.header.id,
                started_at=starts_at,
                deadline_at=starts_at + race.header.time_limit_ms,
                ranking=race.header.ranking,
            )
            sight = sight_of_play(header, over=False, race_state="running", viewer=viewer)
            view = play_view(begin(header), sight, "running", starts_at)
            own = _shared(race, logged, rows) | {"at": instant(logged.at), "play": view}
        case RaceEnded():
            mine = next((row for row in rows[SHOWN_STANDINGS:] if row.player.id == viewer), None)
            if mine is None:
                return None
            own = _shared(race, logged, rows) | {"at": instant(logged.at)}
            own["standings"] = (*rows[:SHOWN_STANDINGS], mine)
        case _:
            return None
    return _encode(own)
