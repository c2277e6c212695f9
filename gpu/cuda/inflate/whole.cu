/*
 * whole.cu - opens the decompression engine, and decompresses an input in memory (inflate.h)
 *
 * The engine takes the input in batches of compressed bytes, so that its memory is bounded.
 */
#include "gpu/inflate.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "base/bgzf.h"
#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/inflate/inflating.cuh"
#include "gpu/cuda/internal.cuh"

/* Compressed bytes of a batch.  With fewer bytes, data in large blocks gives a batch too few blocks
 * for all multiprocessors.  More bytes take more memory. */
#define BATCH ((size_t)128 << 20)

/* There is room for one candidate for this many bytes of a batch.  Data with shorter blocks is left
 * to the CPU. */
#define CANDIDATE_BYTES 1024

/* The list of places where find.cu must read a whole header has one entry for this many bytes of a
 * batch. */
#define LIST_BYTES 32

/* The most output of a group, in bytes.  For each byte, the device has a symbol of two bytes. */
#define SYMBOLS ((size_t)512 << 20)

/* The most output of a group in an engine that works in steps.  With less, groups keep the device
 * less busy; with more, the first output comes later. */
#define SYMBOLS_IN_STEPS ((size_t)192 << 20)

/* Entries for the outlines of a batch: one for every GPU_OUTLINE_STEPS steps, and one more for each
 * block. */
#define OUTLINE_ROOM(map_room) ((map_room) / GPU_OUTLINE_STEPS + OUTLINED_MAX)

/* Seconds for which a thread asks whether the device is done before it sleeps.  With less, small
 * inputs take longer, since a batch has some steps that are this short; with more, the thread takes
 * a core from others. */
#define SPIN 200e-6

/* The message if kernels cannot write to the caller's memory. */
#define OUT_OF_REACH "its output is in another context"

/* --- Opening ---------------------------------------------------------------------------------- */

/* Allocates an array of `count` elements on the device, and another on the host if `host` is not
 * NULL. */
template <typename T> static bool take(T **device, T **host, size_t count)
{
    if (cudaMalloc(device, count * sizeof(T)) != cudaSuccess)
        return false;
    return host == NULL || cudaMallocHost(host, count * sizeof(T)) == cudaSuccess;
}

static bool take_memory(struct gpu_inflate *g)
{
    const size_t bytes = g->batch + g->overlap;
    const size_t candidates = g->candidates_max;
    const size_t entries = (size_t)GPU_MAPS * g->map_room;
    /* Each member in a group may have one part that is shorter than GPU_CRC_PART, and there are at
     * most as many members as pieces. */
    const size_t parts = g->symbols_max / GPU_CRC_PART + PIECES_MAX;

    g->member_parts = (struct member_part *)malloc((candidates + 2) * sizeof(*g->member_parts));
    if (g->options.in_steps
            ? !gpu_take_steps(g)
            : !take(&g->words, (uint32_t **)NULL, (bytes + GPU_COMPRESSED_PAD) / 4 + 1))
        return false;
    return g->member_parts != NULL && take(&g->found, (uint32_t **)NULL, candidates) &&
           take(&g->list, (uint32_t **)NULL, g->list_max) &&
           take(&g->map, (uint32_t **)NULL, entries) && take(&g->counters, &g->counts, COUNTERS) &&
           take(&g->starts_device, &g->starts, candidates + 1) &&
           take(&g->which_device, &g->which, 2 * (candidates + 1)) &&
           take(&g->units_device, &g->units, candidates + 1) &&
           take(&g->outline_device, &g->outline, OUTLINE_ROOM(g->map_room)) &&
           take(&g->outlined_device, &g->outlined, OUTLINED_MAX) &&
           take(&g->pieces_device, &g->pieces, PIECES_MAX) &&
           take(&g->ranges_device, &g->ranges, PIECES_MAX) &&
           take(&g->parts_device, &g->parts, parts) &&
           take(&g->symbols, (uint16_t **)NULL, g->symbols_max) &&
           take(&g->names, (uint16_t **)NULL, (size_t)2 * CHUNKS * GPU_WINDOW) &&
           take(&g->windows, (uint8_t **)NULL, (size_t)(CHUNKS + 1) * GPU_WINDOW);
}

static bool make_events(struct gpu_inflate *g)
{
    for (int i = 0; i < EVENTS; i++)
        if (cudaEventCreateWithFlags(&g->events[i], 0) != cudaSuccess)
            return false;
    return true;
}

