/*
 * many.cu - decompresses many small inputs in one call (inflate.h)
 *
 * As many inputs as there is room for are brought together into a batch.  Each input then has a
 * chain of units of its own, and from there on, the batch is decoded like that of one large input.
 */
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "gpu/inflating.cuh"
#include "gpu/internal.cuh"

/* The most inputs of a batch. */
#define INPUTS_MAX 65536u

/* If no input has more bytes than this, the batch is decoded without a search for blocks inside of
 * inputs: a warp counts each input.  With a higher limit, some warps work for long; with a lower
 * one, searches take time for nothing. */
#define SEARCH_MIN ((uint32_t)32 << 10)

/* An input begins at the same distance from a multiple of this as its source. */
#define GATHER_ALIGNMENT 16u

/* The first input begins at this byte or behind: a block that starts at bit 0 would count as none. */
#define FIRST GATHER_ALIGNMENT

struct gpu_inflate_many {
    gpu_input *inputs, *inputs_device;
    struct many_input *many;
    uint64_t *places;
    uint32_t inputs_max;
};

/* A call of gpu_inflate_many. */
struct many_call {
    struct call c;
    struct gpu_inflate_input *inputs; /* those of the batch, */
    uint32_t count;                   /* and their number */
    uint8_t *out;                     /* no input's output goes to a lower address */
    struct member member;             /* of the input whose output is being made */
    bool is_bad;                      /* that input's output is wrong */
    uint32_t current;                 /* that input */
    uint64_t made;                    /* bytes of output of the call */
};

static bool take_many(struct gpu_inflate *g)
{
    struct gpu_inflate_many *m;

    if (g->many != NULL)
        return true;
    g->many = m = (struct gpu_inflate_many *)calloc(1, sizeof(*m));
    if (m == NULL)
        return false;
    /* At least half of the candidates' room is left for those that are found. */
    m->inputs_max = std::min(g->candidates_max / 2, INPUTS_MAX);
    m->many = (struct many_input *)malloc(m->inputs_max * sizeof(*m->many));
    m->places = (uint64_t *)malloc((g->candidates_max + 1) * sizeof(*m->places));
    if (m->many != NULL && m->places != NULL &&
        cudaMalloc(&m->inputs_device, m->inputs_max * sizeof(*m->inputs)) == cudaSuccess &&
        cudaMallocHost(&m->inputs, m->inputs_max * sizeof(*m->inputs)) == cudaSuccess)
        return true;
    gpu_free_many(g);
    return false;
}

void gpu_free_many(struct gpu_inflate *g)
{
    struct gpu_inflate_many *m = g->many;

    if (m == NULL)
        return;
    (void)cudaFree(m->inputs_device);
    (void)cudaFreeHost(m->inputs);
    free(m->many);
    free(m->places);
    free(m);
    g->many = NULL;
}

/* Whether kernels can use this memory, without a copy. */
static bool is_near(const struct gpu_inflate *g, const void *p)
{
    struct cudaPointerAttributes attributes;

    if (cudaPointerGetAttributes(&attributes, p) != cudaSuccess) {
        /* Clear the error, or it would seem to be a kernel's. */
        (void)cudaGetLastError();
        return false;
    }
    return attributes.devicePointer != NULL &&
           (attributes.device == g->device || attributes.type != cudaMemoryTypeDevice);
}

/* Memory of which is_near has an answer. */
struct known_block {
    const void *block;
    bool is_near;
};

/* The same as is_near(p), which is not asked again for memory of the same block. */
static bool is_block_near(const struct gpu_inflate *g, struct known_block *known, const void *p,
                          const void *block)
{
    if (block == NULL)
        return is_near(g, p);
    if (block != known->block)
        *known = {block, is_near(g, p)};
    return known->is_near;
}

/* Gives an input its place in the batch, at `at` or behind.  Returns the byte behind it. */
static uint32_t place_input(gpu_input *to, const struct gpu_inflate_input *i, bool is_near,
                            uint32_t at)
{
    if (is_near)
        at += (uint32_t)((uintptr_t)i->in - at) % GATHER_ALIGNMENT;
    *to = {is_near ? i->in : NULL, at, (uint32_t)i->in_len, 0};
    return at + to->length;
}

