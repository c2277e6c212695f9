/*
 * gpulz.cu - gpuLZ on the GPU (gpulz.c defines the method)
 *
 * One kernel does everything for a packet, with one block. With symbol=auto, another kernel runs
 * before it, with one block for each chunk's sample. A packet is processed in tiles of TILE
 * symbols, in three steps:
 *
 * - Match: the block copies the bytes of the tile and of its window into shared memory. Each thread
 *   takes one position at a time. It goes through the window, and compares the symbol at each place
 *   with the symbol that would continue its run. All lanes take the same steps, whatever the data.
 *   The 32 positions of a warp are a "group". Each warp then finds where a walk from each position
 *   of its group leaves the group, by doubling. At first, each lane knows one step of the walk from
 *   its position. In each round, a lane asks another lane, at the position where its known steps
 *   end, for the steps from there on. So it knows two steps after the first round, then four, and
 *   so on.
 *
 * - Walk: one thread goes from group to group. In each group, it looks up where the walk from its
 *   position leaves the group.
 *
 * - Write: all threads write the tags of their positions.
 */
#include "gpu/internal.cuh"
#include "gpu/warp.cuh"
#include "papers/gpulz.h"
#include "papers/papers.h"

/* THREADS: threads of a block. TILE: symbols of a tile. With a larger tile, the window is copied
 * less often, but a block needs more shared memory: 10 bytes for each symbol, besides the symbol
 * itself. */
#define THREADS 256
#define TILE 1024
#define TILE_GROUPS (TILE / WARP)

/* A walk through a group has at most 2^DOUBLINGS steps, since a group has 32 positions. */
#define DOUBLINGS 5

/* find_match tests after every STRIDE places of the window whether a longer match is still
 * possible. With a larger stride, it tests less often, but goes on longer in vain. Where fewer than
 * STRIDE symbols of the window are left, it tests at each place. */
#define STRIDE 8

static_assert(1 << DOUBLINGS == WARP, "as many steps as positions");
static_assert(THREADS % WARP == 0 && TILE % WARP == 0, "warps have whole groups");
static_assert((GPULZ_WINDOW_MAX + 1) * sizeof(uint32_t) + sizeof(uint4) <= GPU_INPUT_PAD,
              "reads behind a batch");
static_assert(GPULZ_WINDOW_MAX < 256, "lengths and distances have eight bits");

/* Values of the method's keys: `symbol` is one of GPULZ_AUTO to GPULZ_4; `window` is in symbols,
 * `packet` in bytes. */
struct gpulz_numbers {
    uint32_t symbol, window, packet;
};

/* A symbol of three bytes. */
struct gpulz_three {
    uint8_t bytes[3];

    __device__ __forceinline__ bool operator==(const gpulz_three &other) const
    {
        return bytes[0] == other.bytes[0] && bytes[1] == other.bytes[1] &&
               bytes[2] == other.bytes[2];
    }
};

/* A block's shared memory; the tile's bytes come after it. Some of these numbers hold two values.
 * The value named first is in the low bits: 16 bits of `exits`, 8 bits of all others. */
struct alignas(16) block_memory {
    /* A bit mask of the positions in the group that a walk from this position visits. */
    uint32_t visited[TILE];
    /* The position in the tile where that walk leaves the group, and the distance of the walk's
     * last match. The distance is 0 if the walk ends with a literal. */
    uint32_t exits[TILE];
    /* The position's match: distance and length; 0: none. */
    uint16_t found[TILE];
    /* For each group, the lane at which the walk from the packet's start enters the group, and the
     * distance of the match that covers the positions before that lane. The lane is WARP if a match
     * covers the whole group. The distance is 0 if no match covers these positions. */
    uint16_t entries[TILE_GROUPS];
    /* A sample's literals and matches; unused otherwise. */
    uint32_t literals, matches;
};

/*
 * Returns the match at x[0], packed; 0: none. x[0..left) is the rest of the packet.
 *
 * Runs are packed in the same way, so that the larger number is the better run: the longer one, or
 * of equally long ones, the farther one.
 *
 * Between two tests, a run may go past the packet's end, by fewer than STRIDE symbols. The next
 * test then ends the search. Before that test, no other run can become as long. A match that is too
 * long in this way does no harm, because the walk ends at the packet's end anyway.
 */
