"""The twin of `_royal_mullein.c` for when there is no compiler: same steps, counts and lines.

The reasoning stands in the C file; change both or neither.
"""

from collections.abc import Callable
from typing import NamedTuple

from service.solver._kings_way_py import splitmix

UNWINNABLE, SOLVED, UNKNOWN, CANCELLED = range(4)
TURN, REDEAL, TO_FAMILY, TO_LEFT, HOME = range(5)
ROWS, KING, PASSES, DEEPEST = 8, 13, 3, 8
NARROWEST, WIDEST, MOST_SEEN = 8, 32768, 262144
ONE_MOVE, ONE_ROW = 8, 2
NO_COST = 65535
TICK = 65536

Tick = Callable[[int], object]
Rows = tuple[int, ...]
Moves = tuple[int, ...]


class Ended(Exception):
    """The search must stop, with this status."""

    def __init__(self, status: int) -> None:
        self.status = status


class State(NamedTuple):
    """As in C. `rows` are kind << 8 | highest << 4 | lowest, sorted."""

    stock: int
    waste: int
    home: tuple[int, int]
    rows: Rows
    open: int
    pass_: int
    cost: int
    moves: Moves
    """Since the level before; told by the way."""

    def with_home(self, kind: int, rank: int) -> tuple[int, int]:
        one = 1 << 4 * rank
        black, red = self.home
        return (black, red + one) if kind else (black + one, red)

    def fits(self, kind: int, rank: int) -> bool:  # RM3, RM5
        home = self.home[kind] >> 4 * rank - 4
        return home >> 4 & 15 < home & 15

    def row_home(self, k: int) -> "State":
        row = self.rows[k]
        rest = self.rows[:k] + self.rows[k + 1 :]
        if row >> 4 & 15 != row & 15:
            rest = tuple(sorted((*rest, row + 1)))
        return self._replace(
            home=self.with_home(row >> 8, row & 15),
            rows=rest,
            cost=self.cost + 1,
            moves=(*self.moves, HOME << 9 | row),
        )

    def rows_home(self) -> "State":
        """All that can."""
        state, k = self, 0
        while k < len(state.rows):
            row = state.rows[k]
            if state.fits(row >> 8, row & 15):
                state, k = state.row_home(k), 0
            else:
                k += 1
        return state

    def help_home(self, kind: int, rank: int) -> "State | None":
        tries = [
            ((rank - (row & 15)) * 16 + (row >> 4 & 15) - rank, k)
            for k, row in enumerate(self.rows)
            if row >> 8 == kind and row & 15 <= rank <= row >> 4 & 15
        ]
        for _, k in sorted(tries):
            row, state = self.rows[k], self
            if not state.fits(kind, row & 15):
                helped = state.help_home(kind, (row & 15) - 1)
                if helped is None:
                    continue
                state = helped
            while row & 15 <= rank and row in state.rows:
                state = state.row_home(state.rows.index(row))
                if row & 15 == row >> 4 & 15:
                    break
                row += 1
            if state.home[kind] >> 4 * rank & 15 != self.home[kind] >> 4 * rank & 15:
                return state
        return None

    def strip(self, row: int, rank: int) -> "State | None":
        state = self
        while row & 15 < rank:
            if not state.fits(row >> 8, row & 15):
                return None
            state = state.row_home(state.rows.index(row))
            row += 1
        return state

    def needed(self) -> int:
        in_rows = sum((row >> 4 & 15) - (row & 15) + 1 for row in self.rows)
        return 2 * self.stock.bit_count() - (ROWS - self.open) + self.waste.bit_count() + in_rows

    def redealt(self) -> "State | None":  # RM7
        if self.pass_ == PASSES or (self.pass_ == 2 and not self.waste):
            return None
        return self._replace(
            stock=self.stock | self.waste,
            waste=0,
            pass_=self.pass_ + 1,
            cost=self.cost + 1,
            moves=(*self.moves, REDEAL << 9),
        )


