/* King's Way, the hot loop of the solver. The twin in kings_way_py.py does the same steps in the
 * same order and counts the same states; change both or neither.
 *
 * Without the redeal a state is (cards turned, column depths, waste top): the rest of the waste
 * never matters again. So `sweep` keeps, for every combination of depths, a mask of the tops with
 * which it can be reached, and pushes the whole table through the stock, card by card.
 *
 * The redeal (KW6) looks back: the packet is the last k waste cards, k the aces set aside. `redeal`
 * therefore starts from the ends of the first deal, keeps those that k turns of any cards at all
 * could still clear, and walks each back through the packets that can have led there. See below.
 *
 * A class is (rank - 1) * 2 + red, 0 to 23; class 24 is "no card", an empty waste.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, LONGEST = 15, MOST = 127, NONE = 24, ANY = -1, MAX_ACES = 15 };
enum { UNWINNABLE, SOLVED, UNKNOWN, CANCELLED, NO_MEMORY };
enum { TURN = 8, REDEAL = 9 };
#define ALL ((1u << 25) - 1)
#define TICK 262144
#define MEMO_BITS 20

typedef struct {
    int n;
    uint8_t class_[4], column[4];
    int32_t stride[4];
    uint8_t twos; /* bit colour: a two of that colour shows */
} Ends;

/* What can be played from a listed place: the card, its column, the place after it. */
typedef struct {
    int32_t n, to[COLUMNS];
    uint8_t class_[COLUMNS], column[COLUMNS];
    uint8_t twos;
} Plays;

/* A state on the way back from an end: after i turns at depths d, `set` aces set aside later on.
 * back > 0: before the search's own start, that many cards below the waste's top there. */
typedef struct {
    int32_t i, d, set, back, parent;
    uint8_t top, move, aces; /* its parent came of it by this move, then `aces` set aside */
} Step;

typedef struct {
    int columns, len[COLUMNS], stock_n, waste_n, aces, redeal_left;
    int32_t stride[COLUMNS], size, low_n, high_n;
    uint8_t card[COLUMNS][LONGEST], stock[MOST], waste[MOST];
    uint32_t fits[NONE + 1];
    Ends *low, *high;

    uint32_t *tops;                 /* by depths: the waste tops possible in this layer */
    uint16_t *sets;                 /* by depths: a bit for every count of aces set aside */
    uint64_t *entered[MOST + 1];    /* by layer: depths possible just after the turn */
    uint16_t *sets_after[MOST + 1]; /* by layer that turned an ace: `sets` just after it */

    uint8_t *need;       /* by depths: turns of well-chosen cards still needed, at best */
    uint32_t *need_tops; /* by depths: the tops with which `need` is enough; others take one more */
    uint64_t *memo;      /* reach(): (key << 1 | answer) + 1 */
    int32_t memo_used;

    int32_t *slot;  /* by depths: place in the list of the end being tried, or -1 */
    int32_t list_n, list_room;
    int32_t *at; /* by place: depths */
    Plays *plays;
    uint8_t *cost;       /* by place: turns used so far, at best */
    uint32_t *cost_tops, *wins[MAX_ACES + 1];
    Step *steps;
    int32_t steps_n, steps_room;

    int64_t budget, states, next_tick;
    int status; /* UNKNOWN, CANCELLED, NO_MEMORY once the search must stop */
    PyObject *tick;
    PyThreadState *thread;
    uint8_t line[512];
    int line_n;
} Search;

/* ---- the run of states: budget, progress, cancellation ---- */

static int stop(Search *s, int64_t more)
{
    s->states += more;
    if (s->states >= s->budget) {
        s->status = UNKNOWN;
        return 1;
    }
    if (s->states >= s->next_tick) {
        s->next_tick = s->states + TICK;
        if (s->tick) {
            PyEval_RestoreThread(s->thread);
            PyObject *answer = PyObject_CallFunction(s->tick, "L", (long long)s->states);
            int no = answer ? PyObject_IsTrue(answer) : -1;
            Py_XDECREF(answer);
            s->thread = PyEval_SaveThread();
            if (no) {
                s->status = CANCELLED; /* an error raised by the call stays set */
                return 1;
            }
        }
    }
    return 0;
}

