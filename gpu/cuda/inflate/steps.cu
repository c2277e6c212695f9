/*
 * steps.cu - decompresses an input in steps (inflate.h)
 *
 * Three threads of the host may work side by side, each on buffers that no other thread uses
 * (inflate.h).  The thread that decodes uses the engine's streams.  There are two more streams, one
 * for copies to input buffers, and one for copies from output buffers.  So copies run beside the
 * kernels.
 */
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <initializer_list>

#include "gpu/cuda/inflate/inflating.cuh"
#include "gpu/cuda/internal.cuh"

/* Bytes [at, at + len) of an output buffer. */
struct slice {
    unsigned output;
    uint64_t at;
    size_t len; /* 0: there is no slice */
};

struct gpu_inflate_steps {
    struct call c;
    cudaStream_t put_stream, take_stream;
    uint8_t *inputs[GPU_INFLATE_INPUTS], *outputs[GPU_INFLATE_OUTPUTS]; /* on the device */
    uint8_t *stage, *slices[2], *window;                                /* host, pinned */
    struct slice slice; /* the copy to slices[slice_number] that was begun last */
    unsigned slice_number;
    struct gpu_inflate_run *runs[GPU_INFLATE_OUTPUTS];
    struct gpu_inflate_part *parts[GPU_INFLATE_OUTPUTS];
    uint32_t next;                      /* the chain's next unit to decode */
    enum gpu_inflate_result chain_ends; /* the result once the chain's units are decoded */
    char why[GPU_ERROR_SIZE];           /* the message for that result */
};

/* The window before the chain's next unit. */
#define WINDOW (g->windows)

size_t gpu_inflate_batch_size(const struct gpu_inflate *g)
{
    return g->batch;
}

size_t gpu_inflate_input_size(const struct gpu_inflate *g)
{
    return g->batch + 2 * g->overlap;
}

static bool take_steps(struct gpu_inflate *g, struct gpu_inflate_steps *s)
{
    for (uint8_t *&input : s->inputs)
        if (cudaMalloc(&input, gpu_inflate_input_size(g) + GPU_COMPRESSED_PAD) != cudaSuccess)
            return false;
    for (uint8_t *&output : s->outputs)
        if (cudaMalloc(&output, g->symbols_max) != cudaSuccess)
            return false;
    for (struct gpu_inflate_run *&runs : s->runs) {
        runs = (struct gpu_inflate_run *)malloc((g->candidates_max + 2) * sizeof(*runs));
        if (runs == NULL)
            return false;
    }
    for (struct gpu_inflate_part *&parts : s->parts) {
        /* Each run may end with a part that is shorter than GPU_INFLATE_PART. */
        parts = (struct gpu_inflate_part *)malloc(
            (g->symbols_max / GPU_INFLATE_PART + g->candidates_max + 2) * sizeof(*parts));
        if (parts == NULL)
            return false;
    }
    return cudaMallocHost(&s->stage, GPU_INFLATE_STAGE) == cudaSuccess &&
           cudaMallocHost(&s->slices[0], GPU_INFLATE_SLICE) == cudaSuccess &&
           cudaMallocHost(&s->slices[1], GPU_INFLATE_SLICE) == cudaSuccess &&
           cudaMallocHost(&s->window, GPU_WINDOW) == cudaSuccess &&
           cudaStreamCreateWithFlags(&s->put_stream, cudaStreamNonBlocking) == cudaSuccess &&
           cudaStreamCreateWithFlags(&s->take_stream, cudaStreamNonBlocking) == cudaSuccess;
}

bool gpu_take_steps(struct gpu_inflate *g)
{
    g->steps = (struct gpu_inflate_steps *)calloc(1, sizeof(*g->steps));
    return g->steps != NULL && take_steps(g, g->steps);
}

