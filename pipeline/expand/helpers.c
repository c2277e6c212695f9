/*
 * helpers.c - the work of threads ahead of the consumer (helpers.h)
 *
 * A thread collects a batch of regions, each with a known start and an output buffer, and passes
 * their tasks to the engine.  A task pauses at the end of its region.  If the next region starts
 * exactly there, the task ends.  Else the engine continues the task, up to where the next region
 * starts.
 */
#include "config.h"

#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/gpu_decoder.h"
#include "pipeline/expand/helpers.h"
#include "pipeline/expand/in_order.h"
#include "pipeline/expand/regions.h"
#include "pipeline/expand/share.h"
#include "pipeline/expand/tools.h"

/* The most regions of a batch, even if the engine takes more.  help_one and decode_batch each have
 * an array of this length on the stack. */
#define BATCH_MAX 64

/* The least value of batch_max in tests, so that every engine decodes in batches there. */
#define BATCH_IN_TESTS 3

/* The regions that an engine decodes at a time. */
struct batch {
    struct region *regions[BATCH_MAX];
    unsigned count;
};

static unsigned batch_max(const struct expansion *e)
{
    const unsigned max = e->engine->batch_max;

    if (e->fixed_region > 0 && max < BATCH_IN_TESTS)
        return BATCH_IN_TESTS;
    return max < BATCH_MAX ? max : BATCH_MAX;
}

/* Adds the next region to the batch, if the region's start is found and there is a buffer for the
 * region.  Gives up the lock.  Returns whether the region was added.  Sets *has_done if it was
 * added, or if a search for its start has had a result. */
static bool add_to_batch(struct expansion *e, struct expand_tools *t, struct batch *b,
                         bool *has_done)
{
    struct region *r = regions_next(e);
    const bool has_all = r != NULL && input_has(e->input, r->to);

    /* To look for a start, a thread may wait for the region's input.  But the consumer must not
     * wait for a pipe here, because it must take over the runs that other threads decode.  And no
     * thread may wait here for bytes that the caller has yet to push. */
    if (r == NULL || ((t == e->tools || e->is_pushed) && !has_all))
        return false;
    if (has_all)
        crew_call(e->p);
    if (r->state == REGION_NEW) {
        region_find_start(e, t, r);
        *has_done |= r->state != REGION_NEW;
    }
    if (r->state != REGION_FOUND || !region_begin(e, r))
        return false;
    b->regions[b->count++] = r;
    *has_done = true;
    return true;
}

/* Decodes the regions of the batch.  Gives up the lock. */
static void decode_batch(struct expansion *e, struct expand_tools *t, struct batch *b)
{
    struct decode_task *tasks[BATCH_MAX];

    while (b->count > 0) {
        unsigned left = 0;

        for (unsigned i = 0; i < b->count; i++)
            tasks[i] = &b->regions[i]->task;
        unlock(e->p);
        e->engine->decode(t, e->input, tasks, b->count);
        lock(e->p);
        for (unsigned i = 0; i < b->count; i++) {
            struct region *r = b->regions[i];

            if (r->task.end == DECODE_PAUSED && region_goes_on(e, t, r))
                b->regions[left++] = r;
            else
                region_end(e, t, r);
            wake_all(e->p, CAN_EXPAND);
        }
        b->count = left;
    }
}

bool help_one(struct expansion *e, struct expand_tools *t)
{
    struct batch b = {.count = 0};
    bool has_done;

    if (e->is_closing)
        return false;
    e->busy++;
    has_done = in_order_step(e, t);
    if (!has_done) {
        while (b.count < batch_max(e) && add_to_batch(e, t, &b, &has_done))
            ;
        decode_batch(e, t, &b);
    }
    e->busy--;
    if (has_done || e->is_closing)
        wake_all(e->p, CAN_EXPAND);
    return has_done;
}

/* Makes a worker's tools.  Gives up the lock.  Returns false if memory is short.  Other threads
 * then do the work. */
static bool get_tools(struct worker *w)
{
    struct expand_tools *t;

    unlock(w->pipeline);
    t = tools_make();
    lock(w->pipeline);
    w->expand = t;
    return t != NULL;
}

bool expand_some(struct worker *w)
{
    struct pipeline *p = w->pipeline;

    if (decoder_check_some(p))
        return true;
    if (!share_has_room(p))
        return false;
    for (struct expansion *e = p->expansions->first; e != NULL; e = e->next) {
        bool has_helped;

        if (e->is_closing || !share_helps(e))
            continue;
        /* get_tools gives up the lock, so *e may be freed meanwhile.  So return at once. */
        if (w->expand == NULL)
            return get_tools(w);
        p->expansions->helpers++;
        has_helped = help_one(e, w->expand);
        p->expansions->helpers--;
        if (has_helped)
            return true;
    }
    return false;
}
