"""Boards in SQL: rows ordered by merit, then by player, with competition ranks (1, 2, 2, 4).

A board is the ended plays of a race or of an open deal, or the rows of a season or rating board.
The order is total and exact; a page goes on after the last row's (merit, player), so that rows
which come or go meanwhile neither repeat nor hide others.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.ranking import UNMOVED
from service.storage.competition_tables import board_rows
from service.storage.tables import players, plays


class Board(NamedTuple):
    """Which board: `race` and `deal` by id, `rows` by the name of a season or rating board."""

    source: Literal["race", "deal", "rows"]
    key: str


class Place(NamedTuple):
    """A row's place; `rank` is null for a play without a move."""

    player_id: str
    merit: int
    rank: int | None


class Slice(NamedTuple):
    """A page of a board, how many rows there are, whether more follow, and one player's place."""

    total: int
    places: tuple[Place, ...]
    more: bool
    me: Place | None


class NotOnBoard(LookupError):
    """The player around whom a page was asked for has no row."""


class Ask(NamedTuple):
    """What is asked of a board; `after` is the (merit, player) of the last row seen."""

    limit: int
    kind: str | None = None
    after: tuple[int, str] | None = None
    around: str | None = None
    me: str | None = None


def window(position: int, total: int, limit: int) -> int:
    """Where a page of `limit` around a position begins: in its middle as far as the ends allow.

    >>> window(0, 100, 10), window(50, 100, 10), window(99, 100, 10)
    (0, 46, 90)
    """
    return max(0, min(position - (limit - 1) // 2, total - limit))


def ranked(start: int, better: int, rows: Sequence[tuple[str, int]]) -> tuple[Place, ...]:
    """Ranks for rows that begin at a position, `better` of them before the first one's tie."""
    places: list[Place] = []
    rank = better + 1
    for at, (player_id, merit) in enumerate(rows):
        if at and merit != rows[at - 1][1]:
            rank = start + at + 1
        places.append(Place(player_id, merit, None if merit == UNMOVED else rank))
    return tuple(places)


async def slice_of(connection: AsyncConnection, board: Board, ask: Ask) -> Slice:
    """A page of a board from SQL. Raises `NotOnBoard`."""
    table, mine = _source(board, ask.kind)
    merit, player = table.c.merit, table.c.player_id

    async def count(*where: ColumnElement[bool]) -> int:
        query = select(func.count()).select_from(table).where(mine, *where)
        return int((await connection.execute(query)).scalar_one())

    async def place(player_id: str) -> int | None:
        query = select(merit).where(mine, player == player_id)
        found: int | None = (await connection.execute(query)).scalar_one_or_none()
        return found

    def before(key: tuple[int, str]) -> ColumnElement[bool]:
        return or_(merit < key[0], and_(merit == key[0], player < key[1]))

    def beyond(key: tuple[int, str]) -> ColumnElement[bool]:
        return or_(merit > key[0], and_(merit == key[0], player > key[1]))

    total = await count()
    query = select(player, merit).where(mine).order_by(merit, player).limit(ask.limit + 1)
    start = 0
    if ask.around is not None:
        at = await place(ask.around)
        if at is None:
            raise NotOnBoard
        start = window(await count(before((at, ask.around))), total, ask.limit)
        query = query.offset(start)
    elif ask.after is not None:
        query = query.where(beyond(ask.after))
    rows = [(row.player_id, row.merit) for row in await connection.execute(query)]
    better = 0
    if rows:
        better = await count(merit < rows[0][1])
        if ask.after is not None and ask.around is None:
            start = await count(before((rows[0][1], rows[0][0])))
    me = None
    if ask.me is not None and (own := await place(ask.me)) is not None:
        rank = None if own == UNMOVED else await count(merit < own) + 1
        me = Place(ask.me, own, rank)
    places = ranked(start, better, rows[: ask.limit])
    return Slice(total, places, len(rows) > ask.limit, me)


def _source(board: Board, kind: str | None) -> tuple[Any, ColumnElement[bool]]:
    """The table of a board and the condition that picks its rows."""
    if board.source == "rows":
        table, mine = board_rows, board_rows.c.board == board.key
    elif board.source == "race":
        table, mine = plays, and_(plays.c.race_id == board.key, plays.c.merit.is_not(None))
    else:
        mine = and_(
            plays.c.deal_id == board.key, plays.c.race_id.is_(None), plays.c.merit.is_not(None)
        )
        table = plays
    if kind is not None:
        of_kind = select(players.c.id).where(players.c.kind == kind)
        mine = and_(mine, table.c.player_id.in_(of_kind))
    return table, mine


async def tied(
    connection: AsyncConnection, board: Board, merits: Sequence[int]
) -> tuple[int, dict[int, int]]:
    """How many rows of a race's board have a rank, and how many share each of these merits."""
    table, mine = _source(board, None)
    query = select(func.count()).select_from(table).where(mine, table.c.merit < UNMOVED)
    all_ranked = int((await connection.execute(query)).scalar_one())
    each = (
        select(table.c.merit, func.count().label("shared"))
        .where(mine, table.c.merit.in_(merits))
        .group_by(table.c.merit)
    )
    return all_ranked, {row.merit: row.shared for row in await connection.execute(each)}


async def better(
    connection: AsyncConnection, board: Board, merits: Sequence[int]
) -> dict[int, int]:
    """How many rows of a race's board are better than each of these merits that it has."""
    table, mine = _source(board, None)
    shared = func.count()
    groups = (
        select(
            table.c.merit,
            (func.sum(shared).over(order_by=table.c.merit) - shared).label("better"),
        )
        .where(mine, table.c.merit <= max(merits, default=0))
        .group_by(table.c.merit)
        .subquery()
    )
    query = select(groups.c.merit, groups.c.better).where(groups.c.merit.in_(merits))
    return {row.merit: int(row.better) for row in await connection.execute(query)}


def of_plays(board: Board, player_ids: Sequence[str]) -> Select[Any]:
    """The plays behind the rows of a race's or a deal's board."""
    _table, mine = _source(board, None)
    return (
        select(
            players.c.id,
            players.c.name,
            players.c.kind,
            plays.c.id.label("play"),
            plays.c.status,
            plays.c.score,
            plays.c.score_ms,
            plays.c.score_plies,
            plays.c.points,
        )
        .join(players, players.c.id == plays.c.player_id)
        .where(mine, plays.c.player_id.in_(player_ids))
    )


async def play_rows(
    connection: AsyncConnection, board: Board, player_ids: Sequence[str]
) -> dict[str, Any]:
    """By player: the play that stands on a race's or a deal's board."""
    return {row.id: row for row in await connection.execute(of_plays(board, player_ids))}


class NamedRow(NamedTuple):
    """A row of a season or rating board with the player's public face."""

    player_id: str
    name: str
    kind: str
    merit: int
    races: int


_NAMED = (
    select(players.c.id, players.c.name, players.c.kind, board_rows.c.merit, board_rows.c.races)
    .join(players, players.c.id == board_rows.c.player_id)
    .where(
        board_rows.c.board == bindparam("board"),
        board_rows.c.player_id.in_(bindparam("players", expanding=True)),
    )
)


async def named_rows(
    connection: AsyncConnection, board: Board, player_ids: Sequence[str]
) -> dict[str, NamedRow]:
    """By player: the rows of a season or rating board."""
    asked = {"board": board.key, "players": list(player_ids)}
    return {row.id: NamedRow(*row) for row in await connection.execute(_NAMED, asked)}
