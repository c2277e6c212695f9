/*
 * regions.c - the list of regions (regions.h)
 */
#include "config.h"

#include <stdlib.h>

#include "inflate/find.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/buffers.h"
#include "pipeline/expand/find_start.h"
#include "pipeline/expand/gpu_decoder.h"
#include "pipeline/expand/pushing.h"
#include "pipeline/expand/regions.h"
#include "pipeline/expand/share.h"

/* Bytes of input in a region: the least, the most, and the size before the compression ratio is
 * known.  In between, a region's size is chosen so that it makes REGION_OUT bytes of output.  With
 * smaller regions, the searches for starts cost more.  With larger regions, fewer threads have
 * something to do at first. */
#ifndef REGION_MIN /* tests choose other sizes */
#define REGION_MIN ((uint64_t)32 << 10)
#define REGION_FIRST ((uint64_t)256 << 10)
#endif
#define REGION_MAX ((uint64_t)1 << 20)

/* With fewer threads than this, workers decode ahead only from marks and members.  Decoding symbols
 * and resolving them is twice the work of decoding bytes. */
#define SYMBOLS_THREADS 3

/* The most bytes of input expected from one mark to the next, in a file that has marks. */
#define MARKS_DISTANCE ((uint64_t)5 << 20)

/* After MISSES_MAX + 2 x threads regions without an accepted run, no region is made of the next
 * SKIP_FIRST bytes of input.  Each time this happens again, the number of bytes doubles, up to
 * SKIP_MAX. */
#define MISSES_MAX 16
#define SKIP_FIRST ((uint64_t)16 << 20)
#define SKIP_MAX ((uint64_t)256 << 20)

/* To search bytes for a block's header takes about as long as to decode them.  So there is a limit
 * on the bytes that workers may search without finding a header.  It is the sum of
 *
 *   SEARCH_MIN bytes, and SEARCH_THREAD bytes for each thread,
 *   the bytes of input of all accepted runs, and
 *   the bytes that the consumer has read so far, divided by SEARCH_OF_ALL.
 *
 * With a lower limit, workers find too few starts where blocks are large.  With a higher limit,
 * files that have no start to find take longer. */
#define SEARCH_MIN ((uint64_t)512 << 10)
#define SEARCH_THREAD ((uint64_t)32 << 10)
#define SEARCH_OF_ALL 32

/* Where data compresses much better than on average, a region makes more output than its buffer has
 * room for.  The rest of the region then becomes a region of its own.  That rest is cut at its next
 * mark, but only after REST_MIN bytes of input.  The part after the mark becomes another rest, in
 * which another worker can begin at once. */
#define REST_MIN ((uint64_t)4 << 10)

/* A region begins at most LEAD_MIN bytes of input ahead of the consumer, or LEAD_THREAD bytes for
 * each thread if that is more.  All bytes of a pipe between the consumer and the regions are in
 * memory. */
#define LEAD_MIN ((uint64_t)32 << 20)
#define LEAD_THREAD ((uint64_t)2 << 20)

/* In a region whose start is not known yet, the consumer calls regions_at again after this many
 * bytes of input.  With more, the consumer passes more starts that are found meanwhile.  With less,
 * short blocks take longer, since the consumer waits for the lock at each block. */
#define ASK_AGAIN ((uint64_t)4 << 10)

/* --- The list ------------------------------------------------------------------------------- */

static uint64_t region_size(const struct expansion *e)
{
    const struct region_list *l = &e->regions;
    uint64_t size;

    if (e->fixed_region > 0)
        return e->fixed_region;
    if (l->out == 0)
        return REGION_FIRST;
    size = (uint64_t)((double)REGION_OUT * (double)l->in / (double)l->out);
    if (size > pushing_region_max(e))
        size = pushing_region_max(e);
    return size < REGION_MIN ? REGION_MIN : size > REGION_MAX ? REGION_MAX : size;
}

static uint64_t lead_max(const struct pipeline *p)
{
    const uint64_t lead = (uint64_t)crew_threads(p) * LEAD_THREAD;

    return lead < LEAD_MIN ? LEAD_MIN : lead;
}

/* Returns the byte of the input before which a new region would be useless, because the consumer
 * will soon have decoded the bytes before it. */
static uint64_t passed(const struct expansion *e)
{
    return e->fixed_region > 0 ? e->decoded : e->cursor;
}

/* Adds the next region to the end of the list.  Returns NULL if there is no more input for it now,
 * if input is left out after too many misses, or if memory is short. */
static struct region *add_region(struct expansion *e)
{
    struct region_list *l = &e->regions;
    const uint64_t size = region_size(e), end = input_size(e->input);
    struct region *r;

