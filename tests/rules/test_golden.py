"""The golden logs: whole games with all their figures. Any change of the rules shows here.

A failure is not mended by writing the logs anew: games of `rules_version` 1 are stored, and must
replay the same for ever.
"""

import json

import pytest

from service.rules import GAMES, RULES_VERSION, start
from tests.rules.make_golden import GOLDEN, figures, golden_text
from tests.rules.table import NAMES, Game

LOGS = [log for name in NAMES for log in json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))]


@pytest.mark.parametrize(
    "log", LOGS, ids=lambda log: f"{log['game']}:{log['policy']}:{log['seed']}"
)
def test_replay(log):
    assert log["rules_version"] == RULES_VERSION
    position = start(log["game"], log["seed"])
    moves, steps = log["moves"].split(), []
    for ply, move in enumerate(moves, 1):
        assert move in position.legal(), f"ply {ply}"
        steps.append(position.apply(move))
        position = steps[-1].position
    assert position.legal() == ()
    found = figures(Game(log["game"], log["seed"], moves, steps))
    assert len(found["boards"]) == len(log["boards"]) == 4 * (len(moves) + 1)
    for ply in range(len(moves) + 1):  # the first ply that differs, rather than only that one does
        at = slice(4 * ply, 4 * ply + 4)
        assert found["boards"][at] == log["boards"][at], f"ply {ply}"
    assert {"policy": log["policy"], **found} == log


@pytest.mark.parametrize("name", NAMES)
def test_the_players_still_play_the_same_games(name):
    assert golden_text(name) == (GOLDEN / f"{name}.json").read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_logs_are_many_and_varied(name):
    logs = [log for log in LOGS if log["game"] == name]
    assert len(logs) >= 20
    assert len({log["policy"] for log in logs}) >= 5
    for status in ("solved", "stuck"):
        assert sum(log["status"] == status for log in logs) >= 5
    assert all(log["score"] == GAMES[name].goal for log in logs if log["status"] == "solved")
    assert any("redeal" in log["moves"] for log in logs if log["status"] == "solved")
    assert any(log["score_ply"] < log["plies"] for log in logs)
    assert sum(log["plies"] for log in logs) > 2000


def test_a_log_without_a_point():
    (log,) = (log for log in LOGS if log["score"] == 0)
    assert (log["status"], log["score_ply"]) == ("stuck", 0)
