/*
 * position_lists.cu - the lists of positions of a parallel LZMA on the GPU (position_lists.c
 * defines the method)
 *
 * Three kernels:
 *
 * - make_lists: TABLE_WARPS warps for each packet, with a table in shared memory (warp.cuh). For
 *   each position, the kernel finds the position before it in the same entry of the table. So each
 *   list is a chain of positions.
 *
 * - search: one block for each packet, one thread for each position. The kernel searches at all
 *   positions, since it does not know which of them the walk will visit. The packet's bytes are in
 *   shared memory, since searches read them many times, at random places. If the device allows a
 *   block enough shared memory, the chains are in shared memory, too.
 *
 * - walk: selects matches, with one warp for each packet.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/greedy.cuh"
#include "papers/papers.h"
#include "papers/position_lists.h"

/* TABLE_BITS: the table has 2^TABLE_BITS entries. With more, searches pass over fewer positions
 * with other bytes, but fewer blocks fit on a multiprocessor. The matches are the same with any
 * number. SEARCH_THREADS: threads of a search block. */
#define TABLE_BITS 14
#define SEARCH_THREADS 1024

/* Whole words are loaded, so a load may read up to this many bytes after the packet. */
#define BEHIND 16

static_assert(POSITION_LISTS_PACKET_MIN % STEP == 0, "a packet is whole steps");
static_assert((sizeof(uint16_t) << TABLE_BITS) + TABLE_WARPS * MARKS <= 48 << 10 &&
                  LZ_CHUNK_SIZE + BEHIND <= 48 << 10,
              "more has to be asked for");
static_assert(BEHIND <= GPU_INPUT_PAD, "reads behind a batch");

/* The method's parameters. */
struct position_lists_numbers {
    uint32_t hash, list, threshold, packet;
};

/* A chunk's scratch memory. */
struct alignas(16) position_lists_scratch {
    uint16_t before[LZ_CHUNK_SIZE];
    uint16_t lengths[LZ_CHUNK_SIZE];
};

/* The packet of a block. */
struct position_lists_packet {
    const uint32_t *data;
    uint32_t chunk, begin; /* the number of the packet's chunk, and where the packet begins in the
                            * chunk */
    uint32_t size;         /* bytes; 0: this block has no packet */
};

static __device__ __forceinline__ position_lists_packet packet_at(const gpu_view &v, uint32_t size)
{
    const uint32_t packets = LZ_CHUNK_SIZE / size;
    const uint32_t chunk = blockIdx.x / packets, begin = blockIdx.x % packets * size;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t left = max(span.end - span.start, begin) - begin;

    return {(const uint32_t *)(v.input + span.start + begin), chunk, begin, min(left, size)};
}

/* Stores, for each position of a packet, the position before it in the same entry. At the last
 * positions, hashes include bytes after the packet; no search uses these hashes. */
static __global__ void __launch_bounds__(TABLE_THREADS)
    make_lists(gpu_view v, position_lists_numbers k)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const position_lists_packet p = packet_at(v, k.packet);
    uint16_t *before = ((struct position_lists_scratch *)v.scratch + p.chunk)->before + p.begin;
    uint32_t pos = place_in_step();
    step_bytes<4> bytes;

    if (p.size == 0)
        return;
    bytes.load(p.data, pos);
    clear_table(table, TABLE_BITS, POSITION_LISTS_NONE);
    for (uint32_t step = 0; step < p.size; step += STEP, pos += STEP) {
        uint32_t entry[GROUPS], found[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
            entry[g] = position_lists_entry(bytes.at(pos, g, 0), k.hash, TABLE_BITS);
        bytes.load(p.data, pos + STEP);
        replace(table, entry, pos, found);
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
            if (pos + g * WARP < p.size)
                before[pos + g * WARP] = (uint16_t)found[g];
    }
}

/* Returns how many of the first `most` bytes at `here` and `there` are equal. */
static __device__ __forceinline__ uint32_t same_bytes(shared_words data, uint32_t here,
                                                      uint32_t there, uint32_t most)
{
    for (uint32_t n = 0; n < most; n += 4) {
        const uint32_t same = common_bytes(load32(data, here + n), load32(data, there + n));

        if (same < 4)
            return min(n + same, most);
    }
    return most;
}

/* Finds each position's match. Stores its length, or 0, in the scratch memory, and its distance in
 * the tags. LINKS: the chains are in shared memory. */