    if (l->next_from < passed(e))
        l->next_from = passed(e);
    if (l->next_from == 0) /* the consumer decodes the first `size` bytes */
        l->next_from = size;
    if (l->next_from >= end || l->next_from > e->cursor + lead_max(e->p) || e->is_closing)
        return NULL;
    if (++l->misses > MISSES_MAX + 2 * (unsigned)crew_threads(e->p)) {
        l->misses = 0;
        l->skip = l->skip == 0 ? SKIP_FIRST : l->skip < SKIP_MAX ? 2 * l->skip : SKIP_MAX;
        l->next_from += l->skip;
        return NULL;
    }
    r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->from = l->next_from;
    r->to = size < end - r->from ? r->from + size : end;
    l->next_from = r->to;
    if (l->first == NULL)
        l->first = r;
    else
        l->last->next = r;
    l->last = r;
    return r;
}

struct region *regions_first(const struct expansion *e)
{
    return e->regions.first;
}

struct region *regions_next(struct expansion *e)
{
    if (e->has_given_up || decoder_is_at_work(e) || !pushing_has_buffer(e))
        return NULL;
    for (struct region *r = e->regions.first; r != NULL; r = r->next)
        if (r->state == REGION_NEW || r->state == REGION_FOUND)
            return r;
    return add_region(e);
}

/* Frees the output buffer and the runs of a region. */
static void forget_decoded(struct expansion *e, struct region *r)
{
    buffers_give(e, r);
    task_free_runs(&r->task);
    r->next_run = 0;
}

static void free_region(struct expansion *e, struct region *r)
{
    forget_decoded(e, r);
    free(r);
}

/* Ends region r at byte `from` of the input, and makes a region of the rest.  Returns NULL if
 * memory is short. */
static struct region *cut_off(struct expansion *e, struct region *r, uint64_t from)
{
    struct region *rest = calloc(1, sizeof(*rest));

    if (rest == NULL)
        return NULL;
    rest->from = from;
    rest->to = r->to;
    rest->is_rest = true;
    rest->next = r->next;
    r->to = from;
    r->next = rest;
    if (e->regions.last == r)
        e->regions.last = rest;
    crew_call(e->p);
    return rest;
}

/* --- Starts --------------------------------------------------------------------------------- */

static struct start_search search_of(struct expansion *e, bool marks_only)
{
    return (struct start_search){e->input, e->p->expansions->finder, marks_only,
                                 &e->regions.searched, &e->regions.search_max};
}

/* Cuts a region that is a rest (REST_MIN) at the next mark.  The region's task.start must be
 * known.  Gives up the lock. */
static void cut_rest(struct expansion *e, struct expand_tools *t, struct region *r)
{
    const struct start_search s = search_of(e, true);
    const uint64_t from = r->task.start / 8 + REST_MIN;
    enum start_kind kind = START_IN_DATA;
    uint64_t start = 0;
    bool has_found;

    unlock(e->p);
    has_found = from < r->to && find_start(&s, t, from, r->to, &kind, &start);
    lock(e->p);
    /* Do not cut at a member.  The new rest would begin after the member's header, so a search of
     * the rest would miss that member. */
    if (has_found && kind == START_AT_MARK && start / 8 < r->to && !e->is_closing)
        cut_off(e, r, start / 8);
}

void region_find_start(struct expansion *e, struct expand_tools *t, struct region *r)
{
    struct region_list *l = &e->regions;
    const bool marks_only = crew_threads(e->p) < SYMBOLS_THREADS ||
                            (l->has_marks && r->from < l->last_mark + MARKS_DISTANCE);
    const struct start_search s = search_of(e, marks_only);
    bool has_found;

    r->state = REGION_SEARCHING;
    l->search_max = SEARCH_MIN + (uint64_t)crew_threads(e->p) * SEARCH_THREAD + l->in +
                    e->cursor / SEARCH_OF_ALL;
    unlock(e->p);
    has_found = find_start(&s, t, r->from, r->to, &r->task.kind, &r->task.start);
    lock(e->p);
    if (has_found && r->task.kind != START_IN_DATA && r->is_rest)
        cut_rest(e, t, r);
    if (has_found)
        r->state = REGION_FOUND;
    else
        r->state = input_has(e->input, r->to) ? REGION_BARREN : REGION_NEW;
    if (has_found && r->task.kind == START_AT_MARK && r->task.start / 8 > l->last_mark)
        l->last_mark = r->task.start / 8;
    wake_all(e->p, CAN_EXPAND);
}

/* --- Decoding ------------------------------------------------------------------------------- */

