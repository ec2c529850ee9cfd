"""`samedeal`, which on SIGUSR1 writes into its data directory how many tasks and files it has."""

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path

from service.cli import main


def _count(*_signal: object) -> None:
    tasks = [thing for thing in gc.get_objects() if isinstance(thing, asyncio.Task)]
    files = len(os.listdir("/proc/self/fd"))
    folder = Path(sys.argv[sys.argv.index("--data-dir") + 1])
    part = folder / "counts.part"
    part.write_text(f"{sum(not task.done() for task in tasks)} {files}")
    part.rename(folder / "counts")


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _count)
    main()
