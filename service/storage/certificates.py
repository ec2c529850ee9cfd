"""Certificates, the pool of certified secret deals, the catalogue, and kept analyses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from service.rules import DEAL_VERSION, commitment
from service.storage import deals as stored_deals
from service.storage.database import Database
from service.storage.deals import Deal, fresh_seed
from service.storage.ids import new_id
from service.storage.solver_tables import analyses, catalogue, certificates, pool
from service.storage.tables import deals, plays, races


class Certified(NamedTuple):
    """What is known of a deal. `ease` counts greedy play-outs of 200 that win; `par` is plies."""

    verdict: str
    solver_version: int
    budget: int
    states: int
    par: int | None
    ease: int
    line: str


class Drawn(NamedTuple):
    """A secret deal for a race, and whether it is certified winnable."""

    deal: Deal
    certified: bool


def _upsert(connection: AsyncConnection) -> Any:
    return sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert


async def draw(
    database: Database, connection: AsyncConnection, game: str, *, winnable: bool
) -> Drawn:
    """A secret deal that no race has had: from the pool if a winnable one is asked for.

    An empty pool never blocks: then the deal is a fresh one, and not certified.
    """
    if winnable:
        oldest = (
            select(pool.c.deal_id)
            .where(pool.c.game == game)
            .order_by(pool.c.deal_id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        taken = delete(pool).where(pool.c.deal_id.in_(oldest)).returning(pool.c.deal_id)
        deal_id = (await connection.execute(taken)).scalar_one_or_none()
        if deal_id is not None:
            row = await connection.execute(
                select(*(deals.c[field] for field in Deal._fields)).where(deals.c.id == deal_id)
            )
            return Drawn(Deal(*row.one()), True)
    return Drawn(await stored_deals.ensure(database, connection, game, fresh_seed()), False)


async def put(connection: AsyncConnection, deal_id: str, certified: Certified) -> None:
    """Store a deal's certificate, or a better one in its place."""
    query = _upsert(connection)(certificates).values(deal_id=deal_id, **certified._asdict())
    await connection.execute(
        query.on_conflict_do_update(index_elements=["deal_id"], set_=certified._asdict())
    )


async def add_to_pool(connection: AsyncConnection, deal: Deal, certified: Certified) -> None:
    """Keep a certified deal for a race to come, whole with its certificate."""
    await put(connection, deal.id, certified)
    await connection.execute(insert(pool).values(deal_id=deal.id, game=deal.game))


async def pooled(connection: AsyncConnection, game: str) -> int:
    """How many certified deals of a game wait for a race."""
    query = select(func.count()).select_from(pool).where(pool.c.game == game)
    return int((await connection.execute(query)).scalar_one())


async def of(connection: AsyncConnection, deal_id: str) -> Certified | None:
    """A deal's certificate. Whether it may be told is the caller's to know."""
    query = select(*(certificates.c[field] for field in Certified._fields)).where(
        certificates.c.deal_id == deal_id
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else Certified(*row)


async def uncertified_race_deals(connection: AsyncConnection, limit: int) -> list[Deal]:
    """Deals of the latest races whose certificate is still to be made."""
    query = (
        select(*(deals.c[field] for field in Deal._fields))
        .join(races, races.c.deal_id == deals.c.id)
        .outerjoin(certificates, certificates.c.deal_id == deals.c.id)
        .where(certificates.c.deal_id.is_(None))
        .order_by(races.c.id.desc())
        .limit(limit)
    )
    return [Deal(*row) for row in await connection.execute(query)]


# The catalogue


class Listed(NamedTuple):
    """A deal of the catalogue."""

    number: int
    game: str
    deal_version: int
    seed: str
    commitment: str
    verdict: str
    solver_version: int
    budget: int
    states: int
    par: int | None
    ease: int


async def catalogued(connection: AsyncConnection, game: str) -> int:
    """How many deals of a game the catalogue has."""
    query = select(func.count()).select_from(catalogue).where(catalogue.c.game == game)
    return int((await connection.execute(query)).scalar_one())


async def fill_catalogue(
    connection: AsyncConnection,
    game: str,
    first: int,
    entries: Sequence[tuple[str, Certified]],
    now: int,
) -> None:
    """Put (seed, certificate) pairs into a game's catalogue, numbered from `first` on.

    Again: no change.
    """
    upsert = _upsert(connection)
    await connection.execute(
        upsert(deals).on_conflict_do_nothing(),
        [
            {
                "id": new_id(now),
                "game": game,
                "deal_version": DEAL_VERSION,
                "seed": seed,
                "commitment": commitment(game, seed),
                "created_at": now,
            }
            for seed, _certified in entries
        ],
    )
    query = select(deals.c.seed, deals.c.id).where(
        deals.c.game == game,
        deals.c.deal_version == DEAL_VERSION,
        deals.c.seed.in_([seed for seed, _certified in entries]),
    )
    ids = {row.seed: row.id for row in await connection.execute(query)}
    await connection.execute(
        upsert(certificates).on_conflict_do_nothing(),
        [{"deal_id": ids[seed], **certified._asdict()} for seed, certified in entries],
    )
    await connection.execute(
        upsert(catalogue).on_conflict_do_nothing(),
        [
            {"game": game, "number": number, "deal_id": ids[seed]}
            for number, (seed, _certified) in enumerate(entries, first)
        ],
    )


async def page(
    connection: AsyncConnection,
    *,
    game: str | None,
    verdict: str | None,
    ease: tuple[int, int],
    after: tuple[str, int],
    limit: int,
) -> list[Listed]:
    """Deals of the catalogue by game and number; `ease` between two counts of 200."""
    query = (
        select(
            catalogue.c.number,
            deals.c.game,
            deals.c.deal_version,
            deals.c.seed,
            deals.c.commitment,
            certificates.c.verdict,
            certificates.c.solver_version,
            certificates.c.budget,
            certificates.c.states,
            certificates.c.par,
            certificates.c.ease,
        )
        .join(deals, deals.c.id == catalogue.c.deal_id)
        .join(certificates, certificates.c.deal_id == catalogue.c.deal_id)
        .where(
            certificates.c.ease.between(*ease),
            (catalogue.c.game > after[0])
            | ((catalogue.c.game == after[0]) & (catalogue.c.number > after[1])),
        )
        .order_by(catalogue.c.game, catalogue.c.number)
        .limit(limit)
    )
    if game is not None:
        query = query.where(catalogue.c.game == game)
    if verdict is not None:
        query = query.where(certificates.c.verdict == verdict)
    return [Listed(*row) for row in await connection.execute(query)]


# Analyses and hints


async def analysis(connection: AsyncConnection, play_id: str, solver_version: int) -> str | None:
    """A kept analysis of this version of the solver, as JSON."""
    query = select(analyses.c.data).where(
        analyses.c.play_id == play_id, analyses.c.solver_version == solver_version
    )
    return (await connection.execute(query)).scalar_one_or_none()


async def keep_analysis(
    connection: AsyncConnection, play_id: str, solver_version: int, data: str
) -> None:
    """Keep an analysis, in place of one by another version."""
    values = {"solver_version": solver_version, "data": data}
    query = _upsert(connection)(analyses).values(play_id=play_id, **values)
    await connection.execute(query.on_conflict_do_update(index_elements=["play_id"], set_=values))


async def note_hint(connection: AsyncConnection, play_id: str) -> None:
    """A play that has had a hint stands on no board."""
    await connection.execute(
        update(plays).where(plays.c.id == play_id).values(hinted=True, merit=None)
    )
