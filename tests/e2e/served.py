"""`samedeal serve` as its users start it: processes of their own, on ports of their own.

Every process is ended by its id when its test is over, however that went, and what it logged is then
searched: for a fault of ours, and for anything that must never be logged.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil

PATIENCE_S = 40.0
"""How long anything may take that has to happen; nothing is expected to take as long."""

PROGRAM = (str(Path(sys.executable).with_name("samedeal")),)
COUNTED = (sys.executable, "-m", "tests.e2e.counted")
"""The same program, which also tells how many tasks it has: see there."""

_CARD = re.compile(r"(?<![A-Za-z0-9_-])[A2-9TJQK][CDHS](?![A-Za-z0-9_-])")


class Service:
    """One server; it may be killed, stopped and started again, on the same port."""

    def __init__(
        self, folder: Path, environ: dict[str, str], workers: int, command: tuple[str, ...]
    ):
        self._environ = environ
        self._workers = workers
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = folder
        self.log = folder / "log"
        self.port = 0
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.pid)

    def workers(self) -> list[psutil.Process]:
        """The processes that serve, where there are several."""
        return [
            child for child in self.process.children() if "spawn_main" in " ".join(child.cmdline())
        ]

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        said = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: ASYNC220 (it returns at once)
                [
                    *self._command,
                    *("serve", "--port", str(self.port), "--workers", str(self._workers)),
                    *("--data-dir", str(self.folder)),
                ],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        async with deadline("the server listens"):
            while (found := self._listens(said)) is None:
                assert self._process.poll() is None, self.logged()[-2000:]
                await asyncio.sleep(0.02)
        self.port = found
        await self.ready()

    def _listens(self, since: int) -> int | None:
        found = re.search(rb"listens on http://[^:]+:(\d+)\n", self.log.read_bytes()[since:])
        return int(found[1]) if found else None

    async def ready(self, bus: str | None = None) -> None:
        """Wait until it can store, and its bus is `up` or `down` where that is asked for."""
        async with caller(self.url) as http:

            async def is_ready() -> bool:
                try:
                    answer = await http.get("/readyz")
                except httpx2.TransportError:
                    return False
                return answer.status_code == 200 and bus in (None, answer.json()["bus"])

            await true_of(is_ready, "the server is ready")

    def kill(self) -> None:
        """kill −9, all of it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):  # its workers, too, which may outlive it
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def terminate(self) -> None:
        """SIGTERM, as systemd and Docker do; returns at once."""
        os.kill(self.pid, signal.SIGTERM)

    async def gone(self, seconds: float) -> None:
        """Wait until it has stopped by itself."""
        process = self._process
        assert process is not None
        await true_of(lambda: process.poll() is not None, "the server is gone", seconds=seconds)
        self._process = None

    def logged(self) -> str:
        return self.log.read_text(errors="replace")

    async def number(self, name: str) -> float:
        """A number from `/metrics`."""
        async with caller(self.url) as http:
            text = (await http.get("/metrics")).text
        found = re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))

    def counts(self) -> tuple[int, int]:
        """(tasks, files) that a `COUNTED` server has open now."""
        told = self.folder / "counts"
        told.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        until = time.monotonic() + PATIENCE_S
        while not told.exists() and time.monotonic() < until:
            time.sleep(0.01)
        tasks, files = told.read_text().split()
        return int(tasks), int(files)


class Services:
    """Makes servers for one test, and looks through their logs at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = folder.name
        self._made: list[Service] = []
        self.secrets: set[str] = set()
        """Tokens and seeds that the test has met."""

    async def start(
        self,
        database_url: str | None = None,
        redis_url: str | None = None,
        *,
        workers: int = 1,
        countdown_ms: int = 200,
        log_level: str = "debug",
        command: tuple[str, ...] = PROGRAM,
        **environ: str,
    ) -> Service:
        ours = {key: value for key, value in os.environ.items() if not key.startswith("SAMEDEAL_")}
        ours |= {
            "SAMEDEAL_COUNTDOWN_MS": str(countdown_ms),
            "SAMEDEAL_LOG_LEVEL": log_level,
            "SAMEDEAL_POOL": "0",  # the processors are for the tests
            # One Redis serves many tests.
            "SAMEDEAL_REDIS_PREFIX": f"{self.name}:",
            **environ,
        }
        if database_url is not None:
            ours["SAMEDEAL_DATABASE_URL"] = database_url
        if redis_url is not None:
            ours["SAMEDEAL_REDIS_URL"] = redis_url
        service = Service(self._folder / f"server{len(self._made)}", ours, workers, command)
        self._made.append(service)
        await service.start()
        return service

    def close(self) -> None:
        for service in self._made:
            service.kill()

    def check_logs(self) -> None:
        """Nothing went wrong that no client did, and nothing secret was logged."""
        for service in self._made:
            text = service.logged()
            assert [line for line in text.splitlines() if is_fault(line)] == []
            assert [secret for secret in self.secrets if secret in text] == []
            assert _CARD.findall(text) == []


def is_fault(line: str) -> bool:
    """Whether a line of the log tells of something else than a request or a server that is away."""
    try:
        entry = json.loads(line)
    except ValueError:
        return not line.startswith("samedeal listens on ")
    return entry["event"] == "fault" or entry.get("status") in (0, 500)


def caller(url: str, token: str | None = None) -> httpx2.AsyncClient:
    """An HTTP client with that token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(
        base_url=url,
        headers=headers,
        timeout=PATIENCE_S,
        trust_env=False,
        verify=False,  # nor any certificate read, which takes longer than all the rest
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=50),
    )


@contextlib.asynccontextmanager
async def deadline(what: str, seconds: float = PATIENCE_S) -> AsyncIterator[None]:
    """Fails with those words when its block takes too long."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what}") from None


async def true_of(
    condition: Callable[[], object],
    what: str,
    meanwhile: Iterable[asyncio.Future[Any]] = (),
    seconds: float = PATIENCE_S,
) -> None:
    """Ask again and again until a condition, awaited if it can be, is true.

    What fails `meanwhile` is raised at once.
    """
    async with deadline(what, seconds):
        while True:
            for task in meanwhile:
                if task.done():
                    task.result()
            answer = condition()
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer:
                return
            await asyncio.sleep(0.02)


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, keys too."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts_in(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from texts_in(item)


def cards_in(value: object) -> list[str]:
    """Every card that a JSON value names, wherever."""
    return [card for text in texts_in(value) for card in _CARD.findall(text)]
