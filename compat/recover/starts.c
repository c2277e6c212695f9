/*
 * starts.c - finds the next place in a damaged input where decoding can start (starts.h)
 *
 * There are several kinds of places where decoding may start.  For each kind, a function finds the
 * next place.  The place is kept until the search has passed it, also if the next search begins
 * only there.  So each byte of the input is looked at once for each kind, however many searches
 * there are.  The earliest of the places is tried first.
 */
#include "config.h"

#include "compat/recover/starts.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "compat/gzip.h"
#include "inflate/find.h"

/* The search looks for places in STEP bytes of the input at a time.  BEHIND more bytes are in
 * memory, for headers and stored blocks that begin in the STEP bytes.  With a larger STEP, more is
 * searched in vain, beyond a place that is found; with a smaller one, each step's cost counts. */
#define STEP ((size_t)4 << 10)
#define BEHIND ((size_t)136 << 10)

/* The longest stored block: its two lengths, and its data. */
#define STORED_HEADER ((size_t)4)
#define STORED_MOST (STORED_HEADER + 65535)

/* Bits of a stored block's header before its padding. */
#define STORED_BITS ((uint64_t)3)

_Static_assert(BEHIND >= 2 * STORED_MOST - 4096 && STEP + BEHIND <= GZ_VIEW_MOST, "room");
_Static_assert(BEHIND >= STORED_MOST + INF_BLOCK_HEADER_MAX, "a stored block, and a header");

/* A place is given up if its first block has more than this many bytes in the input or output.  The
 * limits are for hostile data, which could have many such places. */
#define TRIAL_IN ((uint64_t)4 << 20)
#define TRIAL_OUT ((uint64_t)64 << 20)

/* A place may be inside a stored block, whose data may look like DEFLATE.  To decide that, the
 * search decodes from the place up to the next stored block (leads_to).  If decoding makes more
 * than this many bytes, the search gives up, and takes the place to be inside.  Without the limit,
 * hostile data with many such places would take too long. */
#define LEADS_OUT ((uint64_t)4 << 20)

/* The longest header of a member that the search finds.  The limit is for hostile data, which could
 * have a header with a long name at every place. */
#define HEADER_MOST ((size_t)4 << 10)

/* A member's header or a mark is hardly there by chance.  So such a place counts even if its first
 * block has an error, if the block makes this many bytes of output before the error. */
#define ENOUGH 1024

/* The kinds of places. */
enum kind { MEMBER, FLUSH, STORED, DYNAMIC, FINAL };
#define KINDS (FINAL + 1)

/* How far the search for a kind has come.  Bits [from, to) of the input have no place of this kind.
 * With `found`, a place is at bit `to`. */
struct searched {
    uint64_t from, to;
    bool found;
};

struct gz_starts {
    struct gz_runner *r;
    struct inf_finder dynamic, final;
    struct searched searched[KINDS];
    uint64_t passed; /* gz_starts_passed */
};

struct gz_starts *gz_starts_new(struct gz_runner *r)
{
    struct gz_starts *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->r = r;
    inf_finder_init(&s->dynamic);
    inf_finder_init_final(&s->final);
    return s;
}

void gz_starts_free(struct gz_starts *s)
{
    free(s);
}

bool gz_starts_member(struct gz_view *view, uint64_t at, struct gz_start *start)
{
    size_t got, used;
    const uint8_t *const in = gz_view_at(view, at, BEHIND, &got);

    used = gz_member_header(in, got);
    *start = (struct gz_start){.kind = GZ_START_MEMBER, .bit = 8 * (at + used), .at = at};
    return used > 0;
}

bool gz_starts_end(struct gz_view *view, uint64_t at)
{
    struct gz_start start;
    size_t got, zeros = 0;
    const uint8_t *in;

    if (at >= view->size || gz_starts_member(view, at, &start))
        return true;
    in = gz_view_at(view, at, 512, &got);
    while (zeros < got && in[zeros] == 0)
        zeros++;
    return zeros == got;
}

