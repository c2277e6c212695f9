/*
 * tagging.cu - the tagging match finder on the GPU (lzss/tagging.h defines what it finds)
 *
 * Each position has one candidate, so looking up candidates does not depend on the walk. Two
 * kernels run one after another, each with all chunks of a batch side by side, and a step of
 * positions at a time (warp.cuh). The kernels are separate because the first needs much shared
 * memory, so that few chunks run at a time, while the second needs none, so that most chunks run at
 * a time.
 *
 * - look_up: TABLE_WARPS warps for each chunk. The hash table is in shared memory. An entry is a
 *   position counted from the start of the 32 KiB before the chunk, so 16 bits hold it. The block
 *   enters all positions, first of the history, then of the chunk. For the chunk's positions, it
 *   also stores the distance to the candidate, which is the position that the entry held before
 *   (replace in warp.cuh). How many bytes are hashed depends on the first bytes of the segment.
 *
 * - walk: one warp for each chunk. Each lane compares the eight bytes at its position, and the byte
 *   before, with its candidate's, unless a match from an earlier step covers its position. Then
 *   comes the greedy walk, group by group. The walk looks at the lanes in order, from its own
 *   position on, and takes the match of the first lane that has a match. If all eight bytes are
 *   equal, the whole warp extends the match, 128 bytes at a time. A group has two or three matches,
 *   which are taken one after another; but all lanes have the same state, so nothing diverges.
 *
 * Both kernels load the next step's data before they work on the current step, and so wait for
 * memory once for each step, not for each group.
 *
 * An entry that was never written is 0. Position 0 is no candidate: it is the segment's first byte,
 * or too far away.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "lzss/tagging.h"

/* Extends a match of 8 bytes at pos, as far as bytes are equal, up to `end`. Returns its length. */
static __device__ __forceinline__ uint32_t extend(const uint32_t *data, uint32_t pos,
                                                  uint32_t distance, uint32_t end)
{
    uint32_t lane = threadIdx.x % WARP;

    for (uint32_t at = pos + 8;; at += 4 * WARP) {
        uint32_t mine = at + 4 * lane;
        uint32_t agree = 0, short_lanes;

        if (mine < end)
            agree =
                min(common_bytes(load32(data, mine), load32(data, mine - distance)), end - mine);
        short_lanes = __ballot_sync(ALL_LANES, agree < 4);
        if (short_lanes != 0) {
            uint32_t first = (uint32_t)__ffs((int)short_lanes) - 1;

            return at + 4 * first + __shfl_sync(ALL_LANES, agree, (int)first) - pos;
        }
    }
}

/* A result of compare(): how many bytes agree, in its low bits, and a bit that says whether the
 * bytes before them agree, too. */
#define LENGTH 15u
#define BEFORE 16u

/* Compares up to eight bytes, and the bytes before them. low and high are the bytes at position
 * `at`; `there` is the candidate's position, 1 or more. */
static __device__ __forceinline__ uint32_t compare(const uint32_t *data, uint32_t at,
                                                   uint32_t there, uint32_t low, uint32_t high,
                                                   uint32_t end)
{
    const uint32_t i = (there - 1) / 4, shift = (there - 1) * 8;
    const uint32_t a = word_at(data, i), b = word_at(data, i + 1), c = word_at(data, i + 2);
    /* bytes -1 to 2, 3 to 6, and from 7 on */
    const uint32_t x = __funnelshift_r(a, b, shift), y = __funnelshift_r(b, c, shift),
                   z = __funnelshift_r(c, 0, shift);
    const uint32_t same = common_bytes(low, __funnelshift_r(x, y, 8));
    const uint32_t length = same < 4 ? same : 4 + common_bytes(high, __funnelshift_r(y, z, 8));
    const uint32_t before = ((const uint8_t *)data)[at - 1];

    return min(length, end - at) | (before == (x & 255) ? BEFORE : 0);
}

/* Stores the distance to each position's candidate in the tags, and lz_tagging_least in the scratch
 * memory. */
