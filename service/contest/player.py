"""Who takes part, as everybody sees them."""

from typing import Literal

import msgspec

PlayerKind = Literal["guest", "human", "bot"]


class Player(msgspec.Struct, frozen=True):
    """The public face of a player; `id` is opaque text and never changes."""

    id: str
    name: str
    kind: PlayerKind
