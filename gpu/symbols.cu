/*
 * symbols.cu - DEFLATE decoded from the middle, on the GPU (twin of inflate/symbols.c)
 *
 * Huffman codes are read in order, one after the other, and where the next one starts is not known
 * before.  Two kernels do that with many threads.
 *
 * `count` has a warp for each candidate.  The warp takes 32 spans of SPAN bits at a time, a lane each.  The
 * first lane starts at a code; the others start at the first bit of their span, which may be within
 * one.  Huffman codes synchronise: a lane that has started wrong soon reads true codes (Weissenberger and
 * Schmidt, "Massively parallel Huffman decoding on GPUs", 2018).  So each lane then compares where the
 * lane before it has ended with where it has started, and decodes once more if these differ, until no
 * lane's start is wrong.  After two or three rounds that is so with text.  Codes of nearly one length
 * synchronise badly, and take up to 32 rounds.  When all starts are true, the lanes count their output, and
 * write the map.
 *
 * `decode` has a team of threads for each piece.  The map says where each thread's step starts, and
 * where its output goes, so that no thread waits for another.  The team makes a window of up to
 * ROOM symbols in shared memory.  The bytes of a match are not copied in order: each becomes a name of the
 * earlier symbol in the window that it copies, and afterwards all names are followed at the same time.
 */
#include "gpu/inflate.cuh"
#include "gpu/inflate_bits.cuh"
#include "gpu/internal.cuh"

/* Warps of a block of `count`, each with tables of its own.  More share a multiprocessor's memory
 * as well as these. */
#define WARPS 4
#define LANES 32
#define ALL UINT32_MAX

/* Bits of a lane's span: two steps of the map.  With shorter spans, more of the lanes' time goes into
 * finding the start of a code. */
#define SPAN (2 * GPU_STEP)

/* Threads of a team, each with a step at a time. */
#define TEAM 256

/* Symbols of a team's window.  One step has at most 64 codes, of two bits or more, each with up to
 * 258 bytes, and must fit. */
#define ROOM 16640u
#define CODE_MAX 258u

static_assert(ROOM >= GPU_STEP / 2 * CODE_MAX, "a step fits");

/* A symbol from NAME to below GPU_UNKNOWN is a name of symbol number - NAME of the window. */
#define NAME 256u

static_assert(NAME + ROOM <= GPU_UNKNOWN, "names are not unknown bytes");

/* --- Tables ----------------------------------------------------------------------------------- */

/* Bits that one look into a table decodes.  Longer codes, which are rare, take a search. */
#define LITLEN_BITS 10
#define DISTANCE_BITS 9
#define LENGTH_MAX 15

/* An entry of a table: the low 4 bits are a code's length; then 4 bits with the number of extra bits; then
 * what it is; from bit 16 on, the byte, or the least length or distance. 0: a longer code. */
enum kind { LITERAL, COPY, END, WRONG };

#define ENTRY(value, kind, extra, length) \
    ((uint32_t)(value) << 16 | (uint32_t)(kind) << 8 | (uint32_t)(extra) << 4 | (uint32_t)(length))
#define ENTRY_LENGTH(e) ((e)&15)
#define ENTRY_EXTRA(e) ((e) >> 4 & 15)
#define ENTRY_KIND(e) ((e) >> 8 & 255)
#define ENTRY_VALUE(e) ((e) >> 16)

/* The codes of one kind by their length. */
struct by_length {
    uint32_t count[LENGTH_MAX + 1]; /* codes of this length */
    uint32_t limit[LENGTH_MAX + 1]; /* all codes of this length are below, as numbers of 15 bits */
    uint16_t first[LENGTH_MAX + 1]; /* the first code of this length */
    uint16_t place[LENGTH_MAX + 1]; /* where its symbol is in sorted[] */
    uint16_t sorted[288];
};

struct tables {
    uint32_t litlen[1 << LITLEN_BITS];
    uint32_t distance[1 << DISTANCE_BITS];
    by_length litlens, distances;
    uint8_t lengths[288 + 32];
    uint16_t codes[288];
    uint32_t litlen_count, distance_count;
    uint32_t data; /* the bit behind the header */
    uint32_t is_good;
};

