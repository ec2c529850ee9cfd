"""Rate limits: how much one player or one address may ask of the service.

A limit is a bucket for each player, address or account. It holds so many units, which come back
evenly; whoever finds it empty is refused until one has come back.

| limit | what counts | for each | at once | comes back |
|---|---|---|---|---|
| `requests` | every request | player, else address | 5,000 | 200 a second |
| `sockets` | sockets opened | address | 2,000 | 100 a second |
| `accounts` | guests and players made | address | 5,000 | 5,000 an hour |
| `login` | attempts to log in | account and address | 10 | 10 a minute |
| `login-address` | failed attempts | address | 300 | 300 an hour |
| `login-account` | failed attempts | account | 30 | 30 an hour |
| `login-stranger` | failed attempts once those are used up | account and address | 3 | 3 an hour |
| `races` | races made, rematches and quick races too | player | 60 | 60 a minute |
| `plays` | practice plays made | player | 300 | 120 a minute |
| `tokens` | tokens made | player | 100 | 100 an hour |

An address is an IPv4 address or an IPv6 network of 64 bits. `requests` and `sockets` are counted in
each process by itself, the others in all processes together when there is a Redis.

Nobody can lock another out: when strangers have used up an account's failures, every address still
has three tries at it, and a right password takes none away. Whoever guesses from many addresses has
three guesses an hour for each of them.
"""

import ipaddress
from collections.abc import Callable
from typing import NamedTuple

from service.live.buckets import Bucket, Buckets, Level, MemoryBuckets

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Limit(NamedTuple):
    """`size` at once, and as many again in `refill_ms`."""

    name: str
    size: int
    refill_ms: int

    def of(self, whom: str) -> Bucket:
        """The bucket of somebody."""
        return Bucket(f"{self.name}:{whom}", self.size, self.refill_ms)


REQUESTS = Limit("requests", 5_000, 25 * SECOND)
SOCKETS = Limit("sockets", 2_000, 20 * SECOND)
ACCOUNTS = Limit("accounts", 5_000, HOUR)
LOGIN = Limit("login", 10, MINUTE)
LOGIN_ADDRESS = Limit("login-address", 300, HOUR)
LOGIN_ACCOUNT = Limit("login-account", 30, HOUR)
LOGIN_STRANGER = Limit("login-stranger", 3, HOUR)
RACES = Limit("races", 60, MINUTE)
PLAYS = Limit("plays", 300, 150 * SECOND)
TOKENS = Limit("tokens", 100, HOUR)


class Spent(NamedTuple):
    """What somebody has left of a limit."""

    limit: Limit
    level: Level


Note = Callable[[Spent], None]
"""Told of every limit that was drawn on, whether it held or not."""


class RateLimited(Exception):
    """Too many requests of a kind; the next one is due in `retry_after_ms` milliseconds."""

    def __init__(self, spent: Spent) -> None:
        super().__init__(f"the limit {spent.limit.name} is reached")
        self.retry_after_ms = max(1, spent.level.wait_ms)


class Limits:
    """The limits of one process, some of them shared with all others."""

    def __init__(self, shared: Buckets, clock: Callable[[], int], *, on: bool = True) -> None:
        """`clock` tells the time in epoch milliseconds; without `on` nothing is limited."""
        self._shared = shared
        self._own = MemoryBuckets()
        self._clock = clock
        self._on = on

    async def spend(self, limit: Limit, whom: str, note: Note) -> None:
        """Take one. Raises `RateLimited`."""
        await self.spend_all([(limit, whom)], note)

    async def spend_all(self, parts: list[tuple[Limit, str]], note: Note) -> None:
        """Take one of each, or none at all. Raises `RateLimited`."""
        if self._on:
            buckets = [limit.of(whom) for limit, whom in parts]
            levels = await self._shared.take(buckets, self._clock())
            _settle([limit for limit, _ in parts], levels, note)

    def spend_here(self, limit: Limit, whom: str, note: Note) -> None:
        """Take one of what this process counts by itself. Raises `RateLimited`."""
        if self._on:
            _settle([limit], self._own.take_now([limit.of(whom)], self._clock()), note)

    async def give_back(self, *parts: tuple[Limit, str]) -> None:
        """Undo what was taken."""
        if self._on:
            await self._shared.give_back([limit.of(whom) for limit, whom in parts])

    def give_back_here(self, limit: Limit, whom: str) -> None:
        """Undo what was taken by `spend_here`."""
        if self._on:
            self._own.give_back_now([limit.of(whom)])


class Attempt:
    """An attempt to log in, counted as failed until `succeeded`."""

    def __init__(self, limits: Limits, parts: list[tuple[Limit, str]]) -> None:
        self._limits = limits
        self._parts = parts

    async def succeeded(self) -> None:
        """The password was right: only failures count, but for `login`."""
        await self._limits.give_back(*self._parts)


async def attempt(limits: Limits, name: str, address: str, note: Note) -> Attempt:
    """Begin an attempt. Raises `RateLimited`.

    It is counted before the password is looked at, so that many at once count as many.
    """
    account = name.lower()
    pair = f"{account}:{address}"
    failed = [(LOGIN_ADDRESS, address)]
    await limits.spend_all([(LOGIN, pair), *failed], note)
    try:
        await limits.spend(LOGIN_ACCOUNT, account, _unheard)
        failed.append((LOGIN_ACCOUNT, account))
    except RateLimited:
        try:
            await limits.spend(LOGIN_STRANGER, pair, note)
        except RateLimited:
            await limits.give_back(*failed)
            raise
        failed.append((LOGIN_STRANGER, pair))
    return Attempt(limits, failed)


def address_of(host: str | None) -> str:
    """What is counted as one address.

    >>> address_of("192.0.2.1"), address_of("::ffff:192.0.2.1"), address_of("2001:db8::1:2:3:4")
    ('192.0.2.1', '192.0.2.1', '2001:db8::/64')
    >>> address_of("nonsense"), address_of(None)
    ('unknown', 'unknown')
    """
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))


def _settle(limits: list[Limit], levels: list[Level], note: Note) -> None:
    refused: Spent | None = None
    for spent in map(Spent, limits, levels):
        note(spent)
        if spent.level.wait_ms and (refused is None or spent.level.wait_ms > refused.level.wait_ms):
            refused = spent
    if refused is not None:
        raise RateLimited(refused)


def _unheard(_spent: Spent) -> None:
    """An account's failures are its own affair: others need not know that somebody guesses."""
