/*
 * chains.cu - the hash chain match finder on the GPU (lzss/chains.h defines what it finds)
 *
 * On a CPU, the result of a search decides where the next search starts. Here all positions are
 * searched at once, and the parse comes after. That takes more searches than on a CPU, but the
 * searches do not depend on each other. The parse may look ahead, with a smaller depth. So each
 * search keeps three matches: the best ones within its whole depth, half of it, and a quarter. Four
 * kernels run one after another, each with all chunks of a batch side by side:
 *
 * - link: makes the chains (links.cuh).
 *
 * - search: one block for each chunk. A lane follows the chains of its position. This is the most
 *   expensive kernel. Three optimizations matter. The chunk's bytes and links are in shared memory,
 *   a lane that is done gets another position, and lanes that compare bytes do so together.
 *
 * - parse: one warp for each chunk. All lanes take the same walk over the matches, which come into
 *   shared memory tile by tile. The lanes share the work of writing a match's tags.
 *
 * - compact: see compact.cu. A run of one tag becomes one match, so adjacent matches at one
 *   distance are joined, as chains.h asks.
 */
#include "gpu/internal.cuh"
#include "gpu/links.cuh"
#include "gpu/warp.cuh"
#include "lzss/chains.h"

/* Threads of a search block: 1024, the most that CUDA allows. The block's shared memory leaves no
 * space for a second block on the multiprocessor. */
#define SEARCH_THREADS 1024

/* TILE: positions whose matches the parse has in shared memory at a time. Larger tiles need fewer
 * barriers, and more shared memory: 12 bytes for each position. AHEAD: the most positions that lazy
 * matching looks ahead (chains.h). */
#define TILE 512
#define AHEAD 2

/* The best matches of one search within the whole, half, and a quarter of its depth. Each is packed
 * (lz_pack); 0: none. */
struct alignas(16) found {
    uint32_t whole, half, quarter;
    uint32_t unused; /* pads the struct to 16 bytes, which one instruction stores */
};

/* A chunk's scratch memory. The arrays are 16-byte aligned for copy_to_shared. */
struct alignas(16) chains_scratch {
    found matches[LZ_CHUNK_SIZE];
    uint16_t links[LZ_CHUNK_SIZE];
    uint16_t long_links[LZ_CHUNK_SIZE];
    uint16_t links3[LZ_CHUNK_SIZE];
    uint32_t distinct; /* number of different bytes in the chunk's first LZ_SAMPLE */
};

/* Blocks of threads that make a chunk's links. Blocks 0 and 1 each make half of the links by four
 * and seven bytes. Block 2 makes the links by three bytes; it is left out at levels without matches
 * of three. */
#define LINK_BLOCKS 3

static __global__ void __launch_bounds__(TABLE_THREADS)
    link_chunks(gpu_view v, bool by_long, uint32_t max_distance3)
{
    extern __shared__ uint4 shared[];
    uint16_t *table = (uint16_t *)shared;
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    struct chains_scratch *s = (struct chains_scratch *)v.scratch + blockIdx.x;
    const uint32_t distinct = count_distinct(v, blockIdx.x);

    if (blockIdx.y < 2) {
        if (threadIdx.x == 0 && blockIdx.y == 0)
            s->distinct = distinct;
        make_links<4>(s->links, table, c, LZ_CHAINS_WINDOW, blockIdx.y);
        if (by_long)
            make_links<LZ_LONG>(s->long_links, table, c, LZ_CHAINS_WINDOW, blockIdx.y);
    } else if (lz_wants_length3(distinct, max_distance3)) {
        make_links<3>(s->links3, table, c, max_distance3);
    }
}

/* The level's parameters for searches. */
struct search_limits {
    uint32_t depth, long_depth, nice, max_distance3;
};

/* What a lane does next: nothing, follow its chain, or count how many bytes of the candidate are
 * equal. */
enum { DONE, FOLLOWING, COUNTING };

