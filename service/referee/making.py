"""Making a race: a deal is drawn for it, and its header and first events are stored as one."""

from collections.abc import Callable, Sequence

from service.contest import events as e
from service.contest.race import Race, fold
from service.contest.race_header import Deals, RaceHeader
from service.referee.blocks import block
from service.storage import certificates, races, seats
from service.storage.certificates import Drawn
from service.storage.database import Connection, Database
from service.storage.journal import Journal


async def make(
    database: Database,
    journal: Journal,
    connection: Connection,
    game: str,
    header_of: Callable[[Drawn], RaceHeader],
    first: Sequence[e.Event],
    *,
    deals: Deals,
) -> Race:
    """A new race after its first events, in the caller's transaction.

    Raises `HasRematch` when its parent has one.
    """
    drawn = await certificates.draw(database, connection, game, winnable=deals == "winnable")
    header = header_of(drawn)
    log = block(Race(header), first, header.created_at)
    race = fold(Race(header), log)
    await races.create(connection, header, drawn.deal.id, race)
    await journal.append_events(connection, header.id, log)
    await seats.follow(connection, header.id, first)
    return race
