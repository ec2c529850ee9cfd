"""The bus over Redis pub/sub: one channel a topic, pipelined publishing, reconnecting for ever.

Redis may be slow, paused or gone: publishing only fills a bounded queue, and cursors find what
they missed by comparing heads with the database.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from service.live.bus import Listener, LocalBus, Wake

QUEUE = 10_000
GROUP = 200
RETRY_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
CONFIRM_SECONDS = 1.0


class RedisBus:
    """One process's end of the bus over Redis."""

    def __init__(self, url: str, prefix: str, log: Callable[[str, Exception], None]) -> None:
        self._local = LocalBus()
        self._prefix = f"{prefix}bus:"
        self._origin = os.urandom(8)
        self._log = log
        self._publisher: Redis = _client(url, socket_timeout=5)
        self._receiver: Redis = _client(url, socket_timeout=None)
        self._pubsub: PubSub | None = None
        self._topics: dict[str, asyncio.Event] = {}
        self._out: deque[Wake] = deque(maxlen=QUEUE)
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._gaps: list[Callable[[], None]] = []
        self._subscribing: set[asyncio.Task[None]] = set()

    @property
    def connected(self) -> bool:
        return self._pubsub is not None

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._receive(), name="bus receive"),
            asyncio.create_task(self._publish(), name="bus publish"),
        ]

    async def stop(self) -> None:
        for _ in range(20):
            if not self._out or not self.connected:
                break
            await asyncio.sleep(0.05)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._publisher.aclose()
        await self._receiver.aclose()

    def publish(self, wake: Wake) -> None:
        self._local.publish(wake)
        self._out.append(wake)
        self._wake.set()

    async def listen(self, topic: str, listener: Listener) -> None:
        await self._local.listen(topic, listener)
        confirmed = self._topics[topic] = asyncio.Event()
        pubsub = self._pubsub
        if pubsub is None:
            return  # every topic is subscribed on reconnecting, and that is a gap
        try:
            async with asyncio.timeout(CONFIRM_SECONDS):
                await pubsub.subscribe(self._prefix + topic)
                await confirmed.wait()
        except (RedisError, OSError, TimeoutError):
            pass  # the receiver sees it too; heads are compared meanwhile

    def unlisten(self, topic: str) -> None:
        self._local.unlisten(topic)
        if self._topics.pop(topic, None) is not None and self._pubsub is not None:
            task = asyncio.ensure_future(self._unsubscribe(self._pubsub, topic))
            self._subscribing.add(task)
            task.add_done_callback(self._subscribing.discard)

    async def _unsubscribe(self, pubsub: PubSub, topic: str) -> None:
        if topic in self._topics:
            return  # somebody listens again
        try:
            await pubsub.unsubscribe(self._prefix + topic)
            if topic in self._topics:
                await pubsub.subscribe(self._prefix + topic)
        except (RedisError, OSError):
            pass

    def on_gap(self, callback: Callable[[], None]) -> None:
        self._gaps.append(callback)

    async def _receive(self) -> None:
        failures = 0
        while True:
            try:
                async with self._receiver.pubsub() as pubsub:
                    topics = list(self._topics)
                    await pubsub.subscribe(*(self._prefix + name for name in ("", *topics)))
                    self._pubsub = pubsub
                    for callback in self._gaps:
                        callback()
                    async for message in pubsub.listen():
                        failures = 0
                        self._received(message)
            except (RedisError, OSError) as error:
                if failures == 0:
                    self._log("bus.lost", error)
            finally:
                self._pubsub = None
            await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
            failures += 1

    def _received(self, message: dict[str, Any]) -> None:
        topic = message["channel"].decode()[len(self._prefix) :]
        if message["type"] == "subscribe":
            if topic in self._topics:
                self._topics[topic].set()
        elif message["type"] == "message":
            data: bytes = message["data"]
            if data[:8] != self._origin:
                v, rest = _decode(data[8:])
                self._local.publish(Wake(topic, v, rest))

    async def _publish(self) -> None:
        failures = 0
        group: list[Wake] = []
        while True:
            await self._wake.wait()
            self._wake.clear()
            while group or self._out:
                # What may not have gone out goes again: to hear a thing twice does no harm.
                while self._out and len(group) < GROUP:
                    group.append(self._out.popleft())
                try:
                    async with self._publisher.pipeline(transaction=False) as pipe:
                        for wake in group:
                            _ = pipe.publish(
                                self._prefix + wake.topic,
                                self._origin + _encode((wake.v, wake.data)),
                            )
                        await pipe.execute()
                    failures = 0
                    group.clear()
                except (RedisError, OSError) as error:
                    if failures == 0:
                        self._log("bus.publish_failed", error)
                    await asyncio.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                    failures += 1


def _client(url: str, socket_timeout: float | None) -> Redis:
    return Redis.from_url(
        url,
        socket_timeout=socket_timeout,
        socket_connect_timeout=5,
        retry=Retry(NoBackoff(), 0),
        retry_on_error=[],
    )


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bytes]).decode
