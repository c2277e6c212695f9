/*
 * consumer.c - the thread that decodes a .gz from its start (consumer.h)
 *
 * At the start of a block, the decoder asks has_ahead whether a run starts there, or a GPU may take
 * over there.  If so, the decoder calls run_ahead.  There the consumer accepts, resolves and writes
 * runs, and helps to decode, until no more runs follow.  Then the decoder continues after the last
 * run.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/consumer.h"
#include "pipeline/expand/direct.h"
#include "pipeline/expand/gpu_decoder.h"
#include "pipeline/expand/helpers.h"
#include "pipeline/expand/in_order.h"
#include "pipeline/expand/regions.h"
#include "pipeline/expand/share.h"
#include "pipeline/expand/tools.h"

/* The consumer does not accept a run with fewer bytes of output than this, but decodes its blocks
 * again.  Each run is written by itself, which takes too long for so little output. */
#ifndef RUN_MIN /* tests choose other sizes */
#define RUN_MIN ((size_t)16 << 10)
#endif

/* In tests, the consumer calls help_one at most this many times in each call of has_ahead. */
#define STEPS_IN_TESTS 4

static bool is_worth_it(const struct expansion *e, const struct decoded_run *run)
{
    return run->symbols + run->len >= RUN_MIN || e->fixed_region > 0;
}

static bool has_ahead(void *ctx, uint64_t bit, uint64_t *from)
{
    struct expansion *e = ctx;
    struct decoded_run *run;
    bool has;

    if (direct_is_possible(e))
        return true;
    if (!e->has_begun) {
        *from = 8 * e->cursor; /* workers begin after the bytes that the consumer has read */
        return false;
    }
    lock(e->p);
    share_decide(e);
    e->decoded = bit / 8;
    regions_drop_past(e, bit);
    if ((decoder_is_at_work(e) && decoder_has(e, bit)) || decoder_is_ready(e, bit)) {
        unlock(e->p);
        return true;
    }
    /* In tests, the consumer does the work of idle workers first. */
    for (int i = 0; e->fixed_region > 0 && i < STEPS_IN_TESTS && help_one(e, e->tools); i++)
        ;
    for (;;) {
        const struct region *r = regions_at(e, bit, &run);

        has = r != NULL && (r->state == REGION_DECODING || r->state == REGION_ABANDONED ||
                            (run != NULL && is_worth_it(e, run)));
        /* If a thread is looking for this region's start, wait for the result, unless that thread
         * may have to wait for a pipe. */
        if (r == NULL || r->state != REGION_SEARCHING || !input_has(e->input, r->to))
            break;
        await(e->p, CAN_EXPAND);
    }
    *from = regions_next_start(e, bit);
    unlock(e->p);
    return has;
}

/* Decodes directly from the consumer's place on, if that is possible and no run comes.  Gives up
 * the lock.  Returns false if it has decoded nothing, or with *error set if the caller's function
 * has failed. */
static bool decode_directly(struct expansion *e, enum coming coming, int *error)
{
    const struct gz_place *place = e->place;

    if (!direct_is_possible(e) || coming == RUN_COMES || place->ended || !in_order_is_idle(e) ||
        in_order_has_failed(e, error))
        return false;
    return direct_decode(e, regions_next_start(e, place->bit), error);
}

static bool run_ahead(void *ctx, struct gz_place *place)
{
    struct expansion *e = ctx;
    struct pipeline *p = e->p;
    bool has_failed = false;
    int error = 0;

    lock(p);
    in_order_begin(e, place);
    for (;;) {
        enum coming coming;

        share_decide(e);
        if (in_order_is_idle(e) && !in_order_has_failed(e, &error)) {
            /* After a member's last block, no block starts at the next bit.  So do not hand over to
             * a GPU there. */
            if (!place->ended && decoder_is_ready(e, place->bit))
                decoder_start(e, place, in_order_window(e));
            if (decoder_is_at_work(e)) {
                has_failed = !decoder_write(e, place, in_order_window(e), &error);
                if (has_failed || place->ended)
                    break;
            }
        }
        if (in_order_step(e, e->tools))
            continue;
        coming = in_order_coming(e);
        if (decode_directly(e, coming, &error))
            continue;
        if (error != 0 && in_order_is_idle(e)) {
            has_failed = true;
            break;
        }
        if ((coming == RUN_COMES || coming == RUN_MAY_COME) && share_helps(e) &&
            help_one(e, e->tools))
            continue;
        if (coming != RUN_COMES && in_order_is_idle(e))
            break;
        await(p, CAN_EXPAND);
    }
    in_order_end(e, place);
    has_failed |= in_order_has_failed(e, &error);
    regions_drop_past(e, place->bit);
    unlock(p);
    errno = error;
    return !has_failed;
}

static void seek_ahead(void *ctx, uint64_t byte)
{
    struct expansion *e = ctx;

    lock(e->p);
    e->cursor = byte;
    unlock(e->p);
}

struct gz_ahead consumer_ahead(struct expansion *e)
{
    return (struct gz_ahead){has_ahead, run_ahead, seek_ahead, e};
}

/* --- Whether workers help ------------------------------------------------------------------- */

/* Whether the input is large.  While its size is unknown, the bytes read so far decide. */
static bool is_large(const struct expansion *e)
{
    const uint64_t size = input_size(e->input);

    return (size == UINT64_MAX ? e->cursor : size) >= PIPELINE_EXPAND_MIN || e->p->config.is_test;
}

/* Makes the finder that all expansions share, if there is none yet.  Returns false if memory is
 * short. */
static bool need_finder(struct pipeline *p)
{
    struct inf_finder *made;
    bool has;

    lock(p);
    has = p->expansions->finder != NULL;
    unlock(p);
    if (has)
        return true;
    made = malloc(sizeof(*made));
    if (made == NULL)
        return false;
    inf_finder_init(made);
    lock(p);
    /* Another thread may have made the finder meanwhile. */
    if (p->expansions->finder == NULL) {
        p->expansions->finder = made;
        made = NULL;
    }
    unlock(p);
    free(made);
    return true;
}

void consumer_consider_help(struct expansion *e)
{
    struct pipeline *p = e->p;

    if (e->has_begun || !e->may_begin || (e->fixed_region == 0 && !is_large(e)))
        return;
    e->tools = tools_make();
    if (e->tools == NULL || !need_finder(p)) {
        e->may_begin = false;
        return;
    }
    lock(p);
    e->has_begun = true;
    e->next = p->expansions->first;
    p->expansions->first = e;
    crew_call(p);
    unlock(p);
}