bool region_begin(struct expansion *e, struct region *r)
{
    if (e->is_closing || !pushing_has_buffer(e))
        return false;
    buffers_take(e, r);
    if (r->task.buffer == NULL)
        return false;
    r->task.until = 8 * r->to;
    r->task.to = r->to;
    r->task.check = e->check;
    r->task.enough = REGION_OUT;
    r->task.bytes_limit = e->is_pushed ? PUSHED_OUT : SIZE_MAX;
    r->task.takes_all = e->fixed_region > 0;
    atomic_store_explicit(&r->task.is_cancelled, false, memory_order_relaxed);
    r->state = REGION_DECODING;
    return true;
}

bool region_goes_on(struct expansion *e, struct expand_tools *t, struct region *r)
{
    const uint64_t bit = r->task.at;
    struct region *next = r->next;

    while (!e->is_closing && r->state == REGION_DECODING) {
        if (next == NULL)
            next = add_region(e);
        /* While it is not known where the next region starts, continue block by block. */
        r->task.until = bit + 1;
        if (next == NULL)
            return true;
        switch (next->state) {
        case REGION_NEW:
            /* A pipe may give nothing for a long time, so do not wait for it here. */
            if (!input_has(e->input, next->to))
                return true;
            region_find_start(e, t, next);
            if (next->state == REGION_NEW)
                return true;
            break;
        case REGION_SEARCHING:
            await(e->p, CAN_EXPAND);
            next = r->next; /* the old `next` may be freed */
            break;
        case REGION_BARREN:
            r->task.until = 8 * next->to;
            if (bit < r->task.until)
                return true;
            next = next->next;
            break;
        default:
            r->task.until = next->task.start;
            if (bit <= r->task.until)
                return bit < r->task.until;
            next = next->next;
            break;
        }
    }
    return false;
}

/* Makes a region of the input that is left of region r, whose output is full. */
static void add_rest(struct expansion *e, struct expand_tools *t, struct region *r)
{
    const struct decode_task *task = &r->task;
    const struct decoded_run *last = task->count > 0 ? task->runs[task->count - 1] : NULL;
    const bool is_at_mark = task->end == DECODE_FULL_AT_MARK;
    struct region *rest;

    if (last == NULL || last->end / 8 >= r->to)
        return;
    rest = cut_off(e, r, last->end / 8);
    /* In two cases, the rest stays REGION_NEW, so that a search finds its start.  After the end of
     * a member, the next member must be found first.  With few threads, decoding can only begin at
     * a mark or a member (SYMBOLS_THREADS). */
    if (rest == NULL || last->ends_stream || (!is_at_mark && crew_threads(e->p) < SYMBOLS_THREADS))
        return;
    rest->task.kind = is_at_mark ? START_AT_MARK : START_IN_DATA;
    rest->task.start = last->end;
    rest->state = REGION_SEARCHING;
    if (is_at_mark)
        cut_rest(e, t, rest);
    rest->state = REGION_FOUND;
    wake_all(e->p, CAN_EXPAND);
}

/* Discards the output of a decoded region, and lets a worker decode it again.  A region without
 * runs is not decoded again, as it would have none again. */
static void decode_later(struct expansion *e, struct region *r)
{
    if (r->task.count > 0)
        r->state = REGION_FOUND;
    forget_decoded(e, r);
}

void region_end(struct expansion *e, struct expand_tools *t, struct region *r)
{
    const enum decode_end end = r->task.end;
    const bool is_wanted = r->state == REGION_DECODING && !e->is_closing;

    r->state = REGION_DECODED;
    for (size_t i = 0; i < r->task.count; i++)
        r->task.runs[i]->region = r;
    if (e->has_given_up)
        decode_later(e, r);
    else if (is_wanted && (end == DECODE_FULL || end == DECODE_FULL_AT_MARK))
        add_rest(e, t, r);
}

/* --- The consumer --------------------------------------------------------------------------- */

struct region *regions_at(struct expansion *e, uint64_t bit, struct decoded_run **run)
{
    *run = NULL;
    for (struct region *r = e->regions.first; r != NULL && 8 * r->from <= bit; r = r->next) {
        const struct decode_task *task = &r->task;

        switch (r->state) {
        case REGION_DECODED:
            while (r->next_run < task->count && task->runs[r->next_run]->start < bit)
                r->next_run++;
            if (r->next_run < task->count && task->runs[r->next_run]->start == bit) {
                *run = task->runs[r->next_run];
                return r;
            }
            break;
        case REGION_SEARCHING:
            if (bit < 8 * r->to)
                return r;
            break;
        case REGION_FOUND:
        case REGION_DECODING:
        case REGION_ABANDONED:
            if (task->start == bit)
                return r;
            break;
        case REGION_NEW:
        case REGION_BARREN:
            break;
        }
    }
    return NULL;
}

