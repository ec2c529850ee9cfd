/* Royal Mullein, the hot loop of the solver. The twin in _royal_mullein_py.py does the same steps
 * in the same order and counts the same states; change both or neither.
 *
 * What matters of a card is its rank and its kind: the kind of the families, begun by a black (0)
 * or a red two (1), that can take it. An auxiliary row also takes cards of one kind only, one rank
 * lower each, so a row is (kind, highest, lowest). Families of a kind are alike: how many of them
 * have reached each rank is all there is to know.
 *
 * Cards are numbered in the order in which the second and third pass turn them (RM7: under the
 * stock, unshuffled). Waste and stock are then mere sets: the next card is the lowest in the stock,
 * the waste's top the highest in the waste. In pass 1 the numbers from `later` on are turned.
 *
 * `beam` goes through the game turn by turn and keeps the `width` most promising positions: those
 * with the fewest moves made plus the fewest that still seem needed. It is repeated, wider, for as
 * long as the budget lasts. `exhaust` tries everything and alone says that there is no way.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 Set;

enum { ROWS = 8, MOST = 96, KING = 13, PASSES = 3, DEEPEST = 8 };
enum { NARROWEST = 8, WIDEST = 32768, MOST_SEEN = 262144 };
enum { UNWINNABLE, SOLVED, UNKNOWN, CANCELLED, NO_MEMORY };
enum { TURN, REDEAL, TO_FAMILY, TO_LEFT, HOME };
enum { ROOM_FOR_MOVES = 512, NO_COST = 65535, ONE_MOVE = 8, ONE_ROW = 2 };
#define TICK 65536
#define BIT(i) ((Set)1 << (i))

typedef struct {
    Set stock, waste;
    uint64_t home[2]; /* by kind: four bits a rank, how many families have reached it */
    uint16_t row[ROWS]; /* kind << 8 | highest << 4 | lowest; sorted; only the first `rows` */
    uint8_t rows, open, pass; /* rows with a card; rows with an ace (RM4) */
    uint16_t cost;            /* moves made */
    uint16_t promise;         /* lower is better */
    uint16_t child;           /* which child of its parent in the level before */
    uint32_t parent;
    uint64_t hash;
} State;

typedef struct {
    uint32_t parent;
    uint16_t child;
} Origin;

typedef struct {
    int n, later, first_only;
    uint8_t kind[MOST], rank[MOST];
    Set copies[2][KING + 1];
    State root, found;

    State *now, *next;
    int32_t now_n, next_n, next_room;
    uint64_t *table; /* epoch << 32 | place in `next` */
    uint32_t table_mask, epoch;
    Origin *origins;
    int32_t level, width;
    int cut; /* whether the beam ever had to leave a state out */

    /* where the children of the state being expanded go; while a line is told again, `wanted` */
    uint32_t parent;
    int child, wanted;
    uint16_t moves[ROOM_FOR_MOVES], told[ROOM_FOR_MOVES];
    int moves_n, told_n;

    int best; /* moves of the best line so far */
    int32_t best_level;
    uint32_t best_parent;
    int best_child, best_found;
    uint16_t line[ROOM_FOR_MOVES];
    int line_n;

    int64_t budget, states, next_tick;
    int status;
    PyObject *tick;
    PyThreadState *thread;
} Search;

static int stop(Search *s)
{
    if (s->status)
        return 1;
    if (++s->states > s->budget) {
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
            if (no)
                s->status = CANCELLED; /* an error raised by the call stays set */
        }
    }
    return s->status != 0;
}

/* ---- sets, rows, families ---- */

static int highest(Set set)
{
    uint64_t high = (uint64_t)(set >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)set);
}

static int lowest(Set set)
{
    uint64_t low = (uint64_t)set;
    return low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(set >> 64));
}

static int count(Set set)
{
    return __builtin_popcountll((uint64_t)set) + __builtin_popcountll((uint64_t)(set >> 64));
}

static int kind_of(uint16_t row) { return row >> 8; }
static int high_of(uint16_t row) { return row >> 4 & 15; }
static int low_of(uint16_t row) { return row & 15; }

static int reached(const uint64_t *home, int kind, int rank)
{
    return (int)(home[kind] >> (4 * rank) & 15);
}

static int fits(const uint64_t *home, int kind, int rank) /* RM3, RM5 */
{
    return reached(home, kind, rank) < reached(home, kind, rank - 1);
}

