/*
 * units.cu - finds the units of a batch of compressed bytes: the host's part (inflating.cuh)
 *
 * The host follows the chain of units from the place where the last batch's chain ended.
 */
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/inflate/inflating.cuh"
#include "gpu/cuda/internal.cuh"

/* Units of more compressed bytes than this are counted by a block of threads, others by a warp.
 * With a higher limit, a few warps work for long while the rest of the GPU waits; with a lower one,
 * more threads wait for each other. */
#define LONG_UNIT ((size_t)40 << 10)

/* In a small batch, LONG_UNIT would leave most multiprocessors idle.  The limit is then lower, so
 * that each multiprocessor has at most TEAMS_EACH long units to count.  The limit is never below
 * LONG_UNIT_MIN bytes, because in a shorter unit, most threads of a team would have no part. */
#define TEAMS_EACH 8
#define LONG_UNIT_MIN ((size_t)4 << 10)

/* Pieces for each team, which is a block of threads that decodes.  A piece's number of steps
 * follows from this, between PIECE_STEPS_MIN and PIECE_STEPS_MAX.  With more pieces, more time goes
 * into their tables and windows; with fewer, some multiprocessors wait at the end. */
#define PIECES_EACH 4
#define PIECE_STEPS_MIN 256u
#define PIECE_STEPS_MAX 4096u

/* Blocks with more output than this get an outline.  The host copies an outline, which is some
 * entries of a block's map, and cuts the block into pieces of at most about PIECE_OUTPUT.  With a
 * lower limit, the host also copies outlines of ordinary blocks, which do not need them. */
#define OUTLINE_MIN ((uint32_t)1 << 20)

/* Blocks of threads that count on each multiprocessor; its shared memory has no room for more. */
#define COUNT_BLOCKS 6

/* --- Calls of CUDA ---------------------------------------------------------------------------- */

bool gpu_is_good(struct gpu_inflate *g, cudaError_t result, char *error)
{
    if (result == cudaSuccess && g->options.fails &&
        __atomic_fetch_add(&g->calls, 1, __ATOMIC_RELAXED) >= g->options.good_calls)
        result = cudaErrorInvalidValue;
    if (gpu_is_lost(&g->watch))
        result = cudaErrorLaunchTimeout;
    if (result != cudaSuccess)
        snprintf(error, GPU_ERROR_SIZE, "%s", gpu_error_text(result));
    if (result == cudaErrorMemoryAllocation)
        g->lacks_memory = true;
    return result == cudaSuccess;
}

bool gpu_mark(struct call *c, int event)
{
    return gpu_is_good(c->g, cudaEventRecord(c->g->events[event], c->g->stream), c->error);
}

void gpu_add_time(const struct gpu_inflate *g, double *sum, int from, int to)
{
    float ms = 0;

    if (cudaEventElapsedTime(&ms, g->events[from], g->events[to]) == cudaSuccess)
        *sum += ms / 1000;
}

enum gpu_inflate_result gpu_leave(const struct call *c, const char *why)
{
    snprintf(c->error, GPU_ERROR_SIZE, "%s", why);
    return GPU_INFLATE_LEFT;
}

void gpu_drain(struct gpu_inflate *g)
{
    (void)gpu_await_stream(&g->watch, g->side);
    (void)gpu_await_stream(&g->watch, g->stream);
    /* Clear the error, or the next call would return it. */
    (void)cudaGetLastError();
}

/* cudaMemcpyAsync copies more words than this: compared with their time, a wait is short. */
#define KERNEL_COPY_MAX ((size_t)1 << 18)

#define COPY_THREADS 256u
#define COPY_BLOCKS 64u

static __global__ void copy_words(uint32_t *to, const uint32_t *from, uint32_t count)
{
    for (uint32_t i = blockIdx.x * COPY_THREADS + threadIdx.x; i < count;
         i += gridDim.x * COPY_THREADS)
        to[i] = from[i];
}

cudaError_t gpu_copy_words(uint32_t *to, const uint32_t *from, size_t count, cudaStream_t stream)
{
    if (count == 0)
        return cudaSuccess;
    if (count > KERNEL_COPY_MAX)
        return cudaMemcpyAsync(to, from, count * sizeof(*to), cudaMemcpyDefault, stream);
    const uint32_t blocks = ((uint32_t)count + COPY_THREADS - 1) / COPY_THREADS;

    copy_words<<<std::min(blocks, COPY_BLOCKS), COPY_THREADS, 0, stream>>>(to, from,
                                                                           (uint32_t)count);
    return cudaGetLastError();
}

