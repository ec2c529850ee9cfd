"""Leaderboards: from Redis where it has them complete, else from SQL; the same pages either way."""

from collections.abc import Callable
from typing import Any

import msgspec

from service.contest.player import Player
from service.contest.race_header import RaceHeader
from service.contest.ranking import Standing, match_points
from service.contest.rating import PROVISIONAL_RACES
from service.contest.season import rating_board, season_board
from service.feed.views import instant
from service.live.boards import BoardsAway, RedisBoards
from service.storage import boards, deals
from service.storage.boards import Ask, Board, Slice
from service.storage.database import Connection, Database


class SeasonRow(msgspec.Struct, frozen=True):
    """`points` is the sum of match points (per cent) over `races`."""

    rank: int | None
    player: Player
    points: float
    races: int


class RatingRow(msgspec.Struct, frozen=True):
    """`provisional` until a player has been rated ten times."""

    rank: int | None
    player: Player
    rating: int
    races: int
    provisional: bool


BoardRow = Standing | SeasonRow | RatingRow


class BoardPage(msgspec.Struct, frozen=True):
    """A page of a board; `next` is the (merit, player) of its last row where more follow."""

    items: tuple[BoardRow, ...]
    next: tuple[int, str] | None
    total: int
    as_of: str
    me: BoardRow | None


class Leaderboards:
    """Every board, for whoever asks."""

    def __init__(
        self,
        database: Database,
        redis: RedisBoards | None,
        on_missing: Callable[[str, Board], None],
    ) -> None:
        """`on_missing` is told a board that Redis should have but has not."""
        self._database = database
        self._redis = redis
        self._on_missing = on_missing

    async def season(self, game: str, month: str, ask: Ask) -> BoardPage:
        """The sums of match points of a month (YYYY-MM, UTC). Raises `NotOnBoard`."""
        return await self._named(Board("rows", season_board(game, month)), ask, _season_row)

    async def rating(self, game: str, ask: Ask) -> BoardPage:
        """The ratings of a game. Raises `NotOnBoard`."""
        return await self._named(Board("rows", rating_board(game)), ask, _rating_row)

    async def race(self, header: RaceHeader, ended: bool, ask: Ask) -> BoardPage:
        """The standings of an open race: live from the first finisher. Raises `NotOnBoard`."""
        board = Board("race", header.id)
        key = f"daily:{header.id}" if header.daily is not None else None
        async with self._database.read() as connection:
            found = await self._slice(connection, board, key, ask)
            points = None
            if not ended:
                points = await self._live_points(connection, header, board, found, ask.kind)
            return await self._of_plays(connection, board, found, points)

    async def deal(self, game: str, seed: str, ask: Ask) -> BoardPage:
        """First practice plays of an open deal, without undo or hint. Raises `NotOnBoard`."""
        async with self._database.read() as connection:
            deal_id = await deals.find_open(connection, game, seed)
            if deal_id is None:
                return BoardPage((), None, 0, instant(self._database.clock.now()), None)
            board = Board("deal", deal_id)
            found = await boards.slice_of(connection, board, ask)
            return await self._of_plays(connection, board, found, lambda _merit: None)

    async def _slice(
        self, connection: Connection, board: Board, key: str | None, ask: Ask
    ) -> Slice:
        if self._redis is not None and key is not None:
            try:
                return await self._redis.slice_of(key, ask)
            except BoardsAway:
                self._on_missing(key, board)
        return await boards.slice_of(connection, board, ask)

    async def _named(
        self, board: Board, ask: Ask, row: Callable[[Any, int | None], BoardRow]
    ) -> BoardPage:
        async with self._database.read() as connection:
            found = await self._slice(connection, board, board.key, ask)
            places = [*found.places, *([found.me] if found.me else [])]
            rows = await boards.named_rows(connection, board, [p.player_id for p in places])
        items = tuple(row(rows[p.player_id], p.rank) for p in found.places if p.player_id in rows)
        me = None
        if found.me is not None and found.me.player_id in rows:
            me = row(rows[found.me.player_id], found.me.rank)
        return self._page(items, found, me)

    async def _of_plays(
        self,
        connection: Connection,
        board: Board,
        found: Slice,
        points: Callable[[int], float | None] | None,
    ) -> BoardPage:
        places = [*found.places, *([found.me] if found.me else [])]
        rows = await boards.play_rows(connection, board, [p.player_id for p in places])

        def standing(place: boards.Place) -> Standing | None:
            row = rows.get(place.player_id)
            if row is None:
                return None  # undone meanwhile
            told = None if row.points is None else row.points / 10
            if points is not None:
                told = None if place.rank is None else points(place.merit)
            return Standing(
                place.rank,
                Player(row.id, row.name, row.kind),
                row.status,
                row.score,
                row.score_ms,
                row.score_plies,
                told,
                row.play,
            )

        items = tuple(row for place in found.places if (row := standing(place)) is not None)
        return self._page(items, found, standing(found.me) if found.me else None)

    async def _live_points(
        self,
        connection: Connection,
        header: RaceHeader,
        board: Board,
        found: Slice,
        kind: str | None,
    ) -> Callable[[int], float | None]:
        """Match points by merit among all who have finished so far."""
        places = [*found.places, *([found.me] if found.me else [])]
        merits = sorted({place.merit for place in places if place.rank is not None})
        ranked, shared = await boards.tied(connection, board, merits)
        better = {place.merit: place.rank - 1 for place in places if place.rank is not None}
        if kind is not None:  # ranks are those among their kind, points are against everybody
            better = await boards.better(connection, board, merits)

        def points(merit: int) -> float | None:
            ties = shared.get(merit, 1)
            beaten = ranked - better[merit] - ties
            return match_points(beaten, ties - 1, ranked - 1, header.alone)

        return points

    def _page(self, items: tuple[BoardRow, ...], found: Slice, me: BoardRow | None) -> BoardPage:
        last = found.places[-1] if found.more and found.places else None
        return BoardPage(
            items,
            None if last is None else (last.merit, last.player_id),
            found.total,
            instant(self._database.clock.now()),
            me,
        )


def _season_row(row: boards.NamedRow, rank: int | None) -> SeasonRow:
    return SeasonRow(rank, Player(row.player_id, row.name, _kind(row)), -row.merit / 10, row.races)


def _rating_row(row: boards.NamedRow, rank: int | None) -> RatingRow:
    provisional = row.races < PROVISIONAL_RACES
    player = Player(row.player_id, row.name, _kind(row))
    return RatingRow(rank, player, -row.merit, row.races, provisional)


def _kind(row: boards.NamedRow) -> Any:
    return row.kind
