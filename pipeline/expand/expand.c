/*
 * expand.c - decompression by many threads: the functions that other files call (api.h)
 */
#include "config.h"

#include <stdlib.h>

#include "compat/stream.h"
#include "pipeline/crew/workers.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/buffers.h"
#include "pipeline/expand/consumer.h"
#include "pipeline/expand/direct.h"
#include "pipeline/expand/gpu_decoder.h"
#include "pipeline/expand/pushing.h"
#include "pipeline/expand/regions.h"
#include "pipeline/expand/share.h"
#include "pipeline/expand/tools.h"

/* The most bytes that the consumer may have read and not decoded: GZ_IN_SIZE, and the bytes that
 * may be left over when it reads more.  The consumer never returns to bytes that it has decoded. */
#define READ_AND_NOT_DECODED ((uint64_t)512 << 10)

_Static_assert(READ_AND_NOT_DECODED >= GZ_IN_SIZE + GZ_IN_REST + GZ_IN_BACK, "what was read");

/* --- A pipeline's decompressions ------------------------------------------------------------ */

bool expand_init(struct pipeline *p, int buffers_max)
{
    p->expansions = calloc(1, sizeof(*p->expansions));
    if (p->expansions == NULL)
        return false;
    p->expansions->buffers = buffers_new(buffers_max);
    return p->expansions->buffers != NULL;
}

void expand_free(struct pipeline *p)
{
    if (p->expansions == NULL)
        return;
    decoder_free(p);
    buffers_free(p->expansions->buffers);
    free(p->expansions->finder);
    free(p->expansions);
}

/* Frees a worker's memory for decompression, which a worker uses only while there are
 * expansions. */
static void take_tools(struct worker *w)
{
    expand_free_tools(w->expand);
    w->expand = NULL;
}

void pipeline_give_back(struct pipeline *p)
{
    lock(p);
    buffers_release(buffers_take_idle(p));
    if (p->expansions->first == NULL)
        crew_visit(p, take_tools);
    unlock(p);
}

/* --- Begin ---------------------------------------------------------------------------------- */

/* Makes an expansion of the input `in`.  If `in` is NULL, or is not in memory and too small, or if
 * memory is short, closes `in` and returns NULL. */
static struct expansion *expand(struct pipeline *p, struct input *in, size_t region,
                                int (*write)(void *ctx, const void *buf, size_t len), void *ctx)
{
    struct expansion *e = NULL;

    if (in != NULL && (input_size(in) >= PIPELINE_EXPAND_MIN || input_memory(in) != NULL ||
                       region > 0 || p->config.is_test))
        e = calloc(1, sizeof(*e));
    if (e == NULL) {
        if (in != NULL)
            input_close(in, 0);
        return NULL;
    }
    e->input = in;
    e->p = p;
    e->engine = &decode_engine_cpu;
    e->fixed_region = region;
    e->write = write;
    e->write_ctx = ctx;
    e->line_from = UINT64_MAX;
    e->ahead = consumer_ahead(e);
    return e;
}

/* Whether there are threads besides the consumer. */
static bool has_others(struct pipeline *p)
{
    bool has;

    lock(p);
    has = crew_threads(p) > 1;
    unlock(p);
    return has;
}

struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t region,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx)
{
    struct input *in;

    if (!has_others(p) && p->config.expand_backend == BACKEND_CPU)
        return NULL;
    in = input_open(fd);
    if (in != NULL && !has_others(p) && !decoder_is_worth_it(p, in)) {
        input_close(in, 0);
        return NULL;
    }
    return expand(p, in, region, write, ctx);
}

struct expansion *pipeline_expand_at(struct pipeline *p, int fd, uint64_t from,
                                     int (*write)(void *ctx, const void *buf, size_t len),
                                     void *ctx)
{
    return has_others(p) ? expand(p, input_open_at(fd, from), 0, write, ctx) : NULL;
}

struct expansion *pipeline_expand_memory(struct pipeline *p, const uint8_t *in, size_t len,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx)
{
    return expand(p, input_open_memory(in, len), 0, write, ctx);
}

struct expansion *pipeline_expand_pushed(struct pipeline *p,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx)
{
    struct expansion *e = expand(p, input_open_pushed(), 0, write, ctx);

    if (e != NULL)
        e->is_pushed = true;
    return e;
}

void expansion_discard(struct expansion *e)
{
    e->discards = true;
}

void expansion_avoid_gpu(struct expansion *e)
{
    e->gpu_from = UINT64_MAX;
}

void expansion_set_container(struct expansion *e, enum container container)
{
    e->check = gz_check_of(container);
    /* A GPU computes only CRC-32s, and expects gzip's trailers. */
    if (container == CONTAINER_ZLIB || container == CONTAINER_RAW)
        expansion_avoid_gpu(e);
}

void expansion_watch(struct expansion *e, const struct expansion_watch *watch)
{
    e->watch = *watch;
    expansion_avoid_gpu(e);
}

void expansion_begin(struct expansion *e)
{
    e->may_begin = has_others(e->p) || e->p->config.expand_backend != BACKEND_CPU;
    /* Otherwise the consumer is a thread of the crew, or mostly waits. */
    if (!e->p->config.caller_works && !e->is_pushed)
        share_begin(e);
    consumer_consider_help(e);
    decoder_consider(e);
}

/* --- During the decompression --------------------------------------------------------------- */

const struct gz_ahead *expansion_ahead(const struct expansion *e)
{
    return &e->ahead;
}

ssize_t expansion_read(struct expansion *e, void *buf, size_t len)
{
    const ssize_t n = input_read(e->input, e->cursor, buf, len);

    if (n > 0) {
        lock(e->p);
        e->cursor += (uint64_t)n;
        e->has_given_up = false;
        pushing_count(e);
        if (e->cursor > READ_AND_NOT_DECODED)
            regions_drop_past(e, 8 * (e->cursor - READ_AND_NOT_DECODED));
        /* Workers may be waiting for input. */
        if (e->has_begun)
            crew_call(e->p);
        unlock(e->p);
        consumer_consider_help(e);
    }
    return n;
}

void expansion_set_stalled(struct expansion *e, bool is_stalled)
{
    lock(e->p);
    e->is_stalled = is_stalled;
    if (!is_stalled)
        e->has_given_up = false;
    unlock(e->p);
}

bool expansion_has_input(struct expansion *e)
{
    return input_has(e->input, expansion_position(e) + 1);
}

uint64_t expansion_position(struct expansion *e)
{
    uint64_t position;

    lock(e->p);
    position = e->cursor;
    unlock(e->p);
    return position;
}

/* --- End ------------------------------------------------------------------------------------ */

void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats)
{
    struct pipeline *p = e->p;
    struct expansion **link = &p->expansions->first;

    lock(p);
    e->is_closing = true;
    regions_cancel(e);
    input_cancel(e->input);
    wake_all(p, CAN_EXPAND);
    decoder_stop(e);
    while (e->busy > 0)
        await(p, CAN_EXPAND);
    while (*link != NULL && *link != e)
        link = &(*link)->next;
    if (*link != NULL)
        *link = e->next;
    pushing_count(e);
    regions_free(e);
    share_end(e);
    /* Workers of other expansions may be waiting for a buffer. */
    if (p->expansions->first != NULL)
        crew_call(p);
    unlock(p);
    /* Set the file's position as if the input had been read in order. */
    input_close(e->input, e->cursor);
    *stats = e->stats;
    expand_free_tools(e->tools);
    direct_free(e);
    free(e);
}
