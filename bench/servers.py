"""The servers that are measured: processes of their own, pinned, each with a store of its own."""

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg

from bench.client import HOST
from bench.machine import CORES, SERVER_CORE, pin

DATABASE_URL = os.environ.get(
    "SAMEDEAL_BENCH_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
)
COUNTDOWN_MS = 300
STORES = ("SQLite", "Postgres")
REDIS = "redis-server"
_SERVE = "from service.cli import main; main()"


class Running(NamedTuple):
    """A server that answers."""

    name: str
    port: int
    pid: int
    database: str | None


@contextlib.asynccontextmanager
async def service(
    store: str,
    *,
    name: str | None = None,
    database: str | None = None,
    redis: str | None = None,
    prefix: str = "samedeal:",
    workers: int = 1,
    pool: int = 0,
    cores: tuple[int, ...] = (SERVER_CORE,),
) -> AsyncIterator[Running]:
    """`samedeal serve` on an empty store, `SQLite` or `Postgres`, or on the given `database`."""
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="samedeal-bench-"))
        settings = {
            "SAMEDEAL_COUNTDOWN_MS": str(COUNTDOWN_MS),
            "SAMEDEAL_LOG_LEVEL": "error",
            "SAMEDEAL_POOL": str(pool),
            "SAMEDEAL_RATE_LIMITS": "off",
        }
        if store == "Postgres" and database is None:
            database = await stack.enter_async_context(fresh_database())
        if database is not None:
            settings["SAMEDEAL_DATABASE_URL"] = database
        if redis is not None:
            settings["SAMEDEAL_REDIS_URL"] = redis
            settings["SAMEDEAL_REDIS_PREFIX"] = prefix
        port = _free_port()
        command = [sys.executable, "-c", _SERVE, "serve", "--port", str(port)]
        command += ["--data-dir", folder, "--workers", str(workers)]
        process = stack.enter_context(_process(command, settings, cores))
        await _answers(process, port)
        kept = database or str(Path(folder) / "samedeal.db")
        yield Running(name or store, port, process.pid, kept)


@contextlib.asynccontextmanager
async def echo() -> AsyncIterator[Running]:
    """The bare echo."""
    port = _free_port()
    with _process([sys.executable, "-m", "bench.echo", str(port)], {}) as process:
        await _answers(process, port)
        yield Running("echo", port, process.pid, None)


async def postgres_version() -> str | None:
    """The version of the Postgres to be used; None when none answers."""
    try:
        connection = await asyncpg.connect(DATABASE_URL, timeout=5)
    except (OSError, TimeoutError, asyncpg.PostgresError):
        return None
    try:
        told: str = await connection.fetchval("SHOW server_version")
        return told
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def redis_server() -> AsyncIterator[str]:
    """A Redis of the bench's own, empty, as little pinned as Postgres: its address."""
    with tempfile.TemporaryDirectory(prefix="samedeal-bench-redis-") as folder:
        port = _free_port()
        options = {"bind": HOST, "port": str(port), "dir": folder, "save": "", "appendonly": "no"}
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        with _process([REDIS, *words], {}, tuple(CORES)) as process:
            await _answers(process, port)
            yield f"redis://{HOST}:{port}/0"


def has_redis() -> bool:
    """Whether there is a `redis-server` program."""
    return shutil.which(REDIS) is not None


@contextlib.asynccontextmanager
async def fresh_database() -> AsyncIterator[str]:
    """An empty database on the Postgres, dropped afterwards: its address."""
    name = f"samedeal_bench_{secrets.token_hex(4)}"
    await _run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    try:
        yield urlsplit(DATABASE_URL)._replace(path=f"/{name}").geturl()
    finally:
        await _run(f"DROP DATABASE {name} WITH (FORCE)")


async def _run(sql: str) -> None:
    connection = await asyncpg.connect(DATABASE_URL, timeout=5)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


@contextlib.contextmanager
def _process(
    command: list[str], settings: dict[str, str], cores: tuple[int, ...] = (SERVER_CORE,)
) -> Any:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SAMEDEAL_")}
    process = subprocess.Popen(
        command,
        env=kept | settings,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: pin(*cores),
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(12)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def _answers(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"a server ended at once with {process.returncode}")
        try:
            _reader, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        writer.close()
        return
    raise RuntimeError("a server did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
