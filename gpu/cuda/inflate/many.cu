/*
 * many.cu - decompresses many small inputs in one call (inflate.h)
 *
 * Inputs are gathered into a batch until it is full.  Each input has a chain of units of its own.
 * The chains are joined, and the batch is then decoded like a batch of one large input.
 */
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "gpu/cuda/inflate/inflating.cuh"
#include "gpu/cuda/internal.cuh"

/* The most inputs of a batch. */
#define INPUTS_MAX 65536u

/* If no input of a batch has more bytes than this, the device does not search for blocks inside of
 * inputs, and one warp counts the output of a whole input.  With a higher limit, some warps work
 * for long.  With a lower one, more batches are searched although that takes longer than it
 * saves. */
#define SEARCH_MIN ((uint32_t)32 << 10)

/* The place of an input in the batch and its source have the same address modulo this number. */
#define GATHER_ALIGNMENT 16u

/* The first input begins at this byte of the batch or after it, because gpu_input.start is 0 for an
 * input without a first block. */
#define FIRST GATHER_ALIGNMENT

struct gpu_inflate_many {
    gpu_input *inputs, *inputs_device;
    gpu_input *found; /* copied from inputs_device */
    struct many_input *many;
    uint64_t *places;
    uint32_t inputs_max;
};

/* A call of gpu_inflate_many. */
struct many_call {
    struct call c;
    struct gpu_inflate_input *inputs; /* inputs[0..count) are in the batch */
    uint32_t count;
    uint8_t *out;         /* the lowest address to which an input's output goes */
    struct member member; /* checksum and length of the current input's output so far */
    bool is_bad;          /* the current input's output is wrong */
    uint32_t current;     /* number of the input whose output is being compared */
    uint64_t made;        /* bytes of output of the call */
};

static bool take_many(struct gpu_inflate *g)
{
    struct gpu_inflate_many *m;

    if (g->many != NULL)
        return true;
    g->many = m = (struct gpu_inflate_many *)calloc(1, sizeof(*m));
    if (m == NULL)
        return false;
    /* The inputs' first blocks take at most half of the room for candidates.  A search may fill the
     * rest. */
    m->inputs_max = std::min(g->candidates_max / 2, INPUTS_MAX);
    m->many = (struct many_input *)malloc(m->inputs_max * sizeof(*m->many));
    m->places = (uint64_t *)malloc((g->candidates_max + 1) * sizeof(*m->places));
    if (m->many != NULL && m->places != NULL &&
        cudaMalloc(&m->inputs_device, m->inputs_max * sizeof(*m->inputs)) == cudaSuccess &&
        cudaMallocHost(&m->inputs, m->inputs_max * sizeof(*m->inputs)) == cudaSuccess &&
        cudaMallocHost(&m->found, m->inputs_max * sizeof(*m->found)) == cudaSuccess)
        return true;
    gpu_free_many(g);
    return false;
}

void gpu_free_many(struct gpu_inflate *g)
{
    struct gpu_inflate_many *m = g->many;

    if (m == NULL)
        return;
    free_device(g, m->inputs_device);
    free_pinned(g, m->inputs);
    free_pinned(g, m->found);
    free(m->many);
    free(m->places);
    free(m);
    g->many = NULL;
}

/* A block of memory, and what gpu_is_in_reach has returned for it. */
struct known_block {
    const void *block;
    bool is_near;
};

/* Returns gpu_is_in_reach(p), but calls it only once for consecutive memory of the same block. */
static bool is_block_near(const struct gpu_inflate *g, struct known_block *known, const void *p,
                          const void *block)
{
    if (block == NULL)
        return gpu_is_in_reach(g, p);
    if (block != known->block)
        *known = {block, gpu_is_in_reach(g, p)};
    return known->is_near;
}

/* Gives an input its place in the batch, at byte `at` or after it.  Returns the number of the byte
 * after the input. */
static uint32_t place_input(gpu_input *to, const struct gpu_inflate_input *i, bool is_near,
                            uint32_t at)
{
    if (is_near)
        at += (uint32_t)((uintptr_t)i->in - at) % GATHER_ALIGNMENT;
    *to = {is_near ? i->in : NULL, at, (uint32_t)i->in_len, 0};
    return at + to->length;
}

