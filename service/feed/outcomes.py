"""What races come to: standings now and at the end, and the proof that anyone can check."""

from collections.abc import Sequence

import msgspec

from service.contest.play import Entry
from service.contest.player import Player
from service.contest.race import Race
from service.contest.ranking import RANKING_VERSION, Result, Standing, result_of, standings
from service.contest.refusals import RaceNotEnded
from service.feed.boards import BoardPage, Leaderboards
from service.feed.views import LogEntryView, Proof, ProofPlay, instant
from service.storage import exposures, plays
from service.storage.boards import Ask, NotOnBoard, window
from service.storage.database import Database
from service.storage.journal import Journal
from service.storage.shelf import PlayShelf, RaceShelf


class Outcomes:
    """Everything that is told of who did best."""

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
        self._leaderboards = leaderboards

    async def final_standings(self, race: Race) -> tuple[Standing, ...]:
        """Everybody's standings once a race has ended, before that nothing."""
        if race.state != "ended":
            return ()
        if race.header.kind == "live":
            return race.standings()
        async with self._database.read() as connection:
            results = await plays.results(connection, race.header.id)
        return standings(results, race.header.ranking, alone=race.header.alone)

    async def standings(self, race: Race, ask: Ask) -> BoardPage:
        """A page of a race's standings as they are now. Raises `NotOnBoard`."""
        if race.header.kind == "open":
            return await self._leaderboards.race(race.header, race.state == "ended", ask)
        rows = standings(await self._results(race), race.header.ranking)
        return page_of(rows, ask, instant(self._database.clock.now()))

    async def _results(self, race: Race) -> list[Result]:
        """How the plays of a race stand: those going on at their present score."""
        results = race.results()
        if race.state != "running":
            return results
        recorded = {result.play for result in results}
        async with self._database.read() as connection:
            rows = await plays.of_race(connection, race.header.id)
        going = [row.header.id for row in rows if row.header.id not in recorded]
        for seat in await self._plays.at_heads(going):
            result = result_of(seat.play)
            results.append(msgspec.structs.replace(result, player=entered(race, result.player)))
        return results

    async def proof(self, race_id: str, viewer: str | None, after: int, limit: int) -> Proof:
        """A page of a race's proof. Raises `NotFound`, `RaceNotEnded`."""
        race = await self._races.at_head(race_id)
        header = race.header
        if not race.over or race.seed is None:
            raise RaceNotEnded
        if viewer is not None:
            now = self._database.clock.now()
            await self._database.transact(
                lambda own: exposures.proof_read(own, viewer, race_id, now)
            )
        async with self._database.read() as connection:
            rows = await plays.of_race(connection, race_id)
        page = rows[after : after + limit]
        logs = []
        for row in page:
            entries = await self._journal.all_entries(row.header.id)
            logs.append(
                ProofPlay(
                    entered(race, row.header.player),
                    row.header.id,
                    instant(row.header.started_at),
                    tuple(entry_view(entry) for entry in entries),
                )
            )
        return Proof(
            race=race_id,
            game=header.game,
            kind=header.kind,
            deal_version=header.deal_version,
            rules_version=header.rules_version,
            ranking_version=RANKING_VERSION,
            seed=race.seed,
            commitment=header.commitment,
            ranking=header.ranking,
            time_limit_ms=header.time_limit_ms,
            plays=tuple(logs),
            standings=await self.final_standings(race) if after == 0 else (),
            next=str(after + limit) if after + limit < len(rows) else None,
            daily=header.daily,
        )


def entered(race: Race, player: Player) -> Player:
    """An entrant as the race knows them: a guest may have claimed a name since."""
    entrant = race.entrants.get(player.id)
    return player if entrant is None else entrant.player


def entry_view(entry: Entry) -> LogEntryView:
    """A row of a log as it is told."""
    return LogEntryView(entry.ply, entry.move, entry.at_ms)


def page_of(rows: Sequence[Standing], ask: Ask, as_of: str) -> BoardPage:
    """A page of standings that are all at hand. Raises `NotOnBoard`.

    Its `next` is the place of the last row, not its merit: the rows of a live race are few.
    """
    if ask.kind is not None:
        rows = ranked_anew([row for row in rows if row.player.kind == ask.kind])
    places = {row.player.id: at for at, row in enumerate(rows)}
    start = 0
    if ask.around is not None:
        if ask.around not in places:
            raise NotOnBoard
        start = window(places[ask.around], len(rows), ask.limit)
    elif ask.after is not None:
        start = ask.after[0] + 1
    page = tuple(rows[start : start + ask.limit])
    last = start + len(page) - 1
    more = last + 1 < len(rows)
    me = rows[places[ask.me]] if ask.me in places else None
    return BoardPage(
        page, (last, page[-1].player.id) if more and page else None, len(rows), as_of, me
    )


def ranked_anew(rows: Sequence[Standing]) -> list[Standing]:
    """Some rows of standings, ranked among themselves."""
    anew: list[Standing] = []
    for at, row in enumerate(rows, 1):
        tied = anew and row.rank == rows[at - 2].rank
        rank = None if row.rank is None else anew[-1].rank if tied else at
        anew.append(msgspec.structs.replace(row, rank=rank))
    return anew