template <bool LINKS>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search(gpu_view v, position_lists_numbers k)
{
    extern __shared__ uint4 shared[];
    const position_lists_packet p = packet_at(v, k.packet);
    const shared_words data = {(const uint32_t *)shared};
    const uint8_t *bytes = (const uint8_t *)shared;
    struct position_lists_scratch *s = (struct position_lists_scratch *)v.scratch + p.chunk;
    uint16_t *distances = v.tags + (size_t)p.chunk * LZ_CHUNK_SIZE + p.begin;
    uint16_t *lengths = s->lengths + p.begin;
    const uint16_t *before = s->before + p.begin;
    const uint32_t mask = position_lists_mask(k.hash);

    if (p.size == 0)
        return;
    for (uint32_t i = threadIdx.x; i < (p.size + BEHIND) / sizeof(uint4); i += SEARCH_THREADS)
        shared[i] = __ldg((const uint4 *)p.data + i);
    if (LINKS) {
        uint4 *row = shared + (k.packet + BEHIND) / sizeof(uint4);

        for (uint32_t i = threadIdx.x; i < (p.size + 7) / 8; i += SEARCH_THREADS)
            row[i] = __ldg((const uint4 *)before + i);
        before = (const uint16_t *)row;
    }
    __syncthreads();
    for (uint32_t pos = threadIdx.x; pos < p.size; pos += SEARCH_THREADS) {
        const uint32_t most = position_lists_most(p.size - pos, k.hash, k.threshold);
        uint32_t longest = k.threshold - 1, distance = 0;

        if (most > 0) {
            const uint32_t want = load32(data, pos);
            uint32_t left = k.list;

            for (uint32_t at = before[pos]; at != POSITION_LISTS_NONE; at = before[at]) {
                if (((load32(data, at) ^ want) & mask) != 0)
                    continue;
                if (bytes[pos + longest] == bytes[at + longest]) {
                    const uint32_t length = same_bytes(data, pos, at, most);

                    if (length > longest) {
                        longest = length;
                        distance = pos - at;
                    }
                }
                if (--left == 0 || longest == most)
                    break;
            }
        }
        lengths[pos] = (uint16_t)(distance > 0 ? longest : 0);
        distances[pos] = (uint16_t)distance;
    }
}

/* Selects matches, and replaces the distances in the tags by the final tags (greedy.cuh). */
static __global__ void __launch_bounds__(WARP) walk(gpu_view v, position_lists_numbers k)
{
    const position_lists_packet p = packet_at(v, k.packet);

    paper_walk_greedily(((const struct position_lists_scratch *)v.scratch + p.chunk)->lengths,
                        v.tags + (size_t)p.chunk * LZ_CHUNK_SIZE, p.begin, p.begin + p.size);
}

static position_lists_numbers numbers_of(const struct lz_level *level)
{
    return {level->param[POSITION_LISTS_HASH], level->param[POSITION_LISTS_LIST],
            level->param[POSITION_LISTS_THRESHOLD], level->param[POSITION_LISTS_BLOCK]};
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(struct position_lists_scratch);
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const position_lists_numbers k = numbers_of(level);
    const uint32_t packets = v.chunks * (LZ_CHUNK_SIZE / k.packet);
    const size_t data_size = k.packet + BEHIND;
    const size_t both_size = data_size + k.packet * sizeof(uint16_t);
    cudaError_t status;

    make_lists<<<packets, TABLE_THREADS, sizeof(uint16_t) << TABLE_BITS, stream>>>(v, k);
    status = cudaGetLastError();
    if (status != cudaSuccess)
        return status;
    if (v.shared_size < both_size) {
        search<false><<<packets, SEARCH_THREADS, data_size, stream>>>(v, k);
        return cudaGetLastError();
    }
    status = gpu_allow_shared(search<true>, v, both_size);
    if (status != cudaSuccess)
        return status;
    search<true><<<packets, SEARCH_THREADS, both_size, stream>>>(v, k);
    return cudaGetLastError();
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const position_lists_numbers k = numbers_of(level);

    walk<<<v.chunks *(LZ_CHUNK_SIZE / k.packet), WARP, 0, stream>>>(v, k);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)make_lists, (const void *)search<false>,
                                   (const void *)search<true>, (const void *)walk};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_position_lists = {scratch_size, find_matches, parse,
                                                     LZ_MIN_MATCH, load};
