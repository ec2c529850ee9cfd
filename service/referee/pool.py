"""The pool: a stock of secret deals that are certified winnable, ready before they are wanted."""

import asyncio
from collections.abc import Callable, Mapping

from service.referee.thinking import LOWEST, Rests, Thinker, ThinkerDied, TooLong, affordable
from service.rules import GAMES
from service.solver import DEFAULT_BUDGETS, SOLVER_VERSION, Certificate, certificate
from service.storage import certificates, deals
from service.storage.certificates import Certified
from service.storage.database import Connection, Database, Unavailable
from service.storage.deals import Deal

LOOK_SECONDS = 5.0
FIRST_LOOK_SECONDS = 1.0
JOB_SECONDS = 600.0
"""A minute at work and its rests; whatever takes longer is stuck."""
PLAY_OUTS = 200
"""How many play-outs the stored `ease` counts the wins of."""


class PoolKeeper:
    """Fills the pool and certifies the deals of races that had to go without."""

    def __init__(
        self,
        database: Database,
        size: int,
        on_error: Callable[[Exception], None],
        *,
        budgets: Mapping[str, int] = DEFAULT_BUDGETS,
        first_look_seconds: float = FIRST_LOOK_SECONDS,
    ) -> None:
        """`size`: certified deals to keep for each game; 0 keeps none. `budgets`: states by game."""
        self._database = database
        self._size = size
        self._on_error = on_error
        self._budgets = budgets
        self._first_look_seconds = first_look_seconds
        self._turn = 0
        self._thinker = Thinker(niceness=LOWEST)
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, a little after everything else."""
        if self._size:
            self._running = asyncio.create_task(self._run(), name="pool")

    async def stop(self) -> None:
        """Stop; what is under way is thrown away."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        self._thinker.stop()

    async def _run(self) -> None:
        await asyncio.sleep(self._first_look_seconds)
        while True:
            try:
                while await self._do_one():
                    pass
            except Unavailable:
                pass
            except Exception as error:
                self._on_error(error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _do_one(self) -> bool:
        """One certificate, for each game that is short in turn; False when nothing is wanted."""
        async with self._database.read() as connection:
            short = [
                game for game in GAMES if await certificates.pooled(connection, game) < self._size
            ]
        if short:
            # In turn: a game whose deals are hard to certify must not keep the other waiting.
            self._turn += 1
            await self._add(short[self._turn % len(short)])
            return True
        return await self.certify_one()

    async def certify_one(self) -> bool:
        """Certify the latest race's deal that had to go without; False when there is none."""
        async with self._database.read() as connection:
            waiting = await certificates.uncertified_race_deals(connection, 1)
        if not waiting:
            return False
        await self._certify(waiting[0])
        return True

    async def _add(self, game: str) -> None:
        seed = deals.fresh_seed()
        found = await self._work_out(game, seed)
        if found.verdict != "solved":
            return

        async def work(connection: Connection) -> None:
            deal = await deals.ensure(self._database, connection, game, seed)
            await certificates.add_to_pool(connection, deal, found)

        await self._database.transact(work)

    async def _certify(self, deal: Deal) -> None:
        found = await self._work_out(deal.game, deal.seed)
        await self._database.transact(lambda own: certificates.put(own, deal.id, found))

    async def _work_out(self, game: str, seed: str) -> Certified:
        """A certificate; a job whose process dies is tried once more with half the budget."""
        budget = affordable(self._budgets[game])
        for _ in range(2):
            try:
                return stored(
                    await self._thinker.think(JOB_SECONDS, _considerate, game, seed, budget)
                )
            except (ThinkerDied, TooLong):
                budget //= 2
        return Certified("unknown", SOLVER_VERSION, budget, 0, None, 0, "")


def _considerate(game: str, seed: str, budget: int) -> Certificate:
    """A certificate, worked out when others leave the processor alone."""
    return certificate(game, seed, budget, progress=Rests())


def stored(found: Certificate) -> Certified:
    """A certificate as it is stored."""
    return Certified(
        found.verdict,
        found.solver_version,
        found.budget,
        found.states,
        found.par,
        round(found.ease * PLAY_OUTS),
        " ".join(found.moves),
    )