static void sort_rows(State *p)
{
    for (int i = 1; i < p->rows; i++) {
        uint16_t row = p->row[i];
        int j = i;
        for (; j && p->row[j - 1] > row; j--)
            p->row[j] = p->row[j - 1];
        p->row[j] = row;
    }
}

static void tell(Search *s, int what, uint16_t row)
{
    if (s->moves_n < ROOM_FOR_MOVES)
        s->moves[s->moves_n++] = (uint16_t)(what << 9 | row);
}

/* RM5: the last card of the k-th row goes home. */
static void row_home(Search *s, State *p, int k)
{
    uint16_t row = p->row[k];
    tell(s, HOME, row);
    p->home[kind_of(row)] += 1ull << (4 * low_of(row));
    p->cost++;
    if (high_of(row) == low_of(row)) {
        for (p->rows--; k < p->rows; k++)
            p->row[k] = p->row[k + 1];
        p->row[p->rows] = 0;
    } else {
        p->row[k]++;
        sort_rows(p);
    }
}

static int rows_home(Search *s, State *p) /* all that can */
{
    int any = 0;
    for (int k = 0; k < p->rows;)
        if (fits(p->home, kind_of(p->row[k]), low_of(p->row[k]))) {
            row_home(s, p, k);
            any = 1;
            k = 0;
        } else
            k++;
    return any;
}

/* One card of that kind and rank home from the rows, after those below it and, if need be, others
 * of lower rank: then one more of the next rank fits. Few cards moved and short rows first. */
static int help_home(Search *s, State *p, int kind, int rank)
{
    unsigned tried = 0;
    for (;;) {
        int best = -1, least = 999;
        for (int k = 0; k < p->rows; k++) {
            uint16_t row = p->row[k];
            if (kind_of(row) != kind || low_of(row) > rank || high_of(row) < rank ||
                tried >> k & 1)
                continue;
            int effort = (rank - low_of(row)) * 16 + high_of(row) - rank;
            if (effort < least) {
                best = k;
                least = effort;
            }
        }
        if (best < 0)
            return 0;
        tried |= 1u << best;
        uint16_t row = p->row[best];
        int told = s->moves_n;
        State q = *p;
        if (!fits(q.home, kind, low_of(row)) && !help_home(s, &q, kind, low_of(row) - 1)) {
            s->moves_n = told;
            continue;
        }
        for (; low_of(row) <= rank; row++) {
            int k = 0;
            while (k < q.rows && q.row[k] != row)
                k++;
            if (k == q.rows) /* the help came from this very row */
                break;
            row_home(s, &q, k);
            if (low_of(row) == high_of(row))
                break;
        }
        if (reached(q.home, kind, rank) == reached(p->home, kind, rank)) {
            s->moves_n = told;
            continue;
        }
        *p = q;
        return 1;
    }
}

/* The row's cards below `rank` home, if they can go without help. */
static int strip(Search *s, State *p, uint16_t row, int rank)
{
    for (; low_of(row) < rank; row++) {
        if (!fits(p->home, kind_of(row), low_of(row)))
            return 0;
        int k = 0;
        while (p->row[k] != row)
            k++;
        row_home(s, p, k);
    }
    return 1;
}

/* RM4: the waste's top onto the k-th row, or into an empty one. */
static void to_left(Search *s, State *p, int k)
{
    int card = highest(p->waste);
    uint16_t row = (uint16_t)(s->kind[card] << 8 | s->rank[card] * 17);
    tell(s, TO_LEFT, k >= 0 ? p->row[k] : row);
    if (k >= 0)
        p->row[k]--;
    else
        p->row[p->rows++] = row;
    sort_rows(p);
    p->waste ^= BIT(card);
    p->cost++;
}

static int in_rows(const State *p)
{
    int n = 0;
    for (int k = 0; k < p->rows; k++)
        n += high_of(p->row[k]) - low_of(p->row[k]) + 1;
    return n;
}

/* Moves that every line from here needs: each card turned, each card but an ace put home. */
static int needed(const State *p)
{
    return 2 * count(p->stock) - (ROWS - p->open) + count(p->waste) + in_rows(p);
}

/* ---- how promising ----
 *
 * How many cards will have to go by the rows, or round once more? A quick play-through in which
 * the rows have room for all: a card that does not fit when it is turned waits on the waste, and
 * is charged one move only if it has to leave before what lies upon it.
 */
