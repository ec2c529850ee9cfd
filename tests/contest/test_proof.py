"""A proof: it holds for what was played, and for nothing else."""

import copy
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.contest.proof import BadProof, verify
from service.contest.ranking import result_of, standings
from service.rules import commitment
from tests.contest.plays import ANNA, BORIS, in_race, played, played_out

LIMIT_MS = 60_000


def proof_of(*plays, seed="1", game="kings-way", ranking="time", **changes):
    """The proof of a race in which these were the plays; each is (play, its moves)."""
    rows = standings([result_of(play) for play, _moves in plays], ranking)
    return {
        **{"race": "race", "game": game, "kind": "live", "deal_version": 1, "rules_version": 1},
        **{"ranking_version": 1, "seed": seed, "commitment": commitment(game, seed)},
        **{"ranking": ranking, "time_limit_ms": LIMIT_MS, "next": None, "daily": None},
        "standings": list(msgspec.to_builtins(rows)),
        "plays": [
            {
                "player": msgspec.to_builtins(play.header.player),
                "play": play.header.id,
                "started_at": "2026-01-01T00:00:00.000Z",
                "log": [
                    {"ply": ply, "move": move, "at_ms": at_ms}
                    for ply, (move, at_ms) in enumerate(moves, 1)
                ],
            }
            for play, moves in plays
        ],
        **changes,
    }


def run(player, *moves, game="kings-way"):
    """A play and its moves, a hundred milliseconds each."""
    play = played(in_race(player=player, id_=f"play-{player.id}", game=game), *moves)
    return play, [(move, 100 * n) for n, move in enumerate(moves, 1)]


def run_out(player, game):
    """A play to its end."""
    play, moves = in_race(player=player, id_=f"play-{player.id}", game=game), []
    while not play.over:
        moves.append(play.legal[0])
        play = played(play, moves[-1])
    return play, [(move, 100 * n) for n, move in enumerate(moves, 1)]


def timed_out(player, *moves):
    """A play that was still going when its time was up."""
    play, log = run(player, *moves)
    return play.after("timeout", LIMIT_MS)[0], [*log, ("timeout", LIMIT_MS)]


TRUE = proof_of(
    run(ANNA, "turn", "turn", "c5-w", "resign"),
    timed_out(BORIS, "turn", "turn", "c8-w"),
)


def holds(proof):
    return verify(json.dumps(proof).encode())


def refused(change, proof=TRUE):
    """Why a proof is refused once it is changed."""
    false = copy.deepcopy(proof)
    change(false)
    assert false != proof
    with pytest.raises(BadProof) as error:
        holds(false)
    return str(error.value)


def test_a_true_proof_holds():
    checked = holds(TRUE)
    assert (checked.game, checked.plays, checked.moves) == ("kings-way", 2, 8)


@pytest.mark.parametrize("game", ["kings-way", "royal-mullein"])
@pytest.mark.parametrize("ranking", ["time", "moves"])
def test_whole_games_hold(game, ranking):
    plays = [run_out(player, game) for player in (ANNA, BORIS)]
    assert holds(proof_of(*plays, game=game, ranking=ranking)).plays == 2
    assert plays[0][0] == played_out(in_race(player=ANNA, id_="play-anna", game=game))


def test_a_race_without_plays_holds():
    assert holds(proof_of()).plays == 0


def test_alone_in_a_daily_is_a_hundred():
    daily = proof_of(run(ANNA, "turn", "resign"), kind="open", daily="2026-01-01")
    daily["standings"][0]["points"] = 100.0
    assert holds(daily).plays == 1
    assert "standings" in refused(lambda p: p.update(daily=None), daily)


def test_another_deal_is_refused():
    assert "seed" in refused(lambda p: p.update(seed="2"))
    assert "seed" in refused(lambda p: p.update(commitment="0" * 64))
    assert "seed" in refused(lambda p: p.update(game="royal-mullein"))

    def both(proof):
        proof.update(seed="2", commitment=commitment("kings-way", "2"))

    # A seed of one's own, well committed to, does not fit the moves.
    assert "ply 3" in refused(both)


