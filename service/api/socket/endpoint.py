"""`/v1/ws`: the open sockets of this process."""

from collections.abc import Callable, Iterable

from starlette.websockets import WebSocket

from service.api.house import House
from service.api.socket.connection import REVOKED, Connection
from service.api.socket.session import Session
from service.metrics import SOCKETS

MAX_SOCKETS = 8
"""Sockets a player may have open in one process."""


class Sockets:
    """Accepts sockets and finds them again when a token is revoked."""

    def __init__(self, house: House, on_error: Callable[[Exception], None]) -> None:
        self._house = house
        self._on_error = on_error
        self._open: set[Connection] = set()
        self._by_player: dict[str, set[Connection]] = {}
        self._counted: dict[Connection, str] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def serve(self, socket: WebSocket) -> None:
        """One socket, from its handshake to its end."""
        await socket.accept()
        connection = Connection(socket)
        self._open.add(connection)
        SOCKETS.inc()
        try:
            await Session(self._house, connection, self._on_error).run(socket, self._admit)
        finally:
            self._open.discard(connection)
            SOCKETS.dec()
            self._leave(connection)

    def _admit(self, connection: Connection) -> bool:
        """Whether the connection's player may have one more socket."""
        self._leave(connection)  # `auth` may have made it another player's, or the same one's again
        if connection.viewer is None:
            return True
        own = self._by_player.setdefault(connection.viewer, set())
        if len(own) >= MAX_SOCKETS:
            return False
        own.add(connection)
        self._counted[connection] = connection.viewer
        return True

    def _leave(self, connection: Connection) -> None:
        """Count a connection for nobody any longer."""
        player = self._counted.pop(connection, None)
        if player is not None:
            own = self._by_player[player]
            own.discard(connection)
            if not own:
                del self._by_player[player]

    def revoke(self, token_ids: Iterable[str]) -> None:
        """Close the sockets of tokens that count no longer."""
        gone = set(token_ids)
        for connection in tuple(self._open):
            if connection.token_id in gone:
                connection.close(REVOKED, "token revoked")

    async def recheck(self) -> None:
        """Close the sockets of tokens that were revoked without our hearing of it."""
        tokens = {c.token_id for c in self._open if c.token_id is not None}
        if tokens:
            self.revoke(await self._house.accounts.revoked(sorted(tokens)))
