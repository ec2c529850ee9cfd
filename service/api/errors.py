"""Every error that a client can meet: one table from exception to status and code."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from service.accounts.accounts import (
    AlreadyNamed,
    AlreadyRaced,
    BadCredentials,
    BadToken,
    NameReserved,
    NotGranted,
)
from service.accounts.limits import RateLimited
from service.accounts.passwords import Busy
from service.contest.play import PlayOver
from service.contest.refusals import (
    NotEntrant,
    NotHost,
    RaceFull,
    RaceNotEnded,
    RaceNotOpen,
    RaceOver,
    RaceStarted,
    WrongKind,
)
from service.feed.reader import NotVisible
from service.referee.insight import NoHints, NotNow, NotOver
from service.referee.plays import IdReused, NotYourPlay, PlyConflict
from service.referee.ration import TooFast
from service.rules import IllegalMove, UnknownGame
from service.rules.deal import BadSeed
from service.storage.boards import NotOnBoard
from service.storage.database import OutcomeUnknown, Unavailable
from service.storage.players import NameTaken
from service.storage.receipts import KeyBusy, KeyReused, LeaseLost
from service.storage.shelf import NotFound


class Malformed(Exception):
    """The request does not have the form that it must have; the text says where."""


class BadJson(Exception):
    """The body is not JSON."""


class NotJson(Exception):
    """The body is not declared as `application/json`."""


class TooLarge(Exception):
    """The body is longer than is read."""


class Unauthorized(Exception):
    """A token is needed."""


class MissingScope(Exception):
    """The token lacks a scope; `scope` says which."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"this needs a token with the scope {scope}")


class ForeignOrigin(Exception):
    """A cookie counts only for requests from our own pages."""


class MethodNotAllowed(Exception):
    """The path takes other methods."""


class Shape(NamedTuple):
    """How an exception is told: HTTP status, stable code, a sentence for people."""

    status: int
    code: str
    title: str


SHAPES: dict[type[Exception], Shape] = {
    BadJson: Shape(400, "bad-json", "The body is not valid JSON."),
    Malformed: Shape(422, "malformed", "The request does not have the right form."),
    NotJson: Shape(415, "not-json", "The body must be application/json."),
    TooLarge: Shape(413, "too-large", "The body is too large."),
    Unauthorized: Shape(401, "unauthorized", "This needs a token."),
    BadToken: Shape(401, "bad-token", "The token is unknown or revoked."),
    BadCredentials: Shape(401, "bad-credentials", "No such name, or not its password."),
    MissingScope: Shape(403, "missing-scope", "The token lacks a scope."),
    NotGranted: Shape(403, "missing-scope", "The token lacks a scope."),
    ForeignOrigin: Shape(403, "foreign-origin", "The cookie does not count from another site."),
    NotFound: Shape(404, "not-found", "There is nothing here."),
    MethodNotAllowed: Shape(405, "method-not-allowed", "The path takes other methods."),
    UnknownGame: Shape(422, "unknown-game", "There is no game of that name."),
    BadSeed: Shape(422, "malformed", "A seed is 1 to 64 characters from A-Z a-z 0-9 _ -."),
    NameTaken: Shape(409, "name-taken", "Another player has this name."),
    NameReserved: Shape(422, "name-reserved", "Nobody can have this name."),
    AlreadyNamed: Shape(409, "already-named", "Only a guest can claim a name."),
    AlreadyRaced: Shape(409, "already-raced", "Who has raced cannot become a bot."),
    NotYourPlay: Shape(403, "not-your-play", "Only its player moves in a play."),
    IdReused: Shape(409, "id-reused", "The id names another move of this play."),
    PlayOver: Shape(409, "play-over", "The play is over."),
    PlyConflict: Shape(409, "ply-conflict", "The ply is not the next."),
    IllegalMove: Shape(422, "illegal-move", "The move is not legal here."),
    TooFast: Shape(429, "rate-limited", "Too many requests."),
    RateLimited: Shape(429, "rate-limited", "Too many requests."),
    NotVisible: Shape(403, "not-visible", "You may not see this now."),
    RaceNotEnded: Shape(409, "race-not-ended", "This is told when the race has ended."),
    RaceFull: Shape(409, "race-full", "All places are taken."),
    RaceStarted: Shape(409, "race-started", "The lobby is closed."),
    RaceNotOpen: Shape(409, "race-not-open", "The race has not opened yet."),
    RaceOver: Shape(409, "race-over", "The race is over."),
    NotHost: Shape(403, "not-host", "Only the host may do this."),
    NotEntrant: Shape(409, "not-entrant", "Only an entrant may do this."),
    WrongKind: Shape(409, "wrong-kind", "Races of this kind do not take this."),
    NotOnBoard: Shape(404, "not-on-board", "The player has no row on this board."),
    NoHints: Shape(403, "no-hints", "Races take no hints."),
    NotOver: Shape(409, "play-not-over", "A play is analysed when it is over."),
    NotNow: Shape(503, "unavailable", "The solver did not finish in time. Try again."),
    KeyReused: Shape(422, "key-reused", "The Idempotency-Key was used with another body."),
    KeyBusy: Shape(409, "key-busy", "A request with this Idempotency-Key is still running."),
    LeaseLost: Shape(409, "key-busy", "Another request has taken this Idempotency-Key over."),
    Busy: Shape(503, "unavailable", "The service cannot do this now. Try again."),
    Unavailable: Shape(503, "unavailable", "The service cannot do this now. Try again."),
    OutcomeUnknown: Shape(
        503, "outcome-unknown", "This may or may not have been stored. Send it again to find out."
    ),
}

INTERNAL = Shape(500, "internal", "Something went wrong here.")
RETRY_SECONDS = 1


def shape_of(error: Exception) -> Shape:
    """How an exception is told to clients."""
    for kind in type(error).__mro__:
        if kind in SHAPES:
            return SHAPES[kind]
    return INTERNAL


def detail_of(error: Exception) -> str:
    """A sentence about this very case; nothing of what was stored or is secret."""
    shape = shape_of(error)
    return (str(error) or shape.title) if shape is not INTERNAL else shape.title


def extras(error: Exception) -> dict[str, Any]:
    """What else a client can use: the present ply, the legal moves, when to come back."""
    match error:
        case PlyConflict():
            return {"ply": error.ply}
        case IllegalMove():
            return {"legal": error.legal}
        case TooFast() | RateLimited():
            return {"retry_after_ms": error.retry_after_ms}
        case _:
            return {}


def problem(error: Exception) -> tuple[int, bytes, Mapping[str, str]]:
    """Status, `application/problem+json` body and headers of an error reply."""
    shape = shape_of(error)
    body = {
        "type": f"urn:samedeal:error:{shape.code}",
        "title": shape.title,
        "status": shape.status,
        "detail": detail_of(error),
        "code": shape.code,
        **extras(error),
    }
    headers = {}
    if shape.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooFast | RateLimited):
        headers["Retry-After"] = str(-(-error.retry_after_ms // 1000))
    elif shape.status == 503:
        headers["Retry-After"] = str(RETRY_SECONDS)
    return shape.status, msgspec.json.encode(body), headers
