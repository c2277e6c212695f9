/*
 * chains.cu - the hash chain match finder on the GPU (lzss/chains.h says what it finds)
 *
 * Four kernels, each with the chunks of a batch side by side:
 *
 * - link: links.cuh.
 * - search: a thread a position: it follows its chains and keeps the best match within the whole
 *   depth and, for look-ahead, within half and a quarter of it.  Neither depends on where the parse
 *   will stop, so that all positions can be searched at once.
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

/* A chunk's part of the scratch memory. */
struct scratch {
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
template <unsigned BYTES>
static __device__ __forceinline__ found follow(const gpu_chunk &c, const gpu_links &links,
                                               uint32_t pos, uint32_t length, uint32_t max,
                                               uint32_t depth, uint32_t enough)
{
    const uint32_t first = load32(c.data, pos);
    uint32_t last = load32(c.data, pos + length - 3);
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
        if (load32(c.data, there + length - 3) == last &&
            same_prefix<BYTES>(c.data, pos, first, there)) {
            uint32_t n = match_length(c.data, pos, there, 4, max);

            if (n > length) {
                if (lz_score(n, distance) > score) {
                    score = lz_score(n, distance);
                    length = n;
                    last = load32(c.data, pos + length - 3);
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

static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_chunks(gpu_view v, uint32_t depth, uint32_t long_depth, uint32_t nice, uint32_t lazy,
                  uint32_t near3)
{
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    struct scratch *s = (struct scratch *)v.scratch + blockIdx.x;
    const bool three = lz_wants_length3(s->distinct, near3);
    /* The links before are only looked at where there is history. */
    const struct scratch *before = c.history > 0 ? s - 1 : s;
    const gpu_links links = {s->links, before->links};
    const gpu_links long_links = {s->long_links, before->long_links};

    for (uint32_t pos = c.history + threadIdx.x; pos < c.end; pos += SEARCH_THREADS) {
        uint32_t max = min(c.end - pos, (uint32_t)LZ_MAX_MATCH);
        uint32_t enough = min(nice, max);
        found f = {0, 0, 0};

        if (long_depth > 0) {
            if (max >= LZ_LONG)
                f = follow<LZ_LONG>(c, long_links, pos, LZ_LONG - 1, max, long_depth, enough);
            max = min(max, LZ_LONG - 1);
            enough = min(enough, max);
        }
        /* What the quarter found, the half and the whole found too. */
        if (max > LZ_MIN_MATCH && f.quarter == 0) {
            found g = follow<4>(c, links, pos, LZ_MIN_MATCH, max, depth, enough);

            f.whole = f.whole == 0 ? g.whole : f.whole;
            f.half = f.half == 0 ? g.half : f.half;
            f.quarter = g.quarter;
        }
        if (max >= LZ_MIN_MATCH && three && f.quarter == 0) {
            uint32_t link = s->links3[pos - c.history];

            if (link != 0 && ((load32(c.data, pos - link) ^ load32(c.data, pos)) & 0xffffff) == 0) {
                uint32_t match = lz_pack(LZ_MIN_MATCH, link);

                f.whole = f.whole == 0 ? match : f.whole;
                f.half = f.half == 0 ? match : f.half;
                f.quarter = match;
            }
        }
        s->matches[0][pos - c.history] = f.whole;
        if (lazy > 0)
            s->matches[1][pos - c.history] = f.half;
        if (lazy > 1)
            s->matches[2][pos - c.history] = f.quarter;
    }
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

cudaError_t gpu_find_chains(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<v.chunks, WARP, LINKS_SHARED, stream>>>(v, level->long_depth > 0, level->near3);
    search_chunks<<<v.chunks, SEARCH_THREADS, 0, stream>>>(v, level->depth, level->long_depth,
                                                           level->nice, level->lazy, level->near3);
    parse_chunks<<<v.chunks, WARP, 0, stream>>>(v, level->depth, level->nice, level->lazy);
    status = cudaGetLastError();
    return status == cudaSuccess ? gpu_tags_to_sequences(v, stream) : status;
}