typedef struct {
    uint64_t home[2];
    uint8_t held[2][KING + 2];
    Set waste;
    int cost;
} Guess;

static void guess_from(const Search *s, Guess *g, int kind, int rank)
{
    while (rank <= KING) {
        Set here = s->copies[kind][rank] & g->waste;
        if (!g->held[kind][rank] && !here)
            return;
        if (!fits(g->home, kind, rank)) {
            rank++;
            continue;
        }
        if (g->held[kind][rank])
            g->held[kind][rank]--;
        else {
            int card = highest(here);
            g->waste ^= BIT(card);
            Set above = g->waste >> card;
            if (above) {
                g->cost++;
                if (!(above & (above - 1))) { /* one only: let that one make way */
                    int other = highest(g->waste);
                    g->waste ^= BIT(other);
                    g->held[s->kind[other]][s->rank[other]]++;
                }
            }
        }
        g->home[kind] += 1ull << (4 * rank);
        if (!g->held[kind][rank] && !(s->copies[kind][rank] & g->waste))
            rank++;
    }
}

static int guess(const Search *s, const State *p)
{
    Guess g = {{p->home[0], p->home[1]}, {{0}}, p->waste, 0};
    Set stock = p->stock;
    for (int k = 0; k < p->rows; k++)
        for (int rank = low_of(p->row[k]); rank <= high_of(p->row[k]); rank++)
            g.held[kind_of(p->row[k])][rank]++;
    if (p->pass == 1) {
        Set first = stock & ~(BIT(s->later) - 1);
        for (; first; first &= first - 1) {
            int card = lowest(first);
            if (s->rank[card] == 1)
                continue;
            g.waste |= BIT(card);
            while (g.waste) {
                card = highest(g.waste);
                if (!fits(g.home, s->kind[card], s->rank[card]))
                    break;
                g.home[s->kind[card]] += 1ull << (4 * s->rank[card]);
                g.waste ^= BIT(card);
            }
        }
        g.cost = count(g.waste) + 1;
        stock = (stock & (BIT(s->later) - 1)) | g.waste;
        g.waste = 0;
    }
    for (int kind = 0; kind < 2; kind++)
        for (int rank = 3; rank <= KING; rank++)
            if (fits(g.home, kind, rank))
                guess_from(s, &g, kind, rank);
    for (; stock; stock &= stock - 1) {
        int card = lowest(stock), kind = s->kind[card], rank = s->rank[card];
        if (rank == 1)
            continue;
        if (fits(g.home, kind, rank)) {
            g.home[kind] += 1ull << (4 * rank);
            guess_from(s, &g, kind, rank + 1);
        } else
            g.waste |= BIT(card);
    }
    return g.cost + count(g.waste);
}

/* ---- the beam ---- */

static int same(const State *a, const State *b)
{
    return a->hash == b->hash && a->stock == b->stock && a->waste == b->waste &&
           a->home[0] == b->home[0] && a->home[1] == b->home[1] && a->rows == b->rows &&
           a->open == b->open && a->pass == b->pass && !memcmp(a->row, b->row, sizeof a->row);
}

static uint64_t hash(const State *p)
{
    uint64_t words[8] = {(uint64_t)p->stock, (uint64_t)(p->stock >> 64), (uint64_t)p->waste,
                         (uint64_t)(p->waste >> 64), p->home[0], p->home[1], 0, 0};
    memcpy(words + 6, p->row, sizeof p->row);
    uint64_t h = (uint64_t)p->open << 2 | p->pass;
    for (int i = 0; i < 8; i++) {
        h = (h ^ words[i]) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 29;
    }
    return h;
}

static int new_table(Search *s, uint32_t size)
{
    uint64_t *table = calloc(size, sizeof *table);
    if (!table) {
        s->status = NO_MEMORY;
        return 0;
    }
    free(s->table);
    s->table = table;
    s->table_mask = size - 1;
    for (int32_t i = 0; i < s->next_n; i++) {
        uint32_t at = (uint32_t)s->next[i].hash & s->table_mask;
        while (table[at] >> 32 == s->epoch)
            at = (at + 1) & s->table_mask;
        table[at] = (uint64_t)s->epoch << 32 | (uint32_t)i;
    }
    return 1;
}

