/*
 * codes.cuh - tables that decode a block's Huffman codes on the GPU; private to gpu/
 */
#ifndef GZLZSS_GPU_CODES_CUH
#define GZLZSS_GPU_CODES_CUH

#include "base/deflate.h"
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/internal.cuh"

/* --- Tables ----------------------------------------------------------------------------------- */

/* Most bits of a code that one look into a table decodes.  Longer codes, which are rare, take a
 * search. */
#define LITLEN_BITS 10
#define DISTANCE_BITS 9

/* An entry of a table.  Bits 0 to 3 are the code's length in bits.  Bits 4 to 7 are the number of
 * extra bits.  Bits 8 to 15 are the kind of symbol.  From bit 16 on there is the literal byte, or
 * the least length or distance.  Entry 0: the code is longer than the table's bits, or there is
 * none. */
enum kind { LITERAL, COPY, END, WRONG };

#define ENTRY(value, kind, extra, length) \
    ((uint32_t)(value) << 16 | (uint32_t)(kind) << 8 | (uint32_t)(extra) << 4 | (uint32_t)(length))
#define ENTRY_LENGTH(e) ((e)&15)
#define ENTRY_EXTRA(e) ((e) >> 4 & 15)
#define ENTRY_KIND(e) ((e) >> 8 & 255)
#define ENTRY_VALUE(e) ((e) >> 16)

/* The codes of literals and lengths, or of distances, by their length in bits. */
struct by_length {
    uint32_t count[DEFLATE_MAX_CODE + 1]; /* [k]: number of codes of k bits */
    /* [k]: take the next DEFLATE_MAX_CODE bits as a number, first bit highest.  If the number is
     * less than limit[k], the next code has at most k bits. */
    uint32_t limit[DEFLATE_MAX_CODE + 1];
    uint16_t first[DEFLATE_MAX_CODE + 1];          /* [k]: the first code of k bits */
    uint16_t place[DEFLATE_MAX_CODE + 1];          /* [k]: index in sorted[] of first[k]'s symbol */
    uint16_t sorted[DEFLATE_FIXED_LITLEN_SYMBOLS]; /* the symbols in the order of their codes */
};

struct tables {
    uint32_t litlen[1 << LITLEN_BITS];
    uint32_t distance[1 << DISTANCE_BITS];
    by_length litlens, distances;
    uint8_t lengths[DEFLATE_FIXED_LITLEN_SYMBOLS + DEFLATE_FIXED_DISTANCE_SYMBOLS];
    uint16_t codes[DEFLATE_FIXED_LITLEN_SYMBOLS];
    uint32_t litlen_count, distance_count;
    uint32_t data;    /* the bit after the header, where the block's codes start */
    uint32_t is_good; /* the header is good; if not, the tables are undefined */
};

/* Returns the entry of a literal or length symbol whose code has `length` bits. */
static __device__ uint32_t litlen_entry(uint32_t symbol, uint32_t length)
{
    if (symbol < DEFLATE_END_OF_BLOCK)
        return ENTRY(symbol, LITERAL, 0, length);
    if (symbol == DEFLATE_END_OF_BLOCK)
        return ENTRY(0, END, 0, length);
    if (symbol >= DEFLATE_LITLEN_SYMBOLS)
        return ENTRY(0, WRONG, 0, length);
    return ENTRY(deflate_least_length(symbol), COPY, deflate_length_extra_bits(symbol), length);
}

/* Returns the entry of a distance symbol whose code has `length` bits. */
static __device__ uint32_t distance_entry(uint32_t symbol, uint32_t length)
{
    if (symbol >= DEFLATE_DISTANCE_SYMBOLS)
        return ENTRY(0, WRONG, 0, length);
    return ENTRY(deflate_least_distance(symbol), COPY, deflate_distance_extra_bits(symbol), length);
}

/* Sets codes[i] to the code of symbol i (RFC 1951, 3.2.2), and fills in b.  lengths[i] is the
 * length of the code.  All lanes of a warp call it. */
