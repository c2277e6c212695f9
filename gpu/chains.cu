/*
 * chains.cu - the hash chain match finder on the GPU (lzss/chains.h says what it finds)
 *
 * Four kernels, each with the chunks of a batch side by side:
 *
 * - link: links.cuh.
 * - search: a block a chunk, a thread a position: it follows its chains and keeps the best match
 *   within the whole depth and, for look-ahead, within half and a quarter of it.  Neither depends
 *   on where the parse will stop, so that all positions can be searched at once.
 * - parse: a warp a chunk, every lane taking the same walk over the matches found, which it brings
 *   into shared memory tile by tile; the lanes then share in writing a match's tags.
 * - compact: compact.cu.  Runs of tags join matches side by side at one distance, as chains.h asks.
 */
#include "gpu/internal.cuh"
#include "gpu/links.cuh"
#include "gpu/warp.cuh"
#include "lzss/chains.h"

#define SEARCH_THREADS 1024

/* Matches that the parse has in shared memory at a time, and how far it looks ahead. */
#define TILE 512
#define AHEAD 2

/* A chunk's part of the scratch memory, aligned for copy_to_shared. */
struct alignas(16) scratch {
    uint16_t links[LZ_CHUNK_SIZE];
    uint16_t long_links[LZ_CHUNK_SIZE];
    uint16_t links3[LZ_CHUNK_SIZE];
    uint32_t distinct;                  /* different bytes in the chunk's first LZ_SAMPLE */
    uint32_t matches[3][LZ_CHUNK_SIZE]; /* within the whole, half, and a quarter of the depths */
};

static __global__ void __launch_bounds__(WARP) link_chunks(gpu_view v, bool by_long, uint32_t near3)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    struct scratch *s = (struct scratch *)v.scratch + blockIdx.x;
    const uint32_t distinct = count_distinct(v, blockIdx.x);

    if (threadIdx.x == 0)
        s->distinct = distinct;
    make_links<4>(s->links, table, c, LZ_CHAINS_WINDOW);
    if (by_long)
        make_links<LZ_LONG>(s->long_links, table, c, LZ_CHAINS_WINDOW);
    if (lz_wants_length3(distinct, near3))
        make_links<3>(s->links3, table, c, near3);
}

/* The best matches that a search found within the whole, half, and a quarter of its depth; packed,
 * 0 for none. */
struct found {
    uint32_t whole, half, quarter;
};

/* Looks at `depth` candidates for matches of more than `length` bytes; see follow in chains.c. */
template <unsigned BYTES, typename Data, typename Links>
static __device__ __forceinline__ found follow(const gpu_chunk &c, Data data, Links links,
                                               uint32_t pos, uint32_t length, uint32_t max,
                                               uint32_t depth, uint32_t enough)
{
    const uint32_t first = load32(data, pos);
    uint32_t last = load32(data, pos + length - 3);
    uint32_t distance = 0;
    int32_t score = LZ_SCORE_MIN;
    found f = {0, 0, 0};

    for (uint32_t i = 0; i < depth; i++) {
        uint32_t link = link_at(links, c, pos - distance);
        uint32_t there;

        distance += link;
        if (link == 0 || distance > LZ_CHAINS_WINDOW)
            break;
        there = pos - distance;
        if (load32(data, there + length - 3) == last &&
            same_prefix<BYTES>(data, pos, first, there)) {
            uint32_t n = match_length(data, pos, there, 4, max);

            if (n > length) {
                if (lz_score(n, distance) > score) {
                    score = lz_score(n, distance);
                    length = n;
                    last = load32(data, pos + length - 3);
                    f.whole = lz_pack(n, distance);
                    if (i < depth / 2)
                        f.half = f.whole;
                    if (i < depth / 4)
                        f.quarter = f.whole;
                }
                if (n >= enough)
                    break;
            }
        }
    }
    return f;
}

/* The level's numbers that searches want. */
struct search_limits {
    uint32_t depth, long_depth, nice, lazy, near3;
};

static __device__ __forceinline__ void store_found(struct scratch *s, uint32_t i, const found &f,
                                                   uint32_t lazy)
{
    s->matches[0][i] = f.whole;
    if (lazy > 0)
        s->matches[1][i] = f.half;
    if (lazy > 1)
        s->matches[2][i] = f.quarter;
}

