/*
 * starts.c - finds the next place in a damaged input where decoding can start (starts.h)
 *
 * There are several kinds of places where decoding may start.  For each kind, a function finds the
 * next place, which is kept until the search has passed it.  The earliest of these places is tried
 * first.
 */
#include "config.h"

#include "compat/recover/starts.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "compat/gzip.h"
#include "inflate/find.h"

/* The search looks for places in STEP bytes of the input at a time.  BEHIND more bytes are in
 * memory, for headers and stored blocks that begin in the STEP bytes. */
#define STEP ((size_t)256 << 10)
#define BEHIND ((size_t)136 << 10)

/* The longest stored block: its two lengths, and its data. */
#define STORED_HEADER ((size_t)4)
#define STORED_MOST (STORED_HEADER + 65535)

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
enum kind { MEMBER, FLUSH, STORED, DYNAMIC, FINAL, KINDS };

struct gz_starts {
    struct gz_runner *r;
    struct inf_finder dynamic, final;
    /* For each kind, the next place in this view: a bit of the input, or INF_NOWHERE. */
    uint64_t next[KINDS];
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
    *start = (struct gz_start){GZ_START_MEMBER, 8 * (at + used), at};
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
static uint64_t find_member(const struct area *a, size_t at)
{
    while (at < a->to) {
        const uint8_t *const found = memchr(a->in + at, 0x1f, a->to - at);

        if (found == NULL)
            break;
        at = (size_t)(found - a->in);
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

/* Whether a stored block's two lengths are in[at..at + STORED_HEADER), and a good header follows
 * the block.  If the block that follows is stored, too, its padding must be zeros.  The RFC does
 * not ask for that, but all programs write zeros. */
static bool is_stored(const struct area *a, size_t at)
{
    const uint32_t lengths = load32(a->in + at);
    const size_t len = lengths & 0xffff, next = at + STORED_HEADER + len;
    struct inf_block block;

    return (len ^ lengths >> 16) == 0xffff && len > 0 && a->in[(ptrdiff_t)at - 1] >> 5 == 0 &&
           next < a->len &&
           inf_check_block(0, 0, a->in + next, a->len - next, &block) == INF_BLOCK_GOOD &&
           (block.type == INF_BLOCK_DYNAMIC ||
            (block.type == INF_BLOCK_STORED && a->in[next] >> 1 == 0));
}

/* Returns the next stored block from in[at] on.  The result is the place of the last three bits
 * before the block's lengths.  The header may start earlier, with zeros up to the lengths; decoding
 * from either place gives the same output. */
static uint64_t find_stored(const struct area *a, size_t at)
{
    for (at += a->base + at == 0; at < a->to && at + STORED_HEADER <= a->len; at++)
        if (is_stored(a, at))
            return 8 * (a->base + at) - 3;
    return INF_NOWHERE;
}

/* Returns the next dynamic block's header from bit `from` of the input on. */
static uint64_t find_dynamic(const struct inf_finder *f, const struct area *a, uint64_t from)
{
    const uint64_t bit =
        inf_find_dynamic(f, a->in, a->len, from - 8 * a->base, 8 * (uint64_t)a->to);

    return bit == INF_NOWHERE ? bit : bit + 8 * a->base;
}

/* Returns the next place of a kind, from bit `from` of the input on. */
static uint64_t find_kind(const struct gz_starts *s, const struct area *a, enum kind kind,
                          uint64_t from)
{
    /* A stored block's place is three bits before the byte that is looked at. */
    const size_t at = (size_t)((from + (kind == STORED ? 3 : 0) + 7) / 8 - a->base);
    struct area further = *a;

    switch (kind) {
    case MEMBER:
        return find_member(a, at);
    case FLUSH:
        return find_flush(a, at);
    case STORED:
        /* is_within_stored compares other places with the stored blocks after them. */
        further.to = a->len < a->to + STORED_MOST ? a->len : a->to + STORED_MOST;
        return find_stored(&further, at);
    case DYNAMIC:
        return find_dynamic(&s->dynamic, a, from);
    case FINAL:
        return find_dynamic(&s->final, a, from);
    case KINDS:
        break;
    }
    return INF_NOWHERE;
}

/* --- Trials --------------------------------------------------------------------------------- */

/* Sets *start to the place of this kind at bit `bit` of the input.  Returns false if no place of
 * this kind turns out to be there. */
static bool make_start(struct gz_starts *s, enum kind kind, uint64_t bit, struct gz_start *start)
{
    struct gz_view *const view = s->r->view;
    const uint64_t at = bit / 8;
    size_t got;

    *start = (struct gz_start){GZ_START_BLOCK, bit, at};
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

/* Decodes the block at `start`.  Returns whether it seems to be a block of the data.  Sets *cost to
 * the work done, as a number of bits of input. */
static bool try_start(struct gz_starts *s, const struct gz_start *start, uint64_t *cost)
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
    *cost = run.bit - start->bit + run.made / 4;
    switch (run.end) {
    case GZ_RUN_DONE:
        return run.made < TRIAL_OUT ? is_block(view, run.bit) : is_sure;
    case GZ_RUN_MEMBER:
        return gz_run_is_right(&run) || gz_starts_end(view, run.next);
    case GZ_RUN_CUT:
        return is_sure || pass.limit >= 8 * view->size;
    case GZ_RUN_BAD:
        return is_sure && run.made >= ENOUGH;
    default:
        return false;
    }
}

/* Whether decoding from `start` comes to the stored block whose last header bits are at `bit`.
 * Adds to *cost the work done, as a number of bits of input. */
static bool leads_to(struct gz_starts *s, const struct gz_start *start, uint64_t bit,
                     uint64_t *cost)
{
    struct gz_pass pass = {.start = *start,
                           .limit = bit + 8 * STORED_HEADER,
                           .most = LEADS_OUT,
                           .one_block = true,
                           .is_trial = true};
    struct gz_run run = {.bit = start->bit, .end = GZ_RUN_DONE};
    uint64_t made = 0;

    /* The header's first bit is up to seven bits earlier. */
    while (run.end == GZ_RUN_DONE && run.bit + 7 < bit && made < LEADS_OUT) {
        pass.start = (struct gz_start){GZ_START_BLOCK, run.bit, run.bit / 8};
        gz_run_decode(s->r, &pass, &run);
        made += run.made;
    }
    *cost += run.bit - start->bit + made / 4;
    return run.end == GZ_RUN_DONE && run.bit + 7 >= bit && run.bit <= bit;
}

/* --- The search ----------------------------------------------------------------------------- */

/* Returns the kind of the earliest place that is known; KINDS if there is none. */
static enum kind earliest(const struct gz_starts *s)
{
    enum kind first = KINDS;

    for (enum kind kind = 0; kind < KINDS; kind++)
        if (s->next[kind] != INF_NOWHERE && (first == KINDS || s->next[kind] < s->next[first]))
            first = kind;
    return first;
}

/* Whether the place seems to be inside a stored block.  The answer is yes if a stored block that
 * find_stored has found starts at most STORED_MOST bytes after the place, and decoding from the
 * place does not lead to that block.  Then the place may be in another stored block, which ends
 * where that block starts.  Adds to *cost as leads_to does. */
static bool is_within_stored(struct gz_starts *s, enum kind kind, const struct gz_start *start,
                             uint64_t *cost)
{
    const uint64_t stored = s->next[STORED];

    return kind != STORED && stored != INF_NOWHERE && stored - start->bit <= 8 * STORED_MOST &&
           !leads_to(s, start, stored, cost);
}

/* Whether the place is one of the run's last two blocks.  The place that find_stored returns is up
 * to seven bits after the block's start. */
static bool is_one_of(const struct gz_run *run, enum kind kind, uint64_t bit)
{
    const uint64_t most = kind == STORED ? 7 : 0;

    return run != NULL && (bit - run->block.bit <= most || bit - run->before.bit <= most);
}

/* Searches in one view of the input, from bit `from` on.  Returns true if a start was found.
 * Otherwise *from becomes the bit from which to go on. */
static bool find_in_view(struct gz_starts *s, uint64_t *from, const struct gz_run *except,
                         struct gz_start *start)
{
    struct gz_view *const view = s->r->view;
    const uint64_t end = 8 * (*from / 8 + STEP);
    struct area a = {.base = *from / 8};
    uint64_t cost;

    for (bool is_new = true;; is_new = false) {
        a.in = gz_view_at(view, a.base, STEP + BEHIND, &a.len);
        a.to = a.len < STEP ? a.len : STEP;
        for (enum kind kind = 0; kind < KINDS; kind++)
            if (is_new || s->next[kind] < *from)
                s->next[kind] = find_kind(s, &a, kind, *from);
        const enum kind kind = earliest(s);

        if (kind == KINDS || s->next[kind] >= end)
            break;
        *from = s->next[kind] + 1;
        if (is_one_of(except, kind, s->next[kind]) || !make_start(s, kind, s->next[kind], start))
            continue;
        if (try_start(s, start, &cost) && !is_within_stored(s, kind, start, &cost))
            return true;
        *from += cost / 16 + (gz_runner_may(s->r, *from) ? 0 : GZ_WORK_DECODING / 2);
    }
    *from = end > *from ? end : *from;
    return false;
}

bool gz_starts_find(struct gz_starts *s, uint64_t from, const struct gz_run *except,
                    struct gz_start *start)
{
    while (from / 8 < s->r->view->size)
        if (find_in_view(s, &from, except, start))
            return true;
    return false;
}
