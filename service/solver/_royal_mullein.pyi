from collections.abc import Callable

def search(
    cards: bytes,
    later: int,
    waste_n: int,
    home: bytes,
    rows: bytes,
    open: int,
    pass_: int,
    budget: int,
    first_only: int,
    tick: Callable[[int], object] | None,
) -> tuple[int, list[int], int]: ...
def ease(
    cards: bytes,
    later: int,
    waste_n: int,
    home: bytes,
    rows: bytes,
    open: int,
    pass_: int,
    times: int,
) -> int: ...