cudaError_t gpu_load_copy(void)
{
    const void *const kernels[] = {(const void *)copy_words};

    return gpu_load(kernels);
}

/* --- A call ----------------------------------------------------------------------------------- */

enum gpu_inflate_result gpu_open_call(struct call *c, struct gpu_inflate *g, char *error)
{
    c->g = g;
    c->error = error;
    g->times = {};
    g->lacks_memory = false;
    if (!gpu_is_good(g, gpu_use_device(g->device), error)) {
        (void)cudaGetLastError();
        return GPU_INFLATE_FAILED;
    }
    /* Another device may have left an error, which would seem to be this device's.  So clear the
     * error. */
    (void)cudaGetLastError();
    return GPU_INFLATE_DONE;
}

bool gpu_is_in_reach(const struct gpu_inflate *g, const void *p)
{
    struct cudaPointerAttributes attributes;

    if (cudaPointerGetAttributes(&attributes, p) != cudaSuccess) {
        /* Clear the error, or it would seem to be the error of a kernel. */
        (void)cudaGetLastError();
        return false;
    }
    return attributes.devicePointer != NULL &&
           (attributes.device == g->device || attributes.type != cudaMemoryTypeDevice);
}

enum gpu_inflate_result gpu_tell(struct call *c, gpu_inflate_goes_on *goes_on, void *ctx,
                                 uint64_t in, uint64_t out)
{
    if (goes_on == NULL)
        return GPU_INFLATE_DONE;
    if (!goes_on(ctx, in, out))
        return GPU_INFLATE_STOPPED;
    return gpu_is_good(c->g, gpu_use_device(c->g->device), c->error) ? GPU_INFLATE_DONE
                                                                     : GPU_INFLATE_FAILED;
}

enum gpu_inflate_result gpu_close_call(struct call *c, enum gpu_inflate_result result)
{
    if (result == GPU_INFLATE_DONE || result == GPU_INFLATE_STOPPED)
        return result;
    /* Wait for the kernels that are still queued.  Otherwise, they would write to the caller's
     * memory while the CPU writes to it, too. */
    gpu_drain(c->g);
    if (gpu_is_lost(&c->g->watch))
        return GPU_INFLATE_LOST;
    return c->g->lacks_memory ? GPU_INFLATE_LEFT : result;
}

/* Returns how many compressed bytes a unit may have in a batch of `len` bytes before it counts as
 * long. */
static size_t long_unit(const struct gpu_inflate *g, size_t len)
{
    const size_t share = len / (size_t)(TEAMS_EACH * g->multiprocessors);

    if (g->options.longer > 0)
        return g->options.longer;
    return std::min(std::max(share, LONG_UNIT_MIN), LONG_UNIT);
}

/* --- A batch ---------------------------------------------------------------------------------- */

bool gpu_begin_batch(struct call *c, uint32_t *words, uint64_t start, size_t len, size_t find_len)
{
    struct gpu_inflate *g = c->g;

    c->batch_start = start;
    g->piece_steps = (uint32_t)(8 * len / GPU_STEP) /
                     (uint32_t)(g->multiprocessors * DECODE_BLOCKS * PIECES_EACH);
    g->piece_steps = std::min(std::max(g->piece_steps, PIECE_STEPS_MIN), PIECE_STEPS_MAX) /
                     GPU_OUTLINE_STEPS * GPU_OUTLINE_STEPS;
    c->batch.long_bits = (uint32_t)(8 * long_unit(g, len));
    c->batch.words = words;
    c->batch.map_room = g->map_room;
    c->batch.bits = (uint32_t)(8 * len);
    c->batch.is_last = start + len == c->in_len;
    if (g->options.hangs && !gpu_is_good(g, gpu_stay_busy(g->stream), c->error))
        return false;
    c->batch.find_end = c->batch.is_last ? c->batch.bits : (uint32_t)(8 * find_len);
    return gpu_is_good(g, cudaMemsetAsync((uint8_t *)words + len, 0, GPU_COMPRESSED_PAD, g->stream),
                       c->error) &&
           gpu_mark(c, AFTER_COPY);
}

