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
        if not file.is_file():
            continue
        _head, found = catalogue.read(file.read_bytes())
        entries = [(seed, stored(certificate)) for seed, certificate in found.items()]
        async with database.read() as connection:
            known = await certificates.catalogued(connection, game)
        if known >= len(entries):
            continue
        for at in range(0, len(entries), PAGE):
            await _add(database, game, at + 1, entries[at : at + PAGE])


async def _add(
    database: Database, game: str, first: int, page: list[tuple[str, Certified]]
) -> None:
    now = database.clock.now()
    await database.transact(lambda own: certificates.fill_catalogue(own, game, first, page, now))
