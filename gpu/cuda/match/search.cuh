/*
 * search.cuh - following hash chains at all positions of a chunk, for the GPU match finders
 *
 * A block of threads searches one chunk. A lane follows the chain of its position (links.cuh), and
 * compares candidates with the bytes at the position. A finder says at which positions a search
 * starts, and what a search does with a match. Searches are the most expensive part of a finder.
 * Three optimizations matter. The chunk's bytes and links are in shared memory, a lane that is done
 * gets another position, and lanes that compare bytes do so together.
 *
 * Searches read the same bytes and follow the same links many times over, in no order. Shared
 * memory serves a warp's scattered reads several times as fast as the L1 cache does. A device with
 * less shared memory has only the bytes there, and reads links from global memory. With still less,
 * searches read the bytes from global memory, too.
 */
#ifndef GZLZSS_GPU_SEARCH_CUH
#define GZLZSS_GPU_SEARCH_CUH

#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/match/links.cuh"
#include "gpu/cuda/warp.cuh"

/* Threads of a block: 1024, the most that CUDA allows. The block's shared memory leaves no space
 * for a second block on the multiprocessor. */
#define SEARCH_THREADS 1024

/* What a lane does next: nothing, follow its chain, or count how many bytes of the candidate are
 * equal. */
enum { DONE, FOLLOWING, COUNTING };

/* One lane's search at one position. A finder adds what it notes of matches, in a struct of its own
 * with this one as base. */
struct chain_search {
    uint32_t pos;         /* NOWHERE: the lane has no position, and nothing to store */
    int32_t there;        /* the candidate's position; at first, where to go on from */
    int32_t lowest;       /* the lowest position that a candidate may have */
    uint32_t max, enough; /* longest possible match; length that ends the search */
    uint32_t last;        /* the last four bytes of a match at `pos` that is one byte longer than
                           * `length` */
    uint32_t length;      /* length of the best match; at first, the length to exceed */
    uint32_t looked_at;   /* candidates that this search has looked at so far */
    uint32_t state;       /* DONE, FOLLOWING or COUNTING */
    uint32_t agreed;      /* bytes of this candidate found equal so far */
};

#define NOWHERE UINT32_MAX

/* Starts search s at pos, for a match of more than `length` and at most `longest` bytes. The first
 * candidate is the one that the link at pos - distance leads to. */
template <typename Data>
static __device__ __forceinline__ void begin_chain(chain_search &s, Data data, uint32_t pos,
                                                   uint32_t distance, uint32_t length,
                                                   uint32_t longest, uint32_t nice)
{
    s.pos = pos;
    s.there = (int32_t)(pos - distance);
    s.lowest = max((int32_t)pos - LZ_CHAINS_WINDOW, 0);
    s.max = longest;
    s.enough = min(nice, longest);
    s.length = length;
    s.looked_at = 0;
    s.state = longest > length ? FOLLOWING : DONE;
    if (longest > length)
        s.last = load32(data, pos + length - 3);
}

/* Whether the search has come to the end of its chain. */
static __device__ __forceinline__ bool has_ended(const chain_search &s)
{
    return s.there < s.lowest;
}

/* Numbers that decide what a warp does in its next turn (search_all). If at least REFILL lanes are
 * idle, they get new positions. Otherwise, if at least COUNTED lanes have bytes to count, they
 * count. Otherwise, each lane that follows a chain looks at up to FOLLOWED candidates. With lower
 * thresholds, lanes wait less, but more of the warp is idle in each turn. A higher FOLLOWED makes
 * fewer turns, in which lanes wait longer for the slowest. These are the best of 18 combinations
 * tried with chains.cu on an H100 and an H200; the others were up to 15 % slower
 * (bench/gpu-notes.md). */
#define REFILL 8
#define COUNTED 12
#define FOLLOWED 4

/* Follows the chain for up to FOLLOWED candidates. Stops at a candidate that has the last four
 * bytes of a longer match. count_on then compares that candidate from its first byte on. The match
 * may turn out to be short, or to be none, because all candidates have the same hash, but not
 * always the same first bytes. */
