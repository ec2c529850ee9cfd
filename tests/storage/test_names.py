"""Which names look alike: the one rule, and the index that holds everybody to it."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from service.storage import players
from service.storage.players import NameTaken, name_key
from tests.storage.rows import a_player

NAMES = st.from_regex(r"[A-Za-z0-9_-]{3,20}", fullmatch=True)


@given(NAMES)
def test_a_key_is_its_own_key(name):
    assert name_key(name_key(name)) == name_key(name)


@given(NAMES)
def test_case_does_not_count(name):
    assert name_key(name.upper()) == name_key(name.lower()) == name_key(name.swapcase())


@given(NAMES, st.data())
def test_characters_that_look_alike_are_one(name, data):
    at = data.draw(st.integers(0, len(name) - 1))
    for alike in ("-_", "0oO", "1lLiI"):
        assume(name[at] not in "rnv")
        keys = {name_key(name[:at] + char + name[at + 1 :]) for char in alike}
        assert len(keys) == 1


@given(st.text("abcdefghjkmpqstuxyz2345789", min_size=3, max_size=20), st.data())
def test_whatever_else_differs_tells_two_names_apart(name, data):
    at = data.draw(st.integers(0, len(name) - 1))
    other = data.draw(st.sampled_from("abcdefghjkmpqstuxyz2345789"))
    assume(other != name[at])
    assert name_key(name[:at] + other + name[at + 1 :]) != name_key(name)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbered_names_are_all_different(one, two):
    assert (name_key(f"player-{one}") == name_key(f"player-{two}")) is (one == two)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann-B", "ann_b"),
        ("Bill", "B1LL"),
        ("Bill", "BIil"),
        ("modern", "modem"),
        ("vvhite", "White"),
        ("rrnn", "rMn"),
        ("O0o", "ooo"),
    ],
)
async def test_a_name_that_looks_like_anothers_is_taken(database, one, other):
    await a_player(database, one)
    with pytest.raises(NameTaken):
        await a_player(database, other)


async def test_who_only_looks_like_it_is_not_found(database):
    ann = await a_player(database, "Ann_1")
    async with database.read() as connection:
        for name in ("ann_1", "ANN_1"):
            assert await players.by_name(connection, name) == (ann, None)
        for name in ("ann-1", "annl", "ann_l", "ann_I"):
            assert await players.by_name(connection, name) is None