static void *room(Search *s, size_t n, size_t each)
{
    void *got = calloc(n ? n : 1, each);
    if (!got)
        s->status = NO_MEMORY;
    return got;
}

/* ---- the columns ---- */

static int depth(const Search *s, int32_t d, int n)
{
    return d / s->stride[n] % (s->len[n] + 1);
}

static void ends_of(const Search *s, Ends *ends, int32_t d, int from, int to)
{
    ends->n = 0;
    ends->twos = 0;
    for (int n = from; n < to; n++) {
        int left = depth(s, d, n);
        if (!left)
            continue;
        uint8_t c = s->card[n][left - 1];
        ends->class_[ends->n] = c;
        ends->column[ends->n] = (uint8_t)n;
        ends->stride[ends->n++] = s->stride[n];
        if (c / 2 == 1)
            ends->twos |= 1 << (c & 1);
    }
}

static int shows(const Search *s, int32_t d, int ace) /* KW4 */
{
    uint8_t twos = s->low[d % s->low_n].twos | s->high[d / s->low_n].twos;
    return twos >> (1 - (ace & 1)) & 1;
}

static int prepare(Search *s)
{
    s->size = 1;
    for (int n = 0; n < s->columns; n++) {
        s->stride[n] = s->size;
        s->size *= s->len[n] + 1;
    }
    int half = s->columns < 4 ? s->columns : 4;
    s->low_n = half < s->columns ? s->stride[half] : s->size;
    s->high_n = s->size / s->low_n;
    s->low = room(s, s->low_n, sizeof(Ends));
    s->high = room(s, s->high_n, sizeof(Ends));
    s->tops = room(s, s->size, sizeof *s->tops);
    s->sets = room(s, s->size, sizeof *s->sets);
    if (s->status)
        return 0;
    for (int32_t d = 0; d < s->low_n; d++)
        ends_of(s, s->low + d, d, 0, half);
    for (int32_t d = 0; d < s->high_n; d++)
        ends_of(s, s->high + d, d * s->low_n, half, s->columns);
    return 1;
}

/* ---- the sweep: everything that this deal of the stock can reach ---- */

static int bits(uint32_t mask)
{
    int n = 0;
    for (; mask; mask &= mask - 1)
        n++;
    return n;
}

static int close_layer(Search *s) /* every play, any number of times; depths only fall */
{
    uint32_t *tops = s->tops;
    uint16_t *sets = s->sets;
    for (int32_t h = s->high_n - 1; h >= 0; h--) {
        const Ends *high = s->high + h;
        for (int32_t l = s->low_n - 1; l >= 0; l--) {
            int32_t d = h * s->low_n + l;
            uint32_t mask = tops[d];
            if (!mask)
                continue;
            if (!d)
                return 1;
            if (stop(s, mask & (mask - 1) ? bits(mask) : 1))
                return 0;
            for (const Ends *e = s->low + l;; e = high) {
                for (int n = 0; n < e->n; n++)
                    if (s->fits[e->class_[n]] & mask) {
                        int32_t to = d - e->stride[n];
                        tops[to] |= 1u << e->class_[n];
                        sets[to] |= sets[d];
                    }
                if (e == high)
                    break;
            }
        }
    }
    return 1;
}

static int turn_layer(Search *s, int i) /* KW1, KW4: the i-th turn, from 1 */
{
    int card = s->stock[i - 1];
    uint64_t *entered = s->entered[i] = room(s, s->size / 64 + 1, 8);
    if (s->status)
        return 0;
    for (int32_t d = 0; d < s->size; d++) {
        if (!s->tops[d])
            continue;
        entered[d >> 6] |= 1ull << (d & 63);
        if (card < 2 && !shows(s, d, card))
            s->sets[d] <<= 1;
        else
            s->tops[d] = 1u << card;
    }
    if (card < 2) {
        s->sets_after[i] = room(s, s->size, sizeof(uint16_t));
        if (s->status)
            return 0;
        memcpy(s->sets_after[i], s->sets, s->size * sizeof(uint16_t));
    }
    return 1;
}

