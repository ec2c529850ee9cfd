"""Players, their names and tokens."""

import asyncio

import pytest

from service.contest.player import Player
from service.storage import players
from service.storage.ids import new_id
from service.storage.players import NameTaken
from tests.storage.rows import a_player


async def read(database, query, *arguments):
    async with database.read() as connection:
        return await query(connection, *arguments)


async def test_created_and_found(database):
    ann = Player(new_id(1), "Ann_1", "human")
    await database.transact(lambda c: players.create(c, ann, "a hash", 5))
    assert await read(database, players.by_id, ann.id) == ann
    assert await read(database, players.by_name, "aNN_1") == (ann, "a hash")
    assert await read(database, players.by_id, new_id(2)) is None
    assert await read(database, players.by_name, "Ann") is None


async def test_names_are_unique_without_regard_to_case(database):
    await a_player(database, "Ann")
    with pytest.raises(NameTaken):
        await a_player(database, "aNN")


async def test_twenty_for_one_name_at_once(database):
    made = [a_player(database, "Ann" if n % 2 else "ANN") for n in range(20)]
    done = await asyncio.gather(*made, return_exceptions=True)
    assert sum(isinstance(each, Player) for each in done) == 1
    assert sum(isinstance(each, NameTaken) for each in done) == 19


async def test_a_taken_name_leaves_the_transaction_alive(database):
    await a_player(database, "Ann")
    bob = await a_player(database, "Bob")

    async def work(connection) -> Player:
        cid = Player(new_id(3), "ann", "guest")
        with pytest.raises(NameTaken):
            await players.create(connection, cid, None, 1)
        with pytest.raises(NameTaken):
            await players.claim(connection, Player(bob.id, "ANN", "human"), "hash")
        cid = Player(cid.id, "Cid", "guest")
        await players.create(connection, cid, None, 1)
        return cid

    cid = await database.transact(work)
    assert await read(database, players.by_id, cid.id) == cid
    assert await read(database, players.by_id, bob.id) == bob


async def test_only_a_guest_is_claimed_and_only_once(database):
    guest = await a_player(database, "guest-1")
    claims = [Player(guest.id, name, "human") for name in ("Ann", "Bob", "Ann")]
    done = await asyncio.gather(
        *(database.transact(lambda con, c=claim: players.claim(con, c, "hash")) for claim in claims)
    )
    assert sorted(done) == [False, False, True]
    assert (await read(database, players.by_id, guest.id)).kind == "human"
    nobody = Player(new_id(9), "Cid", "human")
    assert not await database.transact(lambda c: players.claim(c, nobody, "hash"))


async def test_a_guest_may_claim_another_case_of_its_own_name(database):
    guest = await a_player(database, "ann")
    assert await database.transact(
        lambda c: players.claim(c, Player(guest.id, "Ann", "human"), "hash")
    )


async def test_tokens(database):
    ann = await a_player(database, "Ann")
    ids = [new_id(n) for n in range(3)]

    async def add(connection) -> None:
        for n, token_id in enumerate(ids[:2]):
            scopes = frozenset({"play", "read"})
            await players.add_token(connection, token_id, ann.id, bytes([n]) * 32, scopes, 1)

    await database.transact(add)
    token = await read(database, players.token_by_digest, bytes(32), 2)
    assert token == players.Token(ids[0], ann, frozenset({"read", "play"}))
    assert await read(database, players.token_by_digest, b"?" * 32, 2) is None
    assert await read(database, players.revoked, ids, 2) == {ids[2]}
    bob = await a_player(database, "Bob")
    assert await database.transact(lambda c: players.revoke_token(c, ids[0], 2, bob.id)) is False
    assert await database.transact(lambda c: players.revoke_token(c, ids[0], 2)) is True
    assert await database.transact(lambda c: players.revoke_token(c, ids[0], 3)) is False
    assert await read(database, players.token_by_digest, bytes(32), 3) is None
    assert await read(database, players.revoked, ids, 3) == {ids[0], ids[2]}
    assert await read(database, players.revoked, [], 3) == set()
