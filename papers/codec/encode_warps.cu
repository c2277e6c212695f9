/*
 * encode_warps.cu - codes CULZSS and gpuLZ on a GPU, from tags, with a warp for each chunk
 *
 * Both formats have a flag for each token, and tokens whose sizes are known without looking at
 * other tokens: a literal is a byte or a symbol, a match is two bytes. A warp takes 32 positions at
 * a time, one for each lane. A position of gpuLZ is a symbol.
 *
 * A lane finds out where its run of equal tags began, and from that, where the piece began that
 * covers its position (shape.h tells how runs are cut). So it knows whether a token begins at its
 * position. A piece that is too short becomes literals; two tags after the position tell whether it
 * is. The numbers of tokens and matches before the lane then tell where its token goes. The lane at
 * a match's first position writes the distance, the lane at its last position the length.
 *
 * Flags are collected in shared memory. CULZSS's flags stand between the tokens, so the places of
 * its bytes of flags are collected, too. All of them are written at the end.
 *
 * CULZSS's paper codes on the CPU. gpuLZ's paper compares such a kernel of its own with the fused
 * one (section 3.2.1, workflows c and d).
 */
#include "papers/codec/culzss.h"
#include "papers/codec/gpulz.h"
#include "papers/codec/lanes.cuh"

/* Warps of a block. */
#define WARPS 4
#define THREADS (WARPS * WARP)

/* The tag of a position after the chunk's end. */
#define NO_TAG UINT32_MAX

/* A chunk to code. */
struct tagged_chunk {
    const uint8_t *in;
    const uint16_t *tags;
    uint32_t count; /* positions */
    uint32_t width; /* bytes of a position */
    uint32_t least; /* positions of the shortest match; 1 to 3 */
    uint32_t most;  /* positions of the longest match */
};

/* What is coded so far. All lanes have the same. */
struct coded_sum {
    uint32_t tokens, data; /* tokens, and the bytes of literals and matches */
    uint32_t tag;          /* of the last position; NO_TAG: there is none */
    uint32_t run;          /* where the run of that tag began */
};

/* What a lane finds out about its position. */
struct position {
    uint32_t at, tag;
    uint32_t offset; /* from the start of the piece that covers it */
    bool is_literal, begins_match, ends_match;
    /* The token that covers the position: its number, and where its data is. */
    uint32_t token, data;
};

/* The distance of the match that covers position `at`, counted in positions; 0 for a literal. */
static __device__ __forceinline__ uint32_t tag_at(const tagged_chunk &c, uint32_t at)
{
    return at < c.count ? c.tags[at * c.width] / c.width : NO_TAG;
}

/* Whether the piece that covers the position has fewer than c.least positions. piece: the most that
 * it may have. */
static __device__ __forceinline__ bool is_short(const tagged_chunk &c, const position &p,
                                                uint32_t piece)
{
    uint32_t length = p.offset + 1;

    while (length < c.least && length < piece && tag_at(c, p.at + length - p.offset) == p.tag)
        length++;
    return length < c.least;
}

/* Finds out what begins and ends at the lanes' positions, from `first` on, and adds them to the
 * sum. All lanes of the warp call this function. */
static __device__ __forceinline__ position look(const tagged_chunk &c, uint32_t first, coded_sum *s)
{
    const uint32_t lane = threadIdx.x % WARP, not_after = ALL_LANES >> (31 - lane);
    position p = {};

    p.at = first + lane;
    p.tag = tag_at(c, p.at);

    const uint32_t next = tag_at(c, p.at + 1), other = __shfl_up_sync(ALL_LANES, p.tag, 1);
    const bool is_inside = p.at < c.count;
    const uint32_t before = lane > 0 ? other : s->tag;
    const uint32_t starts = __ballot_sync(ALL_LANES, p.tag != before) & not_after;
    const uint32_t run = starts == 0 ? s->run : first + 31 - (uint32_t)__clz((int)starts);
    const uint32_t piece = max(min(p.tag, c.most), 1u);

    p.offset = (p.at - run) % piece;
    p.is_literal = is_inside && (p.tag == 0 || is_short(c, p, piece));
    p.begins_match = is_inside && !p.is_literal && p.offset == 0;
    p.ends_match = is_inside && !p.is_literal && (p.offset + 1 == piece || next != p.tag);

    const uint32_t literals = __ballot_sync(ALL_LANES, p.is_literal);
    const uint32_t matches = __ballot_sync(ALL_LANES, p.begins_match);
    const uint32_t literals_here = (uint32_t)__popc(literals & not_after);
    const uint32_t matches_here = (uint32_t)__popc(matches & not_after);

    /* The last token that begins at this position or before. */
    p.token = s->tokens + literals_here + matches_here - 1;
    p.data = s->data + c.width * literals_here + 2 * matches_here - (p.is_literal ? c.width : 2);
    s->tokens += (uint32_t)__popc(literals | matches);
    s->data += c.width * (uint32_t)__popc(literals) + 2 * (uint32_t)__popc(matches);
    s->tag = __shfl_sync(ALL_LANES, p.tag, WARP - 1);
    s->run = __shfl_sync(ALL_LANES, run, WARP - 1);
    return p;
}

