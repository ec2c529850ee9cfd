"""A small client of the public API: REST here, the live half in `socket`.

It knows nothing of the service but its address, and is meant to be learned from:

    async with await Client.guest("http://127.0.0.1:8000") as me, me.socket() as socket:
        race = await me.create_race("kings-way")
        await me.ready(race.id)
        async for news in await socket.watch_race(race.id):
            ...
"""

import asyncio
import secrets
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec

from service.bots.messages import (
    Account,
    Delta,
    Lost,
    Page,
    Play,
    Player,
    Race,
    Refused,
    Standing,
)
from service.bots.reports import Analysis, Proof, RatingRow
from service.bots.socket import Socket

T = TypeVar("T")

TRIES = 5
BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may be sent again."""
OWN_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


class _Problem(msgspec.Struct):
    """An error as the service tells it (RFC 9457)."""

    code: str = "unknown"
    detail: str = "the service gave no reason"
    ply: int | None = None
    legal: tuple[str, ...] = ()


class Client:
    """One player's access, or with neither `player` nor `token` that of somebody who looks on.

    All methods raise `Refused` when the service says no, and `Lost` when it does not answer.
    """

    def __init__(
        self, address: str, player: Player | None = None, token: str | None = None
    ) -> None:
        self.player = player
        self.token = token
        self._address = address.rstrip("/")
        # What the environment says of proxies is not meant for a service on this machine.
        self._direct = urlsplit(address).hostname in OWN_MACHINE
        self._http = httpx2.AsyncClient(
            base_url=f"{self._address}/v1",
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=15.0,
            trust_env=not self._direct,
        )

    @classmethod
    async def guest(cls, address: str) -> "Client":
        """A new player without name or password, who exists as long as the token is kept."""
        async with cls(address) as nobody:
            account = await nobody._ask("POST", "/guests", Account)
        return cls(address, account.player, account.token)

    @classmethod
    async def registered(cls, address: str, name: str, password: str) -> "Client":
        """A player of that name and password: a new one, or after a lost answer the same again."""
        credentials = {"name": name, "password": password}
        async with cls(address) as nobody:
            try:
                account = await nobody._ask("POST", "/players", Account, credentials)
            except Refused as error:
                if error.code != "name-taken":
                    raise
                account = await nobody._ask("POST", "/login", Account, credentials)
        return cls(address, account.player, account.token)

    async def become_bot(self) -> Player:
        """Be marked as a bot, for ever; only before the first race."""
        self.player = await self._ask("POST", "/me/bot", Player)
        return self.player

    async def logout(self) -> None:
        """Revoke the token; sockets that were opened with it are closed."""
        await self._sent("POST", "/logout")

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    def socket(self) -> Socket:
        """A live connection, to be used with `async with`."""
        address = "ws" + self._address.removeprefix("http") + "/v1/ws"
        return Socket(address, self.token, direct=self._direct)

    # Races

    async def create_race(self, game: str, **settings: Any) -> Race:
        """A live race in its lobby, with us as host. `settings` as the documents list them."""
        body = {"game": game, "kind": "live", **settings}
        return await self._ask("POST", "/races", Race, body)

    async def join(self, race_id: str) -> Race:
        return await self._ask("POST", f"/races/{race_id}/entrants", Race)

    async def leave(self, race_id: str) -> Race:
        """Before the start."""
        return await self._ask("DELETE", f"/races/{race_id}/entrants/me", Race)

    async def ask_bots(self, race_id: str, level: str, count: int) -> Race:
        """Ask house bots into the lobby, as host."""
        body = {"level": level, "count": count}
        return await self._ask("POST", f"/races/{race_id}/bots", Race, body)

    async def ready(self, race_id: str, ready: bool = True) -> Race:
        """Once at least two are in and all are ready, the countdown begins."""
        return await self._ask("PATCH", f"/races/{race_id}/entrants/me", Race, {"ready": ready})

    async def start(self, race_id: str) -> Race:
        """Begin the countdown, as host, whoever is ready."""
        return await self._ask("POST", f"/races/{race_id}/start", Race)

    async def cancel(self, race_id: str) -> Race:
        """Call the race off, as host, before its start."""
        return await self._ask("POST", f"/races/{race_id}/cancel", Race)

    async def race(self, race_id: str) -> Race:
        return await self._ask("GET", f"/races/{race_id}", Race)

    async def standings(self, race_id: str) -> tuple[Standing, ...]:
        """All rows, best first."""
        rows: list[Standing] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await self._ask(
                "GET", f"/races/{race_id}/standings", Page[Standing], cursor=cursor
            )
            rows += page.items
            cursor = page.next
        return tuple(rows)

    async def daily(self, game: str) -> Race:
        """Today's race, open to everybody from midnight to midnight UTC."""
        return await self._ask("GET", f"/daily/{game}", Race)

    async def enter(self, race_id: str) -> Play:
        """Begin one's play in an open race; asked again, the same play."""
        return await self._ask("POST", f"/races/{race_id}/plays", Play)

    async def ratings(self, game: str) -> tuple[RatingRow, ...]:
        """The first hundred, best first."""
        path = f"/leaderboards/rating/{game}"
        return (await self._ask("GET", path, Page[RatingRow], limit=100)).items

    async def proof(self, race_id: str, page_size: int = 100) -> Proof:
        """Everything that is needed to check an ended race, its pages joined into one."""
        path = f"/races/{race_id}/proof"
        whole = await self._ask("GET", path, dict[str, Any], limit=page_size)
        while whole["next"] is not None:
            page = await self._ask(
                "GET", path, dict[str, Any], limit=page_size, cursor=whole["next"]
            )
            whole["plays"] += page["plays"]
            whole["next"] = page["next"]
        claimed = msgspec.convert(whole, Proof)
        return msgspec.structs.replace(claimed, text=msgspec.json.encode(whole))

    # Plays; moves are best made over the socket

    async def practise(self, game: str, seed: str | None = None) -> Play:
        body = {"game": game} if seed is None else {"game": game, "seed": seed}
        return await self._ask("POST", "/plays", Play, body)

    async def play(self, play_id: str) -> Play:
        return await self._ask("GET", f"/plays/{play_id}", Play)

    async def analysis(self, play_id: str) -> Analysis:
        """Of a play that has ended and whose deal is open; may take a while."""
        return await self._ask("GET", f"/plays/{play_id}/analysis", Analysis)

    async def unfinished(self) -> tuple[Play, ...]:
        """Our plays that are still to be played, without their boards; the newest hundred."""
        page = await self._ask("GET", "/me/plays", Page[Play], status="playing", limit=100)
        return page.items

    async def move(self, play_id: str, ply: int, move: str, move_id: str | None = None) -> Delta:
        """The same as `Socket.move`: an id counts over both."""
        body = {"ply": ply, "move": move, "id": move_id or secrets.token_urlsafe(9)}
        return await self._ask("POST", f"/plays/{play_id}/moves", Delta, body)

    async def resign(self, play_id: str) -> Delta:
        return await self._ask("POST", f"/plays/{play_id}/resign", Delta)

    # How all of them ask

    async def _ask(
        self,
        method: str,
        path: str,
        form: type[T],
        body: dict[str, Any] | None = None,
        **query: str | int | None,
    ) -> T:
        return msgspec.json.decode(await self._sent(method, path, body, **query), type=form)

    async def _sent(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        **query: str | int | None,
    ) -> bytes:
        """Ask, and ask again while the service is busy or the answer got lost.

        That is safe: all but POST may be repeated anyway, a move has its id, and with the key any
        other POST has its effect once, whatever became of the first answer.
        """
        headers = {"Idempotency-Key": secrets.token_urlsafe(12)} if method == "POST" else {}
        content = None
        if body is not None:
            content = msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        params = {key: value for key, value in query.items() if value not in ("", None)}
        wait = 0.0
        for tries in range(TRIES):
            await asyncio.sleep(wait)
            wait = 0.2 * 2**tries
            try:
                reply = await self._http.request(
                    method, path, content=content, headers=headers, params=params
                )
            except httpx2.TransportError:
                continue
            if reply.is_success:
                return reply.content
            refusal = _refusal(reply)
            if reply.status_code not in BUSY and refusal.code != "key-busy":
                raise refusal
            asked = reply.headers.get("Retry-After", "")
            wait = float(asked) if asked.isdigit() else wait
        raise Lost(f"{method} {path}: no answer after {TRIES} tries")


def _refusal(reply: httpx2.Response) -> Refused:
    try:
        told = msgspec.json.decode(reply.content, type=_Problem)
    except msgspec.MsgspecError:  # not from the service itself, but from something before it
        told = _Problem(detail=f"the answer was {reply.status_code}")
    return Refused(told.code, told.detail, ply=told.ply, legal=told.legal)
