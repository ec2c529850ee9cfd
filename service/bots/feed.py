"""What a watched topic tells, in order, without gap or repetition, over lost connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

from service.bots.messages import (
    Delta,
    Frame,
    Play,
    Progress,
    Race,
    RaceEvent,
    RaceList,
    RaceProgress,
    RaceRemoved,
)

T = TypeVar("T")

RaceNews = Race | RaceEvent | RaceProgress
PlayNews = Play | Delta
LobbyNews = RaceList | Race | RaceRemoved


class Feed(Generic[T]):
    """An iterator over the news of a topic.

    A snapshot (`Race`, `Play`) replaces what you hold, an event follows it. The iteration ends when
    the feed is closed, and raises `Refused` or `Lost` when it cannot go on.
    """

    def __init__(
        self,
        topic: str,
        since: int | None,
        read: Callable[[Frame], T],
        leave: Callable[[str], Awaitable[None]],
    ) -> None:
        self.topic = topic
        self.v = since
        """The version that has been told, None before the first snapshot."""
        self._read = read
        self._leave = leave
        self._news: asyncio.Queue[T | Exception | None] = asyncio.Queue()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        news = await self._news.get()
        if news is None or isinstance(news, Exception):
            self._news.put_nowait(news)  # and so for whoever asks again
            raise StopAsyncIteration if news is None else news
        return news

    async def close(self) -> None:
        """Watch this topic no longer."""
        self._news.put_nowait(None)
        await self._leave(self.topic)

    # For the socket

    def request(self) -> bytes:
        """The frame that begins this feed or, when something is known, takes it up again."""
        asked: dict[str, object] = {"op": "watch", "topic": self.topic}
        return msgspec.json.encode(asked if self.v is None else asked | {"since": self.v})

    def replaced(self, frame: Frame) -> None:
        """A snapshot: it counts whatever was known."""
        self.v = frame.v
        self._news.put_nowait(self._read(frame))

    def followed(self, v: int, frame: Frame) -> bool:
        """Event number v. What is known already is dropped; False: something before it is missing.

        False, too, before the snapshot: then there is nothing yet that it could follow.
        """
        if self.v is None or v > self.v + 1:
            return False
        if v == self.v + 1:
            self.v = v
            self._news.put_nowait(self._read(frame))
        return True

    def passed(self, frame: Frame) -> None:
        """Something without a version."""
        self._news.put_nowait(self._read(frame))

    def failed(self, error: Exception) -> None:
        """It does not go on."""
        self._news.put_nowait(error)


class Unnumbered(Feed[T]):
    """The feed of a topic without versions: after a cut it begins anew, with a snapshot."""

    def request(self) -> bytes:
        return msgspec.json.encode({"op": "watch", "topic": self.topic})

    def replaced(self, frame: Frame) -> None:
        self.passed(frame)

    def followed(self, v: int, frame: Frame) -> bool:
        self.passed(frame)
        return True


def race_news(frame: Frame) -> RaceNews:
    """What a frame about a race says."""
    match frame.op:
        case "snapshot":
            return msgspec.json.decode(frame.data, type=Race)
        case "progress":
            return RaceProgress(msgspec.json.decode(frame.data, type=dict[str, Progress]))
        case _:
            event = msgspec.json.decode(frame.data, type=RaceEvent)
            return msgspec.structs.replace(event, v=frame.v)


def play_news(frame: Frame) -> PlayNews:
    """What a frame about a play says; for its watcher an `ack` is an event like any other."""
    if frame.op == "snapshot":
        return msgspec.json.decode(frame.data, type=Play)
    return msgspec.json.decode(frame.data, type=Delta)


class _Listed(msgspec.Struct):
    race: Race


def lobby_news(frame: Frame) -> LobbyNews:
    """What a frame about the list of races says; a race that is told replaces what was told of it."""
    if frame.op == "snapshot":
        return msgspec.json.decode(frame.data, type=RaceList)
    if msgspec.json.decode(frame.data, type=_Typed).type == "race-removed":
        return msgspec.json.decode(frame.data, type=RaceRemoved)
    return msgspec.json.decode(frame.data, type=_Listed).race


class _Typed(msgspec.Struct):
    type: str
