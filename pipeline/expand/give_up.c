/*
 * give_up.c - frees memory of a stream whose caller is away for a long time (api.h)
 *
 * Output that was decoded ahead can be discarded, because a worker can decode it again as long as
 * the input is kept.  So the stream keeps only:
 *
 * - the input that was pushed and is not decoded (pushing.h limits it);
 * - the rest of the run that the consumer is writing, and the runs after it that a window needs
 *   (in_order_shorten).
 *
 * The line loses all later runs, and the consumer's place returns to where these start.  All runs
 * that are not in line are freed.  Their buffers go to other decompressions, or to the system if no
 * decompression is active.  If a buffer must stay, its pages that nobody needs go back to the
 * system.
 */
#include "config.h"

#include "base/pages.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/buffers.h"
#include "pipeline/expand/in_order.h"
#include "pipeline/expand/pushing.h"
#include "pipeline/expand/regions.h"
#include "pipeline/expand/tools.h"

/* Keeps part[0..len), and gives the pages from *at to `part` back to the system.  Moves *at to the
 * end of the part. */
static void keep_part(uint8_t **at, uint8_t *part, size_t len)
{
    if (len == 0)
        return;
    pages_give_back(*at, part);
    *at = part + len;
}

static bool is_within(const uint8_t *p, const uint8_t *part, size_t len)
{
    return p >= part && p < part + len;
}

/* Gives the pages of the region's buffer back to the system, except the pages of runs in line.  Of
 * the run that is being written, keeps only the bytes that are not yet written.  These are
 * rest[0..len), which the current call of e->write has yet to write, and all bytes of the run after
 * them. */
static void keep_runs(const struct expansion *e, struct region *r, const uint8_t *rest, size_t len)
{
    struct decode_task *task = &r->task;
    uint8_t *const symbols = task->buffer + BUFFER_BEFORE;
    uint8_t *at = task->buffer;

    /* Drop the runs that are not in line, because the consumer will decode them again. */
    while (task->count > 0 && !run_is_in_line(task->runs[task->count - 1]))
        task_drop_run(task);
    for (size_t i = 0; i < task->count; i++) {
        const struct decoded_run *run = task->runs[i];

        if (!run_is_in_line(run))
            continue;
        if (run != in_order_written(e)) {
            keep_part(&at, symbols, run->symbols);
            keep_part(&at, run->bytes, run->len);
        } else if (is_within(rest, symbols, run->symbols)) {
            keep_part(&at, symbols + (rest - symbols), len);
            keep_part(&at, run->bytes, run->len);
        } else if (is_within(rest, run->bytes, run->len)) {
            keep_part(&at, run->bytes + (rest - run->bytes), len);
        } else {
            return;
        }
    }
    pages_give_back(at, symbols + task->size);
}

/* Whether any decompression may use idle buffers. */
static bool is_any_active(const struct pipeline *p)
{
    for (const struct expansion *e = p->expansions->first; e != NULL; e = e->next)
        if (!e->is_closing && !e->has_given_up)
            return true;
    return false;
}

bool expansion_give_up(struct expansion *e, const void *rest, size_t len)
{
    struct pipeline *p = e->p;
    struct buffer *idle = NULL;

    if (!e->has_begun)
        return true;
    lock(p);
    if (!in_order_shorten(e)) {
        unlock(p);
        return false;
    }
    e->has_given_up = true;
    pushing_slow_down(e);
    for (struct region *r = regions_first(e); r != NULL; r = r->next)
        if (r->runs_in_line > 0)
            keep_runs(e, r, rest, len);
    regions_give_up(e);
    regions_drop_past(e, e->place != NULL ? e->place->bit : 8 * e->decoded);
    if (!is_any_active(p))
        idle = buffers_take_idle(p);
    /* Workers of other decompressions may be waiting for a buffer. */
    crew_call(p);
    unlock(p);
    buffers_release(idle);
    tools_give_back_pages(e->tools);
    return true;
}