/* The layer in which the columns can be empty; -1: in none, or stopped. */
static int sweep(Search *s)
{
    int32_t root = s->size - 1;
    s->tops[root] = 1u << (s->waste_n ? s->waste[s->waste_n - 1] : NONE);
    s->sets[root] = 1u << s->aces;
    for (int i = 0;; i++) {
        if (!close_layer(s))
            return -1;
        if (s->tops[0])
            return i;
        if (i == s->stock_n || !turn_layer(s, i + 1))
            return -1;
    }
}

/* ---- looking back: which states the sweep went through ---- */

static uint64_t *memo_of(Search *s, uint64_t key)
{
    uint32_t at = (uint32_t)((key * 0x9E3779B97F4A7C15ull) >> (64 - MEMO_BITS));
    while (s->memo[at] && (s->memo[at] - 1) >> 1 != key)
        at = (at + 1) & ((1u << MEMO_BITS) - 1);
    return s->memo + at;
}

/* Can the game stand after i turns at depths d with this top, `set` aces set aside (or ANY)? */
static int reach(Search *s, int i, int32_t d, int top, int set)
{
    if (i == 0 && d == s->size - 1)
        return top == (s->waste_n ? s->waste[s->waste_n - 1] : NONE) &&
               (set == ANY || set == s->aces);
    uint64_t key = ((((uint64_t)i << 24 | (uint32_t)d) << 5 | (uint32_t)top) << 5) +
                   (uint32_t)(set + 1);
    uint64_t *memo = memo_of(s, key);
    if (*memo)
        return (*memo - 1) & 1;
    int yes = 0;
    if (i > 0 && s->entered[i][d >> 6] >> (d & 63) & 1) {
        int card = s->stock[i - 1];
        if (card < 2 && set != ANY && !(s->sets_after[i][d] >> set & 1))
            yes = 0;
        else if (card < 2 && !shows(s, d, card))
            yes = set != 0 && reach(s, i - 1, d, top, set == ANY ? ANY : set - 1);
        else if (card == top) {
            yes = set == ANY;
            for (int y = 0; y <= NONE && !yes; y++)
                yes = reach(s, i - 1, d, y, set);
        }
    }
    for (int n = 0; n < s->columns && !yes; n++) {
        int left = depth(s, d, n);
        if (left < s->len[n] && s->card[n][left] == top)
            for (int y = 0; y < NONE && !yes; y++)
                if (s->fits[top] >> y & 1)
                    yes = reach(s, i, d + s->stride[n], y, set);
    }
    if (s->memo_used > 1 << (MEMO_BITS - 1)) { /* full: only time is lost by forgetting */
        memset(s->memo, 0, sizeof(uint64_t) << MEMO_BITS);
        s->memo_used = 0;
    }
    memo = memo_of(s, key);
    s->memo_used += !*memo;
    *memo = (key << 1 | (uint64_t)yes) + 1;
    return yes;
}

/* The moves from the start to that state, which reach() knows, last first; then turned round. */
static void line_to(Search *s, int i, int32_t d, int top, int set)
{
    int n = 0;
    while (i != 0 || d != s->size - 1) {
        int found = 0;
        if (i > 0 && s->entered[i][d >> 6] >> (d & 63) & 1) {
            int card = s->stock[i - 1];
            if (card < 2 && !shows(s, d, card)) {
                int before = set == ANY ? ANY : set - 1;
                if (set != 0 && reach(s, i - 1, d, top, before)) {
                    set = before;
                    found = 1;
                }
            } else if (card == top) {
                for (int y = 0; y <= NONE && !found; y++)
                    if (reach(s, i - 1, d, y, set)) {
                        top = y;
                        found = 1;
                    }
            }
            if (found) {
                i--;
                s->line[n++] = TURN;
            }
        }
        for (int c = 0; c < s->columns && !found; c++) {
            int left = depth(s, d, c);
            if (left < s->len[c] && s->card[c][left] == top)
                for (int y = 0; y < NONE && !found; y++)
                    if (s->fits[top] >> y & 1 && reach(s, i, d + s->stride[c], y, set)) {
                        d += s->stride[c];
                        top = y;
                        s->line[n++] = (uint8_t)c;
                        found = 1;
                    }
        }
        if (!found)
            break; /* cannot be: the caller asked reach() */
    }
    for (int a = 0, b = n - 1; a < b; a++, b--) {
        uint8_t swap = s->line[a];
        s->line[a] = s->line[b];
        s->line[b] = swap;
    }
    s->line_n = n;
}

