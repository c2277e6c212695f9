/*
 * optimal.cu - near-optimal parsing on the GPU (lzss/optimal.h defines what it finds)
 *
 * Each chunk's shortest path is computed sequentially, from its last position to its first. All
 * other work is parallel: matches are gathered at all positions side by side, and the path tries
 * lengths at 32 positions side by side. The chunks of a batch are always side by side. Lists, links
 * and counts take 1.6 MiB of device memory for each chunk. The kernels run in this order:
 *
 * - link: makes the chains by each prefix (links.cuh).
 *
 * - gather: one block for each chunk makes the lists of matches, in a step for each prefix. In a
 *   step, the block has the links of one set of chains in shared memory, and follows the chains of
 *   all positions (search.cuh). Between steps, a list is in device memory, and tells where the next
 *   step goes on.
 *
 * - first: one warp for each chunk empties the lists inside matches of `nice` bytes, walks the
 *   first parse, and counts the symbols of its units.
 *
 * - For each pass over the samples: the kernels of a pass, which leave out all other chunks. Here,
 *   and in the first pass over a group that has a sample, split makes one block of the sample.
 *
 * - For each pass: split (one warp for each group, in the block of the group's first chunk) joins
 *   units into blocks. Then path (one warp for each chunk) finds the shortest path, position by
 *   position from the end. Then walk (one warp for each chunk) follows the path, and counts
 *   symbols; in the last pass, it writes tags instead.
 *
 * - compact: see compact.cu. A run of one tag becomes one match, so adjacent matches at one
 *   distance are joined; counting joins them, too.
 *
 * link and gather are limited by shared memory and instructions; the other kernels wait for memory
 * and for their own results, and leave most of a multiprocessor free. So these are in the stream
 * for parsing (engine.cu), and run beside the link and gather of other batches. That is why a block
 * of gather leaves registers for them (GATHER_BOUNDS), and why they use little shared memory.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/match/links.cuh"
#include "gpu/cuda/match/search.cuh"
#include "gpu/cuda/warp.cuh"
#include "lzss/optimal.h"

/* The path keeps the cost to the chunk's end for the last RING positions that it visited. RING must
 * be at least LZ_MAX_MATCH + WARP. A power of two makes a position's place in the ring its low
 * bits. A larger RING only takes more shared memory. */
#define RING 512

/* A step has 16 bits. The low LZ_STEP_BITS bits are the length; the bits above are the match's
 * index in the list. */
static_assert(LZ_MAX_MATCHES <= 1 << (16 - LZ_STEP_BITS), "places in a list in a step");
static_assert(RING >= LZ_MAX_MATCH + WARP, "room for costs");
static_assert(LZ_UNIT_SIZE % WARP == 0, "a warp's positions are of one unit");

#define UNITS LZ_UNITS_A_CHUNK

/* A chunk's scratch memory. The arrays of links are 16-byte aligned for copy_to_shared. */
struct alignas(16) optimal_scratch {
    uint32_t matches[LZ_MAX_MATCHES][LZ_CHUNK_SIZE];
    uint16_t links[LZ_PREFIXES][LZ_CHUNK_SIZE]; /* the chains by prefixes of LZ_PREFIX(i) bytes */
    uint16_t steps[LZ_CHUNK_SIZE];
    uint8_t matches_count[LZ_CHUNK_SIZE];
    bool in_sample;            /* the chunk is in its group's sample */
    uint64_t unit_size[UNITS]; /* the unit's size as a block of its own (lz_symbol_size) */
    uint32_t counts[UNITS][LZ_SYMBOLS];
    /* Counts of the block that starts with the unit; undefined if no block starts with it. */
    uint32_t blocks[UNITS][LZ_SYMBOLS];
    /* The unit that starts this unit's block, numbered within the batch. */
    uint32_t block_of[UNITS];
};

/* Blocks of threads that make a chunk's links. Hashes of 16 bits take two blocks (links.cuh), those
 * of prefixes 0, 5, 6 and 7 one. The last two blocks are for the prefixes that some levels leave
 * out. */
#define LINK_BLOCKS 12

/* The number of chunks in a row whose links a block makes. Each chunk is the next one's history, so
 * its positions are already in the table, and are entered only once. With 8, a batch of 32 MiB has
 * half as many blocks, which take less time together, but small batches fill less of the device. */
#define LINK_RUN 4

template <uint32_t PREFIX>
static __device__ __forceinline__ void make_links_by(const gpu_view &v, uint16_t *table,
                                                     uint32_t half = 0)
{
    const uint32_t first = blockIdx.x * LINK_RUN, end = min(first + LINK_RUN, v.chunks);

    for (uint32_t i = first; i < end; i++) {
        const gpu_chunk c = gpu_chunk_at(v, i);
        struct optimal_scratch *s = (struct optimal_scratch *)v.scratch + i;

        make_links<LZ_PREFIX(PREFIX), true>(s->links[PREFIX], table, c, LZ_CHAINS_WINDOW, half,
                                            i > first && c.history > 0);
    }
}

static __global__ void __launch_bounds__(TABLE_THREADS) link_chunks(gpu_view v)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;

    switch (blockIdx.y) {
    case 0:
        return make_links_by<0>(v, table);
    case 1:
        return make_links_by<5>(v, table);
    case 2:
    case 3:
        return make_links_by<1>(v, table, blockIdx.y % 2);
    case 4:
    case 5:
        return make_links_by<2>(v, table, blockIdx.y % 2);
    case 6:
    case 7:
        return make_links_by<3>(v, table, blockIdx.y % 2);
    case 8:
    case 9:
        return make_links_by<4>(v, table, blockIdx.y % 2);
    case 10:
        return make_links_by<6>(v, table);
    default:
        return make_links_by<7>(v, table);
    }
}

/* Set in a position's matches_count while matches are gathered: a chain has ended, so the list is
 * complete. */
#define LIST_ENDED 128

static_assert(LZ_MAX_MATCHES < LIST_ENDED, "a count beside the flag");

/* While matches are gathered, this row has each list's latest match, or 0 if there is none. The
 * lists do not need the row before they are full, and then the latest match belongs there. */
#define LATEST (LZ_MAX_MATCHES - 1)

/* Loads how many matches the list of position `own` has, and perhaps LIST_ENDED: 0 after the
 * chunk's end. Code that loads ahead removes the flag later, because that waits for the load. */
static __device__ __forceinline__ uint32_t load_flagged(const struct optimal_scratch *s,
                                                        uint32_t own, uint32_t size)
{
    return own < size ? s->matches_count[own] : 0;
}