static __global__ void __launch_bounds__(TABLE_THREADS) look_up(gpu_view v)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const uint32_t place = place_in_step();
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - span.history);
    const uint32_t end = span.end - span.start + span.history;
    uint16_t *distances = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    const uint32_t least = lz_tagging_least(count_distinct(v, blockIdx.x - span.before));
    const uint32_t fifth = least > 4 ? 0xff : 0;
    step_bytes<5> bytes;

    if (threadIdx.x == 0)
        ((uint32_t *)v.scratch)[blockIdx.x] = least;
    clear_table(table, LZ_TAGGING_HASH_BITS, 0);
    bytes.load(data, place);
    for (uint32_t step = 0; step < end; step += STEP) {
        const uint32_t pos = step + place;
        uint32_t entry[GROUPS], candidate[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
            entry[g] = lz_tagging_hash(
                lz_tagging_product(bytes.at(pos, g, 0), bytes.at(pos, g, 1) & fifth));
        /* In the last round, this reads bytes after the chunk (GPU_INPUT_PAD) that nothing uses. */
        bytes.load(data, pos + STEP);
        replace(table, entry, pos, candidate);
        if (step < span.history)
            continue;
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t at = pos + g * WARP;

            if (at < end)
                distances[at - span.history] = (uint16_t)(at - candidate[g]);
        }
    }
}

/* Replaces the distances by tags. */
static __global__ void __launch_bounds__(WARP) walk(gpu_view v)
{
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - span.history);
    const uint32_t end = span.end - span.start + span.history;
    const uint32_t least = ((const uint32_t *)v.scratch)[blockIdx.x];
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    uint32_t covered = span.history, covered_tag = 0;
    uint32_t next[GROUPS];
    step_bytes<8> bytes;
    const auto load_step = [&](uint32_t pos) {
        bytes.load(data, pos);
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
            next[g] = pos + g * WARP < end ? tags[pos + g * WARP - span.history] : 0;
    };

    load_step(span.history + lane);
    for (uint32_t step = span.history; step < end; step += WARP_STEP) {
        const uint32_t pos = step + lane;
        uint32_t distance[GROUPS], length[GROUPS];
        uint32_t low[GROUPS], high[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            low[g] = bytes.at(pos, g, 0);
            high[g] = bytes.at(pos, g, 1);
            distance[g] = next[g];
        }
        load_step(pos + WARP_STEP);
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t at = pos + g * WARP, there = at - distance[g];

            length[g] = 0;
            if (at >= covered && at + least <= end && distance[g] - 1 < LZ_TAGGING_WINDOW &&
                there > 0)
                length[g] = compare(data, at, there, low[g], high[g], end);
        }
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t group = step + g * WARP, at = group + lane;
            uint32_t tag = at < covered ? covered_tag : 0;

            if (covered < group + WARP) {
                uint32_t matches =
                    __ballot_sync(ALL_LANES, (length[g] & LENGTH) >= least && at >= covered);

                while (matches != 0) {
                    uint32_t first = (uint32_t)__ffs((int)matches) - 1;
                    uint32_t start = group + first;
                    const uint32_t compared = __shfl_sync(ALL_LANES, length[g], (int)first);
                    const uint32_t more = start > covered && compared >= BEFORE;
                    uint32_t match_length = compared & LENGTH;

                    covered_tag = __shfl_sync(ALL_LANES, distance[g], (int)first);
                    if (match_length == 8)
                        match_length = extend(data, start, covered_tag, end);
                    covered = start + match_length;
                    if (at >= start - more && at < covered)
                        tag = covered_tag;
                    /* The byte before belongs to the group before, whose tags are written. */
                    if (more && first == 0) {
                        __syncwarp();
                        if (lane == 0)
                            tags[start - 1 - span.history] = (uint16_t)covered_tag;
                    }
                    matches =
                        covered < group + WARP ? matches & (ALL_LANES << (covered - group)) : 0;
                }
            }
            if (at < end)
                tags[at - span.history] = (uint16_t)tag;
        }
    }
}

/* Bytes for each chunk: the lz_tagging_least that look_up stores for walk. */
static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(uint32_t);
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    (void)level;
    look_up<<<v.chunks, TABLE_THREADS, sizeof(uint16_t) << LZ_TAGGING_HASH_BITS, stream>>>(v);
    return cudaGetLastError();
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    (void)level;
    walk<<<v.chunks, WARP, 0, stream>>>(v);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)look_up, (const void *)walk};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_tagging = {scratch_size, find_matches, parse,
                                              GPU_BYTES_A_SEQUENCE, load};
