/*
 * chains.cu - the hash chain match finder on the GPU (lzss/chains.h says what it finds)
 *
 * Four kernels, each with the chunks of a batch side by side:
 *
 * - link: a warp a chunk, 32 positions at a time, as in tagging.cu: every position's distance to
 *   the one before it with the same hash.  A chunk's own positions are enough: the links of its
 *   history are the chunks' before it.  For matches of three bytes, the same with another hash and
 *   less history.
 * - search: a thread a position: it follows its chain and keeps the best match within the whole
 *   depth and, for look-ahead, within half and a quarter of it.  Neither depends on where the parse
 *   will stop, so that all positions can be searched at once.
 * - parse: a warp a chunk, every lane taking the same walk over the matches found, which it brings
 *   into shared memory tile by tile; the lanes then share in writing a match's tags.
 * - compact: compact.cu.  Matches next to each other never have the same distance, unless the first
 *   has the greatest length there is: so runs of tags are matches, and are cut where the CPU's are.
 */
#include "gpu/internal.cuh"
#include "gpu/warp.cuh"
#include "lzss/chains.h"

#define NONE 0xffffu

#define SEARCH_THREADS 1024

/* Matches that the parse has in shared memory at a time, and how far it looks ahead. */
#define TILE 512
#define AHEAD 2

/* A chunk's part of the scratch memory. */
struct scratch {
    uint16_t links[LZ_CHUNK_SIZE];
    uint16_t links3[LZ_CHUNK_SIZE];
    uint32_t distinct;                  /* different bytes in the chunk's first LZ_SAMPLE */
    uint32_t matches[3][LZ_CHUNK_SIZE]; /* within the whole, half, and a quarter of the depth */
};

/* A match in 32 bits; 0 if there is none. */
static __device__ __forceinline__ uint32_t pack(uint32_t length, uint32_t distance)
{
    return length << 16 | distance;
}

/* How many different values the first LZ_SAMPLE bytes have; `seen` is shared memory. */
static __device__ uint32_t count_distinct(const uint8_t *in, uint32_t size, uint32_t *seen)
{
    uint32_t lane = threadIdx.x;
    uint32_t distinct = 0;

    if (lane < 8)
        seen[lane] = 0;
    __syncwarp();
    for (uint32_t i = lane; i < min(size, (uint32_t)LZ_SAMPLE); i += WARP)
        atomicOr(&seen[in[i] / 32], 1u << (in[i] % 32));
    __syncwarp();
    for (uint32_t i = 0; i < 8; i++)
        distinct += (uint32_t)__popc(seen[i]);
    return distinct;
}

template <bool THREE>
static __global__ void __launch_bounds__(WARP) link_chunks(gpu_view v, uint32_t farthest)
{
    extern __shared__ uint4 shared[];
    __shared__ uint32_t seen[8];
    uint16_t *table = (uint16_t *)shared;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t history = min(span.history, (farthest + WARP - 1) / WARP * WARP);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - history);
    const uint32_t end = span.end - span.start + history;
    struct scratch *s = (struct scratch *)v.scratch + blockIdx.x;
    uint16_t *links = THREE ? s->links3 : s->links;

    if (THREE && !lz_wants_length3(s->distinct, farthest))
        return;
    if (!THREE) {
        uint32_t distinct = count_distinct(v.input + span.start, span.end - span.start, seen);

        if (threadIdx.x == 0)
            s->distinct = distinct;
    }
    clear_table(table, THREE ? LZ_CHAINS_HASH3_BITS : LZ_CHAINS_HASH_BITS, NONE);
    for (uint32_t pos = threadIdx.x; pos < end + threadIdx.x; pos += WARP) {
        uint32_t bytes = load32(data, pos);
        uint32_t before =
            replace(table, THREE ? lz_chains_hash3(bytes) : lz_chains_hash(bytes), pos);
        /* If there was none, NONE is ahead of pos, and the difference is huge. */
        uint32_t distance = pos - before;

        if (pos >= history && pos < end)
            links[pos - history] = (uint16_t)(distance <= farthest ? distance : 0);
    }
}

