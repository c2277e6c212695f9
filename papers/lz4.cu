/*
 * lz4.cu - LZ4 on the GPU (lz4.c defines the method)
 *
 * LZ4's search is sequential, since each lookup changes the table for the next one. So one warp
 * walks through each packet, with the table in shared memory, and many packets run side by side.
 * Within a packet, the warp's lanes work in parallel where they can:
 *
 * - Up to the next match, the positions that the walk visits are known in advance. The warp looks
 *   up 32 of them at once. If a lower lane has the same hash, a lane takes that lane's position
 *   instead of the one in the table. The first lane with a match wins, and only the positions of
 *   this lane and of lower lanes are entered. So the table is the same as if the positions had been
 *   looked up one by one.
 *
 * - The warp extends a match 128 bytes at a time forwards, and 32 bytes at a time backwards.
 *
 * - The lanes share the writing of a match's tags.
 *
 * After a match, the position two bytes before its end must be entered. Lane 0 of the next 32
 * positions does that, and looks up nothing. So entering this position takes no extra wait for
 * memory.
 *
 * With threads=1, another kernel has one thread for each segment, as the paper (16.1). Each thread
 * does what the CPU does (lz4.h), with its table in global memory. With enter=all, the kernels
 * are those of the lzss method (lzss.cu).
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/lz4.h"
#include "papers/lzss.cuh"
#include "papers/papers.h"
#include "papers/starts.cuh"

static_assert(sizeof(uint16_t) * LZ4_TABLE_MAX <= 48 << 10, "more has to be asked for");
static_assert(LZ4_MIN_MATCH + 4 * WARP + 2 * sizeof(uint32_t) <= GPU_INPUT_PAD,
              "reads behind a batch");

/* The method's parameters. The type's name must differ from those in all other files. nvcc turns
 * kernels into C++ templates, and if two templates had arguments with the same type names, they
 * would be taken for one template. */
struct lz4_numbers {
    uint32_t bits, acceleration, skip, packet, window;
    bool has_history;
};

/* A packet, and the walk's table. Positions are counted from `data`. */
struct lz4_walk {
    const uint32_t *data;
    uint16_t *table;
    uint32_t bits;
    /* `first` is the first position that a match may repeat. The packet is [begin, end). */
    uint32_t first, begin, end;
};

/* Returns a mask of the lanes below this one. */
static __device__ __forceinline__ uint32_t lanes_below(void)
{
    return (1u << threadIdx.x) - 1;
}

/* Enters the position of each lane that has `has_one` set. If several lanes share an entry, the
 * position of the highest lane stays. same: the lanes that share this lane's entry, including
 * itself. */
static __device__ __forceinline__ void enter(const lz4_walk &k, bool has_one, uint32_t same,
                                             uint32_t entry, uint32_t pos)
{
    if (has_one && same >> threadIdx.x == 1)
        k.table[entry] = (uint16_t)pos;
    __syncwarp();
}

/* Clears the table, then enters the positions before the packet. */
static __device__ __forceinline__ void fill_table(const lz4_walk &k)
{
    const uint32_t both = k.first | k.first << 16;

    for (uint32_t i = threadIdx.x; i < (sizeof(uint16_t) << k.bits) / sizeof(uint4); i += WARP)
        ((uint4 *)k.table)[i] = make_uint4(both, both, both, both);
    __syncwarp();
    for (uint32_t from = k.first; from + LZ4_MIN_MATCH <= k.begin; from += LZ4_STRIDE * WARP) {
        const uint32_t pos = from + LZ4_STRIDE * threadIdx.x;
        const bool is_before = pos + LZ4_MIN_MATCH <= k.begin;
        const uint32_t entry = is_before ? lz4_hash(load32(k.data, pos), k.bits) : 1u << k.bits;

        enter(k, is_before, __match_any_sync(ALL_LANES, entry), entry, pos);
    }
}

/* Returns how many bytes from `pos` on equal the bytes `distance` before them, up to `limit`. */
static __device__ __forceinline__ uint32_t same_behind(const lz4_walk &k, uint32_t pos,
                                                       uint32_t distance, uint32_t limit)
{
    for (uint32_t n = 0;; n += 4 * WARP) {
        const uint32_t mine = n + 4 * threadIdx.x;
        uint32_t same = 0, ends;

        if (mine < limit)
            same =
                min(common_bytes(load32(k.data, pos + mine), load32(k.data, pos + mine - distance)),
                    limit - mine);
        ends = __ballot_sync(ALL_LANES, same < 4);
        if (ends != 0) {
            const int first = __ffs((int)ends) - 1;

            return n + 4 * (uint32_t)first + __shfl_sync(ALL_LANES, same, first);
        }
    }
}

