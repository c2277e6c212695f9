/*
 * inflate.cu - decompression by a GPU: the host's part (inflate.h; pieces.cuh has the steps)
 *
 * The input passes in batches of compressed bytes, so that memory is bounded.  In each batch, the
 * host follows the chain of units from where the batch before has ended, cuts their blocks into
 * pieces, and has the device decode these, a group at a time.
 */
#include "gpu/inflate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "gpu/pieces.cuh"
#include "gpu/bits.cuh"
#include "gpu/internal.cuh"

/* Compressed bytes of a batch.  With fewer, large blocks occupy fewer multiprocessors; more take
 * more memory. */
#define BATCH ((size_t)128 << 20)

/* Bytes behind a batch that are there, too: a unit that starts in the batch has to end in them. */
#define OVERLAP ((size_t)4 << 20)

/* The most candidates of a batch: one in so many bytes.  Data with shorter blocks is left to the
 * CPU. */
#define CANDIDATE_BYTES 1024

/* Places in a batch whose header may be good, before it is read whole: one in so many bytes. */
#define LIST_BYTES 32

/* A unit of more compressed bytes than this is counted by a block of threads.  With a higher limit,
 * a few warps are at work for long; with a lower one, more threads wait for each other. */
#define LONG_UNIT ((size_t)48 << 10)

/* The most output of a group.  Each byte takes two on the device. */
#define SYMBOLS ((size_t)512 << 20)

/* The most pieces of a group. */
#define PIECES_MAX ((uint32_t)1 << 18)

/* Steps of a piece: so many that there are PIECES_EACH pieces for each team, within bounds.  With
 * more pieces, more time goes into their tables and windows; with fewer, some multiprocessors wait
 * at the end. */
#define PIECES_EACH 4
#define PIECE_STEPS_MIN 256u
#define PIECE_STEPS_MAX 4096u

/* The most chunks of a group: a block of threads has each, so there should be two for each
 * multiprocessor. */
#define CHUNKS 264u

/* Blocks of threads on each multiprocessor: as many as its shared memory has room for. */
#define COUNT_BLOCKS 6
#define DECODE_BLOCKS 5

/* A member under way: what of it is in earlier groups. */
struct member {
    uint32_t sum; /* of its output, see crc.cu */
    uint64_t length;
};

/* Moments whose time is taken, before and after steps. */
enum {
    BEFORE_COPY,
    AFTER_COPY,
    AFTER_FIND,
    BEFORE_COUNT,
    AFTER_COUNT,
    BEFORE_DECODE,
    AFTER_DECODE,
    AFTER_WINDOWS,
    AFTER_RESOLVE,
    AFTER_SUM,
    EVENTS
};

struct gpu_inflate {
    gpu_inflate_options options;
    int device, multiprocessors;
    size_t batch, overlap, symbols_max;
    uint32_t candidates_max, list_max;
    bool lacks_memory;    /* a call of CUDA has failed for want of the device's memory */
    uint32_t piece_steps; /* of this batch */
    long calls;           /* of CUDA, for tests */
    cudaStream_t stream;
    cudaEvent_t events[EVENTS];
    struct gpu_inflate_times times;

    /* On the device: */
    uint32_t *words, *found, *list, *map;
    uint32_t *counters; /* COUNTERS of them */
    uint32_t *starts_device, *which_device;
    gpu_unit *units_device;
    gpu_piece *pieces_device;
    gpu_range *ranges_device;
    gpu_crc_part *parts_device;
    uint16_t *symbols, *names;
    uint8_t *windows;

    /* On the host: */
    uint32_t *starts, *which;
    gpu_unit *units;
    gpu_piece *pieces;
    gpu_range *ranges;
    gpu_crc_part *parts;
};

/* Counters on the device. */
enum {
    FOUND,
    LISTED,
    NEXT_COUNT,
    NEXT_RECOUNT = NEXT_COUNT + 2,
    NEXT_DECODE = NEXT_RECOUNT + 2,
    COUNTERS
};

/* A call: its input and output, and how far it is. */
struct call {
    struct gpu_inflate *g;
    const uint8_t *in;
    size_t in_len;
    uint8_t *out;
    size_t room;
    uint64_t position; /* the bit of the input where the next unit starts */
    uint64_t made;     /* bytes of output */
    struct member member;
    bool has_ended;

