"""Races: making, joining, starting, watching, checking."""

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.accounts.limits import RACES
from service.api.house import house_of
from service.api.http import (
    Endpoint,
    Scope,
    body_bytes,
    carried_out,
    cursor_at,
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
from service.contest.player import Player
from service.contest.race import Race
from service.contest.ranking import standings
from service.feed.reader import around
from service.referee.races import Slip
from service.rules import GAMES
from service.storage import races as stored

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
                before=cursor_at(request, scope),
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

        return await once(
            request,
            who,
            body,
            lambda slip: house.races.create_live(
                who,
                asked.game,
                name=asked.name,
                capacity=asked.capacity,
                time_limit_ms=asked.time_limit_ms,
                ranking=asked.ranking,
                rated=asked.rated,
                listed=asked.listed,
                slip=slip,
            ),
            shown,
        )


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
        start = int(cursor_at(request, scope) or "0")
        limit = page_limit(request)
        page = list(race.entrants.values())[start : start + limit]
        items = await house.reader.entrant_views(race, page)
        more = start + limit < race.total
        return reply(
            {
                "items": items,
                "next": cursor_text(scope, str(start + limit)) if more else None,
                "total": race.total,
            }
        )

    async def post(self, request: Request) -> Response:
        races, race_id = house_of(request).races, path_id(request)
        return await _ordered(request, "play", lambda who, slip: races.join(race_id, who, slip))


class MyEntry(Endpoint):
    """`/v1/races/{id}/entrants/me`"""

    async def patch(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        who = await player(request, "play")
        asked = await sent(request, Ready)
        race = await carried_out(house.races.ready(race_id, who.id, asked.ready))
        return reply(house.reader.still_view(race, who.id))

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
        who = await viewer(request)
        race = await house.reader.race(path_id(request))
        scope = f"standings {race.header.id}"
        start = int(cursor_at(request, scope) or "0")
        limit = page_limit(request)
        rows = standings(await house.reader.results(race), race.header.ranking)
        page = around(rows, start, limit, who, house.now())
        following = None if page.next is None else cursor_text(scope, page.next)
        return reply(
            {
                "items": page.items,
                "next": following,
                "total": page.total,
                "as_of": page.as_of,
                "me": page.me,
            }
        )


class ProofOf(Endpoint):
    """`/v1/races/{id}/proof`"""

    async def get(self, request: Request) -> Response:
        house, race_id = house_of(request), path_id(request)
        scope = f"proof {race_id}"
        start = int(cursor_at(request, scope) or "0")
        proof = await house.reader.proof(race_id, start, page_limit(request))
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
    Route("/races/{id}/standings", Standings),
    Route("/races/{id}/proof", ProofOf),
]