void gpu_free_steps(struct gpu_inflate *g)
{
    struct gpu_inflate_steps *s = g->steps;

    if (s == NULL)
        return;
    for (uint8_t *input : s->inputs)
        free_device(g, input);
    for (uint8_t *output : s->outputs)
        free_device(g, output);
    for (struct gpu_inflate_run *runs : s->runs)
        free(runs);
    for (struct gpu_inflate_part *parts : s->parts)
        free(parts);
    free_pinned(g, s->stage);
    free_pinned(g, s->window);
    for (uint8_t *slice : s->slices)
        free_pinned(g, slice);
    for (cudaStream_t stream : {s->put_stream, s->take_stream})
        if (stream != NULL && !gpu_is_lost(&g->watch))
            (void)cudaStreamDestroy(stream);
    free(s);
}

static_assert(GPU_INFLATE_PART == GPU_CRC_PART, "one checksum for each part");

/* --- Copies --- */

uint8_t *gpu_inflate_stage(const struct gpu_inflate *g)
{
    return g->steps->stage;
}

bool gpu_inflate_put(struct gpu_inflate *g, unsigned input, size_t at, size_t len,
                     char error[GPU_ERROR_SIZE])
{
    const struct gpu_inflate_steps *s = g->steps;

    return gpu_is_good(g, gpu_use_device(g->device), error) &&
           gpu_is_good(g,
                       cudaMemcpyAsync(s->inputs[input] + at, s->stage, len, cudaMemcpyDefault,
                                       s->put_stream),
                       error) &&
           gpu_is_good(g, gpu_await_stream(&g->watch, s->put_stream), error);
}

/* Begins to copy a slice of output to the slice buffer that was not used last. */
static bool begin_slice(struct gpu_inflate *g, const struct slice *slice, char *error)
{
    struct gpu_inflate_steps *s = g->steps;

    s->slice_number = 1 - s->slice_number;
    s->slice = *slice;
    return gpu_is_good(g,
                       cudaMemcpyAsync(s->slices[s->slice_number],
                                       s->outputs[slice->output] + slice->at, slice->len,
                                       cudaMemcpyDefault, s->take_stream),
                       error);
}

static bool is_same(const struct slice *a, const struct slice *b)
{
    return a->output == b->output && a->at == b->at && a->len == b->len;
}

const uint8_t *gpu_inflate_take(struct gpu_inflate *g, unsigned output, uint64_t at, size_t len,
                                size_t next_len, char error[GPU_ERROR_SIZE])
{
    struct gpu_inflate_steps *s = g->steps;
    const struct slice slice = {output, at, len}, next = {output, at + len, next_len};
    const uint8_t *taken;

    if (!gpu_is_good(g, gpu_use_device(g->device), error) ||
        (!is_same(&slice, &s->slice) && !begin_slice(g, &slice, error)) ||
        !gpu_is_good(g, gpu_await_stream(&g->watch, s->take_stream), error))
        return NULL;
    taken = s->slices[s->slice_number];
    if (g->options.miscopies && len > 0)
        s->slices[s->slice_number][len / 2] ^= 1;
    s->slice = {};
    return next_len == 0 || begin_slice(g, &next, error) ? taken : NULL;
}

/* --- Decoding --- */

enum gpu_inflate_result gpu_inflate_begin(struct gpu_inflate *g, uint64_t in_len, uint64_t bit,
                                          const uint8_t *window, uint32_t known, bool is_bgzf,
                                          char error[GPU_ERROR_SIZE])
{
    struct call *c = &g->steps->c;

    *c = {};
    g->steps->slice = {};
    c->g = g;
    c->in_len = in_len;
    c->position = bit;
    c->known = known < GPU_WINDOW ? known : GPU_WINDOW;
    c->is_bgzf = is_bgzf;
    c->error = error;
    g->times = {};
    if (!gpu_is_good(g, gpu_use_device(g->device), error) ||
        !to_device(c, WINDOW, window, GPU_WINDOW) || !await_stream(c)) {
        gpu_drain(g);
        return GPU_INFLATE_FAILED;
    }
    return GPU_INFLATE_DONE;
}