    /* The batch: */
    gpu_compressed batch;
    uint64_t batch_start; /* byte of the input */
    uint32_t count;       /* candidates */
    uint32_t chain;       /* units of the chain: units[which[0..chain)] */

    char *error;
};

/* --- Calls of CUDA ---------------------------------------------------------------------------- */

/* Whether a call was good; otherwise there is a message. */
static bool is_good(struct gpu_inflate *g, cudaError_t result, char *error)
{
    if (result == cudaSuccess && g->options.fails && g->calls++ >= g->options.good_calls)
        result = cudaErrorInvalidValue;
    if (result != cudaSuccess)
        snprintf(error, GPU_ERROR_SIZE, "%s", cudaGetErrorString(result));
    g->lacks_memory |= result == cudaErrorMemoryAllocation;
    return result == cudaSuccess;
}

template <typename T> static bool to_device(struct call *c, T *to, const T *from, size_t count)
{
    return is_good(c->g,
                   cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, c->g->stream),
                   c->error);
}

/* The same from the device; waits for all that was queued. */
template <typename T> static bool from_device(struct call *c, T *to, const T *from, size_t count)
{
    return to_device(c, to, from, count) &&
           is_good(c->g, cudaStreamSynchronize(c->g->stream), c->error);
}

static bool mark(struct call *c, int event)
{
    return is_good(c->g, cudaEventRecord(c->g->events[event], c->g->stream), c->error);
}

/* Adds the time from one moment to another, both of which are past. */
static void add_time(const struct gpu_inflate *g, double *sum, int from, int to)
{
    float ms = 0;

    if (cudaEventElapsedTime(&ms, g->events[from], g->events[to]) == cudaSuccess)
        *sum += ms / 1000;
}

/* Leaves the input to the CPU, for that reason. */
static enum gpu_inflate_result leave(const struct call *c, const char *why)
{
    snprintf(c->error, GPU_ERROR_SIZE, "%s", why);
    return GPU_INFLATE_LEFT;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* Memory for arrays: `count` of them on the device, and as many on the host if that is not NULL. */
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
    const size_t entries =
        gpu_map_place((uint32_t)(8 * bytes), (uint32_t)candidates) + GPU_MAP_SPARE;
    /* Each member that ends in a group may have one part that is not whole. */
    const size_t parts = g->symbols_max / GPU_CRC_PART + PIECES_MAX;

    return take(&g->words, (uint32_t **)NULL, (bytes + GPU_COMPRESSED_PAD) / 4 + 1) &&
           take(&g->found, (uint32_t **)NULL, candidates) &&
           take(&g->list, (uint32_t **)NULL, g->list_max) &&
           take(&g->map, (uint32_t **)NULL, entries) &&
           take(&g->counters, (uint32_t **)NULL, COUNTERS) &&
           take(&g->starts_device, &g->starts, candidates + 1) &&
           take(&g->which_device, &g->which, 2 * (candidates + 1)) &&
           take(&g->units_device, &g->units, candidates + 1) &&
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
    g->overlap = options->batch > 0 ? 2 * g->batch : OVERLAP;
    g->symbols_max = options->symbols > 0 ? options->symbols : SYMBOLS;
    g->candidates_max = (uint32_t)((g->batch + g->overlap) / CANDIDATE_BYTES) + 1024;
    g->list_max = (uint32_t)((g->batch + g->overlap) / LIST_BYTES) + 1024;
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
        g->multiprocessors = properties.multiProcessorCount;
        if (cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking) == cudaSuccess &&
            make_events(g) && take_memory(g))
            return g;
    }
    gpu_inflate_close(g);
    return NULL;
}

struct gpu_inflate *gpu_inflate_open(int device, const struct gpu_inflate_options *options,
                                     char error[GPU_ERROR_SIZE])
{
    cudaError_t result = gpu_use_device(device);
    struct gpu_inflate *g = NULL;

    if (result == cudaSuccess)
        result = gpu_code_fits_device();
    if (result == cudaSuccess)
        g = make(device, options);
    if (g == NULL)
        snprintf(error, GPU_ERROR_SIZE, "%s",
                 result != cudaSuccess ? cudaGetErrorString(result) : "too little memory");
    /* A failed call is not to be found by the next one. */
    (void)cudaGetLastError();
    return g;
}