/* One lane's search at one position; compare `follow` in lzss/chains.c. */
struct chains_search {
    uint32_t pos;         /* NOWHERE: the lane has no position, and nothing to store */
    int32_t there;        /* the candidate's position; `pos` before the first */
    int32_t lowest;       /* the lowest position that a candidate may have */
    uint32_t max, enough; /* longest possible match; length that ends the search */
    uint32_t last;        /* the last four bytes of a match at `pos` that is one byte longer than
                           * `length` */
    uint32_t length;      /* length of the best match; at first, the length to exceed */
    uint32_t looked_at;   /* candidates that this search has looked at so far */
    uint32_t state;       /* DONE, FOLLOWING or COUNTING */
    uint32_t agreed;      /* bytes of this candidate found equal so far */
    int32_t score;        /* the best match's score */
    found best;
};

#define NOWHERE UINT32_MAX

/* Starts search s at pos, for a match of more than `length` and at most `longest` bytes. */
template <typename Data>
static __device__ __forceinline__ void begin_search(chains_search &s, Data data, uint32_t pos,
                                                    uint32_t length, uint32_t longest,
                                                    uint32_t nice)
{
    s.pos = pos;
    s.there = (int32_t)pos;
    s.lowest = max((int32_t)pos - LZ_CHAINS_WINDOW, 0);
    s.max = longest;
    s.enough = min(nice, longest);
    s.length = length;
    s.looked_at = 0;
    s.score = LZ_SCORE_MIN;
    s.best = {0, 0, 0, 0};
    s.state = longest > length ? FOLLOWING : DONE;
    if (longest > length)
        s.last = load32(data, pos + length - 3);
}

/* Numbers that decide what a warp does in its next turn (search_all). If at least REFILL lanes are
 * idle, they get new positions. Otherwise, if at least COUNTED lanes have bytes to count, they
 * count. Otherwise, each lane that follows a chain looks at up to FOLLOWED candidates. With lower
 * thresholds, lanes wait less, but more of the warp is idle in each turn. A higher FOLLOWED makes
 * fewer turns, in which lanes wait longer for the slowest. These are the best of 18 combinations
 * tried on an H100 and an H200; the others were up to 15 % slower (bench/gpu-notes.md). */
#define REFILL 8
#define COUNTED 12
#define FOLLOWED 4

/* Follows the chain for up to FOLLOWED candidates. Stops at a candidate that has the last four
 * bytes of a longer match. count_on then compares that candidate from its first byte on. The match
 * may turn out to be short, or to be none, because all candidates have the same hash, but not
 * always the same first bytes. */
template <typename Data, typename Links>
static __device__ __forceinline__ void follow(chains_search &s, const gpu_chunk &c, Data data,
                                              Links links, uint32_t depth)
{
    uint32_t last = 0;

#pragma unroll
    for (int i = 0; i < FOLLOWED; i++) {
        s.there -= (int32_t)link_at(links, c, (uint32_t)s.there);
        if (s.there < s.lowest)
            break;
        last = load32(data, (uint32_t)s.there + s.length - 3);
        if (last == s.last || ++s.looked_at >= depth)
            break;
    }
    s.state = s.there < s.lowest    ? DONE
              : last == s.last      ? COUNTING
              : s.looked_at < depth ? FOLLOWING
                                    : DONE;
    s.agreed = 0;
}

/* Returns how many leading bytes of the eight at a and b are equal, 0 to 8. */
template <typename Data>
static __device__ __forceinline__ uint32_t common_bytes8(Data data, uint32_t a, uint32_t b)
{
    const uint32_t a0 = word_at(data, a / 4), a1 = word_at(data, a / 4 + 1),
                   a2 = word_at(data, a / 4 + 2);
    const uint32_t b0 = word_at(data, b / 4), b1 = word_at(data, b / 4 + 1),
                   b2 = word_at(data, b / 4 + 2);
    const uint32_t low = __funnelshift_r(a0, a1, a * 8) ^ __funnelshift_r(b0, b1, b * 8);
    const uint32_t high = __funnelshift_r(a1, a2, a * 8) ^ __funnelshift_r(b1, b2, b * 8);
    const uint32_t first = low != 0 ? low : high;

    return (low != 0 ? 0 : 4) + (first == 0 ? 4 : (uint32_t)(__ffs((int)first) - 1) / 8);
}

/* Counts up to eight more bytes of the candidate that equal the bytes at the position. If a byte
 * differs, the match ends, and the function rates it. */