/* ---- the redeal ----
 *
 * `need`: if every turn could bring any card at all, how many would it take to clear these depths?
 * An end of the first deal with k aces set aside is dropped when it needs more than k. Of what is
 * left, each end is tried with every packet that can have led to it, from the packet's last card
 * to its first, since that is the order in which the past is walked back. For j cards known,
 * `wins[j]` says from which depths and tops those j turns clear the columns; when no choice of the
 * k - j cards still open leads there, the whole branch is dropped.
 */
static void find_needs(Search *s)
{
    s->need_tops[0] = ALL;
    for (int32_t d = 1; d < s->size; d++) {
        int best = 255;
        uint32_t mask = 0;
        const Ends *high = s->high + d / s->low_n;
        for (const Ends *e = s->low + d % s->low_n;; e = high) {
            for (int n = 0; n < e->n; n++) {
                int32_t to = d - e->stride[n];
                int turns = s->need[to] + !(s->need_tops[to] >> e->class_[n] & 1);
                if (turns < best) {
                    best = turns;
                    mask = 0;
                }
                if (turns == best)
                    mask |= s->fits[e->class_[n]];
            }
            if (e == high)
                break;
        }
        s->need[d] = (uint8_t)best;
        s->need_tops[d] = mask;
    }
}

static int32_t place_of(Search *s, int32_t d)
{
    if (s->slot[d] < 0) {
        if (s->list_n == s->list_room) {
            int32_t more = s->list_room ? s->list_room * 2 : 4096;
            void *a = realloc(s->at, more * sizeof *s->at);
            if (a)
                s->at = a;
            void *b = realloc(s->plays, more * sizeof *s->plays);
            if (b)
                s->plays = b;
            void *c = realloc(s->cost, more);
            if (c)
                s->cost = c;
            void *e = realloc(s->cost_tops, more * sizeof *s->cost_tops);
            if (e)
                s->cost_tops = e;
            int all = a && b && c && e;
            for (int j = 0; j <= MAX_ACES; j++) {
                void *w = realloc(s->wins[j], more * sizeof **s->wins);
                if (w)
                    s->wins[j] = w;
                all = all && w;
            }
            if (!all) {
                s->status = NO_MEMORY;
                return -1;
            }
            s->list_room = more;
        }
        s->slot[d] = s->list_n;
        s->at[s->list_n] = d;
        s->cost[s->list_n++] = 255;
    }
    return s->slot[d];
}

/* The depths on any way from `end` to empty columns in k turns of free choice. */
static int list_depths(Search *s, int32_t end, int k)
{
    s->list_n = 0;
    if (place_of(s, end) < 0)
        return 0;
    s->cost[0] = 0;
    s->cost_tops[0] = ALL; /* the waste's top below the packet is open as well */
    for (int32_t p = 0; p < s->list_n; p++) { /* in order of cards cleared */
        int32_t d = s->at[p];
        Plays plays = {0};
        const Ends *high = s->high + d / s->low_n;
        for (const Ends *e = s->low + d % s->low_n;; e = high) {
            plays.twos |= e->twos;
            for (int n = 0; n < e->n; n++) {
                int c = e->class_[n];
                int32_t to = d - e->stride[n];
                int turns = s->cost[p] + !(s->fits[c] & s->cost_tops[p]);
                if (turns + s->need[to] + !(s->need_tops[to] >> c & 1) > k)
                    continue;
                int32_t q = place_of(s, to);
                if (q < 0)
                    return 0;
                plays.class_[plays.n] = (uint8_t)c;
                plays.column[plays.n] = e->column[n];
                plays.to[plays.n++] = q;
                if (turns < s->cost[q]) {
                    s->cost[q] = (uint8_t)turns;
                    s->cost_tops[q] = 0;
                }
                if (turns == s->cost[q])
                    s->cost_tops[q] |= 1u << c;
            }
            if (e == high)
                break;
        }
        s->plays[p] = plays;
    }
    for (int32_t p = 0; p < s->list_n; p++)
        s->slot[s->at[p]] = -1;
    return !stop(s, s->list_n);
}

