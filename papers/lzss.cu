/*
 * lzss.cu - LZSS with hash chains on the GPU (lzss.c defines the method)
 *
 * Four kernels:
 *
 * - link: one block for each chunk, a step of positions at a time (warp.cuh). For each position,
 *   the block finds the position before it in the same bucket.
 *
 * - search: one block for each TILE positions of a chunk. If the device allows a block enough
 *   shared memory, the block first copies the bytes and links of the tile, and of the window before
 *   it, into shared memory. Otherwise, bytes and links stay in global memory. Some chains are a
 *   hundred times as long as others. So a lane that has finished its search gets another position,
 *   and does not wait for the other lanes.
 *
 * - choose: one thread for each position. If the position has a match, the thread chooses the best
 *   match among this match and the matches at the next few positions.
 *
 * - walk: goes from choice to choice and writes the tags, with one warp for each chunk.
 *
 * With threads=1, another kernel has one thread for each segment, as the paper (16.1). Each thread
 * does what the CPU does (lzss.h). Its tables are in the scratch memory, as the paper's are in
 * global memory.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/match/links.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/greedy.cuh"
#include "papers/lzss.cuh"
#include "papers/papers.h"
#include "papers/starts.cuh"

/* SEARCH_THREADS: threads of a search block. TILE: positions of a tile. With a larger tile, the
 * window is copied less often, but a block needs more shared memory: three bytes for each
 * position. */
#define SEARCH_THREADS 256
#define TILE 8192
#define TILES (LZ_CHUNK_SIZE / TILE)

/* A warp gives new positions to its idle lanes when at least REFILL are idle. With a lower REFILL,
 * lanes are idle for less time, but positions are handed out more often. Each lane follows up to
 * FOLLOWED links before the warp looks for idle lanes again. */
#define REFILL 8
#define FOLLOWED 4

/* A warp takes this many positions at a time, for all its lanes. With more, there are fewer atomic
 * operations, but some warps finish later than others. */
#define TAKEN 64

/* Whole words are loaded, so a load may read up to this many bytes after the last byte that is
 * used. */
#define BEHIND 8

/* Threads of a choose block, one for each position. This number must divide LZ_CHUNK_SIZE. */
#define CHOOSE_THREADS 256

static_assert(LZ_MAX_MATCH + BEHIND + sizeof(uint4) <= GPU_INPUT_PAD, "reads behind a batch");
static_assert(LINKS_SHARED == LZSS_BUCKETS_MAX * sizeof(uint16_t), "memory for link");

/* A choice is packed into 16 bits. The low bits are the match's length. The bits from SKIPPED_SHIFT
 * on are the number of literals before the match. */
#define SKIPPED_SHIFT 9

static_assert(LZ_MAX_MATCH < 1 << SKIPPED_SHIFT, "a length");
static_assert(LZSS_AHEAD_MAX < 1 << (16 - SKIPPED_SHIFT), "what is skipped");

/* A chunk's scratch memory. */
struct alignas(16) lzss_scratch {
    uint32_t found[LZ_CHUNK_SIZE]; /* longest matches: length << 16 | distance; 0: none */
    /* The distance from each position to the position before it in the same bucket, or LINKS_NONE.
     * The kernel `choose` replaces this distance by the position's choice (SKIPPED_SHIFT); 0: none.
     * The distance of the chosen match is in the tags. */
    uint16_t links[LZ_CHUNK_SIZE];
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
        /* In the last round, this reads bytes after the chunk, which are not used
         * (GPU_INPUT_PAD). */
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
    /* pos: the position of the search. there: the latest position in its chain. */
    uint32_t pos, there;
    uint32_t lowest; /* the first position that a match may repeat */
    /* most: the greatest length. left: how many more positions to look at. */
    uint32_t most, left;
    /* A candidate can only give a longer match if its bytes at `offset` equal `tail` in the bits
     * that are set in `mask`. */
    uint32_t offset, tail, mask;
    uint32_t length, distance; /* the best match so far */
};

/* Returns how many leading bytes at a and b are equal, up to `most`. */
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

/* Follows up to FOLLOWED links. A match has at least `least` bytes. Returns whether the search goes
 * on. */
