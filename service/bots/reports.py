"""What the service tells when it has looked back: proofs, analyses, leaderboards."""

from msgspec import Struct

from service.bots.messages import Player, Standing


class Proof(Struct, frozen=True):
    """What a proof claims, and the whole of it as JSON, its pages joined, to be checked."""

    seed: str
    commitment: str
    standings: tuple[Standing, ...]
    text: bytes = b""


class Looked(Struct, frozen=True):
    """After an entry of a play's log: whether the game could still be won, None if unknown."""

    ply: int
    entry: str
    winnable: bool | None = None


class Analysis(Struct, frozen=True):
    """`fatal`: the ply that lost the game, when there is one and it is known."""

    plies: tuple[Looked, ...]
    fatal: int | None = None


class RatingRow(Struct, frozen=True):
    """`provisional`: of few races yet. `rank` is None for who is not ranked."""

    rank: int | None
    player: Player
    rating: int
    races: int
    provisional: bool