/* What a symbol of literals and lengths means (RFC 1951, 3.2.5). */
static __device__ uint32_t litlen_entry(uint32_t symbol, uint32_t length)
{
    uint32_t extra;

    if (symbol < 256)
        return ENTRY(symbol, LITERAL, 0, length);
    if (symbol == 256)
        return ENTRY(0, END, 0, length);
    symbol -= 257;
    if (symbol > 28)
        return ENTRY(0, WRONG, 0, length);
    if (symbol == 28)
        return ENTRY(258, COPY, 0, length);
    if (symbol < 8)
        return ENTRY(3 + symbol, COPY, 0, length);
    extra = symbol / 4 - 1;
    return ENTRY(3 + ((4 + symbol % 4) << extra), COPY, extra, length);
}

static __device__ uint32_t distance_entry(uint32_t symbol, uint32_t length)
{
    uint32_t extra;

    if (symbol > 29)
        return ENTRY(0, WRONG, 0, length);
    if (symbol < 4)
        return ENTRY(1 + symbol, COPY, 0, length);
    extra = symbol / 2 - 1;
    return ENTRY(1 + ((2 + symbol % 2) << extra), COPY, extra, length);
}

/* Gives each symbol its code (RFC 1951, 3.2.2), by a warp: lengths[i] is the length of symbol i's. */
static __device__ void number_codes(const uint8_t *lengths, uint32_t count, by_length &b,
                                    uint16_t *codes, uint32_t lane)
{
    if (lane <= LENGTH_MAX)
        b.count[lane] = 0;
    __syncwarp();
    /* codes[i] becomes how many symbols before i have codes of the same length. */
    for (uint32_t first = 0; first < count; first += LANES) {
        const uint32_t i = first + lane, length = i < count ? lengths[i] : 0;
        const uint32_t same = __match_any_sync(ALL, length);
        const uint32_t before = b.count[length];

        __syncwarp();
        if (i < count)
            codes[i] = (uint16_t)(before + __popc(same & ((1u << lane) - 1)));
        if (lane == (uint32_t)__ffs((int)same) - 1)
            b.count[length] = before + (uint32_t)__popc(same);
        __syncwarp();
    }
    if (lane == 0) {
        uint32_t code = 0, place = 0;

        for (uint32_t k = 1; k <= LENGTH_MAX; k++) {
            b.first[k] = (uint16_t)code;
            b.place[k] = (uint16_t)place;
            code += b.count[k];
            place += b.count[k];
            b.limit[k] = code << (LENGTH_MAX - k);
            code <<= 1;
        }
    }
    __syncwarp();
    for (uint32_t i = lane; i < count; i += LANES) {
        const uint32_t k = lengths[i];

        if (k == 0)
            continue;
        b.sorted[b.place[k] + codes[i]] = (uint16_t)i;
        codes[i] += b.first[k];
    }
}

/* Makes a table of codes.  `threads` threads do that, of whole warps; number `thread` is this one, and they
 * meet by sync(). */
template <bool IS_LITLEN, typename Sync>
static __device__ void make_table(tables &t, uint32_t thread, uint32_t threads, Sync sync)
{
    constexpr uint32_t bits = IS_LITLEN ? LITLEN_BITS : DISTANCE_BITS;
    uint32_t *table = IS_LITLEN ? t.litlen : t.distance;
    const uint8_t *lengths = IS_LITLEN ? t.lengths : t.lengths + t.litlen_count;
    const uint32_t count = IS_LITLEN ? t.litlen_count : t.distance_count;

    for (uint32_t i = thread; i < 1u << bits; i += threads)
        table[i] = 0;
    if (thread < LANES)
        number_codes(lengths, count, IS_LITLEN ? t.litlens : t.distances, t.codes, thread);
    sync();
    for (uint32_t i = thread; i < count; i += threads) {
        const uint32_t k = lengths[i];

        if (k == 0 || k > bits)
            continue;
        const uint32_t entry = IS_LITLEN ? litlen_entry(i, k) : distance_entry(i, k);

        for (uint32_t at = __brev(t.codes[i]) >> (32 - k); at < 1u << bits; at += 1u << k)
            table[at] = entry;
    }
    sync();
}

