"""The headers and derived columns of races. Their events are the journal's."""

from collections.abc import Sequence

from sqlalchemy import Select, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.player import Player
from service.contest.race import Race
from service.contest.race_header import Kind, RaceHeader
from service.contest.ranking import RANKING_VERSION
from service.storage.competition_tables import dailies
from service.storage.deals import Deal
from service.storage.journal import Conflict
from service.storage.tables import deals, players, races


class HasRematch(Exception):
    """The race has a rematch already."""


async def create(connection: AsyncConnection, header: RaceHeader, deal_id: str, race: Race) -> None:
    """Store the header of a new race and what is derived of its first events.

    Raises `HasRematch`.
    """
    values = {field: getattr(header, field) for field in _HEADER_FIELDS}
    try:
        await connection.execute(
            insert(races).values(
                deal_id=deal_id,
                creator_id=header.creator.id if header.creator is not None else None,
                ranking_version=RANKING_VERSION,
                parent_id=header.parent,
                **values,
                **_derived(race),
            )
        )
    except IntegrityError:
        if header.parent is None:
            raise
        raise HasRematch from None


async def follow(connection: AsyncConnection, race: Race) -> None:
    """Bring the derived columns to the race's present version."""
    await connection.execute(
        update(races).where(races.c.id == race.header.id).values(**_derived(race))
    )


IN_LOBBY = ("lobby", "countdown", "scheduled", "running")

_HEADER_FIELDS = (
    "id",
    "game",
    "kind",
    "name",
    "certified",
    "rules_version",
    "ranking",
    "capacity",
    "time_limit_ms",
    "rated",
    "listed",
    "created_at",
    "opens_at",
    "closes_at",
    "deals",
)


_JOINED_FIELDS = ("deal_version", "commitment", "daily", "parent")


def _derived(race: Race) -> dict[str, object]:
    return {
        "v": race.v,
        "state": race.state,
        "total": race.total,
        "starts_at": race.starts_at,
        "ended_at": race.ended_at,
        "due_at": race.next_due,
    }


def _headers() -> "Select[tuple[object, ...]]":
    return (
        select(
            *(races.c[field] for field in _HEADER_FIELDS),
            players.c.id.label("creator"),
            players.c.name.label("creator_name"),
            players.c.kind.label("creator_kind"),
            deals.c.deal_version,
            deals.c.commitment,
            dailies.c.date.label("daily"),
            races.c.parent_id.label("parent"),
        )
        .join(deals, deals.c.id == races.c.deal_id)
        .outerjoin(players, players.c.id == races.c.creator_id)
        .outerjoin(dailies, dailies.c.race_id == races.c.id)
    )


def _header(row: dict[str, object]) -> RaceHeader:
    creator = None
    if row["creator"] is not None:
        creator = Player(row["creator"], row["creator_name"], row["creator_kind"])  # type: ignore[arg-type]
    fields = {field: row[field] for field in (*_HEADER_FIELDS, *_JOINED_FIELDS)}
    return RaceHeader(creator=creator, **fields)  # type: ignore[arg-type]


async def load(connection: AsyncConnection, race_id: str) -> RaceHeader | None:
    """The header of a race, without its seed."""
    row = (await connection.execute(_headers().where(races.c.id == race_id))).one_or_none()
    return None if row is None else _header(dict(row._mapping))


async def deal_of(connection: AsyncConnection, race_id: str) -> Deal:
    """A race's deal with its seed: for the referee alone."""
    query = (
        select(*(deals.c[field] for field in Deal._fields))
        .join(races, races.c.deal_id == deals.c.id)
        .where(races.c.id == race_id)
    )
    return Deal(*(await connection.execute(query)).one())


async def rematch_of(connection: AsyncConnection, race_id: str) -> str | None:
    """The rematch of a race, unless it was cancelled."""
    query = select(races.c.id).where(races.c.parent_id == race_id, races.c.state != "cancelled")
    found: str | None = (await connection.execute(query)).scalar_one_or_none()
    return found


async def disown(connection: AsyncConnection, race_id: str) -> None:
    """A rematch that was cancelled is none, so that there can be another."""
    query = update(races).where(races.c.parent_id == race_id, races.c.state == "cancelled")
    await connection.execute(query.values(parent_id=None))


async def in_lobby(connection: AsyncConnection, limit: int) -> list[tuple[str, int, Kind]]:
    """(id, version, kind) of listed races that can be joined or soon begin, the latest first."""
    shown = (races.c.kind == "open") | (races.c.state != "running")
    query = (
        select(races.c.id, races.c.v, races.c.kind)
        .where(races.c.listed, races.c.state.in_(IN_LOBBY), shown)
        .order_by(races.c.id.desc())
        .limit(limit)
    )
    return [(row.id, row.v, row.kind) for row in await connection.execute(query)]


async def owed(connection: AsyncConnection, until: int, limit: int = 500) -> list[tuple[str, int]]:
    """(race id, when) of what time asks for until an instant, the earliest first."""
    query = (
        select(races.c.id, races.c.due_at)
        .where(races.c.due_at <= until)
        .order_by(races.c.due_at)
        .limit(limit)
    )
    return [(row.id, row.due_at) for row in await connection.execute(query)]


async def page(
    connection: AsyncConnection,
    *,
    before: str | None,
    limit: int,
    states: Sequence[str] | None = None,
    game: str | None = None,
    kind: str | None = None,
) -> list[str]:
    """Ids of listed races, the latest first."""
    query = select(races.c.id).where(races.c.listed).order_by(races.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(races.c.id < before)
    if states is not None:
        query = query.where(races.c.state.in_(states))
    if game is not None:
        query = query.where(races.c.game == game)
    if kind is not None:
        query = query.where(races.c.kind == kind)
    return list((await connection.execute(query)).scalars())


async def lock(connection: AsyncConnection, race_id: str, *, shared: bool) -> str:
    """The state of a race, held against whoever would end it (`shared`) or enter it."""
    query = select(races.c.state).where(races.c.id == race_id).with_for_update(read=shared)
    state: str = (await connection.execute(query)).scalar_one()
    return state


async def postpone(connection: AsyncConnection, race_id: str, due_at: int) -> None:
    """An open race past its closing waits for its last play: do not look again before."""
    await connection.execute(update(races).where(races.c.id == race_id).values(due_at=due_at))


async def daily(connection: AsyncConnection, game: str, day: str) -> str | None:
    """The id of a game's daily of a UTC date."""
    query = select(dailies.c.race_id).where(dailies.c.game == game, dailies.c.date == day)
    return (await connection.execute(query)).scalar_one_or_none()


async def add_daily(connection: AsyncConnection, game: str, day: str, race_id: str) -> None:
    """Make a race the daily of a date. Raises `Conflict` when there is one already."""
    try:
        await connection.execute(insert(dailies).values(game=game, date=day, race_id=race_id))
    except IntegrityError:
        raise Conflict from None
