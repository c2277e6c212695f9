/*
 * links.cuh - hash chains on the GPU, the twin of lzss/links.h
 *
 * A block works on a chunk, a step of positions at a time (warp.cuh), as in tagging.cu.  For every
 * position, it finds the distance to the nearest position before it with the same hash.  It makes
 * the chunk's own links only: the links of its history belong to the chunk before it.
 *
 * A table has 2^LZ_CHAINS_HASH_BITS_FEW entries.  On an H100, a multiprocessor has room for three blocks with such
 * tables, but only for one with tables of 16 bits.  So, by four and seven bytes, one block enters the positions
 * with an even hash, and another those with an odd one.
 */
#ifndef GZLZSS_GPU_LINKS_CUH
#define GZLZSS_GPU_LINKS_CUH

#include "gpu/internal.cuh"
#include "gpu/warp.cuh"
#include "lzss/chains.h"

/* A link that leads nowhere: it is longer than the way to any position in reach.  In a table, it
 * marks an entry that was never written.  Taken for a position, that is ahead of all others, and so
 * makes a link that leads nowhere. */
#define LINKS_NONE 0xffffu

/* Bytes of shared memory that making links takes. */
#define LINKS_SHARED (sizeof(uint16_t) << LZ_CHAINS_HASH_BITS_FEW)

static_assert(LZ_CHAINS_HASH_BITS == LZ_CHAINS_HASH_BITS_FEW + 1, "halves");

/* A chunk as searches see it: positions are counted from the start of its history. */
struct gpu_chunk {
    const uint32_t *data; /* the first byte of the history, 4-byte aligned */
    uint32_t history;     /* bytes; the chunk starts here */
    uint32_t end;
};

static __device__ __forceinline__ gpu_chunk gpu_chunk_at(const gpu_view &v, uint32_t index)
{
    const gpu_span span = gpu_chunk_span(v, index);
    gpu_chunk c;

    c.data = (const uint32_t *)(v.input + span.start - span.history);
    c.history = span.history;
    c.end = span.end - span.start + span.history;
    return c;
}

template <unsigned BYTES>
static __device__ __forceinline__ uint32_t links_hash(const step_bytes<BYTES> &bytes, uint32_t pos,
                                                      uint32_t g)
{
    const uint32_t a = bytes.at(pos, g, 0);

    if constexpr (BYTES == 3)
        return lz_hash3(a);
    else if constexpr (BYTES == 4)
        return lz_hash4(a);
    else if constexpr (BYTES == 7)
        return lz_hash7(a, bytes.at(pos, g, 1));
    else
        return lz_hash12(a, bytes.at(pos, g, 1), bytes.at(pos, g, 2));
}

/* Makes the links of a chunk, by the first BYTES bytes, to positions at most `farthest` back; for
 * a block of TABLE_THREADS, with `table` in shared memory.  By four or seven bytes, those of positions with an
 * even hash (half 0) or an odd one (1). */
template <unsigned BYTES>
static __device__ void make_links(uint16_t *links, uint16_t *table, gpu_chunk c, uint32_t farthest,
                                  uint32_t half = 0)
{
    constexpr bool IN_HALVES = BYTES == 4 || BYTES == LZ_LONG;
    /* Whole steps, from the first position that can be reached. */
    const uint32_t reach = min(c.history, (farthest + STEP - 1) / STEP * STEP);
    uint32_t pos = c.history - reach + place_in_step();
    step_bytes<BYTES> bytes;

    bytes.load(c.data, pos);
    clear_table(table, LZ_CHAINS_HASH_BITS_FEW, LINKS_NONE);
    for (uint32_t step = c.history - reach; step < c.end; step += STEP, pos += STEP) {
        uint32_t entry[GROUPS], before[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            entry[g] = links_hash<BYTES>(bytes, pos, g);
            if (IN_HALVES)
                entry[g] = (entry[g] & 1) == half ? entry[g] >> 1 : NO_ENTRY;
        }
        /* The last time, this reads bytes behind the chunk (GPU_INPUT_PAD), and nothing uses them.
         */
        bytes.load(c.data, pos + STEP);
        replace(table, entry, pos, before);
        if (step < c.history)
            continue;
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t distance = pos + g * WARP - before[g];

            if (pos + g * WARP < c.end && entry[g] != NO_ENTRY)
                links[pos + g * WARP - c.history] =
                    (uint16_t)(distance - 1 < farthest ? distance : LINKS_NONE);
        }
    }
}

/* A chunk's links, for searches: its own, and those of the chunk before it, if it has history. */
struct gpu_links {
    const uint16_t *own;
    const uint16_t *before;
};

static __device__ __forceinline__ uint32_t link_at(const gpu_links &links, const gpu_chunk &c,
                                                   uint32_t pos)
{
    return pos >= c.history ? links.own[pos - c.history] : links.before[pos];
}

/* The same in one row, in shared memory. */
struct shared_links {
    const uint16_t *links;
};

static __device__ __forceinline__ uint32_t link_at(shared_links links, const gpu_chunk &,
                                                   uint32_t pos)
{
    return links.links[pos];
}

/* How many different values the chunk's first LZ_SAMPLE bytes have; for a whole block. */
static __device__ __forceinline__ uint32_t count_distinct(const gpu_view &v, uint32_t index)
{
    __shared__ uint32_t seen[8];
    const gpu_span span = gpu_chunk_span(v, index);
    uint32_t distinct = 0;

    if (threadIdx.x < 8)
        seen[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < min(span.end - span.start, (uint32_t)LZ_SAMPLE);
         i += blockDim.x) {
        uint32_t byte = v.input[span.start + i];

        atomicOr(&seen[byte / 32], 1u << (byte % 32));
    }
    __syncthreads();
    for (uint32_t i = 0; i < 8; i++)
        distinct += (uint32_t)__popc(seen[i]);
    return distinct;
}

#endif
