"""Races: making, joining, starting, watching, checking."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.accounts.limits import RACES
from service.api.boards import board_page
from service.api.errors import Malformed
from service.api.house import House, house_of
from service.api.http import (
    Endpoint,
    Scope,
    body_bytes,
    carried_out,
    cursor_id,
    cursor_number,
    cursor_text,
    once,
    one_of,
    page_limit,
    parsed,
    path_id,
    player,
    reply,
    sent,
    sent_or,
    viewer,
    whole,
)
from service.api.messages import NewRace, Nothing, Ready
from service.contest.play import Play
from service.contest.player import Player
from service.contest.race import Race
from service.feed.views import play_view
from service.referee.open_races import UNLIMITED
from service.referee.races import Slip
from service.rules import GAMES
from service.storage import races as stored

MAX_OPEN_MS = 31 * 86_400_000
MAX_AHEAD_MS = 366 * 86_400_000
EARLY_MS = 60_000
"""How far back `opens_at` may lie: clients' clocks are off, and requests take time."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

STATES = ("lobby", "countdown", "scheduled", "running", "ended", "cancelled")


class Races(Endpoint):
    """`/v1/races`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        who = await viewer(request)
        state = one_of(request, "state", STATES)
        kind = one_of(request, "kind", ("live", "open"))
        one_of(request, "sort", ("newest",))
        game = one_of(request, "game", tuple(GAMES))
        scope = f"races {state} {kind} {game}"
        limit = page_limit(request)
        async with house.database.read() as connection:
            ids = await stored.page(
                connection,
                before=cursor_id(request, scope),
                limit=limit + 1,
                states=None if state is None else [state],
                game=game,
                kind=kind,
            )
        items = [await house.reader.race_view(race_id, who) for race_id in ids[:limit]]
        more = len(ids) > limit
        return reply({"items": items, "next": cursor_text(scope, ids[limit - 1]) if more else None})

    async def post(self, request: Request) -> Response:
        house = house_of(request)
        who = await player(request, "host", RACES)
        body = await body_bytes(request)
        asked = parsed(request, body, NewRace)

        def shown(race: Race) -> Response:
            view = house.reader.still_view(race, who.id)
            return reply(view, 201, {"Location": f"/v1/races/{view.id}"})

        if asked.kind == "live":
            return await once(
                request, who, body, lambda slip: _live(house, who, asked, slip), shown
            )
        opens_at, closes_at = _span(asked, house.now())
        return await once(
            request,
            who,
            body,
            lambda slip: house.open_races.create(
                who,
                asked.game,
                name=asked.name,
                capacity=asked.capacity or UNLIMITED,
                time_limit_ms=asked.time_limit_ms,
                ranking=asked.ranking,
                listed=asked.listed,
                deals=asked.deals,
                opens_at=opens_at,
                closes_at=closes_at,
                slip=slip,
            ),
            shown,
        )


def _live(house: House, who: Player, asked: NewRace, slip: Slip | None) -> Awaitable[Race]:
    if asked.opens_at is not None or asked.closes_at is not None:
        raise Malformed("opens_at and closes_at are for open races")
    return house.races.create_live(who, **asked.live()._asdict(), slip=slip)


def _span(asked: NewRace, now: int) -> tuple[int, int]:
    """When an open race opens and closes (epoch ms). Raises `Malformed`."""
    if asked.rated:
        raise Malformed("only live races are rated")
    if asked.closes_at is None:
        raise Malformed("an open race needs closes_at")
    opens_at = now if asked.opens_at is None else _ms(asked.opens_at)
    closes_at = _ms(asked.closes_at)
    if not opens_at < closes_at <= opens_at + MAX_OPEN_MS:
        raise Malformed("closes_at must be after opens_at, by 31 days at most")
    if not now - EARLY_MS <= opens_at <= now + MAX_AHEAD_MS or closes_at <= now:
        raise Malformed("opens_at must not be past, nor more than a year ahead")
    return opens_at, closes_at


def _ms(instant: datetime) -> int:
    return (instant - EPOCH) // timedelta(milliseconds=1)


class OneRace(Endpoint):
    """`/v1/races/{id}`"""

    async def get(self, request: Request) -> Response:
        who = await viewer(request)
        return reply(await house_of(request).reader.race_view(path_id(request), who))


async def _ordered(
    request: Request,
    scope: Scope,
    command: Callable[[Player, Slip | None], Awaitable[Race]],
) -> Response:
    """A POST command on a race without a body of its own; answered by the race."""
    house = house_of(request)
    who = await player(request, scope)
    body, _ = await sent_or(request, Nothing, Nothing())
    return await once(
        request,
        who,
        body,
        lambda slip: command(who, slip),
        lambda race: reply(house.reader.still_view(race, who.id)),
    )


class Entrants(Endpoint):
    """`/v1/races/{id}/entrants`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        race = await house.reader.race(path_id(request))
        scope = f"entrants {race.header.id}"
        start = cursor_number(request, scope)
        limit = page_limit(request)
        total = await house.reader.count_entrants(race)
        if race.header.kind == "open":
            items = await house.reader.open_entrants(race, start, limit)
        else:
            page = list(race.entrants.values())[start : start + limit]
            items = await house.reader.entrant_views(race, page)
        following = cursor_text(scope, str(start + limit)) if start + limit < total else None
        return reply({"items": items, "next": following, "total": total})

    async def post(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        who = await player(request, "play")
        body, _ = await sent_or(request, Nothing, Nothing())
        race = await house.reader.race(race_id)
        if race.state == "running" and who.id in race.entrants:
            # Nothing to do, nor to keep under a key, but much that has happened since.
            return reply(await house.reader.view_of(race, who.id))
        return await once(
            request,
            who,
            body,
            lambda slip: house.races.join(race_id, who, slip),
            lambda race: reply(house.reader.still_view(race, who.id)),
        )


class MyEntry(Endpoint):
    """`/v1/races/{id}/entrants/me`"""

    async def patch(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        who = await player(request, "play")
        asked = await sent(request, Ready)
        race = await carried_out(house.races.ready(race_id, who.id, asked.ready))
        return reply(await house.reader.view_of(race, who.id))

    async def delete(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        who = await player(request, "play")
        race = await carried_out(house.races.leave(race_id, who.id))
        return reply(house.reader.still_view(race, who.id))


class Start(Endpoint):
    """`/v1/races/{id}/start`"""

    async def post(self, request: Request) -> Response:
        races, race_id = house_of(request).races, path_id(request)
        return await _ordered(request, "host", lambda who, slip: races.start(race_id, who.id, slip))


class Cancel(Endpoint):
    """`/v1/races/{id}/cancel`"""

    async def post(self, request: Request) -> Response:
        races, race_id = house_of(request).races, path_id(request)
        return await _ordered(
            request, "host", lambda who, slip: races.cancel(race_id, who.id, slip)
        )


class Events(Endpoint):
    """`/v1/races/{id}/events`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        await viewer(request)
        after = whole(request, "after", 0, 0, 10**9)
        limit = whole(request, "limit", 100, 1, 500)
        items, following = await house.reader.race_events(path_id(request), after, limit)
        return reply({"items": items, "next": following})


class Standings(Endpoint):
    """`/v1/races/{id}/standings`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        race = await house.reader.race(path_id(request))
        scope = f"standings {race.header.id}"
        return await board_page(
            request, scope, lambda ask: house.reader.outcomes.standings(race, ask)
        )


class RacePlays(Endpoint):
    """`/v1/races/{id}/plays`"""

    async def post(self, request: Request) -> Response:
        house = house_of(request)
        stamp = house.now()
        who = await player(request, "play")
        body, _ = await sent_or(request, Nothing, Nothing())
        race_id = path_id(request)

        def shown(entered: tuple[Play, bool]) -> Response:
            play, new = entered
            view = play_view(play, "full", "running", house.now())
            return reply(view, 201 if new else 200, {"Location": f"/v1/plays/{view.id}"})

        return await once(
            request,
            who,
            body,
            lambda slip: house.open_races.enter(who, race_id, stamp, slip),
            shown,
        )


class ProofOf(Endpoint):
    """`/v1/races/{id}/proof`"""

    async def get(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        scope = f"proof {race_id}"
        start = cursor_number(request, scope)
        who = await viewer(request)
        proof = await house.reader.outcomes.proof(race_id, who, start, page_limit(request))
        return reply(
            proof
            if proof.next is None
            else msgspec.structs.replace(proof, next=cursor_text(scope, proof.next))
        )


routes = [
    Route("/races", Races),
    Route("/races/{id}", OneRace),
    Route("/races/{id}/entrants", Entrants),
    Route("/races/{id}/entrants/me", MyEntry),
    Route("/races/{id}/start", Start),
    Route("/races/{id}/cancel", Cancel),
    Route("/races/{id}/events", Events),
    Route("/races/{id}/plays", RacePlays),
    Route("/races/{id}/standings", Standings),
    Route("/races/{id}/proof", ProofOf),
]
