"""A live race as the fold of its events, and what time owes it."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.contest import events as e
from service.contest import refusals as r
from service.contest.play import TIMEOUT_GRACE_MS
from service.contest.player import Player
from service.contest.race import IDLE_LOBBY_MS, LATE_START_MS, NOTHING, Due, Ended, Race, fold
from service.contest.race_header import RaceHeader

COUNTDOWN_MS = 5_000
LIMIT_MS = 60_000
SEED = "the-secret"
PLAYERS = [Player(name, name.title(), "guest") for name in ("anna", "boris", "clara", "dmitri")]
ANNA, BORIS, CLARA, DMITRI = PLAYERS


def header(**changes):
    values = {
        **{"id": "race", "game": "kings-way", "kind": "live", "name": None, "creator": ANNA},
        **{"deal_version": 1, "commitment": "c" * 64, "certified": False, "rules_version": 1},
        **{"ranking": "time", "capacity": 3, "time_limit_ms": LIMIT_MS, "rated": True},
        **{"listed": True, "created_at": 1_000},
    }
    return RaceHeader(**{**values, **changes})


def appended(race, events, now):
    at = max(race.at, now)
    return fold(race, [e.Logged(race.v + n, at, event) for n, event in enumerate(events, 1)])


def lobby(*players, now=1_000, **changes):
    """A lobby of Anna and others."""
    race = appended(Race(header(**changes)), (e.Created(), e.EntrantJoined(ANNA)), now)
    for player in players:
        race = appended(race, race.join(player), now)
    return race


def running(*players, now=1_000):
    """A race that has started at the instant planned, and when that was."""
    race = lobby(*players, now=now)
    race = appended(race, race.start(ANNA.id, now, COUNTDOWN_MS), now)
    starts_at = race.starts_at
    return appended(race, race.due({}, starts_at, SEED, ids()).events, starts_at)


def ids():
    return (f"play-{n}" for n in itertools.count())


def ended(status="resigned", score=0):
    return Ended(status, score, 0, 0, True)


# What players ask for


def test_the_maker_is_host_and_first_entrant():
    race = lobby()
    assert (race.state, race.host, race.v, race.total) == ("lobby", ANNA.id, 2, 1)
    assert list(race.entrants) == [ANNA.id]


def test_joining():
    race = lobby(BORIS)
    assert race.join(BORIS) == ()
    assert race.join(CLARA) == (e.EntrantJoined(CLARA),)
    full = lobby(BORIS, CLARA)
    with pytest.raises(r.RaceFull):
        full.join(DMITRI)
    assert full.join(CLARA) == ()


def test_leaving_hands_the_host_on_and_empties_the_race():
    race = lobby(BORIS, CLARA)
    assert race.leave(BORIS.id, SEED, 0, COUNTDOWN_MS) == (e.EntrantLeft(BORIS.id),)
    gone = race.leave(ANNA.id, SEED, 0, COUNTDOWN_MS)
    assert gone == (e.EntrantLeft(ANNA.id), e.HostChanged(BORIS.id))
    race = appended(race, gone, 2_000)
    assert race.host == BORIS.id
    race = appended(race, race.leave(BORIS.id, SEED, 0, COUNTDOWN_MS), 2_000)
    last = race.leave(CLARA.id, SEED, 0, COUNTDOWN_MS)
    assert last == (e.EntrantLeft(CLARA.id), e.Cancelled("empty", SEED))
    race = appended(race, last, 2_000)
    assert (race.state, race.seed, race.ended_at) == ("cancelled", SEED, 2_000)
    with pytest.raises(r.RaceOver):
        race.leave(CLARA.id, SEED, 0, COUNTDOWN_MS)


def test_all_ready_begins_the_countdown():
    alone = lobby()
    assert alone.ready(ANNA.id, True, 0, COUNTDOWN_MS) == (e.EntrantReady(ANNA.id, True),)
    race = lobby(BORIS)
    race = appended(race, race.ready(BORIS.id, True, 0, COUNTDOWN_MS), 0)
    assert race.ready(BORIS.id, True, 0, COUNTDOWN_MS) == ()
    both = race.ready(ANNA.id, True, 7_000, COUNTDOWN_MS)
    assert both == (e.EntrantReady(ANNA.id, True), e.Countdown(12_000))


def test_when_those_who_stay_are_ready_the_countdown_begins():
    race = lobby(BORIS, CLARA)
    for player in (BORIS, CLARA):
        race = appended(race, race.ready(player.id, True, 0, COUNTDOWN_MS), 0)
    assert race.leave(ANNA.id, SEED, 7_000, COUNTDOWN_MS) == (
        e.EntrantLeft(ANNA.id),
        e.HostChanged(BORIS.id),
        e.Countdown(12_000),
    )
    # With one left there is nobody to race against.
    assert race.leave(BORIS.id, SEED, 7_000, COUNTDOWN_MS) == (e.EntrantLeft(BORIS.id),)
    pair = lobby(BORIS)
    pair = appended(pair, pair.ready(BORIS.id, True, 0, COUNTDOWN_MS), 0)
    assert e.Countdown(12_000) not in pair.leave(ANNA.id, SEED, 7_000, COUNTDOWN_MS)


def test_a_countdown_is_not_begun_again_by_leaving():
    race = lobby(BORIS, CLARA)
    for player in (BORIS, CLARA):
        race = appended(race, race.ready(player.id, True, 0, COUNTDOWN_MS), 0)
    race = appended(race, race.start(ANNA.id, 0, COUNTDOWN_MS), 0)
    assert race.leave(ANNA.id, SEED, 1, COUNTDOWN_MS) == (
        e.EntrantLeft(ANNA.id),
        e.HostChanged(BORIS.id),
    )


def test_starting_and_cancelling_are_the_hosts():
    race = lobby(BORIS)
    for command in (
        lambda: race.start(BORIS.id, 0, COUNTDOWN_MS),
        lambda: race.start("nobody", 0, COUNTDOWN_MS),
        lambda: race.cancel(BORIS.id, SEED),
    ):
        with pytest.raises(r.NotHost):
            command()
    assert race.start(ANNA.id, 7_000, COUNTDOWN_MS) == (e.Countdown(12_000),)
    counting = appended(race, race.start(ANNA.id, 7_000, COUNTDOWN_MS), 7_000)
    assert counting.start(ANNA.id, 8_000, COUNTDOWN_MS) == ()
    cancelled = appended(counting, counting.cancel(ANNA.id, SEED), 8_000)
    assert cancelled.cancel(ANNA.id, SEED) == ()
    assert (cancelled.state, cancelled.seed) == ("cancelled", SEED)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (lambda race: race.join(DMITRI), r.RaceStarted),
        (lambda race: race.leave(ANNA.id, SEED, 0, 0), r.RaceStarted),
        (lambda race: race.leave(DMITRI.id, SEED, 0, 0), r.NotEntrant),
        (lambda race: race.ready(ANNA.id, True, 0, 0), r.RaceStarted),
        (lambda race: race.start(ANNA.id, 0, 0), r.RaceStarted),
        (lambda race: race.cancel(ANNA.id, SEED), r.RaceStarted),
    ],
)
def test_once_it_runs_the_lobby_is_closed(command, error):
    race = running(BORIS)
    with pytest.raises(error):
        command(race)
    plays = {ANNA.id: ended(), BORIS.id: ended()}
    over = appended(race, race.due(plays, race.at, SEED, ids()).events, race.at)
    assert over.state == "ended"
    with pytest.raises(r.RaceOver):
        command(over)


def test_open_races_have_no_lobby():
    race = Race(header(kind="open", creator=None, opens_at=5_000, closes_at=9_000))
    race = appended(race, (e.Created(),), 1_000)
    assert race.state == "scheduled"
    for command in (
        lambda: race.join(ANNA),
        lambda: race.leave(ANNA.id, SEED, 0, 0),
        lambda: race.ready(ANNA.id, True, 0, 0),
        lambda: race.start(ANNA.id, 0, 0),
    ):
        with pytest.raises(r.WrongKind):
            command()
    assert race.due({}, 4_999, SEED, ids()) == NOTHING
    opened = race.due({}, 5_000, SEED, ids())
    assert opened.events == (e.Opened(),)
    assert appended(race, opened.events, 5_000).state == "running"


def test_versions_follow_one_another():
    race = lobby()
    for v in (race.v - 1, race.v, race.v + 2):
        with pytest.raises(ValueError, match="does not follow"):
            race.after(e.Logged(v, 0, e.EntrantJoined(BORIS)))


# What time asks for


def test_an_idle_lobby_is_cancelled():
    race = lobby()
    hour = race.at + IDLE_LOBBY_MS
    assert race.next_due == hour
    assert race.due({}, hour - 1, SEED, ids()) == NOTHING
    assert race.due({}, hour, SEED, ids()).events == (e.Cancelled("idle", SEED),)
    # Whatever happens in it puts that off.
    busy = appended(race, race.join(BORIS), hour - 1)
    assert busy.due({}, hour, SEED, ids()) == NOTHING


def test_the_start_opens_a_play_for_everybody():
    race = lobby(BORIS)
    race = appended(race, race.start(ANNA.id, 1_000, COUNTDOWN_MS), 1_000)
    assert race.next_due == race.starts_at == 6_000
    assert race.due({}, 5_999, SEED, ids()) == NOTHING
    for now in (6_000, 6_000 + LATE_START_MS):
        (started,) = race.due({}, now, SEED, ids()).events
        assert started == e.Started(6_000, {ANNA.id: "play-0", BORIS.id: "play-1"})
    after = appended(race, (started,), 6_100)
    assert (after.state, after.starts_at, after.deadline_at) == ("running", 6_000, 66_000)
    assert after.entrants[BORIS.id].play == "play-1"


def test_a_start_long_overdue_counts_from_when_it_is_carried_out():
    race = lobby(BORIS)
    race = appended(race, race.start(ANNA.id, 1_000, COUNTDOWN_MS), 1_000)
    late = 6_000 + LATE_START_MS + 1
    (started,) = race.due({}, late, SEED, ids()).events
    assert started.starts_at == late


def test_time_is_up_half_a_second_after_the_deadline():
    race = running(BORIS)
    plays = {ANNA.id: None, BORIS.id: None}
    limit = race.deadline_at + TIMEOUT_GRACE_MS
    assert race.next_due == limit
    assert race.due(plays, limit - 1, SEED, ids()) == NOTHING
    due = race.due(plays, limit, SEED, ids())
    assert due == Due(("play-0", "play-1"), ())
    # One has ended meanwhile: the other's time is still up.
    due = race.due({ANNA.id: ended("stuck", 3), BORIS.id: None}, limit, SEED, ids())
    assert due.timeouts == ("play-1",)
    assert due.events == (e.EntrantEnded(ANNA.id, "stuck", 3, 0, 0, True),)


def test_the_last_two_ends_at_once_end_the_race_once():
    race = running(BORIS)
    plays = {ANNA.id: ended(), BORIS.id: ended()}
    due = race.due(plays, race.at, SEED, ids())
    assert [type(event) for event in due.events] == [e.EntrantEnded, e.EntrantEnded, e.RaceEnded]
    half = appended(race, due.events[:1], race.at)
    assert half.due(plays, race.at, SEED, ids()).events == due.events[1:]
    # A crash between the two: what was not appended is owed still.
    both = appended(race, due.events[:2], race.at)
    assert both.due(plays, race.at, SEED, ids()).events == due.events[2:]
    over = appended(race, due.events, race.at)
    assert over.due(plays, race.at + 10**9, SEED, ids()) == NOTHING
    assert (over.state, over.seed, over.total, over.next_due) == ("ended", SEED, 2, None)
    assert [row.player for row in over.standings()] == [ANNA, BORIS]


PHASES = {"lobby": 0, "countdown": 1, "running": 2, "ended": 3, "cancelled": 3}
WHO = st.sampled_from(PLAYERS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["join", "leave", "ready", "unready", "start", "cancel"]), WHO),
        st.tuples(st.just("end"), WHO),
        st.tuples(
            st.just("wait"), st.sampled_from([1, 400, COUNTDOWN_MS, LIMIT_MS, IDLE_LOBBY_MS])
        ),
        st.tuples(st.just("due"), st.none()),
    ),
    max_size=50,
)


def holds(race):
    """What is true of a race after whatever has happened."""
    assert race.total == len(race.entrants) <= race.header.capacity
    assert (race.seed is not None) == race.over == (race.ended_at is not None)
    assert (race.starts_at is None) or race.state != "lobby"
    if race.state != "cancelled":
        assert race.host in race.entrants
    playing = race.state in ("running", "ended")
    for entrant in race.entrants.values():
        assert (entrant.play is not None) == playing
        assert entrant.ended is None or playing
    if race.state == "ended":
        assert all(entrant.ended for entrant in race.entrants.values())
    assert (race.next_due is None) == race.over


@settings(deadline=None, max_examples=300)
@given(STEPS)
def test_any_interleaving_keeps_the_race_whole(steps):
    """Commands, ends of plays and the passing of time, in any order; `due` asked at any time."""
    now, log = 1_000, []
    race = Race(header())
    plays = {}
    fresh = ids()

    def append(events):
        nonlocal race
        before = race
        for event in events:
            log.append(e.Logged(race.v + 1, max(race.at, now), event))
            race = race.after(log[-1])
        assert race.v == before.v + len(events)
        assert PHASES[race.state] >= PHASES[before.state]
        if before.over:
            assert race == before
        holds(race)

    append((e.Created(), e.EntrantJoined(ANNA)))
    for step, what in steps:
        before = race
        try:
            match step:
                case "join":
                    append(race.join(what))
                case "leave":
                    append(race.leave(what.id, SEED, now, COUNTDOWN_MS))
                case "ready" | "unready":
                    append(race.ready(what.id, step == "ready", now, COUNTDOWN_MS))
                case "start":
                    append(race.start(what.id, now, COUNTDOWN_MS))
                case "cancel":
                    append(race.cancel(what.id, SEED))
                case "wait":
                    now += what
                case "end" if what.id in plays:
                    plays[what.id] = plays[what.id] or ended()
                case "due":
                    due = race.due(plays, now, SEED, fresh)
                    append(due.events)
                    for event in due.events:
                        if isinstance(event, e.Started):
                            plays = dict.fromkeys(event.plays)
                    # What was owed and is carried out is owed no more; only time's own ends are.
                    again = race.due(plays, now, SEED, fresh)
                    assert again.events == ()
                    assert again.timeouts == due.timeouts
                    for play in due.timeouts:
                        (key,) = [k for k, v in race.entrants.items() if v.play == play]
                        plays[key] = ended("timed_out")
        except r.RaceError:
            assert race == before
    assert fold(Race(header()), log) == race
    # Left alone, it comes to its end by itself.
    for _ in range(6):
        if race.over:
            break
        now = max(now, race.next_due)
        due = race.due(plays, now, SEED, fresh)
        append(due.events)
        for event in due.events:
            if isinstance(event, e.Started):
                plays = dict.fromkeys(event.plays)
        for play in due.timeouts:
            (key,) = [k for k, v in race.entrants.items() if v.play == play]
            plays[key] = ended("timed_out")
    assert race.over
    kinds = [type(logged.event) for logged in log]
    assert kinds.count(e.RaceEnded) + kinds.count(e.Cancelled) == 1
    assert kinds.count(e.Started) <= 1
    assert kinds.count(e.Countdown) <= 1
    assert isinstance(log[-1].event, e.RaceEnded | e.Cancelled)


# House bots


def test_what_the_host_asks_for_last_counts_for_each_level():
    race = lobby(capacity=4)
    race = appended(race, race.ask_bots(ANNA.id, "easy", 2), 2_000)
    race = appended(race, race.ask_bots(ANNA.id, "sharp", 1), 2_000)
    assert race.bots == {"easy": 2, "sharp": 1}
    assert race.ask_bots(ANNA.id, "sharp", 1) == ()
    race = appended(race, race.ask_bots(ANNA.id, "easy", 1), 2_000)
    assert race.bots == {"easy": 1, "sharp": 1}


def test_bots_that_have_come_take_the_places_that_were_asked_for():
    race = lobby(BORIS, capacity=4)
    race = appended(race, race.ask_bots(ANNA.id, "easy", 2), 2_000)
    race = appended(race, race.join(Player("b", "easy-Sage-1", "bot")), 2_000)
    assert race.ask_bots(ANNA.id, "easy", 2) == ()
    with pytest.raises(r.RaceFull):
        race.ask_bots(ANNA.id, "steady", 1)


def test_who_may_ask_for_bots_and_when():
    with pytest.raises(r.NotHost):
        lobby(BORIS).ask_bots(BORIS.id, "easy", 1)
    with pytest.raises(r.RaceStarted):
        running(BORIS).ask_bots(ANNA.id, "easy", 1)
    race = lobby()
    with pytest.raises(r.RaceOver):
        appended(race, race.cancel(ANNA.id, SEED), 2_000).ask_bots(ANNA.id, "easy", 1)