void gpu_inflate_close(struct gpu_inflate *g)
{
    if (g == NULL)
        return;
    (void)gpu_use_device(g->device);
    void *const device[] = {g->words,         g->found,         g->list,         g->map,
                            g->counters,      g->starts_device, g->which_device, g->units_device,
                            g->pieces_device, g->ranges_device, g->parts_device, g->symbols,
                            g->names,         g->windows};
    void *const host[] = {g->starts, g->which, g->units, g->pieces, g->ranges, g->parts};

    for (void *p : device)
        (void)cudaFree(p);
    for (void *p : host)
        (void)cudaFreeHost(p);
    for (cudaEvent_t event : g->events)
        if (event != NULL)
            (void)cudaEventDestroy(event);
    if (g->stream != NULL)
        (void)cudaStreamDestroy(g->stream);
    /* Otherwise the thread's next call, for another device, finds the errors of a lost one. */
    (void)cudaGetLastError();
    free(g);
}

/* --- A batch ---------------------------------------------------------------------------------- */

/* Finds the first member's first block. */
static enum gpu_inflate_result begin_call(struct call *c)
{
    uint32_t header[GPU_HEADER_MAX / 4 + 4] = {0};
    const size_t len = c->in_len < GPU_HEADER_MAX ? c->in_len : GPU_HEADER_MAX;
    const gpu_compressed start = {header, (uint32_t)(8 * len), 0, 0, 0};

    /* Until a bad match is found, its bytes may come from this window: they must not be those of an
     * earlier call. */
    if (!is_good(c->g, cudaMemsetAsync(c->g->windows, 0, GPU_WINDOW, c->g->stream), c->error) ||
        !from_device(c, (uint8_t *)header, c->in, len))
        return GPU_INFLATE_FAILED;
    c->position = 8 * (uint64_t)gpu_header_end(start, 0);
    return c->position != 0 ? GPU_INFLATE_DONE : leave(c, "it does not begin with a usual header");
}

/* Brings the next batch to the device. */
static bool load_batch(struct call *c)
{
    struct gpu_inflate *g = c->g;
    const uint64_t start = c->position / 8, left = c->in_len - start;
    const size_t len = left < g->batch + g->overlap ? (size_t)left : g->batch + g->overlap;
    uint8_t *const bytes = (uint8_t *)g->words;

    c->batch_start = start;
    g->piece_steps = (uint32_t)(8 * len / GPU_STEP) /
                     (uint32_t)(g->multiprocessors * DECODE_BLOCKS * PIECES_EACH);
    g->piece_steps = std::min(std::max(g->piece_steps, PIECE_STEPS_MIN), PIECE_STEPS_MAX);
    c->batch.long_bits = (uint32_t)(8 * (g->options.longer > 0 ? g->options.longer : LONG_UNIT));
    c->batch.words = g->words;
    c->batch.bits = (uint32_t)(8 * len);
    c->batch.is_last = len == left;
    c->batch.find_end = c->batch.is_last ? c->batch.bits : (uint32_t)(8 * g->batch);
    return mark(c, BEFORE_COPY) && to_device(c, bytes, c->in + start, len) &&
           is_good(g, cudaMemsetAsync(bytes + len, 0, GPU_COMPRESSED_PAD, g->stream), c->error) &&
           is_good(g, cudaMemsetAsync(g->counters, 0, COUNTERS * sizeof(uint32_t), g->stream),
                   c->error) &&
           mark(c, AFTER_COPY);
}

/* Finds the batch's candidates: starts[0..count). */
static enum gpu_inflate_result find_candidates(struct call *c)
{
    struct gpu_inflate *g = c->g;
    const uint32_t first = (uint32_t)(c->position % 8);
    const gpu_list found = {g->found, &g->counters[FOUND], g->candidates_max};
    const gpu_list maybe = {g->list, &g->counters[LISTED], g->list_max};
    uint32_t counts[2], *end;

    if (!is_good(g, gpu_find_starts(c->batch, found, maybe, g->stream), c->error) ||
        !mark(c, AFTER_FIND) || !from_device(c, counts, g->counters, 2))
        return GPU_INFLATE_FAILED;
    add_time(g, &g->times.copy, BEFORE_COPY, AFTER_COPY);
    add_time(g, &g->times.find, AFTER_COPY, AFTER_FIND);
    if (counts[FOUND] > g->candidates_max || counts[LISTED] > g->list_max)
        return leave(c, "its blocks are too short");
    g->starts[0] = first;
    if (counts[FOUND] > 0 && !from_device(c, g->starts + 1, g->found, counts[FOUND]))
        return GPU_INFLATE_FAILED;
    end = std::remove_if(g->starts + 1, g->starts + 1 + counts[FOUND], [&](uint32_t start) {
        return start <= first || start >= c->batch.find_end;
    });
    std::sort(g->starts, end);
    c->count = (uint32_t)(std::unique(g->starts, end) - g->starts);
    return GPU_INFLATE_DONE;
}

