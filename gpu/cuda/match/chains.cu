/*
 * chains.cu - the hash chain match finder on the GPU (lzss/chains.h defines what it finds)
 *
 * On a CPU, the result of a search decides where the next search starts. Here all positions are
 * searched at once, and the parse comes after. That takes more searches than on a CPU, but the
 * searches do not depend on each other. The parse may look ahead, with a smaller depth. So each
 * search keeps three matches: the best ones within its whole depth, half of it, and a quarter. Four
 * kernels run one after another, each with all chunks of a batch side by side:
 *
 * - link: makes the chains (links.cuh).
 *
 * - search: one block for each chunk follows the chains of all positions (search.cuh). This is the
 *   most expensive kernel.
 *
 * - parse: one warp for each chunk. All lanes take the same walk over the matches, which come into
 *   shared memory tile by tile. The lanes share the work of writing a match's tags.
 *
 * - compact: see compact.cu. A run of one tag becomes one match, so adjacent matches at one
 *   distance are joined, as chains.h asks.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/match/links.cuh"
#include "gpu/cuda/match/search.cuh"
#include "gpu/cuda/warp.cuh"
#include "lzss/chains.h"

/* TILE: positions whose matches the parse has in shared memory at a time. Larger tiles need fewer
 * barriers, and more shared memory: 12 bytes for each position. AHEAD: the most positions that lazy
 * matching looks ahead (chains.h). */
#define TILE 512
#define AHEAD 2

/* The best matches of one search within the whole, half, and a quarter of its depth. Each is packed
 * (lz_pack); 0: none. */
struct alignas(16) found {
    uint32_t whole, half, quarter;
    uint32_t unused; /* pads the struct to 16 bytes, which one instruction stores */
};

/* A chunk's scratch memory. The arrays are 16-byte aligned for copy_to_shared. */
struct alignas(16) chains_scratch {
    found matches[LZ_CHUNK_SIZE];
    uint16_t links[LZ_CHUNK_SIZE];
    uint16_t long_links[LZ_CHUNK_SIZE];
    uint16_t links3[LZ_CHUNK_SIZE];
    uint32_t distinct; /* number of different bytes in the chunk's first LZ_SAMPLE */
};

/* Blocks of threads that make a chunk's links. Blocks 0 and 1 each make half of the links by four
 * and seven bytes. Block 2 makes the links by three bytes; it is left out at levels without matches
 * of three. */
#define LINK_BLOCKS 3

static __global__ void __launch_bounds__(TABLE_THREADS)
    link_chunks(gpu_view v, bool by_long, uint32_t max_distance3)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    struct chains_scratch *s = (struct chains_scratch *)v.scratch + blockIdx.x;
    const uint32_t distinct = count_distinct(v, blockIdx.x);

    if (blockIdx.y < 2) {
        if (threadIdx.x == 0 && blockIdx.y == 0)
            s->distinct = distinct;
        make_links<4>(s->links, table, c, LZ_CHAINS_WINDOW, blockIdx.y);
        if (by_long)
            make_links<LZ_LONG>(s->long_links, table, c, LZ_CHAINS_WINDOW, blockIdx.y);
    } else if (lz_wants_length3(distinct, max_distance3)) {
        make_links<3>(s->links3, table, c, max_distance3);
    }
}

/* The level's parameters for searches. */
struct search_limits {
    uint32_t depth, long_depth, nice, max_distance3;
};

/* One lane's search; compare `follow` in lzss/chains.c. */
struct scored_search : chain_search {
    int32_t score; /* the best match's score */
    found best;
};

/* Starts search s at pos, for a match of more than `length` and at most `longest` bytes. */
template <typename Data>
static __device__ __forceinline__ void begin_search(scored_search &s, Data data, uint32_t pos,
                                                    uint32_t length, uint32_t longest,
                                                    uint32_t nice)
{
    begin_chain(s, data, pos, 0, length, longest, nice);
    s.score = LZ_SCORE_MIN;
    s.best = {0, 0, 0, 0};
}

