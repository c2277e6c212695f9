/*
 * lzss.cu - LZSS with hash chains on the GPU (lzss.c says what it finds)
 *
 * Four kernels:
 *
 * - link: a block for a chunk, a step of positions at a time (warp.cuh).  For each position, it finds
 *   the one before it in the same bucket.
 * - search: a block for TILE positions of a chunk.  The bytes and links of the tile, and of the window
 *   before it, are brought to shared memory first; if there is too little of that, they stay where
 *   they are.  Some chains are a hundred times as long as others, so a lane that is done does not wait
 *   for its neighbours, but gets another position.
 * - choose: a thread for a position.  Where there is a match, it finds the best of those ahead.
 * - walk: a warp for a chunk.
 */
#include "gpu/internal.cuh"
#include "gpu/links.cuh"
#include "gpu/warp.cuh"
#include "papers/greedy.cuh"
#include "papers/lzss.h"
#include "papers/papers.h"

#define SEARCH_THREADS 256
#define TILE 8192
#define TILES (LZ_CHUNK_SIZE / TILE)

/* A warp gives positions to its lanes once so many of them are done, and a lane follows so many links
 * before it looks whether others are. */
#define REFILL 8
#define FOLLOWED 4

/* The positions that a warp takes for its lanes at a time. */
#define TAKEN 64

/* The words that bytes are read in reach so far behind the last byte that counts. */
#define BEHIND 8

#define CHOOSE_THREADS 256

static_assert(LZ_MAX_MATCH + BEHIND + sizeof(uint4) <= GPU_INPUT_PAD, "reads behind a batch");
static_assert(LINKS_SHARED == LZSS_BUCKETS_MAX * sizeof(uint16_t), "memory for link");

/* A match and what is skipped before it, in 16 bits. */
#define SKIPPED_SHIFT 9

static_assert(LZ_MAX_MATCH < 1 << SKIPPED_SHIFT, "a length");
static_assert(LZSS_AHEAD_MAX < 1 << (16 - SKIPPED_SHIFT), "what is skipped");

/* A chunk's part of the scratch memory. */
struct alignas(16) lzss_scratch {
    uint32_t found[LZ_CHUNK_SIZE]; /* the longest matches: lengths above distances; 0: none */
    /* Distances to the position before in the same bucket, or LINKS_NONE.  Later, each position's
     * choice: the bytes to skip above the length; 0: none.  The distance is in the tags. */
    uint16_t links[LZ_CHUNK_SIZE];
};

/* The method's parameters.  (Types of kernels' arguments have names that no other file has.) */
struct lzss_numbers {
    uint32_t window, length, hash, buckets, chain, ahead, choice;
};

static __global__ void __launch_bounds__(TABLE_THREADS) link_chunks(gpu_view v, lzss_numbers k)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    uint16_t *links = ((struct lzss_scratch *)v.scratch + blockIdx.x)->links;
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    const uint32_t reach = min(c.history, (k.window + STEP - 1) / STEP * STEP);
    uint32_t pos = c.history - reach + place_in_step();
    step_bytes<LZ_MIN_MATCH> bytes;

    bytes.load(c.data, pos);
    clear_table(table, both_log2(k.buckets), LINKS_NONE);
    for (uint32_t step = c.history - reach; step < c.end; step += STEP, pos += STEP) {
        uint32_t bucket[GROUPS], before[GROUPS];

#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++)
            bucket[g] = lzss_hash(bytes.at(pos, g, 0), k.hash, k.buckets);
        /* The last time, this reads bytes behind the chunk (GPU_INPUT_PAD), and nothing uses them.
         */
        bytes.load(c.data, pos + STEP);
        replace(table, bucket, pos, before);
        if (step < c.history)
            continue;
#pragma unroll
        for (uint32_t g = 0; g < GROUPS; g++) {
            const uint32_t distance = pos + g * WARP - before[g];

            if (pos + g * WARP < c.end)
                links[pos + g * WARP - c.history] =
                    (uint16_t)(distance - 1 < k.window ? distance : LINKS_NONE);
        }
    }
}

/* A lane's search. */
struct lzss_search {
    uint32_t pos, there;         /* the position, and the one in the chain that it is at */
    uint32_t lowest;             /* the farthest that it may go */
    uint32_t most, left;         /* bytes of the longest match, and positions to look at */
    uint32_t offset, tail, mask; /* the bytes that a longer match has at `offset`, under `mask` */
    uint32_t length, distance;   /* of the best so far */
};

/* How many bytes at a and b agree, up to `most`. */
template <typename Data>
static __device__ __forceinline__ uint32_t agreement(Data data, uint32_t a, uint32_t b,
                                                     uint32_t most)
{
    for (uint32_t n = 0; n < most; n += 4) {
        const uint32_t same = common_bytes(load32(data, a + n), load32(data, b + n));

        if (same < 4)
            return min(n + same, most);
    }
    return most;
}