/* Loads how many matches the list of position `own` has: none after the chunk's end. */
static __device__ __forceinline__ uint32_t load_count(const struct optimal_scratch *s, uint32_t own,
                                                      uint32_t size)
{
    return load_flagged(s, own, size) & (LIST_ENDED - 1);
}

/* Returns the longest match, packed, of position `own`, whose list has `count` matches; 0 if it has
 * none. */
static __device__ __forceinline__ uint32_t longest_of(const struct optimal_scratch *s, uint32_t own,
                                                      uint32_t count)
{
    return count == 0 ? 0 : s->matches[count - 1][own];
}

/* The level's parameters for gathering. */
struct gather_limits {
    uint32_t depth, long_depth, longest_depth, nice;
};

/* Starts the list of each position with the nearest match of three bytes. */
template <typename Data, typename Links>
static __device__ __forceinline__ void gather_three(const gpu_chunk &c, struct optimal_scratch *s,
                                                    Data data, Links links)
{
    for (uint32_t pos = c.history + threadIdx.x; pos < c.end; pos += SEARCH_THREADS) {
        const uint32_t own = pos - c.history;
        uint32_t distance = 0, match = 0;

        for (uint32_t i = c.end - pos < LZ_MIN_MATCH ? 0 : LZ_OPTIMAL_DEPTH3; i > 0; i--) {
            distance += link_at(links, c, pos - distance);
            if (distance > LZ_CHAINS_WINDOW)
                break;
            if (((load32(data, pos - distance) ^ load32(data, pos)) & 0xffffff) == 0) {
                match = lz_pack_match(LZ_MIN_MATCH, distance);
                break;
            }
        }
        s->matches[0][own] = match;
        s->matches[LATEST][own] = match;
        s->matches_count[own] = match != 0;
    }
}

/* One lane's search, and how many matches the list of its position has. */
struct list_search : chain_search {
    uint32_t count;
};

/* What the earlier steps have stored of a position's list: matches_count and the latest match. */
struct stored_list {
    uint32_t count, latest;
};

/* Returns how the step by `bytes` bytes starts at pos: the length to exceed, the distance from
 * which to go on, and, in place of a symbol, how many matches the list has, packed as a match
 * (lz_pack_match). Returns 0 if the step leaves out the position. */
static __device__ __forceinline__ uint32_t start_of(const gpu_chunk &c, stored_list list,
                                                    uint32_t pos, uint32_t bytes, uint32_t enough,
                                                    uint32_t nice)
{
    /* The latest match is the candidate that ended the last step, if that step has ended with a
     * match of `bytes` bytes. */
    uint32_t best = max(lz_packed_length(list.latest), (uint32_t)LZ_MIN_MATCH);
    uint32_t distance = lz_packed_distance(list.latest);

    if (list.count >= LIST_ENDED ||
        !lz_goes_on(&best, &distance, false, bytes, min(nice, longest_at(c, pos))) ||
        best >= enough)
        return 0;
    return lz_pack(best, distance) | list.count << 15;
}

/* Does the step of gathering by prefix i, 1 or more, at all positions; compare gather_by in
 * lzss/optimal.c. next: a counter in shared memory, for search_all. */
template <typename Data, typename Links>
static __device__ __forceinline__ void gather_by(const gpu_chunk &c, struct optimal_scratch *s,
                                                 Data data, Links links, uint32_t i,
                                                 const gather_limits &limits, uint32_t *next)
{
    const uint32_t bytes = LZ_PREFIX(i);
    const uint32_t enough =
        i + 1 < lz_prefixes(limits.longest_depth) ? LZ_PREFIX(i + 1) : limits.nice;

    search_all<list_search>(
        c, data, links,
        lz_prefix_depth(bytes, limits.depth, limits.long_depth, limits.longest_depth),
        choose_positions<stored_list>(
            next, c.end,
            [&](uint32_t pos) {
                return stored_list{s->matches_count[pos - c.history],
                                   s->matches[LATEST][pos - c.history]};
            },
            [&](uint32_t pos, stored_list list) {
                return start_of(c, list, pos, bytes, enough, limits.nice);
            }),
        [&](list_search &l, uint32_t pos, uint32_t start) {
            begin_chain(l, data, pos, lz_packed_distance(start), lz_packed_length(start),
                        longest_at(c, pos), min(enough, limits.nice));
            l.count = lz_packed_symbol(start);
        },
        [&](list_search &l, uint32_t length, uint32_t distance) {
            const uint32_t match = lz_pack_match(length, distance);

            if (l.count == LZ_MAX_MATCHES)
                l.count--;
            s->matches[l.count++][l.pos - c.history] = match;
            s->matches[LATEST][l.pos - c.history] = match;
            return true;
        },
        [&](const list_search &l) {
            s->matches_count[l.pos - c.history] =
                (uint8_t)(l.count | (has_ended(l) ? LIST_ENDED : 0));
        });
}

/* Gathers at all positions of a chunk; one block calls this function. s: the chunk's scratch
 * memory, which is the array element after the scratch memory of the chunk before. next: counters
 * in shared memory, one for each prefix. DATA and LINKS say what is in shared memory. */
template <bool DATA, bool LINKS>
static __device__ __forceinline__ void gather_chunk(const gpu_chunk &c, struct optimal_scratch *s,
                                                    const gather_limits &limits, uint32_t *next)
{
    /* Without history, no search reads the links of the chunk before, so any pointer will do. */
    const struct optimal_scratch *before = c.history > 0 ? s - 1 : s;
    const auto data = data_for_search<DATA>(c);

    if (threadIdx.x < LZ_PREFIXES)
        next[threadIdx.x] = c.history;
    for (uint32_t i = 0; i < lz_prefixes(limits.longest_depth); i++) {
        /* All searches by the last prefix must have ended. */
        __syncthreads();
        const auto links = links_for_search<LINKS>(c, s->links[i], before->links[i]);

        __syncthreads();
        if (i == 0)
            gather_three(c, s, data, links);
        else
            gather_by(c, s, data, links, i, limits, &next[i]);
    }
}

/* The bounds of gather_chunks. With 40 registers for each thread, a block leaves three eighths of a
 * multiprocessor's registers to other batches' warps that walk along chunks. Without a limit, it
 * would take all of them, and be no faster. (CUDA has __maxnreg__ since 12.4.) */
#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define GATHER_BOUNDS __maxnreg__(40)
#else
#define GATHER_BOUNDS __launch_bounds__(SEARCH_THREADS)
#endif

template <bool DATA, bool LINKS>
static __global__ void GATHER_BOUNDS gather_chunks(gpu_view v, gather_limits limits)
{
    __shared__ uint32_t next[LZ_PREFIXES];
    struct optimal_scratch *s = (struct optimal_scratch *)v.scratch + blockIdx.x;

    search_whole(gpu_chunk_at(v, blockIdx.x),
                 [&](const gpu_chunk &c) { gather_chunk<DATA, LINKS>(c, s, limits, next); });
}

