from collections.abc import Callable

def search(
    lengths: bytes,
    cards: bytes,
    stock: bytes,
    waste: bytes,
    aces: int,
    redeal_left: int,
    budget: int,
    tick: Callable[[int], object] | None,
) -> tuple[int, bytes, int]: ...
def ease(
    lengths: bytes,
    cards: bytes,
    stock: bytes,
    waste: bytes,
    aces: int,
    redeal_left: int,
    times: int,
) -> int: ...