/* Sets words[0..count) to 0. All lanes of the warp call this function. */
static __device__ __forceinline__ void clear(uint32_t *words, uint32_t count)
{
    for (uint32_t i = threadIdx.x % WARP; i < count; i += WARP)
        words[i] = 0;
    __syncwarp();
}

/* Returns number i of the bytes of flags. The first flag is the lowest bit of the first word. */
static __device__ __forceinline__ uint8_t flag_byte(const uint32_t *flags, uint32_t i)
{
    return (uint8_t)(flags[i / 4] >> i % 4 * 8);
}

/* --- CULZSS ----------------------------------------------------------------------------------- */

/* Shared memory of a warp, in bytes, for a chunk of `chunk` bytes: flags, and the places of the
 * bytes of flags. */
static __host__ __device__ __forceinline__ uint32_t culzss_room(uint32_t chunk)
{
    return chunk / 8 + chunk / 8 * (uint32_t)sizeof(uint16_t);
}

/* Writes what begins or ends at a lane's position. A byte of flags stands before each eight
 * tokens. */
static __device__ __forceinline__ void culzss_put(const tagged_chunk &c, const position &p,
                                                  uint8_t *out, uint32_t *flags, uint16_t *places)
{
    uint8_t *const data = out + p.data + p.token / 8 + 1;

    if ((p.is_literal || p.begins_match) && p.token % 8 == 0)
        places[p.token / 8] = (uint16_t)(p.data + p.token / 8);
    if (p.is_literal) {
        atomicOr(&flags[p.token / 32], 1u << p.token % 32);
        data[0] = c.in[p.at];
    }
    if (p.begins_match)
        data[1] = (uint8_t)(p.tag - 1);
    if (p.ends_match)
        data[0] = (uint8_t)(p.offset + 1);
}

/* The twin of culzss_encode. All lanes of the warp call this function. */
static __device__ __forceinline__ uint32_t culzss_code(const codec_shape &shape,
                                                       const tagged_chunk &c, uint8_t *out,
                                                       void *room)
{
    uint32_t *flags = (uint32_t *)room;
    uint16_t *places = (uint16_t *)((uint8_t *)room + shape.chunk / 8);
    coded_sum s = {0, 0, NO_TAG, 0};
    uint32_t groups, size;

    static_assert(CULZSS_IS_LITERAL == 1, "a flag is set for a literal");
    clear(flags, shape.chunk / 32);
    for (uint32_t first = 0; first < c.count; first += WARP)
        culzss_put(c, look(c, first, &s), out, flags, places);
    __syncwarp();
    groups = (s.tokens + 7) / 8;
    size = s.data + groups;
    if (size >= c.count) {
        copy_bytes(out, c.in, c.count);
        return c.count;
    }
    for (uint32_t i = threadIdx.x % WARP; i < groups; i += WARP)
        out[places[i]] = flag_byte(flags, i);
    return size;
}