template <typename Symbol>
static __device__ __forceinline__ uint32_t find_match(const Symbol *x, uint32_t reach,
                                                      uint32_t left)
{
    uint32_t distance = reach, run = reach, best = 0;
    Symbol wanted = x[0];
    const auto compare = [&](Symbol symbol, uint32_t next_distance) {
        run = symbol == wanted ? run + (1u << 8) : next_distance;
        wanted = x[run >> 8];
        best = max(best, run);
    };

    for (uint32_t n = left < STRIDE ? reach : reach % STRIDE; n > 0 && best >> 8 < left; n--) {
        compare(*(x - distance), distance - 1);
        distance--;
    }
    /* Go on until the best run reaches the packet's end, or no other run can become longer than the
     * best. */
    while (distance > 0 && best >> 8 < left && best >> 8 < (run >> 8) + distance) {
        const Symbol *there = x - distance;

#pragma unroll
        for (uint32_t i = 0; i < STRIDE; i++)
            compare(there[i], distance - i - 1);
        distance -= STRIDE;
    }
    return best >> 8 < gpulz_least(sizeof(Symbol)) ? 0 : best;
}

/* Sets `visited` and `exits` for the positions of a group. All lanes of the warp call this
 * function. */
static __device__ __forceinline__ void follow_walks(block_memory *b, uint32_t at, uint32_t found)
{
    const uint32_t lane = threadIdx.x % WARP, length = found >> 8;
    uint32_t next = lane + max(length, 1u), visited = 1u << lane, last;

#pragma unroll
    for (int i = 0; i < DOUBLINGS; i++) {
        const uint32_t further = __shfl_sync(ALL_LANES, next, (int)(next % WARP));
        const uint32_t more = __shfl_sync(ALL_LANES, visited, (int)(next % WARP));

        if (next < WARP) {
            next = further;
            visited |= more;
        }
    }
    last = 31 - (uint32_t)__clz((int)visited);
    b->found[at] = (uint16_t)found;
    b->visited[at] = visited;
    b->exits[at] = (at - lane + next) | (__shfl_sync(ALL_LANES, found, (int)last) & 255) << 16;
}

/*
 * Matches the packet of `size` symbols at `in`, which is 16-byte aligned. All threads of the block
 * call this function. Calls put(at, distance, begins) for each position, by whole warps. distance:
 * that of the match that covers the position, or 0. begins: whether that match, or a literal,
 * begins at the position. It also calls `put` for the positions after the packet's end, up to the
 * next multiple of WARP.
 */
template <typename Symbol, typename Put>
static __device__ __forceinline__ void match_packet(block_memory *b, const uint8_t *in,
                                                    uint32_t size, uint32_t window, Put put)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint4 *input = (const uint4 *)in;
    uint4 *data = (uint4 *)(b + 1);
    /* Only thread 0 uses these two numbers. covered: where the last match ends, counted from the
     * tile's start. distance: that match's distance. */
    uint32_t covered = 0, distance = 0;

    for (uint32_t tile = 0; tile < size; tile += TILE) {
        const uint32_t count = min(size - tile, TILE);
        const uint32_t rounded = (count + WARP - 1) / WARP * WARP;
        const uint32_t first = (tile - min(tile, window)) * sizeof(Symbol) / sizeof(uint4);
        const uint32_t behind =
            ((tile + count + window) * sizeof(Symbol) + sizeof(uint4) - 1) / sizeof(uint4);
        const Symbol *x =
            (const Symbol *)((const uint8_t *)data + tile * sizeof(Symbol) - first * sizeof(uint4));

        for (uint32_t i = first + threadIdx.x; i < behind; i += THREADS)
            data[i - first] = __ldg(input + i);
        __syncthreads();
        for (uint32_t at = threadIdx.x; at < rounded; at += THREADS) {
            uint32_t found = 0;

            if (at < count)
                found = find_match(x + at, min(tile + at, window), size - tile - at);
            follow_walks(b, at, found);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (uint32_t group = 0; group < rounded; group += WARP) {
                const uint32_t entry = min(covered - group, WARP);

                b->entries[group / WARP] = (uint16_t)(entry | distance << 8);
                if (entry < WARP) {
                    const uint32_t left = b->exits[covered];

                    covered = left & 0xffff;
                    distance = left >> 16;
                }
            }
            covered -= TILE;
        }
        __syncthreads();
        for (uint32_t at = threadIdx.x; at < rounded; at += THREADS) {
            const uint32_t entry = b->entries[at / WARP] & 255;
            uint32_t by = b->entries[at / WARP] >> 8;
            bool begins = false;

            if (lane >= entry) {
                const uint32_t met = b->visited[at - lane + entry] & ALL_LANES >> (31 - lane);
                const uint32_t start = 31 - (uint32_t)__clz((int)met);

                by = b->found[at - lane + start] & 255;
                begins = start == lane;
            }
            put(tile + at, by, begins);
        }
    }
}

