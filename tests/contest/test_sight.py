"""Who may see what: the whole table."""

import pytest

from service.contest.sight import seed_is_open, sight_of_play
from tests.contest.plays import ANNA, header

VIEWERS = {"own": ANNA.id, "another": "boris", "nobody": None}


@pytest.mark.parametrize(
    ("race", "over", "state", "others"),
    [
        # Practice: everybody's once it is over, whatever that was.
        *((None, False, None, "numbers"), (None, True, None, "full")),
        # A race play: nobody else's before the race has ended, finished or not.
        *(("r", False, "running", "numbers"), ("r", True, "running", "numbers")),
        *(("r", True, "ended", "full"), ("r", False, "ended", "full")),
        *(("r", False, "lobby", "numbers"), ("r", False, "countdown", "numbers")),
        *(("r", False, "scheduled", "numbers"), ("r", False, "cancelled", "numbers")),
        # A race whose state is not known is not known to have ended.
        *(("r", True, None, "numbers"), ("r", False, None, "numbers")),
    ],
)
def test_the_sight_of_a_play(race, over, state, others):
    play = header(race=race)
    for name, viewer in VIEWERS.items():
        sight = sight_of_play(play, over=over, race_state=state, viewer=viewer)
        assert sight == ("full" if name == "own" else others), name


@pytest.mark.parametrize(
    ("state", "opened"),
    [
        *((None, True), ("ended", True), ("cancelled", True)),
        *(("lobby", False), ("countdown", False), ("scheduled", False), ("running", False)),
    ],
)
def test_when_a_seed_is_told(state, opened):
    assert seed_is_open(state) is opened
