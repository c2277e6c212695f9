/*
 * dklzss.cu - DKLZSS on the GPU (dklzss.c defines the method)
 *
 * By default, a kernel has one warp for each packet, whose bytes are in shared memory. The warp
 * goes through the packet. At each position of the walk, the lanes divide the text before it among
 * them: each lane looks for matches that start in its own share. The lane first looks for the
 * pattern's first three bytes, at four places at a time. From such a place on, it searches with its
 * own failure table.
 *
 * A lane's table covers only the pattern's first ENTRIES bytes. If a match of more bytes cannot be
 * extended, the lane goes on as if only ENTRIES bytes had matched. The lane then skips fewer places
 * than it could, which costs time. But it misses no better match, because at a place that it skips,
 * fewer bytes match than at the place where it was.
 *
 * A share has an odd number of words. The lanes go through their shares side by side; because the
 * number is odd, they access different banks of the shared memory.
 *
 * With threads=1, another kernel has one thread for each packet, as the paper (section 6). Each
 * thread does what the CPU does. Its failure table is in the scratch memory: the paper's "thread
 * memory", which is memory of the device, too.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/dklzss.h"
#include "papers/papers.h"

static_assert(sizeof(uint4) <= GPU_INPUT_PAD, "reads behind a batch");
static_assert(DKLZSS_PACKET_MAX <= 1 << 16, "lengths and places have 16 bits");

/* A lane's failure table has the entries 1 to ENTRIES. With more, a lane skips more places after
 * long matches, but a block needs more shared memory: 64 bytes for each entry. */
#define ENTRIES 32u
#define TABLES_SIZE ((ENTRIES + 1) * WARP * sizeof(uint16_t))

static_assert(DKLZSS_PACKET_MAX + sizeof(uint4) + TABLES_SIZE <= 48 << 10,
              "shared memory that any device has");

/* The method's parameters. */
struct dklzss_numbers {
    uint32_t window, lookahead, packet;
};

/* A match is packed into 32 bits so that the smaller number is the better match: the longer one, or
 * of equally long ones, the first in the text. */
#define LONGEST 0xffffu
#define NO_MATCH (LONGEST << 16)

static __device__ __forceinline__ uint32_t pack(uint32_t length, uint32_t place)
{
    return (LONGEST - length) << 16 | place;
}

static __device__ __forceinline__ uint32_t length_of(uint32_t packed)
{
    return LONGEST - (packed >> 16);
}

/* Returns the best packed match of all lanes. */
static __device__ __forceinline__ uint32_t best_of_warp(uint32_t packed)
{
#pragma unroll
    for (int i = WARP / 2; i > 0; i /= 2)
        packed = min(packed, __shfl_xor_sync(ALL_LANES, packed, i));
    return packed;
}

/* Returns the first place in [at, end) whose three bytes equal the first three bytes of `want`. If
 * there is no such place, returns `end` or more. */
static __device__ __forceinline__ uint32_t find_three(const uint32_t *words, uint32_t at,
                                                      uint32_t end, uint32_t want)
{
    uint32_t i = at / 4 + 1, last = words[i];
    uint32_t there = __funnelshift_r(words[i - 1], last, at * 8);

    for (; at < end; at += 4) {
        const uint32_t further = words[++i], next = __funnelshift_r(last, further, at * 8);
        uint32_t places = 0;

#pragma unroll
        for (uint32_t p = 0; p < 4; p++)
            places |= (uint32_t)((__funnelshift_r(there, next, 8 * p) ^ want) << 8 == 0) << p;
        if (places != 0)
            return at + (uint32_t)__ffs((int)places) - 1;
        there = next;
        last = further;
    }
    return at;
}

/* Returns this lane's best match for the pattern at `pos`, packed, with at most `most` bytes. The
 * match starts in bytes[begin..end), and ends before pos. The lane's failure table consists of
 * every WARP-th element of `failures`. */
static __device__ __forceinline__ uint32_t search(const uint32_t *words, uint16_t *failures,
                                                  uint32_t begin, uint32_t end, uint32_t pos,
                                                  uint32_t most)
{
    const uint8_t *bytes = (const uint8_t *)words, *pattern = bytes + pos;
    const uint32_t want = load32(shared_words{words}, pos);
    uint32_t at = begin, match = 0, length = LZ_MIN_MATCH - 1, place = 0, known = 0;

    /* A match that starts at pos - length or later ends before `pos`, so it cannot be longer than
     * the best one. */
    while (at < min(end, pos - min(pos, length)) && length < most) {
        if (match == 0) {
            at = find_three(words, at, min(end, pos - length), want);
            if (at >= min(end, pos - length))
                break;
            match = LZ_MIN_MATCH;
        }
        while (match < most && at + match < pos && bytes[at + match] == pattern[match])
            match++;
        if (match > length) {
            length = match;
            place = at;
        }
        match = min(match, ENTRIES);
        for (; known < match; known++)
            dklzss_add_failure(failures, WARP, known, pattern);
        at += match - failures[match * WARP];
        match = failures[match * WARP];
    }
    return length < LZ_MIN_MATCH ? NO_MATCH : pack(length, place);
}

