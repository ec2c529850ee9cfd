"""Standings: who did best, with ties 1, 2, 2, 4, and the match points (`ranking_version` 1)."""

from collections.abc import Iterable
from string import ascii_lowercase, ascii_uppercase, digits

import msgspec

from service.contest.play import Play, Ranking, Status
from service.contest.player import Player

RANKING_VERSION = 1

_LETTERS = ascii_uppercase + ascii_lowercase + digits + "-_"
_BY_BITS = str.maketrans(_LETTERS, "".join(sorted(_LETTERS)))

UNMOVED = 1 << 52
"""The merit of an ended play without a move: behind everybody, without a rank."""


class Result(msgspec.Struct, frozen=True):
    """One entrant's play as far as ranking goes. `moved`: it has at least one move."""

    player: Player
    play: str
    status: Status
    score: int
    score_ms: int
    score_plies: int
    moved: bool


class Standing(msgspec.Struct, frozen=True):
    """A row of the standings. `rank` and `points` (per cent) are null without a move."""

    rank: int | None
    player: Player
    status: Status
    score: int
    score_ms: int
    score_plies: int
    points: float | None
    play: str


def result_of(play: Play) -> Result:
    """What a play counts for."""
    return Result(
        play.header.player,
        play.header.id,
        play.status,
        play.score,
        play.score_ms,
        play.score_plies,
        play.moves > 0,
    )


def merit(result: Result, ranking: Ranking) -> int:
    """One number to order ended plays by, the lower the better; equal is a tie.

    Exact below 2^53, so that a database and a sorted set order alike: score, then plies where
    they count, then milliseconds. (Solved plays have the highest score, so they come first.)
    """
    if not result.moved:
        return UNMOVED
    behind = (127 - result.score) << 44
    if ranking == "moves":
        return behind | min(result.score_plies, 8_191) << 31 | min(result.score_ms, (1 << 31) - 1)
    return behind | min(result.score_ms, (1 << 44) - 1)


def merit_of(play: Play) -> int | None:
    """The merit of a play for its board, None where it counts for nothing there.

    In practice only a first attempt counts, with a move and without `undo`.
    """
    header = play.header
    if not play.over or not header.ranked or play.undone:
        return None
    if header.race is None and not play.moves:
        return None
    return merit(result_of(play), header.ranking)


def standings(
    results: Iterable[Result], ranking: Ranking, *, alone: float | None = None
) -> tuple[Standing, ...]:
    """Everybody, best first; ties and those without a move lie in order of `by_bits`.

    `alone`: the points of an entrant who had no opponent that moved (100 in a daily).
    """
    everybody = sorted(results, key=lambda result: by_bits(result.player.id))
    ranked = sorted(
        ((merit(result, ranking), result) for result in everybody if result.moved),
        key=lambda pair: pair[0],
    )
    others = len(ranked) - 1
    rows: list[Standing] = []
    at = 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        points = match_points(len(ranked) - end, end - at - 1, others, alone)
        rows.extend(_row(result, at + 1, points) for _key, result in ranked[at:end])
        at = end
    rows.extend(_row(result, None, None) for result in everybody if not result.moved)
    return tuple(rows)


def by_bits(player_id: str) -> str:
    """To order ids as the numbers that they spell in base64url: as every board has its ties.

    >>> sorted(["9", "a", "A", "-"], key=by_bits)
    ['A', 'a', '9', '-']
    """
    return player_id.translate(_BY_BITS)


def match_points(beaten: int, tied: int, others: int, alone: float | None) -> float | None:
    """Per cent of the others beaten, half for ties, rounded to a tenth.

    >>> match_points(1, 1, 3, None)
    50.0
    """
    if others == 0:
        return alone
    return (1000 * (2 * beaten + tied) + others) // (2 * others) / 10


def _row(result: Result, rank: int | None, points: float | None) -> Standing:
    return Standing(
        rank,
        result.player,
        result.status,
        result.score,
        result.score_ms,
        result.score_plies,
        points,
        result.play,
    )