static __global__ void __launch_bounds__(THREADS) culzss_code_chunks(codec_view v)
{
    extern __shared__ uint4 shared[];
    const uint32_t warp = threadIdx.x / WARP, i = blockIdx.x * WARPS + warp;

    if (i >= v.chunks)
        return;
    const size_t begin = (size_t)i * v.shape.chunk;
    const tagged_chunk c = {v.plain + begin, v.tags + begin, codec_plain(v, i), 1,
                            v.shape.least,   v.shape.most};
    const uint32_t size = culzss_code(v.shape, c, v.slots + (size_t)i * v.slot,
                                      (uint8_t *)shared + warp * culzss_room(v.shape.chunk));

    if (threadIdx.x % WARP == 0)
        v.sizes[i] = size;
}

/* --- gpuLZ ------------------------------------------------------------------------------------ */

/* Writes what begins or ends at a lane's position. */
static __device__ __forceinline__ void gpulz_put(const tagged_chunk &c, const position &p,
                                                 uint8_t *out, uint32_t *flags)
{
    if (p.is_literal)
        for (uint32_t i = 0; i < c.width; i++)
            out[p.data + i] = c.in[p.at * c.width + i];
    if (p.begins_match) {
        atomicOr(&flags[p.token / 32], 1u << p.token % 32);
        out[p.data + 1] = (uint8_t)p.tag;
    }
    if (p.ends_match)
        out[p.data] = (uint8_t)(p.offset + 1);
}

/* The twin of gpulz_encode. All lanes of the warp call this function. The chunk has `rest` bytes
 * after its last whole symbol. */
static __device__ __forceinline__ gpulz_sizes gpulz_code(const tagged_chunk &c, uint32_t rest,
                                                         uint8_t *flags_out, uint8_t *out,
                                                         uint32_t *flags, uint32_t words)
{
    coded_sum s = {0, 0, NO_TAG, 0};

    clear(flags, words);
    for (uint32_t first = 0; first < c.count; first += WARP)
        gpulz_put(c, look(c, first, &s), out, flags);
    copy_bytes(out + s.data, c.in + c.count * c.width, rest);
    __syncwarp();

    const gpulz_sizes sizes = {(s.tokens + (rest > 0) + 7) / 8, s.data + rest};

    for (uint32_t i = threadIdx.x % WARP; i < sizes.flags; i += WARP)
        flags_out[i] = flag_byte(flags, i);
    return sizes;
}

static __global__ void __launch_bounds__(THREADS) gpulz_code_chunks(codec_view v)
{
    extern __shared__ uint4 shared[];
    const uint32_t warp = threadIdx.x / WARP, i = blockIdx.x * WARPS + warp;

    if (i >= v.chunks)
        return;
    const size_t begin = (size_t)i * v.shape.chunk;
    const uint32_t len = codec_plain(v, i), width = codec_width(v, i), words = v.shape.chunk / 32;
    const tagged_chunk c = {v.plain + begin, v.tags + begin,          len / width,
                            width,           gpulz_code_least(width), GPULZ_CODE_MAX};
    uint8_t *slot = v.slots + (size_t)i * v.slot;
    const gpulz_sizes sizes =
        gpulz_code(c, len % width, slot, slot + v.second, (uint32_t *)shared + warp * words, words);

    if (threadIdx.x % WARP == 0) {
        v.sizes[i] = sizes.flags;
        v.sizes[v.chunks + 1 + i] = sizes.data;
    }
}

/* --- Both ------------------------------------------------------------------------------------- */

bool codec_has_warps_to_encode(enum codec_family family)
{
    return family == CODEC_CULZSS || family == CODEC_GPULZ;
}

cudaError_t codec_encode_warps(const codec_view &v, enum codec_family family, cudaStream_t stream)
{
    const uint32_t blocks = (v.chunks + WARPS - 1) / WARPS;
    const size_t size =
        WARPS * (family == CODEC_CULZSS ? culzss_room(v.shape.chunk) : v.shape.chunk / 8);
    const cudaError_t status = family == CODEC_CULZSS ? gpu_allow_shared(culzss_code_chunks, size)
                                                      : gpu_allow_shared(gpulz_code_chunks, size);

    if (status != cudaSuccess)
        return status;
    if (family == CODEC_CULZSS)
        culzss_code_chunks<<<blocks, THREADS, size, stream>>>(v);
    else
        gpulz_code_chunks<<<blocks, THREADS, size, stream>>>(v);
    return cudaGetLastError();
}
