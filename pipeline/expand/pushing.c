/*
 * pushing.c - limits how far an input may be pushed ahead of the output (pushing.h)
 *
 * A caller that was away for a long time is called slow.  For each REGION_OUT bytes of output that
 * a slow caller takes, it may have one region decoded ahead.  So the output that is given up is
 * never more than the output that the caller took, even if it takes a little now and then.  A
 * caller that takes output as fast as it comes has all threads again after about 10 ms.
 */
#include "config.h"

#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/buffers.h"
#include "pipeline/expand/pushing.h"

/* Bytes of the lead (pushing.h) that each pushed input has for itself. */
#define PUSH_LEAD ((uint64_t)5 << 19)

/* Bytes of the lead that all inputs share: a constant, and an amount for each thread. */
#define SHARED_LEAD ((uint64_t)3 << 19)
#define SHARED_LEAD_THREAD ((uint64_t)1 << 20)

/* Returns the byte of the input up to which the output is written.  The consumer may have read a
 * few of the bytes before it without having written their output. */
static uint64_t written_to(const struct expansion *e)
{
    return e->line_from != UINT64_MAX ? e->line_from : e->cursor;
}

void pushing_count(struct expansion *e)
{
    struct pushing *s = &e->pushing;
    const uint64_t written = written_to(e);
    const uint64_t ahead = s->pushed > written && !e->is_closing ? s->pushed - written : 0;
    const uint64_t borrowed = e->has_begun && ahead > PUSH_LEAD ? ahead - PUSH_LEAD : 0;

    e->p->expansions->borrowed += borrowed - s->borrowed;
    s->borrowed = borrowed;
}

bool pushing_has_buffer(const struct expansion *e)
{
    if (e->pushing.is_slow && (uint64_t)e->buffers >= e->pushing.taken / REGION_OUT)
        return false;
    return buffers_has(e);
}

void pushing_slow_down(struct expansion *e)
{
    e->pushing.is_slow |= e->is_stalled;
    e->pushing.taken = 0;
}

uint64_t pushing_region_max(const struct expansion *e)
{
    return e->is_pushed ? e->pushing.lead / (uint64_t)crew_threads(e->p) : UINT64_MAX;
}

/* Returns how many bytes of input may be pushed now beyond the byte that written_to returns. */
static uint64_t find_lead(const struct expansion *e)
{
    const struct pipeline *p = e->p;
    const uint64_t all = SHARED_LEAD + (uint64_t)crew_threads(p) * SHARED_LEAD_THREAD;
    const uint64_t others = p->expansions->borrowed - e->pushing.borrowed;

    if (!e->has_begun)
        return 2 * PIPELINE_EXPAND_MIN;
    return PUSH_LEAD + (e->pushing.is_slow || others > all ? 0 : all - others);
}

size_t expansion_push(struct expansion *e, const uint8_t *bytes, size_t len, bool ends)
{
    struct pipeline *p = e->p;
    uint64_t limit;
    size_t n;

    lock(p);
    e->pushing.lead = find_lead(e);
    limit = written_to(e) + e->pushing.lead;
    unlock(p);
    n = input_push(e->input, bytes, len, limit, ends);
    lock(p);
    e->pushing.pushed += n;
    pushing_count(e);
    if (e->has_begun)
        crew_call(p);
    unlock(p);
    return n;
}

void expansion_wrote(struct expansion *e, size_t len)
{
    struct pushing *s = &e->pushing;

    lock(e->p);
    s->taken += len;
    if (s->is_slow) {
        s->is_slow = s->taken < buffers_output(e->p);
        crew_call(e->p);
    }
    unlock(e->p);
}
