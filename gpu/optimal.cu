/*
 * optimal.cu - near-optimal parsing on the GPU (lzss/optimal.h defines what it finds)
 *
 * Each chunk's shortest path is computed sequentially, from its last position to its first. All
 * other work is parallel: matches are gathered at all positions side by side, and the lengths at
 * one position of the path are tried side by side. The chunks of a batch are always side by side.
 * Lists, links and counts take 1.6 MiB of device memory for each chunk. The kernels run in this
 * order:
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
 *   position from the end; the lanes share the lengths at a position. Then walk (one warp for each
 *   chunk) follows the path, and counts symbols; in the last pass, it writes tags instead.
 *
 * - compact: see compact.cu. A run of one tag becomes one match, so adjacent matches at one
 *   distance are joined; counting joins them, too.
 */
#include "gpu/internal.cuh"
#include "gpu/links.cuh"
#include "gpu/search.cuh"
#include "gpu/warp.cuh"
#include "lzss/optimal.h"

/* The path keeps the cost to the chunk's end for the last RING positions that it visited. RING must
 * be at least LZ_MAX_MATCH + WARP. It must be a power of two, because the low bits of a position
 * are the position's place in the ring. A larger RING only takes more shared memory. */
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

static __device__ __forceinline__ uint32_t warp_min(uint32_t x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, x);
#else
    for (int i = WARP / 2; i > 0; i /= 2)
        x = min(x, __shfl_xor_sync(ALL_LANES, x, i));
    return x;
#endif
}

template <typename T> static __device__ __forceinline__ T warp_sum(T x)
{
    for (int i = WARP / 2; i > 0; i /= 2)
        x += __shfl_xor_sync(ALL_LANES, x, i);
    return x;
}

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

/* How many matches the list of position `own` has: none after the chunk's end. */
static __device__ __forceinline__ uint32_t load_count(const struct optimal_scratch *s, uint32_t own,
                                                      uint32_t size)
{
    return own < size ? s->matches_count[own] & (LIST_ENDED - 1) : 0;
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

template <bool DATA, bool LINKS>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    gather_chunks(gpu_view v, gather_limits limits)
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
    uint32_t counts[UNITS][LZ_SYMBOLS];
};

/* The latest match, which an adjacent match at the same distance may extend. All lanes have the
 * same values. */
struct pending {
    uint32_t start, length, distance;
};