template <typename Data>
static __device__ __forceinline__ void count_on(chains_search &s, Data data, uint32_t depth)
{
    const uint32_t more = common_bytes8(data, s.pos + s.agreed, (uint32_t)s.there + s.agreed);
    uint32_t n;

    s.agreed += more;
    if (more == 8 && s.agreed < s.max)
        return;
    n = min(s.agreed, s.max);
    if (n > s.length) {
        const uint32_t distance = s.pos - (uint32_t)s.there;
        const int32_t score = lz_score(n, distance);

        if (score > s.score) {
            s.score = score;
            s.length = n;
            s.last = load32(data, s.pos + n - 3);
            s.best.whole = lz_pack(n, distance);
            if (s.looked_at < depth / 2)
                s.best.half = s.best.whole;
            if (s.looked_at < depth / 4)
                s.best.quarter = s.best.whole;
        }
    }
    /* A match of s.enough bytes ends the search. No earlier match of this search is as long,
     * because such a match would have ended the search. Every search starts with an s.length below
     * s.enough. */
    s.state = ++s.looked_at < depth && n < s.enough ? FOLLOWING : DONE;
}

/* Positions that a warp takes at a time. With more, there are fewer atomic operations, but the
 * warps finish less evenly. */
#define TAKEN 128

/* Returns the first of TAKEN positions that no other warp of the block gets. `next` is in the
 * block's shared memory. */
static __device__ __forceinline__ uint32_t take_positions(uint32_t *next)
{
    uint32_t first = 0;

    if (threadIdx.x % WARP == 0)
        first = atomicAdd(next, TAKEN);
    return __shfl_sync(ALL_LANES, first, 0);
}

/*
 * Searches at all positions of the chunk. Some searches take a hundred times as long as others, and
 * some lanes count along a match while others look for one. So a lane that is done does not wait
 * for its neighbours, but gets another position. A lane needs one of three things: a new position,
 * counting, or following. In each turn, the warp does the thing that enough of its lanes need.
 *
 * begin(s, pos) starts the search at a position, and end(s) stores its result.
 */
template <typename Data, typename Links, typename Begin, typename End>
static __device__ __forceinline__ void search_all(const gpu_chunk &c, Data data, Links links,
                                                  uint32_t depth, uint32_t *next, Begin begin,
                                                  End end)
{
    const uint32_t below = (1u << threadIdx.x % WARP) - 1;
    /* The warp has taken positions [from, until), and has not given them to lanes yet. */
    uint32_t from = 0, until = 0;
    bool more = true;
    chains_search s;

    s.pos = NOWHERE;
    s.state = DONE;
    for (;;) {
        const uint32_t idle = __ballot_sync(ALL_LANES, s.state == DONE);
        const uint32_t counting = __ballot_sync(ALL_LANES, s.state == COUNTING);

        if (more && __popc((int)idle) >= REFILL) {
            if (from == until) {
                from = take_positions(next);
                until = max(from, min(from + TAKEN, c.end));
                more = from < until;
            }
            if (s.state == DONE) {
                const uint32_t pos = from + (uint32_t)__popc((int)(idle & below));

                /* Without this empty instruction, nvcc computes the address of the result in each
                 * turn of the loop. */
                asm volatile("" : "+r"(s.pos));
                if (s.pos != NOWHERE)
                    end(s);
                s.pos = NOWHERE;
                if (pos < until)
                    begin(s, pos);
            }
            from = min(from + (uint32_t)__popc((int)idle), until);
        } else if (__popc((int)counting) >= COUNTED || (idle | counting) == ALL_LANES) {
            if (idle == ALL_LANES)
                break;
            if (s.state == COUNTING)
                count_on(s, data, depth);
        } else if (s.state == FOLLOWING) {
            follow(s, c, data, links, depth);
        }
    }
    if (s.pos != NOWHERE)
        end(s);
}

/* SHARED_DATA: bytes of shared memory for a chunk, its history, and 16 readable bytes after the
 * chunk. SHARED_LINKS: bytes for the links of the chunk and of its history. */
#define SHARED_DATA (LZ_WINDOW_SIZE + LZ_CHUNK_SIZE + 16)
#define SHARED_LINKS ((LZ_WINDOW_SIZE + LZ_CHUNK_SIZE) * sizeof(uint16_t))