/* A child: a state in which the next thing is to turn. */
static void emit(Search *s, const State *p)
{
    int child = s->child++;
    if (s->wanted >= 0) { /* a line is being told again */
        if (child == s->wanted) {
            memcpy(s->told, s->moves, sizeof s->told);
            s->told_n = s->moves_n;
            s->found = *p;
        }
        return;
    }
    if (stop(s))
        return;
    int moves = p->cost + needed(p);
    if (!p->stock && !p->waste && (p->pass > 1 || !p->rows)) { /* the rows go home by themselves */
        if (moves < s->best) {
            s->best = moves;
            s->best_level = s->level;
            s->best_parent = s->parent;
            s->best_child = child;
            s->best_found = 1;
        }
        return;
    }
    if (moves >= s->best)
        return;
    State q = *p;
    q.hash = hash(p);
    q.parent = s->parent;
    q.child = (uint16_t)child;
    uint32_t at = (uint32_t)q.hash & s->table_mask;
    for (; s->table[at] >> 32 == s->epoch; at = (at + 1) & s->table_mask) {
        State *old = s->next + (uint32_t)s->table[at];
        if (!same(old, &q))
            continue;
        if (q.cost < old->cost) {
            old->promise -= (old->cost - q.cost) * ONE_MOVE;
            old->cost = q.cost;
            old->parent = q.parent;
            old->child = q.child;
        }
        return;
    }
    State settled = *p;
    if (p->pass > 1) {
        int told = s->moves_n;
        rows_home(s, &settled);
        s->moves_n = told;
    }
    q.promise = (uint16_t)((moves + guess(s, p)) * ONE_MOVE + settled.rows * ONE_ROW);
    if (s->next_n == s->next_room) {
        State *more = realloc(s->next, 2 * (size_t)s->next_room * sizeof *more);
        if (!more) {
            s->status = NO_MEMORY;
            return;
        }
        s->next = more;
        s->next_room *= 2;
    }
    s->table[at] = (uint64_t)s->epoch << 32 | (uint32_t)s->next_n;
    s->next[s->next_n++] = q;
    if ((uint32_t)s->next_n > s->table_mask / 2)
        new_table(s, 2 * (s->table_mask + 1));
}

/* All that is worth doing before the next turn. From the waste a card goes home when it can;
 * cards in the rows stay where they are until that serves something: they may still be built on,
 * and another card of the rank may want the place more. */
static void between(Search *s, State p, int deep)
{
    int told = s->moves_n;
    while (p.waste && !s->status) {
        int card = highest(p.waste), kind = s->kind[card], rank = s->rank[card];
        if (!fits(p.home, kind, rank)) {
            if (p.pass < 2)
                break;
            State helped = p;
            int before = s->moves_n;
            if (!help_home(s, &helped, kind, rank - 1)) {
                s->moves_n = before;
                break;
            }
            int after = s->moves_n; /* emit() leaves what was told after `before` alone */
            s->moves_n = before;
            emit(s, &p);
            s->moves_n = after;
            p = helped;
        } else if (p.pass > 1 && deep < DEEPEST &&
                   reached(p.home, kind, rank - 1) - reached(p.home, kind, rank) == 1) {
            for (int k = 0; k < p.rows; k++)
                if (kind_of(p.row[k]) == kind && low_of(p.row[k]) == rank) {
                    State other = p;
                    int before = s->moves_n;
                    row_home(s, &other, k);
                    between(s, other, deep + 1);
                    s->moves_n = before;
                    break;
                }
        }
        tell(s, TO_FAMILY, 0);
        p.home[kind] += 1ull << (4 * rank);
        p.waste ^= BIT(card);
        p.cost++;
    }
    emit(s, &p);
    int here = s->moves_n;
    if (deep < DEEPEST && p.waste && !s->status) {
        int card = highest(p.waste), kind = s->kind[card], rank = s->rank[card];
        uint16_t last = 0xFFFF;
        for (int k = 0; k < p.rows; k++) {
            uint16_t row = p.row[k];
            if (kind_of(row) != kind || row == last)
                continue;
            last = row;
            State q = p;
            if (low_of(row) == rank + 1) {
                to_left(s, &q, k);
                between(s, q, deep + 1);
            } else if (p.pass > 1 && low_of(row) <= rank && high_of(row) > rank &&
                       strip(s, &q, row, rank + 1)) {
                int at = 0;
                while (q.row[at] != ((row & 0xFFF0) | (rank + 1)))
                    at++;
                to_left(s, &q, at);
                between(s, q, deep + 1);
            }
            s->moves_n = here;
        }
        if (p.rows < p.open) {
            State q = p;
            to_left(s, &q, -1);
            between(s, q, deep + 1);
        } else if (p.pass > 1 && p.rows) {
            State q = p;
            int emptied = 0;
            for (int k = 0; k < p.rows && !emptied; k++) {
                s->moves_n = here;
                q = p;
                emptied = strip(s, &q, p.row[k], high_of(p.row[k]) + 1);
            }
            if (!emptied) {
                s->moves_n = here;
                q = p;
                emptied = rows_home(s, &q) && q.rows < q.open;
            }
            if (emptied) {
                to_left(s, &q, -1);
                between(s, q, deep + 1);
            }
        }
    }
    s->moves_n = told;
}