static struct gpu_inflate *make(int device, const struct gpu_inflate_options *options)
{
    struct gpu_inflate *g = (struct gpu_inflate *)calloc(1, sizeof(*g));
    cudaDeviceProp properties;

    if (g == NULL)
        return NULL;
    g->options = *options;
    g->device = device;
    g->batch = options->batch > 0 ? options->batch / 4 * 4 : BATCH;
    gpu_watch_init(&g->watch, device, g->batch, options->seconds, SPIN);
    g->overlap = options->batch > 0 ? 2 * g->batch : OVERLAP;
    g->symbols_max = options->symbols > 0 ? options->symbols
                     : options->in_steps  ? SYMBOLS_IN_STEPS
                                          : SYMBOLS;
    g->candidates_max = (uint32_t)((g->batch + g->overlap) / CANDIDATE_BYTES) + 1024;
    g->list_max = (uint32_t)((g->batch + g->overlap) / LIST_BYTES) + 1024;
    g->map_room =
        (uint32_t)gpu_map_room((uint32_t)(8 * (g->batch + g->overlap)), g->candidates_max);
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess &&
        properties.multiProcessorCount > 0) {
        g->multiprocessors = properties.multiProcessorCount;
        snprintf(g->name, sizeof(g->name), "%s", properties.name);
        if (cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking) == cudaSuccess &&
            cudaStreamCreateWithFlags(&g->side, cudaStreamNonBlocking) == cudaSuccess &&
            make_events(g) && take_memory(g))
            return g;
    }
    gpu_inflate_close(g);
    return NULL;
}

/* Loads all kernels of decompression (gpu_load). */
static cudaError_t load_all(void)
{
    cudaError_t (*const loads[])(void) = {
        gpu_load_adler,  gpu_load_copy, gpu_load_count,  gpu_load_crc,
        gpu_load_decode, gpu_load_find, gpu_load_gather, gpu_load_resolve,
    };
    cudaError_t status = cudaSuccess;

    for (cudaError_t (*load)(void) : loads)
        if (status == cudaSuccess)
            status = load();
    return status;
}

struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE])
{
    cudaError_t result = gpu_use_device(device);
    struct gpu_inflate *g = NULL;

    if (result == cudaSuccess)
        result = load_all();
    if (result == cudaSuccess)
        g = make(device, options);
    if (g == NULL)
        snprintf(error, GPU_ERROR_SIZE, "%s",
                 result != cudaSuccess ? gpu_error_text(result) : "too little memory");
    /* Clear the error, or the next call would return it. */
    (void)cudaGetLastError();
    return g;
}

void gpu_inflate_close(struct gpu_inflate *g)
{
    if (g == NULL)
        return;
    (void)gpu_use_device(g->device);
    void *const device[] = {g->outline_device, g->outlined_device,
                            g->words,          g->found,
                            g->list,           g->map,
                            g->counters,       g->starts_device,
                            g->which_device,   g->units_device,
                            g->pieces_device,  g->ranges_device,
                            g->parts_device,   g->symbols,
                            g->names,          g->windows};
    void *const host[] = {g->counts, g->starts, g->which,   g->units,   g->pieces,
                          g->ranges, g->parts,  g->outline, g->outlined};

    gpu_free_steps(g);
    gpu_free_many(g);
    free(g->member_parts);
    for (void *p : device)
        free_device(g, p);
    for (void *p : host)
        free_pinned(g, p);
    for (cudaEvent_t event : g->events)
        if (event != NULL && !gpu_is_lost(&g->watch))
            (void)cudaEventDestroy(event);
    for (cudaStream_t stream : {g->stream, g->side})
        if (stream != NULL && !gpu_is_lost(&g->watch))
            (void)cudaStreamDestroy(stream);
    /* A lost device leaves an error.  Clear it, or this thread's next call, for another device,
     * would return it. */
    (void)cudaGetLastError();
    free(g);
}

/* --- All of an input in memory ---------------------------------------------------------------- */

/* A call for a whole input. */
struct whole {
    struct call c;
    const uint8_t *in;
    uint8_t *out;
    size_t room;
    uint64_t made; /* bytes of output */
    struct member member;
    gpu_inflate_goes_on *goes_on;
    void *ctx; /* the argument of goes_on */
};

