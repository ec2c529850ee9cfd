"""A server of the demo's own: a child process with a database that is gone afterwards."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import BinaryIO, TypeVar

T = TypeVar("T")

START_SECONDS = 30.0
STOP_SECONDS = 12.0
SAYS = "samedeal listens on "
_SERVE = "from service.cli import main; main()"


class ServerFailed(Exception):
    """It did not start, or ended by itself; the text has what it said last."""


class OwnServer:
    """The running child; `address` is where it listens."""

    def __init__(self, address: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.address = address
        self._process = process
        self._log = log

    async def during(self, work: Awaitable[T]) -> T:
        """Do something that needs the server. Raises `ServerFailed` as soon as there is none."""
        working = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ServerFailed(_last_words(self._log))
            return working.result()
        finally:
            working.cancel()
            gone.cancel()
            await asyncio.gather(working, gone, return_exceptions=True)


@contextlib.asynccontextmanager
async def own_server(**settings: str) -> AsyncIterator[OwnServer]:
    """A server on a free port, ended at the end whatever happens. `settings`: `SAMEDEAL_…`.

    Raises `ServerFailed`.
    """
    # A developer's settings are for a developer's service and database, not for ours.
    environment = {key: text for key, text in os.environ.items() if not key.startswith("SAMEDEAL_")}
    environment |= {f"SAMEDEAL_{key}": text for key, text in settings.items()}
    with tempfile.TemporaryDirectory(prefix="samedeal-demo-") as folder:
        log = Path(folder, "log")
        with _written(log) as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _SERVE, "serve", "--port", "0"),
                *("--data-dir", str(Path(folder, "data"))),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=environment,
                # Ctrl-C is for us; we end our server ourselves.
                start_new_session=True,
            )
        try:
            yield OwnServer(await _address(process, log), process, log)
        finally:
            await _end(process)


def _written(log: Path) -> BinaryIO:
    return log.open("wb")


async def _address(process: asyncio.subprocess.Process, log: Path) -> str:
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = (await process.stdout.readline()).decode().strip()
    except TimeoutError:
        raise ServerFailed(f"it did not start in {START_SECONDS:.0f} s") from None
    if not line.startswith(SAYS):
        raise ServerFailed(_last_words(log))
    return line.removeprefix(SAYS)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    try:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        pass
    finally:  # also when somebody presses Ctrl-C once more
        if process.returncode is None:
            process.kill()
            await process.wait()


def _last_words(log: Path) -> str:
    said = log.read_text(errors="replace").strip().splitlines()[-5:]
    return "\n".join(("the server ended", *said))
