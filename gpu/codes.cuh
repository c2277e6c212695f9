/*
 * codes.cuh - a block's Huffman codes on the GPU: tables that decode them; private to gpu/
 */
#ifndef GZLZSS_GPU_CODES_CUH
#define GZLZSS_GPU_CODES_CUH

#include "gpu/pieces.cuh"
#include "gpu/bits.cuh"
#include "gpu/internal.cuh"

#define LANES 32
#define ALL UINT32_MAX

/* --- Tables ----------------------------------------------------------------------------------- */

/* Bits that one look into a table decodes.  Longer codes, which are rare, take a search. */
#define LITLEN_BITS 10
#define DISTANCE_BITS 9
#define LENGTH_MAX 15

/* An entry of a table: the low 4 bits are a code's length; then 4 bits with the number of extra
 * bits; then what it is; from bit 16 on, the byte, or the least length or distance. 0: a longer
 * code. */
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

/* Gives each symbol its code (RFC 1951, 3.2.2), by a warp: lengths[i] is the length of symbol
 * i's. */
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

/* Makes a table of codes.  `threads` threads do that, of whole warps; number `thread` is this one,
 * and they meet by sync(). */
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

    /* All have read what the block before has left here. */
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

/* Lets a kernel's blocks have that much dynamic shared memory. */
template <typename Kernel> static cudaError_t allow_shared(Kernel *kernel, size_t size)
{
    return size <= 48 << 10 ? cudaSuccess
                            : cudaFuncSetAttribute(
                                  kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)size);
}

#endif