/* Returns how many bytes just before `pos` equal the bytes `distance` before them, up to
 * `limit`. */
static __device__ __forceinline__ uint32_t same_before(const lz4_walk &k, uint32_t pos,
                                                       uint32_t distance, uint32_t limit)
{
    const uint8_t *bytes = (const uint8_t *)k.data;

    for (uint32_t n = 0;; n += WARP) {
        const uint32_t mine = pos - 1 - n - threadIdx.x;
        const bool is_same =
            n + threadIdx.x < limit && __ldg(bytes + mine) == __ldg(bytes + mine - distance);
        const uint32_t ends = __ballot_sync(ALL_LANES, !is_same);

        if (ends != 0)
            return n + (uint32_t)__ffs((int)ends) - 1;
    }
}

/* Walks through the packet. tags[0] is the tag of position 0. The packet's tags must be 0 before
 * the call. */
static __device__ __forceinline__ void walk_along(const lz4_walk &k, const lz4_numbers &by,
                                                  uint16_t *tags)
{
    const uint32_t lane = threadIdx.x;
    uint32_t behind = k.begin; /* end of the last match */
    /* Misses since the last match, before lane 0's position. -1: a match was just found, and lane 0
     * only enters the position two bytes before the match's end. */
    int32_t misses = 0;

    for (;;) {
        const int32_t mine = misses + (int32_t)lane;
        const uint32_t pos =
            mine < 0 ? behind - 2 : behind + lz4_way((uint32_t)mine, by.acceleration, by.skip);
        const bool is_entered = pos + LZ4_MIN_MATCH <= k.end;
        const uint32_t bytes = is_entered ? load32(k.data, pos) : 0;
        const uint32_t entry = is_entered ? lz4_hash(bytes, k.bits) : 1u << k.bits;
        const uint32_t same = __match_any_sync(ALL_LANES, entry);
        const uint32_t below = same & lanes_below();
        const uint32_t last = __shfl_sync(ALL_LANES, pos, below != 0 ? 31 - __clz((int)below) : 0);
        const uint32_t there = !is_entered ? pos : below != 0 ? last : k.table[entry];
        const bool is_match = is_entered && mine >= 0 && lz4_reaches(pos, there, by.window) &&
                              load32(k.data, there) == bytes;
        const uint32_t matches = __ballot_sync(ALL_LANES, is_match);
        const uint32_t winner = matches != 0 ? (uint32_t)__ffs((int)matches) - 1 : WARP - 1;

        __syncwarp(); /* all lanes have read the table */
        enter(k, is_entered, same & ((2u << winner) - 1), entry, pos);
        if (matches != 0) {
            const uint32_t at = __shfl_sync(ALL_LANES, pos, (int)winner);
            const uint32_t distance = at - __shfl_sync(ALL_LANES, there, (int)winner);
            const uint32_t before =
                same_before(k, at, distance, min(at - behind, at - distance - k.first));
            const uint32_t end =
                at + LZ4_MIN_MATCH +
                same_behind(k, at + LZ4_MIN_MATCH, distance, k.end - at - LZ4_MIN_MATCH);

            for (uint32_t i = at - before + lane; i < end; i += WARP)
                tags[i] = (uint16_t)distance;
            behind = end;
            misses = -1;
        } else {
            misses += WARP;
        }
        if (behind + lz4_way((uint32_t)max(misses, 0), by.acceleration, by.skip) + LZ4_MIN_MATCH >
            k.end)
            break;
    }
}

static __global__ void __launch_bounds__(WARP) compress(gpu_view v, lz4_numbers by)
{
    extern __shared__ uint4 shared[];
    const uint32_t packets = LZ_CHUNK_SIZE / by.packet;
    const uint32_t chunk = blockIdx.x / packets;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t history = by.has_history ? span.history : 0;
    const uint32_t end = history + span.end - span.start;
    lz4_walk k;

    k.data = (const uint32_t *)(v.input + span.start - history);
    k.table = (uint16_t *)shared;
    k.bits = by.bits;
    k.begin = history + blockIdx.x % packets * by.packet;
    k.first = history > 0 ? 0 : k.begin;
    k.end = min(k.begin + by.packet, end);
    if (k.begin + LZ4_MIN_MATCH > end)
        return;
    fill_table(k);
    walk_along(k, by, v.tags + (size_t)chunk * LZ_CHUNK_SIZE - history);
}

