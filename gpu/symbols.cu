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

/* The codes of one kind by their length, for those that are longer than a table's bits. */
struct by_length {
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

/* Makes a table of codes whose lengths are lengths[0..count); `lanes` threads do that, number `lane` is
 * this one.  SYNC: they meet. */
template <bool IS_LITLEN, typename Sync>
static __device__ void make_table(tables &t, uint32_t lane, uint32_t lanes, Sync sync)
{
    constexpr uint32_t bits = IS_LITLEN ? LITLEN_BITS : DISTANCE_BITS;
    uint32_t *table = IS_LITLEN ? t.litlen : t.distance;
    by_length &b = IS_LITLEN ? t.litlens : t.distances;
    const uint8_t *lengths = IS_LITLEN ? t.lengths : t.lengths + t.litlen_count;
    const uint32_t count = IS_LITLEN ? t.litlen_count : t.distance_count;

    for (uint32_t i = lane; i < 1u << bits; i += lanes)
        table[i] = 0;
    if (lane == 0) {
        uint16_t counts[LENGTH_MAX + 1] = {0}, next[LENGTH_MAX + 1];
        uint32_t code = 0, place = 0;

        for (uint32_t i = 0; i < count; i++)
            counts[lengths[i]]++;
        for (uint32_t k = 1; k <= LENGTH_MAX; k++) {
            next[k] = b.first[k] = (uint16_t)code;
            b.place[k] = (uint16_t)place;
            code += counts[k];
            place += counts[k];
            b.limit[k] = code << (LENGTH_MAX - k);
            code <<= 1;
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t k = lengths[i];

            if (k == 0)
                continue;
            b.sorted[b.place[k] + next[k] - b.first[k]] = (uint16_t)i;
            t.codes[i] = next[k]++;
        }
    }
    sync();
    for (uint32_t i = lane; i < count; i += lanes) {
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

/* Adds up a value over the lanes: of this and those before. */
static __device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t lane)
{
    for (uint32_t i = 1; i < LANES; i <<= 1) {
        const uint32_t other = __shfl_up_sync(ALL, value, i);

        if (lane >= i)
            value += other;
    }
    return value;
}

/* Counts a block whose tables are made, by a warp, and writes its map, which has no entries from map_end on.
 * False: it is no good. */
static __device__ bool count_codes(const gpu_compressed &in, const tables &t, gpu_block &b,
                                   uint32_t *map, const uint32_t *map_end, uint32_t lane,
                                   uint32_t &reach)
{
    uint32_t place = b.data, total = 0;

    for (uint32_t at = b.data;; at += LANES * SPAN) {
        const uint32_t cut = at + lane * SPAN, bound = cut + SPAN;
        uint32_t middle, middle_output = 0, ended;
        span s;

        if (at >= in.bits)
            return false;
        s = decode_span(t, in.words,
                        lane == 0       ? place
                        : cut < in.bits ? cut
                                        : in.bits,
                        bound < in.bits ? bound : in.bits, cut + GPU_STEP, middle, middle_output);
        for (;;) {
            const uint32_t before = __shfl_up_sync(ALL, s.end, 1);
            const uint32_t before_state = __shfl_up_sync(ALL, s.state, 1);
            const bool is_wrong = lane > 0 && before_state == LITERAL && before != s.start;
            uint32_t wrong = __ballot_sync(ALL, is_wrong);

            ended = __ballot_sync(ALL, s.state != LITERAL);
            /* Only the lanes up to the first that has ended count. */
            if (ended != 0)
                wrong &= (2u << (__ffs((int)ended) - 1)) - 1;
            if (wrong == 0)
                break;
            if (is_wrong)
                s = decode_span(t, in.words, before, bound < in.bits ? bound : in.bits,
                                cut + GPU_STEP, middle, middle_output);
        }
        const uint32_t last = ended != 0 ? (uint32_t)__ffs((int)ended) - 1 : LANES - 1;
        const uint32_t output = lane <= last ? s.output : 0, sum = sum_before(output, lane);
        const uint32_t state = __shfl_sync(ALL, s.state, (int)last);
        const uint32_t end = __shfl_sync(ALL, s.end, (int)last);
        const uint32_t before = total + sum - output;

        total += __shfl_sync(ALL, sum, LANES - 1);
        if (total > GPU_BLOCK_MAX || state == WRONG || end > in.bits ||
            map + (at - b.data) / GPU_STEP + 2 * LANES >= map_end)
            return false;
        reach = at + LANES * SPAN;
        if (lane <= last) {
            uint32_t *const entry = map + (at - b.data) / GPU_STEP + 2 * lane;

            entry[0] = before << GPU_MAP_BITS | (s.start - cut);
            if (middle != UINT32_MAX)
                entry[1] = (before + middle_output) << GPU_MAP_BITS | (middle - cut - GPU_STEP);
        }
        if (state == END) {
            const uint32_t both = __shfl_sync(ALL, (uint32_t)(middle != UINT32_MAX), (int)last);

            b.end = end;
            b.length = total;
            b.steps = (at - b.data) / GPU_STEP + 2 * last + 1 + both;
            if (lane == 0)
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

/* Counts the unit that starts at candidate number `rank`, by a warp. */
static __device__ void count_unit(const gpu_compressed &in, const uint32_t *starts, uint32_t count,
                                  uint32_t rank, gpu_unit &u, uint32_t *map,
                                  const uint32_t *map_end, tables &t, uint32_t lane)
{
    const auto sync = [] { __syncwarp(); };
    uint32_t bit = starts[rank];

    map += gpu_map_place(bit, rank);
    u = {bit, bit, GPU_UNIT_BAD, 0, 0, 0, 0, 0, {}};
    for (;;) {
        const uint64_t header = gpu_bits_at(in.words, bit);
        const uint32_t type = (uint32_t)(header >> 1 & 3);
        gpu_block b = {bit, 0, 0, 0, 0};

        if (bit + 10 > in.bits || type == NO_TYPE || u.count == GPU_UNIT_BLOCKS)
            return;
        if (type == STORED) {
            if (!count_stored(in, b))
                return;
        } else {
            make_tables(in, bit, t, lane, LANES, sync);
            b.data = t.data;
            if (!t.is_good)
                return;
            const bool is_good = count_codes(in, t, b, map, map_end, lane, u.reach);

            if (!is_good)
                return;
            map += b.steps + 1;
        }
        u.blocks[u.count++] = b;
        u.length += b.length;
        u.end = bit = b.end;
        if (u.length > GPU_BLOCK_MAX)
            return;
        if (header & 1) {
            end_member(in, u);
            return;
        }
        bit = last_start(in, bit);
        if (bit >= in.find_end || is_candidate(starts, count, bit)) {
            u.end = bit;
            u.how = GPU_UNIT_BLOCK;
            return;
        }
    }
}

static __global__ void __launch_bounds__(WARPS *LANES)
    count_units(gpu_compressed in, const uint32_t *starts, gpu_unit *units, uint32_t count,
                const uint32_t *which, uint32_t which_count, uint32_t *map, uint32_t *next)
{
    extern __shared__ uint4 shared[];
    const uint32_t lane = threadIdx.x % LANES;
    tables &t = ((tables *)shared)[threadIdx.x / LANES];
    const uint32_t *map_end = map + gpu_map_place(in.bits, count) + GPU_MAP_SPARE;

    for (;;) {
        uint32_t i = 0;
        gpu_unit u;

        if (lane == 0)
            i = atomicAdd(next, 1u);
        i = __shfl_sync(ALL, i, 0);
        if (i >= which_count)
            return;
        if (which != NULL)
            i = which[i];
        count_unit(in, starts, count, i, u, map, map_end, t, lane);
        if (lane == 0)
            units[i] = u;
        __syncwarp();
    }
}

/* --- Decoding --------------------------------------------------------------------------------- */

struct team {
    tables t;
    uint32_t entries[TEAM + 1]; /* the map's, from the window's first step on */
    uint32_t piece;
    uint16_t window[ROOM];
};

/* Puts what one step makes into the window, from window[at] on.  window[0] is symbol number `made` of the
 * piece, whose symbols are out[]. */
static __device__ void decode_step(const tables &t, const uint32_t *words, uint32_t start,
                                   uint32_t bound, uint16_t *window, uint32_t at,
                                   const uint16_t *out, uint32_t made)
{
    gpu_reader r;

    gpu_seek(r, words, start);
    while (gpu_bit_of(r, words) < bound) {
        gpu_refill(r);
        const uint32_t e = look_up<true>(t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(e));
        if (ENTRY_KIND(e) == LITERAL) {
            if (at < ROOM)
                window[at++] = (uint16_t)ENTRY_VALUE(e);
            continue;
        }
        if (ENTRY_KIND(e) != COPY)
            return;
        const uint32_t length = ENTRY_VALUE(e) + gpu_take(r, ENTRY_EXTRA(e));

        gpu_refill(r);
        const uint32_t d = look_up<false>(t, r.buffer);

        gpu_drop(r, ENTRY_LENGTH(d));
        const uint32_t distance = ENTRY_VALUE(d) + gpu_take(r, ENTRY_EXTRA(d));
        int32_t from = (int32_t)at - (int32_t)distance;

        /* The bytes of a match that overlaps itself name those before the match. */
        for (uint32_t i = 0, k = 0; i < length && at < ROOM; i++, at++) {
            const int32_t source = from + (int32_t)k;
            const int32_t place = (int32_t)made + source;

            if (++k == distance)
                k = 0;
            if (source >= 0)
                window[at] = (uint16_t)(NAME + (uint32_t)source);
            else if (place >= 0)
                window[at] = out[place];
            else
                window[at] = (uint16_t)(GPU_UNKNOWN + GPU_WINDOW + (uint32_t)place);
        }
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

            decode_step(m.t, in.words, cut + (entry & GPU_MAP_END), cut + GPU_STEP, m.window,
                        (entry >> GPU_MAP_BITS) - before, out, made);
        }
        const uint32_t length = (m.entries[low] >> GPU_MAP_BITS) - before;

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
    cudaError_t error = allow(count_units, size);

    if (error != cudaSuccess || which_count == 0)
        return error;
    blocks = min(blocks, (which_count + WARPS - 1) / WARPS);
    count_units<<<blocks, WARPS * LANES, size, stream>>>(in, starts, units, count, which,
                                                         which_count, map, next);
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