static cudaError_t queue_gather(const gpu_view &v, const gather_limits &limits, cudaStream_t stream)
{
    void (*kernel)(gpu_view, gather_limits);
    size_t size;
    const cudaError_t status = choose_search(
        v, {gather_chunks<true, true>, gather_chunks<true, false>, gather_chunks<false, false>},
        &kernel, &size);

    if (status != cudaSuccess)
        return status;
    kernel<<<v.chunks, SEARCH_THREADS, size, stream>>>(v, limits);
    return cudaGetLastError();
}

/* --- Counting and writing a parse --- */

/* How often a walk has each symbol in each unit of the chunk; in shared memory. */
struct tally {
    uint32_t pairs[UNITS][LZ_SYMBOLS / 2]; /* two symbols' counts in each number */
};

static_assert(LZ_SYMBOLS % 2 == 0, "pairs of symbols");

/* Adds n to the symbol's count in the unit. */
static __device__ __forceinline__ void count_symbol(tally &t, uint32_t unit, uint32_t symbol,
                                                    uint32_t n)
{
    atomicAdd(&t.pairs[unit][symbol / 2], n << 16 * (symbol % 2));
}

/* The bits of a packed match that have its distance and the distance's symbol (lz_pack_match). In
 * this file, the distance of a match to be counted is these bits. */
#define DISTANCE_MASK 0xfffff

/* The latest match, which an adjacent match at the same distance may extend. All lanes have the
 * same values. */
struct pending {
    uint32_t start, length, distance;
};

static __device__ void count_match(tally &t, const pending &p)
{
    const uint32_t unit = p.start / LZ_UNIT_SIZE, pieces = lz_pieces(p.length);

    if (p.length > 0 && threadIdx.x == 0) {
        for (uint32_t i = 0; i < pieces; i++)
            count_symbol(t, unit, deflate_length_symbol(lz_piece_length(p.length, i)), 1);
        count_symbol(t, unit, DEFLATE_LITLEN_SYMBOLS + lz_packed_symbol(p.distance), pieces);
    }
}

static __device__ __forceinline__ void add_match(tally &t, pending &p, uint32_t pos,
                                                 uint32_t length, uint32_t distance)
{
    if (lz_continues(p.start, p.length, p.distance, pos, distance)) {
        p.length += length;
        return;
    }
    count_match(t, p);
    p.start = pos;
    p.length = length;
    p.distance = distance;
}

/* Returns the mask of lanes before this one. */
static __device__ __forceinline__ uint32_t lanes_before(void)
{
    return (1u << threadIdx.x) - 1;
}

/* Returns the chunk's byte at position `own`, or 0 after its end. */
static __device__ __forceinline__ uint32_t load_byte(const gpu_view &v, const gpu_span &span,
                                                     uint32_t own)
{
    return own < span.end - span.start ? v.input[span.start + own] : 0;
}

/* What a parse has at the 32 positions of a group: a bit for each match that starts there, and for
 * each literal. */
struct path_part {
    uint32_t starts, literals;
};

/* Adds the matches that start at the lanes of `starts` to the tally and the pending match. length,
 * distance: those of the match at this lane. Seldom does a match join the one before it; otherwise,
 * the lanes count side by side. */
static __device__ __forceinline__ void add_matches(tally &t, pending &p, uint32_t group,
                                                   uint32_t starts, uint32_t length,
                                                   uint32_t distance)
{
    const uint32_t lane = threadIdx.x, before = starts & lanes_before();
    const bool is_start = (starts >> lane & 1) != 0;
    const uint32_t last = 31 - (uint32_t)__clz((int)before);
    const uint32_t end = last + __shfl_sync(ALL_LANES, length, (int)last);
    const uint32_t last_distance = __shfl_sync(ALL_LANES, distance, (int)last);
    const bool joins = is_start && (before != 0 ? end == lane && last_distance == distance
                                                : lz_continues(p.start, p.length, p.distance,
                                                               group + lane, distance));

    if (starts == 0)
        return;
    if (__ballot_sync(ALL_LANES, joins) == 0) {
        /* The last match becomes the pending one, and its lane counts the one that was pending. */
        const uint32_t open = 31 - (uint32_t)__clz((int)starts);
        const bool is_open = lane == open;
        const uint32_t counted = is_open ? p.length : length;
        const uint32_t counted_distance = is_open ? p.distance : distance;
        const uint32_t unit = (is_open ? p.start : group) / LZ_UNIT_SIZE;

        if (p.length > LZ_MAX_MATCH)
            count_match(t, p);
        if (is_start && counted - 1 < LZ_MAX_MATCH) {
            count_symbol(t, unit, deflate_length_symbol(counted), 1);
            count_symbol(t, unit, DEFLATE_LITLEN_SYMBOLS + lz_packed_symbol(counted_distance), 1);
        }
        p.start = group + open;
        p.length = __shfl_sync(ALL_LANES, length, (int)open);
        p.distance = __shfl_sync(ALL_LANES, distance, (int)open);
        return;
    }
    for (; starts != 0; starts &= starts - 1) {
        const int at = __ffs((int)starts) - 1;

        add_match(t, p, group + (uint32_t)at, __shfl_sync(ALL_LANES, length, at),
                  __shfl_sync(ALL_LANES, distance, at));
    }
}

/* The symbols are divided among the lanes: a lane's i-th symbol is lane + 32 i. */
#define SYMBOLS_A_LANE ((LZ_SYMBOLS + WARP - 1) / WARP)

/* Sets the sums of the counts of literals and lengths, and of distances, in all lanes. */
static __device__ __forceinline__ void add_up(const uint32_t counts[SYMBOLS_A_LANE],
                                              uint32_t *litlens, uint32_t *distances)
{
    *litlens = *distances = 0;
#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++) {
        if (threadIdx.x + WARP * i < DEFLATE_LITLEN_SYMBOLS)
            *litlens += counts[i];
        else
            *distances += counts[i];
    }
    *litlens = gpu_warp_sum(*litlens);
    *distances = gpu_warp_sum(*distances);
}

/* Returns the estimated size of a block with these counts, in 1/256 bits, to all lanes. */
static __device__ uint64_t estimate(const uint32_t counts[SYMBOLS_A_LANE], uint32_t header_cost)
{
    uint32_t litlens, distances, litlen, distance;
    uint64_t size = 0;

    add_up(counts, &litlens, &distances);
    litlen = lz_log2_litlens(litlens);
    distance = lz_log2_distances(distances);
#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++)
        size += lz_symbol_size(counts[i],
                               threadIdx.x + WARP * i < DEFLATE_LITLEN_SYMBOLS ? litlen : distance,
                               header_cost);
    return gpu_warp_sum(size);
}