uint64_t regions_next_start(const struct expansion *e, uint64_t bit)
{
    const uint64_t soon = bit + (e->fixed_region > 0 ? 1 : 8 * ASK_AGAIN);
    const uint64_t next_from = e->regions.next_from;

    for (const struct region *r = e->regions.first; r != NULL; r = r->next) {
        switch (r->state) {
        case REGION_DECODED:
            for (size_t i = r->next_run; i < r->task.count; i++)
                if (r->task.runs[i]->start > bit)
                    return r->task.runs[i]->start;
            break;
        case REGION_FOUND:
        case REGION_DECODING:
        case REGION_ABANDONED:
            if (r->task.start > bit)
                return r->task.start;
            break;
        case REGION_NEW:
            if (!share_helps(e))
                break; /* nobody will look for its start */
            /* fall through */
        case REGION_SEARCHING:
            if (8 * r->to > bit)
                return 8 * r->from > bit ? 8 * r->from : soon;
            break;
        case REGION_BARREN:
            break;
        }
    }
    return 8 * (next_from > passed(e) ? next_from : passed(e));
}

/* Whether a consumer at `bit` cannot use the region any more. */
static bool is_past(const struct region *r, uint64_t bit)
{
    switch (r->state) {
    case REGION_DECODED:
        return r->task.count == 0 || r->task.runs[r->task.count - 1]->start < bit;
    case REGION_FOUND:
    case REGION_DECODING:
    case REGION_ABANDONED:
        return r->task.start < bit;
    default:
        return 8 * r->to <= bit;
    }
}

static void abandon(struct region *r)
{
    r->state = REGION_ABANDONED;
    atomic_store_explicit(&r->task.is_cancelled, true, memory_order_relaxed);
}

/* Whether a thread works on the region, or one of its runs is in line. */
static bool is_in_use(const struct region *r)
{
    return r->state == REGION_SEARCHING || r->state == REGION_DECODING ||
           r->state == REGION_ABANDONED || r->runs_in_line > 0;
}

void regions_drop_past(struct expansion *e, uint64_t bit)
{
    struct region **link = &e->regions.first, *last = NULL;
    uint64_t wanted = bit / 8;
    int given = 0;

    while (*link != NULL && 8 * (*link)->from <= bit) {
        struct region *r = *link;
        const bool past = is_past(r, bit);

        if (past && r->state == REGION_DECODING)
            abandon(r);
        if (past && !is_in_use(r)) {
            *link = r->next;
            given += r->task.buffer != NULL;
            free_region(e, r);
        } else {
            if (r->from < wanted && !(e->has_given_up && r->runs_in_line > 0))
                wanted = r->from;
            last = r;
            link = &r->next;
        }
    }
    if (*link == NULL)
        e->regions.last = last;
    for (; given > 0; given--)
        crew_call(e->p);
    /* A mark may begin shortly before the region, so keep the bytes there. */
    input_forget(e->input, wanted > INF_MARK_SIZE ? wanted - INF_MARK_SIZE : 0);
    pushing_count(e);
}

static uint64_t run_output(const struct decoded_run *run)
{
    return run->symbols + run->len;
}

void regions_count_run(struct expansion *e, const struct decoded_run *run)
{
    struct region_list *l = &e->regions;

    l->has_marks |= run->region->task.kind == START_AT_MARK;
    l->in += (run->end - run->start) / 8;
    l->out += run_output(run);
    l->misses = 0;
    l->skip = 0;
    e->stats.runs++;
    e->stats.bytes += run_output(run);
}

void regions_uncount_run(struct expansion *e, const struct decoded_run *run)
{
    e->regions.in -= (run->end - run->start) / 8;
    e->regions.out -= run_output(run);
    e->stats.runs--;
    e->stats.bytes -= run_output(run);
}

/* --- The end -------------------------------------------------------------------------------- */

void regions_give_up(struct expansion *e)
{
    for (struct region *r = e->regions.first; r != NULL; r = r->next) {
        if (r->state == REGION_DECODED && r->runs_in_line == 0)
            decode_later(e, r);
        else if (r->state == REGION_DECODED)
            buffers_disown(e, r);
    }
}

void regions_cancel(struct expansion *e)
{
    for (struct region *r = e->regions.first; r != NULL; r = r->next)
        if (r->state == REGION_DECODING)
            abandon(r);
}

void regions_free(struct expansion *e)
{
    for (struct region *r = e->regions.first, *next; r != NULL; r = next) {
        next = r->next;
        free_region(e, r);
    }
}