/* The entry of the code that comes next. */
template <bool IS_LITLEN>
static __device__ __forceinline__ uint32_t look_up(const tables &t, uint64_t buffer)
{
    constexpr uint32_t bits = IS_LITLEN ? LITLEN_BITS : DISTANCE_BITS;
    const uint32_t entry = IS_LITLEN ? t.litlen[buffer & ((1 << LITLEN_BITS) - 1)]
                                     : t.distance[buffer & ((1 << DISTANCE_BITS) - 1)];

    if (entry != 0)
        return entry;
    const by_length &b = IS_LITLEN ? t.litlens : t.distances;
    const uint32_t code = __brev((uint32_t)buffer) >> (32 - LENGTH_MAX);

    for (uint32_t k = bits + 1; k <= LENGTH_MAX; k++)
        if (code < b.limit[k]) {
            const uint32_t symbol = b.sorted[b.place[k] + (code >> (LENGTH_MAX - k)) - b.first[k]];

            return IS_LITLEN ? litlen_entry(symbol, k) : distance_entry(symbol, k);
        }
    return ENTRY(0, WRONG, 0, LENGTH_MAX);
}

/* The type of a block: the two bits behind the first of its header. */
enum block_type { STORED, FIXED, DYNAMIC, NO_TYPE };

/* Makes the tables of the block whose header starts at a bit: dynamic, or fixed.  t.is_good: it is
 * one; t.data: where its codes start. */
template <typename Sync>
static __device__ void make_tables(const gpu_compressed &in, uint32_t header, tables &t,
                                   uint32_t lane, uint32_t lanes, Sync sync)
{
    const bool is_dynamic = (gpu_bits_at(in.words, header) >> 1 & 3) == DYNAMIC;

    if (is_dynamic && lane == 0) {
        gpu_reader r;
        gpu_header h;

        gpu_seek(r, in.words, header + 3);
        t.is_good = gpu_read_header(r, t.lengths, h);
        t.litlen_count = h.litlens;
        t.distance_count = h.distances;
        t.data = gpu_bit_of(r, in.words);
    } else if (!is_dynamic) {
        for (uint32_t i = lane; i < 288 + 30; i += lanes)
            t.lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : i < 288 ? 8 : 5;
        if (lane == 0) {
            t.litlen_count = 288;
            t.distance_count = 30;
            t.data = header + 3;
            t.is_good = true;
        }
    }
    sync();
    if (!t.is_good)
        return;
    make_table<true>(t, lane, lanes, sync);
    make_table<false>(t, lane, lanes, sync);
}

/* --- Counting --------------------------------------------------------------------------------- */

/* What a lane comes to in its span. */
struct span {
    uint32_t start;  /* where its first code starts */
    uint32_t end;    /* behind the last code that starts in the span */
    uint32_t output; /* bytes */
    uint32_t state;  /* LITERAL: it goes on; END: the block has ended; WRONG: a code is no good */
};

/* Decodes the codes that start from `start` on and before `bound`.  middle, middle_output: of the first code
 * that starts at `half` or behind it, if there is one. */
static __device__ span decode_span(const tables &t, const uint32_t *words, uint32_t start,
                                   uint32_t bound, uint32_t half, uint32_t &middle,
                                   uint32_t &middle_output)
{
    span s = {start, start, 0, LITERAL};
    gpu_reader r;

    middle = UINT32_MAX;
    gpu_seek(r, words, start);
    while (s.end < bound) {
        if (s.end >= half && middle == UINT32_MAX) {
            middle = s.end;
            middle_output = s.output;
        }
        gpu_refill(r);
        const uint32_t e = look_up<true>(t, r.buffer);
        const uint32_t kind = ENTRY_KIND(e);

        gpu_drop(r, ENTRY_LENGTH(e));
        if (kind == LITERAL) {
            s.output++;
        } else if (kind == COPY) {
            s.output += ENTRY_VALUE(e) + gpu_take(r, ENTRY_EXTRA(e));
            gpu_refill(r);
            const uint32_t d = look_up<false>(t, r.buffer);

            gpu_drop(r, ENTRY_LENGTH(d) + ENTRY_EXTRA(d));
            if (ENTRY_KIND(d) != COPY)
                s.state = WRONG;
        } else {
            s.state = kind;
        }
        s.end = gpu_bit_of(r, words);
        if (s.state != LITERAL)
            break;
    }
    return s;
}