static __device__ void load_counts(uint32_t counts[SYMBOLS_A_LANE], const uint32_t *from)
{
#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++) {
        uint32_t symbol = threadIdx.x + WARP * i;

        counts[i] = symbol < LZ_SYMBOLS ? from[symbol] : 0;
    }
}

static __device__ void store_counts(uint32_t *to, const uint32_t counts[SYMBOLS_A_LANE])
{
#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++) {
        uint32_t symbol = threadIdx.x + WARP * i;

        if (symbol < LZ_SYMBOLS)
            to[symbol] = counts[i];
    }
}

/* Loads a unit's counts. */
static __device__ void load_tally(uint32_t counts[SYMBOLS_A_LANE], const tally &t, uint32_t unit)
{
#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++) {
        const uint32_t symbol = threadIdx.x + WARP * i;

        counts[i] =
            symbol < LZ_SYMBOLS ? t.pairs[unit][symbol / 2] >> 16 * (symbol % 2) & 0xffff : 0;
    }
}

static __device__ void clear_tally(tally &t)
{
    for (uint32_t i = threadIdx.x; i < UNITS * LZ_SYMBOLS / 2; i += WARP)
        ((uint32_t *)t.pairs)[i] = 0;
    __syncwarp();
}

/* Stores the counts and sizes of the chunk's units, for split_groups in pass `pass`. */
static __device__ void store_tally(struct optimal_scratch *s, const tally &t, uint32_t pass)
{
    __syncwarp();
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        uint32_t counts[SYMBOLS_A_LANE];
        uint64_t size;

        load_tally(counts, t, unit);
        size = estimate(counts, lz_header_cost(pass));
        store_counts(s->counts[unit], counts);
        if (threadIdx.x == 0)
            s->unit_size[unit] = size;
    }
}

/* --- The first parse --- */

/* Empties the lists of those of the 32 positions from `group` on that are inside a match of `nice`
 * bytes. `longest` is this lane's longest match. *until is the end of the last such match. Returns
 * the longest match that is left. */
static __device__ uint32_t skip_within(struct optimal_scratch *s, uint32_t group, uint32_t longest,
                                       uint32_t nice, uint32_t *until)
{
    const uint32_t own = group + threadIdx.x;
    const uint32_t length = lz_packed_length(longest);
    bool within = own < *until;

    for (;;) {
        const uint32_t mask = __ballot_sync(ALL_LANES, length >= nice && own >= *until);
        uint32_t start;

        if (mask == 0)
            break;
        start = (uint32_t)__ffs((int)mask) - 1;
        *until = group + start + __shfl_sync(ALL_LANES, length, (int)start);
        within |= own > group + start && own < *until;
    }
    if (within && longest != 0)
        s->matches_count[own] = 0;
    return within ? 0 : longest;
}

/* Notes which chunks of the group, which starts with chunk `first`, are in its sample, if it has
 * one. */
static __device__ void choose_sample(const gpu_view &v, uint32_t first, uint32_t chunks)
{
    struct optimal_scratch *scratch = (struct optimal_scratch *)v.scratch + first;
    const bool has_sample =
        chunks >= LZ_SAMPLE_STEP && count_distinct(v, first + LZ_SAMPLE_FIRST) >= LZ_SAMPLE_VALUES;

    for (uint32_t i = threadIdx.x; i < chunks; i += WARP)
        scratch[i].in_sample = has_sample && lz_in_sample(i);
}

/* Adds a match to the part, and the literals before it. from: the group's positions that are left;
 * start: the match's bit of `from`, or 0: all positions that are left are literals. length: the
 * length of the match at this lane. Returns the number in the group of the position after them. */
static __device__ __forceinline__ uint32_t add_to_part(path_part *part, uint32_t from,
                                                       uint32_t start, uint32_t length)
{
    uint32_t at = WARP;

    part->literals |= (start - 1) & from;
    part->starts |= start;
    if (start != 0) {
        at = (uint32_t)__ffs((int)start) - 1;
        at += __shfl_sync(ALL_LANES, length, (int)at);
    }
    return at;
}

/* Follows the first parse from *pos on through the 32 positions from `group` on. starts: a bit for
 * each match that the parse does not pass over; replaced: a bit for each match that the next
 * position's match replaces. *in_hand: the match at *pos has replaced the one before it. length:
 * the length of this lane's longest match. Sets *pos and *in_hand for the next group. */
static __device__ __forceinline__ path_part follow_first(uint32_t *pos, bool *in_hand,
                                                         uint32_t group, uint32_t starts,
                                                         uint32_t replaced, uint32_t length)
{
    path_part part = {0, 0};
    uint32_t at = *pos - group;

    while (at < WARP) {
        const uint32_t from = ALL_LANES << at;
        /* Find the first match that is not passed over, and from there the first that is not
         * replaced. */
        const uint32_t first = *in_hand ? 1u << at : starts & from & -(starts & from);
        const uint32_t kept = first == 0 ? 0 : ~replaced & -first, start = kept & -kept;

        *in_hand = first != 0 && start == 0;
        at = add_to_part(&part, from, start, length);
    }
    *pos = group + at;
    return part;
}

static __global__ void __launch_bounds__(WARP) first_chunks(gpu_view v, uint32_t nice)
{
    __shared__ tally t;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    const uint32_t lane = threadIdx.x;
    struct optimal_scratch *s = (struct optimal_scratch *)v.scratch + blockIdx.x;
    const uint32_t least = lz_least_length(count_distinct(v, blockIdx.x), LZ_OPTIMAL_LEAST_DEPTH);
    pending p = {0, 0, 0};
    uint32_t pos = 0, until = 0;
    bool in_hand = false;
    /* The matches of the next group, and the counts of the group after it, are loaded ahead. */
    uint32_t own = longest_of(s, lane, load_count(s, lane, size));
    uint32_t loaded = longest_of(s, WARP + lane, load_count(s, WARP + lane, size));
    uint32_t count = load_flagged(s, 2 * WARP + lane, size);
    uint32_t next_byte = load_byte(v, span, lane);

    clear_tally(t);
    own = skip_within(s, 0, own, nice, &until);
    for (uint32_t group = 0; group < size; group += WARP) {
        const uint32_t own_next = skip_within(s, group + WARP, loaded, nice, &until);
        const uint32_t next =
            __shfl_sync(ALL_LANES, lane == 0 ? own_next : own, (int)((lane + 1) % WARP));
        const uint32_t starts = __ballot_sync(ALL_LANES, !lz_passes_over(own, least));
        const uint32_t replaced = __ballot_sync(ALL_LANES, lz_prefers_packed(next, own));
        const uint32_t byte = next_byte;
        path_part part;

        loaded = longest_of(s, group + 2 * WARP + lane, count & (LIST_ENDED - 1));
        count = load_flagged(s, group + 3 * WARP + lane, size);
        next_byte = load_byte(v, span, group + WARP + lane);
        part = follow_first(&pos, &in_hand, group, starts, replaced, lz_packed_length(own));
        if ((part.literals >> lane & 1) != 0 && group + lane < size)
            count_symbol(t, group / LZ_UNIT_SIZE, byte, 1);
        add_matches(t, p, group, part.starts, lz_packed_length(own), own & DISTANCE_MASK);
        own = own_next;
    }
    count_match(t, p);
    store_tally(s, t, 1);
    choose_sample(v, blockIdx.x, gpu_chunk_span(v, blockIdx.x).group);
}