/* Finds the first member's first block. */
static enum gpu_inflate_result begin(struct whole *w)
{
    uint32_t header[GPU_HEADER_MAX / 4 + 4] = {0};
    struct call *c = &w->c;
    const size_t len = c->in_len < GPU_HEADER_MAX ? (size_t)c->in_len : GPU_HEADER_MAX;
    gpu_compressed start = {};

    if (c->in_len == 0)
        return gpu_leave(c, "it is empty");
    start.words = header;
    start.bits = (uint32_t)(8 * len);
    /* A match that reaches too far back copies from this window before it is found bad.  So clear
     * the window, which may have bytes of an earlier call.  (`header` is not pinned, but no kernel
     * is queued for which the copy would have to wait.) */
    if (!gpu_is_good(c->g, cudaMemsetAsync(c->g->windows, 0, GPU_WINDOW, c->g->stream), c->error) ||
        !from_device(c, (uint8_t *)header, w->in, len))
        return GPU_INFLATE_FAILED;
    c->position = 8 * (uint64_t)gpu_header_end(start, 0);
    c->known = 0;
    c->has_ended = false;
    c->is_bgzf = bgzf_starts((const uint8_t *)header);
    return c->position != 0 ? GPU_INFLATE_DONE
                            : gpu_leave(c, "it does not begin with a usual header");
}

/* Brings the next batch to the device, and finds its chain. */
static enum gpu_inflate_result find_batch(struct whole *w)
{
    struct call *c = &w->c;
    struct gpu_inflate *g = c->g;
    const uint64_t start = c->position / 8, left = c->in_len - start;
    const size_t len = left < g->batch + g->overlap ? (size_t)left : g->batch + g->overlap;
    enum gpu_inflate_result result;

    if (!gpu_mark(c, BEFORE_COPY) || !to_device(c, (uint8_t *)g->words, w->in + start, len) ||
        !gpu_begin_batch(c, g->words, start, len, g->batch))
        return GPU_INFLATE_FAILED;
    result = gpu_find_chain(c);
    gpu_add_time(g, &g->times.copy, BEFORE_COPY, AFTER_COPY);
    return result;
}

/* Adds the group's output to the CRCs and lengths of its members.  Compares these with the trailers
 * of members that end in the group. */
static bool compare_members(struct whole *w, const struct group *group)
{
    for (uint32_t i = 0; i < group->members; i++) {
        const struct member_part *m = &w->c.g->member_parts[i];

        gpu_add_part(&w->c, &w->member, m);
        if (!m->ends)
            continue;
        if (!gpu_member_is_right(&w->c, &w->member, m))
            return false;
        w->member = {0, 0};
    }
    return true;
}

/* Decodes all units of the chain. */
static enum gpu_inflate_result decode_chain(struct whole *w)
{
    struct group group;

    for (uint32_t i = 0; i < w->c.chain; i += group.units) {
        if (!gpu_fill_group(&w->c, &group, i))
            return gpu_leave(&w->c, "a block makes too much output");
        if (group.length > w->room - w->made)
            return gpu_leave(&w->c, "it has no room");
        if (!gpu_run_group(&w->c, &group, w->out + w->made))
            return GPU_INFLATE_FAILED;
        if (!gpu_group_is_good(&w->c, &group) || !compare_members(w, &group))
            return gpu_leave(&w->c, "its output is wrong");
        w->made += group.length;
    }
    return gpu_tell(&w->c, w->goes_on, w->ctx, w->c.has_ended ? w->c.in_len : w->c.position / 8,
                    w->made);
}

/* Decodes the input from c->position to its end. */
static enum gpu_inflate_result decode_all(struct whole *w)
{
    enum gpu_inflate_result result = GPU_INFLATE_DONE;

    while (result == GPU_INFLATE_DONE && !w->c.has_ended) {
        result = find_batch(w);
        if (result == GPU_INFLATE_DONE)
            result = decode_chain(w);
    }
    return result;
}

/* Adds the lengths of the chain's units to *size, and moves on to the chain's end.  Where a member
 * ends, compares its length with its trailer.  This finds most wrong data before the program
 * allocates memory for it. */
static enum gpu_inflate_result count_chain(struct whole *w, uint64_t *size)
{
    struct call *c = &w->c;
    const gpu_unit *u = NULL;