/* Threads that count a unit together: a warp, or a whole block of threads.  Thread number `rank` is this
 * one.  All of them call each function. */
struct warp_group {
    static constexpr uint32_t size = LANES;
    uint32_t rank;

    __device__ void sync() const
    {
        __syncwarp();
    }

    /* What the thread before has; nothing for the first. */
    __device__ uint32_t before(uint32_t value) const
    {
        return __shfl_up_sync(ALL, value, 1);
    }

    /* The first thread for which it is so, or `size`. */
    __device__ uint32_t first(bool is_so) const
    {
        const uint32_t lanes = __ballot_sync(ALL, is_so);

        return lanes != 0 ? (uint32_t)__ffs((int)lanes) - 1 : size;
    }

    /* What that thread has. */
    __device__ uint32_t from(uint32_t value, uint32_t other) const
    {
        return __shfl_sync(ALL, value, (int)other);
    }

    /* The sum of the values of this thread and those before. */
    __device__ uint32_t sum(uint32_t value) const
    {
        for (uint32_t i = 1; i < LANES; i <<= 1) {
            const uint32_t other = __shfl_up_sync(ALL, value, i);

            if (rank >= i)
                value += other;
        }
        return value;
    }
};

/* Threads of a block that counts a long unit. */
#define LONG_TEAM 512

struct team_memory {
    uint32_t values[LONG_TEAM], sums[LONG_TEAM / LANES], first, value;
};

struct team_group {
    static constexpr uint32_t size = LONG_TEAM;
    uint32_t rank;
    team_memory &m;

    __device__ void sync() const
    {
        __syncthreads();
    }

    __device__ uint32_t before(uint32_t value) const
    {
        m.values[rank] = value;
        __syncthreads();
        value = rank > 0 ? m.values[rank - 1] : 0;
        __syncthreads();
        return value;
    }

    __device__ uint32_t first(bool is_so) const
    {
        uint32_t found;

        if (rank == 0)
            m.first = size;
        __syncthreads();
        if (is_so)
            atomicMin(&m.first, rank);
        __syncthreads();
        found = m.first;
        __syncthreads();
        return found;
    }

    __device__ uint32_t from(uint32_t value, uint32_t other) const
    {
        if (rank == other)
            m.value = value;
        __syncthreads();
        value = m.value;
        __syncthreads();
        return value;
    }

    __device__ uint32_t sum(uint32_t value) const
    {
        const warp_group warp = {rank % LANES};

        value = warp.sum(value);
        if (rank % LANES == LANES - 1)
            m.sums[rank / LANES] = value;
        __syncthreads();
        for (uint32_t i = 0; i < rank / LANES; i++)
            value += m.sums[i];
        __syncthreads();
        return value;
    }
};

/* Counts a block whose tables are made, and writes its map, which has no entries from map_end on.  *reach
 * becomes the bit up to which it may have written.  False: it is no good. */