/* Copies `size` bytes between 16-byte aligned addresses. May write up to 15 bytes more. All threads
 * of the block call this function. */
static __device__ __forceinline__ void copy_to_shared(void *to, const void *from, uint32_t size)
{
    for (uint32_t i = threadIdx.x; i < (size + 15) / 16; i += SEARCH_THREADS)
        ((uint4 *)to)[i] = __ldg((const uint4 *)from + i);
}

static __device__ __forceinline__ uint32_t longest_at(const gpu_chunk &c, uint32_t pos)
{
    return min(c.end - pos, (uint32_t)LZ_MAX_MATCH);
}

/* Returns the three matches of a. If a has no match of some depth, returns b's match of that
 * depth. */
static __device__ __forceinline__ found first_of(const found &a, const found &b)
{
    found f = {0, 0, 0, 0};

    f.whole = a.whole != 0 ? a.whole : b.whole;
    f.half = a.half != 0 ? a.half : b.half;
    f.quarter = a.quarter != 0 ? a.quarter : b.quarter;
    return f;
}

/* If `link` leads to a match of three bytes, adds this match for each depth at which the search
 * found no match: its whole depth, half of it, or a quarter. */
template <typename Data>
static __device__ __forceinline__ void add_match3(chains_search &s, Data data, uint32_t link)
{
    if (link != LINKS_NONE &&
        ((load32(data, s.pos - link) ^ load32(data, s.pos)) & 0xffffff) == 0) {
        const uint32_t match = lz_pack(LZ_MIN_MATCH, link);

        s.best = first_of(s.best, {match, match, match, 0});
    }
}

/*
 * Searches at all positions of a chunk; one block calls this function. s: the chunk's scratch
 * memory, which is the array element after the scratch memory of the chunk before. next: two
 * counters in shared memory, for take_positions.
 *
 * Searches read the same bytes and follow the same links many times over, in no order. With DATA,
 * the block has the bytes in shared memory, which serves a warp's scattered reads several times as
 * fast as the L1 cache does. With LINKS, the block has the links in shared memory, too.
 * queue_search chooses DATA and LINKS by the shared memory of the device. Bytes and links that are
 * not in shared memory stay in global memory.
 */
template <bool DATA, bool LINKS>
static __device__ __forceinline__ void search_chunk(const gpu_chunk &c, struct chains_scratch *s,
                                                    const search_limits &limits, uint32_t *next)
{
    extern __shared__ uint4 shared[];
    const bool three = lz_wants_length3(s->distinct, limits.max_distance3);
    /* Without history, no search reads the links of the chunk before, so any pointer will do. */
    const struct chains_scratch *before = c.history > 0 ? s - 1 : s;
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
        search_all(
            c, data, links, limits.long_depth, &next[0],
            [&](chains_search &l, uint32_t pos) {
                begin_search(l, data, pos, LZ_LONG - 1, longest_at(c, pos), limits.nice);
            },
            [&](const chains_search &l) { s->matches[l.pos - c.history] = l.best; });
        __syncthreads();
    }
    const auto links = at_hand(s->links, before->links);

    __syncthreads();
    search_all(
        c, data, links, limits.depth, &next[1],
        [&](chains_search &l, uint32_t pos) {
            uint32_t longest = longest_at(c, pos);

            if (limits.long_depth > 0) {
                /* A match within a quarter of the depth also lies within half and all of it. So the
                 * search by seven bytes has found all three matches, and this search is not
                 * needed. */
                if (s->matches[pos - c.history].quarter != 0)
                    return;
                longest = min(longest, LZ_LONG - 1);
            }
            begin_search(l, data, pos, LZ_MIN_MATCH, longest, limits.nice);
        },
        [&](chains_search &l) {
            found *const to = &s->matches[l.pos - c.history];

            if (three && l.best.quarter == 0 && l.max >= LZ_MIN_MATCH)
                add_match3(l, data, s->links3[l.pos - c.history]);
            *to = limits.long_depth > 0 ? first_of(*to, l.best) : l.best;
        });
}

