"""Writes the golden logs: `python -m tests.rules.make_golden`, from the root of the repository.

Whole games of players with different habits, with what came of them. They were made once, by
`rules_version` 1, and stay: made again they must come out the same, byte for byte (a test does so).
Only a new rules version gets new logs, and then beside these.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from service.rules import RULES_VERSION, Position
from tests.rules.table import Game, Policy, encoded, is_play, play

GOLDEN = Path(__file__).parents[1] / "data" / "golden"

TABLE = {
    "kings-way": {
        "first": "1 81 150 303 -1",
        "last": "3 7",
        "tallest": "1 2 42 44 46 58",
        "chains": "3 8 25 46",
        "random": "1 2 3 4 5 6 9007199254740993",
    },
    "royal-mullein": {
        "first": "1 2",
        "last": "1 2 3",
        "greedy": "1 2 3 -1",
        "no-rows": "1 2 3",
        "late-home": "1 2 3 4",
        "random": "1 2 3 4 5 9007199254740993",
    },
}


def first(_position: Position, legal: tuple[str, ...]) -> str:
    return legal[0]


def last(_position: Position, legal: tuple[str, ...]) -> str:
    return legal[-1]


def greedy(_position: Position, legal: tuple[str, ...]) -> str:
    """Home if it can, else any play, else the stock."""
    return min(legal, key=lambda move: ("-f" not in move, not is_play(move)))


def no_rows(_position: Position, legal: tuple[str, ...]) -> str:
    """As greedy, but no card goes into an auxiliary row."""
    return min(legal, key=lambda move: ("-f" not in move, "-l" in move))


def late_home(_position: Position, legal: tuple[str, ...]) -> str:
    """Into the rows first; from the rows only when nothing else is left."""
    return min(legal, key=lambda move: ("-l" not in move, "w-f" not in move, is_play(move)))


def tallest(position: Position, legal: tuple[str, ...]) -> str:
    """Plays when it can, from the column with the most cards; wins one deal in seven or eight."""
    piles = position.board().piles
    plays = [move for move in legal if is_play(move)]
    return max(plays, key=lambda move: piles[move[:2]].down, default=legal[0])


def chains(position: Position, legal: tuple[str, ...]) -> str:
    """The play that the most plays can follow (it peeks); the stock when there is none."""

    def follow(position: Position, depth: int) -> int:
        plays = filter(is_play, position.legal()) if depth else ()
        found = [1 + follow(position.apply(move).position, depth - 1) for move in plays]
        return max(found, default=0)

    plays = [move for move in legal if is_play(move)]
    return max(plays, key=lambda move: follow(position.apply(move).position, 5), default=legal[0])


def random(seed: str) -> Policy:
    """Any legal move, by a generator that is spelled out: no library may change these games."""
    state = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")

    def policy(_position: Position, legal: tuple[str, ...]) -> str:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return legal[(state >> 33) % len(legal)]

    return policy


POLICIES: dict[str, Policy] = {
    "first": first,
    "last": last,
    "greedy": greedy,
    "no-rows": no_rows,
    "late-home": late_home,
    "tallest": tallest,
    "chains": chains,
}


def figures(game: Game) -> dict[str, object]:
    """What a log says of its game.

    `score_ply` is the ply that first reached the final score, 0 for score 0. `boards` has four hex
    digits a ply, from ply 0 on: the beginning of a SHA-256 that runs over every board, the changes
    that led to it and its legal moves; `digest` is all of the last one.
    """
    running = hashlib.sha256()
    boards = []
    changes = [(), *(step.changes for step in game.steps)]
    for position, made in zip(game.positions, changes, strict=True):
        for part in (made, position.board(), position.legal()):
            running.update(encoded(part) + b"\n")
        boards.append(running.hexdigest()[:4])
    scores = [position.score for position in game.positions]
    return {
        "game": game.name,
        "seed": game.seed,
        "rules_version": RULES_VERSION,
        "status": "solved" if game.end.solved else "stuck",
        "score": scores[-1],
        "score_ply": scores.index(scores[-1]),
        "plies": len(game.moves),
        "moves": " ".join(game.moves),
        "boards": "".join(boards),
        "digest": running.hexdigest(),
    }


def logs(name: str) -> Iterator[dict[str, object]]:
    for policy, seeds in TABLE[name].items():
        for seed in seeds.split():
            chosen = POLICIES.get(policy) or random(f"{name} {seed}")
            yield {"policy": policy, **figures(play(name, seed, chosen))}


def golden_text(name: str) -> str:
    """The file of a game: a JSON array, one game a line."""
    return "[\n" + ",\n".join(json.dumps(log) for log in logs(name)) + "\n]\n"


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name in TABLE:
        (GOLDEN / f"{name}.json").write_text(golden_text(name), "utf-8")


if __name__ == "__main__":
    main()
