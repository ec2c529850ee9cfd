"""Rate limits at the edge: what a request draws on, and how its reply tells of it.

`RateLimit-Policy` names the limits that a request drew on, `"races";q=60;w=60`: 60 at once, and
all of them back after 60 seconds; `RateLimit` what is left of them, `"races";r=59;t=1`: all back in
one second. (IETF draft "RateLimit header fields for HTTP".)
"""

from starlette.requests import HTTPConnection
from starlette.types import Scope

from service.accounts.limits import REQUESTS, SOCKETS, Limit, Note, Spent, address_of
from service.api.house import house_of

_SPENT = "samedeal.spent"
_STRANGER = "samedeal.stranger"


def count_request(connection: HTTPConnection, player: str | None) -> None:
    """Count a request as its player's, as its address's while we know of none.

    Raises `RateLimited`.
    """
    whom = player
    if whom is None:
        whom = connection.scope[_STRANGER] = address(connection)
    house_of(connection).limits.spend_here(REQUESTS, whom, note_of(connection))


def recognised(connection: HTTPConnection, player: str) -> None:
    """What was counted as its address's turns out to be a player's. Raises `RateLimited`."""
    stranger = connection.scope.pop(_STRANGER, None)
    if stranger is not None:
        house_of(connection).limits.give_back_here(REQUESTS, stranger)
        count_request(connection, player)


def count_socket(connection: HTTPConnection) -> None:
    """Count the opening of a socket. Raises `RateLimited`."""
    house_of(connection).limits.spend_here(SOCKETS, address(connection), note_of(connection))


async def spend(connection: HTTPConnection, limit: Limit, whom: str) -> None:
    """Take one of a limit. Raises `RateLimited`."""
    await house_of(connection).limits.spend(limit, whom, note_of(connection))


def note_of(connection: HTTPConnection) -> Note:
    """What tells a request's reply of the limits it drew on."""
    spent: dict[str, Spent] = connection.scope.setdefault(_SPENT, {})

    def note(each: Spent) -> None:
        spent[each.limit.name] = each

    return note


def address(connection: HTTPConnection) -> str:
    """Where a request comes from; a proxy's word counts only where a proxy is configured."""
    return address_of(None if connection.client is None else connection.client.host)


def rate_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers that tell of the limits a request drew on."""
    spent: dict[str, Spent] | None = scope.get(_SPENT)
    if not spent:
        return []
    policies = [
        f'"{limit.name}";q={limit.size};w={-(-limit.refill_ms // 1000)}'
        for limit, _ in spent.values()
    ]
    left = [
        f'"{limit.name}";r={level.left};t={-(-level.full_ms // 1000)}'
        for limit, level in spent.values()
    ]
    return [
        (b"ratelimit-policy", ", ".join(policies).encode()),
        (b"ratelimit", ", ".join(left).encode()),
    ]
