"""The twin of `_kings_way.c` for when there is no compiler: same steps, same counts, same lines.

The reasoning stands in the C file; change both or neither. One difference: answers of `reach`
are never forgotten here, which changes nothing but time.
"""

from collections.abc import Callable
from typing import NamedTuple

UNWINNABLE, SOLVED, UNKNOWN, CANCELLED = range(4)
TURN, REDEAL = 8, 9
NONE = 24
ALL = (1 << 25) - 1
TICK = 262144
MAX_ACES = 15
ANY = -1
_MASK64 = (1 << 64) - 1

FITS = [
    sum(1 << y for y in range(NONE) if (x ^ y) & 1 and abs(x // 2 - y // 2) == 1)
    for x in range(NONE)
]
FITS.append(0)

Tick = Callable[[int], object]


class Ended(Exception):
    """The search must stop, with this status."""

    def __init__(self, status: int) -> None:
        self.status = status


class Step(NamedTuple):
    """A state on the way back from an end; `parent` came of it by `move`, then `aces` set aside."""

    i: int
    d: int
    set: int
    back: int
    parent: int
    top: int
    move: int
    aces: int


class Search:
    """One search; `run` it once."""

    def __init__(
        self,
        lengths: bytes,
        cards: bytes,
        stock: bytes,
        waste: bytes,
        aces: int,
        redeal_left: int,
        budget: int,
        tick: Tick | None,
    ) -> None:
        self.columns: list[bytes] = []
        for length in lengths:
            self.columns.append(cards[:length])
            cards = cards[length:]
        self.stock, self.waste, self.aces, self.redeal_left = stock, waste, aces, redeal_left
        self.budget, self.tick, self.states, self.next_tick = budget, tick, 0, TICK
        self.strides: list[int] = []
        self.size = 1
        for column in self.columns:
            self.strides.append(self.size)
            self.size *= len(column) + 1
        self.root = self.size - 1
        self.first_top = waste[-1] if waste else NONE
        half = min(4, len(self.columns))
        self.low_n = self.strides[half] if half < len(self.columns) else self.size
        self.low = [self._ends(d, range(half)) for d in range(self.low_n)]
        self.high = [
            self._ends(d, range(half, len(self.columns))) for d in range(0, self.size, self.low_n)
        ]
        self.tops = [0] * self.size
        self.sets = [0] * self.size
        self.entered: list[bytes] = [b""]
        self.sets_after: dict[int, list[int]] = {}
        self.memo: dict[tuple[int, int, int, int], bool] = {}
        self.line: list[int] = []

    # The run of states: budget, progress, cancellation

    def _spend(self, more: int) -> None:
        self.states += more
        if self.states >= self.budget:
            raise Ended(UNKNOWN)
        if self.states >= self.next_tick:
            self.next_tick = self.states + TICK
            if self.tick is not None and self.tick(self.states):
                raise Ended(CANCELLED)

    # The columns

    def _left(self, d: int, n: int) -> int:
        return d // self.strides[n] % (len(self.columns[n]) + 1)

    def _ends(self, d: int, columns: range) -> tuple[tuple[tuple[int, int, int], ...], int]:
        """(class, column, stride) of each end card, and a bit for the colour of each two."""
        ends, twos = [], 0
        for n in columns:
            left = self._left(d, n)
            if left:
                card = self.columns[n][left - 1]
                ends.append((card, n, self.strides[n]))
                if card // 2 == 1:
                    twos |= 1 << (card & 1)
        return tuple(ends), twos

    def _shows(self, d: int, ace: int) -> int:  # KW4
        high, low = divmod(d, self.low_n)
        return (self.low[low][1] | self.high[high][1]) >> (1 - (ace & 1)) & 1

    # The sweep: everything that this deal of the stock can reach

    def _close_layer(self) -> None:
        tops, sets, low_n = self.tops, self.sets, self.low_n
        for d in range(self.root, 0, -1):
            mask = tops[d]
            if not mask:
                continue
            self._spend(mask.bit_count())
            high, low = divmod(d, low_n)
            for ends in (self.low[low][0], self.high[high][0]):
                for card, _, stride in ends:
                    if FITS[card] & mask:
                        tops[d - stride] |= 1 << card
                        sets[d - stride] |= sets[d]

    def _turn_layer(self, i: int) -> None:  # KW1, KW4
        card = self.stock[i - 1]
        tops, sets = self.tops, self.sets
        entered = bytearray(self.size)
        only = 1 << card
        for d, mask in enumerate(tops):
            if mask:
                entered[d] = 1
                if card < 2 and not self._shows(d, card):
                    sets[d] = sets[d] << 1 & 0xFFFF
                else:
                    tops[d] = only
        self.entered.append(bytes(entered))
        if card < 2:
            self.sets_after[i] = list(sets)

    def _sweep(self) -> int:
        self.tops[self.root] = 1 << self.first_top
        self.sets[self.root] = 1 << self.aces
        for i in range(len(self.stock) + 1):
            if i:
                self._turn_layer(i)
            self._close_layer()
            if self.tops[0]:
                return i
        return -1

    # Looking back: which states the sweep went through

    def _reach(self, i: int, d: int, top: int, aside: int) -> bool:
        if i == 0 and d == self.root:
            return top == self.first_top and aside in (ANY, self.aces)
        key = (i, d, top, aside)
        known = self.memo.get(key)
        if known is None:
            known = self.memo[key] = self._before(i, d, top, aside) is not None
        return known

    def _before(
        self, i: int, d: int, top: int, aside: int
    ) -> tuple[int, int, int, int, int] | None:
        """The first (i, d, top, aside) that leads there, and the move."""
        if i > 0 and self.entered[i][d]:
            card = self.stock[i - 1]
            if card < 2 and aside != ANY and not self.sets_after[i][d] >> aside & 1:
                pass
            elif card < 2 and not self._shows(d, card):
                before = ANY if aside == ANY else aside - 1
                if aside != 0 and self._reach(i - 1, d, top, before):
                    return i - 1, d, top, before, TURN
            elif card == top:
                for y in range(NONE + 1):
                    if self._reach(i - 1, d, y, aside):
                        return i - 1, d, y, aside, TURN
        for n, column in enumerate(self.columns):
            left = self._left(d, n)
            if left < len(column) and column[left] == top:
                for y in range(NONE):
                    if FITS[top] >> y & 1 and self._reach(i, d + self.strides[n], y, aside):
                        return i, d + self.strides[n], y, aside, n
        return None

    def _line_to(self, i: int, d: int, top: int, aside: int) -> None:
        moves = []
        while i or d != self.root:
            before = self._before(i, d, top, aside)
            if before is None:  # cannot be: the caller asked _reach
                break
            i, d, top, aside, move = before
            moves.append(move)
        self.line = moves[::-1]

    # The redeal

    def _find_needs(self) -> None:
        need, need_tops = [0] * self.size, [0] * self.size
        need_tops[0] = ALL
        for d in range(1, self.size):
            high, low = divmod(d, self.low_n)
            best, mask = 255, 0
            for ends in (self.low[low][0], self.high[high][0]):
                for card, _, stride in ends:
                    turns = need[d - stride] + (not need_tops[d - stride] >> card & 1)
                    if turns < best:
                        best, mask = turns, 0
                    if turns == best:
                        mask |= FITS[card]
            need[d], need_tops[d] = best, mask
        self.need, self.need_tops = need, need_tops

    def _list_depths(self, end: int, k: int) -> None:
        """The depths on any way from `end` to empty columns in k turns of free choice."""
        at, cost, cost_tops = [end], [0], [ALL]
        plays: list[list[tuple[int, int, int]]] = []
        twos: list[int] = []
        slot = {end: 0}
        p = 0
        while p < len(at):
            d = at[p]
            high, low = divmod(d, self.low_n)
            twos.append(self.low[low][1] | self.high[high][1])
            here = []
            for ends in (self.low[low][0], self.high[high][0]):
                for card, n, stride in ends:
                    to = d - stride
                    turns = cost[p] + (not FITS[card] & cost_tops[p])
                    if turns + self.need[to] + (not self.need_tops[to] >> card & 1) > k:
                        continue
                    q = slot.setdefault(to, len(at))
                    if q == len(at):
                        at.append(to)
                        cost.append(255)
                        cost_tops.append(0)
                    here.append((card, n, q))
                    if turns < cost[q]:
                        cost[q], cost_tops[q] = turns, 0
                    if turns == cost[q]:
                        cost_tops[q] |= 1 << card
            plays.append(here)
            p += 1
        self.at, self.cost, self.cost_tops, self.plays, self.twos = at, cost, cost_tops, plays, twos
        self.wins = [[0] * len(at) for _ in range(k + 1)]
        self._spend(len(at))

    def _find_wins(self, k: int, j: int, card: int) -> bool:
        now, then = self.wins[j], self.wins[j - 1]
        alive = False
        for p in range(len(self.at) - 1, -1, -1):
            mask = 0
            if self.cost[p] <= k - j:
                if not self.at[p]:
                    mask = ALL
                for c, _, q in self.plays[p]:
                    if now[q] >> c & 1:
                        mask |= FITS[c]
                if j:
                    if card < 2 and not self.twos[p] >> (1 - (card & 1)) & 1:  # KW7
                        mask |= then[p]
                    elif then[p] >> card & 1:
                        mask = ALL
                if mask and (self.cost[p] < k - j or mask & self.cost_tops[p]):
                    alive = True
            now[p] = mask
        self._spend(len(self.at))
        return alive

    def _below(self, back: int) -> int:
        return self.waste[-1 - back] if back < len(self.waste) else NONE

    def _steps_before(self, steps: list[Step], group: range, top: int) -> None:
        """Adds every state from which one more card on the waste, `top`, led to one of `group`."""
        seen = set()

        def add(step: Step) -> None:
            if not step.back and not self._reach(step.i, step.d, step.top, ANY):
                return
            key = (step.top, step.i, step.d, step.set, step.back)
            if key not in seen:
                seen.add(key)
                steps.append(step)

        for q in group:
            i, d, aside, back, *_ = steps[q]
            if back:  # before the start: no move of ours
                add(Step(i, d, aside, back + 1, q, self._below(back + 1), 255, 0))
                continue
            aces = 0
            while True:
                for n, column in enumerate(self.columns):
                    left = self._left(d, n)
                    if left < len(column) and column[left] == top:
                        for y in range(NONE):
                            if FITS[top] >> y & 1:
                                add(Step(i, d + self.strides[n], aside, 0, q, y, n, aces))
                if i == 0:
                    if d == self.root and self.waste:
                        add(Step(i, d, aside, 1, q, self._below(1), 255, aces))
                    break
                card = self.stock[i - 1]
                if card < 2 and not self._shows(d, card):  # set aside: look further back
                    i, aside, aces = i - 1, aside + 1, aces + 1
                    continue
                if card == top:
                    for y in range(NONE + 1):
                        add(Step(i - 1, d, aside, 0, q, y, TURN, aces))
                break

    def _line_of_packet(self, steps: list[Step], q: int, top: int, k: int) -> None:
        leaf = steps[q]
        if leaf.back:
            self.line = []
        else:
            self._line_to(leaf.i, leaf.d, top, k - leaf.set)
        while q >= 0:
            step = steps[q]
            if step.move != 255 and step.parent >= 0:
                self.line.append(step.move)
            self.line.extend([TURN] * step.aces)
            q = step.parent
        self.line.append(REDEAL)

    def _line_after(self, j: int, top: int, packet: list[int]) -> None:
        p = 0
        while self.at[p]:
            for c, n, q in self.plays[p]:
                if FITS[c] >> top & 1 and self.wins[j][q] >> c & 1:
                    self.line.append(n)
                    p, top = q, c
                    break
            else:
                j -= 1
                card = packet[j]
                self.line.append(TURN)
                if card >= 2 or self._shows(self.at[p], card):
                    top = card

    def _try_packets(
        self, steps: list[Step], group: range, top: int, k: int, packet: list[int]
    ) -> bool:
        j = len(packet)
        if j == k or top == NONE:
            if not self.wins[j][0] >> top & 1:
                return False
            for q in group:
                step = steps[q]
                aside = k - step.set
                if aside == self.aces if step.back else self._reach(step.i, step.d, top, aside):
                    self._line_of_packet(steps, q, top, k)
                    self._line_after(j, top, packet)
                    return True
            return False
        packet = [*packet, top]
        if not self._find_wins(k, j + 1, top):
            return False
        start = len(steps)
        self._steps_before(steps, group, top)
        end = len(steps)
        for y in range(NONE + 1):
            mine = [step for step in steps[start:end] if step.top == y]
            if mine:
                steps.extend(mine)
                if self._try_packets(steps, range(end, len(steps)), y, k, packet):
                    return True
                del steps[end:]
        del steps[start:]
        return False

    def _redeal(self) -> bool:
        self._spend(self.size)
        self._find_needs()
        for need in range(MAX_ACES + 1):
            for d in range(1, self.size):
                if not self.tops[d] or self.need[d] != need:
                    continue
                for k in range(MAX_ACES, max(need, 1) - 1, -1):
                    if not self.sets[d] >> k & 1:
                        continue
                    self._list_depths(d, k)
                    self._find_wins(k, 0, NONE)
                    for top in range(NONE + 1):
                        if self.tops[d] >> top & 1:
                            steps = [Step(len(self.stock), d, 0, 0, -1, top, 255, 0)]
                            if self._try_packets(steps, range(1), top, k, []):
                                return True
        return False

    def run(self) -> int:
        """The status; `line` and `states` hold the rest."""
        if self.size == 1:
            return SOLVED
        try:
            layer = self._sweep()
            if layer >= 0:
                top = next(top for top in range(NONE + 1) if self.tops[0] >> top & 1)
                self._line_to(layer, 0, top, ANY)
                return SOLVED
            if self.redeal_left and self._redeal():
                return SOLVED
        except Ended as ended:
            return ended.status
        return UNWINNABLE


def search(
    lengths: bytes,
    cards: bytes,
    stock: bytes,
    waste: bytes,
    aces: int,
    redeal_left: int,
    budget: int,
    tick: Tick | None,
) -> tuple[int, bytes, int]:
    """(status, line, states); the arguments as in C."""
    one = Search(lengths, cards, stock, waste, aces, redeal_left, budget, tick)
    status = one.run()
    return status, bytes(one.line if status == SOLVED else ()), one.states


def splitmix(state: int) -> tuple[int, int]:
    """The next state and its number, both of 64 bits."""
    state = (state + 0x9E3779B97F4A7C15) & _MASK64
    z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK64
    return state, z ^ z >> 31


def _play_out(
    columns: list[bytes], stock: bytes, waste: list[int], aces: int, redeal_left: int, random: int
) -> bool:
    left = [len(column) for column in columns]
    cards, turned = sum(left), 0
    while cards:
        fit, twos = [], 0
        for n, column in enumerate(columns):
            if left[n]:
                card = column[left[n] - 1]
                if card // 2 == 1:
                    twos |= 1 << (card & 1)
                if waste and FITS[card] >> waste[-1] & 1:
                    fit.append(n)
        if fit:
            random, number = splitmix(random)
            n = fit[(number >> 32) * len(fit) >> 32]
            left[n] -= 1
            waste.append(columns[n][left[n]])
            cards -= 1
        elif turned < len(stock):
            card = stock[turned]
            turned += 1
            if card < 2 and not twos >> (1 - (card & 1)) & 1:
                aces += 1
            else:
                waste.append(card)
        elif redeal_left and aces:
            redeal_left = turned = 0
            cut = max(len(waste) - aces, 0)
            stock, waste = bytes(waste[cut:]), waste[:cut]
        else:
            return False
    return True


def ease(
    lengths: bytes,
    cards: bytes,
    stock: bytes,
    waste: bytes,
    aces: int,
    redeal_left: int,
    times: int,
) -> int:
    """Greedy play-outs won: any card that fits is played, which one at random."""
    columns = []
    for length in lengths:
        columns.append(cards[:length])
        cards = cards[length:]
    return sum(
        _play_out(columns, stock, list(waste), aces, redeal_left, time) for time in range(times)
    )
