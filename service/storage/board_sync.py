"""What Redis's boards are told: rows that have changed, or whole boards in pages."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.storage.boards import Board
from service.storage.competition_tables import board_rows, dailies
from service.storage.tables import players, plays


class Row(NamedTuple):
    """A row as a board in Redis keeps it; `v` grows with every change of it."""

    player_id: str
    kind: str
    merit: int
    v: int


def _of_daily(player_id: str, kind: str, merit: int) -> Row:
    """All that ever changes of it is that a guest claims a name."""
    return Row(player_id, kind, merit, 1 if kind == "guest" else 2)


def _daily_rows() -> "Select[Any]":
    return (
        select(plays.c.player_id, players.c.kind, plays.c.merit, plays.c.race_id)
        .join(dailies, dailies.c.race_id == plays.c.race_id)
        .join(players, players.c.id == plays.c.player_id)
        .where(plays.c.merit.is_not(None))
    )


def _named_rows() -> "Select[Any]":
    return select(
        board_rows.c.player_id,
        players.c.kind,
        board_rows.c.merit,
        board_rows.c.v,
        board_rows.c.board,
    ).join(players, players.c.id == board_rows.c.player_id)


async def changed(connection: AsyncConnection, limit: int) -> dict[str, list[Row]]:
    """By the board's name in Redis: rows that it has not been told yet."""
    found: dict[str, list[Row]] = {}
    query = _daily_rows().where(~plays.c.boarded).limit(limit)
    for player, kind, merit, race in await connection.execute(query):
        found.setdefault(f"daily:{race}", []).append(_of_daily(player, kind, merit))
    named = _named_rows().where(board_rows.c.boarded_v < board_rows.c.v).limit(limit)
    for player, kind, merit, v, board in await connection.execute(named):
        found.setdefault(board, []).append(Row(player, kind, merit, v))
    return found


def _daily(name: str) -> bool:
    return name.startswith("daily:")


async def _kinds(connection: AsyncConnection, rows: Sequence[Row]) -> dict[str, str]:
    """By player: the present kind, which no claim changes before the end of the transaction."""
    of_rows = players.c.id.in_({row.player_id for row in rows})
    query = select(players.c.id, players.c.kind).where(of_rows).order_by(players.c.id)
    locked = await connection.execute(query.with_for_update(read=True))
    return {row.id: row.kind for row in locked}


async def told(connection: AsyncConnection, changed_: Mapping[str, list[Row]]) -> None:
    """Note that Redis knows these rows at these versions."""
    plays_told, rows_told = [], []
    kinds = await _kinds(
        connection, [row for name, rows in changed_.items() if _daily(name) for row in rows]
    )
    for name, rows in changed_.items():
        daily = _daily(name)
        for row in sorted(rows):
            if daily and kinds[row.player_id] != row.kind:
                continue
            if daily:
                plays_told.append({"of_race": name[6:], "of_player": row.player_id})
            else:
                rows_told.append({"of_board": name, "of_player": row.player_id, "to_v": row.v})
    if plays_told:
        query = update(plays).where(
            plays.c.race_id == bindparam("of_race"), plays.c.player_id == bindparam("of_player")
        )
        await connection.execute(query.values(boarded=True), plays_told)
    if rows_told:
        named = update(board_rows).where(
            board_rows.c.board == bindparam("of_board"),
            board_rows.c.player_id == bindparam("of_player"),
            board_rows.c.boarded_v < bindparam("to_v"),
        )
        await connection.execute(named.values(boarded_v=bindparam("to_v")), rows_told)


async def page(
    connection: AsyncConnection, board: Board, after: str | None, limit: int
) -> list[Row]:
    """Rows of a whole board in order of the player's id."""
    if board.source == "rows":
        named = _named_rows().where(board_rows.c.board == board.key)
        if after is not None:
            named = named.where(board_rows.c.player_id > after)
        rows = await connection.execute(named.order_by(board_rows.c.player_id).limit(limit))
        return [Row(player, kind, merit, v) for player, kind, merit, v, _board in rows]
    query = _daily_rows().where(plays.c.race_id == board.key)
    if after is not None:
        query = query.where(plays.c.player_id > after)
    found = await connection.execute(query.order_by(plays.c.player_id).limit(limit))
    return [_of_daily(player, kind, merit) for player, kind, merit, _race in found]


async def every_board(connection: AsyncConnection) -> dict[str, Board]:
    """Every board that Redis may keep, by its name there."""
    names = (await connection.execute(select(board_rows.c.board).distinct())).scalars()
    found = {name: Board("rows", name) for name in names}
    races = (await connection.execute(select(dailies.c.race_id))).scalars()
    return found | {f"daily:{race}": Board("race", race) for race in races}
