"""Receipts: what `Idempotency-Key` promises. A reply is stored with its effect, in one commit."""

import hashlib
from typing import NamedTuple

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.storage.database import Database
from service.storage.ids import new_id
from service.storage.tables import receipts

KEPT_MS = 24 * 3_600_000
LEASE_MS = 30_000
"""A request that has not finished by then is taken to have died with its process."""


class KeyBusy(Exception):
    """A request with this key is still running."""


class KeyReused(Exception):
    """The key was used with another body."""


class LeaseLost(Exception):
    """Another request has taken this key over; nothing of this one may be stored."""


class Reply(NamedTuple):
    """A stored reply: HTTP status, body, and where the thing that was made is."""

    status: int
    body: bytes
    location: str | None = None


class Receipt(NamedTuple):
    """A key that is ours to fill."""

    key: bytes
    holder: str

    async def fill(self, connection: AsyncConnection, reply: Reply) -> None:
        """Store the reply inside the transaction of its effect. Raises `LeaseLost`."""
        query = (
            update(receipts)
            .where(receipts.c.key == self.key, receipts.c.holder == self.holder)
            .values(status=reply.status, reply=reply.body, location=reply.location)
        )
        if (await connection.execute(query)).rowcount != 1:
            raise LeaseLost


async def take(
    database: Database, scope: tuple[str, str, str, str], body: bytes
) -> Receipt | Reply:
    """A receipt to fill, or the reply to the first request with this key.

    `scope` is (player, method, path, key). Raises `KeyBusy` and `KeyReused`.
    """
    key = hashlib.sha256("\0".join(scope).encode()).digest()
    body_hash = hashlib.sha256(body).digest()
    now = database.clock.now()
    holder = new_id(now)

    async def work(connection: AsyncConnection) -> Receipt | Reply:
        row = (
            await connection.execute(select(receipts).where(receipts.c.key == key))
        ).one_or_none()
        if row is not None and row.created_at > now - KEPT_MS:
            if row.body_hash != body_hash:
                raise KeyReused
            if row.status is not None:
                return Reply(row.status, row.reply, row.location)
            if row.created_at > now - LEASE_MS:
                raise KeyBusy
        if row is not None:
            # Its holder may not be dead but slow, and fill it in this very moment: then it counts.
            forgotten = await connection.execute(
                delete(receipts).where(
                    receipts.c.key == key,
                    receipts.c.holder == row.holder,
                    receipts.c.status.is_(None) | (receipts.c.created_at <= now - KEPT_MS),
                )
            )
            if forgotten.rowcount != 1:
                raise KeyBusy
        await connection.execute(
            insert(receipts).values(key=key, body_hash=body_hash, holder=holder, created_at=now)
        )
        return Receipt(key, holder)

    try:
        return await database.transact(work)
    except IntegrityError:
        raise KeyBusy from None


async def give_up(database: Database, receipt: Receipt) -> None:
    """Forget a key whose request did not succeed, so that it may be tried again."""

    async def work(connection: AsyncConnection) -> None:
        await connection.execute(
            delete(receipts).where(
                receipts.c.key == receipt.key,
                receipts.c.holder == receipt.holder,
                receipts.c.status.is_(None),
            )
        )

    await database.transact(work)


async def forget_old(database: Database) -> None:
    """Delete what is past its 24 hours."""
    before = database.clock.now() - KEPT_MS

    async def work(connection: AsyncConnection) -> None:
        await connection.execute(delete(receipts).where(receipts.c.created_at < before))

    await database.transact(work)