/* Writes the tags of a packet. */
template <typename Symbol>
static __device__ __forceinline__ void write_tags(block_memory *b, const uint8_t *in,
                                                  uint32_t bytes, uint32_t window, uint16_t *tags)
{
    const uint32_t size = bytes / sizeof(Symbol);

    match_packet<Symbol>(b, in, size, window, [&](uint32_t at, uint32_t distance, bool) {
        const uint64_t tag = distance * sizeof(Symbol);

        if (at >= size)
            return;
        if (sizeof(Symbol) == 1)
            tags[at] = (uint16_t)tag;
        else if (sizeof(Symbol) == 2)
            ((uint32_t *)tags)[at] = (uint32_t)(tag * 0x10001);
        else if (sizeof(Symbol) == 3)
            tags[3 * at] = tags[3 * at + 1] = tags[3 * at + 2] = (uint16_t)tag;
        else
            ((uint64_t *)tags)[at] = tag * 0x1000100010001;
    });
    for (uint32_t i = size * sizeof(Symbol) + threadIdx.x; i < bytes; i += THREADS)
        tags[i] = 0;
}

static __global__ void __launch_bounds__(THREADS) match(gpu_view v, gpulz_numbers k)
{
    extern __shared__ uint4 shared[];
    block_memory *b = (block_memory *)shared;
    const uint32_t packets = LZ_CHUNK_SIZE / k.packet;
    const uint32_t chunk = blockIdx.x / packets, begin = blockIdx.x % packets * k.packet;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t size = span.end - span.start;
    const uint32_t bytes = begin < size ? min(k.packet, size - begin) : 0;
    const uint8_t *in = v.input + span.start + begin;
    uint16_t *tags = v.tags + (size_t)chunk * LZ_CHUNK_SIZE + begin;
    const uint32_t width =
        k.symbol == GPULZ_AUTO ? ((const uint32_t *)v.scratch)[chunk] : gpulz_width(k.symbol);

    if (width == 1)
        write_tags<uint8_t>(b, in, bytes, k.window, tags);
    else if (width == 2)
        write_tags<uint16_t>(b, in, bytes, k.window, tags);
    else if (width == 3)
        write_tags<gpulz_three>(b, in, bytes, k.window, tags);
    else
        write_tags<uint32_t>(b, in, bytes, k.window, tags);
}

/* Returns the size, in bits, of a chunk's sample in the paper's coding. All threads get the
 * result. */
template <typename Symbol>
static __device__ __forceinline__ uint32_t count_bits(block_memory *b, const uint8_t *in,
                                                      uint32_t sample, gpulz_numbers k)
{
    __syncthreads();
    if (threadIdx.x == 0)
        b->literals = b->matches = 0;
    for (uint32_t begin = 0; begin < sample; begin += k.packet) {
        const uint32_t size = min(k.packet, sample - begin) / sizeof(Symbol);

        match_packet<Symbol>(
            b, in + begin, size, k.window, [&](uint32_t at, uint32_t distance, bool begins) {
                const uint32_t literals =
                    __ballot_sync(ALL_LANES, begins && distance == 0 && at < size);
                const uint32_t matches = __ballot_sync(ALL_LANES, begins && distance != 0);

                if (threadIdx.x % WARP == 0) {
                    atomicAdd(&b->literals, (uint32_t)__popc(literals));
                    atomicAdd(&b->matches, (uint32_t)__popc(matches));
                }
            });
    }
    __syncthreads();
    return gpulz_bits(b->literals, b->matches, sizeof(Symbol));
}

/* Stores the width of each chunk's symbols in the scratch memory. */
static __global__ void __launch_bounds__(THREADS) choose(gpu_view v, gpulz_numbers k)
{
    extern __shared__ uint4 shared[];
    block_memory *b = (block_memory *)shared;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint8_t *in = v.input + span.start;
    const uint32_t sample = min(span.end - span.start, GPULZ_SAMPLE);
    const uint32_t bits1 = count_bits<uint8_t>(b, in, sample, k);
    const uint32_t bits2 = count_bits<uint16_t>(b, in, sample, k);
    const uint32_t bits4 = count_bits<uint32_t>(b, in, sample, k);

    if (threadIdx.x == 0)
        ((uint32_t *)v.scratch)[blockIdx.x] = gpulz_choose(sample, bits1, bits2, bits4);
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(uint32_t);
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const gpulz_numbers k = {level->param[GPULZ_SYMBOL], level->param[GPULZ_WINDOW],
                             level->param[GPULZ_CHUNK]};
    const uint32_t width = k.symbol == GPULZ_AUTO ? 4 : gpulz_width(k.symbol);
    const size_t size = sizeof(block_memory) + (TILE + 2 * k.window) * width + 2 * sizeof(uint4);

    if (k.symbol == GPULZ_AUTO)
        choose<<<v.chunks, THREADS, size, stream>>>(v, k);
    match<<<v.chunks *(LZ_CHUNK_SIZE / k.packet), THREADS, size, stream>>>(v, k);
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

const struct gpu_finder gpu_finder_gpulz = {scratch_size, find_matches, parse, LZ_MIN_MATCH};