/* Threads of a block with threads=1. The paper does not give this number. */
#define THREADS 32

/* Matches chunk c by one thread. The chunk's tags must be 0 before the call. */
static __device__ void match_chunk(const gpu_view &v, uint32_t c, const lz4_numbers &by,
                                   lz4_steps *w)
{
    const gpu_span span = gpu_chunk_span(v, c);
    const uint32_t history = by.has_history ? span.history : 0;
    const uint32_t end = history + span.end - span.start;
    uint16_t *const tags = v.tags + (size_t)c * LZ_CHUNK_SIZE - history;
    lz4_match match;

    w->base = v.input + span.start - history;
    for (uint32_t begin = history; begin < end; begin += by.packet) {
        w->first = history > 0 ? 0 : begin;
        lz4_begin(w, begin, min(begin + by.packet, end));
        while (lz4_next(w, &match))
            for (uint32_t i = 0; i < match.length; i++)
                tags[match.at + i] = (uint16_t)match.distance;
    }
}

/* Matches a segment by each thread. */
static __global__ void __launch_bounds__(THREADS) match_alone(gpu_view v, lz4_numbers by)
{
    const uint32_t index = blockIdx.x * THREADS + threadIdx.x;
    uint32_t c = index < v.chunks ? paper_starts(v)[index] : PAPER_NO_START;
    lz4_steps w = {};

    if (c == PAPER_NO_START)
        return;
    w.table = (uint16_t *)paper_after_starts(v) + ((size_t)index << by.bits);
    w.bits = by.bits;
    w.acceleration = by.acceleration;
    w.skip = by.skip;
    w.window = by.window;
    do
        match_chunk(v, c++, by, &w);
    while (c < v.chunks && gpu_chunk_span(v, c).history > 0);
}

static bool is_alone(const struct lz_level *level)
{
    return level->param[LZ4_THREADS] == PAPER_AS_PAPER;
}

static bool enters_all(const struct lz_level *level)
{
    return level->param[LZ4_ENTER] == LZ4_ALL;
}

static size_t scratch_size(const struct lz_level *level)
{
    if (enters_all(level))
        return is_alone(level) ? lzss_alone_scratch() : lzss_scratch_size();
    return is_alone(level) ? PAPER_STARTS_SIZE + level->param[LZ4_TABLE] * sizeof(uint16_t) : 0;
}

/* Queues the search and the walk of enter=all. */
static cudaError_t queue_all(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const lzss_numbers k = lz4_numbers_of(level);
    cudaError_t status;

    if (is_alone(level))
        return lzss_queue_alone(v, k, stream);
    status = lzss_queue_search(v, k, stream);
    return status == cudaSuccess ? lzss_queue_walk(v, stream) : status;
}

/* Queues the walk of enter=visited. */
static cudaError_t queue_visited(const gpu_view &v, const struct lz_level *level,
                                 cudaStream_t stream)
{
    const lz4_numbers by = {both_log2(level->param[LZ4_TABLE]),
                            lz4_acceleration(level),
                            level->param[LZ4_SKIP],
                            lz4_packet(level->param[LZ4_CHUNK]),
                            level->param[LZ4_WINDOW],
                            level->param[LZ4_CHUNK] == 0};
    const uint32_t blocks = v.chunks * (LZ_CHUNK_SIZE / by.packet);
    const cudaError_t status =
        cudaMemsetAsync(v.tags, 0, v.chunks * sizeof(uint16_t) * LZ_CHUNK_SIZE, stream);

    if (status != cudaSuccess)
        return status;
    if (is_alone(level)) {
        paper_list_starts<<<1, WARP, 0, stream>>>(v, PAPER_SEGMENTS);
        match_alone<<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v, by);
    } else {
        compress<<<blocks, WARP, sizeof(uint16_t) << by.bits, stream>>>(v, by);
    }
    return cudaGetLastError();
}

/* Everything is queued here, and not in `find`: walks that take long are faster so (device.cu). */
static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    return enters_all(level) ? queue_all(v, level, stream) : queue_visited(v, level, stream);
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)paper_list_starts, (const void *)match_alone,
                                   (const void *)compress};
    const cudaError_t status = gpu_load(kernels);

    return status == cudaSuccess ? lzss_load() : status;
}

const struct gpu_finder gpu_finder_lz4 = {scratch_size, NULL, parse, GPU_BYTES_A_SEQUENCE, load};
