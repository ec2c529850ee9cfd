"""A real service that can be stopped and started again under its clients."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import free_port
from tests.serving import Process


class Home:
    """One process on SQLite, on the same port and with the same data however often it starts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self._process = Process(
            self._folder,
            "log",
            {"SAMEDEAL_COUNTDOWN_MS": "100"},
            *("--port", str(self.port)),
        )
        self._process.wait_ready()

    def stop(self) -> None:
        """As an operator would: every socket is told 1012."""
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Whoever stops it starts it again."""
    home = Home(tmp_path_factory.mktemp("home"))
    yield home
    home.kill()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnect after 0 to 0.2 s instead of 3."""
    monkeypatch.setattr("service.bots.socket.RECONNECT_SECONDS", 0.2)