/* wins[j] from wins[j - 1] and the card of the j-th turn from the end. False: a dead branch. */
static int find_wins(Search *s, int k, int j, int card)
{
    uint32_t *now = s->wins[j];
    const uint32_t *then = j ? s->wins[j - 1] : NULL;
    int alive = 0;
    for (int32_t p = s->list_n - 1; p >= 0; p--) {
        const Plays *plays = s->plays + p;
        uint32_t mask = 0;
        if (s->cost[p] <= k - j) {
            if (!s->at[p])
                mask = ALL;
            for (int n = 0; n < plays->n; n++)
                if (now[plays->to[n]] >> plays->class_[n] & 1)
                    mask |= s->fits[plays->class_[n]];
            if (j) {
                if (card < 2 && !(plays->twos >> (1 - (card & 1)) & 1)) /* KW7 */
                    mask |= then[p];
                else if (then[p] >> card & 1)
                    mask = ALL;
            }
            if (mask && (s->cost[p] < k - j || mask & s->cost_tops[p]))
                alive = 1;
        }
        now[p] = mask;
    }
    if (stop(s, s->list_n))
        return 0;
    return alive;
}

static int push_step(Search *s, Step step)
{
    if (s->steps_n == s->steps_room) {
        int32_t more = s->steps_room ? s->steps_room * 2 : 4096;
        void *got = realloc(s->steps, more * sizeof *s->steps);
        if (!got) {
            s->status = NO_MEMORY;
            return 0;
        }
        s->steps = got;
        s->steps_room = more;
    }
    s->steps[s->steps_n++] = step;
    return 1;
}

static int add_step(Search *s, Step step, int top, int32_t first)
{
    if (!step.back && !reach(s, step.i, step.d, top, ANY))
        return 1;
    for (int32_t q = first; q < s->steps_n; q++) {
        const Step *o = s->steps + q;
        if (o->top == top && o->i == step.i && o->d == step.d && o->set == step.set &&
            o->back == step.back)
            return 1;
    }
    step.top = (uint8_t)top;
    return push_step(s, step);
}

static int waste_below(const Search *s, int back)
{
    return back < s->waste_n ? s->waste[s->waste_n - 1 - back] : NONE;
}

/* Every state from which one more card on the waste, `top`, led to one of the given states. */
static int steps_before(Search *s, int32_t from, int32_t to, int top)
{
    int32_t first = s->steps_n;
    for (int32_t q = from; q < to; q++) {
        Step now = s->steps[q], was = {now.i, now.d, now.set, now.back, q, 0, TURN, 0};
        if (now.back) {
            was.back++;
            was.move = 255; /* before the start: no move of ours */
            if (!add_step(s, was, waste_below(s, was.back), first))
                return 0;
            continue;
        }
        for (;;) {
            for (int n = 0; n < s->columns; n++) {
                int left = depth(s, was.d, n);
                if (left == s->len[n] || s->card[n][left] != top)
                    continue;
                Step play = was;
                play.d += s->stride[n];
                play.move = (uint8_t)n;
                for (int y = 0; y < NONE; y++)
                    if (s->fits[top] >> y & 1 && !add_step(s, play, y, first))
                        return 0;
            }
            if (was.i == 0) {
                if (was.d == s->size - 1 && s->waste_n) {
                    was.back = 1;
                    was.move = 255;
                    if (!add_step(s, was, waste_below(s, 1), first))
                        return 0;
                }
                break;
            }
            int card = s->stock[was.i - 1];
            if (card < 2 && !shows(s, was.d, card)) { /* set aside: look further back */
                was.i--;
                was.set++;
                was.aces++;
                continue;
            }
            if (card == top) {
                Step turn = was;
                turn.i--;
                for (int y = 0; y <= NONE; y++)
                    if (!add_step(s, turn, y, first))
                        return 0;
            }
            break;
        }
    }
    return 1;
}

