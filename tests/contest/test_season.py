"""Days and seasons in UTC."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.contest.season import DAY_MS, day_of, day_start, season_of, streaks

instants = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_000))
dates = st.dates(date(2020, 1, 1), date(2020, 3, 31))


@given(instants)
def test_a_day_is_that_of_the_instant_in_utc(when):
    ms = (when.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    day = day_of(ms)
    assert day == when.date().isoformat()
    assert day_start(day) <= ms < day_start(day) + DAY_MS
    assert season_of(ms) == day[:7]


def test_a_day_has_a_first_and_a_last_millisecond():
    start = day_start("2026-03-29")
    assert [day_of(at) for at in (start - 1, start, start + DAY_MS - 1, start + DAY_MS)] == [
        "2026-03-28",
        "2026-03-29",
        "2026-03-29",
        "2026-03-30",
    ]
    assert day_start("2026-03-30") - start == DAY_MS
    assert [season_of(day_start(day) - 1) for day in ("2024-03-01", "2026-01-01")] == [
        "2024-02",
        "2025-12",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "today",
        "2026-1-1",
        "20260101",
        "2026-02-29",
        "2026-W01-1",
        "2026-13-01",
        "0000-01-01",
        "2026/01/01",
        "2026-01-01T00:00",
        "٢٠٢٦-01-01",
        "-2026-01-01",
        "",
        " 2026-01-01",
        "2026-01-01\n",
    ],
)
def test_no_dates(text):
    with pytest.raises(ValueError):
        day_start(text)


@given(st.sets(dates), dates)
def test_streaks(days, today):
    """Against counting on from each day; days to come are not there."""
    days = {day for day in days if day <= today}

    def run(first: date) -> int:
        return next(n for n in range(100) if first + timedelta(days=n) not in days)

    yesterday = today - timedelta(days=1)
    present = max(
        (run(day) for day in days if day + timedelta(days=run(day)) > yesterday), default=0
    )
    longest = max(map(run, days), default=0)
    assert streaks([str(day) for day in sorted(days)], str(today)) == (present, longest)