/* --- Costs --- */

/* Whether the group, which starts with chunk `first`, has a sample. */
static __device__ bool has_sample(const gpu_view &v, uint32_t first, uint32_t chunks)
{
    return chunks >= LZ_SAMPLE_STEP &&
           ((struct optimal_scratch *)v.scratch)[first + LZ_SAMPLE_FIRST].in_sample;
}

/* Joins the units of the group's sample to one block, whose costs all units of the group get. */
static __device__ void join_sample(const gpu_view &v, uint32_t first, uint32_t chunks)
{
    struct optimal_scratch *scratch = (struct optimal_scratch *)v.scratch + first;
    uint32_t sum[SYMBOLS_A_LANE] = {0};

    for (uint32_t i = 0; i < chunks; i++) {
        if (threadIdx.x < UNITS)
            scratch[i].block_of[threadIdx.x] = first * UNITS;
        for (uint32_t unit = 0; lz_in_sample(i) && unit < UNITS; unit++) {
            uint32_t own[SYMBOLS_A_LANE];

            load_counts(own, scratch[i].counts[unit]);
#pragma unroll
            for (uint32_t k = 0; k < SYMBOLS_A_LANE; k++)
                sum[k] += own[k];
        }
    }
    store_counts(scratch[0].blocks[0], sum);
}

/* If this chunk starts a group, joins the units of the group into blocks. Stores a block's counts
 * at its first unit. Pass 0 is a pass over the samples. In pass 0, and in pass 1 over a group that
 * has a sample, makes one block of the sample, whose costs all units of the group get. */
static __global__ void __launch_bounds__(WARP) split_groups(gpu_view v, uint32_t pass)
{
    const uint32_t first = blockIdx.x;
    const uint32_t chunks = gpu_chunk_span(v, first).group;
    struct optimal_scratch *scratch = (struct optimal_scratch *)v.scratch;
    /* The open block, and the next unit, which is loaded ahead. */
    uint32_t open[SYMBOLS_A_LANE] = {0}, next[SYMBOLS_A_LANE];
    uint64_t open_size = 0, next_size;
    uint32_t block = 0, units;
    gpu_span last;

    if (pass <= 1 && has_sample(v, first, chunks)) {
        join_sample(v, first, chunks);
        return;
    }
    if (pass == 0 || chunks == 0)
        return;
    last = gpu_chunk_span(v, first + chunks - 1);
    units = (chunks - 1) * UNITS + (last.end - last.start + LZ_UNIT_SIZE - 1) / LZ_UNIT_SIZE;
    load_counts(next, scratch[first].counts[0]);
    next_size = scratch[first].unit_size[0];
    for (uint32_t i = 0; i < units; i++) {
        const uint32_t after = min(i + 1, units - 1);
        const uint64_t own_size = next_size;
        uint32_t own[SYMBOLS_A_LANE], both[SYMBOLS_A_LANE];
        uint64_t both_size;

#pragma unroll
        for (uint32_t k = 0; k < SYMBOLS_A_LANE; k++)
            own[k] = next[k];
        load_counts(next, scratch[first + after / UNITS].counts[after % UNITS]);
        next_size = scratch[first + after / UNITS].unit_size[after % UNITS];
#pragma unroll
        for (uint32_t k = 0; k < SYMBOLS_A_LANE; k++)
            both[k] = open[k] + own[k];
        both_size = estimate(both, lz_header_cost(pass));
        if (i > 0 && lz_joins_block(open_size, own_size, both_size)) {
#pragma unroll
            for (uint32_t k = 0; k < SYMBOLS_A_LANE; k++)
                open[k] = both[k];
            open_size = both_size;
        } else {
            if (i > 0)
                store_counts(scratch[block / UNITS].blocks[block % UNITS], open);
#pragma unroll
            for (uint32_t k = 0; k < SYMBOLS_A_LANE; k++)
                open[k] = own[k];
            open_size = own_size;
            block = first * UNITS + i;
        }
        if (threadIdx.x == 0)
            scratch[first + i / UNITS].block_of[i % UNITS] = block;
    }
    store_counts(scratch[block / UNITS].blocks[block % UNITS], open);
}

/*
 * --- The shortest path ---
 *
 * A lane has one position at a time. The warp goes from position to position, from the chunk's end
 * to its start. In a step, all lanes get the cost from a position q to the chunk's end, and each
 * lane tries the length that leads from its own position to q. So a lane tries the lengths of its
 * position one after the other, the longest one first, and the literal (length 1) last. Then the
 * cost from its position to the chunk's end is known, and is the next one that all lanes get. No
 * step has to find a minimum among lanes.
 *
 * The positions are in groups of 32; lane l has position l of a group. TURN lanes at a time take up
 * their positions of the next group, which is the one before, as soon as their positions of this
 * group are done. So a lane tries its lengths up to WARP or somewhat fewer in steps. Longer lengths
 * are tried when lanes take up positions (find_far), several at a time, since the costs to which
 * these lengths lead are known by then.
 *
 * In a step, a lane needs the cost of a length and that of a distance. The lengths fall by one from
 * step to step, so their costs are read from a table in order (path_memory.near). The costs of a
 * position's distances are a column of another table (path_memory.rows), with the longest match
 * last. A lane starts below the matches that it tries, and goes up by one row when it comes to a
 * match's length, which a mask of bits tells it (path_place.ends).
 */

/* The number of lanes that take up their next positions at a time. With more, lanes have fewer
 * lengths in steps, and more in find_far. With fewer, taking up positions takes more time. */
#define TURN 8

/* The steps that a lane may still take after its position is done. */
#define IDLE_STEPS (TURN - 2)

/* The entry of path_memory.near for length 0, and the number of entries: for lengths from
 * -IDLE_STEPS to WARP. */
