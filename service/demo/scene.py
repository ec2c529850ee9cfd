"""What is known of a race while it goes on, for showing it."""

from collections.abc import Callable
from typing import NamedTuple

from service.bots.messages import Player, Progress, Race, RaceEvent
from service.rules import GAMES


class Row(NamedTuple):
    """An entrant as others see them."""

    name: str
    score: int = 0
    ply: int = 0
    status: str = "waiting"


class Scene:
    """One race. `say` is told what happens, in words."""

    def __init__(
        self,
        game: str,
        names: dict[str, str],
        say: Callable[[str], None],
        title: str | None = None,
    ) -> None:
        """`names` are those to show, by player id; `title` is that of the game if not given."""
        self.title = title or GAMES[game].titles["en"]
        self.goal = GAMES[game].goal
        self.state = "lobby"
        self.rows = {player: Row(name) for player, name in names.items()}
        self._say = say

    def name(self, names: dict[str, str]) -> None:
        """Show others, too."""
        self.rows |= {player: Row(name) for player, name in names.items()}

    def begin(self, race: Race) -> None:
        """The whole race, as a snapshot tells it: it counts whatever was known."""
        if self.state != race.state:
            self._turned(race.state)
        for entrant in race.entrants:
            self._update(entrant.player.id, entrant.score, entrant.ply, entrant.status)

    def progress(self, player: str, progress: Progress) -> None:
        """Somebody has got on; of two reports the one with the higher ply is the later."""
        row = self.rows.get(player)
        if row is not None and progress.ply > row.ply:
            self._update(player, progress.score, progress.ply, progress.status)

    def event(self, event: RaceEvent) -> None:
        match event:
            case RaceEvent(type="entrant-joined", player=Player(id=player)):
                self._say(f"{self.title}: {self._name(player)} has joined")
            case RaceEvent(type="countdown"):
                self._turned("countdown")
            case RaceEvent(type="started"):
                self._turned("running")
                for player in self.rows:
                    self._update(player, None, None, "playing")
            case RaceEvent(type="entrant-ended", player=str(player)):
                self._update(player, event.score, None, event.status)
            case RaceEvent(type="race-ended"):
                self._turned("ended")
            case RaceEvent(type="cancelled"):
                self._turned("cancelled")

    def _turned(self, state: str) -> None:
        self.state = state
        self._say(f"{self.title}: {state}")

    def _update(self, player: str, score: int | None, ply: int | None, status: str | None) -> None:
        row = self.rows.get(player)
        if row is None:
            return
        new = Row(
            row.name,
            row.score if score is None else score,
            row.ply if ply is None else ply,
            row.status if status is None else status,
        )
        self.rows[player] = new
        if new.status != row.status and new.status != "playing":
            self._say(f"{self.title}: {new.name} {new.status}, {new.score} of {self.goal}")

    def _name(self, player: str) -> str:
        row = self.rows.get(player)
        return player if row is None else row.name
