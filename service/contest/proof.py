"""Checking a race from its proof alone: re-deal, replay, re-rank."""

from typing import NamedTuple

import msgspec

from service.contest.play import TIMEOUT, Entry, Header, LogBroken, Ranking, begin, replay
from service.contest.player import Player
from service.contest.ranking import RANKING_VERSION, Standing, result_of, standings
from service.rules import DEAL_VERSION, RULES_VERSION, UnknownGame, commitment
from service.rules.deal import BadSeed


class BadProof(ValueError):
    """The proof does not hold; the text says where."""


class Checked(NamedTuple):
    """What a proof has shown."""

    game: str
    plays: int
    moves: int


class _LogEntry(msgspec.Struct):
    ply: int
    move: str
    at_ms: int


class _Play(msgspec.Struct):
    player: Player
    play: str
    started_at: str
    log: list[_LogEntry]


class _Proof(msgspec.Struct):
    race: str
    game: str
    kind: str
    deal_version: int
    rules_version: int
    seed: str
    commitment: str
    ranking: Ranking
    time_limit_ms: int
    plays: list[_Play]
    standings: list[Standing]
    next: str | None = None
    daily: str | None = None
    ranking_version: int = RANKING_VERSION


def verify(text: bytes) -> Checked:
    """Check a whole proof (JSON, pages joined). Raises `BadProof`."""
    try:
        proof = msgspec.json.decode(text, type=_Proof)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadProof(f"it is not a proof: {error}") from None
    if proof.next is not None:
        raise BadProof("it is only a page: join the plays of all pages")
    versions = (proof.deal_version, proof.rules_version, proof.ranking_version)
    if versions != (DEAL_VERSION, RULES_VERSION, RANKING_VERSION):
        raise BadProof(f"its versions (deal, rules, ranking) {versions} are not known here")
    if commitment(proof.game, proof.seed) != proof.commitment:
        raise BadProof("the seed is not the one that was committed to")
    results = []
    for claimed in proof.plays:
        header = Header(
            claimed.play,
            proof.game,
            proof.deal_version,
            proof.seed,
            proof.commitment,
            proof.rules_version,
            "race",
            claimed.player,
            proof.race,
            0,
            None,
        )
        log = [Entry(entry.ply, entry.move, entry.at_ms, "", 0) for entry in claimed.log]
        try:
            play, _deltas = replay(begin(header), log)
        except LogBroken as error:
            raise BadProof(f"the log of {claimed.player.name}: {error}") from None
        except (UnknownGame, BadSeed) as error:
            raise BadProof(f"the deal: {error}") from None
        if not play.over:
            raise BadProof(f"the play of {claimed.player.name} has not ended")
        for entry in log:
            if entry.move == TIMEOUT and entry.at_ms != proof.time_limit_ms:
                raise BadProof(f"the log of {claimed.player.name}: its time was not up then")
            if entry.move != TIMEOUT and entry.at_ms >= proof.time_limit_ms:
                raise BadProof(f"the log of {claimed.player.name}: ply {entry.ply} came too late")
        results.append(result_of(play))
    alone = 100.0 if proof.daily is not None else None
    if list(standings(results, proof.ranking, alone=alone)) != proof.standings:
        raise BadProof("the standings do not follow from the logs")
    return Checked(proof.game, len(proof.plays), sum(len(play.log) for play in proof.plays))