/* Queues the counting of all units, or of those that `which` names. */
static bool count_units(struct call *c, const uint32_t *which, uint32_t which_count, uint32_t *next)
{
    struct gpu_inflate *g = c->g;
    const gpu_count_work work = {g->starts_device, c->count, which, which_count,
                                 g->units_device,  g->map,   next};

    return is_good(
        g,
        gpu_count_units(c->batch, work, (uint32_t)(g->multiprocessors * COUNT_BLOCKS), g->stream),
        c->error);
}

/* Has the device count all units. */
static bool count_all(struct call *c)
{
    struct gpu_inflate *g = c->g;

    if (!to_device(c, g->starts_device, g->starts, c->count) || !mark(c, BEFORE_COUNT) ||
        !count_units(c, NULL, c->count, &g->counters[NEXT_COUNT]) || !mark(c, AFTER_COUNT) ||
        !from_device(c, g->units, g->units_device, c->count))
        return false;
    add_time(g, &g->times.count, BEFORE_COUNT, AFTER_COUNT);
    return true;
}

/* Follows the chain from the first candidate: which[0..chain).  False: it leads nowhere. */
static bool follow_chain(struct call *c)
{
    const struct gpu_inflate *g = c->g;

    c->chain = 0;
    for (uint32_t i = 0;;) {
        const gpu_unit &u = g->units[i];
        const uint32_t *next;

        if (u.how == GPU_UNIT_BAD)
            return false;
        g->which[c->chain++] = i;
        if (u.how == GPU_UNIT_LAST || u.end >= c->batch.find_end)
            return true;
        next = std::lower_bound(g->starts + i + 1, g->starts + c->count, u.end);
        if (next == g->starts + c->count || *next != u.end)
            return false;
        i = (uint32_t)(next - g->starts);
    }
}

/* Candidates that are none may have written to the map of the units in which they lie: these are
 * counted once more. */
static bool mend_map(struct call *c)
{
    struct gpu_inflate *g = c->g;
    uint32_t count = 0, wrong_end = 0, k = 0;
    uint32_t *again = g->which + c->chain;

    for (uint32_t i = 0; i < c->count; i++) {
        if (k == c->chain || g->which[k] != i) {
            /* Most of them find out before they write. */
            if (g->units[i].reach == 0)
                continue;
            wrong_end = std::max(wrong_end, g->units[i].reach);
            /* The unit in which it lies. */
            if (count == 0 || again[count - 1] != g->which[k - 1])
                again[count++] = g->which[k - 1];
            continue;
        }
        if (g->units[i].start < wrong_end)
            again[count++] = i;
        k++;
    }
    if (count == 0)
        return true;
    return to_device(c, g->which_device, again, count) &&
           count_units(c, g->which_device, count, &g->counters[NEXT_RECOUNT]);
}

/* --- Groups ----------------------------------------------------------------------------------- */

/* A group that is being filled. */
struct group {
    uint32_t pieces, parts;
    uint64_t length;
    /* Bytes before the next piece that belong to its member, at most a window. */
    uint32_t known;
};

/* Members that end in a group. */
struct ended {
    uint32_t part; /* its last part's number and one */
    uint32_t crc, size;
};

static uint32_t add_known(uint32_t known, uint64_t length)
{
    return known + length < GPU_WINDOW ? (uint32_t)(known + length) : GPU_WINDOW;
}

/* Adds the pieces of candidate number i. */
static void add_pieces(struct gpu_inflate *g, struct group *group, uint32_t i)
{
    const gpu_unit &u = g->units[i];
    uint32_t map = (uint32_t)gpu_map_place(u.start, i);

    for (uint32_t k = 0; k < u.count; k++) {
        const gpu_block &b = u.blocks[k];
        gpu_piece p = {group->length, map, 0, b.start, b.data, 0, group->known, b.length};

        if (b.steps == 0)
            g->pieces[group->pieces++] = p;
        for (; p.first < b.steps; p.first += p.steps, p.map += p.steps) {
            p.steps = std::min(b.steps - p.first, g->piece_steps);
            g->pieces[group->pieces++] = p;
        }
        map += b.steps > 0 ? b.steps + 1 : 0;
        group->length += b.length;
        group->known = add_known(group->known, b.length);
    }
}