/* Rates a match. Returns whether it is the best one so far. */
static __device__ __forceinline__ bool rate(scored_search &s, uint32_t length, uint32_t distance,
                                            uint32_t depth)
{
    const int32_t score = lz_score(length, distance);

    if (score <= s.score)
        return false;
    s.score = score;
    s.best.whole = lz_pack(length, distance);
    if (s.looked_at < depth / 2)
        s.best.half = s.best.whole;
    if (s.looked_at < depth / 4)
        s.best.quarter = s.best.whole;
    return true;
}

/* Returns the three matches of a. If a has no match of some depth, returns b's match of that
 * depth. */
static __device__ __forceinline__ found first_of(const found &a, const found &b)
{
    found f = {0, 0, 0, 0};

    f.whole = a.whole != 0 ? a.whole : b.whole;
    f.half = a.half != 0 ? a.half : b.half;
    f.quarter = a.quarter != 0 ? a.quarter : b.quarter;
    return f;
}

/* If `link` leads to a match of three bytes, adds this match for each depth at which the search
 * found no match: its whole depth, half of it, or a quarter. */
template <typename Data>
static __device__ __forceinline__ void add_match3(scored_search &s, Data data, uint32_t link)
{
    if (link != LINKS_NONE &&
        ((load32(data, s.pos - link) ^ load32(data, s.pos)) & 0xffffff) == 0) {
        const uint32_t match = lz_pack(LZ_MIN_MATCH, link);

        s.best = first_of(s.best, {match, match, match, 0});
    }
}

/* Searches at all positions of a chunk; one block calls this function. s: the chunk's scratch
 * memory, which is the array element after the scratch memory of the chunk before. next: two
 * counters in shared memory, for search_all. DATA and LINKS say what is in shared memory. */
template <bool DATA, bool LINKS>
static __device__ __forceinline__ void search_chunk(const gpu_chunk &c, struct chains_scratch *s,
                                                    const search_limits &limits, uint32_t *next)
{
    const bool three = lz_wants_length3(s->distinct, limits.max_distance3);
    /* Without history, no search reads the links of the chunk before, so any pointer will do. */
    const struct chains_scratch *before = c.history > 0 ? s - 1 : s;
    const auto data = data_for_search<DATA>(c);

    if (threadIdx.x < 2)
        next[threadIdx.x] = c.history;
    if (limits.long_depth > 0) {
        const auto links = links_for_search<LINKS>(c, s->long_links, before->long_links);

        __syncthreads();
        search_all<scored_search>(
            c, data, links, limits.long_depth, all_positions(&next[0], c.end),
            [&](scored_search &l, uint32_t pos, uint32_t) {
                begin_search(l, data, pos, LZ_LONG - 1, longest_at(c, pos), limits.nice);
            },
            [&](scored_search &l, uint32_t length, uint32_t distance) {
                return rate(l, length, distance, limits.long_depth);
            },
            [&](const scored_search &l) { s->matches[l.pos - c.history] = l.best; });
        __syncthreads();
    }
    const auto links = links_for_search<LINKS>(c, s->links, before->links);

    __syncthreads();
    search_all<scored_search>(
        c, data, links, limits.depth, all_positions(&next[1], c.end),
        [&](scored_search &l, uint32_t pos, uint32_t) {
            uint32_t longest = longest_at(c, pos);

            if (limits.long_depth > 0) {
                /* A match within a quarter of the depth also lies within half and all of it. So the
                 * search by seven bytes has found all three matches, and this search is not
                 * needed. */
                if (s->matches[pos - c.history].quarter != 0)
                    return;
                longest = min(longest, LZ_LONG - 1);
            }
            begin_search(l, data, pos, LZ_MIN_MATCH, longest, limits.nice);
        },
        [&](scored_search &l, uint32_t length, uint32_t distance) {
            return rate(l, length, distance, limits.depth);
        },
        [&](scored_search &l) {
            found *const to = &s->matches[l.pos - c.history];

            if (three && l.best.quarter == 0 && l.max >= LZ_MIN_MATCH)
                add_match3(l, data, s->links3[l.pos - c.history]);
            *to = limits.long_depth > 0 ? first_of(*to, l.best) : l.best;
        });
}