template <typename Group>
static __device__ bool count_codes(const gpu_compressed &in, const tables &t, gpu_block &b,
                                   uint32_t *map, const uint32_t *map_end, const Group &g,
                                   uint32_t &reach)
{
    uint32_t place = b.data, total = 0;

    for (uint32_t at = b.data;; at += Group::size * SPAN) {
        const uint32_t cut = at + g.rank * SPAN, bound = min(cut + SPAN, in.bits);
        uint32_t middle, middle_output = 0, ended;
        span s;

        if (at >= in.bits)
            return false;
        s = decode_span(t, in.words, g.rank == 0 ? place : min(cut, in.bits), bound, cut + GPU_STEP,
                        middle, middle_output);
        for (;;) {
            const uint32_t before = g.before(s.end), before_state = g.before(s.state);
            const bool is_wrong = g.rank > 0 && before_state == LITERAL && before != s.start;

            ended = g.first(s.state != LITERAL);
            /* Only the threads up to the first that has ended count. */
            if (g.first(is_wrong) > min(ended, Group::size - 1))
                break;
            if (is_wrong)
                s = decode_span(t, in.words, before, bound, cut + GPU_STEP, middle, middle_output);
        }
        const uint32_t last = min(ended, Group::size - 1);
        const uint32_t output = g.rank <= last ? s.output : 0, sum = g.sum(output);
        const uint32_t state = g.from(s.state, last), end = g.from(s.end, last);
        const uint32_t before = total + sum - output;

        total += g.from(sum, Group::size - 1);
        if (total > GPU_BLOCK_MAX || state == WRONG || end > in.bits ||
            map + (at - b.data) / GPU_STEP + 2 * Group::size >= map_end)
            return false;
        reach = at + Group::size * SPAN;
        if (g.rank <= last) {
            uint32_t *const entry = map + (at - b.data) / GPU_STEP + 2 * g.rank;

            entry[0] = before << GPU_MAP_BITS | (s.start - cut);
            if (middle != UINT32_MAX)
                entry[1] = (before + middle_output) << GPU_MAP_BITS | (middle - cut - GPU_STEP);
        }
        if (state == END) {
            const uint32_t both = g.from(middle != UINT32_MAX, last);

            b.end = end;
            b.length = total;
            b.steps = (at - b.data) / GPU_STEP + 2 * last + 1 + both;
            if (g.rank == 0)
                map[b.steps] = total << GPU_MAP_BITS | GPU_MAP_END;
            return true;
        }
        place = end;
    }
}

/* Reads the trailer of a member whose last block has ended, and the next member's header. */
static __device__ void end_member(const gpu_compressed &in, gpu_unit &u)
{
    const uint32_t byte = (u.end + 7) / 8, bytes = in.bits / 8;

    u.how = GPU_UNIT_BAD;
    if (bytes < 8 || byte > bytes - 8)
        return;
    u.crc = (uint32_t)gpu_bits_at(in.words, 8 * byte);
    u.size = (uint32_t)gpu_bits_at(in.words, 8 * byte + 32);
    if (byte + 8 == bytes) {
        u.end = in.bits;
        u.how = in.is_last ? GPU_UNIT_LAST : GPU_UNIT_BAD;
        return;
    }
    u.end = 8 * gpu_header_end(in, byte + 8);
    u.how = u.end != 0 ? GPU_UNIT_MEMBER : GPU_UNIT_BAD;
}

/* Whether a candidate starts at that bit; starts[0..count) are in ascending order. */
static __device__ bool is_candidate(const uint32_t *starts, uint32_t count, uint32_t bit)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        const uint32_t middle = (low + high) / 2;

        if (starts[middle] < bit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && starts[low] == bit;
}

/* A stored block's header may begin at any of several bits, as some that are not used follow it.  find.cu
 * names the last of them, if all of these bits are 0. */
static __device__ uint32_t last_start(const gpu_compressed &in, uint32_t bit)
{
    const uint32_t canonical = (bit + 3 + 7) / 8 * 8 - 3;
    const uint64_t bits = gpu_bits_at(in.words, bit);

    return (bits & (((uint64_t)1 << (canonical + 3 - bit)) - 1)) == 0 ? canonical : bit;
}

/* Counts a stored block; false if it is no good. */
static __device__ bool count_stored(const gpu_compressed &in, gpu_block &b)
{
    const uint32_t byte = (b.start + 3 + 7) / 8;
    const uint32_t header = (uint32_t)gpu_bits_at(in.words, 8 * byte);

    b.data = 8 * byte + 32;
    b.length = header & 0xffff;
    b.end = b.data + 8 * b.length;
    return b.length == (~header >> 16) && b.data <= in.bits && b.end <= in.bits;
}

/* The candidates whose units are counted, and where what is counted goes. */
struct count_work {
    const uint32_t *starts; /* of all candidates, in ascending order */
    uint32_t count;
    const uint32_t *which; /* numbers of those to count; NULL: all */
    uint32_t which_count;
    gpu_unit *units; /* of all candidates */
    uint32_t *map;
};

