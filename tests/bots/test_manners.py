"""Which lobbies bots join and when they leave: never the only two, no more than are wanted."""

import pytest

from service.bots.manners import UNASKED_SECONDS, Manners, joins, stays
from service.bots.messages import Deal, Entrant, Player, Race

ANNA = Player("1", "anna", "human")
BORIS = Player("2", "easy-going", "guest")
EASY = [Player(f"e{n}", f"easy-Sage-{n}", "bot") for n in range(3)]
SHARP = Player("s", "sharp-Mint-0", "bot")
OTHER = Player("o", "somebodys-bot", "bot")

MANNERS = Manners("easy")
LONG = UNASKED_SECONDS


def lobby(*players: Player, wanted: dict[str, int] | None = None, **other: object) -> Race:
    settings = {"state": "lobby", "capacity": 8, "game": "kings-way", **other}
    entrants = tuple(Entrant(player, False) for player in players)
    return Race(
        id="r",
        deal=Deal("c"),
        v=1,
        total=len(players),
        entrants=entrants,
        bots_wanted=wanted or {},
        **settings,
    )


@pytest.mark.parametrize(
    ("race", "waited", "expected"),
    [
        (lobby(ANNA), 0.0, False),
        (lobby(ANNA), LONG, True),
        (lobby(ANNA, BORIS), LONG, True),
        (lobby(ANNA, EASY[0]), LONG, False),
        (lobby(ANNA, OTHER), LONG, False),
        (lobby(ANNA, wanted={"easy": 1}), 0.0, True),
        (lobby(ANNA, BORIS, EASY[0], SHARP, wanted={"easy": 2}), 0.0, True),
        (lobby(ANNA, EASY[0], wanted={"easy": 1}), LONG, False),
        (lobby(ANNA, wanted={"sharp": 3}), LONG, False),
        (lobby(EASY[0]), LONG, False),
        (lobby(OTHER, wanted={"easy": 1}), LONG, False),
        (lobby(ANNA, capacity=1), LONG, False),
        (lobby(ANNA, state="countdown"), LONG, False),
        (lobby(ANNA, kind="open", state="running"), LONG, False),
    ],
)
def test_joining(race: Race, waited: float, expected: bool) -> None:
    assert joins(MANNERS, race, waited) is expected


def test_only_the_game_and_the_company_that_were_ordered() -> None:
    assert not joins(Manners("easy", "royal-mullein"), lobby(ANNA), LONG)
    assert joins(Manners("easy", "kings-way"), lobby(ANNA), LONG)
    assert joins(Manners("easy", race_each_other=True), lobby(SHARP), 0.0)


def test_of_those_who_came_at_once_the_first_stay() -> None:
    inside = (ANNA, *EASY)
    assert [stays(MANNERS, inside, {"easy": 2}, bot.id) for bot in EASY] == [True, True, False]
    assert [stays(MANNERS, inside, {}, bot.id) for bot in EASY] == [True, False, False]
    assert not stays(MANNERS, inside, {"sharp": 1}, EASY[0].id)
    assert not stays(MANNERS, EASY, {"easy": 3}, EASY[0].id)
    assert stays(Manners("easy", race_each_other=True), EASY, {}, EASY[2].id)
