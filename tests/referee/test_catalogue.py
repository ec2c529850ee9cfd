"""The catalogue that is shipped: it is in the database, and every line in it wins."""

from importlib import resources

import pytest

from service.referee import catalogue
from service.rules import GAMES, start
from service.solver import catalogue as files
from service.storage import certificates


async def test_it_is_loaded_once_and_whole(database):
    await catalogue.load(database)
    await catalogue.load(database)
    seen = []
    after = ("", 0)
    while True:
        async with database.read() as connection:
            page = await certificates.page(
                connection, game=None, verdict=None, ease=(0, 200), after=after, limit=500
            )
        if not page:
            break
        seen += page
        after = (page[-1].game, page[-1].number)
    for game in GAMES:
        numbers = [deal.number for deal in seen if deal.game == game]
        assert numbers == list(range(1, 1_001))


@pytest.mark.parametrize("game", GAMES)
def test_every_line_wins(game):
    head, found = files.read((resources.files("service.seeds") / f"{game}.jsonl").read_bytes())
    assert (head.game, len(found)) == (game, 1_000)
    for seed, certificate in found.items():
        position = start(game, seed)
        for move in certificate.moves:
            position = position.apply(move).position
        assert position.solved == (certificate.verdict == "solved")
        assert certificate.par == (len(certificate.moves) or None)