/* Counts the unit that starts at candidate number `rank`. */
template <typename Group>
static __device__ void count_unit(const gpu_compressed &in, const count_work &w, uint32_t rank,
                                  tables &t, const Group &g)
{
    const auto sync = [&] { g.sync(); };
    const uint32_t *const map_end = w.map + gpu_map_place(in.bits, w.count) + GPU_MAP_SPARE;
    uint32_t bit = w.starts[rank], *map = w.map + gpu_map_place(bit, rank);
    gpu_unit u = {bit, bit, GPU_UNIT_BAD, 0, 0, 0, 0, 0, {}};

    for (;;) {
        const uint64_t header = gpu_bits_at(in.words, bit);
        const uint32_t type = (uint32_t)(header >> 1 & 3);
        gpu_block b = {bit, 0, 0, 0, 0};

        if (bit + 10 > in.bits || type == NO_TYPE || u.count == GPU_UNIT_BLOCKS)
            break;
        if (type == STORED) {
            if (!count_stored(in, b))
                break;
        } else {
            make_tables(in, bit, t, g.rank, Group::size, sync);
            b.data = t.data;
            if (!t.is_good || !count_codes(in, t, b, map, map_end, g, u.reach))
                break;
            map += b.steps + 1;
        }
        u.blocks[u.count++] = b;
        u.length += b.length;
        u.end = bit = b.end;
        if (u.length > GPU_BLOCK_MAX)
            break;
        if (header & 1) {
            end_member(in, u);
            break;
        }
        bit = last_start(in, bit);
        if (bit >= in.find_end || is_candidate(w.starts, w.count, bit)) {
            u.end = bit;
            u.how = GPU_UNIT_BLOCK;
            break;
        }
    }
    if (g.rank == 0)
        w.units[rank] = u;
    g.sync();
}

/* Whether a unit is long, going by where the next candidate is. */
static __device__ bool is_long(const gpu_compressed &in, const count_work &w, uint32_t rank)
{
    const uint32_t next = rank + 1 < w.count ? w.starts[rank + 1] : in.find_end;

    return next - w.starts[rank] > in.long_bits;
}

static __global__ void __launch_bounds__(WARPS *LANES)
    count_units(gpu_compressed in, count_work w, uint32_t *next)
{
    extern __shared__ uint4 shared[];
    const warp_group g = {threadIdx.x % LANES};

    for (;;) {
        uint32_t i = 0;

        if (g.rank == 0)
            i = atomicAdd(next, 1u);
        i = g.from(i, 0);
        if (i >= w.which_count)
            return;
        if (w.which != NULL)
            i = w.which[i];
        if (!is_long(in, w, i))
            count_unit(in, w, i, ((tables *)shared)[threadIdx.x / LANES], g);
    }
}

struct long_memory {
    tables t;
    team_memory m;
};

static __global__ void __launch_bounds__(LONG_TEAM)
    count_long_units(gpu_compressed in, count_work w, uint32_t *next)
{
    extern __shared__ uint4 shared[];
    long_memory &memory = *(long_memory *)shared;
    const team_group g = {threadIdx.x, memory.m};

    for (;;) {
        uint32_t i = 0;

        if (g.rank == 0)
            i = atomicAdd(next, 1u);
        i = g.from(i, 0);
        if (i >= w.which_count)
            return;
        if (w.which != NULL)
            i = w.which[i];
        if (is_long(in, w, i))
            count_unit(in, w, i, memory.t, g);
    }
}

/* --- Decoding --------------------------------------------------------------------------------- */

/* A match whose names are put into the window by a whole warp. */
struct long_match {
    uint32_t at;
    uint16_t length, distance; /* the distance less 1 */
};

/* A match from this length on, if there is room in the list.  With a lower limit, lanes wait less for
 * each other; but short matches take longer this way. */
#define LONG_MATCH 48u
#define LONG_MATCHES 512u

struct team {
    tables t;
    long_match list[LONG_MATCHES];
    uint32_t listed;
    uint32_t entries[TEAM + 1]; /* the map's, from the window's first step on */
    uint32_t piece;
    uint16_t window[ROOM];
};

/* The name of the byte that is `distance` before window[at], or the symbol itself if it is not in the
 * window.  window[0] is symbol number `made` of the piece, whose symbols are out[]. */