/* How many pieces a unit has at most. */
static uint32_t count_pieces(const struct gpu_inflate *g, const gpu_unit &u)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < u.count; k++)
        count += u.blocks[k].steps / g->piece_steps + 1;
    return count;
}

/* Adds the parts of the output from `from` to `to`. */
static void add_parts(const struct call *c, struct group *group, uint64_t from, uint64_t to)
{
    for (uint64_t n; from < to; from += n) {
        n = std::min(to - from, (uint64_t)GPU_CRC_PART);
        c->g->parts[group->parts++] = {c->made + from, (uint32_t)n, 0};
    }
}

/* Has the device decode the group, and waits. */
static bool run_group(struct call *c, const struct group *group)
{
    struct gpu_inflate *g = c->g;
    const uint32_t chunk = (group->pieces + CHUNKS - 1) / CHUNKS;
    const gpu_group work = {g->pieces_device, group->pieces, chunk,      g->ranges_device,
                            g->symbols,       g->names,      g->windows, &g->counters[NEXT_DECODE]};
    uint8_t *const out = c->out + c->made;

    if (group->pieces == 0)
        return true;
    if (!is_good(g, cudaMemsetAsync(work.next, 0, sizeof(uint32_t), g->stream), c->error) ||
        !to_device(c, g->pieces_device, g->pieces, group->pieces) ||
        !to_device(c, g->parts_device, g->parts, group->parts) || !mark(c, BEFORE_DECODE) ||
        !is_good(g,
                 gpu_decode(c->batch, work, g->map, (uint32_t)(g->multiprocessors * DECODE_BLOCKS),
                            g->stream),
                 c->error) ||
        !mark(c, AFTER_DECODE) || !is_good(g, gpu_find_windows(work, g->stream), c->error) ||
        !mark(c, AFTER_WINDOWS) || !is_good(g, gpu_resolve(work, out, g->stream), c->error) ||
        !mark(c, AFTER_RESOLVE))
        return false;
    if (g->options.is_wrong &&
        !is_good(g, cudaMemsetAsync(out + group->length / 2, 'x', 1, g->stream), c->error))
        return false;
    if (!is_good(g, gpu_sum_up(c->out, g->parts_device, group->parts, g->stream), c->error) ||
        !mark(c, AFTER_SUM) ||
        !to_device(c, g->windows, g->windows + (size_t)gpu_chunks(work) * GPU_WINDOW, GPU_WINDOW) ||
        !to_device(c, g->ranges, g->ranges_device, group->pieces) ||
        !from_device(c, g->parts, g->parts_device, group->parts))
        return false;
    add_time(g, &g->times.decode, BEFORE_DECODE, AFTER_DECODE);
    add_time(g, &g->times.windows, AFTER_DECODE, AFTER_WINDOWS);
    add_time(g, &g->times.resolve, AFTER_WINDOWS, AFTER_RESOLVE);
    add_time(g, &g->times.sum_up, AFTER_RESOLVE, AFTER_SUM);
    return true;
}

/* Checks a group that was decoded: no match reached too far back, and members that ended are what
 * their trailers say. */
static bool check_group(struct call *c, const struct group *group, const struct ended *ended,
                        uint32_t count)
{
    const struct gpu_inflate *g = c->g;

    for (uint32_t i = 0; i < group->pieces; i++)
        if (g->ranges[i].is_bad)
            return false;
    for (uint32_t i = 0, k = 0; i < group->parts || k < count;) {
        if (k < count && ended[k].part == i) {
            if (gpu_crc_of(c->member.sum, c->member.length) != ended[k].crc ||
                (uint32_t)c->member.length != ended[k].size)
                return false;
            c->member = {0, 0};
            k++;
            continue;
        }
        c->member.sum = gpu_crc_join(c->member.sum, g->parts[i].crc, g->parts[i].length);
        c->member.length += g->parts[i].length;
        i++;
    }
    return true;
}

/* Decodes all units of the chain. */
static enum gpu_inflate_result decode_chain(struct call *c)
{
    struct gpu_inflate *g = c->g;
    /* Members that end in a group: not more than there are units. */
    struct ended *ended = (struct ended *)malloc((c->chain + 1) * sizeof(*ended));
    enum gpu_inflate_result result = ended != NULL ? GPU_INFLATE_DONE : leave(c, "memory is short");
    uint32_t known = add_known(0, c->member.length);

