"""A race's proof as a client puts it together from its pages."""

import msgspec

from service.contest.race import Race
from tests.competition.house import House


async def whole_proof(house: House, race: Race, limit: int) -> bytes:
    """All pages joined, as JSON."""
    page = await house.reader.outcomes.proof(race.header.id, None, 0, limit)
    whole = msgspec.to_builtins(page)
    while page.next is not None:
        page = await house.reader.outcomes.proof(race.header.id, None, int(page.next), limit)
        assert len(page.plays) <= limit
        whole["plays"] += msgspec.to_builtins(page.plays)
    return msgspec.json.encode(whole | {"next": None})