/* Follows some links, and says whether there may be more to find. */
template <typename Data, typename Links>
static __device__ __forceinline__ bool follow(lzss_search &s, Data data, const Links &links,
                                              const gpu_chunk &c)
{
    bool may_be_longer = false;
    uint32_t n;

#pragma unroll
    for (int i = 0; i < FOLLOWED; i++) {
        const uint32_t distance = link_at(links, c, s.there);

        /* This is true of LINKS_NONE. */
        if (distance > s.there - s.lowest)
            return false;
        s.there -= distance;
        s.left--;
        may_be_longer = ((load32(data, s.there + s.offset) ^ s.tail) & s.mask) == 0;
        if (may_be_longer || s.left == 0)
            break;
    }
    if (!may_be_longer)
        return s.left > 0;
    n = agreement(data, s.pos, s.there, s.most);
    if (n > s.length && n >= LZ_MIN_MATCH) {
        s.length = n;
        s.distance = s.pos - s.there;
        /* The last four bytes of a match that is one byte longer. */
        s.offset = n - 3;
        s.tail = load32(data, s.pos + s.offset);
        s.mask = ~0u;
    }
    return s.left > 0 && s.length < s.most;
}

/* Searches at the positions from *next to `until`, which are counted from where data and links
 * start; for a block.  `end` is the chunk's end, and found[pos] for the match at pos. */
template <typename Data, typename Links>
static __device__ __forceinline__ void
search_tile(Data data, const Links &links, const gpu_chunk &c, uint32_t *next, uint32_t until,
            uint32_t end, uint32_t *found, const lzss_numbers &k)
{
    const uint32_t below = (1u << threadIdx.x % WARP) - 1;
    uint32_t from = 0, to = 0; /* positions taken and not given to a lane */
    bool more = true, busy = false, has_result = false;
    lzss_search s = {};

    for (;;) {
        const uint32_t idle = __ballot_sync(ALL_LANES, !busy);

        if (more && __popc((int)idle) >= REFILL) {
            if (from == to) {
                if (threadIdx.x % WARP == 0)
                    from = atomicAdd(next, TAKEN);
                from = __shfl_sync(ALL_LANES, from, 0);
                to = max(from, min(from + TAKEN, until));
                more = from < to;
            }
            if (!busy) {
                const uint32_t pos = from + (uint32_t)__popc((int)(idle & below));

                if (has_result)
                    found[s.pos] = s.length << 16 | s.distance;
                has_result = pos < to;
                if (has_result) {
                    s.pos = s.there = pos;
                    s.lowest = pos < k.window ? 0 : pos - k.window;
                    s.most = min(end - pos, k.length);
                    s.left = k.chain;
                    s.offset = 0;
                    s.tail = load32(data, pos);
                    s.mask = 0xffffff;
                    s.length = s.distance = 0;
                    busy = s.most >= LZ_MIN_MATCH;
                }
            }
            from = min(from + (uint32_t)__popc((int)idle), to);
        } else if (idle == ALL_LANES) {
            break;
        } else if (busy) {
            busy = follow(s, data, links, c);
        }
    }
    if (has_result)
        found[s.pos] = s.length << 16 | s.distance;
}

/* Copies from global memory to shared; `size` is rounded up to 16 bytes, and the places are multiples
 * of that. */
static __device__ __forceinline__ void copy_to_shared(void *to, const void *from, uint32_t size)
{
    for (uint32_t i = threadIdx.x; i < (size + 15) / 16; i += SEARCH_THREADS)
        ((uint4 *)to)[i] = __ldg((const uint4 *)from + i);
}

/* Bytes that a tile has to do with: the window, rounded up to whole 16 bytes, and the tile; and those
 * that are read behind it. */
static __host__ __device__ __forceinline__ uint32_t tile_reach(const lzss_numbers &k)
{
    return (k.window + 15) / 16 * 16;
}

static __host__ __device__ __forceinline__ uint32_t tile_behind(const lzss_numbers &k)
{
    return (k.length + BEHIND + 15) / 16 * 16;
}

