"""The servers that are measured: processes of their own, pinned, each with a store of its own."""

import asyncio
import contextlib
import os
import secrets
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
from bench.machine import SERVER_CORE, pin

DATABASE_URL = os.environ.get(
    "SAMEDEAL_BENCH_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
)
COUNTDOWN_MS = 300
STORES = ("SQLite", "Postgres")
_SERVE = "from service.cli import main; main()"


class Running(NamedTuple):
    """A server that answers."""

    name: str
    port: int
    pid: int
    database: str | None


@contextlib.asynccontextmanager
async def service(store: str) -> AsyncIterator[Running]:
    """`samedeal serve` on an empty store, `SQLite` or `Postgres`."""
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="samedeal-bench-"))
        settings = {
            "SAMEDEAL_COUNTDOWN_MS": str(COUNTDOWN_MS),
            "SAMEDEAL_LOG_LEVEL": "error",
            "SAMEDEAL_POOL": "0",
            "SAMEDEAL_RATE_LIMITS": "off",
        }
        database = str(Path(folder) / "samedeal.db")
        if store == "Postgres":
            database = await stack.enter_async_context(_fresh_database())
            settings["SAMEDEAL_DATABASE_URL"] = database
        port = _free_port()
        command = [sys.executable, "-c", _SERVE, "serve", "--port", str(port)]
        command += ["--data-dir", folder]
        process = stack.enter_context(_process(command, settings))
        await _answers(process, port)
        yield Running(store, port, process.pid, database)


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
async def _fresh_database() -> AsyncIterator[str]:
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
def _process(command: list[str], settings: dict[str, str]) -> Any:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SAMEDEAL_")}
    process = subprocess.Popen(
        command,
        env=kept | settings,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: pin(SERVER_CORE),
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