/* Fills starts[0..count) with the batch's candidates, in ascending order.  The caller has put known
 * candidates into starts[0..known), the lowest first.  If `searches` is true, the device searches
 * for more. */
static enum gpu_inflate_result find_candidates(struct call *c, uint32_t known, bool searches)
{
    struct gpu_inflate *g = c->g;
    const uint32_t first = g->starts[0];
    const gpu_list found = {g->found, &g->counters[FOUND], g->candidates_max};
    const gpu_list maybe = {g->list, &g->counters[LISTED], g->list_max};
    const uint32_t *const counts = g->counts;
    uint32_t *end;

    c->batch.is_bgzf = c->is_bgzf;
    if (!gpu_is_good(g, cudaMemsetAsync(g->counters, 0, COUNTERS * sizeof(uint32_t), g->stream),
                     c->error) ||
        (searches &&
         !gpu_is_good(g, gpu_find_starts(c->batch, found, maybe, g->stream), c->error)) ||
        !gpu_mark(c, AFTER_FIND) || !from_device(c, g->counts, g->counters, 2))
        return GPU_INFLATE_FAILED;
    gpu_add_time(g, &g->times.find, AFTER_COPY, AFTER_FIND);
    if (counts[FOUND] > g->candidates_max + 1 - known || counts[LISTED] > g->list_max)
        return gpu_leave(c, "its blocks are too short");
    if (counts[FOUND] > 0 && !from_device(c, g->starts + known, g->found, counts[FOUND]))
        return GPU_INFLATE_FAILED;
    end = std::remove_if(g->starts + known, g->starts + known + counts[FOUND], [&](uint32_t start) {
        return start <= first || start >= c->batch.find_end;
    });
    std::sort(g->starts, end);
    c->count = (uint32_t)(std::unique(g->starts, end) - g->starts);
    return GPU_INFLATE_DONE;
}

/* Queues the counting of the units which[0..which_count), or of all units if `which` is NULL.
 * `next` points to the first of GPU_COUNTERS counters on the device, which
 * are 0. */
static bool count_units(struct call *c, const uint32_t *which, uint32_t which_count, uint32_t *next)
{
    struct gpu_inflate *g = c->g;
    uint32_t *const late = g->which_device + g->candidates_max + 1;
    const gpu_count_work work = {g->starts_device, c->count,        which,          which_count,
                                 g->units_device,  g->map,          next,           late,
                                 g->side,          g->events[FORK], g->events[JOIN]};

    return gpu_is_good(
        g,
        gpu_count_units(c->batch, work, (uint32_t)(g->multiprocessors * COUNT_BLOCKS), g->stream),
        c->error);
}

/* Counts all units on the device, and copies them to the host. */
static bool count_all(struct call *c)
{
    struct gpu_inflate *g = c->g;

    if (!put_words(c, g->starts_device, g->starts, c->count) || !gpu_mark(c, BEFORE_COUNT) ||
        !count_units(c, NULL, c->count, &g->counters[NEXT_COUNT]) || !gpu_mark(c, AFTER_COUNT) ||
        !from_device(c, g->units, g->units_device, c->count))
        return false;
    gpu_add_time(g, &g->times.count, BEFORE_COUNT, AFTER_COUNT);
    return true;
}

/* Whether a unit that starts at bit `start` of the batch is possible.  The host uses its numbers as
 * indexes and sizes, so a device that says nonsense must not make the host leave its arrays. */
static bool is_possible(const struct call *c, const gpu_unit &u, uint32_t start)
{
    uint32_t at = start;
    uint64_t length = 0;

    if (u.start != start || u.end <= start || u.end > c->batch.bits || u.how > GPU_UNIT_LAST ||
        u.count == 0 || u.count > GPU_UNIT_BLOCKS)
        return false;
    for (uint32_t k = 0; k < u.count; k++) {
        const gpu_block &b = u.blocks[k];

        /* Empty stored blocks before a block are left out.  The number of steps is rounded up. */
        if (b.start < at || b.data <= b.start || b.end < b.data || b.end > u.end ||
            b.steps > (b.end - b.data) / GPU_STEP + 4)
            return false;
        at = b.end;
        length += b.length;
    }
    return length == u.length;
}