class Search:
    """One search; `run` it once."""

    def __init__(
        self,
        cards: bytes,
        later: int,
        waste_n: int,
        home: bytes,
        rows: bytes,
        open: int,
        pass_: int,
        budget: int = 0,
        first_only: int = 0,
        tick: Tick | None = None,
    ) -> None:
        self.later, self.budget, self.first_only, self.tick = later, budget, first_only, tick
        self.kind = [card >> 4 for card in cards]
        self.rank = [card & 15 for card in cards]
        self.copies = [[0] * (KING + 2) for _ in range(2)]
        for n, card in enumerate(cards):
            if card & 15 > 1:
                self.copies[card >> 4][card & 15] |= 1 << n
        waste = ((1 << waste_n) - 1) << later
        packed = [4 << 8, 4 << 8]
        for n, reached in enumerate(home):
            packed[n // 11] |= reached << 4 * (n % 11 + 3)
        self.root = State(
            ((1 << len(cards)) - 1) ^ waste,
            waste,
            (packed[0], packed[1]),
            tuple(
                sorted(
                    rows[n] << 8 | rows[n + 1] << 4 | rows[n + 2] for n in range(0, len(rows), 3)
                )
            ),
            open,
            pass_,
            0,
            (),
        )
        self.states, self.next_tick = 0, TICK
        self.best = NO_COST
        self.found: tuple[int, State] | None = None
        self.line: list[int] = []

    def _spend(self) -> None:
        self.states += 1
        if self.states > self.budget:
            raise Ended(UNKNOWN)
        if self.states >= self.next_tick:
            self.next_tick = self.states + TICK
            if self.tick is not None and self.tick(self.states):
                raise Ended(CANCELLED)

    def _to_left(self, state: State, k: int) -> State:  # RM4
        card = state.waste.bit_length() - 1
        row = self.kind[card] << 8 | self.rank[card] * 17
        if k < 0:
            told, rows = row, (*state.rows, row)
        else:
            told = state.rows[k]
            rows = (*state.rows[:k], told - 1, *state.rows[k + 1 :])
        return state._replace(
            waste=state.waste ^ 1 << card,
            rows=tuple(sorted(rows)),
            cost=state.cost + 1,
            moves=(*state.moves, TO_LEFT << 9 | told),
        )

    def _to_family(self, state: State) -> State:
        card = state.waste.bit_length() - 1
        return state._replace(
            waste=state.waste ^ 1 << card,
            home=state.with_home(self.kind[card], self.rank[card]),
            cost=state.cost + 1,
            moves=(*state.moves, TO_FAMILY << 9),
        )

    def _turn(self, state: State, card: int) -> State:
        ace = self.rank[card] == 1
        return state._replace(
            stock=state.stock ^ 1 << card,
            waste=state.waste | (0 if ace else 1 << card),
            open=state.open + ace,
            cost=state.cost + 1,
            moves=(*state.moves, TURN << 9),
        )

    # How promising

    def _guess(self, state: State) -> int:
        home = [[p >> 4 * rank & 15 for rank in range(KING + 2)] for p in state.home]
        held = [[0] * (KING + 2) for _ in range(2)]
        for row in state.rows:
            for rank in range(row & 15, (row >> 4 & 15) + 1):
                held[row >> 8][rank] += 1
        waste, stock, cost = state.waste, state.stock, 0
        kinds, ranks, copies = self.kind, self.rank, self.copies
        if state.pass_ == 1:
            first = stock >> self.later << self.later
            stock ^= first
            while first:
                waste |= first & -first
                first &= first - 1
                card = waste.bit_length() - 1
                if ranks[card] == 1:
                    waste ^= 1 << card
                    continue
                while waste:
                    card = waste.bit_length() - 1
                    kind, rank = kinds[card], ranks[card]
                    if home[kind][rank] >= home[kind][rank - 1]:
                        break
                    home[kind][rank] += 1
                    waste ^= 1 << card
            cost = waste.bit_count() + 1
            stock |= waste
            waste = 0

        def go_on(kind: int, rank: int) -> None:
            nonlocal waste, cost
            home_, held_, copies_ = home[kind], held[kind], copies[kind]
            while rank <= KING:
                here = copies_[rank] & waste
                if not held_[rank] and not here:
                    return
                if home_[rank] >= home_[rank - 1]:
                    rank += 1
                    continue
                if held_[rank]:
                    held_[rank] -= 1
                else:
                    card = here.bit_length() - 1
                    waste ^= 1 << card
                    above = waste >> card
                    if above:
                        cost += 1
                        if not above & above - 1:  # one only: let that one make way
                            other = waste.bit_length() - 1
                            waste ^= 1 << other
                            held[kinds[other]][ranks[other]] += 1
                home_[rank] += 1
                if not held_[rank] and not copies_[rank] & waste:
                    rank += 1

        for kind in range(2):
            for rank in range(3, KING + 1):
                if home[kind][rank] < home[kind][rank - 1]:
                    go_on(kind, rank)
        while stock:
            bit = stock & -stock
            stock ^= bit
            card = bit.bit_length() - 1
            kind, rank = kinds[card], ranks[card]
            if rank == 1:
                continue
            if home[kind][rank] < home[kind][rank - 1]:
                home[kind][rank] += 1
                go_on(kind, rank + 1)
            else:
                waste |= bit
        return cost + waste.bit_count()

    # The beam

    def _emit(self, state: State) -> None:
        self._spend()
        moves = state.cost + state.needed()
        if not state.stock and not state.waste and (state.pass_ > 1 or not state.rows):
            if moves < self.best:
                self.best = moves
                self.found = (self.parent, state)
                self.found_level = self.level
            return
        if moves >= self.best:
            return
        key = state[:6]
        old = self.next.get(key)
        if old is not None:
            if state.cost < old[1].cost:
                promise = old[0] - (old[1].cost - state.cost) * ONE_MOVE
                self.next[key] = (promise, state, self.parent)
            return
        settled = state.rows_home() if state.pass_ > 1 else state
        promise = (moves + self._guess(state)) * ONE_MOVE + len(settled.rows) * ONE_ROW
        self.next[key] = (promise, state, self.parent)

    def _between(self, p: State, deep: int) -> None:
        while p.waste:
            card = p.waste.bit_length() - 1
            kind, rank = self.kind[card], self.rank[card]
            if not p.fits(kind, rank):
                helped = p.help_home(kind, rank - 1) if p.pass_ > 1 else None
                if helped is None:
                    break
                self._emit(p)
                p = helped
            elif p.pass_ > 1 and deep < DEEPEST:
                packed = p.home[kind] >> 4 * rank - 4
                if (packed & 15) - (packed >> 4 & 15) == 1:
                    for k, row in enumerate(p.rows):
                        if row >> 8 == kind and row & 15 == rank:
                            self._between(p.row_home(k), deep + 1)
                            break
            p = self._to_family(p)
        self._emit(p)
        if deep == DEEPEST or not p.waste:
            return
        card = p.waste.bit_length() - 1
        kind, rank = self.kind[card], self.rank[card]
        last = -1
        for k, row in enumerate(p.rows):
            if row >> 8 != kind or row == last:
                continue
            last = row
            if row & 15 == rank + 1:
                self._between(self._to_left(p, k), deep + 1)
            elif p.pass_ > 1 and row & 15 <= rank < row >> 4 & 15:
                q = p.strip(row, rank + 1)
                if q is not None:
                    at = q.rows.index(row & 0xFFF0 | rank + 1)
                    self._between(self._to_left(q, at), deep + 1)
        if len(p.rows) < p.open:
            self._between(self._to_left(p, -1), deep + 1)
        elif p.pass_ > 1 and p.rows:
            q = None
            for row in p.rows:
                q = p.strip(row, (row >> 4 & 15) + 1)
                if q is not None:
                    break
            if q is None:
                settled = p.rows_home()
                q = settled if len(settled.rows) < settled.open else None
            if q is not None:
                self._between(self._to_left(q, -1), deep + 1)

    def _step(self, state: State, card: int) -> None:
        state = state._replace(moves=())
        if card == -2:
            redealt = state.redealt()
            if redealt is not None:
                self._emit(redealt)
        elif card == -1:
            self._between(state, 0)
        elif not state.stock >> card & 1:
            self._emit(state)
        else:
            self._between(self._turn(state, card), 0)

    def _levels(self) -> list[int]:
        cards = [-1]
        for pass_ in range(self.root.pass_, PASSES + 1):
            for card in range(self.later if pass_ == 1 else 0, len(self.kind)):
                if pass_ > self.root.pass_ or self.root.stock >> card & 1:
                    cards.append(card)  # noqa: PERF401 - two loops in one
            if pass_ < PASSES:
                cards.append(-2)
        return cards

    def _beam(self, width: int) -> None:
        kept: list[list[tuple[Moves, int]]] = []
        try:
            self._go_through(width, kept)
        finally:
            if self.found is not None:
                parent, state = self.found
                told = [state._replace(moves=()).rows_home().moves, state.moves]
                for level in range(self.found_level - 1, -1, -1):
                    moves, parent = kept[level][parent]
                    told.append(moves)
                self.line = [move for moves in reversed(told) for move in moves]

    def _go_through(self, width: int, kept: list[list[tuple[Moves, int]]]) -> None:
        """`kept` gets for each level what was told and the place of the parent in the one before."""
        self.cut, self.found = False, None
        now = [self.root]
        for card in self._levels():
            self.next: dict[tuple[object, ...], tuple[int, State, int]] = {}
            self.level = len(kept)
            for self.parent, state in enumerate(now):
                self._step(state, card)
            children = list(self.next.values())
            if len(children) > width:
                self.cut = True
                limit = sorted(promise for promise, *_ in children)[width]
                ties = width - sum(promise < limit for promise, *_ in children)
                chosen = []
                for child in children:
                    if child[0] == limit:
                        ties -= 1
                    if child[0] < limit or (child[0] == limit and ties >= 0):
                        chosen.append(child)
                children = chosen
            now = [state for _, state, _ in children]
            kept.append([(state.moves, parent) for _, state, parent in children])
            if not now:
                break

    # Everything

    def _any_way(self, p: State) -> bool:
        if not p.needed() or (not p.stock and not p.waste and p.pass_ > 1):
            q = p.rows_home()
            self.best = q.cost
            self.line = list(q.moves)
            return True
        key = p[:6]
        if key in self.seen:
            return False
        self.seen.add(key)
        self.left -= 1
        if self.left < 0:
            return False
        self._spend()
        if p.waste:
            card = p.waste.bit_length() - 1
            kind, rank = self.kind[card], self.rank[card]
            if p.fits(kind, rank) and self._any_way(self._to_family(p)):
                return True
            if len(p.rows) != p.open and self._any_way(self._to_left(p, -1)):
                return True
            for k, row in enumerate(p.rows):
                if row >> 8 == kind and row & 15 == rank + 1 and self._any_way(self._to_left(p, k)):
                    return True
        if p.pass_ > 1:
            for k, row in enumerate(p.rows):
                if p.fits(row >> 8, row & 15) and self._any_way(p.row_home(k)):
                    return True
        turnable = p.stock >> self.later << self.later if p.pass_ == 1 else p.stock
        if turnable:
            return self._any_way(self._turn(p, (turnable & -turnable).bit_length() - 1))
        redealt = p.redealt()
        return redealt is not None and self._any_way(redealt)

    def _exhaust(self) -> bool:
        self.left = min((self.budget - self.states) // 2, MOST_SEEN)
        self.seen: set[tuple[object, ...]] = set()
        found = self._any_way(self.root)
        return not found and self.left >= 0

    def run(self) -> int:
        """The status; `line` and `states` hold the rest."""
        if not self.root.needed():
            return SOLVED
        tried = False
        width = NARROWEST
        try:
            while True:
                before = self.states
                self._beam(width)
                used, left = self.states - before, self.budget - self.states
                if self.best == NO_COST and not tried:
                    tried = True
                    if self._exhaust():
                        return UNWINNABLE
                    left = self.budget - self.states
                if self.best != NO_COST and self.first_only:
                    break
                if not self.cut or width == WIDEST:
                    break
                wider = width * left // (used + used // 4 + 1)
                if wider <= width:
                    break
                if wider > 16 * width:
                    wider = 4 * width
                width = min(wider, WIDEST)
        except Ended as ended:
            if ended.status == CANCELLED:
                return CANCELLED
        return UNKNOWN if self.best == NO_COST else SOLVED


def search(
    cards: bytes,
    later: int,
    waste_n: int,
    home: bytes,
    rows: bytes,
    open: int,
    pass_: int,
    budget: int,
    first_only: int,
    tick: Tick | None,
) -> tuple[int, list[int], int]:
    """(status, line, states); the arguments as in C."""
    one = Search(cards, later, waste_n, home, rows, open, pass_, budget, first_only, tick)
    status = one.run()
    return status, one.line if status == SOLVED else [], one.states


def _play_out(search: Search, random: int) -> bool:
    p = search.root
    while p.needed():
        kind = rank = 0
        options: list[int] = []
        if p.waste:
            card = p.waste.bit_length() - 1
            kind, rank = search.kind[card], search.rank[card]
            if p.fits(kind, rank):
                options.append(-1)
        if p.pass_ > 1:
            options += [k for k, row in enumerate(p.rows) if p.fits(row >> 8, row & 15)]
        if options:
            random, number = splitmix(random)
            k = options[(number >> 32) * len(options) >> 32]
            p = search._to_family(p) if k < 0 else p.row_home(k)
            continue
        if p.waste:
            options = [
                k for k, row in enumerate(p.rows) if row >> 8 == kind and row & 15 == rank + 1
            ]
        if options:
            random, number = splitmix(random)
            p = search._to_left(p, options[(number >> 32) * len(options) >> 32])
            continue
        if p.waste and len(p.rows) < p.open:
            random, number = splitmix(random)
            if number >> 63:
                p = search._to_left(p, -1)
                continue
        turnable = p.stock >> search.later << search.later if p.pass_ == 1 else p.stock
        if turnable:
            p = search._turn(p, (turnable & -turnable).bit_length() - 1)
            continue
        redealt = p.redealt()
        if redealt is None:
            return False
        p = redealt
    return True


def ease(
    cards: bytes,
    later: int,
    waste_n: int,
    home: bytes,
    rows: bytes,
    open: int,
    pass_: int,
    times: int,
) -> int:
    """Greedy play-outs won: home what can go home, then rows, by a coin also empty ones."""
    search = Search(cards, later, waste_n, home, rows, open, pass_)
    return sum(_play_out(search, time) for time in range(times))
