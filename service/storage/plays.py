"""The headers and derived columns of plays. Their logs are the journal's."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Select, bindparam, case, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.play import Header, Ranking, Status
from service.contest.player import Player
from service.contest.race import Ended
from service.contest.ranking import Result
from service.storage.deals import Deal
from service.storage.tables import deals, players, plays, races


class Row(NamedTuple):
    """A play's header with what is derived of it."""

    header: Header
    status: Status
    score: int
    ended_at: int | None
    race_state: str | None


def header_of(
    play_id: str,
    deal: Deal,
    player: Player,
    *,
    rules_version: int,
    race: str | None,
    started_at: int,
    deadline_at: int | None,
    ranking: Ranking = "time",
    ranked: bool = True,
) -> Header:
    """A new play's header."""
    return Header(
        play_id,
        deal.game,
        deal.deal_version,
        deal.seed,
        deal.commitment,
        rules_version,
        "practice" if race is None else "race",
        player,
        race,
        started_at,
        deadline_at,
        ranking,
        ranked,
    )


async def create(connection: AsyncConnection, deal_id: str, headers: Sequence[Header]) -> None:
    """Store the headers of new plays of one deal."""
    await connection.execute(insert(plays), [_values(deal_id, header) for header in headers])


async def create_once(connection: AsyncConnection, deal_id: str, header: Header) -> bool:
    """Store the header of a race play; False when its player has one in that race already."""
    upsert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    query = upsert(plays).values(_values(deal_id, header))
    query = query.on_conflict_do_nothing(index_elements=["race_id", "player_id"])
    return (await connection.execute(query)).rowcount == 1


def _values(deal_id: str, header: Header) -> dict[str, object]:
    return {
        "id": header.id,
        "deal_id": deal_id,
        "game": header.game,
        "rules_version": header.rules_version,
        "mode": header.mode,
        "player_id": header.player.id,
        "race_id": header.race,
        "started_at": header.started_at,
        "deadline_at": header.deadline_at,
        "ranking": header.ranking,
        "ranked": header.ranked,
    }


_HEADER = (
    plays.c.id,
    plays.c.game,
    deals.c.deal_version,
    deals.c.seed,
    deals.c.commitment,
    plays.c.rules_version,
    plays.c.mode,
    players.c.id.label("player"),
    players.c.name,
    players.c.kind,
    plays.c.race_id,
    plays.c.started_at,
    plays.c.deadline_at,
    plays.c.ranking,
    plays.c.ranked,
)


def _rows() -> "Select[tuple[object, ...]]":
    return (
        select(*_HEADER, plays.c.status, plays.c.score, plays.c.ended_at, races.c.state)
        .join(deals, deals.c.id == plays.c.deal_id)
        .join(players, players.c.id == plays.c.player_id)
        .outerjoin(races, races.c.id == plays.c.race_id)
    )


_ONE = _rows().where(plays.c.id == bindparam("play"))


def _row(row: Sequence[object]) -> Row:
    id_, game, version, seed, commitment, rules, mode, player, name, kind, *rest = row
    race, started_at, deadline_at, ranking, ranked, status, score, ended_at, state = rest
    header = Header(
        id_, game, version, seed, commitment, rules, mode,  # type: ignore[arg-type]
        Player(player, name, kind), race, started_at, deadline_at, ranking, ranked,  # type: ignore[arg-type]
    )  # fmt: skip
    return Row(header, status, score, ended_at, state)  # type: ignore[arg-type]


async def load(connection: AsyncConnection, play_id: str) -> Row | None:
    """The play of that id."""
    row = (await connection.execute(_ONE, {"play": play_id})).one_or_none()
    return None if row is None else _row(row)


async def race_state(connection: AsyncConnection, race_id: str) -> str | None:
    """The present state of a play's race."""
    query = select(races.c.state).where(races.c.id == race_id)
    return (await connection.execute(query)).scalar_one_or_none()


async def of_race(connection: AsyncConnection, race_id: str) -> list[Row]:
    """Every play of a race, in order of its id."""
    query = _rows().where(plays.c.race_id == race_id).order_by(plays.c.id)
    return [_row(row) for row in await connection.execute(query)]