/* The search by the first LZ_LONG bytes. */
template <typename Data, typename Links>
static __device__ __forceinline__ void search_long(struct scratch *s, const gpu_chunk &c, Data data,
                                                   Links links, uint32_t pos,
                                                   const search_limits &l)
{
    const uint32_t max = min(c.end - pos, (uint32_t)LZ_MAX_MATCH);
    found f = {0, 0, 0};

    if (max >= LZ_LONG)
        f = follow<LZ_LONG>(c, data, links, pos, LZ_LONG - 1, max, l.long_depth, min(l.nice, max));
    store_found(s, pos - c.history, f, AHEAD);
}

/* The searches by the first four and the first three bytes, after the other if there is one. */
template <typename Data, typename Links>
static __device__ __forceinline__ void search_short(struct scratch *s, const gpu_chunk &c,
                                                    Data data, Links links, uint32_t pos,
                                                    const search_limits &l, bool three)
{
    const uint32_t i = pos - c.history;
    uint32_t max = min(c.end - pos, (uint32_t)LZ_MAX_MATCH);
    found f = {0, 0, 0};

    if (l.long_depth > 0) {
        f.whole = s->matches[0][i];
        f.half = s->matches[1][i];
        f.quarter = s->matches[2][i];
        max = min(max, LZ_LONG - 1);
        /* What the quarter found, the half and the whole found too. */
        if (f.quarter != 0)
            return;
    }
    if (max > LZ_MIN_MATCH) {
        found g = follow<4>(c, data, links, pos, LZ_MIN_MATCH, max, l.depth, min(l.nice, max));

        f.whole = f.whole == 0 ? g.whole : f.whole;
        f.half = f.half == 0 ? g.half : f.half;
        f.quarter = g.quarter;
    }
    if (max >= LZ_MIN_MATCH && three && f.quarter == 0) {
        uint32_t link = s->links3[i];

        if (link != 0 && ((load32(data, pos - link) ^ load32(data, pos)) & 0xffffff) == 0) {
            uint32_t match = lz_pack(LZ_MIN_MATCH, link);

            f.whole = f.whole == 0 ? match : f.whole;
            f.half = f.half == 0 ? match : f.half;
            f.quarter = match;
        }
    }
    store_found(s, i, f, l.lazy);
}

/* Bytes of shared memory for a chunk and its history, with what is read behind them; and for its
 * links. */
#define SHARED_DATA (LZ_WINDOW_SIZE + LZ_CHUNK_SIZE + 16)
#define SHARED_LINKS ((LZ_WINDOW_SIZE + LZ_CHUNK_SIZE) * sizeof(uint16_t))

/* Copies `size` bytes, of which up to 15 more may be written, between places that are 16-byte
 * aligned; all threads of the block share in it. */
static __device__ __forceinline__ void copy_to_shared(void *to, const void *from, uint32_t size)
{
    for (uint32_t i = threadIdx.x; i < (size + 15) / 16; i += SEARCH_THREADS)
        ((uint4 *)to)[i] = __ldg((const uint4 *)from + i);
}

/* Hands out warps of positions to whichever warp asks next; `next` is shared. */
static __device__ __forceinline__ uint32_t take_positions(uint32_t *next)
{
    uint32_t first = 0;

    if (threadIdx.x % WARP == 0)
        first = atomicAdd(next, WARP);
    return __shfl_sync(ALL_LANES, first, 0);
}

/*
 * Every position is read, and every link followed, many times over, from anywhere: with DATA, the
 * block has the bytes in shared memory, which serves a warp's scattered reads several times as fast
 * as the cache does; with LINKS, also the links.  Where there is not enough, they stay where they
 * are.
 */
template <bool DATA, bool LINKS>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_chunks(gpu_view v, search_limits limits)
{
    extern __shared__ uint4 shared[];
    __shared__ uint32_t next[2];
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    struct scratch *s = (struct scratch *)v.scratch + blockIdx.x;
    const bool three = lz_wants_length3(s->distinct, limits.near3);
    /* The links before are only looked at where there is history. */
    const struct scratch *before = c.history > 0 ? s - 1 : s;
    uint16_t *row = (uint16_t *)(shared + SHARED_DATA / sizeof(uint4));

    const auto data = [&] {
        if constexpr (DATA) {
            copy_to_shared(shared, c.data, c.end + 16);
            return shared_words{(const uint32_t *)shared};
        } else {
            return c.data;
        }
    }();
    const auto at_hand = [&](const uint16_t *own, const uint16_t *their) {
        if constexpr (LINKS) {
            copy_to_shared(row, their, c.history * sizeof(*row));
            copy_to_shared(row + c.history, own, (c.end - c.history) * sizeof(*row));
            return shared_links{row};
        } else {
            return gpu_links{own, their};
        }
    };

    if (threadIdx.x < 2)
        next[threadIdx.x] = c.history;
    if (limits.long_depth > 0) {
        const auto links = at_hand(s->long_links, before->long_links);

        __syncthreads();
        for (uint32_t pos; (pos = take_positions(&next[0])) < c.end;)
            if (pos + threadIdx.x % WARP < c.end)
                search_long(s, c, data, links, pos + threadIdx.x % WARP, limits);
        __syncthreads();
    }
    const auto links = at_hand(s->links, before->links);

    __syncthreads();
    for (uint32_t pos; (pos = take_positions(&next[1])) < c.end;)
        if (pos + threadIdx.x % WARP < c.end)
            search_short(s, c, data, links, pos + threadIdx.x % WARP, limits, three);
}