template <typename Data, typename Links>
static __device__ __forceinline__ bool follow(lzss_search &s, Data data, const Links &links,
                                              const gpu_chunk &c, uint32_t least)
{
    bool may_be_longer = false;
    uint32_t n;

#pragma unroll
    for (int i = 0; i < FOLLOWED; i++) {
        const uint32_t distance = link_at(links, c, s.there);

        /* The chain leaves the window, or ends: LINKS_NONE is larger than any distance. */
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
    if (n > s.length && n >= least) {
        s.length = n;
        s.distance = s.pos - s.there;
        /* A longer match has four equal bytes here: the last three bytes of this match, and the
         * byte after it. Test these four bytes first. */
        s.offset = n - 3;
        s.tail = load32(data, s.pos + s.offset);
        s.mask = ~0u;
    }
    return s.left > 0 && s.length < s.most;
}

/* Searches at the positions from *next to `until`, counted from the start of data and links, which
 * is at position `origin` of the chunk. All threads of the block call this function. The match at
 * `pos` is stored in found[pos]. */
template <typename Data, typename Links>
static __device__ __forceinline__ void
search_tile(Data data, const Links &links, const gpu_chunk &c, uint32_t *next, uint32_t until,
            uint32_t origin, uint32_t *found, const lzss_numbers &k)
{
    const uint32_t below = (1u << threadIdx.x % WARP) - 1;
    /* The warp has taken positions [from, to), and has not given them to lanes yet. */
    uint32_t from = 0, to = 0;
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
                    s.lowest = lzss_lowest(pos + origin, &k) - origin;
                    s.most = lzss_most(pos + origin, c.history, c.end, &k);
                    s.left = k.chain;
                    s.offset = 0;
                    s.tail = load32(data, pos);
                    s.mask = k.least > LZ_MIN_MATCH ? ~0u : 0xffffff;
                    s.length = s.distance = 0;
                    busy = s.most >= k.least;
                }
            }
            from = min(from + (uint32_t)__popc((int)idle), to);
        } else if (idle == ALL_LANES) {
            break;
        } else if (busy) {
            busy = follow(s, data, links, c, k.least);
        }
    }
    if (has_result)
        found[s.pos] = s.length << 16 | s.distance;
}

/* Copies `size` bytes, rounded up to 16, from global to shared memory. Both addresses are multiples
 * of 16. */
static __device__ __forceinline__ void copy_to_shared(void *to, const void *from, uint32_t size)
{
    for (uint32_t i = threadIdx.x; i < (size + 15) / 16; i += SEARCH_THREADS)
        ((uint4 *)to)[i] = __ldg((const uint4 *)from + i);
}

/* Bytes in shared memory before a tile (tile_reach) and after it (tile_behind), rounded up to a
 * multiple of 16. The bytes before a tile are its window. Matches at the tile's last positions read
 * the bytes after it. */
static __host__ __device__ __forceinline__ uint32_t tile_reach(const lzss_numbers &k)
{
    return (k.window + 15) / 16 * 16;
}

static __host__ __device__ __forceinline__ uint32_t tile_behind(const lzss_numbers &k)
{
    return (k.length + BEHIND + 15) / 16 * 16;
}

/* Stores each position's longest match in `found`. */
template <bool SHARED>
static __global__ void __launch_bounds__(SEARCH_THREADS) search_tiles(gpu_view v, lzss_numbers k)
{
    extern __shared__ uint4 shared[];
    __shared__ uint32_t next;
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x / TILES);
    struct lzss_scratch *s = (struct lzss_scratch *)v.scratch + blockIdx.x / TILES;
    /* Without history, no search reads links of the chunk before, so any pointer will do. */
    const struct lzss_scratch *before = c.history > 0 ? s - 1 : s;
    /* Use plain pointers instead of arrays, because the address sums below may lie outside the
     * arrays. All accesses are inside the arrays. */
    const uint16_t *const links_before = before->links;
    uint32_t *const found = s->found;
    const uint32_t begin = c.history + blockIdx.x % TILES * TILE;
    const uint32_t until = min(begin + TILE, c.end);
    /* origin: where the window of the tile's first position starts. */
    const uint32_t reach = min(begin, tile_reach(k)), origin = begin - reach;

    if (begin >= c.end)
        return;
    if constexpr (SHARED) {
        uint16_t *const links = (uint16_t *)(shared + (tile_reach(k) + TILE + tile_behind(k)) / 16);
        const uint32_t old = origin < c.history ? c.history - origin : 0;

        copy_to_shared(shared, c.data + origin / 4, until - origin + tile_behind(k));
        copy_to_shared(links, links_before + origin, old * sizeof(*links));
        copy_to_shared(links + old, s->links + (origin + old - c.history),
                       (until - origin - old) * sizeof(*links));
        if (threadIdx.x == 0)
            next = reach;
        __syncthreads();
        search_tile(shared_words{(const uint32_t *)shared}, shared_links{links}, c, &next,
                    until - origin, origin, found + (int32_t)(origin - c.history), k);
    } else {
        if (threadIdx.x == 0)
            next = begin;
        __syncthreads();
        search_tile(c.data, gpu_links{s->links, before->links}, c, &next, until, 0,
                    found - c.history, k);
    }
}

/* Replaces each position's link by its choice, and stores the distance of the chosen match in the
 * tags. */
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

/* Goes from choice to choice, and replaces the distances in the tags by the final tags
 * (greedy.cuh). */