@pytest.mark.parametrize("field", ["deal_version", "rules_version", "ranking_version"])
def test_other_versions_are_refused(field):
    assert "versions" in refused(lambda p: p.update({field: 2}))


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.pop(0),
        lambda log: log.pop(),
        lambda log: log.insert(0, {"ply": 1, "move": "turn", "at_ms": 0}),
        lambda log: log.reverse(),
        lambda log: log[2].update(move="c1-w"),
        lambda log: log[1].update(move="undo"),
        lambda log: log[1].update(move="resign"),
        lambda log: log[1].update(move="timeout"),
        lambda log: log[1].update(ply=3),
        lambda log: log[1].update(at_ms=50),
        lambda log: log[2].update(at_ms=LIMIT_MS),
        lambda log: log[2].update(at_ms=301),
        lambda log: log[-1].update(at_ms=LIMIT_MS),
        lambda log: log.append({"ply": 5, "move": "turn", "at_ms": 500}),
        lambda log: log.clear(),
    ],
)
def test_a_changed_log_is_refused(change):
    refused(lambda p: change(p["plays"][0]["log"]))


@pytest.mark.parametrize("at_ms", [0, 300, LIMIT_MS - 1, LIMIT_MS + 1])
def test_time_is_up_at_the_limit_and_not_before(at_ms):
    assert "BORIS".title() in refused(lambda p: p["plays"][1]["log"][-1].update(at_ms=at_ms))


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.reverse(),
        lambda rows: rows.pop(),
        lambda rows: rows.append(rows[0]),
        lambda rows: rows[0].update(rank=2),
        lambda rows: rows[0].update(rank=None),
        lambda rows: rows[0].update(score=2),
        lambda rows: rows[0].update(score_ms=299),
        lambda rows: rows[0].update(score_plies=2),
        lambda rows: rows[0].update(points=100.0),
        lambda rows: rows[0].update(status="solved"),
        lambda rows: rows[0].update(play="another"),
        lambda rows: rows[0]["player"].update(name="Somebody"),
        lambda rows: rows[0]["player"].update(id="somebody"),
    ],
)
def test_changed_standings_are_refused(change):
    assert "standings" in refused(lambda p: change(p["standings"]))


def test_a_play_left_out_or_told_twice_is_refused():
    refused(lambda p: p["plays"].pop())
    refused(lambda p: p["plays"].append(p["plays"][0]))
    refused(lambda p: p["plays"][0]["player"].update(id="somebody"))
    refused(lambda p: p.update(time_limit_ms=300))


def test_a_page_is_no_proof():
    assert "page" in refused(lambda p: p.update(next="more"))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000, b"x" * 99])
def test_what_is_no_proof_at_all(text):
    with pytest.raises(BadProof):
        verify(text)


def _leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _leaves(inner, (*path, n))
    else:
        yield path


LEAVES = sorted(_leaves(TRUE), key=str)
JUNK = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=10)
    | st.sampled_from(["turn", "undo", "royal-mullein", "kings-way", "1", "", "\x00", 10**400])
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(LEAVES), JUNK), min_size=1, max_size=4))
def test_whatever_is_put_in_it_holds_or_is_refused(changes):
    """It never fails in another way, and what holds is only what does not bear on the result."""
    false = copy.deepcopy(TRUE)
    for path, junk in changes:
        inner = false
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = junk
    try:
        holds(false)
    except BadProof:
        return
    free = {"race", "kind", "started_at", "at_ms", "time_limit_ms", "daily"}
    for path, _junk in changes:
        inner, before = false, TRUE
        for part in path:
            inner, before = inner[part], before[part]
        assert inner == before or path[-1] in free, path