/* Fills a batch with the first of inputs[0..count), as many as fit, and sets w->count to their
 * number.  An input that the GPU cannot decode counts as one of them, but gets no bytes of the
 * batch.  Sets *len to the batch's size, and *longest to the bytes of the longest input. */
static void take_inputs(struct many_call *w, size_t count, uint32_t *len, uint32_t *longest)
{
    struct gpu_inflate *g = w->c.g;
    struct gpu_inflate_many *m = g->many;
    struct known_block in = {NULL, false}, out = {NULL, false};

    *len = FIRST;
    *longest = w->count = 0;
    w->out = NULL;
    for (; w->count < count && w->count < m->inputs_max; w->count++) {
        const struct gpu_inflate_input *i = &w->inputs[w->count];
        const bool fits = i->in_len > 0 && i->in_len <= g->batch - FIRST - GATHER_ALIGNMENT &&
                          is_block_near(g, &out, i->out, i->out_block);

        if (fits && i->in_len + GATHER_ALIGNMENT > g->batch - *len)
            return;
        m->inputs[w->count] = {NULL, 0, 0, 0};
        m->many[w->count] = {0, i->room, 0};
        if (!fits)
            continue;
        *len =
            place_input(&m->inputs[w->count], i, is_block_near(g, &in, i->in, i->in_block), *len);
        *longest = std::max(*longest, m->inputs[w->count].length);
        if (w->out == NULL || i->out < w->out)
            w->out = i->out;
    }
}

/* Takes over from the device the bits where the inputs' first blocks start.  Returns false, with a
 * message, if one of them is not in its input. */
static bool take_starts(const struct many_call *w)
{
    const struct gpu_inflate_many *m = w->c.g->many;

    for (uint32_t k = 0; k < w->count; k++) {
        gpu_input *const i = &m->inputs[k];

        i->start = m->found[k].start;
        if (i->start == 0 || (i->start / 8 >= i->at && i->start / 8 < i->at + i->length))
            continue;
        snprintf(w->c.error, GPU_ERROR_SIZE, "its results are impossible");
        return false;
    }
    return true;
}

/* Brings the batch to the device.  Sets the bits where the inputs' first blocks start. */
static bool load(struct many_call *w, uint32_t len, uint32_t longest)
{
    struct call *c = &w->c;
    struct gpu_inflate *g = c->g;
    struct gpu_inflate_many *m = g->many;

    c->in_len = len;
    c->position = 0;
    c->known = 0;
    /* A match that reaches too far back copies from this window before it is found bad.  So clear
     * the window, which may have bytes of an earlier call. */
    if (!gpu_mark(c, BEFORE_COPY) ||
        !gpu_is_good(g, cudaMemsetAsync(g->windows, 0, GPU_WINDOW, g->stream), c->error))
        return false;
    for (uint32_t k = 0; k < w->count; k++) {
        m->many[k].to = (uint64_t)(w->inputs[k].out - w->out);
        if (m->inputs[k].length > 0 && m->inputs[k].from == NULL &&
            !to_device(c, (uint8_t *)g->words + m->inputs[k].at, w->inputs[k].in,
                       m->inputs[k].length))
            return false;
    }
    return gpu_begin_batch(c, g->words, 0, len, len) &&
           put_words(c, m->inputs_device, m->inputs, w->count) &&
           gpu_is_good(g, gpu_gather(c->batch, m->inputs_device, w->count, longest, g->stream),
                       c->error) &&
           gpu_mark(c, AFTER_COPY) && from_device(c, m->found, m->inputs_device, w->count) &&
           take_starts(w);
}

/* Moves w->current to the first input, from w->current on, that has units in the chain.  Resets the
 * checksum and length of the current input's output. */
static void next_input(struct many_call *w)
{
    const struct many_input *many = w->c.g->many->many;

    while (w->current < w->count && many[w->current].units == 0)
        w->current++;
    w->member = {w->c.batch.wrapping == GPU_MANY_ZLIB ? ADLER_START : 0, 0};
    w->is_bad = false;
}

/* Adds the group's output to the checksums and lengths of its inputs.  Sets the results of inputs
 * that end in the group. */