static __device__ __forceinline__ struct lz_match unpack(uint32_t packed)
{
    struct lz_match m = {lz_packed_length(packed), lz_packed_distance(packed), LZ_SCORE_MIN};

    if (packed != 0)
        m.score = lz_score(m.length, m.distance);
    return m;
}

static __global__ void __launch_bounds__(WARP)
    parse_chunks(gpu_view v, uint32_t depth, uint32_t nice, uint32_t lazy)
{
    __shared__ uint32_t tile[3][TILE + AHEAD];
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    const struct scratch *s = (const struct scratch *)v.scratch + blockIdx.x;
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    const uint32_t least = lz_least_length(s->distinct, depth);
    uint32_t pos = 0;
    /* A match that may yet give way to a later one; pos is where it starts. */
    struct lz_match match = {0, 0, LZ_SCORE_MIN};

    for (uint32_t i = lane; i < (size + 7) / 8; i += WARP)
        ((uint4 *)tags)[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();

    for (uint32_t start = 0; start < size; start += TILE) {
        if (pos >= start + TILE)
            continue;
        __syncwarp();
        for (uint32_t k = 0; k <= lazy; k++)
            for (uint32_t i = lane; i < TILE + AHEAD; i += WARP)
                tile[k][i] = start + i < size ? s->matches[k][start + i] : 0;
        __syncwarp();

        while (pos < start + TILE && pos < size) {
            const uint32_t at = pos - start;

            if (match.length == 0) {
                match = unpack(tile[0][at]);
                if (match.length < least) {
                    match.length = 0;
                    pos++;
                    continue;
                }
            }
            if (lazy > 0 && match.length < nice) {
                struct lz_match next = unpack(tile[1][at + 1]);

                if (next.length >= match.length && next.score >= match.score + LZ_GAIN_NEXT) {
                    match = next;
                    pos++;
                    continue;
                }
                if (lazy > 1) {
                    next = unpack(tile[2][at + 2]);
                    if (next.length >= match.length &&
                        next.score >= match.score + LZ_GAIN_AFTER_NEXT) {
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

size_t gpu_scratch_chains(const struct lz_level *level)
{
    (void)level;
    return sizeof(struct scratch);
}

/* Queues the kernel with as much in shared memory as there is. */
static cudaError_t queue_search(const gpu_view &v, const search_limits &limits, cudaStream_t stream)
{
    void (*kernel)(gpu_view, search_limits) = search_chunks<false, false>;
    size_t size = 0;
    cudaError_t status;

    if (v.shared_size >= SHARED_DATA + SHARED_LINKS) {
        kernel = search_chunks<true, true>;
        size = SHARED_DATA + SHARED_LINKS;
    } else if (v.shared_size >= SHARED_DATA) {
        kernel = search_chunks<true, false>;
        size = SHARED_DATA;
    }
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)size);
    if (status != cudaSuccess)
        return status;
    kernel<<<v.chunks, SEARCH_THREADS, size, stream>>>(v, limits);
    return cudaGetLastError();
}

cudaError_t gpu_find_chains(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const search_limits limits = {level->depth, level->long_depth, level->nice, level->lazy,
                                  level->near3};
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<v.chunks, WARP, LINKS_SHARED, stream>>>(v, level->long_depth > 0, level->near3);
    status = cudaGetLastError();
    return status == cudaSuccess ? queue_search(v, limits, stream) : status;
}

cudaError_t gpu_parse_chains(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    parse_chunks<<<v.chunks, WARP, 0, stream>>>(v, level->depth, level->nice, level->lazy);
    return cudaGetLastError();
}