template <typename Data, typename Links>
static __device__ __forceinline__ void follow(chain_search &s, const gpu_chunk &c, Data data,
                                              Links links, uint32_t depth)
{
    uint32_t last = 0;

#pragma unroll
    for (int i = 0; i < FOLLOWED; i++) {
        s.there -= (int32_t)link_at(links, c, (uint32_t)s.there);
        if (has_ended(s))
            break;
        last = load32(data, (uint32_t)s.there + s.length - 3);
        if (last == s.last || ++s.looked_at >= depth)
            break;
    }
    s.state = has_ended(s)          ? DONE
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
 * differs, the match ends. If it is longer than s.length, note(s, length, distance) notes it, and
 * returns whether only a longer one is wanted from now on. */
template <typename Search, typename Data, typename Note>
static __device__ __forceinline__ void count_on(Search &s, Data data, uint32_t depth, Note note)
{
    const uint32_t more = common_bytes8(data, s.pos + s.agreed, (uint32_t)s.there + s.agreed);
    uint32_t n;

    s.agreed += more;
    if (more == 8 && s.agreed < s.max)
        return;
    n = min(s.agreed, s.max);
    if (n > s.length && note(s, n, s.pos - (uint32_t)s.there)) {
        s.length = n;
        s.last = load32(data, s.pos + n - 3);
    }
    /* A match of s.enough bytes ends the search. No earlier match of this search is as long,
     * because such a match would have ended the search. Every search starts with an s.length below
     * s.enough. */
    s.state = ++s.looked_at < depth && n < s.enough ? FOLLOWING : DONE;
}

/* Returns the first of `count` positions that no other warp of the block gets. `next` is in the
 * block's shared memory; the caller of search_all sets it to the chunk's start. */
static __device__ __forceinline__ uint32_t take_positions(uint32_t *next, uint32_t count)
{
    uint32_t first = 0;

    if (threadIdx.x % WARP == 0)
        first = atomicAdd(next, count);
    return __shfl_sync(ALL_LANES, first, 0);
}

/* The lanes with a lower number than this lane. */
static __device__ __forceinline__ uint32_t lower_lanes(void)
{
    return (1u << threadIdx.x % WARP) - 1;
}

/* Positions that a warp takes at a time. With more, there are fewer atomic operations, but the
 * warps finish less evenly. */
#define TAKEN 128

/* All positions of a chunk, for search_all. The warp has taken positions [from, until), and has not
 * given them to lanes yet. */
struct all_positions {
    uint32_t *next; /* take_positions */
    uint32_t end;   /* the chunk's end */
    uint32_t from, until;
    bool more;

    __device__ __forceinline__ all_positions(uint32_t *next, uint32_t end)
        : next(next), end(end), from(0), until(0), more(true)
    {
    }

    /* Whether there may be positions left. */
    __device__ __forceinline__ bool left() const
    {
        return more;
    }

    /* Begins to give positions to the lanes in `idle`. */
    __device__ __forceinline__ void begin(uint32_t)
    {
        if (from == until) {
            from = take_positions(next, TAKEN);
            until = max(from, min(from + TAKEN, end));
            more = from < until;
        }
    }

    /* Returns the position of this lane, which is one of these, or NOWHERE if there is none. *word
     * is not used. */
    __device__ __forceinline__ uint32_t own(uint32_t idle, uint32_t *word) const
    {
        const uint32_t pos = from + (uint32_t)__popc((int)(idle & lower_lanes()));

        *word = 0;
        return pos < until ? pos : NOWHERE;
    }

    /* The lanes have their positions. */
    __device__ __forceinline__ void end_giving(uint32_t idle)
    {
        from = min(from + (uint32_t)__popc((int)idle), until);
    }
};

/* Returns the number of the n-th bit of mask that is set, counted from 0. Undefined, but below 32,
 * if there is none. */
static __device__ __forceinline__ uint32_t nth_bit(uint32_t mask, uint32_t n)
{
    uint32_t at = 0;

#pragma unroll
    for (uint32_t half = WARP / 2; half > 0; half /= 2) {
        const uint32_t low = (uint32_t)__popc((int)(mask >> at & ((1u << half) - 1)));

        if (n >= low) {
            n -= low;
            at += half;
        }
    }
    return at;
}

/*
 * Those positions of a chunk that a finder chooses, for search_all. The warp takes 32 positions at
 * a time, one for each lane. load(pos) loads what the finder has stored for a position, and
 * choose(pos, loaded) returns 0 if no search is wanted there, or else what the search must know.
 * The warp loads for the next positions before it needs them, so that it seldom waits for device
 * memory. So load() must not use what it loads.
 */
template <typename Loaded, typename Load, typename Choose> struct chosen_positions {
    uint32_t *next; /* take_positions */
    uint32_t end;   /* the chunk's end */
    Load load;
    Choose choose;
    /* The current positions are from `first` on. `count` of them are chosen, and `given` of these
     * have been given to lanes. Lane i has the number of the i-th chosen position, and its word. */
    uint32_t first, count, given, chosen, word;
    uint32_t own_pos, own_word; /* what this lane gets */
    /* The first of the next positions, and what was loaded for this lane's position. */
    uint32_t next_first;
    Loaded loaded;

    __device__ __forceinline__ chosen_positions(uint32_t *next, uint32_t end, Load load,
                                                Choose choose)
        : next(next), end(end), load(load), choose(choose), first(0), count(0), given(0), chosen(0),
          word(0), own_pos(NOWHERE), own_word(0), loaded{}
    {
        load_ahead();
    }

    __device__ __forceinline__ void load_ahead()
    {
        next_first = take_positions(next, WARP);
        if (next_first + threadIdx.x % WARP < end)
            loaded = load(next_first + threadIdx.x % WARP);
    }

    /* Whether there may be positions left. */
    __device__ __forceinline__ bool left() const
    {
        return given < count || next_first < end;
    }

    /* Makes the next positions the current ones. */
    __device__ __forceinline__ void go_on()
    {
        const uint32_t pos = next_first + threadIdx.x % WARP;
        const uint32_t own = pos < end ? choose(pos, loaded) : 0;
        const uint32_t wanted = __ballot_sync(ALL_LANES, own != 0);

        first = next_first;
        count = (uint32_t)__popc((int)wanted);
        given = 0;
        chosen = nth_bit(wanted, threadIdx.x % WARP);
        word = __shfl_sync(ALL_LANES, own, (int)chosen);
        load_ahead();
    }

    /* Begins to give positions to the lanes in `idle`. */
    __device__ __forceinline__ void begin(uint32_t idle)
    {
        uint32_t which, at;

        if (given == count)
            go_on();
        which = given + (uint32_t)__popc((int)(idle & lower_lanes()));
        at = __shfl_sync(ALL_LANES, chosen, (int)(which % WARP));
        own_word = __shfl_sync(ALL_LANES, word, (int)(which % WARP));
        own_pos = which < count ? first + at : NOWHERE;
    }

    /* Returns the position of this lane, which is one of these, or NOWHERE if there is none. Sets
     * *word_there to the position's word. */
    __device__ __forceinline__ uint32_t own(uint32_t, uint32_t *word_there) const
    {
        *word_there = own_word;
        return own_pos;
    }

    /* The lanes have their positions. */
    __device__ __forceinline__ void end_giving(uint32_t idle)
    {
        given = min(given + (uint32_t)__popc((int)idle), count);
    }
};

template <typename Loaded, typename Load, typename Choose>
static __device__ __forceinline__ chosen_positions<Loaded, Load, Choose>
choose_positions(uint32_t *next, uint32_t end, Load load, Choose choose)
{
    return chosen_positions<Loaded, Load, Choose>(next, end, load, choose);
}

/*
 * Searches at positions of the chunk. Some searches take a hundred times as long as others, and
 * some lanes count along a match while others look for one. So a lane that is done does not wait
 * for its neighbours, but gets another position. A lane needs one of three things: a new position,
 * counting, or following. In each turn, the warp does the thing that enough of its lanes need.
 *
 * `positions` are all_positions or chosen_positions. begin(s, pos, word) starts the search at a
 * position, or leaves out the position. note(s, length, distance) notes a match (count_on). end(s)
 * stores the result of a search.
 */
template <typename Search, typename Data, typename Links, typename Positions, typename Begin,
          typename Note, typename End>
static __device__ __forceinline__ void search_all(const gpu_chunk &c, Data data, Links links,
                                                  uint32_t depth, Positions positions, Begin begin,
                                                  Note note, End end)
{
    Search s = {};

    s.pos = NOWHERE;
    s.state = DONE;
    for (;;) {
        const uint32_t idle = __ballot_sync(ALL_LANES, s.state == DONE);
        const uint32_t counting = __ballot_sync(ALL_LANES, s.state == COUNTING);

        if (positions.left() && __popc((int)idle) >= REFILL) {
            positions.begin(idle);
            if (s.state == DONE) {
                uint32_t word;
                const uint32_t pos = positions.own(idle, &word);

                /* Without this empty instruction, nvcc computes the address of the result in each
                 * turn of the loop. */
                asm volatile("" : "+r"(s.pos));
                if (s.pos != NOWHERE)
                    end(s);
                s.pos = NOWHERE;
                if (pos != NOWHERE)
                    begin(s, pos, word);
            }
            positions.end_giving(idle);
        } else if (__popc((int)counting) >= COUNTED || (idle | counting) == ALL_LANES) {
            if (idle == ALL_LANES)
                break;
            if (s.state == COUNTING)
                count_on(s, data, depth, note);
        } else if (s.state == FOLLOWING) {
            follow(s, c, data, links, depth);
        }
    }
    if (s.pos != NOWHERE)
        end(s);
}

static __device__ __forceinline__ uint32_t longest_at(const gpu_chunk &c, uint32_t pos)
{
    return min(c.end - pos, (uint32_t)LZ_MAX_MATCH);
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

/* Returns the chunk's bytes for searches. With DATA, copies them to the block's shared memory; a
 * barrier must follow. */
template <bool DATA> static __device__ __forceinline__ auto data_for_search(const gpu_chunk &c)
{
    extern __shared__ uint4 shared[];

    if constexpr (DATA) {
        copy_to_shared(shared, c.data, c.end + 16);
        return shared_words{(const uint32_t *)shared};
    } else {
        return c.data;
    }
}

/* The same for links: those of the chunk, and those of the chunk before it. */
template <bool LINKS>
static __device__ __forceinline__ auto links_for_search(const gpu_chunk &c, const uint16_t *own,
                                                        const uint16_t *before)
{
    if constexpr (LINKS) {
        extern __shared__ uint4 shared[];
        uint16_t *const row = (uint16_t *)(shared + SHARED_DATA / sizeof(uint4));

        copy_to_shared(row, before, c.history * sizeof(*row));
        copy_to_shared(row + c.history, own, (c.end - c.history) * sizeof(*row));
        return shared_links{row};
    } else {
        return gpu_links{own, before};
    }
}

/* Calls search(chunk) for the chunk. Nearly all chunks are whole, and come after whole chunks. If
 * nvcc knows `history` and `end` at compile time, it makes faster code: 6 % at level 6, 8 % at
 * level 9. */
template <typename Search>
static __device__ __forceinline__ void search_whole(const gpu_chunk &c, Search search)
{
    const gpu_chunk whole = {c.data, LZ_WINDOW_SIZE, LZ_WINDOW_SIZE + LZ_CHUNK_SIZE};

    if (c.history == whole.history && c.end == whole.end)
        search(whole);
    else
        search(c);
}

/* The versions of a search kernel: with bytes and links in shared memory, with only the bytes
 * there, and with nothing there. */
template <typename Kernel> struct search_kernels {
    Kernel all, data, none;
};

/* Chooses the version that uses as much of the device's shared memory as possible. Sets *size to
 * the bytes of dynamic shared memory that its blocks need. */
template <typename Kernel>
static inline cudaError_t choose_search(const gpu_view &v, const search_kernels<Kernel> &kernels,
                                        Kernel *kernel, size_t *size)
{
    if (v.shared_size >= SHARED_DATA + SHARED_LINKS) {
        *kernel = kernels.all;
        *size = SHARED_DATA + SHARED_LINKS;
    } else if (v.shared_size >= SHARED_DATA) {
        *kernel = kernels.data;
        *size = SHARED_DATA;
    } else {
        *kernel = kernels.none;
        *size = 0;
    }
    return cudaFuncSetAttribute(*kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)*size);
}

#endif
