"""What the end of a race brings, in the very transaction that logs it: ranks, points, ratings."""

from service.contest.race import Race
from service.contest.ranking import Standing, standings
from service.contest.rating import rated
from service.contest.season import season_board, season_of
from service.storage import plays, results
from service.storage.database import Connection
from service.storage.results import tenths


async def close(connection: Connection, race: Race, now: int) -> None:
    """Rank a race whose plays have all ended. Raises `Conflict` when another race was rated first."""
    header = race.header
    rows = standings(await plays.results(connection, header.id), header.ranking, alone=header.alone)
    await results.set_standings(connection, rows)
    if header.daily is None and not header.rated:
        return
    registered = await results.registered(connection, header.id)
    board = season_board(header.game, header.daily[:7] if header.daily else _started_in(race))
    await results.add_points(
        connection,
        board,
        {
            row.player.id: tenths(row.points)
            for row in rows
            if row.points is not None and row.player.id in registered
        },
    )
    if header.kind == "live":
        await _rate(connection, race, [row for row in rows if row.player.id in registered], now)


def _started_in(race: Race) -> str:
    return season_of(race.starts_at if race.starts_at is not None else race.header.created_at)


async def _rate(connection: Connection, race: Race, rows: list[Standing], now: int) -> None:
    """One rating update: the registered entrants that made a move, among themselves."""
    ranks = {row.player.id: row.rank for row in rows if row.rank is not None}
    game = race.header.game
    # The number first: whatever is rated between it and the skills takes this number from us.
    n = await results.next_rated(connection, game)
    after = rated(ranks, await results.skills(connection, game, list(ranks)))
    if after:
        await results.append_rating(connection, game, n, race.header.id, after, now)
