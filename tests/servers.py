"""The real servers that tests run against, loaded as a plugin by conftest.

Environment:

`SAMEDEAL_TEST_DATABASE_URL`
    A Postgres on which databases may be made and dropped; its own database is not touched.
`SAMEDEAL_TEST_REDIS_URL`
    A Redis to use where no `redis-server` program is at hand to start one's own.
`SAMEDEAL_TEST_REQUIRE`
    `postgres`, `redis` or both with a comma: what is named fails when missing, and is not skipped.

`python -m tests.servers` says which of them can be had, and fails if a required one cannot.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
import redis

DATABASE_URL = os.environ.get(
    "SAMEDEAL_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
)
REDIS_URL = os.environ.get("SAMEDEAL_TEST_REDIS_URL", "redis://127.0.0.1:6379/")
REQUIRED = frozenset(filter(None, os.environ.get("SAMEDEAL_TEST_REQUIRE", "").split(",")))

PATIENCE_S = 10.0
"""How long a server may take to answer or to start."""


class Missing(Exception):
    """A server that cannot be had; the message says why."""


# Postgres


class Postgres:
    """A Postgres server on which tests make databases of their own."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)._replace(scheme="postgresql")
        self._made: set[str] = set()
        # One session, one prefix: several test runs share a server without meeting.
        self._prefix = f"samedeal_test_{os.getpid()}_{secrets.token_hex(4)}"
        try:
            self._run("SELECT 1")
        except (OSError, TimeoutError, asyncpg.PostgresError) as error:
            reason = f"{type(error).__name__}: {error}"
            host = f"{self._url.hostname}:{self._url.port or 5432}"
            raise Missing(f"no Postgres answers at {host} ({reason})") from None

    def create(self, copy_of: str | None = None) -> str:
        """Makes a database, empty or a copy of another; returns its URL, `postgresql+asyncpg://…`.

        Nobody may be connected to the one to be copied.
        """
        name = f"{self._prefix}_{len(self._made)}"
        # template0 is never connected to, so that several runs may copy it at once.
        template = "template0" if copy_of is None else urlsplit(copy_of).path.removeprefix("/")
        self._run(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")
        self._made.add(name)
        return urlunsplit(self._url._replace(scheme="postgresql+asyncpg", path=f"/{name}"))

    def drop(self, url: str) -> None:
        """Drops a database made by `create`, ending the connections that are left to it."""
        name = urlsplit(url).path.removeprefix("/")
        assert name in self._made, f"not a database of this test session: {name}"
        self._run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        """Runs a statement as administrator, such as `SELECT pg_terminate_backend(…)`."""
        self._run(statement)

    def close(self) -> None:
        for name in self._made:
            self._run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        async def run() -> None:
            connection = await asyncpg.connect(urlunsplit(self._url), timeout=PATIENCE_S)
            try:
                await connection.execute(statement, timeout=6 * PATIENCE_S)
            finally:
                await connection.close(timeout=PATIENCE_S)

        apart(run)


def apart(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs a coroutine in a thread: callers may be in an event loop of their own, or between two."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="tests.servers")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


# Redis


class RedisServer:
    """A Redis of the tests' own: it may be flushed, stopped and started again, on the same port."""

    def __init__(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise Missing("there is no redis-server program")
        self._program = program
        self._folder = Path(tempfile.mkdtemp(prefix="samedeal-redis-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it, empty, and waits until it answers. Nothing happens if it runs."""
        if self.running:
            return
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self._folder),
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
        }
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    *(word for key, value in options.items() for word in (f"--{key}", value)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C is for the tests; they stop their servers themselves.
                start_new_session=True,
            )
        until = time.monotonic() + PATIENCE_S
        while not _pings(self.url):
            if not self.running or time.monotonic() > until:
                said = (self._folder / "log").read_text(errors="replace")[-500:]
                raise Missing(f"redis-server did not start: {said}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Kills it, as a crash would: no goodbye to its clients, and what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _pings(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens just now."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# Fixtures

_left_out: dict[str, str] = {}


def _do_without(server: str, error: Missing) -> None:
    _left_out[server] = str(error)
    if server in REQUIRED:
        pytest.fail(f"{server} is required here, and missing: {error}", pytrace=False)
    pytest.skip(f"needs {server}: {error}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A Postgres server, for `create()` and `drop(url)`; what was made is dropped at the end."""
    try:
        server = Postgres(DATABASE_URL)
    except Missing as error:
        _do_without("postgres", error)
        raise
    yield server
    server.close()


@pytest.fixture(scope="session")
def postgres_url(postgres_server: Postgres) -> str:
    """A database for the whole session, empty at first: tests that share it keep apart by ids."""
    return postgres_server.create()


@pytest.fixture
def fresh_postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """An empty database for one test."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis process of the session's own, for `stop()`, `start()` and `flush()`.

    Whoever stops it starts it again.
    """
    try:
        server = RedisServer()
    except Missing as error:
        _do_without("redis", error)
        raise
    yield server
    server.close()


@pytest.fixture(scope="session")
def redis_url(request: pytest.FixtureRequest) -> str:
    """A Redis, running: our own, else the one of the environment (which is not ours to flush)."""
    if shutil.which("redis-server"):
        server: RedisServer = request.getfixturevalue("redis_server")
        return server.url
    if not _pings(REDIS_URL):
        host = urlsplit(REDIS_URL)
        _do_without(
            "redis",
            Missing(
                f"there is no redis-server program, and no Redis answers at "
                f"{host.hostname}:{host.port or 6379}"
            ),
        )
    return REDIS_URL


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for server, reason in _left_out.items():
        terminalreporter.section(f"left out: everything that needs {server}", sep="!")
        terminalreporter.line(f"{reason}.")
        variable = {"postgres": "SAMEDEAL_TEST_DATABASE_URL", "redis": "SAMEDEAL_TEST_REDIS_URL"}
        terminalreporter.line(f"Start one, or say where it is in {variable[server]}.")


# On the command line


def main() -> int:
    """Says which servers can be had; 1 if a required one cannot."""
    missing: dict[str, str] = {}
    try:
        Postgres(DATABASE_URL)
    except Missing as error:
        missing["postgres"] = str(error)
    if not shutil.which("redis-server") and not _pings(REDIS_URL):
        missing["redis"] = "there is no redis-server program, and no Redis answers either"
    for server in ("postgres", "redis"):
        print(f"{server}: {missing.get(server, 'there')}")
    return 1 if REQUIRED & missing.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
