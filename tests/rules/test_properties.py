"""What holds in every position of every game, over whole random games of both."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rules import GAMES, RULES_VERSION, IllegalMove, start
from service.rules.game import Moved, Packed, Pile, Revealed
from service.rules.kings_way import KingsWay
from tests.rules.table import (
    NAMES,
    PACKS,
    VOCABULARY,
    Game,
    all_cards,
    encoded,
    expected_legal,
    is_play,
    play,
)

by_game = pytest.mark.parametrize("name", NAMES)
thorough = settings(deadline=None, max_examples=40)

seeds = st.text("abcXYZ0189-_", min_size=1, max_size=12)
# A number, not `st.randoms()`: a game takes hundreds of draws, a board's shuffle a hundred more.
randoms = st.integers(0, 2**32 - 1).map(Random)


def random_game(name: str, seed: str, random, eagerness: int) -> Game:
    """A player that prefers to play a card `eagerness` times in ten; 10 goes deepest."""

    def policy(_position, legal):
        plays = [move for move in legal if is_play(move)]
        eager = plays and random.randrange(10) < eagerness
        return random.choice(plays if eager else legal)

    return play(name, seed, policy)


def games(name: str) -> st.SearchStrategy[Game]:
    return st.builds(random_game, st.just(name), seeds, randoms, st.integers(0, 10))


def over_games(test):
    """The test for each game, over random games played to their end."""

    @by_game
    @given(data=st.data())
    @thorough
    def over(name, data):
        test(data.draw(games(name)))

    over.__name__, over.__doc__ = test.__name__, test.__doc__
    return over


@over_games
def test_there_are_104_cards_always(game):
    for position in game.positions:
        assert all_cards(position) == PACKS
        board = position.board()
        assert sum(pile.down + len(pile.up) for pile in board.piles.values()) == 104


@over_games
def test_legal_is_what_the_rulings_say_sorted_and_without_repeats(game):
    for position in game.positions:
        legal = position.legal()
        assert list(legal) == expected_legal(game.name, position.board())
        assert list(legal) == sorted(set(legal))


@by_game
@given(data=st.data())
@settings(deadline=None, max_examples=15)
def test_legal_if_and_only_if_accepted_over_the_whole_vocabulary(name, data):
    game = data.draw(games(name))
    for position in game.positions:
        legal = position.legal()
        assert set(legal) <= set(VOCABULARY[name])
        for move in VOCABULARY[name]:
            if move in legal:
                assert position.apply(move) == position.apply_unchecked(move)
            else:
                with pytest.raises(IllegalMove) as refused:
                    position.apply(move)
                assert (refused.value.move, refused.value.legal) == (move, legal)


@over_games
def test_a_replay_is_the_game_as_it_was_played(game):
    position = start(game.name, game.seed)
    for move, step in zip(game.moves, game.steps, strict=True):
        before = encoded(position)
        again = position.apply(move)
        assert again == step
        assert hash(again.position) == hash(step.position)
        assert encoded(position) == before  # what it was is not touched
        position = again.position


@over_games
def test_applying_the_changes_to_the_board_before_gives_the_board_after(game):
    board = start(game.name, game.seed).board()
    for step in game.steps:
        board = board.after(step.changes, step.position.turns)
        assert board == step.position.board()
        assert encoded(board) == encoded(step.position.board())


@over_games
def test_every_game_ends_solved_or_stuck_within_the_bound(game):
    """`play` fails beyond the bound; here: what the end is, and that only the end is one."""
    rules = GAMES[game.name]
    assert len(game.moves) <= rules.max_moves
    *before, end = game.positions
    assert not any(position.solved for position in before)
    assert end.legal() == ()
    assert end.solved == (end.score == rules.goal)


@over_games
def test_the_score_never_falls_and_grows_by_one_at_most(game):
    scores = [position.score for position in game.positions]
    assert scores[0] == 0
    assert all(after - before in (0, 1) for before, after in pairwise(scores))
    assert scores[-1] <= GAMES[game.name].goal


@over_games
def test_turns_tell_what_can_still_be_turned(game):
    passes = {"kings-way": 2, "royal-mullein": 3}[game.name]
    for position in game.positions:
        pass_, pass_left, redeals_left = position.turns
        assert pass_ + redeals_left == passes
        assert 0 <= pass_left <= len(position.stock)
        assert ("turn" in position.legal()) == (pass_left > 0 and not position.solved)
    redeals = game.moves.count("redeal")
    assert game.end.turns.pass_ == 1 + redeals <= passes


@over_games
def test_changes_are_those_of_the_move(game):
    """The card, the piles and the order of every change, from the text of the move."""
    before = start(game.name, game.seed)
    for move, step in zip(game.moves, game.steps, strict=True):
        first, *more = step.changes
        was, now = before.board().piles, step.position.board().piles
        if move == "redeal":
            assert first == Packed("w", "s", now["s"].down - was["s"].down)
        elif move == "turn":
            assert isinstance(first, Moved)
            assert (first.card, first.from_) == (before.stock[0], "s")
            assert first.to == "w" or (first.card[0] == "A" and first.to[0] == "a")
        else:
            source, target = move.split("-")
            assert first == Moved(was[source].up[-1], source, target)
            assert now[target].up[-1] == first.card
        if is_play(move) and game.name == "kings-way" and was[move[:2]].down:
            assert more == [Revealed(now[move[:2]].up[0], move[:2])]
        else:
            assert more == []
        before = step.position


# No hidden card in any view


def shuffled_unseen(position, random, keep_next: bool):
    """The same to a viewer, every face-down card elsewhere.

    With `keep_next` the cards that the next move could turn up stay: the first of the stock and,
    in King's Way, the one above each end card.
    """
    columns = position.columns if isinstance(position, KingsWay) else ()
    kept = 1 if keep_next else 0
    places = [("s", at) for at in range(kept, len(position.stock))]
    places += [(n, at) for n, column in enumerate(columns) for at in range(len(column) - 1 - kept)]
    piles = {"s": list(position.stock)} | {n: list(column) for n, column in enumerate(columns)}
    unseen = [piles[name][at] for name, at in places]
    random.shuffle(unseen)
    for (name, at), card in zip(places, unseen, strict=True):
        piles[name][at] = card
    after = position._replace(stock=tuple(piles.pop("s")))
    if isinstance(position, KingsWay):
        after = after._replace(columns=tuple(map(tuple, piles.values())))
    assert Counter(all_cards(after)) == PACKS
    return after


@by_game
@given(data=st.data(), random=randoms)
@thorough
def test_no_hidden_card_in_any_view(name, data, random):
    game = data.draw(games(name))
    differed = 0
    for position in game.positions[::3]:
        other = shuffled_unseen(position, random, keep_next=False)
        differed += other != position
        assert encoded(other.board()) == encoded(position.board())
        assert other.legal() == position.legal()
        assert (other.score, other.solved, other.turns) == (
            position.score,
            position.solved,
            position.turns,
        )
        with pytest.raises(IllegalMove) as refused:
            position.apply("undo")
        with pytest.raises(IllegalMove) as other_refused:
            other.apply("undo")
        assert str(refused.value) == str(other_refused.value)
    assert differed


@by_game
@given(data=st.data(), random=randoms)
@thorough
def test_a_move_tells_only_the_card_that_it_turns_up(name, data, random):
    game = data.draw(games(name))
    for position in game.positions[::3]:
        other = shuffled_unseen(position, random, keep_next=True)
        for move in position.legal():
            step, other_step = position.apply(move), other.apply(move)
            assert encoded(other_step.changes) == encoded(step.changes)
            assert encoded(other_step.position.board()) == encoded(step.position.board())


@over_games
def test_face_down_piles_are_numbers(game):
    for position in game.positions:
        board = position.board()
        assert set(board.piles) == set(GAMES[game.name].piles)
        assert board.piles["s"] == Pile(len(position.stock), ())
        for n in range(1, 9):
            if game.name == "kings-way":
                column = position.columns[n - 1]
                assert board.piles[f"c{n}"] == Pile(max(len(column) - 1, 0), column[-1:])
            else:
                assert board.piles[f"f{n}"] == Pile(0, position.families[n - 1])
                assert board.piles[f"l{n}"] == Pile(0, position.left[n - 1])


# The random games do reach what they are to test


@by_game
def test_random_games_go_deep(name):
    """Seeds of this test alone: some games solved, some stuck, every kind of move made."""
    ends = [random_game(name, f"deep-{n}", Random(n), n % 11) for n in range(55)]
    assert {game.end.solved for game in ends} == {True, False}
    kinds = {
        move if not is_play(move) else move[0] + "-" + move.split("-")[1][0]
        for game in ends
        for move in game.moves
    }
    plays = {"c-w"} if name == "kings-way" else {"w-f", "w-l", "l-f"}
    assert kinds == {"turn", "redeal"} | plays


def test_rules_version():
    """Boards, moves and ends of version 1 are fixed by the golden logs: a change needs a new one."""
    assert RULES_VERSION == 1