#define NEAR_0 IDLE_STEPS
#define NEAR (NEAR_0 + WARP + 1)

/* The cost of a step that does not exist. It is more than LZ_MAX_MATCH literals cost, so no
 * shortest path has such a step. */
#define NO_STEP (UINT32_C(1) << 26)

static_assert(16 * LZ_MAX_MATCH * DEFLATE_MAX_CODE << LZ_STEP_BITS < NO_STEP, "literals cost less");
static_assert(16 * (LZ_CHUNK_SIZE * DEFLATE_MAX_CODE + 48) <
                  (1 << (32 - LZ_STEP_BITS)) - 2 * (int)(NO_STEP >> LZ_STEP_BITS),
              "sums with NO_STEP twice in 32 bits");
static_assert(WARP % TURN == 0, "whole turns");

/* Rows of path_memory.rows: the literal, the matches of a list, and NO_STEP. */
#define ROWS (LZ_MAX_MATCHES + 2)

/* The path's shared memory. Four such blocks fit beside a block of gather_chunks. literal, length
 * and distance have the costs of steps (lz_literal_step and so on). */
struct path_memory {
    uint32_t literal[256];
    uint32_t length[LZ_MAX_MATCH + 1];
    /* The last entries are NO_STEP. */
    uint32_t distance[WARP];
    /* The costs of the lengths that steps try: 0 for length 1, and NO_STEP for length 2 and for
     * those below 1. There are two tables, because two groups may lie in different blocks. */
    uint32_t near[2][NEAR];
    /* A ring of the costs to the chunk's end. */
    uint32_t to_end[RING];
    /* The lists of two groups, a column for each position. The rows: the cost of the literal, those
     * of the matches' distances, and NO_STEP from the row after the last match on. */
    uint32_t rows[2][ROWS][WARP];
    /* The lengths of the matches of the next group; row 0 is 0. */
    uint16_t lengths[LZ_MAX_MATCHES + 1][WARP];
    uint8_t counts[WARP]; /* of these matches */
};

/* Sets the costs of symbols in a block with these counts; `last`: for the last pass. near: the
 * table of path_memory.near to set. The loops are not unrolled, because this code runs seldom, and
 * would take the place of the steps' code in the cache. */
static __device__ void make_costs(path_memory &m, uint32_t *near, const uint32_t *counts, bool last)
{
    const uint32_t lane = threadIdx.x;
    uint32_t own[SYMBOLS_A_LANE], litlens, distances, litlen, distance;

    load_counts(own, counts);
    add_up(own, &litlens, &distances);
    litlen = lz_log2_litlens(litlens);
    distance = lz_log2_distances(distances);
#pragma unroll 1
    for (uint32_t i = lane; i < 256; i += WARP)
        m.literal[i] = lz_literal_step(counts[i], litlen, last);
#pragma unroll 1
    for (uint32_t i = LZ_MIN_MATCH + lane; i <= LZ_MAX_MATCH; i += WARP)
        m.length[i] = lz_length_step(i, counts[deflate_length_symbol(i)], litlen, last);
    m.distance[lane] =
        lane < DEFLATE_DISTANCE_SYMBOLS
            ? lz_distance_step(lane, counts[DEFLATE_LITLEN_SYMBOLS + lane], distance, last)
            : NO_STEP;
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < NEAR; i += WARP) {
        const int length = (int)i - NEAR_0;

        near[i] = length >= LZ_MIN_MATCH ? m.length[length] : length == 1 ? 0 : NO_STEP;
    }
    __syncwarp();
}

/* In place of a match after a list's last one: its length is 0, and the cost of its distance is
 * NO_STEP. */
#define NO_MATCH ((WARP - 1u) << 15)

static_assert(DEFLATE_DISTANCE_SYMBOLS < WARP, "a symbol that no distance has");

/* Loads the list of position `own`, which has `count` matches. */
static __device__ __forceinline__ void load_list(uint32_t (&matches)[LZ_MAX_MATCHES],
                                                 const struct optimal_scratch *s, uint32_t own,
                                                 uint32_t count)
{
#pragma unroll
    for (uint32_t i = 0; i < LZ_MAX_MATCHES; i++)
        matches[i] = i < count ? s->matches[i][own] : NO_MATCH;
}

/* What a lane keeps of its position's list. */
struct path_list {
    uint32_t pairs[LZ_MAX_MATCHES / 2]; /* the matches' lengths, two in each number; after the last
                                         * match, its length is repeated */
    uint32_t ends;                      /* bit i: a match, or the literal, has length i + 1 */
    uint32_t longest;
};

/* Stores this lane's list in shared memory. */
static __device__ __forceinline__ path_list store_list(path_memory &m, uint32_t (*rows)[WARP],
                                                       const uint32_t (&matches)[LZ_MAX_MATCHES],
                                                       uint32_t count, uint32_t literal)
{
    const uint32_t lane = threadIdx.x;
    path_list l = {{0}, 1, 0};
    uint32_t lengths[LZ_MAX_MATCHES];

    rows[0][lane] = literal;
#pragma unroll
    for (uint32_t i = 0; i < LZ_MAX_MATCHES; i++) {
        const uint32_t length = lz_packed_length(matches[i]), shift = WARP - length;

        rows[i + 1][lane] = m.distance[lz_packed_symbol(matches[i])];
        m.lengths[i + 1][lane] = (uint16_t)length;
        l.ends |= shift < 32 ? 0x80000000 >> shift : 0;
        l.longest = max(l.longest, length);
        lengths[i] = l.longest;
    }
#pragma unroll
    for (uint32_t i = 0; i < LZ_MAX_MATCHES / 2; i++)
        l.pairs[i] = lengths[2 * i] | lengths[2 * i + 1] << 16;
    m.counts[lane] = (uint8_t)count;
    return l;
}

/* Returns how many matches of a list are shorter than `length`. */
static __device__ __forceinline__ uint32_t shorter(const path_list &l, uint32_t length)
{
    uint32_t n = 0;

#pragma unroll
    for (uint32_t i = 0; i < LZ_MAX_MATCHES / 2; i++)
        n += ((l.pairs[i] & 0xffff) < length) + (l.pairs[i] >> 16 < length);
    return n;
}

/* Lanes that share a position's lengths in find_far, and the lengths that a lane tries in a
 * round. */
#define FAR_LANES (WARP / TURN)
#define FAR_LENGTHS 4

/* Tries the lengths from WARP + 1 - i on at position first + i of a group, for i from 0 to TURN -
 * 1. rows: the group's rows; start: its first position. Lane l gets the least cost of position
 * first + l % TURN, or UINT32_MAX. Each round tries the longest lengths that are left. */