async def endings(connection: AsyncConnection, race_id: str) -> dict[str, Ended | None]:
    """By player: how each play of a race ended, None while it goes on."""
    query = select(
        plays.c.player_id,
        plays.c.status,
        plays.c.score,
        plays.c.score_ms,
        plays.c.score_plies,
        plays.c.moved,
    ).where(plays.c.race_id == race_id)
    return {
        player: None if ended[0] == "playing" else Ended(*ended)
        for player, *ended in await connection.execute(query)
    }


async def statuses(connection: AsyncConnection, play_ids: Sequence[str]) -> dict[str, Status]:
    """By play: its present status."""
    if not play_ids:
        return {}
    query = select(plays.c.id, plays.c.status).where(plays.c.id.in_(play_ids))
    return {row.id: row.status for row in await connection.execute(query)}


async def page_of_player(
    connection: AsyncConnection,
    player_id: str,
    *,
    before: str | None,
    limit: int,
    statuses: Iterable[Status] | None = None,
    race: str | None = None,
    open_only: bool = False,
) -> list[Row]:
    """A player's plays, the latest first; `open_only` leaves out boards that others may not see."""
    query = _rows().where(plays.c.player_id == player_id).order_by(plays.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(plays.c.id < before)
    if statuses is not None:
        query = query.where(plays.c.status.in_(list(statuses)))
    if race is not None:
        query = query.where(plays.c.race_id == race)
    if open_only:
        open_race = races.c.state == "ended"
        open_practice = plays.c.race_id.is_(None) & (plays.c.status != "playing")
        query = query.where(open_race | open_practice)
    return [_row(row) for row in await connection.execute(query)]


async def racing(connection: AsyncConnection, player_ids: Collection[str]) -> list[Row]:
    """The running race plays of players, the latest first."""
    query = (
        _rows()
        .where(
            plays.c.player_id.in_(player_ids),
            plays.c.status == "playing",
            plays.c.race_id.is_not(None),
        )
        .order_by(plays.c.id.desc())
    )
    return [_row(row) for row in await connection.execute(query)]


async def of_player_in(connection: AsyncConnection, race_id: str, player_id: str) -> str | None:
    """The id of a player's play in a race."""
    query = select(plays.c.id).where(plays.c.race_id == race_id, plays.c.player_id == player_id)
    return (await connection.execute(query)).scalar_one_or_none()


async def page_of_race(
    connection: AsyncConnection, race_id: str, start: int, limit: int
) -> list[Row]:
    """Some plays of a race, in order of their ids: of their beginning."""
    query = (
        _rows().where(plays.c.race_id == race_id).order_by(plays.c.id).offset(start).limit(limit)
    )
    return [_row(row) for row in await connection.execute(query)]


async def counts(connection: AsyncConnection, race_id: str) -> tuple[int, int]:
    """How many plays a race has, and how many of them go on."""
    running = func.sum(case((plays.c.status == "playing", 1), else_=0))
    query = select(func.count(), func.coalesce(running, 0)).where(plays.c.race_id == race_id)
    total, going = (await connection.execute(query)).one()
    return total, int(going)


async def last_deadline(connection: AsyncConnection, race_id: str) -> int | None:
    """When the last of a race's running plays is out of time (epoch ms)."""
    query = select(func.max(plays.c.deadline_at)).where(
        plays.c.race_id == race_id, plays.c.status == "playing"
    )
    last: int | None = (await connection.execute(query)).scalar_one_or_none()
    return last


async def overdue(connection: AsyncConnection, until: int, limit: int = 1_000) -> list[str]:
    """Running plays whose deadline was at `until` or before."""
    query = (
        select(plays.c.id)
        .where(plays.c.status == "playing", plays.c.deadline_at <= until)
        .order_by(plays.c.deadline_at)
        .limit(limit)
    )
    return list((await connection.execute(query)).scalars())


async def results(connection: AsyncConnection, race_id: str) -> list[Result]:
    """What the ended plays of a race came to."""
    query = (
        select(
            players.c.id,
            players.c.name,
            players.c.kind,
            plays.c.id,
            plays.c.status,
            plays.c.score,
            plays.c.score_ms,
            plays.c.score_plies,
            plays.c.moved,
        )
        .join(players, players.c.id == plays.c.player_id)
        .where(plays.c.race_id == race_id, plays.c.status != "playing")
    )
    return [
        Result(Player(player, name, kind), *rest)
        for player, name, kind, *rest in await connection.execute(query)
    ]
