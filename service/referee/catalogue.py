"""The catalogue of open practice deals that comes with the service, brought into its database."""

from importlib import resources

from service.referee.pool import stored
from service.rules import GAMES
from service.solver import catalogue
from service.storage import certificates
from service.storage.certificates import Certified
from service.storage.database import Database

PAGE = 200


async def load(database: Database) -> None:
    """Fill each game's catalogue from the file that is shipped; nothing to do when it is full."""
    for game in GAMES:
        file = resources.files("service.seeds") / f"{game}.jsonl"
        data = file.read_bytes()
        async with database.read() as connection:
            known = await certificates.catalogued(connection, game)
        if known >= data.count(b"\n") - 1:  # a line a deal, after the head
            continue
        _head, found = catalogue.read(data)
        entries = [(seed, stored(certificate)) for seed, certificate in found.items()]
        for at in range(0, len(entries), PAGE):
            await _add(database, game, at + 1, entries[at : at + PAGE])


async def _add(
    database: Database, game: str, first: int, page: list[tuple[str, Certified]]
) -> None:
    now = database.clock.now()
    await database.transact(lambda own: certificates.fill_catalogue(own, game, first, page, now))
