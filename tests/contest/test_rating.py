"""Ratings: what a race teaches, the same whenever and wherever it is worked out."""

import random

from hypothesis import given
from hypothesis import strategies as st

from service.contest.rating import PROVISIONAL_RACES, Skill, rated, recomputed

NEW = Skill()

races = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4), min_size=2)


def new(ranks):
    return dict.fromkeys(ranks, NEW)


def test_a_thousand_to_begin_with_and_provisional_until_ten():
    assert (NEW.shown, NEW.races, NEW.provisional) == (1000, 0, True)
    log = [{"a": 1, "b": 2}] * PROVISIONAL_RACES
    for n in range(1, PROVISIONAL_RACES + 1):
        skill = recomputed(log[:n])["a"]
        assert (skill.races, skill.provisional) == (n, n < PROVISIONAL_RACES)


def test_fewer_than_two_teach_nothing():
    assert rated({}, {}) == {}
    assert rated({"a": 1}, {"a": NEW}) == {}


def test_the_better_rank_gains_and_a_tie_is_a_tie():
    after = rated({"a": 1, "b": 2}, new("ab"))
    assert after["a"].shown > 1000 > after["b"].shown
    tied = rated({"a": 1, "b": 1}, new("ab"))
    assert tied["a"] == tied["b"]
    three = rated({"a": 1, "b": 2, "c": 2}, new("abc"))
    assert three["a"].mu > three["b"].mu == three["c"].mu


def test_to_win_against_a_stronger_one_is_worth_more():
    strong = rated({"a": 1, "b": 2}, new("ab"))["a"]
    against_strong = rated({"x": 1, "y": 2}, {"x": NEW, "y": strong})["x"]
    against_new = rated({"x": 1, "y": 2}, new("xy"))["x"]
    assert against_strong.mu > against_new.mu


@given(races)
def test_only_the_order_of_ranks_counts(ranks):
    """Ranks 1, 2, 2, 4 or 3, 7, 7, 9; with gaps where guests were left out."""
    spread = {player: 2 * rank + 1 for player, rank in ranks.items()}
    assert rated(spread, new(ranks)) == rated(ranks, new(ranks))


@given(races, st.randoms(use_true_random=False))
def test_the_order_in_which_players_are_told_does_not_matter(ranks, chance: random.Random):
    names = list(ranks)
    chance.shuffle(names)
    assert rated({name: ranks[name] for name in names}, new(ranks)) == rated(ranks, new(ranks))


@given(st.permutations("abcdef"), st.integers(2, 6), st.integers(1, 6))
def test_of_equals_the_better_rank_ends_higher(order, count, behind):
    """As ties come about: those without a point share the last rank."""
    ranks = {player: min(rank, behind) for rank, player in enumerate(order[:count], 1)}
    after = rated(ranks, new(ranks))
    assert after.keys() == ranks.keys()
    for one in ranks:
        assert after[one].sigma < NEW.sigma
        for other in ranks:
            assert (ranks[one] < ranks[other]) == (after[one].mu > after[other].mu)


@given(st.lists(races, max_size=8), st.integers(0, 8))
def test_worked_out_at_once_or_race_by_race(log, cut):
    skills = recomputed(log[:cut])
    for ranks in log[cut:]:
        skills |= rated(ranks, {player: skills.get(player, NEW) for player in ranks})
    assert skills == recomputed(log)
    for player, skill in skills.items():
        assert skill.races == sum(player in ranks for ranks in log)