template <bool DATA, bool LINKS>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_chunks(gpu_view v, search_limits limits)
{
    __shared__ uint32_t next[2];
    struct chains_scratch *s = (struct chains_scratch *)v.scratch + blockIdx.x;

    search_whole(gpu_chunk_at(v, blockIdx.x),
                 [&](const gpu_chunk &c) { search_chunk<DATA, LINKS>(c, s, limits, next); });
}

static __global__ void __launch_bounds__(WARP)
    parse_chunks(gpu_view v, uint32_t depth, uint32_t nice, uint32_t lazy)
{
    __shared__ uint32_t tile[3][TILE + AHEAD];
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    const struct chains_scratch *s = (const struct chains_scratch *)v.scratch + blockIdx.x;
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    const uint32_t least = lz_least_length(s->distinct, depth);
    uint32_t pos = 0;
    /* The current match, which starts at `pos`. A match at a later position may replace it. */
    struct lz_match match = {0, 0, LZ_SCORE_MIN};

    for (uint32_t i = lane; i < (size + 7) / 8; i += WARP)
        ((uint4 *)tags)[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();

    for (uint32_t start = 0; start < size; start += TILE) {
        if (pos >= start + TILE)
            continue;
        __syncwarp();
        for (uint32_t i = lane; i < TILE + AHEAD; i += WARP) {
            const found f = start + i < size ? s->matches[start + i] : found{0, 0, 0, 0};

            tile[0][i] = f.whole;
            tile[1][i] = f.half;
            tile[2][i] = f.quarter;
        }
        __syncwarp();

        while (pos < start + TILE && pos < size) {
            const uint32_t at = pos - start;

            if (match.length == 0) {
                match = lz_unpack(tile[0][at]);
                if (match.length < least) {
                    match.length = 0;
                    pos++;
                    continue;
                }
            }
            if (lazy > 0 && match.length < nice) {
                struct lz_match next = lz_unpack(tile[1][at + 1]);

                if (lz_prefers(next, match.length, match.score + LZ_GAIN_NEXT)) {
                    match = next;
                    pos++;
                    continue;
                }
                if (lazy > 1) {
                    next = lz_unpack(tile[2][at + 2]);
                    if (lz_prefers(next, match.length, match.score + LZ_GAIN_AFTER_NEXT)) {
                        match = next;
                        pos += 2;
                        continue;
                    }
                }
            }
            for (uint32_t i = lane; i < match.length; i += WARP)
                tags[pos + i] = (uint16_t)match.distance;
            pos += match.length;
            match.length = 0;
        }
    }
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(struct chains_scratch);
}

static cudaError_t queue_search(const gpu_view &v, const search_limits &limits, cudaStream_t stream)
{
    void (*kernel)(gpu_view, search_limits);
    size_t size;
    const cudaError_t status = choose_search(
        v, {search_chunks<true, true>, search_chunks<true, false>, search_chunks<false, false>},
        &kernel, &size);

    if (status != cudaSuccess)
        return status;
    kernel<<<v.chunks, SEARCH_THREADS, size, stream>>>(v, limits);
    return cudaGetLastError();
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const search_limits limits = {level->depth, level->long_depth, level->nice,
                                  level->max_distance3};
    const dim3 blocks(v.chunks, level->max_distance3 > 0 ? LINK_BLOCKS : LINK_BLOCKS - 1);
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<blocks, TABLE_THREADS, LINKS_SHARED, stream>>>(v, level->long_depth > 0,
                                                                 level->max_distance3);
    status = cudaGetLastError();
    return status == cudaSuccess ? queue_search(v, limits, stream) : status;
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    parse_chunks<<<v.chunks, WARP, 0, stream>>>(v, level->depth, level->nice, level->lazy);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {
        (const void *)link_chunks, (const void *)search_chunks<true, true>,
        (const void *)search_chunks<true, false>, (const void *)search_chunks<false, false>,
        (const void *)parse_chunks};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_chains = {scratch_size, find_matches, parse,
                                             GPU_BYTES_A_SEQUENCE, load};