static void expand(Search *s, const State *from, int card)
{
    State p = *from;
    s->child = 0;
    if (card < 0) { /* before the first turn of the search */
        between(s, p, 0);
        return;
    }
    if (!(p.stock >> card & 1)) { /* went home in pass 1 */
        emit(s, &p);
        return;
    }
    tell(s, TURN, 0);
    p.stock ^= BIT(card);
    p.cost++;
    if (s->rank[card] == 1)
        p.open++; /* RM2 */
    else
        p.waste |= BIT(card);
    between(s, p, 0);
}

static int redealt(State *p) /* RM7 */
{
    if (p->pass == PASSES || (p->pass == 2 && !p->waste))
        return 0;
    p->stock |= p->waste;
    p->waste = 0;
    p->pass++;
    p->cost++;
    return 1;
}

/* The `width` most promising, ties by birth, in the order of birth. */
static int keep_best(Search *s)
{
    int32_t kept = 0;
    if (s->next_n <= s->width) {
        memcpy(s->now, s->next, s->next_n * sizeof(State));
        kept = s->next_n;
    } else {
        s->cut = 1;
        int32_t *counts = calloc(65536, sizeof *counts);
        if (!counts) {
            s->status = NO_MEMORY;
            return 0;
        }
        for (int32_t i = 0; i < s->next_n; i++)
            counts[s->next[i].promise]++;
        int limit = 0;
        int32_t sum = 0;
        while (sum + counts[limit] <= s->width)
            sum += counts[limit++];
        free(counts);
        int32_t ties = s->width - sum;
        for (int32_t i = 0; i < s->next_n; i++)
            if (s->next[i].promise < limit || (s->next[i].promise == limit && ties-- > 0))
                s->now[kept++] = s->next[i];
    }
    s->now_n = kept;
    s->next_n = 0;
    s->epoch++;
    Origin *origins = s->origins + (size_t)s->level * s->width;
    for (int32_t i = 0; i < kept; i++)
        origins[i] = (Origin){s->now[i].parent, s->now[i].child};
    return kept > 0;
}

/* The card that each level turns: first none, then pass by pass; -2 is a redeal. */
static int levels(const Search *s, int *cards)
{
    int n = 0;
    cards[n++] = -1;
    for (int pass = s->root.pass; pass <= PASSES; pass++) {
        int from = 0;
        if (pass == 1)
            from = s->later;
        for (int card = from; card < s->n; card++)
            if (pass > s->root.pass || s->root.stock >> card & 1)
                cards[n++] = card;
        if (pass < PASSES)
            cards[n++] = -2;
    }
    return n;
}

static void step(Search *s, const State *from, int card)
{
    if (card != -2) {
        expand(s, from, card);
        return;
    }
    State p = *from;
    s->child = 0;
    tell(s, REDEAL, 0);
    if (redealt(&p))
        emit(s, &p);
}

static void tell_line(Search *s, const int *cards)
{
    int32_t children[3 * MOST + 8];
    uint32_t parent = s->best_parent;
    children[s->best_level] = s->best_child;
    for (int32_t level = s->best_level - 1; level >= 0; level--) {
        Origin origin = s->origins[(size_t)level * s->width + parent];
        children[level] = origin.child;
        parent = origin.parent;
    }
    State p = s->root;
    int status = s->status;
    s->status = 0;
    s->moves_n = 0;
    for (int32_t level = 0; level <= s->best_level; level++) {
        s->wanted = children[level];
        step(s, &p, cards[level]);
        p = s->found;
        memcpy(s->moves, s->told, sizeof s->moves);
        s->moves_n = s->told_n;
    }
    s->wanted = -1;
    rows_home(s, &p);
    s->status = status;
    memcpy(s->line, s->moves, sizeof s->line);
    s->line_n = s->moves_n;
    s->moves_n = 0;
}