static __device__ __forceinline__ uint32_t find_far(const path_memory &m,
                                                    const uint32_t (*rows)[WARP], uint32_t start,
                                                    uint32_t first)
{
    const int i = (int)(threadIdx.x / FAR_LANES), at = (int)first + i, lowest = WARP + 1 - i;
    const int part = (int)(threadIdx.x % FAR_LANES);
    /* A match of the list, and the longest length for which it is the one to try. */
    int match = m.counts[at], longest = m.lengths[match][at];
    uint32_t least = UINT32_MAX;

    while (__ballot_sync(ALL_LANES, longest >= lowest) != 0) {
        const int from = max((int)m.lengths[max(match - 1, 0)][at] + 1, lowest);
        const uint32_t distance = rows[match][at];

#pragma unroll
        for (int k = 0; k < FAR_LENGTHS; k++) {
            const int length = longest - part - k * FAR_LANES;
            const uint32_t tried = (uint32_t)max(length, lowest);
            const uint32_t cost =
                distance + m.length[tried] + m.to_end[(start + (uint32_t)at + tried) % RING];

            if (length >= from)
                least = min(least, cost);
        }
        longest -= FAR_LENGTHS * FAR_LANES;
        if (longest < from) {
            longest = from - 1;
            match = max(match - 1, 0);
        }
    }
#pragma unroll
    for (int k = FAR_LANES / 2; k > 0; k /= 2)
        least = min(least, __shfl_xor_sync(ALL_LANES, least, k));
    return __shfl_sync(ALL_LANES, least, (int)(threadIdx.x % TURN * FAR_LANES));
}

/* A lane's place in the steps. */
struct path_place {
    const uint32_t *near; /* the cost of the length that it tries next */
    const uint32_t *row;  /* the cost of the distance that it tried last */
    uint32_t ends;        /* bit 31: the next length ends a match, so the lane moves on to that
                           * match; the bits below: the same for the lengths after it */
};

/* Returns the place of a lane whose position has the list `l` and the column of `rows`, and which
 * tries `length` next, at most WARP. */
static __device__ __forceinline__ path_place place_at(const path_list &l, const uint32_t *near,
                                                      const uint32_t (*rows)[WARP], uint32_t length)
{
    const uint32_t ends = l.ends << (WARP - length);

    return {near + NEAR_0 + length, rows[__popc((int)ends)] + threadIdx.x, ends};
}

/* Does the steps from the costs of positions first + TURN to first + 1 of the group, and finds the
 * costs of the positions from first + TURN - 1 to `first`. next: the cost that the lanes get first;
 * becomes the cost of position `first`. best: the least cost of this lane's position so far. */
static __device__ __forceinline__ void take_steps(path_place *p, uint32_t *best, uint32_t *next,
                                                  int first)
{
#pragma unroll
    for (int i = 0; i < TURN; i++) {
        if ((p->ends << i) >> 31 != 0)
            p->row -= WARP;
        *best = min(*best, *next + p->near[-i] + *p->row);
        /* The low bits are the length of the position's first step. */
        *next = __shfl_sync(ALL_LANES, *best, first + TURN - 1 - i) & ~LZ_STEP_LENGTH;
    }
    p->ends <<= TURN;
    p->near -= TURN;
}

/* Finds the shortest path of each chunk, and stores its steps in s->steps. Pass 0 is a pass over
 * the samples, which leaves out all other chunks. `last`: this is the last pass. */
static __global__ void __launch_bounds__(WARP) path_chunks(gpu_view v, uint32_t pass, bool last)
{
    __shared__ path_memory m;
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    struct optimal_scratch *scratch = (struct optimal_scratch *)v.scratch;
    struct optimal_scratch *s = scratch + blockIdx.x;
    /* Steps begin after the chunk's last group. */
    uint32_t group = (size + WARP - 1) / WARP * WARP;
    /* The lists and bytes of the group before `group`, and the counts of the group before that, are
     * loaded ahead. The counts are masked later, because masking waits for them. */
    uint32_t count = load_count(s, group - WARP + lane, size), count_ahead = 0;
    uint32_t byte = load_byte(v, span, group - WARP + lane), matches[LZ_MAX_MATCHES];
    uint32_t block = UINT32_MAX, which = 0; /* the block with these costs; its table in m.near */
    uint32_t next = 0, best = UINT32_MAX, done = 0;
    path_list list = {{0}, 0, 0};
    path_place place = {};

    if (pass == 0 && !s->in_sample)
        return;
    for (uint32_t i = lane; i < RING; i += WARP)
        m.to_end[i] = 0;
    m.lengths[0][lane] = 0;
    m.rows[0][ROWS - 1][lane] = m.rows[1][ROWS - 1][lane] = NO_STEP;
    load_list(matches, s, group - WARP + lane, count);
    if (group > WARP)
        count_ahead = load_flagged(s, group - 2 * WARP + lane, size);

    /* In a round, lanes finish their positions of `group`, and take up those of the group before
     * it. In the first round, there is only the group before. */
    for (;;) {
        uint32_t(*const rows)[WARP] = m.rows[group / WARP % 2];
        const bool is_first = group >= size;
        const uint32_t before = group - WARP, own = before + lane;
        uint32_t far = 0;
        path_list next_list = {{0}, 0, 0};
        path_place next_place;

        if (group > 0) {
            if (is_first || before / LZ_UNIT_SIZE != group / LZ_UNIT_SIZE) {
                const uint32_t its_block = s->block_of[before / LZ_UNIT_SIZE];

                if (its_block != block) {
                    block = its_block;
                    which ^= 1;
                    __syncwarp();
                    make_costs(m, m.near[which], scratch[block / UNITS].blocks[block % UNITS],
                               last);
                }
            }
            __syncwarp();
            next_list = store_list(m, rows, matches, count, own < size ? m.literal[byte] : 0);
            far = __ballot_sync(ALL_LANES, next_list.longest > WARP - lane % TURN);
            count = count_ahead & (LIST_ENDED - 1);
            if (before > 0) {
                load_list(matches, s, own - WARP, count);
                byte = load_byte(v, span, own - WARP);
            }
            if (before > WARP)
                count_ahead = load_flagged(s, own - 2 * WARP, size);
            __syncwarp();
        }
        next_place =
            place_at(next_list, m.near[which], rows, is_first ? WARP - lane : WARP - lane % TURN);
        if (is_first) {
            place = next_place;
            list = next_list;
            group = before;
            continue;
        }

#pragma unroll
        for (int first = WARP - TURN; first >= 0; first -= TURN) {
            const bool is_done = lane / TURN == (uint32_t)first / TURN;
            uint32_t least = UINT32_MAX;

            take_steps(&place, &best, &next, first);
            if (is_done)
                m.to_end[(group + lane) % RING] = best & ~LZ_STEP_LENGTH;
            if ((far >> first & ((1u << TURN) - 1)) != 0) {
                __syncwarp();
                least = find_far(m, rows, before, (uint32_t)first);
            }
            if (is_done) {
                done = best;
                best = least;
                place = next_place;
            }
        }
        {
            const uint32_t length = done & LZ_STEP_LENGTH;
            const uint32_t match = length > 1 ? shorter(list, length) : 0;

            if (group + lane < size)
                s->steps[group + lane] = (uint16_t)(length | match << LZ_STEP_BITS);
        }
        if (group == 0)
            return;
        list = next_list;
        group = before;
    }
}

