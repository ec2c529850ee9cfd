"""Ratings (Plackett–Luce), a game; recomputable from the standings in the order of the log."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openskill.models import PlackettLuce

PROVISIONAL_RACES = 10
"""Until a player has been rated this often, the rating is provisional."""

_model = PlackettLuce()


class Skill(NamedTuple):
    """What is believed of a player after `races` rated races."""

    mu: float = _model.mu
    sigma: float = _model.sigma
    races: int = 0

    @property
    def shown(self) -> int:
        """The rating that people see: 1000 to begin with, forty points a unit of skill.

        >>> Skill().shown
        1000
        """
        return round(1000 + 40 * (self.mu - 3 * self.sigma))

    @property
    def provisional(self) -> bool:
        return self.races < PROVISIONAL_RACES


def rated(ranks: Mapping[str, int], before: Mapping[str, Skill]) -> dict[str, Skill]:
    """By player: the skill after a race; `ranks` as in the standings, ties equal.

    Fewer than two players teach nothing: an empty result. Players are taken in order of id, so
    that the same race gives the same floats everywhere.
    """
    players = sorted(ranks)
    if len(players) < 2:
        return {}
    teams = [[_model.rating(mu=before[one].mu, sigma=before[one].sigma)] for one in players]
    after = _model.rate(teams, ranks=[float(ranks[one]) for one in players])
    return {
        one: Skill(team[0].mu, team[0].sigma, before[one].races + 1)
        for one, team in zip(players, after, strict=True)
    }


def recomputed(log: Sequence[Mapping[str, int]]) -> dict[str, Skill]:
    """Everybody's skill from the ranks of all rated races, in the order in which they were rated."""
    skills: dict[str, Skill] = {}
    for ranks in log:
        skills.update(rated(ranks, {one: skills.get(one, Skill()) for one in ranks}))
    return skills
