/*
 * tagging.cu - the tagging match finder on the GPU (lzss/tagging.h says what it finds)
 *
 * A warp works on a chunk, 32 positions at a time, one a lane.  The hash table lies in shared
 * memory; an entry is a position counted from the start of the 32 KiB before the chunk, so that 16
 * bits hold it.  First the history is entered into the table.  Then, group by group:
 *
 *   look up   every lane reads the entry for its position and enters the position instead.  Where
 *             lanes of the group share an entry, each one's candidate is the nearest of them below
 *             it, and the highest one's position stays in the table.
 *   compare   every lane that no match covers yet compares eight bytes at its candidate.
 *   walk      the greedy walk over the group: the first lane at or after the walk's position that
 *             has a match wins; a match of all eight bytes is extended, 128 bytes at a time, by the
 *             whole warp.  This goes through the group's two or three matches one after another,
 *             but its state is the same in all lanes, so that nothing diverges.
 *
 * A group that a match covers whole is only entered into the table.
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

static __global__ void __launch_bounds__(WARP) tag_chunks(gpu_view v)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - span.history);
    const uint32_t end = span.end - span.start + span.history;
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    uint32_t covered = 0, covered_tag = 0;

    clear_table(table, LZ_TAGGING_HASH_BITS, 0);
    for (uint32_t pos = lane; pos < span.history; pos += WARP)
        replace(table, lz_tagging_hash(load32(data, pos)), pos);

    for (uint32_t group = span.history; group < end; group += WARP) {
        uint32_t pos = group + lane;
        uint32_t low = load32(data, pos);
        uint32_t candidate = replace(table, lz_tagging_hash(low), pos);
        uint32_t tag = pos < covered ? covered_tag : 0;

        if (covered < group + WARP) {
            uint32_t distance = pos - candidate;
            uint32_t length = 0, matches;

            if (pos >= covered && pos + LZ_TAGGING_MIN_MATCH <= end && distance != 0 &&
                distance <= LZ_WINDOW_SIZE && load32(data, candidate) == low)
                length = min(4 + common_bytes(load32(data, pos + 4), load32(data, candidate + 4)),
                             end - pos);
            matches = __ballot_sync(ALL_LANES, length >= LZ_TAGGING_MIN_MATCH);
            while (matches != 0) {
                uint32_t first = (uint32_t)__ffs((int)matches) - 1;
                uint32_t start = group + first;
                uint32_t match_length = __shfl_sync(ALL_LANES, length, (int)first);

                covered_tag = __shfl_sync(ALL_LANES, distance, (int)first);
                if (match_length == 8)
                    match_length = extend(data, start, covered_tag, end);
                covered = start + match_length;
                if (pos >= start && pos < covered)
                    tag = covered_tag;
                matches = covered < group + WARP ? matches & (ALL_LANES << (covered - group)) : 0;
            }
        }
        if (pos < end)
            tags[pos - span.history] = (uint16_t)tag;
    }
}

size_t gpu_scratch_tagging(const struct lz_level *level)
{
    (void)level;
    return 0;
}

cudaError_t gpu_find_tagging(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    cudaError_t status;

    (void)level;
    tag_chunks<<<v.chunks, WARP, sizeof(uint16_t) << LZ_TAGGING_HASH_BITS, stream>>>(v);
    status = cudaGetLastError();
    return status == cudaSuccess ? gpu_tags_to_sequences(v, stream) : status;
}
