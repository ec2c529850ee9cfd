"""The one wiring page: what a process is made of, and in what order it starts and stops."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router, WebSocketRoute
from starlette.websockets import WebSocket

from service.accounts.accounts import REVOKED_TOPIC, Accounts
from service.accounts.limits import Limits
from service.api import ops
from service.api.errors import Malformed
from service.api.house import House
from service.api.http import error_response
from service.api.middleware import Gate, Watchman
from service.api.rest import (
    accounts,
    dailies,
    deals,
    games,
    leaderboards,
    lobbies,
    plays,
    profiles,
    races,
)
from service.api.socket.endpoint import Sockets
from service.feed.boards import Leaderboards
from service.feed.hub import Hub
from service.feed.profiles import Profiles
from service.feed.reader import Reader
from service.live.boards import RedisBoards
from service.live.buckets import Buckets, MemoryBuckets, RedisBuckets
from service.live.bus import Bus, LocalBus
from service.live.redis_bus import RedisBus
from service.logs import fault
from service.metrics import FAULTS
from service.referee import catalogue
from service.referee.board_keeper import BoardKeeper
from service.referee.clock import RefereeClock
from service.referee.insight import Insight
from service.referee.lobbies import Lobbies
from service.referee.open_races import OpenRaces
from service.referee.plays import Plays
from service.referee.pool import PoolKeeper
from service.referee.races import Races
from service.settings import Settings
from service.storage import receipts
from service.storage.boards import Board
from service.storage.database import Database, OutcomeUnknown, Unavailable, database_url
from service.storage.journal import Journal
from service.storage.migrate import migrate
from service.storage.shelf import NotFound, PlayShelf, RaceShelf

RECHECK_SECONDS = 2.0
TIDY_SECONDS = 3_600.0
EXPOSED = ["Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"]
"""Headers that pages elsewhere may read."""

log = structlog.get_logger()


class Process:
    """One process of the service: its parts, started and stopped in order."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(database_url(settings.database_url, settings.data_dir))
        self.journal = Journal(self.database)
        self.bus: Bus = LocalBus()
        self.buckets: Buckets = MemoryBuckets()
        if settings.redis_url is not None:
            self.bus = RedisBus(
                settings.redis_url,
                settings.redis_prefix,
                lambda event, error: log.warning(event, **fault(error)),
            )
            self.buckets = RedisBuckets(
                settings.redis_url,
                settings.redis_prefix,
                lambda event, error: log.info(event, **fault(error)),
            )
        limits = Limits(self.buckets, self.database.clock.now, on=settings.rate_limits)
        play_shelf = PlayShelf(self.database, self.journal)
        race_shelf = RaceShelf(self.database, self.journal)
        self.plays = Plays(self.database, self.journal, play_shelf, self.bus, self._play_ended)
        self.races = Races(
            self.database,
            self.journal,
            race_shelf,
            self.plays,
            self.bus,
            settings.countdown_ms,
            self._race_due,
        )
        self.open_races = OpenRaces(
            self.database, self.journal, play_shelf, race_shelf, self.races, self.bus
        )
        self.clock = RefereeClock(
            self.database,
            self.races.settle,
            self.plays.time_out,
            self.open_races.make_dailies,
            self._clock_failed,
        )
        self.redis_boards: RedisBoards | None = None
        self.keeper: BoardKeeper | None = None
        if settings.redis_url is not None:
            self.redis_boards = RedisBoards(settings.redis_url, settings.redis_prefix)
            self.keeper = BoardKeeper(
                self.database, self.redis_boards, functools.partial(failed, "boards")
            )
        leaderboards = Leaderboards(
            self.database, self.redis_boards, self.keeper.missing if self.keeper else _ignore
        )
        self.pool = PoolKeeper(self.database, settings.pool, functools.partial(failed, "pool"))
        self.insight = Insight(self.database, play_shelf)
        self.reader = Reader(self.database, self.journal, play_shelf, race_shelf, leaderboards)
        self.hub = Hub(
            self.database,
            self.journal,
            self.reader,
            self.bus,
            functools.partial(failed, "hub"),
        )
        self.house = House(
            settings,
            self.database,
            self.bus,
            limits,
            Accounts(self.database, self.bus, limits),
            self.plays,
            self.races,
            Lobbies(self.database, race_shelf, self.races, self.bus),
            self.reader,
            self.hub,
            self.open_races,
            leaderboards,
            Profiles(self.database),
            self.insight,
        )
        self.sockets = Sockets(self.house, functools.partial(failed, "socket"))
        self._tasks: list[asyncio.Task[None]] = []

    def _play_ended(self, race_id: str) -> None:
        self.clock.soon(race_id)
        if self.keeper is not None:
            self.keeper.soon()

    def _race_due(self, race_id: str, when: int) -> None:
        self.clock.at(race_id, when)

    def _clock_failed(self, _race_id: str, error: Exception) -> None:
        failed("clock", error)

    async def start(self) -> None:
        """Bring the schema up, then everything from the ground floor upwards."""
        await migrate(self.database.url)
        await self.database.start()
        await self.journal.start()
        await self.bus.start()
        await self.bus.listen(REVOKED_TOPIC, lambda wake: self.sockets.revoke([wake.data.decode()]))
        await self.hub.start()
        await self.clock.start()
        if self.keeper is not None:
            await self.keeper.start()
        await self.pool.start()
        self._tasks = [
            asyncio.create_task(self.database.clock.keep(functools.partial(failed, "time"))),
            asyncio.create_task(self._recheck()),
            asyncio.create_task(self._tidy()),
            asyncio.create_task(self._load_catalogue()),
        ]

    async def drain(self) -> None:
        """Before the sockets close: carry out nothing more, and write what waits."""
        await self.clock.stop()
        await self.journal.drain()

    async def stop(self) -> None:
        """After the sockets have closed."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.clock.stop()
        await self.hub.stop()
        if self.keeper is not None:
            await self.keeper.stop()
        await self.pool.stop()
        self.insight.stop()
        await self.journal.stop()
        await self.bus.stop()
        await self.buckets.stop()
        if self.redis_boards is not None:
            await self.redis_boards.stop()
        await self.database.stop()

    async def _recheck(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                await self.sockets.recheck()
            except Exception as error:
                failed("recheck", error)

    async def _load_catalogue(self) -> None:
        try:
            await catalogue.load(self.database)
        except Exception as error:
            failed("catalogue", error)

    async def _tidy(self) -> None:
        while True:
            try:
                await receipts.forget_old(self.database)
            except Exception as error:
                failed("tidy", error)
            await asyncio.sleep(TIDY_SECONDS)


def _ignore(_name: str, _board: Board) -> None:
    """Without Redis nothing is missing from it."""


def failed(where: str, error: Exception) -> None:
    """Something that no client did went wrong."""
    FAULTS.labels(where).inc()
    if isinstance(error, Unavailable | OutcomeUnknown):
        log.warning("unavailable", at=where, **fault(error))
    else:
        log.error("fault", at=where, **fault(error))


async def _http_exception(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return error_response(NotFound())
    return error_response(Malformed(error.detail))


def create_app(settings: Settings) -> Starlette:
    """The ASGI application of one process."""
    process = Process(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await process.start()
        try:
            yield
        finally:
            await process.stop()

    async def socket(websocket: WebSocket) -> None:
        await process.sockets.serve(websocket)

    rest: list[Route] = [
        *accounts.routes,
        *dailies.routes,
        *deals.routes,
        *games.routes,
        *leaderboards.routes,
        *plays.routes,
        *profiles.routes,
        *races.routes,
        *lobbies.routes,
    ]
    app = Starlette(
        routes=[
            *ops.routes,
            WebSocketRoute("/v1/ws", socket),
            Mount("/v1", Router(rest, redirect_slashes=False)),
        ],
        middleware=[
            # Outermost, so that pages elsewhere may read errors, too.
            Middleware(
                CORSMiddleware,
                allow_origins=["*"],
                allow_methods=["GET", "POST", "PATCH", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
                expose_headers=EXPOSED,
            ),
            Middleware(Watchman, on_error=functools.partial(failed, "rest")),
            Middleware(Gate),
        ],
        exception_handlers={HTTPException: _http_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.house = process.house
    app.state.process = process
    return app