static __device__ void number_codes(const uint8_t *lengths, uint32_t count, by_length &b,
                                    uint16_t *codes, uint32_t lane)
{
    if (lane <= DEFLATE_MAX_CODE)
        b.count[lane] = 0;
    __syncwarp();
    /* Set codes[i] to the number of symbols before i whose codes have the same length. */
    for (uint32_t first = 0; first < count; first += WARP) {
        const uint32_t i = first + lane, length = i < count ? lengths[i] : 0;
        const uint32_t same = __match_any_sync(ALL_LANES, length);
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

        for (uint32_t k = 1; k <= DEFLATE_MAX_CODE; k++) {
            b.first[k] = (uint16_t)code;
            b.place[k] = (uint16_t)place;
            code += b.count[k];
            place += b.count[k];
            b.limit[k] = code << (DEFLATE_MAX_CODE - k);
            code <<= 1;
        }
    }
    __syncwarp();
    for (uint32_t i = lane; i < count; i += WARP) {
        const uint32_t k = lengths[i];

        if (k == 0)
            continue;
        b.sorted[b.place[k] + codes[i]] = (uint16_t)i;
        codes[i] += b.first[k];
    }
}

/* Makes the table of literals and lengths, or of distances.  `threads` threads, which are whole
 * warps, call it.  This thread has number `thread`.  sync() waits for all of them. */
template <bool IS_LITLEN, typename Sync>
static __device__ void make_table(tables &t, uint32_t thread, uint32_t threads, Sync sync)
{
    constexpr uint32_t bits = IS_LITLEN ? LITLEN_BITS : DISTANCE_BITS;
    uint32_t *table = IS_LITLEN ? t.litlen : t.distance;
    const uint8_t *lengths = IS_LITLEN ? t.lengths : t.lengths + t.litlen_count;
    const uint32_t count = IS_LITLEN ? t.litlen_count : t.distance_count;

    for (uint32_t i = thread; i < 1u << bits; i += threads)
        table[i] = 0;
    if (thread < WARP)
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

/* Returns the entry of the next code in `buffer`. */
template <bool IS_LITLEN>
static __device__ __forceinline__ uint32_t look_up(const tables &t, uint64_t buffer)
{
    constexpr uint32_t bits = IS_LITLEN ? LITLEN_BITS : DISTANCE_BITS;
    const uint32_t entry = IS_LITLEN ? t.litlen[buffer & ((1 << LITLEN_BITS) - 1)]
                                     : t.distance[buffer & ((1 << DISTANCE_BITS) - 1)];

    if (entry != 0)
        return entry;
    const by_length &b = IS_LITLEN ? t.litlens : t.distances;
    const uint32_t code = __brev((uint32_t)buffer) >> (32 - DEFLATE_MAX_CODE);

    for (uint32_t k = bits + 1; k <= DEFLATE_MAX_CODE; k++)
        if (code < b.limit[k]) {
            const uint32_t symbol =
                b.sorted[b.place[k] + (code >> (DEFLATE_MAX_CODE - k)) - b.first[k]];

            return IS_LITLEN ? litlen_entry(symbol, k) : distance_entry(symbol, k);
        }
    return ENTRY(0, WRONG, 0, DEFLATE_MAX_CODE);
}

/* Makes the tables of the dynamic or fixed block whose header starts at bit `header`.  `lanes`
 * threads call it.  This thread has number `lane`. */
template <typename Sync>
static __device__ void make_tables(const gpu_compressed &in, uint32_t header, tables &t,
                                   uint32_t lane, uint32_t lanes, Sync sync)
{
    const bool is_dynamic = (gpu_bits_at(in.words, header) >> 1 & 3) == DEFLATE_DYNAMIC;

    /* Wait until no thread uses the tables of the block before any more. */
    sync();
    if (is_dynamic && lane == 0) {
        gpu_reader r;
        gpu_header h;

        gpu_seek(r, in.words, header + 3);
        t.is_good = gpu_read_header(r, t.lengths, h);
        t.litlen_count = h.litlens;
        t.distance_count = h.distances;
        t.data = gpu_bit_of(r, in.words);
    } else if (!is_dynamic) {
        for (uint32_t i = lane; i < sizeof(t.lengths); i += lanes)
            t.lengths[i] =
                (uint8_t)(i < DEFLATE_FIXED_LITLEN_SYMBOLS ? deflate_fixed_length(i)
                                                           : DEFLATE_FIXED_DISTANCE_LENGTH);
        if (lane == 0) {
            t.litlen_count = DEFLATE_FIXED_LITLEN_SYMBOLS;
            t.distance_count = DEFLATE_FIXED_DISTANCE_SYMBOLS;
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

#endif