static void beam(Search *s, int32_t width)
{
    int cards[3 * MOST + 8];
    int n = levels(s, cards);
    s->width = width;
    s->best_found = s->cut = 0;
    free(s->now);
    free(s->origins);
    s->now = malloc(width * sizeof(State));
    s->origins = malloc((size_t)width * n * sizeof(Origin));
    if (!s->now || !s->origins) {
        s->status = NO_MEMORY;
        return;
    }
    s->now[0] = s->root;
    s->now_n = 1;
    for (s->level = 0; s->level < n; s->level++) {
        for (int32_t i = 0; i < s->now_n && !s->status; i++) {
            s->parent = (uint32_t)i;
            s->moves_n = 0;
            step(s, s->now + i, cards[s->level]);
        }
        if (s->status || !keep_best(s))
            break;
    }
    s->next_n = 0;
    s->epoch++;
    if (s->best_found && s->status != NO_MEMORY)
        tell_line(s, cards);
}

/* ---- everything ---- */

static int seen(Search *s, const State *p)
{
    State q = *p;
    q.hash = hash(p);
    uint32_t at = (uint32_t)q.hash & s->table_mask;
    for (; s->table[at] >> 32 == s->epoch; at = (at + 1) & s->table_mask)
        if (same(s->next + (uint32_t)s->table[at], &q))
            return 1;
    if (s->next_n == s->next_room) {
        State *more = realloc(s->next, 2 * (size_t)s->next_room * sizeof *more);
        if (!more) {
            s->status = NO_MEMORY;
            return 1;
        }
        s->next = more;
        s->next_room *= 2;
    }
    s->table[at] = (uint64_t)s->epoch << 32 | (uint32_t)s->next_n;
    s->next[s->next_n++] = q;
    if ((uint32_t)s->next_n > s->table_mask / 2)
        new_table(s, 2 * (s->table_mask + 1));
    return s->status != 0;
}

/* Whether the game can be won from here by any moves at all; `left` states may be looked at. */
static int any_way(Search *s, const State *p, int64_t *left)
{
    if (!needed(p) || (!p->stock && !p->waste && p->pass > 1)) {
        State q = *p;
        rows_home(s, &q);
        s->best = q.cost;
        memcpy(s->line, s->moves, sizeof s->line);
        s->line_n = s->moves_n;
        return 1;
    }
    if (seen(s, p))
        return 0;
    if (--*left < 0 || stop(s))
        return 0;
    int here = s->moves_n;
    State q;
    if (p->waste) {
        int card = highest(p->waste), kind = s->kind[card], rank = s->rank[card];
        if (fits(p->home, kind, rank)) {
            q = *p;
            tell(s, TO_FAMILY, 0);
            q.home[kind] += 1ull << (4 * rank);
            q.waste ^= BIT(card);
            q.cost++;
            if (any_way(s, &q, left))
                return 1;
            s->moves_n = here;
        }
        for (int k = -1; k < p->rows; k++) {
            if (k < 0 ? p->rows == p->open
                      : kind_of(p->row[k]) != kind || low_of(p->row[k]) != rank + 1)
                continue;
            q = *p;
            to_left(s, &q, k);
            if (any_way(s, &q, left))
                return 1;
            s->moves_n = here;
        }
    }
    for (int k = 0; k < p->rows && p->pass > 1; k++)
        if (fits(p->home, kind_of(p->row[k]), low_of(p->row[k]))) {
            q = *p;
            row_home(s, &q, k);
            if (any_way(s, &q, left))
                return 1;
            s->moves_n = here;
        }
    q = *p;
    Set turnable = p->pass == 1 ? p->stock & ~(BIT(s->later) - 1) : p->stock;
    if (turnable) {
        int card = lowest(turnable);
        tell(s, TURN, 0);
        q.stock ^= BIT(card);
        q.cost++;
        if (s->rank[card] == 1)
            q.open++;
        else
            q.waste |= BIT(card);
    } else if (redealt(&q))
        tell(s, REDEAL, 0);
    else
        return 0;
    if (any_way(s, &q, left))
        return 1;
    s->moves_n = here;
    return 0;
}

/* 1: nothing was left out and no way found. */
static int exhaust(Search *s)
{
    int64_t left = (s->budget - s->states) / 2;
    if (left > MOST_SEEN)
        left = MOST_SEEN;
    s->moves_n = 0;
    int found = any_way(s, &s->root, &left);
    s->next_n = 0;
    s->epoch++;
    s->moves_n = 0;
    return !found && left >= 0 && !s->status;
}

