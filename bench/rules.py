"""(a) What the rules cost: microseconds a move, over whole games."""

import time

import msgspec

from bench.games import NAMES, whole_game
from bench.report import table
from service.contest.play import Entry, Header, begin
from service.contest.player import Player
from service.rules import start

AIM_US = 25
_encode = msgspec.json.Encoder().encode


def run(quick: bool) -> str:
    """The part as Markdown."""
    seeds = [f"bench-{n}" for n in range(8 if quick else 40)]
    rounds = 3 if quick else 7
    rows = []
    for game in NAMES:
        games = [(seed, whole_game(game, seed)) for seed in seeds]
        moves = sum(len(moves) for _seed, moves in games)
        timed = [
            min(measure(game, games) for _ in range(rounds)) / moves * 1e6
            for measure in (_rules, _play, _encoded)
        ]
        rows.append((game, moves, *(f"{us:.1f}" for us in timed)))
    head = ("game", "moves", "legal + apply + changes", "as a play, with its delta", "and as JSON")
    return (
        f"Microseconds a move over whole games, in one process, the best of {rounds} rounds (aim ≤ {AIM_US}). Each column "
        f"includes the one before it.\n\n{table(head, rows)}\n\n"
        "What limits it: the interpreter; a position is a few tuples, and a move copies those "
        "that change."
    )


def _rules(game: str, games: list[tuple[str, tuple[str, ...]]]) -> float:
    total = 0.0
    for seed, moves in games:
        position = start(game, seed)
        legal = position.legal()
        begun = time.perf_counter()
        for move in moves:
            assert move in legal
            position, _changes = position.apply_unchecked(move)
            legal = position.legal()
        total += time.perf_counter() - begun
    return total


def _play(game: str, games: list[tuple[str, tuple[str, ...]]]) -> float:
    return _folded(game, games, lambda delta: delta)


def _encoded(game: str, games: list[tuple[str, tuple[str, ...]]]) -> float:
    return _folded(game, games, _encode)


def _folded(game: str, games: list[tuple[str, tuple[str, ...]]], use: object) -> float:
    assert callable(use)
    total = 0.0
    for seed, moves in games:
        play = begin(_header(game, seed))
        begun = time.perf_counter()
        for ply, move in enumerate(moves, 1):
            play, delta = play.moved(move, ply)
            Entry(ply, move, ply, "id", play.score)
            use(delta)
        total += time.perf_counter() - begun
    return total


def _header(game: str, seed: str) -> Header:
    player = Player("p", "bench", "guest")
    return Header("x", game, 1, seed, "", 1, "race", player, "r", 0, None)
