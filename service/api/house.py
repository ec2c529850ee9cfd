"""What the edges are given: the parts of one process, wired in `service.app`."""

from typing import NamedTuple

from starlette.requests import HTTPConnection

from service.accounts.accounts import Accounts
from service.accounts.limits import Limits
from service.feed.boards import Leaderboards
from service.feed.hub import Hub
from service.feed.profiles import Profiles
from service.feed.reader import Reader
from service.live.bus import Bus
from service.referee.insight import Insight
from service.referee.lobbies import Lobbies
from service.referee.open_races import OpenRaces
from service.referee.plays import Plays
from service.referee.races import Races
from service.settings import Settings
from service.storage.database import Database


class House(NamedTuple):
    """One process of the service."""

    settings: Settings
    database: Database
    bus: Bus
    limits: Limits
    accounts: Accounts
    plays: Plays
    races: Races
    lobbies: Lobbies
    reader: Reader
    hub: Hub
    open_races: OpenRaces
    leaderboards: Leaderboards
    profiles: Profiles
    insight: Insight

    def now(self) -> int:
        """Server time, epoch milliseconds."""
        return self.database.clock.now()


def house_of(connection: HTTPConnection) -> House:
    """The house that serves a request."""
    house: House = connection.app.state.house
    return house
