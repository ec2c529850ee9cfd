"""Plays: practice, moves, resignation, logs."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.accounts.limits import PLAYS
from service.api.errors import Malformed
from service.api.house import House, house_of
from service.api.http import (
    PRIVATE,
    Endpoint,
    body_bytes,
    carried_out,
    cursor_id,
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
from service.api.messages import NewMove, NewPlay, Nothing
from service.contest.play import Play, Status
from service.feed.views import PlayView, play_view
from service.referee.plays import Answer
from service.storage import plays as stored
from service.storage.ids import is_id
from service.storage.shelf import NotFound

STATUSES = ("playing", "solved", "stuck", "resigned", "timed_out", "ended")


def _delta(answer: Answer) -> Response:
    return Response(answer.json, 200, PRIVATE, media_type="application/json")


class Plays(Endpoint):
    """`/v1/plays`"""

    async def post(self, request: Request) -> Response:
        house = house_of(request)
        who = await player(request, "play", PLAYS)
        body = await body_bytes(request)
        asked = parsed(request, body, NewPlay)

        def shown(play: Play) -> Response:
            view = play_view(play, "full", None, play.header.started_at)
            return reply(view, 201, {"Location": f"/v1/plays/{view.id}"})

        return await once(
            request,
            who,
            body,
            lambda slip: house.plays.practise(who, asked.game, asked.seed, slip),
            shown,
        )


class OnePlay(Endpoint):
    """`/v1/plays/{id}`"""

    async def get(self, request: Request) -> Response:
        who = await viewer(request)
        return reply(await house_of(request).reader.play_view(path_id(request), who))


class Moves(Endpoint):
    """`/v1/plays/{id}/moves`"""

    async def get(self, request: Request) -> Response:
        who = await viewer(request)
        after = whole(request, "after", 0, 0, 10_000)
        items, following = await house_of(request).reader.log(
            path_id(request), who, after, whole(request, "limit", 100, 1, 500)
        )
        return reply({"items": items, "next": following})

    async def post(self, request: Request) -> Response:
        house = house_of(request)
        stamp = house.now()
        who = await player(request, "play")
        asked = await sent(request, NewMove)
        play_id = path_id(request)
        return _delta(
            await carried_out(
                house.plays.move(who.id, play_id, asked.ply, asked.move, asked.id, stamp)
            )
        )


class Resign(Endpoint):
    """`/v1/plays/{id}/resign`"""

    async def post(self, request: Request) -> Response:
        house = house_of(request)
        stamp = house.now()
        who = await player(request, "play")
        body, _ = await sent_or(request, Nothing, Nothing())
        play_id = path_id(request)
        return await once(
            request,
            who,
            body,
            lambda slip: house.plays.resign(who.id, play_id, stamp, slip),
            _delta,
        )


class HintFor(Endpoint):
    """`/v1/plays/{id}/hint`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        who = await player(request, "play")
        play, found = await carried_out(house.insight.hint(who.id, path_id(request)))
        return reply({"ply": play.ply, "hint": found.hint, "move": found.move})


class AnalysisOf(Endpoint):
    """`/v1/plays/{id}/analysis`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        who = await viewer(request)
        play = await house.reader.open_play(path_id(request), who)
        data = await carried_out(house.insight.analysis(play))
        return Response(data, 200, PRIVATE, media_type="application/json")


async def page_of(house: House, request: Request, player_id: str, who: str | None) -> Response:
    """A page of a player's plays, the latest first, as the viewer may see them."""
    own = who == player_id
    asked = one_of(request, "status", STATUSES)
    race = request.query_params.get("race")
    if race is not None and not is_id(race):
        raise Malformed("race must be the id of a race")
    scope = f"plays {player_id} {own} {asked} {race}"
    limit = page_limit(request)
    statuses: list[Status] | None = None
    if asked == "ended":
        statuses = ["solved", "stuck", "resigned", "timed_out"]
    elif asked is not None:
        statuses = [asked]  # type: ignore[list-item]
    async with house.database.read() as connection:
        rows = await stored.page_of_player(
            connection,
            player_id,
            before=cursor_id(request, scope),
            limit=limit + 1,
            statuses=statuses,
            race=race,
            open_only=not own,
        )
    items: list[PlayView] = [
        await house.reader.play_view(row.header.id, who) for row in rows[:limit]
    ]
    more = len(rows) > limit
    return reply({"items": items, "next": cursor_text(scope, items[-1].id) if more else None})


class MyPlays(Endpoint):
    """`/v1/me/plays`"""

    async def get(self, request: Request) -> Response:
        who = await player(request, "read")
        return await page_of(house_of(request), request, who.id, who.id)


class PlayersPlays(Endpoint):
    """`/v1/players/{id}/plays`"""

    async def get(self, request: Request) -> Response:
        house = house_of(request)
        player_id = path_id(request)
        who = await viewer(request)
        if await house.accounts.player(player_id) is None:
            raise NotFound
        return await page_of(house, request, player_id, who)


routes = [
    Route("/plays", Plays),
    Route("/plays/{id}", OnePlay),
    Route("/plays/{id}/moves", Moves),
    Route("/plays/{id}/resign", Resign),
    Route("/plays/{id}/hint", HintFor),
    Route("/plays/{id}/analysis", AnalysisOf),
    Route("/me/plays", MyPlays),
    Route("/players/{id}/plays", PlayersPlays),
]
