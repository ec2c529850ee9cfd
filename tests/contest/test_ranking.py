"""Standings: the order, ties 1, 2, 2, 4, and match points."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.contest.player import Player
from service.contest.ranking import Result, match_points, merit, standings


def result(name, score=0, score_ms=0, score_plies=0, status="stuck", moved=True):
    player = Player(name, name, "guest")
    return Result(player, f"play-{name}", status, score, score_ms, score_plies, moved)


def ranks(*results, ranking="time", **options):
    return {r.player.id: (r.rank, r.points) for r in standings(results, ranking, **options)}


def test_ties_share_a_rank_and_the_next_is_left_out():
    found = ranks(
        result("a", 40, 9_000, status="solved"),
        result("b", 12, 500),
        result("c", 12, 500),
        result("d", 11, 1),
    )
    assert found == {"a": (1, 100.0), "b": (2, 50.0), "c": (2, 50.0), "d": (4, 0.0)}


def test_more_cards_come_before_less_time():
    found = ranks(result("a", 20, 90_000), result("b", 19, 10), result("c", 20, 89_999))
    assert [found[name][0] for name in "cab"] == [1, 2, 3]


def test_solved_comes_first_however_long_it_took():
    found = ranks(result("a", 96, 10**9, 399, status="solved"), result("b", 95, 1, 1))
    assert found["a"][0] == 1


def test_by_moves_plies_count_before_time():
    slow = result("slow", 96, 900_000, 242, "solved")
    quick = result("quick", 96, 200_000, 259, "solved")
    same = result("same", 96, 900_001, 242, "solved")
    assert [row.player.id for row in standings([slow, quick, same], "moves")] == [
        *("slow", "same", "quick"),
    ]
    assert standings([slow, quick, same], "time")[0].player.id == "quick"


def test_how_a_play_ended_does_not_count():
    """Only what was scored, and when: who resigns loses nothing by it."""
    found = ranks(
        result("a", 5, 100, status="resigned"),
        result("b", 5, 100, status="stuck"),
        result("c", 5, 100, status="timed_out"),
    )
    assert {rank for rank, _points in found.values()} == {1}


def test_without_a_move_there_is_no_rank_and_no_other():
    found = ranks(result("a", 3, 10), result("b"), result("c", moved=False))
    assert found == {"a": (1, 100.0), "b": (2, 0.0), "c": (None, None)}
    assert ranks(result("a", 3), result("c", moved=False)) == {"a": (1, None), "c": (None, None)}


def test_alone_in_a_daily_is_a_hundred():
    assert ranks(result("a", 0), alone=100.0) == {"a": (1, 100.0)}
    assert ranks(result("a", moved=False), alone=100.0) == {"a": (None, None)}
    # With somebody else that moved it is a race.
    assert ranks(result("a", 1), result("b", 2), alone=100.0) == {"a": (2, 0.0), "b": (1, 100.0)}


@pytest.mark.parametrize(
    ("beaten", "tied", "others", "points"),
    [
        *((0, 0, 1, 0.0), (1, 0, 1, 100.0), (0, 1, 1, 50.0)),
        *((0, 0, 3, 0.0), (1, 0, 3, 33.3), (2, 0, 3, 66.7), (3, 0, 3, 100.0), (1, 1, 3, 50.0)),
        *((0, 1, 3, 16.7), (1, 0, 6, 16.7), (1, 0, 7, 14.3), (0, 1, 7, 7.1), (5, 1, 7, 78.6)),
        # A half of a tenth goes up: 1/16 is 6.25 per cent.
        *((1, 0, 16, 6.3), (0, 1, 8, 6.3), (3, 0, 16, 18.8), (999, 0, 1999, 50.0)),
    ],
)
def test_match_points(beaten, tied, others, points):
    assert match_points(beaten, tied, others, None) == points


def test_match_points_without_others():
    assert match_points(0, 0, 0, None) is None
    assert match_points(0, 0, 0, 100.0) == 100.0


@given(st.integers(1, 3_000), st.data())
def test_match_points_are_the_exact_share_rounded_to_a_tenth(others, data):
    beaten = data.draw(st.integers(0, others))
    tied = data.draw(st.integers(0, others - beaten))
    exact = Fraction(100 * (2 * beaten + tied), 2 * others)
    assert match_points(beaten, tied, others, None) == math.floor(exact * 10 + Fraction(1, 2)) / 10


RESULTS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 3),
        st.integers(0, 3),
        st.booleans(),
        st.sampled_from(["stuck", "resigned", "timed_out"]),
    ),
    max_size=12,
).map(
    lambda rows: [
        result(f"p{n:02}", score, ms, plies, status, moved)
        for n, (score, ms, plies, moved, status) in enumerate(rows)
    ]
)


@given(RESULTS, st.sampled_from(["time", "moves"]), st.randoms())
def test_standings_are_a_ranking(results, ranking, random):
    """Ranks and points by counting, one entrant against each other, in whatever order they come."""

    def key(one):
        plies = (one.score_plies,) if ranking == "moves" else ()
        return (-one.score, *plies, one.score_ms)

    shuffled = list(results)
    random.shuffle(shuffled)
    rows = standings(shuffled, ranking)
    assert rows == standings(results, ranking)
    assert sorted(row.player.id for row in rows) == sorted(one.player.id for one in results)
    moved = {one.player.id: one for one in results if one.moved}
    for row in rows:
        own = moved.get(row.player.id)
        if own is None:
            assert (row.rank, row.points) == (None, None)
            continue
        others = [one for one in moved.values() if one is not own]
        beaten = sum(key(own) < key(one) for one in others)
        tied = sum(key(own) == key(one) for one in others)
        assert row.rank == 1 + sum(key(one) < key(own) for one in others)
        assert row.points == match_points(beaten, tied, len(others), None)
    ranked = [row.rank for row in rows if row.rank is not None]
    assert ranked == sorted(ranked)
    assert [row.rank for row in rows[len(ranked) :]] == [None] * (len(rows) - len(ranked))
    if len(moved) > 1:
        total = sum(Fraction(row.points).limit_denominator(10) for row in rows if row.rank)
        assert abs(total - 50 * len(moved)) <= Fraction(len(moved), 20)


@given(RESULTS, st.sampled_from(["time", "moves"]))
def test_merit_orders_as_the_standings_do(results, ranking):
    merits = {one.player.id: merit(one, ranking) for one in results}
    order = [merits[row.player.id] for row in standings(results, ranking)]
    assert order == sorted(order)
    assert all(0 <= number < 2**53 for number in order)
