"""Why a race refuses a command."""


class RaceError(Exception):
    """A command that the race refuses; the class says why."""


class RaceFull(RaceError):
    """All places are taken."""


class RaceStarted(RaceError):
    """The lobby is closed: the countdown has begun, or the race."""


class RaceNotOpen(RaceError):
    """The race has not opened yet."""


class RaceOver(RaceError):
    """The race has ended or was cancelled."""


class NotHost(RaceError):
    """Only the host may do this."""


class NotEntrant(RaceError):
    """Only an entrant may do this."""


class RaceNotEnded(RaceError):
    """What was asked for is told, or given, only when the race is over."""


class WrongKind(RaceError):
    """Live races have a lobby, open races are entered by starting a play."""
