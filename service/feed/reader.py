"""Snapshots of plays and races for a viewer, always with the tail of the log just loaded."""

from collections.abc import Iterable

import msgspec

from service.contest.events import Logged
from service.contest.play import Delta, Play, begin, replay
from service.contest.race import Entrant, Race
from service.contest.refusals import RaceNotEnded
from service.contest.sight import Sight, seed_is_open, sight_of_play
from service.feed.boards import Leaderboards
from service.feed.flights import Flights
from service.feed.frames import race_data
from service.feed.outcomes import Outcomes
from service.feed.views import (
    EntrantView,
    LogEntryView,
    MeView,
    PlayView,
    Progress,
    RaceView,
    play_view,
    race_view,
)
from service.storage import exposures, plays, races
from service.storage.database import Database
from service.storage.deals import Deal
from service.storage.journal import Journal
from service.storage.shelf import PlayShelf, RaceShelf

SHOWN_ENTRANTS = 50


class NotVisible(Exception):
    """The viewer may not see this board, log or topic."""


class Reader:
    """Everything that is told of plays and races, to whoever may see it."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        play_shelf: PlayShelf,
        race_shelf: RaceShelf,
        leaderboards: Leaderboards,
    ) -> None:
        self._database = database
        self._journal = journal
        self._plays = play_shelf
        self._races = race_shelf
        self._flights = Flights()
        self.outcomes = Outcomes(database, journal, play_shelf, race_shelf, leaderboards)

    # Plays

    async def play(self, play_id: str, viewer: str | None) -> tuple[Play, Sight, str | None]:
        """A play at its head, what the viewer may see of it, and its race's state.

        Raises `NotFound`.
        """
        seat = await self._plays.at_head(play_id)
        play = seat.play
        state = None
        if play.header.race is not None:
            async with self._database.read() as connection:
                state = await plays.race_state(connection, play.header.race)
        sight = sight_of_play(play.header, over=play.over, race_state=state, viewer=viewer)
        return play, sight, state

    async def play_view(self, play_id: str, viewer: str | None) -> PlayView:
        """The REST object of a play. Raises `NotFound`."""
        play, sight, state = await self.play(play_id, viewer)
        if sight == "full":
            await self._note_board(play, viewer)
        return play_view(play, sight, state, self._database.clock.now())

    async def visible_play(self, play_id: str, viewer: str | None) -> tuple[Play, PlayView]:
        """A play whose board the viewer may see. Raises `NotFound` and `NotVisible`."""
        play, sight, state = await self.play(play_id, viewer)
        if sight != "full":
            raise NotVisible
        await self._note_board(play, viewer)
        return play, play_view(play, sight, state, self._database.clock.now())

    async def open_play(self, play_id: str, viewer: str | None) -> Play:
        """A play that the viewer may see, of a deal that is no longer secret.

        Raises `NotFound`, `NotVisible`, and `RaceNotEnded` for an entrant's own play before.
        """
        play, sight, state = await self.play(play_id, viewer)
        if sight != "full":
            raise NotVisible
        if not seed_is_open(state):
            raise RaceNotEnded
        await self._note_board(play, viewer)
        return play

    async def _note_board(self, play: Play, viewer: str | None) -> None:
        """Before a player is shown another's board: note that they have seen the deal."""
        if viewer is not None and viewer != play.header.player.id:
            now = self._database.clock.now()
            await self._database.transact(
                lambda own: exposures.board_read(own, viewer, play.header.id, now)
            )

    async def log(
        self, play_id: str, viewer: str | None, after: int, limit: int
    ) -> tuple[list[LogEntryView], int | None]:
        """A page of a play's log and the ply to go on after. Raises `NotFound`, `NotVisible`."""
        await self.visible_play(play_id, viewer)
        entries = await self._journal.entries(play_id, after, limit + 1)
        rows = [LogEntryView(entry.ply, entry.move, entry.at_ms) for entry in entries[:limit]]
        return rows, rows[-1].ply if len(entries) > limit else None

    async def deltas(self, play_id: str, after: int, limit: int) -> list[Delta]:
        """Up to `limit` deltas after a ply, worked out again from the log.

        The caller has seen to it that the viewer may have them.
        """
        seat = await self._plays.seat(play_id)
        entries = await self._journal.all_entries(play_id)
        _play, deltas = replay(begin(seat.header), entries[: after + limit])
        return deltas[after:]

    # Races

    async def race(self, race_id: str) -> Race:
        """A race at its head. Raises `NotFound`."""
        return await self._races.at_head(race_id)

    async def race_log(self, race_id: str) -> tuple[Race, list[Logged], Deal]:
        """A race before its first event, its whole log, and its deal, for frames about it.

        Raises `NotFound`.
        """
        header = (await self._races.at_head(race_id)).header
        async with self._database.read() as connection:
            deal = await races.deal_of(connection, race_id)
        return Race(header), await self._journal.events(race_id), deal

    async def race_tail(self, race_id: str, after: int) -> list[Logged]:
        """A race's events after a version."""
        return await self._journal.events(race_id, after)

    async def race_events(
        self, race_id: str, after: int, limit: int
    ) -> tuple[list[dict[str, object]], int | None]:
        """A page of a race's events as everybody is told them, and where to go on.

        Raises `NotFound`.
        """
        race, log, _deal = await self.race_log(race_id)
        items: list[dict[str, object]] = []
        for logged in log:
            race = race.after(logged)
            if race.v > after:
                data = race_data(race, logged, await self.outcomes.final_standings(race))
                items.append({"v": race.v, "data": msgspec.Raw(data)})
                if len(items) > limit:
                    return items[:limit], race.v - 1
        return items, None

    async def race_view(self, race_id: str, viewer: str | None) -> RaceView:
        """The REST object of a race. Raises `NotFound`."""
        return await self.view_of(await self._races.at_head(race_id), viewer)

    async def view_of(self, race: Race, viewer: str | None) -> RaceView:
        """The REST object of a race at the version that is given."""
        if race.header.kind == "open":
            return await self._open_view(race, viewer)
        shown = list(race.entrants.values())[:SHOWN_ENTRANTS]
        me = race.entrants.get(viewer) if viewer is not None else None
        rematch = None
        if race.state == "ended" and race.header.kind == "live":
            async with self._database.read() as connection:
                rematch = await races.rematch_of(connection, race.header.id)
        return race_view(
            race,
            await self._flights.share(
                (race.header.id, race.v), lambda: self.entrant_views(race, shown)
            ),
            None if me is None else MeView(me.ready, me.play),
            rematch,
        )

    async def _open_view(self, race: Race, viewer: str | None) -> RaceView:
        race_id = race.header.id
        async with self._database.read() as connection:
            total, _going = await plays.counts(connection, race_id)
            mine = viewer and await plays.of_player_in(connection, race_id, viewer)
        entrants = await self.open_entrants(race, 0, SHOWN_ENTRANTS)
        return race_view(
            race._replace(total=total), entrants, MeView(True, mine) if mine else None, None
        )

    async def open_entrants(self, race: Race, start: int, limit: int) -> tuple[EntrantView, ...]:
        """Entrants of an open race, in the order in which they began."""
        async with self._database.read() as connection:
            rows = await plays.page_of_race(connection, race.header.id, start, limit)
        heads = await self._journal.last_entries(row.header.id for row in rows)
        views = []
        for row in rows:
            ply, score = heads.get(row.header.id, (0, 0))
            views.append(EntrantView(row.header.player, True, row.status, score, ply))
        return tuple(views)

    async def count_entrants(self, race: Race) -> int:
        """How many entrants a race has."""
        if race.header.kind == "live":
            return race.total
        async with self._database.read() as connection:
            return (await plays.counts(connection, race.header.id))[0]

    def still_view(self, race: Race, viewer: str) -> RaceView:
        """The REST object of a race in which nobody has made a move."""
        shown = list(race.entrants.values())[:SHOWN_ENTRANTS]
        me = race.entrants.get(viewer)
        return race_view(
            race,
            tuple(
                EntrantView(entrant.player, entrant.ready, None, None, None)
                if entrant.play is None
                else EntrantView(entrant.player, entrant.ready, "playing", 0, 0)
                for entrant in shown
            ),
            None if me is None else MeView(me.ready, me.play),
        )

    async def entrant_views(
        self, race: Race, entrants: Iterable[Entrant]
    ) -> tuple[EntrantView, ...]:
        """Entrants with how far they are."""
        shown = list(entrants)
        progress = await self.progress(race, shown)
        views = []
        for entrant in shown:
            now = progress.get(entrant.player.id)
            views.append(
                EntrantView(
                    entrant.player,
                    entrant.ready,
                    None if now is None else now.status,
                    None if now is None else now.score,
                    None if now is None else now.ply,
                )
            )
        return tuple(views)

    async def progress(self, race: Race, entrants: Iterable[Entrant]) -> dict[str, Progress]:
        """By player: how far entrants are whose play has begun."""
        of_play = {entrant.play: entrant for entrant in entrants if entrant.play is not None}
        heads = await self._journal.last_entries(of_play)
        going = [play for play, entrant in of_play.items() if entrant.ended is None]
        async with self._database.read() as connection:
            statuses = await plays.statuses(connection, going)
        found = {}
        for play_id, entrant in of_play.items():
            ply, score = heads.get(play_id, (0, 0))
            status = statuses[play_id] if entrant.ended is None else entrant.ended.status
            found[entrant.player.id] = Progress(score, ply, status)
        return found
