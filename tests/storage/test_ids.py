"""Ids: one spelling each, in the order of their time."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.storage.ids import id_bytes, id_text, is_id, new_id


@given(st.integers(0, 2**48 - 1))
def test_a_new_id_is_a_uuid_of_version_7_with_its_instant(now):
    raw = id_bytes(new_id(now))
    made = uuid.UUID(bytes=raw)
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert int.from_bytes(raw[:6], "big") == now


@given(st.lists(st.integers(0, 2**48 - 1), min_size=2, max_size=2, unique=True))
def test_later_ids_sort_later(instants):
    earlier, later = sorted(instants)
    assert id_bytes(new_id(earlier)) < id_bytes(new_id(later))


def test_no_two_are_alike():
    assert len({new_id(1) for _ in range(10_000)}) == 10_000


def test_those_of_one_millisecond_follow_one_another():
    ids = [id_bytes(new_id(7)) for _ in range(3_000)]
    assert ids == sorted(ids)


@given(st.binary(min_size=16, max_size=16))
def test_text_and_bytes(raw):
    text = id_text(raw)
    assert id_bytes(text) == raw
    assert is_id(text)
    assert len(text) == 22


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[A-Za-z0-9_\-+/=\n ]{20,24}")))
def test_any_junk_is_either_an_id_or_no_id(text):
    try:
        raw = id_bytes(text)
    except ValueError:
        assert not is_id(text)
    else:
        assert id_text(raw) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AZrQ2k3vcAAAAAAAAAAAAB",  # the last bits are not all zero
        "AZrQ2k3vcAAAAAAAAAAAA+",
        "AZrQ2k3vcAAAAAAAAAAA/A",
        "AZrQ2k3vcAAAAAAAAAAAA=",
        "AZrQ2k3vcAAAAAAAAAAAAA\n",
        "AZrQ2k3vcAAAAAAAAAAAA\0",
        "AZrQ2k3vcAAAAAAAAAAAA\ud800",
        "ÄZrQ2k3vcAAAAAAAAAAAAA",
        "019ad0da-4def-7000-8000-000000000000",
        "A" * 10_000,
    ],
)
def test_no_second_spelling(text):
    assert not is_id(text)