/* Ends the call because the device said what cannot be. */
static enum gpu_inflate_result fail_impossible(const struct call *c)
{
    snprintf(c->error, GPU_ERROR_SIZE, "its results are impossible");
    return GPU_INFLATE_FAILED;
}

/* Leaves the input to the CPU.  The message gives the number of the input's byte that contains bit
 * number `bit` of the batch. */
static enum gpu_inflate_result leave_at(const struct call *c, uint32_t bit, const char *why)
{
    snprintf(c->error, GPU_ERROR_SIZE, "byte %llu: %s",
             (unsigned long long)(c->batch_start + bit / 8), why);
    return GPU_INFLATE_LEFT;
}

/* Returns the number of the candidate that starts at bit number `bit`, if it comes after candidate
 * number i; 0 if there is none. */
static uint32_t candidate_at(const struct call *c, uint32_t i, uint32_t bit)
{
    const uint32_t *const end = c->g->starts + c->count;
    const uint32_t *const at = std::lower_bound((const uint32_t *)c->g->starts + i + 1, end, bit);

    return at == end || *at != bit ? 0 : (uint32_t)(at - c->g->starts);
}

/* Follows the chain from the first candidate on: each unit ends where the next one starts.
 * which[0..chain) become the numbers of its units. */
static enum gpu_inflate_result follow_chain(struct call *c)
{
    const struct gpu_inflate *g = c->g;

    c->chain = 0;
    for (uint32_t i = 0;;) {
        const gpu_unit &u = g->units[i];

        if (u.how == GPU_UNIT_BAD)
            return leave_at(c, g->starts[i], "the block is damaged, or odd");
        if (!is_possible(c, u, g->starts[i]))
            return fail_impossible(c);
        g->which[c->chain++] = i;
        if (u.how == GPU_UNIT_LAST || u.end >= c->batch.find_end)
            return GPU_INFLATE_DONE;
        i = candidate_at(c, i, u.end);
        if (i == 0)
            return leave_at(c, u.end, "the block was not found");
    }
}

/* Counts again those units whose map entries a false candidate may have overwritten.  A false
 * candidate is one that is not in the chain.  It may overwrite entries of the unit in which it
 * lies, and of units after that one, if these units use the same map as the candidate. */
static bool mend_map(struct call *c)
{
    struct gpu_inflate *g = c->g;
    uint32_t count = 0, wrong_ends[GPU_MAPS] = {0}, k = 0;
    uint32_t *again = g->which + c->chain;

    for (uint32_t i = 0; i < c->count; i++) {
        if (k == c->chain || g->which[k] != i) {
            /* Most false candidates are found to be false before any of their map entries is
             * written. */
            if (g->units[i].reach == 0)
                continue;
            uint32_t &end = wrong_ends[i % GPU_MAPS];

            end = std::max(end, g->units[i].reach);
            /* This candidate may lie in the last of the chain's units that start before it.  If
             * both use the same map, that unit is counted again. */
            if (k > 0 && g->which[k - 1] % GPU_MAPS == i % GPU_MAPS &&
                (count == 0 || again[count - 1] != g->which[k - 1]))
                again[count++] = g->which[k - 1];
            continue;
        }
        if (g->units[i].start < wrong_ends[i % GPU_MAPS])
            again[count++] = i;
        k++;
    }
    if (count == 0)
        return true;
    return put_words(c, g->which_device, again, count) &&
           count_units(c, g->which_device, count, &g->counters[NEXT_RECOUNT]);
}

/* Copies the outlines of the chain's blocks with much output to the host. */
static bool outline_blocks(struct call *c)
{
    struct gpu_inflate *g = c->g;
    uint32_t count = 0, entries = 0;

    for (uint32_t i = 0; i < c->chain; i++) {
        gpu_unit &u = g->units[g->which[i]];
        uint32_t map = gpu_map_place(c->batch, u.start, g->which[i]);

        for (uint32_t k = 0; k < u.count; k++) {
            gpu_block &b = u.blocks[k];

            b.outline = 0;
            if (b.length > OUTLINE_MIN && b.steps > GPU_OUTLINE_STEPS && count < OUTLINED_MAX) {
                g->outlined[count++] = {map, b.steps, entries};
                b.outline = entries + 1;
                entries += (b.steps - 1) / GPU_OUTLINE_STEPS + 1;
            }
            map += b.steps > 0 ? b.steps + 1 : 0;
        }
    }
    if (count == 0)
        return true;
    return put_words(c, g->outlined_device, g->outlined, count) &&
           gpu_is_good(
               g, gpu_copy_outline(g->map, g->outlined_device, count, g->outline_device, g->stream),
               c->error) &&
           from_device(c, g->outline, g->outline_device, entries);
}