static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_chunks(gpu_view v, uint32_t depth, uint32_t nice, uint32_t lazy, uint32_t near3)
{
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t *data = (const uint32_t *)(v.input + span.start - span.history);
    const uint32_t end = span.end - span.start + span.history;
    struct scratch *s = (struct scratch *)v.scratch + blockIdx.x;
    const bool three = lz_wants_length3(s->distinct, near3);
    /* Only looked at where there is history. */
    const uint16_t *links_before = blockIdx.x > 0 ? s[-1].links : s->links;

    for (uint32_t pos = span.history + threadIdx.x; pos < end; pos += SEARCH_THREADS) {
        uint32_t max = min(end - pos, (uint32_t)LZ_MAX_MATCH);
        uint32_t enough = min(nice, max);
        uint32_t first = load32(data, pos);
        uint32_t length = LZ_MIN_MATCH, best = 0, half = 0, quarter = 0, distance = 0;
        uint32_t last = first << 8;

        if (max >= LZ_MIN_MATCH && three) {
            uint32_t link = s->links3[pos - span.history];

            if (link != 0 && ((load32(data, pos - link) ^ first) & 0xffffff) == 0)
                best = pack(LZ_MIN_MATCH, link);
        }
        half = quarter = best;
        for (uint32_t left = max > LZ_MIN_MATCH ? depth : 0; left > 0; left--) {
            uint32_t at = pos - distance;
            uint32_t link = at >= span.history ? s->links[at - span.history] : links_before[at];
            uint32_t there;

            distance += link;
            if (link == 0 || distance > LZ_CHAINS_WINDOW)
                break;
            there = pos - distance;
            if (length > 3 && load32(data, there + length - 3) != last)
                goto next;
            if (load32(data, there) == first) {
                uint32_t n = 4, agree = 4;

                while (n < max && agree == 4) {
                    agree = common_bytes(load32(data, pos + n), load32(data, there + n));
                    n += agree;
                }
                n = min(n, max);
                if (n > length) {
                    length = n;
                    best = pack(n, distance);
                    if (left > depth - depth / 2)
                        half = best;
                    if (left > depth - depth / 4)
                        quarter = best;
                    if (n >= enough)
                        break;
                    last = load32(data, pos + length - 3);
                }
            }
        next:;
        }
        s->matches[0][pos - span.history] = best;
        if (lazy > 0)
            s->matches[1][pos - span.history] = half;
        if (lazy > 1)
            s->matches[2][pos - span.history] = quarter;
    }
}

static __device__ __forceinline__ struct lz_match unpack(uint32_t packed)
{
    struct lz_match m = {packed >> 16, packed & 0xffff};

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
    struct lz_match match = {0, 0};

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

                if (next.length >= match.length && lz_gain(match, next) >= LZ_GAIN_NEXT) {
                    match = next;
                    pos++;
                    continue;
                }
                if (lazy > 1) {
                    next = unpack(tile[2][at + 2]);
                    if (next.length >= match.length && lz_gain(match, next) >= LZ_GAIN_AFTER_NEXT) {
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
    const size_t table = sizeof(uint16_t) << LZ_CHAINS_HASH_BITS;
    const size_t table3 = sizeof(uint16_t) << LZ_CHAINS_HASH3_BITS;
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)table);

    if (status != cudaSuccess)
        return status;
    link_chunks<false><<<v.chunks, WARP, table, stream>>>(v, LZ_CHAINS_WINDOW);
    if (level->near3 > 0)
        link_chunks<true><<<v.chunks, WARP, table3, stream>>>(v, level->near3);
    search_chunks<<<v.chunks, SEARCH_THREADS, 0, stream>>>(v, level->depth, level->nice,
                                                           level->lazy, level->near3);
    parse_chunks<<<v.chunks, WARP, 0, stream>>>(v, level->depth, level->nice, level->lazy);
    status = cudaGetLastError();
    return status == cudaSuccess ? gpu_tags_to_sequences(v, stream) : status;
}