static int run(Search *s)
{
    if (!needed(&s->root))
        return SOLVED;
    s->best = NO_COST;
    s->wanted = -1;
    s->epoch = 1;
    s->next_room = 4096;
    s->next = malloc(s->next_room * sizeof(State));
    if (!s->next || !new_table(s, 16384))
        return NO_MEMORY;
    int tried = 0;
    for (int32_t width = NARROWEST;;) {
        int64_t before = s->states;
        beam(s, width);
        if (s->status)
            break;
        int64_t used = s->states - before, left = s->budget - s->states;
        if (s->best == NO_COST && !tried) {
            tried = 1;
            if (exhaust(s))
                return UNWINNABLE;
            if (s->status)
                break;
            left = s->budget - s->states;
        }
        if (s->best != NO_COST && s->first_only)
            break;
        if (!s->cut || width == WIDEST)
            break;
        /* the last beam should use up what is left; before it, beams that cost little */
        int64_t wider = width * left / (used + used / 4 + 1);
        if (wider <= width)
            break;
        if (wider > 16 * (int64_t)width)
            wider = 4 * (int64_t)width;
        width = wider < WIDEST ? (int32_t)wider : WIDEST;
    }
    if (s->status == NO_MEMORY || s->status == CANCELLED)
        return s->status;
    return s->best == NO_COST ? UNKNOWN : SOLVED;
}

static void release(Search *s)
{
    free(s->now);
    free(s->next);
    free(s->table);
    free(s->origins);
    free(s);
}

/* ---- ease: greedy play-outs ---- */

static uint32_t pick(uint64_t *state, int n)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (uint32_t)(((z ^ (z >> 31)) >> 32) * (uint64_t)n >> 32);
}

/* Home what can go home; else the waste's top onto a row that it fits; else, by the toss of a
 * coin, into an empty row; else turn. */
static int play_out(Search *s, uint64_t random)
{
    State p = s->root;
    while (needed(&p)) {
        s->moves_n = 0;
        int options[ROWS + 1], n = 0, kind = 0, rank = 0;
        if (p.waste) {
            int card = highest(p.waste);
            kind = s->kind[card];
            rank = s->rank[card];
            if (fits(p.home, kind, rank))
                options[n++] = -1;
        }
        for (int k = 0; k < p.rows && p.pass > 1; k++)
            if (fits(p.home, kind_of(p.row[k]), low_of(p.row[k])))
                options[n++] = k;
        if (n) {
            int k = options[pick(&random, n)];
            if (k >= 0)
                row_home(s, &p, k);
            else {
                p.home[kind] += 1ull << (4 * rank);
                p.waste ^= BIT(highest(p.waste));
            }
            continue;
        }
        for (int k = 0; k < p.rows && p.waste; k++)
            if (kind_of(p.row[k]) == kind && low_of(p.row[k]) == rank + 1)
                options[n++] = k;
        if (n) {
            to_left(s, &p, options[pick(&random, n)]);
            continue;
        }
        if (p.waste && p.rows < p.open && pick(&random, 2)) {
            to_left(s, &p, -1);
            continue;
        }
        Set turnable = p.pass == 1 ? p.stock & ~(BIT(s->later) - 1) : p.stock;
        if (turnable) {
            int card = lowest(turnable);
            p.stock ^= BIT(card);
            if (s->rank[card] == 1)
                p.open++;
            else
                p.waste |= BIT(card);
        } else if (!redealt(&p))
            return 0;
    }
    return 1;
}

/* ---- Python ---- */

/* Cards are kind << 4 | rank. The shell has checked the position; here only what could hurt
 * memory is checked again. NULL and an error set if bad. */