static __global__ void __launch_bounds__(WARP) walk(gpu_view v)
{
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);

    paper_walk_greedily<SKIPPED_SHIFT>(((const struct lzss_scratch *)v.scratch + blockIdx.x)->links,
                                       v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE, 0,
                                       span.end - span.start);
}

/* Threads of a block with threads=1. The paper does not give this number. */
#define THREADS 32

/* Matches a segment's chunk number c by one thread. */
static __device__ void match_chunk(const gpu_view &v, uint32_t c, lzss_walk *w)
{
    const gpu_span span = gpu_chunk_span(v, c);
    const uint32_t window = w->numbers->packet > 0 ? 0 : w->numbers->window;
    const uint32_t history = min(span.history, window);
    uint16_t *const tags = v.tags + (size_t)c * LZ_CHUNK_SIZE - history;
    uint32_t done = history;

    lzss_begin(w, v.input + span.start - history, history, span.end - span.start + history);
    while (done < w->end) {
        uint32_t at = w->end;
        const lzss_match match = lzss_next(w, &at);

        while (done < at)
            tags[done++] = 0;
        while (done < w->pos)
            tags[done++] = (uint16_t)match.distance;
    }
}

/* Matches a segment by each thread. */
static __global__ void __launch_bounds__(THREADS) match_alone(gpu_view v, lzss_numbers k)
{
    const uint32_t index = blockIdx.x * THREADS + threadIdx.x;
    uint32_t c = index < v.chunks ? paper_starts(v)[index] : PAPER_NO_START;
    lzss_walk w = {};

    if (c == PAPER_NO_START)
        return;
    w.state = (lzss_state *)paper_after_starts(v) + index;
    w.numbers = &k;
    do
        match_chunk(v, c++, &w);
    while (c < v.chunks && gpu_chunk_span(v, c).history > 0);
}

size_t lzss_alone_scratch(void)
{
    return PAPER_STARTS_SIZE + sizeof(lzss_state);
}

cudaError_t lzss_queue_alone(const gpu_view &v, const lzss_numbers &k, cudaStream_t stream)
{
    const uint32_t blocks = (v.chunks + THREADS - 1) / THREADS;

    paper_list_starts<<<1, WARP, 0, stream>>>(v, PAPER_SEGMENTS);
    match_alone<<<blocks, THREADS, 0, stream>>>(v, k);
    return cudaGetLastError();
}

size_t lzss_scratch_size(void)
{
    return sizeof(struct lzss_scratch);
}

/* Queues the search kernel. If the device has enough shared memory, queues the variant that has
 * bytes and links in shared memory. */
static cudaError_t queue_tiles(const gpu_view &v, const lzss_numbers &k, cudaStream_t stream)
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

cudaError_t lzss_queue_search(const gpu_view &v, const lzss_numbers &k, cudaStream_t stream)
{
    const size_t table = k.buckets * sizeof(uint16_t);
    /* Do not use gpu_allow_shared, which would allow all of the shared memory as dynamic memory,
     * since `replace` needs some static shared memory for its marks. */
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<v.chunks, TABLE_THREADS, table, stream>>>(v, k);
    status = cudaGetLastError();
    if (status == cudaSuccess)
        status = queue_tiles(v, k, stream);
    if (status != cudaSuccess)
        return status;
    choose<<<v.chunks *(LZ_CHUNK_SIZE / CHOOSE_THREADS), CHOOSE_THREADS, 0, stream>>>(v, k);
    return cudaGetLastError();
}

cudaError_t lzss_queue_walk(const gpu_view &v, cudaStream_t stream)
{
    walk<<<v.chunks, WARP, 0, stream>>>(v);
    return cudaGetLastError();
}

static size_t scratch_size(const struct lz_level *level)
{
    return level->param[LZSS_THREADS] == PAPER_AUTO ? lzss_scratch_size() : lzss_alone_scratch();
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const lzss_numbers k = lzss_numbers_of(level);

    if (level->param[LZSS_THREADS] == PAPER_AS_PAPER)
        return lzss_queue_alone(v, k, stream);
    return lzss_queue_search(v, k, stream);
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    if (level->param[LZSS_THREADS] == PAPER_AS_PAPER)
        return cudaSuccess; /* match_alone has written the tags */
    return lzss_queue_walk(v, stream);
}

cudaError_t lzss_load(void)
{
    const void *const kernels[] = {(const void *)paper_list_starts,
                                   (const void *)match_alone,
                                   (const void *)search_tiles<true>,
                                   (const void *)search_tiles<false>,
                                   (const void *)link_chunks,
                                   (const void *)choose,
                                   (const void *)walk};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_lzss = {scratch_size, find_matches, parse, LZ_MIN_MATCH,
                                           lzss_load};