/* Leaves every position's longest match in `found`. */
template <bool SHARED>
static __global__ void __launch_bounds__(SEARCH_THREADS) search_tiles(gpu_view v, lzss_numbers k)
{
    extern __shared__ uint4 shared[];
    __shared__ uint32_t next;
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x / TILES);
    struct lzss_scratch *s = (struct lzss_scratch *)v.scratch + blockIdx.x / TILES;
    /* The links before are only looked at where there is history. */
    const struct lzss_scratch *before = c.history > 0 ? s - 1 : s;
    const uint32_t begin = c.history + blockIdx.x % TILES * TILE;
    const uint32_t until = min(begin + TILE, c.end);
    /* Where the window of the tile's first position starts. */
    const uint32_t reach = min(begin, tile_reach(k)), origin = begin - reach;

    if (begin >= c.end)
        return;
    if constexpr (SHARED) {
        uint16_t *const links = (uint16_t *)(shared + (tile_reach(k) + TILE + tile_behind(k)) / 16);
        const uint32_t old = origin < c.history ? c.history - origin : 0;

        copy_to_shared(shared, c.data + origin / 4, until - origin + tile_behind(k));
        copy_to_shared(links, before->links + origin, old * sizeof(*links));
        copy_to_shared(links + old, s->links + (origin + old - c.history),
                       (until - origin - old) * sizeof(*links));
        if (threadIdx.x == 0)
            next = reach;
        __syncthreads();
        search_tile(shared_words{(const uint32_t *)shared}, shared_links{links}, c, &next,
                    until - origin, c.end - origin, s->found + (int32_t)(origin - c.history), k);
    } else {
        if (threadIdx.x == 0)
            next = begin;
        __syncthreads();
        search_tile(c.data, gpu_links{s->links, before->links}, c, &next, until, c.end,
                    s->found - c.history, k);
    }
}

/* Puts every position's choice in the place of its link, and the distance into the tags. */
static __global__ void __launch_bounds__(CHOOSE_THREADS) choose(gpu_view v, lzss_numbers k)
{
    const uint32_t blocks = LZ_CHUNK_SIZE / CHOOSE_THREADS;
    const uint32_t chunk = blockIdx.x / blocks;
    const uint32_t at = blockIdx.x % blocks * CHOOSE_THREADS + threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t size = span.end - span.start;
    struct lzss_scratch *s = (struct lzss_scratch *)v.scratch + chunk;
    uint32_t best, skipped = 0, score;

    if (at >= size)
        return;
    best = s->found[at];
    if (best != 0) {
        score = lzss_score(best >> 16, 0, k.choice);
        for (uint32_t i = 1; i <= k.ahead && at + i < size; i++) {
            const uint32_t ahead = s->found[at + i];

            if (ahead != 0 && lzss_score(ahead >> 16, i, k.choice) > score) {
                score = lzss_score(ahead >> 16, i, k.choice);
                best = ahead;
                skipped = i;
            }
        }
    }
    s->links[at] = (uint16_t)(skipped << SKIPPED_SHIFT | best >> 16);
    v.tags[(size_t)chunk * LZ_CHUNK_SIZE + at] = (uint16_t)best;
}

/* Puts tags in the place of the distances. */
static __global__ void __launch_bounds__(WARP) walk(gpu_view v)
{
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);

    paper_walk_greedily<SKIPPED_SHIFT>(((const struct lzss_scratch *)v.scratch + blockIdx.x)->links,
                                       v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE, 0,
                                       span.end - span.start);
}

static lzss_numbers numbers_of(const struct lz_level *level)
{
    const uint32_t *p = level->param;

    return {p[LZSS_WINDOW], p[LZSS_LENGTH], p[LZSS_HASH],  p[LZSS_BUCKETS],
            p[LZSS_CHAIN],  p[LZSS_AHEAD],  p[LZSS_CHOICE]};
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(struct lzss_scratch);
}

/* Queues the kernel with as much in shared memory as there is. */
static cudaError_t queue_search(const gpu_view &v, const lzss_numbers &k, cudaStream_t stream)
{
    void (*kernel)(gpu_view, lzss_numbers) = search_tiles<true>;
    size_t size = (tile_reach(k) + TILE) * (sizeof(uint8_t) + sizeof(uint16_t)) + tile_behind(k);
    cudaError_t status;

    if (v.shared_size < size) {
        kernel = search_tiles<false>;
        size = 0;
    }
    status = gpu_allow_shared(kernel, v, size);
    if (status != cudaSuccess)
        return status;
    kernel<<<v.chunks * TILES, SEARCH_THREADS, size, stream>>>(v, k);
    return cudaGetLastError();
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const lzss_numbers k = numbers_of(level);
    const size_t table = k.buckets * sizeof(uint16_t);
    /* Not by gpu_allow_shared: the marks of replace take some of what it would allow. */
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<v.chunks, TABLE_THREADS, table, stream>>>(v, k);
    status = cudaGetLastError();
    if (status == cudaSuccess)
        status = queue_search(v, k, stream);
    if (status != cudaSuccess)
        return status;
    choose<<<v.chunks *(LZ_CHUNK_SIZE / CHOOSE_THREADS), CHOOSE_THREADS, 0, stream>>>(v, k);
    return cudaGetLastError();
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    (void)level;
    walk<<<v.chunks, WARP, 0, stream>>>(v);
    return cudaGetLastError();
}

const struct gpu_finder gpu_finder_lzss = {scratch_size, find_matches, parse, LZ_MIN_MATCH};
