"""The open practice deals with their certificates, as lines of compact text.

A file is JSON lines: a head, then a row a deal. Moves are packed: `t` turn, `r` redeal, King's
Way `3` for `c3-w`; Royal Mullein `f3` for `w-f3`, `l3` for `w-l3`, `h34` for `l3-f4`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from service.rules import DEAL_VERSION, RULES_VERSION
from service.solver.certificate import Certificate, certificate
from service.solver.verdict import SOLVER_VERSION

_PACKED = re.compile(r"t|r|[1-8]|f[1-8]|l[1-8]|h[1-8][1-8]")


class Head(msgspec.Struct, frozen=True):
    """What holds for every row."""

    game: str
    deal_version: int
    rules_version: int
    solver_version: int
    budget: int


class Row(msgspec.Struct, frozen=True, array_like=True):
    """One deal."""

    seed: str
    verdict: Literal["solved", "unwinnable", "unknown"]
    par: int | None
    ease: float
    states: int
    moves: str


def pack(moves: Iterable[str]) -> str:
    """
    >>> pack(["turn", "c3-w", "redeal", "w-f3", "w-l8", "l3-f4"])
    't3rf3l8h34'
    """
    short = {"turn": "t", "redeal": "r"}
    return "".join(short.get(move) or _pack(*move.split("-")) for move in moves)


def _pack(source: str, target: str) -> str:
    if source == "w":
        return target
    return source[1] if target == "w" else f"h{source[1]}{target[1]}"


def unpack(text: str) -> tuple[str, ...]:
    """
    >>> unpack("t3rf3l8h34")
    ('turn', 'c3-w', 'redeal', 'w-f3', 'w-l8', 'l3-f4')
    """
    return tuple(map(_unpack, _PACKED.findall(text)))


def _unpack(text: str) -> str:
    match text[0]:
        case "t":
            return "turn"
        case "r":
            return "redeal"
        case "h":
            return f"l{text[1]}-f{text[2]}"
        case "f" | "l":
            return f"w-{text}"
        case _:
            return f"c{text}-w"


def write(game: str, budget: int, deals: Iterable[tuple[str, Certificate]]) -> Iterator[bytes]:
    """The lines of a file, without their ends."""
    yield msgspec.json.encode(Head(game, DEAL_VERSION, RULES_VERSION, SOLVER_VERSION, budget))
    for seed, found in deals:
        yield msgspec.json.encode(
            Row(seed, found.verdict, found.par, found.ease, found.states, pack(found.moves))
        )


def certified(task: tuple[str, str, int]) -> tuple[str, Certificate]:
    """(game, seed, budget) to a deal for `write`; for worker processes, so picklable.

    A whole file, on all cores, in the order of the seeds:

        with multiprocessing.Pool() as pool:
            deals = pool.imap(certified, [(game, seed, budget) for seed in seeds])
            lines = write(game, budget, deals)
    """
    game, seed, budget = task
    return seed, certificate(game, seed, budget)


def read(data: bytes) -> tuple[Head, dict[str, Certificate]]:
    """A file's head, and its certificates by seed, in the order of the file."""
    first, *rest = data.splitlines()
    head = msgspec.json.decode(first, type=Head)
    decoder = msgspec.json.Decoder(Row)
    return head, {
        row.seed: Certificate(
            row.verdict,
            head.solver_version,
            head.budget,
            row.states,
            row.par,
            row.ease,
            unpack(row.moves),
        )
        for row in map(decoder.decode, rest)
    }
