"""The service itself for tests: real processes on real sockets, and a client's view of them.

A plugin, loaded by conftest. A test that asks for `service` runs on every combination of SQLite or
Postgres and in-process bus or Redis. With Redis there are two processes, and a client's requests and
sockets take turns between them: nothing may depend on which one answers.

`service`
    The processes of one combination, shared by the whole session: tests keep apart by ids.
`patient`
    The same with a countdown that never ends of itself.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import Postgres

COUNTDOWN_MS = 150
NEVER_MS = 600_000
PATIENCE_S = 30.0
ROOT = Path(__file__).parents[1]
COMBINATIONS = ("sqlite-local", "sqlite-redis", "postgres-local", "postgres-redis")


class Process:
    """One `samedeal serve`; `log` is what it wrote to standard error."""

    def __init__(self, folder: Path, name: str, settings: dict[str, str], *options: str) -> None:
        self.log = folder / f"{name}.log"
        self._read = 0
        environ = {k: v for k, v in os.environ.items() if not k.startswith("SAMEDEAL_")}
        environ["SAMEDEAL_POOL"] = "0"  # the processors are for the tests
        with self.log.open("wb") as log:
            self._popen = subprocess.Popen(
                [
                    *(sys.executable, "-c", "from service.cli import main; main()"),
                    *("serve", "--port", "0", "--data-dir", str(folder), *options),
                ],
                cwd=ROOT,
                env={**environ, **settings, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C is for the tests; they stop their servers themselves.
                start_new_session=True,
            )
        self.pid = self._popen.pid
        self.url = ""

    def wait_ready(self) -> None:
        assert self._popen.stdout is not None
        said = self._popen.stdout.readline().decode()
        self.url = said.rpartition(" ")[2].strip()
        until = time.monotonic() + PATIENCE_S
        while not (said and _ready(self.url)):
            if not said or self._popen.poll() is not None or time.monotonic() > until:
                self.kill()
                pytest.fail(f"the service did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.02)

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def wait(self, timeout: float = PATIENCE_S) -> int:
        status = self._popen.wait(timeout)
        if self._popen.stdout is not None:
            self._popen.stdout.close()
        return status

    def stop(self) -> int:
        """Asks it to end, and waits; its exit status."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait()
        finally:
            self.kill()

    def kill(self) -> None:
        """As a crash would: no goodbye to anybody."""
        self._popen.kill()
        self.wait()

    def new_faults(self) -> list[str]:
        """What it logged since this was asked last, and no client can be blamed for."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]  # a line may be on its way
        self._read += len(whole)
        lines = whole.decode(errors="replace").splitlines()
        return [line for line in lines if '"level": "info"' not in line]


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


class Service:
    """The processes of one combination, on one database."""

    def __init__(self, name: str, processes: list[Process]) -> None:
        self.name = name
        self.processes = processes
        self._turn = 0

    @property
    def url(self) -> str:
        """The address of the process whose turn it is."""
        self._turn += 1
        return self.processes[self._turn % len(self.processes)].url

    @property
    def urls(self) -> list[str]:
        return [process.url for process in self.processes]

    def new_faults(self) -> list[str]:
        """The faults of all processes since this was asked last."""
        return [fault for process in self.processes for fault in process.new_faults()]


@contextlib.contextmanager
def serving(
    request: pytest.FixtureRequest, combination: str, folder: Path, **settings: str
) -> Iterator[Service]:
    """The processes of a combination, on a database of their own."""
    database, bus = combination.split("-")
    if database == "sqlite":
        shutil.copyfile(request.getfixturevalue("migrated_file"), folder / "samedeal.db")
    else:
        server: Postgres = request.getfixturevalue("postgres_server")
        url = server.create(request.getfixturevalue("migrated_postgres_url"))
        settings["SAMEDEAL_DATABASE_URL"] = url
    if bus == "redis":
        settings["SAMEDEAL_REDIS_URL"] = request.getfixturevalue("redis_url")
        # Another session may share the Redis.
        settings["SAMEDEAL_REDIS_PREFIX"] = f"{folder.name}-{os.getpid()}:"
    names = ("one", "two") if bus == "redis" else ("one",)
    processes = [Process(folder, name, settings) for name in names]
    try:
        for process in processes:
            process.wait_ready()
        yield Service(combination, processes)
        for process in processes:
            assert process.stop() in (0, -signal.SIGTERM)
    finally:
        for process in processes:
            process.kill()
        if database == "postgres":
            server.drop(url)


@pytest.fixture(scope="session", params=COMBINATIONS)
def combination(request: pytest.FixtureRequest) -> str:
    """`DATABASE-BUS`; parametrize it (`indirect=True`) to run on some of them only."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def service(
    request: pytest.FixtureRequest, combination: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp(combination)
    with serving(request, combination, folder, SAMEDEAL_COUNTDOWN_MS=str(COUNTDOWN_MS)) as it:
        yield it


@pytest.fixture(scope="session")
def patient(
    request: pytest.FixtureRequest, combination: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp(f"patient-{combination}")
    with serving(request, combination, folder, SAMEDEAL_COUNTDOWN_MS=str(NEVER_MS)) as it:
        yield it