    for (uint32_t i = 0; i < c->chain; i++) {
        u = &c->g->units[c->g->which[i]];
        *size += u->length;
        w->member.length += u->length;
        if (u->how == GPU_UNIT_BLOCK)
            continue;
        if ((uint32_t)w->member.length != u->size)
            return gpu_leave(c, "its length is wrong");
        w->member = {0, 0};
    }
    if (u == NULL)
        return gpu_leave(c, "it has no blocks");
    c->position = 8 * c->batch_start + u->end;
    c->has_ended = u->how == GPU_UNIT_LAST;
    return gpu_tell(c, w->goes_on, w->ctx, 0, 0);
}

/* Sets *size to the bytes of all output, and *batches to the number of batches. */
static enum gpu_inflate_result count_all(struct whole *w, uint64_t *size, uint64_t *batches)
{
    enum gpu_inflate_result result = begin(w);

    *size = *batches = 0;
    for (; result == GPU_INFLATE_DONE && !w->c.has_ended; ++*batches) {
        result = find_batch(w);
        if (result == GPU_INFLATE_DONE)
            result = count_chain(w, size);
    }
    return result;
}

/* Ends a call whose steps gave `result`.  Returns the result for the caller. */
static enum gpu_inflate_result close(struct whole *w, enum gpu_inflate_result result)
{
    result = gpu_close_call(&w->c, result);
    if (result != GPU_INFLATE_DONE && result != GPU_INFLATE_STOPPED)
        w->made = 0;
    return result;
}

enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE])
{
    struct whole w = {{}, in, out, room, 0, {0, 0}, goes_on, ctx};
    enum gpu_inflate_result result = gpu_open_call(&w.c, g, error);

    w.c.in_len = in_len;
    if (result == GPU_INFLATE_DONE)
        result = gpu_is_in_reach(w.c.g, out) ? begin(&w) : gpu_leave(&w.c, OUT_OF_REACH);
    if (result == GPU_INFLATE_DONE)
        result = decode_all(&w);
    result = close(&w, result);
    *out_len = (size_t)w.made;
    return result;
}

enum gpu_inflate_result gpu_inflate_count(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                          uint64_t *size, gpu_inflate_goes_on *goes_on, void *ctx,
                                          char error[GPU_ERROR_SIZE])
{
    struct whole w = {{}, in, NULL, 0, 0, {0, 0}, goes_on, ctx};
    enum gpu_inflate_result result = gpu_open_call(&w.c, g, error);
    uint64_t batches;

    w.c.in_len = in_len;
    *size = 0;
    if (result == GPU_INFLATE_DONE)
        result = count_all(&w, size, &batches);
    result = close(&w, result);
    if (result != GPU_INFLATE_DONE)
        *size = 0;
    return result;
}

/* Asks the caller for memory for `size` bytes. */
static enum gpu_inflate_result allocate_output(struct whole *w, uint64_t size,
                                               gpu_inflate_allocate *allocate)
{
    if (size > SIZE_MAX)
        return gpu_leave(&w->c, "it has no room");
    w->room = (size_t)size;
    w->out = allocate(w->ctx, w->room);
    if (w->out == NULL && size > 0)
        return GPU_INFLATE_STOPPED;
    if (!gpu_is_good(w->c.g, gpu_use_device(w->c.g->device), w->c.error))
        return GPU_INFLATE_FAILED;
    return gpu_is_in_reach(w->c.g, w->out) ? GPU_INFLATE_DONE : gpu_leave(&w->c, OUT_OF_REACH);
}

enum gpu_inflate_result gpu_inflate_new(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                        gpu_inflate_allocate *allocate, size_t *out_len,
                                        gpu_inflate_goes_on *goes_on, void *ctx,
                                        char error[GPU_ERROR_SIZE])
{
    struct whole w = {{}, in, NULL, 0, 0, {0, 0}, goes_on, ctx};
    enum gpu_inflate_result result = gpu_open_call(&w.c, g, error);
    uint64_t size = 0, batches = 0;

    w.c.in_len = in_len;
    if (result == GPU_INFLATE_DONE)
        result = count_all(&w, &size, &batches);
    if (result == GPU_INFLATE_DONE)
        result = allocate_output(&w, size, allocate);
    w.member = {0, 0};
    if (result == GPU_INFLATE_DONE && batches == 1) {
        /* The input has only one batch, and the device still has this batch and its chain. */
        result = decode_chain(&w);
    } else if (result == GPU_INFLATE_DONE) {
        result = begin(&w);
        if (result == GPU_INFLATE_DONE)
            result = decode_all(&w);
    }
    result = close(&w, result);
    *out_len = (size_t)w.made;
    return result;
}

struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g)
{
    return g->times;
}