/* --- Places --------------------------------------------------------------------------------- */

/* A part of the input that is searched. */
struct area {
    const uint8_t *in; /* in[0..len), with GZ_VIEW_BACK bytes before and GZ_VIEW_PAD after it */
    size_t len;
    uint64_t base; /* in[0] is this byte of the input */
    size_t to;     /* places are searched only before in[to] */
};

/* Returns the next member's header from in[at] on, as a bit of the input. */
static uint64_t find_member(struct gz_starts *s, const struct area *a, size_t at)
{
    while (at < a->to) {
        const uint8_t *const found = memchr(a->in + at, 0x1f, a->to - at);

        if (found == NULL)
            break;
        at = (size_t)(found - a->in);
        if (found[1] == 0x8b)
            s->r->work += HEADER_MOST;
        if (gz_member_header(found, a->len - at < HEADER_MOST ? a->len - at : HEADER_MOST) > 0)
            return 8 * (a->base + at);
        at++;
    }
    return INF_NOWHERE;
}

/* Returns the next place from in[at] on that is directly after an empty stored block. */
static uint64_t find_flush(const struct area *a, size_t at)
{
    for (; at < a->to && at < a->len; at++)
        if (a->base + at >= INF_SYNC_SIZE && inf_is_sync(a->in + at - INF_SYNC_SIZE))
            return 8 * (a->base + at);
    return INF_NOWHERE;
}

/* Whether a stored block's two lengths are in[at..at + STORED_HEADER), after a header that may end
 * with the bits before them. */
static bool has_lengths(const struct area *a, size_t at)
{
    const uint32_t lengths = load32(a->in + at), len = lengths & 0xffff;

    return (len ^ lengths >> 16) == 0xffff && len > 0 && a->in[(ptrdiff_t)at - 1] >> 5 == 0;
}

/* Whether a good header follows the stored block whose lengths are at in[at].  If the block that
 * follows is stored, too, its padding must be zeros.  The RFC does not ask for that, but all
 * programs write zeros. */
static bool is_followed(struct gz_starts *s, const struct area *a, size_t at)
{
    const size_t next = at + STORED_HEADER + (load32(a->in + at) & 0xffff);
    struct inf_block block;

    if (next >= a->len)
        return false;
    if ((a->in[next] >> 1 & 3) == INF_BLOCK_DYNAMIC)
        s->r->work += GZ_WORK_CHECK;
    return inf_check_block(0, 0, a->in + next, a->len - next, &block) == INF_BLOCK_GOOD &&
           (block.type == INF_BLOCK_DYNAMIC ||
            (block.type == INF_BLOCK_STORED && a->in[next] >> 1 == 0));
}

/* Returns the next stored block from in[at] on.  The result is the place of the last STORED_BITS
 * bits before the block's lengths.  The header may start earlier, with zeros up to the lengths;
 * decoding from either place gives the same output. */
static uint64_t find_stored(struct gz_starts *s, const struct area *a, size_t at)
{
    for (at += a->base + at == 0; at < a->to && at + STORED_HEADER <= a->len; at++)
        if (has_lengths(a, at) && is_followed(s, a, at))
            return 8 * (a->base + at) - STORED_BITS;
    return INF_NOWHERE;
}

/* Returns the next dynamic block's header from bit `from` of the input on. */
static uint64_t find_dynamic(struct gz_starts *s, const struct inf_finder *f, const struct area *a,
                             uint64_t from)
{
    uint64_t checked = 0;
    const uint64_t bit =
        inf_find_counted(f, a->in, a->len, from - 8 * a->base, 8 * (uint64_t)a->to, &checked);

    s->r->work += GZ_WORK_CHECK * checked;
    return bit == INF_NOWHERE ? bit : bit + 8 * a->base;
}

