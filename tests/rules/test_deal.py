"""The deal algorithm against vectors that another program, in another language, has made."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rules import DEAL_VERSION, GAMES, UnknownGame, check_seed, commitment, shuffled, start
from service.rules.cards import two_packs_without
from service.rules.deal import BadSeed
from service.rules.kings_way import KINGS
from service.rules.royal_mullein import TWOS
from tests.rules.table import NAMES, PACKS, all_cards, cards

VECTORS = json.loads((Path(__file__).parents[2] / "seeds" / "vectors.json").read_text("utf-8"))
DEALS = VECTORS["deals"]

SEEDS = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)


def vector(game: str, seed: str) -> dict[str, str]:
    (found,) = (deal for deal in DEALS if (deal["game"], deal["seed"]) == (game, seed))
    return found


@pytest.mark.parametrize("deal", DEALS, ids=lambda deal: f"{deal['game']}:{deal['seed'][:20]}")
def test_vector(deal):
    order = shuffled(deal["game"], GAMES[deal["game"]].deck, deal["seed"])
    assert " ".join(order) == deal["order"]
    assert order[:10] == cards(deal["first_ten"])
    assert commitment(deal["game"], deal["seed"]) == deal["commitment"]


def test_vectors_are_of_this_version_and_cover_the_odd_seeds():
    assert VECTORS["deal_version"] == DEAL_VERSION == 1
    for game in NAMES:
        seeds = {deal["seed"] for deal in DEALS if deal["game"] == game}
        assert {"1", "0", "00", "-1", "9007199254740993", "e", "E", "-", "_"} <= seeds
        assert any(len(seed) == 64 for seed in seeds)


def test_vectors_of_the_rules():
    kings_way = vector("kings-way", "1")
    assert kings_way["first_ten"] == "6C 5S 4S 6S 9H 2H 3D 4D 2C TD"
    assert kings_way["commitment"] == (
        "e78f9cb55974aa81006c0d8d98b8d437dd9adb56839e0d73154455c922a64add"
    )
    assert vector("royal-mullein", "1")["first_ten"] == "3H 9D 3D 9C AS JC TS 7D QC 7S"


@pytest.mark.parametrize("game", NAMES)
def test_a_big_number_is_not_rounded(game):
    """2^53 + 1: whoever reads a seed as a float deals 9007199254740992 instead."""
    deck = GAMES[game].deck
    assert shuffled(game, deck, "9007199254740993") != shuffled(game, deck, "9007199254740992")


@pytest.mark.parametrize(
    "seed", [*VECTORS["bad_seeds"], "\ud800", "a\n", "\na", "1 ", "ß", "a b", "٣"], ids=ascii
)
def test_bad_seed(seed):
    for refusing in (
        lambda: check_seed(seed),
        lambda: shuffled("kings-way", GAMES["kings-way"].deck, seed),
        lambda: commitment("kings-way", seed),
        lambda: start("royal-mullein", seed),
    ):
        with pytest.raises(BadSeed) as refused:
            refusing()
        assert str(refused.value) == "a seed is 1 to 64 characters from A-Z a-z 0-9 _ -"


@pytest.mark.parametrize("seed", [1, -1, 1.0, None, b"1", True])
def test_a_seed_is_never_a_number(seed):
    with pytest.raises(TypeError):
        check_seed(seed)


def test_unknown_game():
    for name in ("", "Kings-Way", "kings_way", "chess"):
        with pytest.raises(UnknownGame):
            start(name, "1")


def test_the_decks_are_two_packs_without_a_rank_in_the_order_of_the_algorithm():
    assert two_packs_without("K")[:14] == cards("AC 2C 3C 4C 5C 6C 7C 8C 9C TC JC QC AD 2D")
    assert two_packs_without("2")[:13] == cards("AC 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AD")
    for game in NAMES:
        deck = GAMES[game].deck
        assert len(deck) == 96
        assert deck[:48] == deck[48:]
    assert Counter(GAMES["kings-way"].deck + KINGS) == PACKS
    assert Counter(GAMES["royal-mullein"].deck + TWOS) == PACKS


@given(SEEDS)
@settings(deadline=None, max_examples=50)
def test_any_seed_deals_every_card_once(seed):
    for game in NAMES:
        assert Counter(shuffled(game, GAMES[game].deck, seed)) == Counter(GAMES[game].deck)
        assert all_cards(start(game, seed)) == PACKS


def test_the_games_do_not_share_a_shuffle():
    """The same seed moves the places of the two decks differently."""
    places = tuple(map(str, range(96)))
    assert shuffled("kings-way", places, "1") != shuffled("royal-mullein", places, "1")


def test_every_place_gets_every_card_about_equally_often():
    """A loose check of the whole shuffle: 96² cells of about 20 each, χ² within five σ."""
    places = tuple(map(str, range(96)))
    rounds = 20 * 96
    seen = Counter()
    for n in range(rounds):
        seen.update(enumerate(shuffled("kings-way", places, f"even-{n}")))
    mean = rounds / 96
    chi2 = sum((seen[at, card] - mean) ** 2 / mean for at in range(96) for card in places)
    freedom = 95 * 95
    assert abs(chi2 - freedom) < 5 * (2 * freedom) ** 0.5
