"""How many entries a play may take: a whole game at once, then twenty a second."""

from service.storage.shelf import Seat

BURST = 600
PER_SECOND = 20.0


class TooFast(Exception):
    """The play has taken more than its share of moves; `retry_after_ms` milliseconds to wait."""

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__("too many moves")
        self.retry_after_ms = retry_after_ms


def take_ration(seat: Seat, now: int) -> None:
    """Take one entry's share (`now`: epoch ms). Raises `TooFast`."""
    if seat.tokens_at is None:
        seat.tokens = BURST
    else:
        gained = max(0, now - seat.tokens_at) * PER_SECOND / 1000
        seat.tokens = min(BURST, seat.tokens + gained)
    seat.tokens_at = now
    if seat.tokens < 1:
        raise TooFast(int((1 - seat.tokens) / PER_SECOND * 1000) + 1)
    seat.tokens -= 1
