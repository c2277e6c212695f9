/*
 * links.cuh - hash chains on the GPU, the twin of lzss/links.h
 *
 * A link is the distance from a position to the nearest earlier position with the same hash. A
 * block makes the links of one chunk, or of a few chunks in a row, a step of positions at a time
 * (warp.cuh). The block also enters the first chunk's history into its table. But the block writes
 * no links for the history, since these belong to the chunk before.
 *
 * A table has 2^LZ_CHAINS_HASH_BITS_FEW entries, 64 KiB. An H100 multiprocessor holds three blocks
 * with such tables, but only one with tables of 16 bits. Hashes of four to eight bytes have 16
 * bits, so two blocks share the positions of a chunk: one block enters the positions with an even
 * hash, the other block those with an odd hash.
 */
#ifndef GZLZSS_GPU_LINKS_CUH
#define GZLZSS_GPU_LINKS_CUH

#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "lzss/chains.h"

/* A link that leads nowhere: no position in reach is that far away. A table of positions has the
 * same number in entries that were never written. This number is above all other positions, so
 * make_links computes a distance out of range from it, and stores LINKS_NONE. */
#define LINKS_NONE 0xffffu

/* Bytes of dynamic shared memory that make_links needs. */
#define LINKS_SHARED (sizeof(uint16_t) << LZ_CHAINS_HASH_BITS_FEW)

static_assert(LZ_CHAINS_HASH_BITS == LZ_CHAINS_HASH_BITS_FEW + 1, "halves");