/* Returns the next place of a kind, from bit `from` of the input on. */
static uint64_t find_kind(struct gz_starts *s, const struct area *a, enum kind kind, uint64_t from)
{
    /* A stored block's place is three bits before the byte that is looked at. */
    const size_t at = (size_t)((from + (kind == STORED ? STORED_BITS : 0) + 7) / 8 - a->base);

    switch (kind) {
    case MEMBER:
        return find_member(s, a, at);
    case FLUSH:
        return find_flush(a, at);
    case STORED:
        return find_stored(s, a, at);
    case DYNAMIC:
        return find_dynamic(s, &s->dynamic, a, from);
    case FINAL:
        break;
    }
    return find_dynamic(s, &s->final, a, from);
}

/* --- Trials --------------------------------------------------------------------------------- */

/* Sets *start to the place of this kind at bit `bit` of the input.  Returns false if no place of
 * this kind turns out to be there. */
static bool make_start(struct gz_starts *s, enum kind kind, uint64_t bit, struct gz_start *start)
{
    struct gz_view *const view = s->r->view;
    const uint64_t at = bit / 8;
    size_t got;

    *start = (struct gz_start){.kind = GZ_START_BLOCK, .bit = bit, .at = at};
    if (kind == MEMBER)
        return gz_starts_member(view, at, start);
    if (kind == FLUSH && inf_is_mark(gz_view_at(view, at, 1, &got) - INF_MARK_SIZE))
        start->kind = GZ_START_MARK;
    return true;
}

/* Whether a good header of a block starts at a bit of the input. */
static bool is_block(struct gz_view *view, uint64_t bit)
{
    const unsigned skip = (unsigned)(bit % 8);
    struct inf_block block;
    size_t got;
    const uint8_t *const in = gz_view_at(view, bit / 8, INF_BLOCK_HEADER_MAX + 1, &got);

    return got > 0 && inf_check_block((uint64_t)in[0] >> skip, 8 - skip, in + 1, got - 1, &block) !=
                          INF_BLOCK_BAD;
}

/* Decodes the block at `start`.  Returns whether it seems to be a block of the data. */
static bool try_start(struct gz_starts *s, const struct gz_start *start)
{
    const struct gz_pass pass = {.start = *start,
                                 .limit = start->bit + 8 * TRIAL_IN,
                                 .most = TRIAL_OUT,
                                 .one_block = true,
                                 .is_trial = true};
    const bool is_sure = start->kind != GZ_START_BLOCK;
    struct gz_view *const view = s->r->view;
    struct gz_run run;

    gz_run_decode(s->r, &pass, &run);
    switch (run.end) {
    case GZ_RUN_DONE:
        return run.made < TRIAL_OUT ? is_block(view, run.bit) : is_sure;
    case GZ_RUN_MEMBER:
        return (gz_run_has_crc(&run) && gz_run_has_length(&run)) || gz_starts_end(view, run.next);
    case GZ_RUN_CUT:
        return is_sure || pass.limit >= 8 * view->size;
    case GZ_RUN_BAD:
        return is_sure && run.made >= ENOUGH;
    default:
        return false;
    }
}

/* Whether decoding from `start` comes to the stored block whose last header bits are at `bit`. */
static bool leads_to(struct gz_starts *s, const struct gz_start *start, uint64_t bit)
{
    /* The input ends after the stored block's lengths.  If decoding comes to this block, it can go
     * no further. */
    const struct gz_pass pass = {
        .start = {.kind = GZ_START_BLOCK, .bit = start->bit, .at = start->bit / 8},
        .limit = bit + 8 * STORED_HEADER,
        .most = LEADS_OUT,
        .is_trial = true};
    struct gz_run run;

    if (start->bit + 7 >= bit)
        return start->bit <= bit;
    gz_run_decode(s->r, &pass, &run);
    /* The header's first bit is up to seven bits earlier. */
    return run.end == GZ_RUN_CUT && run.block.bit + 7 >= bit && run.block.bit <= bit;
}

/* --- The search ----------------------------------------------------------------------------- */

