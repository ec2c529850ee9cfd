"""Days and seasons, in UTC whatever the server's own zone."""

from datetime import UTC, date, datetime, timedelta

DAY_MS = 86_400_000


def day_of(ms: int) -> str:
    """The UTC date of an instant (epoch milliseconds).

    >>> day_of(0)
    '1970-01-01'
    """
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).date().isoformat()


def day_start(day: str) -> int:
    """The first millisecond of a UTC date. Raises `ValueError` for what is none.

    >>> day_start("1970-01-02")
    86400000
    """
    parsed = date.fromisoformat(day)
    if parsed.isoformat() != day:
        raise ValueError("a date is YYYY-MM-DD")
    return (parsed - date(1970, 1, 1)).days * DAY_MS


def season_of(ms: int) -> str:
    """The season of an instant: its calendar month in UTC, YYYY-MM."""
    return day_of(ms)[:7]


def season_board(game: str, season: str) -> str:
    """The name of a season's board."""
    return f"season:{game}:{season}"


def rating_board(game: str) -> str:
    """The name of a game's rating board."""
    return f"rating:{game}"


def streaks(days: list[str], today: str) -> tuple[int, int]:
    """The present run of consecutive dates and the longest, of sorted, distinct dates.

    A run goes on as long as it has not missed yesterday.

    >>> streaks(["2026-01-01", "2026-01-02", "2026-01-05"], "2026-01-06")
    (1, 2)
    """
    best = run = 0
    last: date | None = None
    for day in days:
        this = date.fromisoformat(day)
        run = run + 1 if last is not None and this - last == timedelta(days=1) else 1
        best = max(best, run)
        last = this
    alive = last is not None and date.fromisoformat(today) - last <= timedelta(days=1)
    return run if alive else 0, best