/* A chunk for searches. Positions are counted from the start of its history. */
struct gpu_chunk {
    const uint32_t *data; /* the first byte of the history; 4-byte aligned */
    uint32_t history;     /* bytes of history; the chunk starts at this position */
    uint32_t end;         /* position where the chunk ends */
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

/* The words of a step's positions that are loaded ahead. Those of long prefixes would take too many
 * registers; links_hash loads them when it needs them. */
template <unsigned BYTES> using prefix_bytes = step_bytes<(BYTES <= 12 ? BYTES : 1)>;

/* Returns the hash of the BYTES bytes at this thread's position in group g. pos: the thread's
 * position in its first group. */
template <unsigned BYTES>
static __device__ __forceinline__ uint32_t links_hash(const prefix_bytes<BYTES> &bytes,
                                                      const uint32_t *data, uint32_t pos,
                                                      uint32_t g)
{
    const uint32_t at = pos + g * WARP;

    if constexpr (BYTES == 3)
        return lz_hash3(bytes.at(pos, g, 0));
    else if constexpr (BYTES == 4)
        return lz_hash4(bytes.at(pos, g, 0));
    else if constexpr (BYTES == 5)
        return lz_hash5(bytes.at(pos, g, 0), bytes.at(pos, g, 1));
    else if constexpr (BYTES == 6)
        return lz_hash6(bytes.at(pos, g, 0), bytes.at(pos, g, 1));
    else if constexpr (BYTES == 7)
        return lz_hash7(bytes.at(pos, g, 0), bytes.at(pos, g, 1));
    else if constexpr (BYTES == 8)
        return lz_hash8(bytes.at(pos, g, 0), bytes.at(pos, g, 1));
    else if constexpr (BYTES == 12)
        return lz_hash12(bytes.at(pos, g, 0), bytes.at(pos, g, 1), bytes.at(pos, g, 2));
    else if constexpr (BYTES == 24)
        return lz_hash24(load64(data, at), load64(data, at + 8), load64(data, at + 16));
    else
        return lz_hash64(load64(data, at), load64(data, at + 16), load64(data, at + 40),
                         load64(data, at + 56));
}

/* If a block makes the links of several chunks in a row, a chunk's first position has the number
 * CHUNK_START in the table, whatever history the chunk has. So no position of the chunk is
 * LINKS_NONE. Positions before the chunk are below CHUNK_START; the one that would be -1 is
 * LINKS_NONE, and out of reach. */
#define CHUNK_START (LZ_WINDOW_SIZE - 1u)

static_assert(LZ_CHUNK_SIZE == 1 << 15 && LZ_WINDOW_SIZE == LZ_CHUNK_SIZE, "a chunk before");
static_assert(LZ_CHAINS_WINDOW < LZ_WINDOW_SIZE, "a position that no link reaches");
static_assert(CHUNK_START + LZ_CHUNK_SIZE <= LINKS_NONE, "positions in 16 bits");

/* Returns what becomes of two positions of a chunk's table in the next chunk's (move_table). The
 * number of a position falls by LZ_CHUNK_SIZE, its highest bit. Numbers without this bit become
 * LINKS_NONE, and so does LINKS_NONE itself, whose other bits no position has. */
static __device__ __forceinline__ uint32_t moved_pair(uint32_t pair)
{
    const uint32_t high = (uint32_t)LZ_CHUNK_SIZE * 0x00010001, low = pair & ~high;
    const uint32_t is_gone = (~pair | (low + 0x00010001)) & high;

    return low | (is_gone >> 15) * 0xffff;
}

/* Turns the table of a full chunk into that of the chunk after it: removes all positions that the
 * next chunk's links cannot reach. */
static __device__ inline void move_table(uint16_t *table)
{
    for (uint32_t i = threadIdx.x; i < LINKS_SHARED / sizeof(uint4); i += TABLE_THREADS) {
        uint4 words = ((uint4 *)table)[i];

        words.x = moved_pair(words.x);
        words.y = moved_pair(words.y);
        words.z = moved_pair(words.z);
        words.w = moved_pair(words.w);
        ((uint4 *)table)[i] = words;
    }
    __syncthreads();
}

/*
 * Links each position of a chunk to the nearest earlier position whose first BYTES bytes have the
 * same hash, at most `farthest` bytes back. With BYTES of 4 to 8, a call makes only half of the
 * links: half 0 is for positions with an even hash, half 1 for those with an odd hash. All
 * TABLE_THREADS threads of a block call this function; `table` is shared memory of LINKS_SHARED
 * bytes.
 *
 * With IN_RUN, a block may make the links of several chunks in a row, one call for each. With
 * goes_on, the table is that of the chunk before, as the last call left it. Otherwise, the table's
 * contents do not matter. (IN_RUN costs levels 2 to 9 about 2 %, so they do without it.)
 */
template <unsigned BYTES, bool IN_RUN = false>
static __device__ void make_links(uint16_t *links, uint16_t *table, gpu_chunk c, uint32_t farthest,
                                  uint32_t half = 0, bool goes_on = false)
{
    constexpr bool IN_HALVES = BYTES >= 4 && BYTES <= 8;
    /* Start at the first position that links can reach, rounded down to whole steps. */
    const uint32_t reach =
        IN_RUN && goes_on ? 0 : min(c.history, (farthest + STEP - 1) / STEP * STEP);
    uint32_t pos = c.history - reach + place_in_step();
    /* The difference between a position's number in the table and in the chunk. */
    const uint32_t shift = IN_RUN ? CHUNK_START - c.history : 0;
    prefix_bytes<BYTES> bytes;

    bytes.load(c.data, pos);
    if (IN_RUN && goes_on)
        move_table(table);
    else
        clear_table(table, LZ_CHAINS_HASH_BITS_FEW, LINKS_NONE);
    for (uint32_t step = c.history - reach; step < c.end; step += STEP, pos += STEP) {
        uint32_t entry[GROUPS], before[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            entry[g] = links_hash<BYTES>(bytes, c.data, pos, g);
            if (IN_HALVES)
                entry[g] = (entry[g] & 1) == half ? entry[g] >> 1 : NO_ENTRY;
        }
        /* In the last round, this reads bytes after the chunk (GPU_INPUT_PAD) that nothing uses. */
        bytes.load(c.data, pos + STEP);
        replace(table, entry, pos + shift, before);
        if (step < c.history)
            continue;
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t distance = pos + shift + g * WARP - before[g];

            if (pos + g * WARP < c.end && entry[g] != NO_ENTRY)
                links[pos + g * WARP - c.history] =
                    (uint16_t)(distance - 1 < farthest ? distance : LINKS_NONE);
        }
    }
}

/* The links that searches of a chunk follow: the chunk's own, and those of the chunk before it,
 * which are used only if the chunk has history. */
struct gpu_links {
    const uint16_t *own;
    const uint16_t *before;
};

static __device__ __forceinline__ uint32_t link_at(const gpu_links &links, const gpu_chunk &c,
                                                   uint32_t pos)
{
    return pos >= c.history ? links.own[pos - c.history] : links.before[pos];
}

/* The links of the history, then those of the chunk, as one array in shared memory. */
struct shared_links {
    const uint16_t *links;
};

static __device__ __forceinline__ uint32_t link_at(shared_links links, const gpu_chunk &,
                                                   uint32_t pos)
{
    return links.links[pos];
}

#endif