static __global__ void __launch_bounds__(WARP) match(gpu_view v, dklzss_numbers k)
{
    extern __shared__ uint4 shared[];
    const uint32_t lane = threadIdx.x, packets = LZ_CHUNK_SIZE / k.packet;
    const uint32_t chunk = blockIdx.x / packets, first = blockIdx.x % packets * k.packet;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t left = span.end - span.start;
    const uint32_t size = first < left ? min(k.packet, left - first) : 0;
    const uint4 *input = (const uint4 *)(v.input + span.start + first);
    uint16_t *failures = (uint16_t *)(shared + k.packet / sizeof(uint4) + 1) + lane;
    uint16_t *tags = v.tags + (size_t)chunk * LZ_CHUNK_SIZE + first;

    if (size == 0)
        return;
    /* This reads up to 16 bytes after the packet. These bytes do not change the result. */
    for (uint32_t i = lane; i < size / sizeof(uint4) + 1; i += WARP)
        shared[i] = __ldg(input + i);
    __syncwarp();
    for (uint32_t pos = 0; pos < size;) {
        const uint32_t begin = pos - min(pos, k.window);
        const uint32_t piece = ((pos - begin + 4 * WARP - 1) / (4 * WARP) | 1) * 4;
        const uint32_t mine = begin + lane * piece;
        const uint32_t best =
            best_of_warp(search((const uint32_t *)shared, failures, mine, min(mine + piece, pos),
                                pos, min(size - pos, k.lookahead)));
        const uint32_t length = best == NO_MATCH ? 1 : length_of(best);
        const uint32_t tag = best == NO_MATCH ? 0 : pos - (best & 0xffff);

        for (uint32_t i = lane; i < length; i += WARP)
            tags[pos + i] = (uint16_t)tag;
        pos += length;
    }
}

/* Threads of a block with threads=1. The paper does not give this number. */
#define THREADS 64

/* The number of entries in a thread's failure table; entry 0 is not used. */
static __host__ __device__ __forceinline__ uint32_t table_entries(uint32_t packet)
{
    return packet / 2 + 1;
}

/* Matches a packet by each thread. */
static __global__ void __launch_bounds__(THREADS) match_alone(gpu_view v, dklzss_numbers k)
{
    const uint32_t index = blockIdx.x * THREADS + threadIdx.x, packets = LZ_CHUNK_SIZE / k.packet;
    const uint32_t chunk = index / packets, first = index % packets * k.packet;
    uint16_t *failures = (uint16_t *)v.scratch + (size_t)index * table_entries(k.packet);
    uint16_t *tags = v.tags + (size_t)chunk * LZ_CHUNK_SIZE + first;
    gpu_span span;
    uint32_t left, size;

    if (chunk >= v.chunks)
        return;
    span = gpu_chunk_span(v, chunk);
    left = span.end - span.start;
    size = first < left ? min(k.packet, left - first) : 0;
    for (uint32_t pos = 0; pos < size;) {
        uint32_t distance = 0;
        const uint32_t length =
            dklzss_search(v.input + span.start + first + pos, min(pos, k.window),
                          min(size - pos, k.lookahead), failures, &distance);
        const uint32_t end = pos + max(length, 1u);

        while (pos < end)
            tags[pos++] = (uint16_t)(length > 0 ? distance : 0);
    }
}

static size_t scratch_size(const struct lz_level *level)
{
    const uint32_t packet = level->param[DKLZSS_CHUNK];

    if (level->param[DKLZSS_THREADS] == PAPER_AUTO)
        return 0;
    return LZ_CHUNK_SIZE / packet * table_entries(packet) * sizeof(uint16_t);
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const dklzss_numbers k = {level->param[DKLZSS_WINDOW], level->param[DKLZSS_LOOKAHEAD],
                              level->param[DKLZSS_CHUNK]};
    const size_t size = k.packet + sizeof(uint4) + TABLES_SIZE;
    const uint32_t packets = v.chunks * (LZ_CHUNK_SIZE / k.packet);

    if (level->param[DKLZSS_THREADS] == PAPER_AS_PAPER)
        match_alone<<<(packets + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v, k);
    else
        match<<<packets, WARP, size, stream>>>(v, k);
    return cudaGetLastError();
}

/* Does nothing, since the first kernel has done the walks already. */
static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    (void)v;
    (void)level;
    (void)stream;
    return cudaSuccess;
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)match_alone, (const void *)match};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_dklzss = {scratch_size, find_matches, parse, LZ_MIN_MATCH, load};
