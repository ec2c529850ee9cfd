"""The list of races: read anew at every look, and only what differs is told."""

import asyncio

from service.feed import lobby as feed
from tests.feed.conftest import Ear

ASKED = {
    "name": None,
    "capacity": 8,
    "time_limit_ms": 600_000,
    "ranking": "time",
    "rated": True,
    "listed": True,
}


async def _race(house, **changes):
    house.time.now += 1  # ids follow it
    race = await house.races.create_live(await house.player(), "kings-way", **(ASKED | changes))
    return race.header.id


async def _watch(house, ear=None):
    ear = ear or Ear()
    return ear, await house.process.hub.lobby.watch(ear, ear.greet)


def _ids(snapshot):
    return [race["id"] for race in snapshot["races"]]


async def test_nothing_is_missed_between_the_snapshot_and_the_first_event(house):
    ears = [Ear() for _ in range(5)]

    async def come_while_races_are_made():
        for ear in ears:
            await _watch(house, ear)

    async def make():
        return [await _race(house) for _ in range(5)]

    _, made = await asyncio.gather(come_while_races_are_made(), make())
    for ear in ears:
        assert [frame["op"] for frame in ear.heard[:2]] == ["watching", "snapshot"]

        def held(ear=ear):
            return {*_ids(ear.snapshots[-1]), *(event["race"]["id"] for event in ear.events)}

        await ear.until(lambda held=held: held() == set(made))


async def test_another_process_is_heard_of_without_a_bus(houses):
    here, there = await houses(2)
    ear, _watcher = await _watch(here)
    race = await _race(there)
    assert ear.events == []
    await here.process.hub.compare()
    await ear.until(lambda: ear.events)
    assert ear.events[0]["race"]["id"] == race
    creator = ear.events[0]["race"]["host"]["id"]
    await there.races.leave(race, creator)
    await here.process.hub.compare()
    await ear.until(lambda: len(ear.events) == 2)
    assert ear.events[1] == {"type": "race-removed", "race": race}


async def test_a_look_at_what_has_not_changed_says_nothing(house):
    await _race(house)
    ear, _watcher = await _watch(house)
    heard = list(ear.heard)
    for _ in range(3):
        await house.process.hub.lobby._read_from_now()
    assert ear.heard == heard


async def test_an_open_race_tells_of_each_entrant_until_it_ends(house):
    ear, _watcher = await _watch(house)
    race = await house.open_race()
    await ear.until(lambda: ear.events)
    assert (ear.events[0]["race"]["state"], ear.events[0]["race"]["total"]) == ("running", 0)
    player = await house.player()
    play = await house.enter(player, race)
    await ear.until(lambda: ear.events[-1]["race"]["total"] == 1)
    await house.finish(player, play.header.id)
    house.time.now = race.header.closes_at + 600_000
    await house.settle(race)
    await ear.until(lambda: ear.events[-1]["type"] == "race-removed")


async def test_the_newest_fifty(house):
    made = [await _race(house, capacity=1) for _ in range(feed.SHOWN + 3)]
    ear, _watcher = await _watch(house)
    assert _ids(ear.snapshots[0]) == made[::-1][: feed.SHOWN]
    # One more pushes the oldest out; one that goes lets it in again.
    new = await _race(house)
    await ear.until(lambda: len(ear.events) == 2)
    assert ear.events[0] == {"type": "race-removed", "race": made[3]}
    assert ear.events[1]["race"]["id"] == new
    await house.races.cancel(new, ear.events[1]["race"]["host"]["id"])
    await ear.until(lambda: len(ear.events) == 4)
    assert ear.events[2] == {"type": "race-removed", "race": new}
    assert ear.events[3]["race"]["id"] == made[3]


async def test_much_at_once_is_a_snapshot(houses):
    here, there = await houses(2)
    ear, _watcher = await _watch(here)
    made = [await _race(there) for _ in range(feed.MANY + 1)]
    await here.process.hub.compare()
    await ear.until(lambda: len(ear.snapshots) == 2)
    assert _ids(ear.snapshots[1]) == made[::-1]
    assert ear.events == []


async def test_the_whole_list_fits_into_a_frame(house):
    players = await house.players(40)
    name = "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 60
    for _ in range(feed.SHOWN):
        race = await _race(house, capacity=1_000, name=name)
        for player in players[: feed.SHOWN_ENTRANTS]:
            await house.races.join(race, player)
    frames = []
    ear = Ear()
    ear.send = frames.append
    await house.process.hub.lobby.watch(ear, lambda: None)
    assert len(frames[0].encode()) < 128 * 1024


async def test_a_closed_watcher_hears_nothing_and_the_last_ends_the_looking(house):
    lobby = house.process.hub.lobby
    gone, watcher = await _watch(house)
    stays, other = await _watch(house)
    watcher.close()
    race = await _race(house)
    await stays.until(lambda: stays.events)
    assert gone.events == []
    other.close()
    assert "lobby" not in house.process.bus._listeners
    await house.races.cancel(race, stays.events[0]["race"]["host"]["id"])
    lobby.look()
    assert len(stays.events) == 1
    # Whoever comes then finds the list as it is.
    ear, _watcher = await _watch(house)
    assert _ids(ear.snapshots[0]) == []


async def test_many_who_come_at_once_share_a_reading(house):
    await _race(house)
    lobby = house.process.hub.lobby
    before = lobby._reads
    watched = await asyncio.gather(*(_watch(house) for _ in range(100)))
    assert lobby._reads - before <= 3
    assert all(len(_ids(ear.snapshots[0])) == 1 for ear, _watcher in watched)
