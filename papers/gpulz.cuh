/*
 * gpulz.cuh - how a block of threads matches a packet of gpuLZ (gpulz.c defines the method)
 *
 * The match finder (gpulz.cu) makes tags from the matches, and papers/codec/fused.cu codes them at
 * once, as the paper does. A packet is processed in tiles of GPULZ_TILE symbols, in three steps:
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
 * - Write: all threads hand over the distances at their positions.
 */
#ifndef GZLZSS_PAPERS_GPULZ_CUH
#define GZLZSS_PAPERS_GPULZ_CUH

#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/warp.cuh"
#include "papers/gpulz.h"

/* GPULZ_THREADS: threads of a block. GPULZ_TILE: symbols of a tile. With a larger tile, the window
 * is copied less often, but a block needs more shared memory: 10 bytes for each symbol, besides the
 * symbol itself. */
#define GPULZ_THREADS 256
#define GPULZ_TILE 1024
#define GPULZ_TILE_GROUPS (GPULZ_TILE / WARP)

/* A walk through a group has at most 2^GPULZ_DOUBLINGS steps, since a group has 32 positions. */
#define GPULZ_DOUBLINGS 5

/* gpulz_find_match tests after every GPULZ_STRIDE places of the window whether a longer match is
 * still possible. With a larger stride, it tests less often, but goes on longer in vain. Where
 * fewer than GPULZ_STRIDE symbols of the window are left, it tests at each place. */
#define GPULZ_STRIDE 8

static_assert(1 << GPULZ_DOUBLINGS == WARP, "as many steps as positions");
static_assert(GPULZ_THREADS % WARP == 0 && GPULZ_TILE % WARP == 0, "warps have whole groups");
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
struct alignas(16) gpulz_memory {
    /* A bit mask of the positions in the group that a walk from this position visits. */
    uint32_t visited[GPULZ_TILE];
    /* The position in the tile where that walk leaves the group, and the distance of the walk's
     * last match. The distance is 0 if the walk ends with a literal. */
    uint32_t exits[GPULZ_TILE];
    /* The position's match: distance and length; 0: none. */
    uint16_t found[GPULZ_TILE];
    /* For each group, the lane at which the walk from the packet's start enters the group, and the
     * distance of the match that covers the positions before that lane. The lane is WARP if a match
     * covers the whole group. The distance is 0 if no match covers these positions. */
    uint16_t entries[GPULZ_TILE_GROUPS];
    /* A sample's literals and matches; unused otherwise. */
    uint32_t literals, matches;
};

/*
 * Returns the match at x[0], packed; 0: none. x[0..left) is the rest of the packet.
 *
 * Runs are packed in the same way, so that the larger number is the better run: the longer one, or
 * of equally long ones, the farther one.
 *
 * Between two tests, a run may go past the packet's end, by fewer than GPULZ_STRIDE symbols. The
 * next test then ends the search. Before that test, no other run can become as long. A match that
 * is too long in this way does no harm, because the walk ends at the packet's end anyway.
 */
template <typename Symbol>
static __device__ __forceinline__ uint32_t gpulz_find_match(const Symbol *x, uint32_t reach,
                                                            uint32_t left)
{
    uint32_t distance = reach, run = reach, best = 0;
    Symbol wanted = x[0];
    const auto compare = [&](Symbol symbol, uint32_t next_distance) {
        run = symbol == wanted ? run + (1u << 8) : next_distance;
        wanted = x[run >> 8];
        best = max(best, run);
    };

    for (uint32_t n = left < GPULZ_STRIDE ? reach : reach % GPULZ_STRIDE; n > 0 && best >> 8 < left;
         n--) {
        compare(*(x - distance), distance - 1);
        distance--;
    }
    /* Go on until the best run reaches the packet's end, or no other run can become longer than the
     * best. */
    while (distance > 0 && best >> 8 < left && best >> 8 < (run >> 8) + distance) {
        const Symbol *there = x - distance;

#pragma unroll
        for (uint32_t i = 0; i < GPULZ_STRIDE; i++)
            compare(there[i], distance - i - 1);
        distance -= GPULZ_STRIDE;
    }
    return best >> 8 < gpulz_least(sizeof(Symbol)) ? 0 : best;
}

/* Sets `visited` and `exits` for the positions of a group. All lanes of the warp call this
 * function. */
static __device__ __forceinline__ void gpulz_follow_walks(gpulz_memory *b, uint32_t at,
                                                          uint32_t found)
{
    const uint32_t lane = threadIdx.x % WARP, length = found >> 8;
    uint32_t next = lane + max(length, 1u), visited = 1u << lane, last;

#pragma unroll
    for (int i = 0; i < GPULZ_DOUBLINGS; i++) {
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
 *
 * After a thread's last `put` of a tile, calls end_tile(tile, rounded). The tile has the positions
 * [tile, tile + rounded), and b->found has their matches. end_tile must begin with a barrier if it
 * reads what other threads' calls of `put` have written. Barriers are allowed there, since all
 * threads call it.
 */
template <typename Symbol, typename Put, typename End>
static __device__ __forceinline__ void gpulz_match_packet(gpulz_memory *b, const uint8_t *in,
                                                          uint32_t size, uint32_t window, Put put,
                                                          End end_tile)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint4 *input = (const uint4 *)in;
    uint4 *data = (uint4 *)(b + 1);
    /* Only thread 0 uses these two numbers. covered: where the last match ends, counted from the
     * tile's start. distance: that match's distance. */
    uint32_t covered = 0, distance = 0;

    for (uint32_t tile = 0; tile < size; tile += GPULZ_TILE) {
        const uint32_t count = min(size - tile, GPULZ_TILE);
        const uint32_t rounded = (count + WARP - 1) / WARP * WARP;
        const uint32_t first = (tile - min(tile, window)) * sizeof(Symbol) / sizeof(uint4);
        const uint32_t behind =
            ((tile + count + window) * sizeof(Symbol) + sizeof(uint4) - 1) / sizeof(uint4);
        const Symbol *x =
            (const Symbol *)((const uint8_t *)data + tile * sizeof(Symbol) - first * sizeof(uint4));

        for (uint32_t i = first + threadIdx.x; i < behind; i += GPULZ_THREADS)
            data[i - first] = __ldg(input + i);
        __syncthreads();
        for (uint32_t at = threadIdx.x; at < rounded; at += GPULZ_THREADS) {
            uint32_t found = 0;

            if (at < count)
                found = gpulz_find_match(x + at, min(tile + at, window), size - tile - at);
            gpulz_follow_walks(b, at, found);
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
            covered -= GPULZ_TILE;
        }
        __syncthreads();
        for (uint32_t at = threadIdx.x; at < rounded; at += GPULZ_THREADS) {
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
        end_tile(tile, rounded);
    }
}

/* Returns the dynamic shared memory of a block, in bytes, for symbols of `width` bytes. */
static inline size_t gpulz_shared_size(uint32_t width, uint32_t window)
{
    return sizeof(gpulz_memory) + (GPULZ_TILE + 2 * window) * width + 2 * sizeof(uint4);
}

/* The values of a level's keys. */
static inline gpulz_numbers gpulz_numbers_of(const struct lz_level *level)
{
    return {level->param[GPULZ_SYMBOL], level->param[GPULZ_WINDOW], level->param[GPULZ_CHUNK]};
}

/* Queues the kernel that stores the width of each chunk's symbols in the scratch memory, if the
 * level's key `symbol` is `auto` (gpulz.cu). */
cudaError_t gpulz_queue_choice(const gpu_view &v, const struct lz_level *level,
                               cudaStream_t stream);

#endif
