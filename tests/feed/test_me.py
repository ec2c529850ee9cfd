"""What happens to a player: every piece of news once to every socket, whatever wakes are lost."""

import asyncio

from service.live.bus import Wake
from tests.feed.conftest import Ear


async def _watch(house, player):
    ear = Ear(player.id)
    return ear, await house.process.hub.me.watch(ear, ear.greet)


def _kinds(ear):
    return [event["type"] for event in ear.events]


async def test_a_race_elsewhere_is_heard_of_without_a_bus(houses):
    here, there = await houses(2)
    player, other = await there.players(2)
    ear, _watcher = await _watch(here, player)
    race = await there.live_race(player, other)
    assert ear.events == []
    await here.process.hub.compare()
    await ear.until(lambda: ear.events)
    (event,) = ear.events
    assert (event["type"], event["race"]) == ("play-started", race.header.id)
    assert event["play"]["id"] == race.entrants[player.id].play
    assert event["play"]["deal"]["seed"] is None


async def test_once_however_often_it_is_looked_at(house):
    player, other = await house.players(2)
    ear, _watcher = await _watch(house, player)
    await house.live_race(other, player)
    await ear.until(lambda: "play-started" in _kinds(ear))
    for _ in range(3):
        await house.process.hub.compare()
        await house.process.hub.me._look()
    assert _kinds(ear) in (["countdown", "play-started"], ["play-started"])
    assert len(ear.events) == len({str(event) for event in ear.events})


async def test_an_open_race_begun_on_another_device(house):
    player = await house.player()
    ear, _watcher = await _watch(house, player)
    race = await house.open_race()
    play = await house.enter(player, race)
    await ear.until(lambda: ear.events)
    assert ear.events[0]["play"]["id"] == play.header.id
    assert ear.events[0]["play"]["ply"] == 0


async def test_a_token_that_is_revoked(house):
    player = await house.player()
    ear, _watcher = await _watch(house, player)
    house.process.bus.publish(
        Wake(f"player:{player.id}", 0, b'{"type":"token-revoked","token":"x"}')
    )
    await ear.until(lambda: ear.events)
    assert ear.heard[-1] == {
        "op": "event",
        "topic": "me",
        "v": 0,
        "data": {"type": "token-revoked", "token": "x"},
    }


async def test_nothing_is_missed_between_the_snapshot_and_the_first_event(house):
    player, other = await house.players(2)
    race, *watched = await asyncio.gather(
        house.live_race(player, other), *(_watch(house, player) for _ in range(10))
    )
    play = race.entrants[player.id].play
    for ear, _watcher in watched:

        def held(ear=ear):
            told = [each["id"] for each in ear.snapshots[0]["plays"]]
            return told + [event["play"]["id"] for event in ear.events if "play" in event]

        await ear.until(lambda held=held: play in held())
        await house.process.hub.compare()
        await house.process.hub.me._look()
        assert held() == [play]


async def test_many_players_in_few_queries(house):
    players = await house.players(40)
    watched = [await _watch(house, player) for player in players]
    race = await house.live_race(*players)
    for (ear, _watcher), player in zip(watched, players, strict=True):
        await ear.until(lambda ear=ear: "play-started" in _kinds(ear))
        assert ear.events[-1]["play"]["id"] == race.entrants[player.id].play
    for _ear, watcher in watched:
        watcher.close()
    assert not any(topic.startswith("player:") for topic in house.process.bus._listeners)
    assert house.process.hub.me._watchers == {}
