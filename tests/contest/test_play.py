"""A play as the fold of its log: moves, undo, ends, stamps, and what first reached a score."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.contest.play import (
    MAX_ENTRIES,
    Entry,
    LogBroken,
    PlayOver,
    begin,
    replay,
)
from service.rules import GAMES, IllegalMove
from tests.contest.plays import header, in_race, played, played_out, practice


def entries(*moves, at_ms=None):
    return [
        Entry(ply, move, at_ms[ply - 1] if at_ms else 0, f"m{ply}", 0)
        for ply, move in enumerate(moves, 1)
    ]


def test_it_begins_with_the_lay_out():
    play = practice()
    assert (play.ply, play.status, play.score, play.at_ms, play.moves) == (0, "playing", 0, 0, 0)
    assert play.legal == ("turn",)
    assert (play.over, play.can_undo, play.ended_at) == (False, False, None)


def test_a_move_makes_a_new_play_and_leaves_the_old():
    play = practice()
    after, delta = play.after("turn", 7)
    assert (play.ply, after.ply, delta.ply) == (0, 1, 1)
    assert (after.at_ms, delta.at_ms) == (7, 7)
    assert delta.legal == after.legal
    assert delta.can_undo
    assert (
        play.position.board().after(delta.changes, after.position.turns) == after.position.board()
    )


def test_what_is_not_legal_changes_nothing():
    play = practice()
    for move in ("c1-w", "redeal", "", "undo", "nonsense"):
        with pytest.raises(IllegalMove) as refused:
            play.after(move, 0)
        assert refused.value.legal == ("turn",)


def test_players_cannot_ask_for_an_end_by_a_move():
    play = practice()
    for move in ("resign", "timeout"):
        with pytest.raises(IllegalMove):
            play.moved(move, 0)
        over = played(play, move)
        with pytest.raises(PlayOver):
            over.moved(move, 0)


@pytest.mark.parametrize(("move", "status"), [("resign", "resigned"), ("timeout", "timed_out")])
@pytest.mark.parametrize("make", [practice, in_race])
def test_an_end_is_final(move, status, make):
    before = played(make(), "turn", "turn", "c5-w")
    over, delta = before.after(move, 5_000)
    assert (over.status, over.ply, over.score, over.legal) == (status, 4, before.score, ())
    assert (over.can_undo, over.ended_at) == (False, 6_000)
    assert (delta.changes, delta.status, delta.legal) == ((), status, ())
    assert over.position == before.position
    for again in ("resign", "timeout", "undo", "turn"):
        with pytest.raises(PlayOver):
            over.after(again, 5_000)


def test_undo_takes_back_the_last_move_not_yet_taken_back():
    start = practice()
    states = [start]
    for move in ("turn", "turn", "c5-w"):
        states.append(played(states[-1], move))
    play = states[-1]
    for n, before in enumerate(reversed(states[:-1]), 1):
        play, delta = play.after("undo", play.at_ms)
        assert (play.ply, play.position, play.legal) == (3 + n, before.position, before.legal)
        assert (play.score, play.can_undo) == (before.score, before.can_undo)
        assert delta.board == before.position.board()
        assert play.undone
    with pytest.raises(IllegalMove):
        play.after("undo", play.at_ms)
    # Other moves than before may follow, and be taken back in their turn.
    again = played(play, "turn", "turn", "c8-w")
    assert played(again, "undo").position == played(start, "turn", "turn").position


def test_undo_after_undo_and_a_move():
    play = played(practice(), "turn", "turn", "undo", "turn", "undo", "undo")
    assert (play.ply, play.position) == (6, practice().position)
    assert not play.can_undo


@pytest.mark.parametrize("game", sorted(GAMES))
def test_a_game_that_has_ended_in_practice_can_be_undone(game):
    over = played_out(practice(game=game))
    assert over.status in ("solved", "stuck")
    assert over.can_undo
    with pytest.raises(PlayOver):
        over.after("turn", over.at_ms)
    back = played(over, "undo")
    assert (back.status, back.ended_at) == ("playing", None)
    assert back.legal


def test_races_take_no_undo():
    play = played(in_race(), "turn")
    assert not play.can_undo
    with pytest.raises(IllegalMove):
        play.after("undo", 0)
    over = played_out(in_race())
    assert not over.can_undo
    with pytest.raises(PlayOver):
        over.after("undo", over.at_ms)


def test_stamps_never_run_backwards():
    play = played(practice(), "turn")
    assert play.stamped(1_000 + 50) == 100
    assert play.stamped(1_000 + 150) == 150
    assert practice().stamped(0) == 0


def test_a_stamp_must_be_before_the_deadline():
    play = in_race(deadline_at=2_000)
    assert play.stamped(1_999) == 999
    for late in (2_000, 2_001, 10**15):
        with pytest.raises(PlayOver):
            play.stamped(late)


def test_the_score_counts_from_the_move_that_first_reached_it():
    play = in_race()
    for n, move in enumerate(("turn", "turn", "c5-w", "turn"), 1):
        play, _delta = play.after(move, n * 1_000)
    assert (play.score, play.score_ms, play.score_plies) == (1, 3_000, 3)
    ended, _delta = play.after("resign", 9_000)
    assert (ended.score, ended.score_ms, ended.score_plies) == (1, 3_000, 3)


def test_a_log_has_an_end():
    play = practice()._replace(ply=MAX_ENTRIES)
    with pytest.raises(PlayOver):
        play.after("turn", 0)
    with pytest.raises(PlayOver):
        play.after("undo", 0)
    assert played(play, "resign").status == "resigned"


def test_a_broken_log_is_told_where():
    for log, ply in (
        (entries("turn", "c1-w"), 2),
        (entries("resign", "turn"), 2),
        (entries("turn", "turn")[1:], 2),
        (entries("turn", "turn", at_ms=(5, 4)), 2),
        (entries("undo"), 1),
        ([Entry(2, "turn", 0, "m", 0)], 2),
    ):
        with pytest.raises(LogBroken) as broken:
            replay(practice(), log)
        assert broken.value.ply == ply


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(GAMES)),
    st.text("abc123", min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 500)), max_size=60),
    st.booleans(),
)
def test_replaying_a_log_is_playing_it(game, seed, choices, practising):
    """Random plays: what the log folds to is what came of it move by move, from any ply on."""
    make = header(game, seed) if practising else header(game, seed, race="race", deadline_at=10**9)
    play = begin(make)
    log, deltas, plays = [], [], [play]
    for choice, undo, wait in choices:
        if undo == 0 and play.can_undo:
            move = "undo"
        elif play.legal:
            move = play.legal[choice % len(play.legal)]
        else:
            break
        at_ms = play.at_ms + wait
        after, delta = play.after(move, at_ms)
        # A client follows from its board and the delta alone.
        if move != "undo":
            board = play.position.board().after(delta.changes, after.position.turns)
            assert board == after.position.board()
        log.append(Entry(after.ply, move, at_ms, f"m{after.ply}", after.score))
        play = after
        deltas.append(delta)
        plays.append(play)
    assert replay(begin(make), log) == (play, deltas)
    middle = len(log) // 2
    assert replay(plays[middle], log[middle:]) == (play, deltas[middle:])
    assert play.ply == len(log)
    assert play.score == max(0, play.position.score)
    assert (play.score_ms == 0 and play.score_plies == 0) if play.score == 0 else play.score_plies