static Search *search_of(const char *cards, Py_ssize_t n, int later, int waste_n, const char *home,
                         Py_ssize_t home_n, const char *rows, Py_ssize_t rows_n, int open, int pass)
{
    int bad = n > MOST || later < 0 || waste_n < 0 || later + waste_n > n || home_n != 22 ||
              rows_n % 3 || rows_n / 3 > open || open < 0 || pass < 1 || pass > PASSES;
    int aces = open;
    for (Py_ssize_t i = 0; i < n && !bad; i++) {
        int rank = cards[i] & 15;
        bad = cards[i] < 0 || cards[i] >> 4 > 1 || rank < 1 || rank == 2 || rank > KING;
        aces += rank == 1;
    }
    for (Py_ssize_t i = 0; i < home_n && !bad; i++)
        bad = home[i] < 0 || home[i] > 4;
    for (Py_ssize_t i = 0; i < rows_n && !bad; i += 3)
        bad = rows[i] < 0 || rows[i] > 1 || rows[i + 1] > KING || rows[i + 1] < rows[i + 2] ||
              rows[i + 2] < 3;
    Search *s = bad || aces > ROWS ? NULL : calloc(1, sizeof *s);
    if (!s) {
        PyErr_SetString(PyExc_ValueError, "a position too large for the solver");
        return NULL;
    }
    s->n = (int)n;
    s->later = later;
    State *p = &s->root;
    for (int i = 0; i < s->n; i++) {
        s->kind[i] = (uint8_t)(cards[i] >> 4);
        s->rank[i] = cards[i] & 15;
        if (s->rank[i] > 1)
            s->copies[s->kind[i]][s->rank[i]] |= BIT(i);
        if (i >= later && i < later + waste_n)
            p->waste |= BIT(i);
        else
            p->stock |= BIT(i);
    }
    for (int kind = 0; kind < 2; kind++) {
        p->home[kind] = 4ull << 8; /* the twos */
        for (int rank = 3; rank <= KING; rank++)
            p->home[kind] |= (uint64_t)home[kind * 11 + rank - 3] << (4 * rank);
    }
    for (Py_ssize_t i = 0; i < rows_n; i += 3)
        p->row[p->rows++] = (uint16_t)(rows[i] << 8 | rows[i + 1] << 4 | rows[i + 2]);
    sort_rows(p);
    p->open = (uint8_t)open;
    p->pass = (uint8_t)pass;
    return s;
}

static PyObject *py_search(PyObject *module, PyObject *args)
{
    const char *cards, *home, *rows;
    Py_ssize_t n, home_n, rows_n;
    int later, waste_n, open, pass, first_only;
    long long budget;
    PyObject *tick;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#iiy#y#iiLiO", &cards, &n, &later, &waste_n, &home, &home_n,
                          &rows, &rows_n, &open, &pass, &budget, &first_only, &tick))
        return NULL;
    Search *s = search_of(cards, n, later, waste_n, home, home_n, rows, rows_n, open, pass);
    if (!s)
        return NULL;
    s->budget = budget;
    s->first_only = first_only;
    s->next_tick = TICK;
    s->tick = tick == Py_None ? NULL : tick;
    s->thread = PyEval_SaveThread();
    int status = run(s);
    PyEval_RestoreThread(s->thread);
    PyObject *answer = NULL;
    if (status == NO_MEMORY)
        PyErr_NoMemory();
    else if (!PyErr_Occurred()) {
        PyObject *line = PyList_New(0);
        for (int i = 0; line && status == SOLVED && i < s->line_n; i++) {
            PyObject *move = PyLong_FromLong(s->line[i]);
            if (!move || PyList_Append(line, move))
                Py_CLEAR(line);
            Py_XDECREF(move);
        }
        if (line)
            answer = Py_BuildValue("(iNL)", status, line, (long long)s->states);
    }
    release(s);
    return answer;
}

static PyObject *py_ease(PyObject *module, PyObject *args)
{
    const char *cards, *home, *rows;
    Py_ssize_t n, home_n, rows_n;
    int later, waste_n, open, pass, times, won = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#iiy#y#iii", &cards, &n, &later, &waste_n, &home, &home_n, &rows,
                          &rows_n, &open, &pass, &times))
        return NULL;
    Search *s = search_of(cards, n, later, waste_n, home, home_n, rows, rows_n, open, pass);
    if (!s)
        return NULL;
    for (int t = 0; t < times; t++)
        won += play_out(s, (uint64_t)t);
    release(s);
    return PyLong_FromLong(won);
}

static PyMethodDef methods[] = {
    {"search", py_search, METH_VARARGS,
     "search(cards, later, waste_n, home, rows, open, pass_, budget, first_only, tick)\n"
     "-> (status, line, states)"},
    {"ease", py_ease, METH_VARARGS,
     "ease(cards, later, waste_n, home, rows, open, pass_, times) -> play-outs won"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_royal_mullein", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__royal_mullein(void)
{
    return PyModule_Create(&definition);
}