template <bool DATA, bool LINKS>
static __global__ void __launch_bounds__(SEARCH_THREADS)
    search_chunks(gpu_view v, search_limits limits)
{
    __shared__ uint32_t next[2];
    const gpu_chunk c = gpu_chunk_at(v, blockIdx.x);
    const gpu_chunk whole = {c.data, LZ_WINDOW_SIZE, LZ_WINDOW_SIZE + LZ_CHUNK_SIZE};
    struct chains_scratch *s = (struct chains_scratch *)v.scratch + blockIdx.x;

    /* Nearly all chunks are whole, and come after whole chunks. If nvcc knows `history` and `end`
     * at compile time, it makes faster code: 6 % at level 6, 8 % at level 9. */
    if (c.history == whole.history && c.end == whole.end)
        search_chunk<DATA, LINKS>(whole, s, limits, next);
    else
        search_chunk<DATA, LINKS>(c, s, limits, next);
}

static __global__ void __launch_bounds__(WARP)
    parse_chunks(gpu_view v, uint32_t depth, uint32_t nice, uint32_t lazy)
{
    __shared__ uint32_t tile[3][TILE + AHEAD];
    const uint32_t lane = threadIdx.x;
    const gpu_span span = gpu_chunk_span(v, blockIdx.x);
    const uint32_t size = span.end - span.start;
    const struct chains_scratch *s = (const struct chains_scratch *)v.scratch + blockIdx.x;
    uint16_t *tags = v.tags + (size_t)blockIdx.x * LZ_CHUNK_SIZE;
    const uint32_t least = lz_least_length(s->distinct, depth);
    uint32_t pos = 0;
    /* The current match, which starts at `pos`. A match at a later position may replace it. */
    struct lz_match match = {0, 0, LZ_SCORE_MIN};

    for (uint32_t i = lane; i < (size + 7) / 8; i += WARP)
        ((uint4 *)tags)[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();

    for (uint32_t start = 0; start < size; start += TILE) {
        if (pos >= start + TILE)
            continue;
        __syncwarp();
        for (uint32_t i = lane; i < TILE + AHEAD; i += WARP) {
            const found f = start + i < size ? s->matches[start + i] : found{0, 0, 0, 0};

            tile[0][i] = f.whole;
            tile[1][i] = f.half;
            tile[2][i] = f.quarter;
        }
        __syncwarp();

        while (pos < start + TILE && pos < size) {
            const uint32_t at = pos - start;

            if (match.length == 0) {
                match = lz_unpack(tile[0][at]);
                if (match.length < least) {
                    match.length = 0;
                    pos++;
                    continue;
                }
            }
            if (lazy > 0 && match.length < nice) {
                struct lz_match next = lz_unpack(tile[1][at + 1]);

                if (lz_prefers(next, match.length, match.score + LZ_GAIN_NEXT)) {
                    match = next;
                    pos++;
                    continue;
                }
                if (lazy > 1) {
                    next = lz_unpack(tile[2][at + 2]);
                    if (lz_prefers(next, match.length, match.score + LZ_GAIN_AFTER_NEXT)) {
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

static size_t scratch_size(const struct lz_level *level)
{
    (void)level;
    return sizeof(struct chains_scratch);
}

/* Queues the search kernel that uses as much of the device's shared memory as possible. */
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

static cudaError_t find_matches(const gpu_view &v, const struct lz_level *level,
                                cudaStream_t stream)
{
    const search_limits limits = {level->depth, level->long_depth, level->nice,
                                  level->max_distance3};
    const dim3 blocks(v.chunks, level->max_distance3 > 0 ? LINK_BLOCKS : LINK_BLOCKS - 1);
    cudaError_t status = cudaFuncSetAttribute(
        link_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)LINKS_SHARED);

    if (status != cudaSuccess)
        return status;
    link_chunks<<<blocks, TABLE_THREADS, LINKS_SHARED, stream>>>(v, level->long_depth > 0,
                                                                 level->max_distance3);
    status = cudaGetLastError();
    return status == cudaSuccess ? queue_search(v, limits, stream) : status;
}

static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    parse_chunks<<<v.chunks, WARP, 0, stream>>>(v, level->depth, level->nice, level->lazy);
    return cudaGetLastError();
}

const struct gpu_finder gpu_finder_chains = {scratch_size, find_matches, parse,
                                             GPU_BYTES_A_SEQUENCE};