/* Takes inputs[0..count) for a batch, as many as there is room for.  Those that cannot be decoded
 * here get no bytes of the batch.  Sets *len to the batch's size, and *longest to the bytes of the
 * longest input. */
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

/* Brings the batch to the device.  Sets the bits where the inputs' first blocks start. */
static bool load(struct many_call *w, uint32_t len, uint32_t longest)
{
    struct call *c = &w->c;
    struct gpu_inflate *g = c->g;
    struct gpu_inflate_many *m = g->many;

    c->in_len = len;
    c->position = 0;
    c->known = 0;
    /* A match that reaches too far back copies from this window, until it is found bad.  So clear
     * the window: its bytes may be an earlier call's. */
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
           to_device(c, m->inputs_device, m->inputs, w->count) &&
           gpu_is_good(g, gpu_gather(c->batch, m->inputs_device, w->count, longest, g->stream),
                       c->error) &&
           gpu_mark(c, AFTER_COPY) && from_device(c, m->inputs, m->inputs_device, w->count);
}

/* Compares the output of the current input with its trailer. */
static bool is_good(const struct many_call *w, const struct member_part *last)
{
    if (w->is_bad)
        return false;
    if (w->c.batch.wrapping == GPU_MANY_RAW)
        return true;
    return w->member.crc == last->trailer_crc && (w->c.batch.wrapping == GPU_MANY_ZLIB ||
                                                  (uint32_t)w->member.length == last->trailer_size);
}

/* Begins with the next input of the chain. */
static void next_input(struct many_call *w)
{
    const struct many_input *many = w->c.g->many->many;

    while (w->current < w->count && many[w->current].units == 0)
        w->current++;
    w->member = {w->c.batch.wrapping == GPU_MANY_ZLIB ? ADLER_START : 0, 0};
    w->is_bad = false;
}

/* Adds the group's output to its inputs' checksums and lengths.  Sets the results of inputs that
 * end in the group. */
static void compare_inputs(struct many_call *w, const struct group *group)
{
    const struct gpu_inflate *g = w->c.g;
    uint32_t piece = 0;

    for (uint32_t k = 0; k < group->members; k++) {
        const struct member_part *part = &g->member_parts[k];
        struct gpu_inflate_input *i = &w->inputs[w->current];

        for (; piece < part->pieces; piece++)
            w->is_bad |= g->ranges[piece].is_bad != 0;
        w->member.crc = w->c.batch.wrapping == GPU_MANY_ZLIB
                            ? gpu_adler_join(w->member.crc, part->crc, part->length)
                            : gpu_crc_join(w->member.crc, part->crc, part->length);
        w->member.length += part->length;
        if (!part->ends)
            continue;
        if (is_good(w, part)) {
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

    /* An input may have more blocks than a unit holds. */
    if (result == GPU_INFLATE_DONE && !searches &&
        std::any_of(m->many, m->many + w->count, is_left)) {
        searches = true;
        result = gpu_find_chains(&w->c, m->inputs, m->many, w->count, true, m->places);
    }
    /* An input with too many places that look like blocks must not spoil the whole batch. */
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
    /* Other inputs may be good. */
    if (result != GPU_INFLATE_DONE)
        return result == GPU_INFLATE_LEFT ? GPU_INFLATE_DONE : result;
    w->current = 0;
    next_input(w);
    for (uint32_t i = 0; i < w->c.chain; i += group.units) {
        if (!gpu_fill_group(&w->c, &group, i) || !gpu_run_group(&w->c, &group, w->out))
            return GPU_INFLATE_FAILED;
        (void)gpu_group_is_good(&w->c, &group);
        compare_inputs(w, &group);
    }
    return GPU_INFLATE_DONE;
}

static uint32_t wrapping_of(enum gpu_inflate_format format)
{
    switch (format) {
    case GPU_INFLATE_ZLIB:
        return GPU_MANY_ZLIB;
    case GPU_INFLATE_RAW:
        return GPU_MANY_RAW;
    default:
        return GPU_MANY_GZIP;
    }
}

enum gpu_inflate_result gpu_inflate_many(struct gpu_inflate *g, struct gpu_inflate_input *inputs,
                                         size_t count, enum gpu_inflate_format format,
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
    w.c.batch.wrapping = wrapping_of(format);
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