static __device__ void count_match(tally &t, const pending &p)
{
    uint32_t *counts = t.counts[p.start / LZ_UNIT_SIZE];
    const uint32_t pieces = lz_pieces(p.length);

    if (p.length > 0 && threadIdx.x == 0) {
        for (uint32_t i = 0; i < pieces; i++)
            atomicAdd(&counts[deflate_length_symbol(lz_piece_length(p.length, i))], 1);
        atomicAdd(&counts[DEFLATE_LITLEN_SYMBOLS + deflate_distance_symbol(p.distance)], pieces);
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

/* The symbols are divided among the lanes: a lane's i-th symbol is lane + 32 i. */
#define SYMBOLS_A_LANE ((LZ_SYMBOLS + WARP - 1) / WARP)

/* Returns the estimated size of a block with these counts, in 1/256 bits, to all lanes. */
static __device__ uint64_t estimate(const uint32_t counts[SYMBOLS_A_LANE], uint32_t header_cost)
{
    uint32_t litlens = 0, distances = 0, litlen, distance;
    uint64_t size = 0;

#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++) {
        if (threadIdx.x + WARP * i < DEFLATE_LITLEN_SYMBOLS)
            litlens += counts[i];
        else
            distances += counts[i];
    }
    litlen = lz_log2_litlens(warp_sum(litlens));
    distance = lz_log2_distances(warp_sum(distances));
#pragma unroll
    for (uint32_t i = 0; i < SYMBOLS_A_LANE; i++)
        size += lz_symbol_size(counts[i],
                               threadIdx.x + WARP * i < DEFLATE_LITLEN_SYMBOLS ? litlen : distance,
                               header_cost);
    return warp_sum(size);
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

static __device__ void clear_tally(tally &t)
{
    for (uint32_t i = threadIdx.x; i < UNITS * LZ_SYMBOLS; i += WARP)
        ((uint32_t *)t.counts)[i] = 0;
    __syncwarp();
}

/* Stores the counts and sizes of the chunk's units, for split_groups in pass `pass`. */
static __device__ void store_tally(struct optimal_scratch *s, const tally &t, uint32_t pass)
{
    __syncwarp();
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        uint32_t counts[SYMBOLS_A_LANE];
        uint64_t size;

        load_counts(counts, t.counts[unit]);
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

static __global__ void __launch_bounds__(WARP) first_chunks(gpu_view v, uint32_t nice)
{
    __shared__ tally t;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    const uint32_t lane = threadIdx.x;
    struct optimal_scratch *s = (struct optimal_scratch *)v.scratch + blockIdx.x;
    const uint32_t least = lz_least_length(count_distinct(v, blockIdx.x), LZ_OPTIMAL_LEAST_DEPTH);
    pending p = {0, 0, 0};
    /* The current match, packed, which starts at `pos`. The match at the next position may replace
     * it. */
    uint32_t match = 0, pos = 0;
    uint32_t until = 0;
    /* The matches of the next group, and the counts of the group after it, are loaded ahead. */
    uint32_t own = longest_of(s, lane, load_count(s, lane, size));
    uint32_t loaded = longest_of(s, WARP + lane, load_count(s, WARP + lane, size));
    uint32_t count = load_count(s, 2 * WARP + lane, size);

    clear_tally(t);
    own = skip_within(s, 0, own, nice, &until);
    for (uint32_t group = 0; group < size; group += WARP) {
        const uint32_t own_next = skip_within(s, group + WARP, loaded, nice, &until);
        const uint32_t starts = __ballot_sync(ALL_LANES, !lz_passes_over(own, least));
        const uint8_t byte = group + lane < size ? v.input[span.start + group + lane] : 0;
        bool is_literal = false;

        loaded = longest_of(s, group + 2 * WARP + lane, count);
        count = load_count(s, group + 3 * WARP + lane, size);
        while (pos < group + WARP && pos < size) {
            uint32_t at = pos - group, next;

            if (match == 0) {
                const uint32_t from = at, ahead = starts & ALL_LANES << at;

                at = ahead == 0 ? WARP : (uint32_t)__ffs((int)ahead) - 1;
                is_literal |= lane >= from && lane < at;
                pos = group + at;
                if (at == WARP)
                    break;
                match = __shfl_sync(ALL_LANES, own, (int)at);
            }
            next = at + 1 < WARP ? __shfl_sync(ALL_LANES, own, (int)at + 1)
                                 : __shfl_sync(ALL_LANES, own_next, 0);
            if (lz_prefers_packed(next, match)) {
                is_literal |= at == lane;
                match = next;
                pos++;
                continue;
            }
            add_match(t, p, pos, lz_packed_length(match), lz_packed_distance(match));
            pos += lz_packed_length(match);
            match = 0;
        }
        if (is_literal && group + lane < size)
            atomicAdd(&t.counts[group / LZ_UNIT_SIZE][byte], 1);
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
    uint32_t open[SYMBOLS_A_LANE] = {0};
    uint32_t block = 0;
    uint64_t open_size = 0;

    if (pass <= 1 && has_sample(v, first, chunks)) {
        join_sample(v, first, chunks);
        return;
    }
    if (pass == 0)
        return;
    for (uint32_t i = 0; i < chunks * UNITS; i++) {
        struct optimal_scratch *s = &scratch[first + i / UNITS];
        const uint32_t unit = i % UNITS;
        const gpu_span span = gpu_chunk_span(v, first + i / UNITS);
        uint32_t own[SYMBOLS_A_LANE], both[SYMBOLS_A_LANE];
        uint64_t own_size, both_size;

        if (unit * LZ_UNIT_SIZE >= span.end - span.start)
            break;
        load_counts(own, s->counts[unit]);
        own_size = s->unit_size[unit];
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
            s->block_of[unit] = block;
    }
    if (chunks > 0)
        store_counts(scratch[block / UNITS].blocks[block % UNITS], open);
}

/* The lanes share a position's lengths in this many rounds, at most. */
#define LENGTH_ROUNDS ((LZ_MAX_MATCH - LZ_MIN_MATCH + WARP) / WARP)

/* The path's shared memory. literal, length and distance have the costs of steps (lz_literal_step
 * and so on). to_end is the ring of costs to the chunk's end. Its first costs are repeated after
 * it, so that the costs to which a position's lengths lead are in a row. */
struct path_memory {
    uint32_t literal[256];
    uint32_t length[LZ_MAX_MATCH + 1];
    uint32_t distance[WARP];
    uint32_t to_end[RING + LZ_MAX_MATCH + WARP];
    /* The lists of 32 positions: the matches' lengths, and the costs of their distances. After a
     * list's last match, its length is repeated. A row of costs has one number more than it needs,
     * so that the lanes' rows start in different banks. */
    uint4 lengths[WARP];
    uint32_t distances[WARP][LZ_MAX_MATCHES + 1];
    /* A bit for each length from LZ_MIN_MATCH on, which is set if one of the list's matches has
     * that length; and the length of the longest match, 0 if there is none. */
    uint32_t ends[WARP][LENGTH_ROUNDS];
    uint32_t longest[WARP];
};

static_assert(LZ_MAX_MATCHES * sizeof(uint16_t) == sizeof(uint4), "a list's lengths in one load");

/* Sets the costs of symbols in a block with these counts; `last`: for the last pass. */
static __device__ void make_costs(path_memory &m, const uint32_t *counts, bool last)
{
    uint32_t litlens = 0, distances = 0, litlen, distance;

    for (uint32_t i = threadIdx.x; i < LZ_SYMBOLS; i += WARP) {
        if (i < DEFLATE_LITLEN_SYMBOLS)
            litlens += counts[i];
        else
            distances += counts[i];
    }
    litlen = lz_log2_litlens(warp_sum(litlens));
    distance = lz_log2_distances(warp_sum(distances));
    for (uint32_t i = threadIdx.x; i < 256; i += WARP)
        m.literal[i] = lz_literal_step(counts[i], litlen, last);
    for (uint32_t i = LZ_MIN_MATCH + threadIdx.x; i <= LZ_MAX_MATCH; i += WARP)
        m.length[i] = lz_length_step(i, counts[deflate_length_symbol(i)], litlen, last);
    if (threadIdx.x < DEFLATE_DISTANCE_SYMBOLS)
        m.distance[threadIdx.x] = lz_distance_step(
            threadIdx.x, counts[DEFLATE_LITLEN_SYMBOLS + threadIdx.x], distance, last);
    __syncwarp();
}

/* --- The shortest path --- */

/* Loads the list of position `own`, which has `count` matches. */
static __device__ __forceinline__ void load_list(uint32_t (&matches)[LZ_MAX_MATCHES],
                                                 const struct optimal_scratch *s, uint32_t own,
                                                 uint32_t count)
{
#pragma unroll
    for (uint32_t i = 0; i < LZ_MAX_MATCHES; i++)
        matches[i] = i < count ? s->matches[i][own] : 0;
}

/* Stores this lane's list in shared memory. */
static __device__ __forceinline__ void
store_list(path_memory &m, const uint32_t (&matches)[LZ_MAX_MATCHES], uint32_t count)
{
    const uint32_t lane = threadIdx.x;
    uint32_t lengths[LZ_MAX_MATCHES], last = 0;

#pragma unroll
    for (uint32_t i = 0; i < LENGTH_ROUNDS; i++)
        m.ends[lane][i] = 0;
#pragma unroll
    for (uint32_t i = 0; i < LZ_MAX_MATCHES; i++) {
        last = i < count ? lz_packed_length(matches[i]) : last;
        lengths[i] = last;
        m.distances[lane][i] = m.distance[lz_packed_symbol(matches[i])];
        if (i < count)
            m.ends[lane][(last - LZ_MIN_MATCH) / WARP] |= 1u << ((last - LZ_MIN_MATCH) % WARP);
    }
    m.distances[lane][LZ_MAX_MATCHES] = 0;
    m.lengths[lane] = make_uint4(lengths[0] | lengths[1] << 16, lengths[2] | lengths[3] << 16,
                                 lengths[4] | lengths[5] << 16, lengths[6] | lengths[7] << 16);
    m.longest[lane] = last;
}

/* Returns how many matches of a list are shorter than `length`. */
static __device__ __forceinline__ uint32_t shorter(uint4 lengths, uint32_t length)
{
    const uint32_t pairs[] = {lengths.x, lengths.y, lengths.z, lengths.w};
    uint32_t n = 0;

#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        n += ((pairs[i] & 0xffff) < length) + (pairs[i] >> 16 < length);
    return n;
}

/* What the lanes know of the 32 positions whose steps are found. */
struct path_group {
    uint32_t start;   /* the first position */
    uint32_t literal; /* the cost of the literal at this lane's position */
    uint32_t best;    /* the least cost at this lane's position, when it is known */
};

/* The number of positions that find_together takes at a time. No match has fewer bytes, so no match
 * at one of these positions ends at another one of them. */
#define TOGETHER LZ_MIN_MATCH

/*
 * Sets least[i] to the least cost of this lane's lengths at position last - i of the group, or to
 * UINT32_MAX if it has none. In round r, lane l has the length LZ_MIN_MATCH + 32 r + l. The number
 * of matches that end before it tells which match of the list it gets. There is no branch within a
 * round, so that the loads for all N positions overlap. Most positions need only one round.
 */
template <uint32_t N>
static __device__ __forceinline__ void find_least(const path_memory &m, uint32_t start,
                                                  uint32_t last, uint32_t (&least)[N])
{
    const uint32_t before = (1u << threadIdx.x) - 1;
    const uint32_t *const to_end = m.to_end + (start + last) % RING;
    uint32_t length = LZ_MIN_MATCH + threadIdx.x, round = 0, most = LZ_MIN_MATCH;
    uint32_t match[N];

#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        most = max(most, m.longest[last - i]);
        match[i] = 0;
        least[i] = UINT32_MAX;
    }
    do {
        const uint32_t length_cost = m.length[length];

#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t ends = m.ends[last - i][round];
            const uint32_t cost = m.distances[last - i][match[i] + __popc(ends & before)] +
                                  length_cost + to_end[(int)length - (int)i];

            if (length <= m.longest[last - i])
                least[i] = min(least[i], cost);
            match[i] += __popc(ends);
        }
        length += WARP;
        round++;
    } while (LZ_MIN_MATCH + WARP * round <= most);
}

/* Finds the steps of N positions, up to TOGETHER, the last of which has number `last` in the
 * group. next: the cost from the position after them to the chunk's end. Returns the cost from the
 * first of them. */
template <uint32_t N>
static __device__ __forceinline__ uint32_t find_together(path_memory &m, path_group &g,
                                                         uint32_t last, uint32_t next)
{
    uint32_t *const to_end = m.to_end + (g.start + last) % RING;
    uint32_t match[N], cost = 0;

    find_least(m, g.start, last, match);
#pragma unroll
    for (uint32_t i = 0; i < N; i++)
        match[i] = warp_min(match[i]);
#pragma unroll
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t best =
            min(__shfl_sync(ALL_LANES, g.literal, (int)(last - i)) + next, match[i]);

        next = best & ~LZ_STEP_LENGTH;
        g.best = threadIdx.x == last - i ? best : g.best;
        cost = threadIdx.x == i ? next : cost;
    }
    if (threadIdx.x < N) {
        to_end[-(int)threadIdx.x] = cost;
        /* The copy; only the first LZ_MAX_MATCH + WARP costs need one. */
        if ((g.start + last) % RING < LZ_MAX_MATCH + WARP)
            to_end[RING - (int)threadIdx.x] = cost;
    }
    __syncwarp();
    return next;
}

/* Finds the steps of the 32 positions from `group` on, whose lists are in shared memory. next: the
 * cost from the first position after them to the chunk's end. Returns the cost from `group` to the
 * chunk's end. */
static __device__ uint32_t find_steps(path_memory &m, struct optimal_scratch *s, const uint8_t *in,
                                      uint32_t group, uint32_t size, uint32_t next)
{
    const uint32_t own = group + threadIdx.x;
    path_group g = {group, own < size ? m.literal[in[own]] : 0, 0};
    uint32_t left = min(size - group, (uint32_t)WARP), length;

    for (; left >= TOGETHER; left -= TOGETHER)
        next = find_together<TOGETHER>(m, g, left - 1, next);
    for (; left > 0; left--)
        next = find_together<1>(m, g, left - 1, next);
    /* The low bits of a cost are the length. */
    length = g.best & LZ_STEP_LENGTH;
    if (own < size)
        s->steps[own] =
            (uint16_t)(length | (length > 1 ? shorter(m.lengths[threadIdx.x], length) : 0)
                                    << LZ_STEP_BITS);
    return next;
}

/* Finds the shortest path of each chunk, and stores its steps in s->steps. Pass 0 is a pass over
 * the samples, which leaves out all other chunks. `last`: this is the last pass. */
static __global__ void __launch_bounds__(WARP) path_chunks(gpu_view v, uint32_t pass, bool last)
{
    __shared__ path_memory m;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    struct optimal_scratch *scratch = (struct optimal_scratch *)v.scratch;
    struct optimal_scratch *s = scratch + blockIdx.x;
    uint32_t next = 0, block = UINT32_MAX;
    uint32_t group = (size - 1) / WARP * WARP;
    uint32_t count = load_count(s, group + threadIdx.x, size), next_count = 0;
    uint32_t matches[LZ_MAX_MATCHES];

    if (pass == 0 && !s->in_sample)
        return;
    load_list(matches, s, group + threadIdx.x, count);
    if (group > 0)
        next_count = load_count(s, group - WARP + threadIdx.x, size);
    for (uint32_t i = threadIdx.x; i < sizeof(m.to_end) / sizeof(*m.to_end); i += WARP)
        m.to_end[i] = 0;
    for (;; group -= WARP) {
        if (s->block_of[group / LZ_UNIT_SIZE] != block) {
            block = s->block_of[group / LZ_UNIT_SIZE];
            __syncwarp();
            make_costs(m, scratch[block / UNITS].blocks[block % UNITS], last);
        }
        __syncwarp();
        store_list(m, matches, count);
        /* Load the lists of the next group, and the counts of the group after it, so that they are
         * there when this group's steps are found. */
        if (group > 0)
            load_list(matches, s, group - WARP + threadIdx.x, next_count);
        count = next_count;
        if (group > WARP)
            next_count = load_count(s, group - 2 * WARP + threadIdx.x, size);
        __syncwarp();
        next = find_steps(m, s, v.input + span.start, group, size, next);
        if (group == 0)
            return;
    }
}

/* Returns the step of position `own`: a literal after the chunk's end. */
static __device__ __forceinline__ uint32_t load_step(const struct optimal_scratch *s, uint32_t own,
                                                     uint32_t size)
{
    return own < size ? s->steps[own] : 1;
}

/* Returns the distance of the match of a step at position `own`, or 0. */
static __device__ __forceinline__ uint32_t load_distance(const struct optimal_scratch *s,
                                                         uint32_t own, uint32_t step)
{
    return (step & LZ_STEP_LENGTH) > 1 ? lz_packed_distance(s->matches[step >> LZ_STEP_BITS][own])
                                       : 0;
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
    uint32_t pos = 0;
    /* The distances of the next group, and the steps of the group after it, are loaded ahead. */
    uint32_t step, distance, next_step;

    if (pass == 0 && !s->in_sample)
        return;
    step = load_step(s, lane, size);
    distance = load_distance(s, lane, step);
    next_step = load_step(s, WARP + lane, size);
    if (LAST) {
        for (uint32_t i = lane; i < (size + 7) / 8; i += WARP)
            ((uint4 *)tags)[i] = make_uint4(0, 0, 0, 0);
        __syncwarp();
    } else {
        clear_tally(t);
    }
    for (uint32_t group = 0; group < size; group += WARP) {
        const uint32_t own = group + lane;
        const uint32_t own_length = step & LZ_STEP_LENGTH, own_distance = distance;
        const uint32_t matches = __ballot_sync(ALL_LANES, own_length > 1);
        const uint32_t byte = !LAST && own < size ? v.input[span.start + own] : 0;

        step = next_step;
        distance = load_distance(s, own + WARP, step);
        next_step = load_step(s, own + 2 * WARP, size);
        while (pos < group + WARP && pos < size) {
            const uint32_t ahead = matches & ALL_LANES << (pos - group);
            const uint32_t at = ahead == 0 ? WARP : (uint32_t)__ffs((int)ahead) - 1;
            uint32_t length, match_distance;

            if (!LAST && own >= pos && lane < at && own < size)
                atomicAdd(&t.counts[group / LZ_UNIT_SIZE][byte], 1);
            pos = group + at;
            if (at == WARP)
                break;
            length = __shfl_sync(ALL_LANES, own_length, (int)at);
            match_distance = __shfl_sync(ALL_LANES, own_distance, (int)at);
            if (LAST) {
                for (uint32_t i = lane; i < length; i += WARP)
                    tags[pos + i] = (uint16_t)match_distance;
            } else {
                add_match(t, p, pos, length, match_distance);
            }
            pos += length;
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
    status = queue_gather(v, limits, stream);
    if (status != cudaSuccess)
        return status;
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
    return cudaGetLastError();
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
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