    for (uint32_t i = 0; i < c->chain && result == GPU_INFLATE_DONE;) {
        struct group group = {0, 0, 0, known};
        uint64_t summed = 0;
        uint32_t members = 0, first = i;

        for (; i < c->chain; i++) {
            const gpu_unit &u = g->units[g->which[i]];

            if (i > first && (group.length + u.length > g->symbols_max ||
                              group.pieces + count_pieces(g, u) > PIECES_MAX))
                break;
            if (u.length > g->symbols_max)
                break;
            add_pieces(g, &group, g->which[i]);
            if (u.how != GPU_UNIT_BLOCK) {
                add_parts(c, &group, summed, group.length);
                summed = group.length;
                ended[members++] = {group.parts, u.crc, u.size};
                group.known = 0;
            }
        }
        add_parts(c, &group, summed, group.length);
        known = group.known;
        if (i == first || group.length > c->room - c->made)
            result = leave(c, i == first ? "a block makes too much output" : "it has no room");
        else if (!run_group(c, &group))
            result = GPU_INFLATE_FAILED;
        else if (!check_group(c, &group, ended, members))
            result = leave(c, "its output is wrong");
        c->made += group.length;
    }
    free(ended);
    return result;
}

static enum gpu_inflate_result do_batch(struct call *c)
{
    enum gpu_inflate_result result;
    const gpu_unit *last;

    if (!load_batch(c))
        return GPU_INFLATE_FAILED;
    result = find_candidates(c);
    if (result != GPU_INFLATE_DONE)
        return result;
    if (!count_all(c))
        return GPU_INFLATE_FAILED;
    if (!follow_chain(c))
        return leave(c, "it is damaged, or has odd blocks");
    if (!mend_map(c))
        return GPU_INFLATE_FAILED;
    result = decode_chain(c);
    last = &c->g->units[c->g->which[c->chain - 1]];
    c->has_ended = last->how == GPU_UNIT_LAST;
    c->position = 8 * c->batch_start + last->end;
    return result;
}

/* Whether the device's kernels can write to memory: it may belong to a context of the program's. */
static bool is_in_reach(const void *p)
{
    struct cudaPointerAttributes attributes;

    return cudaPointerGetAttributes(&attributes, p) == cudaSuccess &&
           attributes.devicePointer != NULL;
}

enum gpu_inflate_result gpu_inflate(struct gpu_inflate *g, const uint8_t *in, size_t in_len,
                                    uint8_t *out, size_t room, size_t *out_len,
                                    gpu_inflate_goes_on *goes_on, void *ctx,
                                    char error[GPU_ERROR_SIZE])
{
    struct call c = {g, in, in_len, out, room, 0, 0, {0, 0}, false, {}, 0, 0, 0, error};
    enum gpu_inflate_result result;

    *out_len = 0;
    g->times = {};
    g->lacks_memory = false;
    if (!is_good(g, gpu_use_device(g->device), error)) {
        (void)cudaGetLastError();
        return GPU_INFLATE_FAILED;
    }
    /* An error that another device has left would be taken for one of this device's kernels. */
    (void)cudaGetLastError();
    if (in_len == 0)
        result = leave(&c, "it is empty");
    else if (!is_in_reach(out))
        result = leave(&c, "its output is in another context");
    else
        result = begin_call(&c);
    while (result == GPU_INFLATE_DONE && !c.has_ended) {
        result = do_batch(&c);
        if (result != GPU_INFLATE_DONE || goes_on == NULL)
            continue;
        if (!goes_on(ctx, c.has_ended ? in_len : c.position / 8, c.made))
            result = GPU_INFLATE_STOPPED;
        else if (!is_good(g, gpu_use_device(g->device), error))
            result = GPU_INFLATE_FAILED;
    }
    if (result == GPU_INFLATE_DONE || result == GPU_INFLATE_STOPPED) {
        *out_len = (size_t)c.made;
        return result;
    }
    /* What is still queued would write to the caller's memory while the CPU does.  A failed call is
     * not to be found by the next one. */
    (void)cudaStreamSynchronize(g->stream);
    (void)cudaGetLastError();
    return g->lacks_memory ? GPU_INFLATE_LEFT : result;
}

struct gpu_inflate_times gpu_inflate_times(const struct gpu_inflate *g)
{
    return g->times;
}
