/*
 * tagging.cu - the tagging match finder on the GPU (lzss/tagging.h says what it finds)
 *
 * Two kernels, each with the chunks of a batch side by side, and a step of positions at a time:
 *
 * - look_up: a few warps a chunk.  The hash table lies in shared memory, so that few chunks are
 *   worked on at a time; an entry is a position counted from the start of the 32 KiB before the
 *   chunk, so that 16 bits hold it.  Of the history, every position is only entered into the table.
 *   Then, every lane reads the entry for its position and enters the position instead (replace in
 *   warp.cuh): its candidate is the position that was last under that entry.
 * - walk: a warp a chunk, so that most chunks are worked on at a time.  Every lane compares eight
 *   bytes at its candidate, unless a match from an earlier step covers its position.  Then the
 *   greedy walk, group by group: the first lane at or after the walk's position that has a match
 *   wins; a match of all eight bytes is extended, 128 bytes at a time, by the whole warp.  This
 *   goes through a group's two or three matches one after another, but its state is the same in all
 *   lanes, so that nothing diverges.
 *
 * Both wait for memory for a whole step at a time, not for every group.
 *
 * An entry that was never written is 0, which names a real position; the comparison sorts it out,
 * as tagging.c explains.
 */
#include "gpu/internal.cuh"
#include "gpu/warp.cuh"
#include "lzss/tagging.h"

/* Extends a match of 8 bytes at `pos`, `distance` back, as far as bytes agree up to `end`. */
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

/* Leaves the distance to every position's candidate in its place in the tags. */
static __global__ void __launch_bounds__(TABLE_THREADS) look_up(gpu_view v)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const uint32_t place = place_in_step();
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - span.history);
    const uint32_t end = span.end - span.start + span.history;
    uint16_t *distances = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    step_bytes<4> bytes;

    clear_table(table, LZ_TAGGING_HASH_BITS, 0);
    bytes.load(data, place);
    for (uint32_t step = 0; step < end; step += STEP) {
        const uint32_t pos = step + place;
        uint32_t entry[GROUPS], candidate[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
            entry[g] = lz_tagging_hash(bytes.at(pos, g, 0));
        /* The last time, this reads bytes behind the chunk (GPU_INPUT_PAD), and nothing uses them.
         */
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

/* Puts tags in the place of the distances. */
static __global__ void __launch_bounds__(WARP) walk(gpu_view v)
{
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - span.history);
    const uint32_t end = span.end - span.start + span.history;
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    uint32_t covered = 0, covered_tag = 0;
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
            if (at >= covered && at + LZ_TAGGING_MIN_MATCH <= end &&
                distance[g] - 1 < LZ_WINDOW_SIZE) {
                const uint32_t a = word_at(data, there / 4), b = word_at(data, there / 4 + 1),
                               c = word_at(data, there / 4 + 2);

                if (__funnelshift_r(a, b, there * 8) == low[g])
                    length[g] =
                        min(4 + common_bytes(high[g], __funnelshift_r(b, c, there * 8)), end - at);
            }
        }
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t group = step + g * WARP, at = group + lane;
            uint32_t tag = at < covered ? covered_tag : 0;

            if (covered < group + WARP) {
                uint32_t matches =
                    __ballot_sync(ALL_LANES, length[g] >= LZ_TAGGING_MIN_MATCH && at >= covered);

                while (matches != 0) {
                    uint32_t first = (uint32_t)__ffs((int)matches) - 1;
                    uint32_t start = group + first;
                    uint32_t match_length = __shfl_sync(ALL_LANES, length[g], (int)first);

                    covered_tag = __shfl_sync(ALL_LANES, distance[g], (int)first);
                    if (match_length == 8)
                        match_length = extend(data, start, covered_tag, end);
                    covered = start + match_length;
                    if (at >= start && at < covered)
                        tag = covered_tag;
                    matches =
                        covered < group + WARP ? matches & (ALL_LANES << (covered - group)) : 0;
                }
            }
            if (at < end)
                tags[at - span.history] = (uint16_t)tag;
        }
    }
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return 0;
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

const struct gpu_finder gpu_finder_tagging = {scratch_size, find_matches, parse,
                                              GPU_BYTES_A_SEQUENCE};