enum gpu_inflate_result gpu_inflate_find(struct gpu_inflate *g, unsigned input, uint64_t start,
                                         size_t len, char error[GPU_ERROR_SIZE])
{
    struct gpu_inflate_steps *s = g->steps;
    struct call *c = &s->c;
    /* The device loads words, so the batch starts with the word that has the next unit's first
     * bit. */
    const size_t before = (size_t)(c->position / 8 - start) / 4 * 4;

    c->error = error;
    s->next = c->chain = 0;
    s->chain_ends = GPU_INFLATE_DONE;
    /* The last unit of the buffer before may end after this buffer's batch.  Then no unit starts in
     * this batch. */
    if (before >= g->batch && start + len < c->in_len)
        return GPU_INFLATE_DONE;
    if (!gpu_begin_batch(c, (uint32_t *)(s->inputs[input] + before), start + before, len - before,
                         before < g->batch ? g->batch - before : 0)) {
        gpu_drain(g);
        return GPU_INFLATE_FAILED;
    }
    s->chain_ends = gpu_find_chain(c);
    memcpy(s->why, error, sizeof(s->why));
    if (s->chain_ends == GPU_INFLATE_FAILED)
        gpu_drain(g);
    return s->chain_ends == GPU_INFLATE_LEFT && c->chain > 0 ? GPU_INFLATE_DONE : s->chain_ends;
}

/* Describes the output of group->parts, in parts[].  The lengths are the host's own numbers. */
static void describe_parts(struct gpu_inflate_steps *s, const struct group *group,
                           struct gpu_inflate_part *parts)
{
    const struct gpu_inflate *g = s->c.g;
    uint32_t i = 0;
    uint64_t end = 0;

    for (uint32_t k = 0; k < group->members; k++) {
        const struct member_part *m = &g->member_parts[k];

        for (uint64_t left = m->length; i < m->parts; i++) {
            const uint64_t length = std::min(left, (uint64_t)GPU_CRC_PART);
            const uint32_t sum = g->parts[i].crc;

            left -= length;
            end += length;
            /* The sum of a member's first part begins with the ones with which a CRC begins. */
            parts[i] = {end, ~(i == (k > 0 ? g->member_parts[k - 1].parts : 0)
                                   ? sum
                                   : gpu_crc_join(UINT32_MAX, sum, length))};
        }
    }
}

/* Sets *o to the runs of the group, which is decoded and starts at bit `start` of the input. */
static bool describe(struct gpu_inflate_steps *s, const struct group *group, unsigned output,
                     uint64_t start, struct gpu_inflate_output *o)
{
    struct gpu_inflate *g = s->c.g;

    o->runs = s->runs[output];
    o->count = group->members;
    o->parts = s->parts[output];
    o->part_count = group->parts;
    o->length = group->length;
    describe_parts(s, group, s->parts[output]);
    for (uint32_t i = 0; i < group->members; i++) {
        const struct member_part *m = &g->member_parts[i];
        struct gpu_inflate_run *run = &s->runs[output][i];

        *run = {start, 8 * s->c.batch_start + m->end, m->length, m->crc, m->ends};
        start = 8 * s->c.batch_start + m->next;
    }
    if (!from_device(&s->c, s->window, WINDOW, GPU_WINDOW))
        return false;
    memcpy(o->window, s->window, GPU_WINDOW);
    return true;
}

enum gpu_inflate_result gpu_inflate_next(struct gpu_inflate *g, unsigned output,
                                         struct gpu_inflate_output *o, char error[GPU_ERROR_SIZE])
{
    struct gpu_inflate_steps *s = g->steps;
    struct call *c = &s->c;
    const uint64_t start = c->position;
    struct group group;

    c->error = error;
    o->count = 0;
    if (s->next == c->chain) {
        memcpy(error, s->why, sizeof(s->why));
        return s->chain_ends;
    }
    if (!gpu_fill_group(c, &group, s->next))
        return gpu_leave(c, "a block makes too much output");
    s->next += group.units;
    if (!gpu_run_group(c, &group, s->outputs[output]) || !describe(s, &group, output, start, o)) {
        gpu_drain(g);
        o->count = 0;
        return GPU_INFLATE_FAILED;
    }
    if (gpu_group_is_good(c, &group))
        return GPU_INFLATE_DONE;
    o->count = 0;
    return gpu_leave(c, "a match reaches too far back");
}

const char *gpu_inflate_name(const struct gpu_inflate *g)
{
    return g->name;
}

bool gpu_inflate_has_ended(const struct gpu_inflate *g)
{
    return g->steps->c.has_ended;
}