static __device__ __forceinline__ uint16_t name_of(int32_t source, const uint16_t *out,
                                                   uint32_t made)
{
    const int32_t place = (int32_t)made + source;

    if (source >= 0)
        return (uint16_t)(NAME + (uint32_t)source);
    return place >= 0 ? out[place] : (uint16_t)(GPU_UNKNOWN + GPU_WINDOW + (uint32_t)place);
}

/* Puts what one step makes into the window, from window[at] on, but for long matches, which go to the
 * list. */
static __device__ void decode_step(team &m, const uint32_t *words, uint32_t start, uint32_t bound,
                                   uint32_t at, const uint16_t *out, uint32_t made)
{
    gpu_reader r;

    gpu_seek(r, words, start);
    while (gpu_bit_of(r, words) < bound) {
        gpu_refill(r);
        const uint32_t e = look_up<true>(m.t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(e));
        if (ENTRY_KIND(e) == LITERAL) {
            if (at < ROOM)
                m.window[at++] = (uint16_t)ENTRY_VALUE(e);
            continue;
        }
        if (ENTRY_KIND(e) != COPY)
            return;
        const uint32_t length = ENTRY_VALUE(e) + gpu_take(r, ENTRY_EXTRA(e));

        gpu_refill(r);
        const uint32_t d = look_up<false>(m.t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(d));
        const uint32_t distance = ENTRY_VALUE(d) + gpu_take(r, ENTRY_EXTRA(d));
        const int32_t from = (int32_t)at - (int32_t)distance;

        if (at + length > ROOM)
            return; /* a map of other data */
        if (length >= LONG_MATCH) {
            const uint32_t i = atomicAdd(&m.listed, 1u);

            if (i < LONG_MATCHES) {
                m.list[i] = {at, (uint16_t)length, (uint16_t)(distance - 1)};
                at += length;
                continue;
            }
        }
        /* The bytes of a match that overlaps itself name those before the match. */
        for (uint32_t i = 0, k = 0; i < length; i++) {
            m.window[at++] = name_of(from + (int32_t)k, out, made);
            if (++k == distance)
                k = 0;
        }
    }
}

/* Puts the long matches into the window. */
static __device__ void put_long_matches(team &m, const uint16_t *out, uint32_t made)
{
    const uint32_t count = min(m.listed, LONG_MATCHES);

    for (uint32_t i = threadIdx.x / LANES; i < count; i += TEAM / LANES) {
        const long_match match = m.list[i];
        const uint32_t distance = match.distance + 1u;
        const int32_t from = (int32_t)match.at - (int32_t)distance;

        for (uint32_t k = threadIdx.x % LANES; k < match.length; k += LANES)
            m.window[match.at + k] = name_of(from + (int32_t)(k % distance), out, made);
    }
}

/* Follows the names of the window to symbols that are none, and copies these to out[0..count). */
static __device__ void follow_names(uint16_t *window, uint16_t *out, uint32_t count)
{
    for (uint32_t i = threadIdx.x; i < count; i += TEAM) {
        uint32_t symbol = window[i];

        /* Other threads may have replaced a name on the way by what it leads to, which is as good.  Names
         * lead back: one that does not would mean a map of other data. */
        for (uint32_t at = i; symbol >= NAME && symbol < GPU_UNKNOWN && symbol - NAME < at;) {
            at = symbol - NAME;
            symbol = ((volatile uint16_t *)window)[at];
        }
        window[i] = (uint16_t)symbol;
        out[i] = (uint16_t)symbol;
    }
}