static void line_of_packet(Search *s, int32_t q, int top, int k)
{
    Step leaf = s->steps[q];
    if (leaf.back)
        s->line_n = 0;
    else
        line_to(s, leaf.i, leaf.d, top, k - leaf.set);
    for (; q >= 0; q = s->steps[q].parent) {
        if (s->steps[q].move != 255 && s->steps[q].parent >= 0)
            s->line[s->line_n++] = s->steps[q].move;
        for (int a = 0; a < s->steps[q].aces; a++)
            s->line[s->line_n++] = TURN;
    }
    s->line[s->line_n++] = REDEAL;
}

static void line_after(Search *s, int j, int top, const uint8_t *packet)
{
    int32_t p = 0;
    while (s->at[p]) {
        int found = 0;
        const Plays *plays = s->plays + p;
        for (int n = 0; n < plays->n && !found; n++) {
            int c = plays->class_[n];
            if (s->fits[c] >> top & 1 && s->wins[j][plays->to[n]] >> c & 1) {
                s->line[s->line_n++] = plays->column[n];
                p = plays->to[n];
                top = c;
                found = 1;
            }
        }
        if (found)
            continue;
        int card = packet[--j];
        s->line[s->line_n++] = TURN;
        if (card >= 2 || shows(s, s->at[p], card))
            top = card;
    }
}

/* The states [from, to) have `top` on the waste, under the j packet cards already known. */
static int try_packets(Search *s, int32_t from, int32_t to, int top, int k, int j, uint8_t *packet)
{
    if (j == k || top == NONE) { /* all known, or the waste was no longer (min in KW6) */
        if (!(s->wins[j][0] >> top & 1))
            return 0;
        for (int32_t q = from; q < to; q++) {
            const Step *w = s->steps + q;
            if (w->back ? k - w->set == s->aces : reach(s, w->i, w->d, top, k - w->set)) {
                line_of_packet(s, q, top, k);
                line_after(s, j, top, packet);
                return 1;
            }
        }
        return 0;
    }
    packet[j] = (uint8_t)top;
    if (!find_wins(s, k, j + 1, top))
        return 0;
    int32_t start = s->steps_n, found = 0;
    if (!steps_before(s, from, to, top))
        return 0;
    int32_t end = s->steps_n;
    for (int y = 0; y <= NONE && !found && !s->status; y++) {
        int32_t group = s->steps_n;
        for (int32_t q = start; q < end; q++)
            if (s->steps[q].top == y && !push_step(s, s->steps[q]))
                return 0;
        if (s->steps_n > group)
            found = try_packets(s, group, s->steps_n, y, k, j + 1, packet);
        s->steps_n = group;
    }
    s->steps_n = start;
    return found;
}

static int redeal(Search *s)
{
    if (stop(s, s->size))
        return 0;
    s->need = room(s, s->size, 1);
    s->need_tops = room(s, s->size, sizeof *s->need_tops);
    s->memo = room(s, (size_t)1 << MEMO_BITS, 8);
    s->slot = room(s, s->size, sizeof *s->slot);
    if (s->status)
        return 0;
    find_needs(s);
    memset(s->slot, 255, s->size * sizeof *s->slot);
    for (int need = 0; need <= MAX_ACES; need++)
        for (int32_t d = 1; d < s->size; d++) {
            if (!s->tops[d] || s->need[d] != need)
                continue;
            for (int k = MAX_ACES; k >= need && k > 0; k--) {
                if (!(s->sets[d] >> k & 1))
                    continue;
                if (!list_depths(s, d, k))
                    return 0;
                find_wins(s, k, 0, NONE);
                for (int top = 0; top <= NONE && !s->status; top++) {
                    if (!(s->tops[d] >> top & 1))
                        continue;
                    uint8_t packet[MAX_ACES + 1];
                    s->steps_n = 0;
                    if (!push_step(s, (Step){s->stock_n, d, 0, 0, -1, (uint8_t)top, 255, 0}))
                        return 0;
                    if (try_packets(s, 0, 1, top, k, 0, packet))
                        return 1;
                }
                if (s->status)
                    return 0;
            }
        }
    return 0;
}