static void compare_inputs(struct many_call *w, const struct group *group)
{
    const struct gpu_inflate *g = w->c.g;
    uint32_t piece = 0;

    for (uint32_t k = 0; k < group->members; k++) {
        const struct member_part *part = &g->member_parts[k];
        struct gpu_inflate_input *i = &w->inputs[w->current];

        for (; piece < part->pieces; piece++)
            w->is_bad |= g->ranges[piece].is_bad != 0;
        gpu_add_part(&w->c, &w->member, part);
        if (!part->ends)
            continue;
        if (!w->is_bad && gpu_member_is_right(&w->c, &w->member, part)) {
            i->result = GPU_INFLATE_DONE;
            i->made = (size_t)w->member.length;
            w->made += w->member.length;
        }
        w->current++;
        next_input(w);
    }
}

/* Finds the chains of the batch's inputs. */
static enum gpu_inflate_result find_chains(struct many_call *w, uint32_t longest)
{
    struct gpu_inflate_many *m = w->c.g->many;
    bool searches = longest > SEARCH_MIN;
    enum gpu_inflate_result result =
        gpu_find_chains(&w->c, m->inputs, m->many, w->count, searches, m->places);
    const auto is_left = [&](const struct many_input &i) {
        return i.units == 0 && m->inputs[&i - m->many].start != 0;
    };

    /* An input may have more blocks than a unit holds.  If an input is left for that reason, a
     * search finds where to split it. */
    if (result == GPU_INFLATE_DONE && !searches &&
        std::any_of(m->many, m->many + w->count, is_left)) {
        searches = true;
        result = gpu_find_chains(&w->c, m->inputs, m->many, w->count, true, m->places);
    }
    /* If the search finds too many places that look like blocks, the whole batch is left.  So try
     * again without a search: one such input must not spoil the batch. */
    if (result == GPU_INFLATE_LEFT && searches)
        result = gpu_find_chains(&w->c, m->inputs, m->many, w->count, false, m->places);
    return result;
}

/* Decodes the batch's inputs. */
static enum gpu_inflate_result do_batch(struct many_call *w, uint32_t len, uint32_t longest)
{
    struct gpu_inflate *g = w->c.g;
    enum gpu_inflate_result result;
    struct group group;

    if (!load(w, len, longest))
        return GPU_INFLATE_FAILED;
    result = find_chains(w, longest);
    gpu_add_time(g, &g->times.copy, BEFORE_COPY, AFTER_COPY);
    /* If this batch is left to the CPU, the call goes on, since inputs of later batches may be
     * good. */
    if (result != GPU_INFLATE_DONE)
        return result == GPU_INFLATE_LEFT ? GPU_INFLATE_DONE : result;
    w->current = 0;
    next_input(w);
    for (uint32_t i = 0; i < w->c.chain; i += group.units) {
        if (!gpu_fill_group(&w->c, &group, i) || !gpu_run_group(&w->c, &group, w->out))
            return GPU_INFLATE_FAILED;
        compare_inputs(w, &group);
    }
    return GPU_INFLATE_DONE;
}

static uint32_t wrapping_of(enum container container)
{
    switch (container) {
    case CONTAINER_ZLIB:
        return GPU_MANY_ZLIB;
    case CONTAINER_RAW:
        return GPU_MANY_RAW;
    default:
        return GPU_MANY_GZIP;
    }
}

enum gpu_inflate_result gpu_inflate_many(struct gpu_inflate *g, struct gpu_inflate_input *inputs,
                                         size_t count, enum container container,
                                         gpu_inflate_goes_on *goes_on, void *ctx,
                                         char error[GPU_ERROR_SIZE])
{
    struct many_call w = {};
    enum gpu_inflate_result result;
    uint64_t read = 0;

    for (size_t i = 0; i < count; i++) {
        inputs[i].result = GPU_INFLATE_LEFT;
        inputs[i].made = 0;
    }
    w.inputs = inputs;
    w.c.batch.wrapping = wrapping_of(container);
    result = gpu_open_call(&w.c, g, error);
    if (result == GPU_INFLATE_DONE && !take_many(g))
        result = gpu_leave(&w.c, "too little memory");
    while (result == GPU_INFLATE_DONE && count > 0) {
        uint32_t len, longest;

        take_inputs(&w, count, &len, &longest);
        if (longest > 0)
            result = do_batch(&w, len, longest);
        for (uint32_t i = 0; i < w.count; i++)
            read += w.inputs[i].in_len;
        w.inputs += w.count;
        count -= w.count;
        if (result == GPU_INFLATE_DONE)
            result = gpu_tell(&w.c, goes_on, ctx, read, w.made);
    }
    return gpu_close_call(&w.c, result);
}