/* Finds the candidates, counts their units and follows the chain. */
static enum gpu_inflate_result find_units(struct call *c)
{
    enum gpu_inflate_result result;

    c->g->starts[0] = (uint32_t)(c->position - 8 * c->batch_start);
    result = find_candidates(c, 1, true);
    if (result != GPU_INFLATE_DONE)
        return result;
    if (!count_all(c))
        return GPU_INFLATE_FAILED;
    return follow_chain(c);
}

enum gpu_inflate_result gpu_find_chain(struct call *c)
{
    enum gpu_inflate_result result;

    c->chain = 0;
    result = find_units(c);
    /* A member may have more blocks than a unit holds, or the next member may not be of BGZF.  So
     * try again, with candidates of all kinds. */
    if (result == GPU_INFLATE_LEFT && c->is_bgzf) {
        c->is_bgzf = false;
        result = find_units(c);
    }
    if (result != GPU_INFLATE_FAILED && c->chain > 0 && (!mend_map(c) || !outline_blocks(c)))
        return GPU_INFLATE_FAILED;
    return result;
}

/* --- Many inputs ------------------------------------------------------------------------------ */

/* Follows the chain of one of many inputs, from candidate number i on.  The chain must end exactly
 * at bit number `end`, and make at most `room` bytes of output.  If it does, appends its units to
 * the joint chain, with their places from `place` on, and returns their number.  Otherwise, or if a
 * unit is impossible, returns 0, and the input is left to the CPU. */
static uint32_t follow_input(struct call *c, uint32_t i, uint32_t end, uint64_t room,
                             uint64_t place, uint64_t *places)
{
    const struct gpu_inflate *g = c->g;
    uint32_t units = 0;

    do {
        const gpu_unit &u = g->units[i];
        const bool is_last = u.how == GPU_UNIT_LAST && u.end == end;

        if (!is_last && (u.how != GPU_UNIT_BLOCK || u.end >= end))
            return 0;
        if (!is_possible(c, u, g->starts[i]))
            return 0;
        if (u.length > room || u.length > g->symbols_max)
            return 0;
        room -= u.length;
        g->which[c->chain + units] = i;
        places[c->chain + units++] = place;
        place += u.length;
        if (is_last) {
            c->chain += units;
            return units;
        }
        i = candidate_at(c, i, u.end);
    } while (i != 0);
    return 0;
}

enum gpu_inflate_result gpu_find_chains(struct call *c, const gpu_input *inputs,
                                        struct many_input *many, uint32_t count, bool searches,
                                        uint64_t *places)
{
    struct gpu_inflate *g = c->g;
    uint32_t known = 0, i = 0;
    enum gpu_inflate_result result;

    c->chain = 0;
    for (uint32_t k = 0; k < count; k++)
        if (inputs[k].start != 0)
            g->starts[known++] = inputs[k].start;
    if (known == 0)
        return gpu_leave(c, "no input begins with a usual header");
    result = find_candidates(c, known, searches);
    if (result != GPU_INFLATE_DONE)
        return result;
    if (!count_all(c))
        return GPU_INFLATE_FAILED;
    for (uint32_t k = 0; k < count; k++) {
        many[k].units = 0;
        if (inputs[k].start == 0)
            continue;
        i = (uint32_t)(std::lower_bound(g->starts + i, g->starts + c->count, inputs[k].start) -
                       g->starts);
        many[k].units = follow_input(c, i, 8 * (inputs[k].at + inputs[k].length), many[k].room,
                                     many[k].to, places);
    }
    c->places = places;
    if (c->chain > 0 && (!mend_map(c) || !outline_blocks(c)))
        return GPU_INFLATE_FAILED;
    return GPU_INFLATE_DONE;
}