/* Looks for places of a kind in the next STEP bytes. */
static void search_on(struct gz_starts *s, enum kind kind)
{
    struct searched *const k = &s->searched[kind];
    struct area a = {.base = k->to / 8};
    uint64_t place;

    a.in = gz_view_at(s->r->view, a.base, STEP + BEHIND, &a.len);
    a.to = a.len < STEP ? a.len : STEP;
    place = find_kind(s, &a, kind, k->to);
    k->found = place != INF_NOWHERE;
    k->to = k->found ? place : 8 * (a.base + STEP) - (kind == STORED ? STORED_BITS : 0);
}

/* Returns the first place of a kind in bits [from, end) of the input; INF_NOWHERE if there is
 * none. */
static uint64_t next_place(struct gz_starts *s, enum kind kind, uint64_t from, uint64_t end)
{
    struct searched *const k = &s->searched[kind];

    if (end > 8 * s->r->view->size)
        end = 8 * s->r->view->size;
    if (from < k->from || from > k->to)
        *k = (struct searched){.from = from, .to = from};
    while (!k->found && k->to < end)
        search_on(s, kind);
    return k->found && k->to < end ? k->to : INF_NOWHERE;
}

/* Returns the first place of any kind in bits [from, end) of the input, and sets *kind; INF_NOWHERE
 * if there is none. */
static uint64_t earliest(struct gz_starts *s, uint64_t from, uint64_t end, enum kind *kind)
{
    uint64_t first = INF_NOWHERE;

    for (unsigned k = 0; k < KINDS; k++) {
        const uint64_t place = next_place(s, (enum kind)k, from, end);

        if (place != INF_NOWHERE) {
            first = end = place;
            *kind = (enum kind)k;
        }
    }
    return first;
}

/* Whether the place seems to be inside a stored block.  The answer is yes if a stored block that
 * find_stored has found starts at most STORED_MOST bytes after the place, and decoding from the
 * place does not lead to that block.  Then the place may be in another stored block, which ends
 * where that block starts. */
static bool is_within_stored(struct gz_starts *s, enum kind kind, const struct gz_start *start,
                             uint64_t place)
{
    uint64_t stored;

    if (kind == STORED)
        return false;
    stored = next_place(s, STORED, place, start->bit + 8 * STORED_MOST + 1);
    return stored != INF_NOWHERE && stored >= start->bit && !leads_to(s, start, stored);
}

/* Whether the place is one of the run's last two blocks.  The place that find_stored returns is up
 * to seven bits after the block's start. */
static bool is_one_of(const struct gz_run *run, enum kind kind, uint64_t bit)
{
    const uint64_t most = kind == STORED ? 7 : 0;

    return run != NULL && (bit - run->block.bit <= most || bit - run->before.bit <= most);
}

/* Returns the first bit, from `from` on, from which the budget allows to search.  Bytes that the
 * run before the search has decoded do not count as passed over. */
static uint64_t allowed_from(struct gz_starts *s, uint64_t from, const struct gz_run *before)
{
    const uint64_t size = s->r->view->size, allowed = gz_runner_from(s->r);
    const uint64_t at = allowed < size ? allowed : size;
    const uint64_t decoded = before != NULL ? before->bit / 8 : 0;
    const uint64_t passed_from = decoded > from / 8 ? decoded : from / 8;

    if (at <= from / 8)
        return from;
    s->passed += at > passed_from ? at - passed_from : 0;
    return 8 * at;
}

bool gz_starts_find(struct gz_starts *s, uint64_t from, const struct gz_run *except,
                    struct gz_start *start)
{
    for (enum kind kind = MEMBER; (from = allowed_from(s, from, except)) / 8 < s->r->view->size;) {
        const uint64_t place = earliest(s, from, from + 8 * STEP, &kind);

        if (place == INF_NOWHERE) {
            from += 8 * STEP;
            continue;
        }
        from = place + 1;
        if (!is_one_of(except, kind, place) && make_start(s, kind, place, start) &&
            try_start(s, start) && !is_within_stored(s, kind, start, place))
            return true;
    }
    return false;
}

uint64_t gz_starts_passed(const struct gz_starts *s)
{
    return s->passed;
}