static int run(Search *s)
{
    if (s->size == 1)
        return SOLVED;
    int layer = sweep(s);
    if (s->status)
        return s->status;
    if (layer >= 0) {
        s->memo = room(s, (size_t)1 << MEMO_BITS, 8);
        if (s->status)
            return s->status;
        for (int top = 0; top <= NONE; top++)
            if (s->tops[0] >> top & 1) {
                line_to(s, layer, 0, top, ANY);
                return SOLVED;
            }
    }
    if (s->redeal_left && redeal(s))
        return SOLVED;
    return s->status ? s->status : UNWINNABLE;
}

static void release(Search *s)
{
    for (int i = 0; i <= MOST; i++) {
        free(s->entered[i]);
        free(s->sets_after[i]);
    }
    for (int j = 0; j <= MAX_ACES; j++)
        free(s->wins[j]);
    void *rest[] = {s->low,  s->high, s->tops, s->sets,  s->need,      s->need_tops, s->memo,
                    s->slot, s->at,   s->cost, s->plays, s->cost_tops, s->steps};
    for (size_t n = 0; n < sizeof rest / sizeof *rest; n++)
        free(rest[n]);
    free(s);
}

/* ---- ease: greedy play-outs ---- */

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* Any card that fits is played, which one at random; only else the stock is turned. */
static int play_out(const Search *s, uint64_t random)
{
    uint8_t stock[MOST], waste[2 * MOST];
    int left[COLUMNS], cards = 0, stock_n = s->stock_n, next = 0, aces = s->aces;
    int waste_n = s->waste_n, redeal_left = s->redeal_left;
    memcpy(stock, s->stock, MOST);
    memcpy(waste, s->waste, MOST);
    for (int n = 0; n < s->columns; n++)
        cards += left[n] = s->len[n];
    while (cards) {
        int fit[COLUMNS], fits = 0, twos = 0;
        for (int n = 0; n < s->columns; n++) {
            if (!left[n])
                continue;
            int c = s->card[n][left[n] - 1];
            if (c / 2 == 1)
                twos |= 1 << (c & 1);
            if (waste_n && s->fits[c] >> waste[waste_n - 1] & 1)
                fit[fits++] = n;
        }
        if (fits) {
            int n = fit[(splitmix(&random) >> 32) * (uint64_t)fits >> 32];
            waste[waste_n++] = s->card[n][--left[n]];
            cards--;
        } else if (next < stock_n) {
            int c = stock[next++];
            if (c < 2 && !(twos >> (1 - (c & 1)) & 1))
                aces++;
            else
                waste[waste_n++] = (uint8_t)c;
        } else if (redeal_left && aces) {
            redeal_left = 0;
            stock_n = aces < waste_n ? aces : waste_n;
            waste_n -= stock_n;
            memcpy(stock, waste + waste_n, stock_n);
            next = 0;
        } else
            return 0;
    }
    return 1;
}

/* ---- Python ---- */

/* The first six arguments of both functions describe the position; None and an error set if bad.
 * The shell has checked the position; here only what could hurt memory is checked again. */