/* Decodes a piece of codes.  Its tables are made. */
static __device__ void decode_codes(const gpu_compressed &in, team &m, const gpu_piece &p,
                                    const uint32_t *map, uint16_t *out)
{
    uint32_t made = 0;

    for (uint32_t step = 0; step < p.steps;) {
        const uint32_t left = p.steps - step, some = left < TEAM ? left : TEAM;
        uint32_t low = 1, high = some;

        for (uint32_t i = threadIdx.x; i <= some; i += TEAM)
            m.entries[i] = map[p.map + step + i];
        if (threadIdx.x == 0)
            m.listed = 0;
        __syncthreads();
        const uint32_t before = m.entries[0] >> GPU_MAP_BITS;

        /* As many steps as the window has room for, which are some. */
        while (low < high) {
            const uint32_t middle = (low + high + 1) / 2;

            if ((m.entries[middle] >> GPU_MAP_BITS) - before <= ROOM)
                low = middle;
            else
                high = middle - 1;
        }
        if (threadIdx.x < low) {
            const uint32_t entry = m.entries[threadIdx.x];
            const uint32_t cut = p.data + (p.first + step + threadIdx.x) * GPU_STEP;

            decode_step(m, in.words, cut + (entry & GPU_MAP_END), cut + GPU_STEP,
                        (entry >> GPU_MAP_BITS) - before, out, made);
        }
        const uint32_t length = (m.entries[low] >> GPU_MAP_BITS) - before;

        __syncthreads();
        if (m.listed > 0)
            put_long_matches(m, out, made);
        __syncthreads();
        follow_names(m.window, out + made, length < ROOM ? length : ROOM);
        __syncthreads();
        made += length;
        step += low;
    }
}

static __global__ void __launch_bounds__(TEAM)
    decode_pieces(gpu_compressed in, gpu_group g, const uint32_t *map)
{
    extern __shared__ uint4 shared[];
    team &m = *(team *)shared;
    const auto sync = [] { __syncthreads(); };

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            m.piece = atomicAdd(g.next, 1u);
        __syncthreads();
        const uint32_t i = m.piece;

        if (i >= g.count)
            return;
        const gpu_piece p = g.pieces[i];
        const uint64_t start =
            p.steps == 0 ? p.block_out : p.block_out + (map[p.map] >> GPU_MAP_BITS);
        const uint32_t length =
            p.steps == 0 ? p.stored
                         : (map[p.map + p.steps] >> GPU_MAP_BITS) - (map[p.map] >> GPU_MAP_BITS);
        uint16_t *const out = g.symbols + start;

        if (threadIdx.x == 0)
            g.ranges[i] = {start, length, 0};
        if (p.steps == 0) {
            for (uint32_t k = threadIdx.x; k < length; k += TEAM)
                out[k] = gpu_byte_at(in.words, p.data / 8 + k);
            continue;
        }
        make_tables(in, p.header, m.t, threadIdx.x, TEAM, sync);
        decode_codes(in, m, p, map, out);
    }
}

/* --- The host's part -------------------------------------------------------------------------- */

/* Lets a kernel's blocks have the memory that they need. */
template <typename Kernel> static cudaError_t allow(Kernel *kernel, size_t size)
{
    return size <= 48 << 10 ? cudaSuccess
                            : cudaFuncSetAttribute(
                                  kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)size);
}

cudaError_t gpu_recount_units(const gpu_compressed &in, const uint32_t *starts, gpu_unit *units,
                              uint32_t count, const uint32_t *which, uint32_t which_count,
                              uint32_t *map, uint32_t *next, uint32_t blocks, cudaStream_t stream)
{
    const size_t size = WARPS * sizeof(tables);
    const count_work w = {starts, count, which, which_count, units, map};
    cudaError_t error = allow(count_units, size);

    if (error != cudaSuccess || which_count == 0)
        return error;
    count_long_units<<<min(blocks, which_count), LONG_TEAM, sizeof(long_memory), stream>>>(in, w,
                                                                                           next);
    blocks = min(blocks, (which_count + WARPS - 1) / WARPS);
    count_units<<<blocks, WARPS * LANES, size, stream>>>(in, w, next + 1);
    return cudaGetLastError();
}

cudaError_t gpu_count_units(const gpu_compressed &in, const uint32_t *starts, gpu_unit *units,
                            uint32_t count, uint32_t *map, uint32_t *next, uint32_t blocks,
                            cudaStream_t stream)
{
    return gpu_recount_units(in, starts, units, count, NULL, count, map, next, blocks, stream);
}

cudaError_t gpu_decode(const gpu_compressed &in, const gpu_group &g, const uint32_t *map,
                       uint32_t blocks, cudaStream_t stream)
{
    cudaError_t error = allow(decode_pieces, sizeof(team));

    if (error != cudaSuccess)
        return error;
    decode_pieces<<<min(blocks, g.count), TEAM, sizeof(team), stream>>>(in, g, map);
    return cudaGetLastError();
}
