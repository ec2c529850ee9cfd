"""What machine this is, its cores, and what a process on it has used."""

import os
import platform
import re
import sqlite3
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

PACKAGES = (
    "uvicorn", "uvloop", "starlette", "websockets", "msgspec", "asyncpg", "aiosqlite", "sqlalchemy",
    "redis", "openskill",
)  # fmt: skip

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE = CORES[0]
GENERATOR_CORE = CORES[-1]
"""The same as the server's where there is only one."""


def pin(*cores: int) -> None:
    """Keep this process, and what it starts from now on, on these cores."""
    os.sched_setaffinity(0, cores)


def describe() -> list[tuple[str, str]]:
    """The machine and the versions, as rows of a table."""
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.*)", info)
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return [
        ("CPU", model[1] if model else platform.machine()),
        ("cores", f"{len(CORES)} (server on {SERVER_CORE}, load generator on {GENERATOR_CORE})"),
        ("memory", f"{int(memory[1]) / 2**20:.1f} GiB" if memory else "unknown"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("packages", ", ".join(f"{name} {version(name)}" for name in PACKAGES)),
        ("SQLite", sqlite3.sqlite_version),
    ]


class Used(NamedTuple):
    """What a process has used so far. `waited`: it could have run, but others had its core."""

    ran: float
    waited: float

    def since(self, before: "Used") -> "Used":
        return Used(self.ran - before.ran, self.waited - before.waited)


def used(pid: int) -> Used:
    """Seconds of CPU that a process has had and has waited for, in all its threads."""
    ran = waited = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        on, queued, _slices = (task / "schedstat").read_text().split()
        ran += int(on)
        waited += int(queued)
    return Used(ran / 1e9, waited / 1e9)


def children(pid: int) -> list[int]:
    """The processes that a process has begun."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def memory(pid: int) -> int:
    """Bytes of memory that are a process's own (proportional set size)."""
    told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s*(\d+) kB", told, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024
