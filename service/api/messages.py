"""What clients may send. Requests are closed: an unknown field is an error."""

import re
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from service.contest.events import BotLevel
from service.contest.play import Ranking
from service.contest.race_header import Deals, Settings

_NAME = r"^[A-Za-z0-9_-]{3,20}\Z"
Name = Annotated[str, Meta(pattern=_NAME)]
Password = Annotated[str, Meta(min_length=8, max_length=200, pattern=r"^[^\x00]*\Z")]
GameName = Annotated[str, Meta(pattern=r"^[a-z-]{1,32}\Z")]
Seed = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,40}\Z")]
MoveId = Annotated[str, Meta(pattern=r"^[!-~]{1,40}\Z")]
MoveText = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,16}\Z")]
Ply = Annotated[int, Meta(ge=0, le=1_000_000)]
# Printable in one line: no control, no line separator, nothing that turns the direction of text.
RaceName = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]{1,60}\Z"
    ),
]
Label = RaceName
TokenScope = Literal["read", "play", "host", "account"]
Instant = Annotated[datetime, Meta(tz=True)]


def is_name(text: str) -> bool:
    """Whether a player could have that name."""
    return re.match(_NAME, text) is not None


DEFAULT_CAPACITY = 8


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request body."""


class Nothing(Request, frozen=True):
    """The body of a request that needs none."""


class Credentials(Request, frozen=True):
    """A name and its password."""

    name: Name
    password: Password


class NewToken(Request, frozen=True):
    """Another token; without `expires` it counts until it is revoked."""

    scopes: Annotated[list[TokenScope], Meta(min_length=1, max_length=4)]
    label: Label | None = None
    expires: Instant | None = None


class NewPlay(Request, frozen=True):
    """A practice play; a random open seed if none is given."""

    game: GameName
    seed: Seed | None = None


class NewMove(Request, frozen=True):
    """A move at the ply that it takes; `id` makes it safe to send again."""

    ply: Ply
    move: MoveText
    id: MoveId | None = None


class NewRace(Request, frozen=True):
    """A race. Durations are milliseconds; `opens_at` and `closes_at` are for open races only."""

    game: GameName
    kind: Literal["live", "open"]
    name: RaceName | None = None
    capacity: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    time_limit_ms: Annotated[int, Meta(ge=1_000, le=86_400_000)] = 900_000
    ranking: Ranking | None = None
    rated: bool | None = None
    listed: bool = True
    deals: Deals = "winnable"
    opens_at: Instant | None = None
    closes_at: Instant | None = None

    def live(self) -> Settings:
        """The settings of a live race, where nothing is said those that anybody gets."""
        return Settings(
            self.game,
            self.name,
            self.capacity or DEFAULT_CAPACITY,
            self.time_limit_ms,
            self.ranking or "time",
            self.rated is not False,
            self.listed,
            self.deals,
        )


class Quick(Request, frozen=True):
    """A race against whoever else wants one now."""

    game: GameName


class AskBots(Request, frozen=True):
    """House bots for a lobby, instead of those of that level that were asked for before."""

    level: BotLevel
    count: Annotated[int, Meta(ge=1, le=7)]


class Ready(Request, frozen=True):
    """Whether an entrant is ready."""

    ready: bool


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="op"):
    """A frame on the socket."""


class Auth(Frame, frozen=True, tag="auth"):
    """Only as the first frame."""

    token: Annotated[str, Meta(min_length=1, max_length=200)]


class Watch(Frame, frozen=True, tag="watch"):
    """Follow a topic, from version `since` on if given."""

    topic: Annotated[str, Meta(pattern=r"^[a-z]{1,16}(:[A-Za-z0-9_-]{1,40})?\Z")]
    since: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class Unwatch(Frame, frozen=True, tag="unwatch"):
    """Follow a topic no longer."""

    topic: Annotated[str, Meta(pattern=r"^[a-z]{1,16}(:[A-Za-z0-9_-]{1,40})?\Z")]


class MoveFrame(Frame, frozen=True, tag="move"):
    """A move; exactly one `ack` or `reject` answers it."""

    play: Id
    ply: Ply
    move: MoveText
    id: MoveId


class Ping(Frame, frozen=True, tag="ping"):
    """Answered by `pong`."""

    id: MoveId | Annotated[int, Meta(ge=-(2**53), le=2**53)] | None = None


ClientFrame = Auth | Watch | Unwatch | MoveFrame | Ping