/* Returns the step of position `own`: a literal after the chunk's end. */
static __device__ __forceinline__ uint32_t load_step(const struct optimal_scratch *s, uint32_t own,
                                                     uint32_t size)
{
    return own < size ? s->steps[own] : 1;
}

/* Returns the match of a step at position `own`, or 0. Its length may be more than the step's. */
static __device__ __forceinline__ uint32_t load_match(const struct optimal_scratch *s, uint32_t own,
                                                      uint32_t step)
{
    return (step & LZ_STEP_LENGTH) > 1 ? s->matches[step >> LZ_STEP_BITS][own] : 0;
}

/* Follows the path from *pos on through the 32 positions from `group` on. matches: a bit for each
 * position whose step is a match; length: the length of this lane's step. Sets *pos to the first
 * position of the path after them. */
static __device__ __forceinline__ path_part follow_path(uint32_t *pos, uint32_t group,
                                                        uint32_t matches, uint32_t length)
{
    path_part part = {0, 0};
    uint32_t at = *pos - group;

    while (at < WARP) {
        const uint32_t from = ALL_LANES << at, ahead = matches & from, start = ahead & -ahead;

        at = add_to_part(&part, from, start, length);
    }
    *pos = group + at;
    return part;
}

/* Follows the path of `pass`, as in path_chunks. Without LAST, counts the symbols of the path; with
 * LAST, writes its tags. */
template <bool LAST>
static __global__ void __launch_bounds__(WARP) walk_chunks(gpu_view v, uint32_t pass)
{
    __shared__ tally t;
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    struct optimal_scratch *s = (struct optimal_scratch *)v.scratch + blockIdx.x;
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    pending p = {0, 0, 0};
    uint32_t pos = 0, tag = 0;
    /* The matches of the next group, and the steps of the group after it, are loaded ahead. */
    uint32_t step, match, next_step, next_byte = 0;

    if (pass == 0 && !s->in_sample)
        return;
    step = load_step(s, lane, size);
    match = load_match(s, lane, step);
    next_step = load_step(s, WARP + lane, size);
    if (!LAST) {
        next_byte = load_byte(v, span, lane);
        clear_tally(t);
    }
    for (uint32_t group = 0; group < size; group += WARP) {
        const uint32_t own = group + lane, end = pos;
        const uint32_t own_length = step & LZ_STEP_LENGTH, own_distance = match & DISTANCE_MASK;
        const uint32_t matches = __ballot_sync(ALL_LANES, own_length > 1);
        const uint32_t byte = next_byte;
        path_part part;

        step = next_step;
        match = load_match(s, own + WARP, step);
        next_step = load_step(s, own + 2 * WARP, size);
        if (!LAST)
            next_byte = load_byte(v, span, own + WARP);
        part = follow_path(&pos, group, matches, own_length);
        if (LAST) {
            /* If a match covers this lane's position, it is the last one that starts here or
             * before. */
            const uint32_t starts = part.starts & (lanes_before() << 1 | 1);
            const int start = 31 - __clz((int)starts);
            const uint32_t length = __shfl_sync(ALL_LANES, own_length, start);
            const uint32_t new_tag = __shfl_sync(ALL_LANES, own_distance, start);
            const bool covered = starts == 0 ? own < end : (uint32_t)start + length > lane;

            tag = starts == 0 ? tag : new_tag;
            if (own < size)
                tags[own] = (uint16_t)(covered ? lz_packed_distance(tag) : 0);
            tag = __shfl_sync(ALL_LANES, tag, WARP - 1);
        } else {
            if ((part.literals >> lane & 1) != 0 && own < size)
                count_symbol(t, group / LZ_UNIT_SIZE, byte, 1);
            add_matches(t, p, group, part.starts, own_length, own_distance);
        }
    }
    if (!LAST) {
        count_match(t, p);
        store_tally(s, t, pass + 1);
    }
}

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(struct optimal_scratch);
}

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const gather_limits limits = {level->depth, level->long_depth, level->longest_depth,
                                  level->nice};
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);
    const unsigned left_out = LZ_PREFIXES - lz_prefixes(level->longest_depth);
    const dim3 blocks((v.chunks + LINK_RUN - 1) / LINK_RUN, LINK_BLOCKS - left_out);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<blocks, TABLE_THREADS, LINKS_SHARED, stream>>>(v);
    return queue_gather(v, limits, stream);
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    first_chunks<<<v.chunks, WARP, 0, stream>>>(v, level->nice);
    for (unsigned i = 0; i < LZ_SAMPLE_PASSES; i++) {
        split_groups<<<v.chunks, WARP, 0, stream>>>(v, 0);
        path_chunks<<<v.chunks, WARP, 0, stream>>>(v, 0, false);
        walk_chunks<false><<<v.chunks, WARP, 0, stream>>>(v, 0);
    }
    for (unsigned pass = 1; pass <= level->passes; pass++) {
        split_groups<<<v.chunks, WARP, 0, stream>>>(v, pass);
        path_chunks<<<v.chunks, WARP, 0, stream>>>(v, pass, pass == level->passes);
        if (pass < level->passes)
            walk_chunks<false><<<v.chunks, WARP, 0, stream>>>(v, pass);
    }
    walk_chunks<true><<<v.chunks, WARP, 0, stream>>>(v, level->passes);
    return cudaGetLastError();
}

static cudaError_t load(void)
{
    const void *const kernels[] = {(const void *)link_chunks,
                                   (const void *)gather_chunks<true, true>,
                                   (const void *)gather_chunks<true, false>,
                                   (const void *)gather_chunks<false, false>,
                                   (const void *)first_chunks,
                                   (const void *)split_groups,
                                   (const void *)path_chunks,
                                   (const void *)walk_chunks<false>,
                                   (const void *)walk_chunks<true>};

    return gpu_load(kernels);
}

const struct gpu_finder gpu_finder_optimal = {scratch_size, find_matches, parse,
                                              GPU_BYTES_A_SEQUENCE, load};