static Search *search_of(const char *lengths, Py_ssize_t columns, const char *cards, Py_ssize_t n,
                         const char *stock, Py_ssize_t stock_n, const char *waste,
                         Py_ssize_t waste_n, int aces, int redeal_left)
{
    Py_ssize_t total = 0, aces_all = aces;
    int64_t size = 1;
    int bad = columns > COLUMNS || n + stock_n + waste_n > MOST || aces < 0;
    for (Py_ssize_t c = 0; c < columns && !bad; c++) {
        bad = lengths[c] < 0 || lengths[c] > LONGEST;
        total += lengths[c];
        size *= lengths[c] + 1;
        bad = bad || size > 1679616;
    }
    bad = bad || total != n;
    for (Py_ssize_t c = 0; c < n && !bad; c++)
        bad = cards[c] < 0 || cards[c] >= NONE;
    for (Py_ssize_t c = 0; c < waste_n && !bad; c++)
        bad = waste[c] < 0 || waste[c] >= NONE;
    for (Py_ssize_t c = 0; c < stock_n && !bad; c++) {
        bad = stock[c] < 0 || stock[c] >= NONE;
        aces_all += stock[c] < 2;
    }
    if (bad || aces_all > MAX_ACES) {
        PyErr_SetString(PyExc_ValueError, "a position too large for the solver");
        return NULL;
    }
    Search *s = calloc(1, sizeof *s);
    if (!s)
        return (Search *)PyErr_NoMemory();
    s->columns = (int)columns;
    for (int c = 0; c < s->columns; c++) {
        s->len[c] = lengths[c];
        memcpy(s->card[c], cards, lengths[c]);
        cards += lengths[c];
    }
    s->stock_n = (int)stock_n;
    memcpy(s->stock, stock, stock_n);
    s->waste_n = (int)waste_n;
    memcpy(s->waste, waste, waste_n);
    s->aces = aces;
    s->redeal_left = redeal_left;
    for (int x = 0; x < NONE; x++)
        for (int y = 0; y < NONE; y++)
            if ((x ^ y) & 1 && (x / 2 - y / 2 == 1 || y / 2 - x / 2 == 1)) /* KW2 */
                s->fits[x] |= 1u << y;
    return s;
}

static PyObject *py_search(PyObject *module, PyObject *args)
{
    const char *lengths, *cards, *stock, *waste;
    Py_ssize_t columns, n, stock_n, waste_n;
    int aces, redeal_left;
    long long budget;
    PyObject *tick;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#y#y#y#iiLO", &lengths, &columns, &cards, &n, &stock, &stock_n,
                          &waste, &waste_n, &aces, &redeal_left, &budget, &tick))
        return NULL;
    Search *s = search_of(lengths, columns, cards, n, stock, stock_n, waste, waste_n, aces,
                          redeal_left);
    if (!s)
        return NULL;
    s->budget = budget;
    s->next_tick = TICK;
    s->tick = tick == Py_None ? NULL : tick;
    s->thread = PyEval_SaveThread();
    int status = prepare(s) ? run(s) : NO_MEMORY;
    PyEval_RestoreThread(s->thread);
    PyObject *answer = NULL;
    if (status == NO_MEMORY)
        PyErr_NoMemory();
    else if (!PyErr_Occurred())
        answer = Py_BuildValue("(iy#L)", status, (char *)s->line,
                               (Py_ssize_t)(status == SOLVED ? s->line_n : 0),
                               (long long)s->states);
    release(s);
    return answer;
}

static PyObject *py_ease(PyObject *module, PyObject *args)
{
    const char *lengths, *cards, *stock, *waste;
    Py_ssize_t columns, n, stock_n, waste_n;
    int aces, redeal_left, times, won = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#y#y#y#iii", &lengths, &columns, &cards, &n, &stock, &stock_n,
                          &waste, &waste_n, &aces, &redeal_left, &times))
        return NULL;
    Search *s = search_of(lengths, columns, cards, n, stock, stock_n, waste, waste_n, aces,
                          redeal_left);
    if (!s)
        return NULL;
    for (int t = 0; t < times; t++)
        won += play_out(s, (uint64_t)t);
    release(s);
    return PyLong_FromLong(won);
}

static PyMethodDef methods[] = {
    {"search", py_search, METH_VARARGS,
     "search(lengths, cards, stock, waste, aces, redeal_left, budget, tick)\n"
     "-> (status, line, states)"},
    {"ease", py_ease, METH_VARARGS,
     "ease(lengths, cards, stock, waste, aces, redeal_left, times) -> play-outs won"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kings_way", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kings_way(void)
{
    return PyModule_Create(&definition);
}
