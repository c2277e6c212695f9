/*
 * write.c - writes blocks (write.h)
 *
 * The codes of up to three or four literals and of the match after them are looked up in tables,
 * joined to one number, and put at once, without a branch that depends on the data.  Plain C takes
 * a branch for sequences with more literals.  With AVX2 and AVX-512, such sequences are first cut
 * into slots (slots.h), so that no branch is often mispredicted.  With AVX-512, lanes.c joins the
 * codes of 16 slots at a time; then these bits only have to be put.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "huffman/lengths.h"
#include "huffman/write.h"

_Static_assert(8 + DEFLATE_MAX_CODE + 5 <= 32, "a length's code, extra bits and their number");

void huff_write_stored(struct bitwriter *w, const uint8_t *in, size_t n, bool final)
{
    do {
        size_t bytes = n < DEFLATE_MAX_STORED ? n : DEFLATE_MAX_STORED;

        n -= bytes;
        bits_put(w, (final && n == 0) | DEFLATE_STORED << 1, 3);
        bits_align(w);
        bits_put(w, bytes | (uint64_t)(bytes ^ 0xffff) << 16, 32);
        bits_flush(w);
        memcpy(w->next, in, bytes);
        w->next += bytes;
        in += bytes;
    } while (n > 0);
}

/* Makes the codes of all lengths that a symbol stands for; the symbol's code has code_bits bits.
 * Entries of lengths whose symbol has no code are left over from earlier blocks; the block has no
 * such lengths. */
static void make_length_codes(uint32_t *codes, unsigned symbol, unsigned code, unsigned code_bits)
{
    const unsigned extra_bits = deflate_length_extra_bits(symbol);
    const unsigned least = deflate_least_length(symbol);

    /* The last but one symbol seems to stand for the longest length, too.  That length has a symbol
     * of its own, whose entry comes after this one; without a code, it does not occur. */
    for (unsigned extra = 0; extra < 1u << extra_bits; extra++)
        codes[least + extra] = (code | extra << code_bits) << 8 | (code_bits + extra_bits);
}

/* Makes codes in the form that writing needs, from the code lengths of the two alphabets. */
static void make_codes(const struct huff_functions *by, struct huff_codes *codes,
                       const uint8_t *litlen_lengths, unsigned litlen_symbols,
                       const uint8_t *distance_lengths, unsigned distance_symbols)
{
    uint16_t code[HUFF_MAX_SYMBOLS + 2], distance_code[DEFLATE_FIXED_DISTANCE_SYMBOLS];

    huff_codes(litlen_lengths, litlen_symbols, code);
    for (unsigned i = 0; i <= DEFLATE_END_OF_BLOCK; i++)
        codes->literal[i] = (uint32_t)code[i] << 8 | litlen_lengths[i];
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_LITLEN_SYMBOLS; i++)
        if (litlen_lengths[i] != 0)
            make_length_codes(codes->length, i, code[i], litlen_lengths[i]);
    huff_codes(distance_lengths, distance_symbols, distance_code);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        codes->distance[i] =
            huff_value_code(distance_code[i], distance_lengths[i], deflate_least_distance(i),
                            deflate_distance_extra_bits(i));
    if (by->make_codes != NULL)
        by->make_codes(codes, code, litlen_lengths);
}

#ifdef HAVE_AVX2_PATH
void huff_make_codes_avx2(struct huff_codes *codes, const uint16_t *litlen,
                          const uint8_t *litlen_lengths)
{
    huff_slots_make_codes(&codes->by_path.slots, litlen, litlen_lengths, codes->distance);
}
#endif

#ifdef HAVE_AVX512_PATH
void huff_make_codes_avx512(struct huff_codes *codes, const uint16_t *litlen,
                            const uint8_t *litlen_lengths)
{
    huff_lanes_make_codes(&codes->by_path.lanes, litlen, litlen_lengths);
}
#endif

/* Makes the codes of fixed blocks (RFC 1951, section 3.2.6). */
static void make_fixed_codes(const struct huff_functions *by, struct huff_codes *codes)
{
    uint8_t litlen_lengths[DEFLATE_FIXED_LITLEN_SYMBOLS];
    uint8_t distance_lengths[DEFLATE_FIXED_DISTANCE_SYMBOLS];

    for (unsigned i = 0; i < sizeof(litlen_lengths); i++)
        litlen_lengths[i] = (uint8_t)deflate_fixed_length(i);
    memset(distance_lengths, DEFLATE_FIXED_DISTANCE_LENGTH, sizeof(distance_lengths));
    make_codes(by, codes, litlen_lengths, sizeof(litlen_lengths), distance_lengths,
               sizeof(distance_lengths));
}

/* Puts the bits of an entry of huff_codes.literal or .length. */
static inline void put_code(struct bitwriter *w, uint32_t code)
{
    bits_put(w, code >> 8, code & 0xff);
}

/* Puts three literals, and flushes.  The caller must have flushed before. */
static inline void put_three(struct bitwriter *w, const struct huff_codes *codes, const uint8_t *in)
{
    _Static_assert(3 * DEFLATE_MAX_CODE <= BITWRITER_ROOM, "three literals between flushes");

    put_code(w, codes->literal[in[0]]);
    put_code(w, codes->literal[in[1]]);
    put_code(w, codes->literal[in[2]]);
    bits_flush(w);
}

/* Writes the literals in[0..n), and flushes.  The caller must have flushed before. */
static void write_literals(struct bitwriter *out, const struct huff_codes *codes, const uint8_t *in,
                           size_t n)
{
    struct bitwriter w = *out; /* a copy, which the compiler keeps in registers */

    for (; n >= 3; n -= 3, in += 3)
        put_three(&w, codes, in);
    for (; n > 0; n--)
        put_code(&w, codes->literal[*in++]);
    bits_flush(&w);
    *out = w;
}

/* Bits to put: the low `count` bits of `value`. */
struct bits {
    uint64_t value;
    unsigned count;
};

/* Returns the codes of the literals in[0..n), with n from 0 to 3, without a branch on n.  Most
 * matches follow at most three literals, and such a branch would often be mispredicted.  4 bytes at
 * `in` must be readable. */
static inline struct bits few_literals(const struct huff_codes *codes, const uint8_t *in, size_t n)
{
    static const uint32_t masks[4][4] = {
        {0, 0, 0, 0}, {~0u, 0, 0, 0}, {~0u, ~0u, 0, 0}, {~0u, ~0u, ~0u, 0}};
    const uint32_t bytes = load32(in);
    const uint32_t a = codes->literal[bytes & 255] & masks[n][0];
    const uint32_t b = codes->literal[bytes >> 8 & 255] & masks[n][1];
    const uint32_t c = codes->literal[bytes >> 16 & 255] & masks[n][2];

    return (struct bits){(uint64_t)(c >> 8) << ((a + b) & 63) | (uint64_t)(b >> 8) << (a & 63) |
                             a >> 8,
                         (a + b + c) & 63};
}

/* The codes and the extra bits of s's match. */
static inline struct bits match_bits(const struct huff_encoder *e, struct lz_sequence s)
{
    const unsigned symbol = huff_distance_symbol(e, s.distance);
    const uint32_t length = e->codes.length[s.length];
    const struct huff_value_code *code = &e->codes.distance[symbol];
    const uint32_t distance = ((uint32_t)s.distance << code->shift) + code->bits;

    return (struct bits){(uint64_t)distance << (length & 63) | length >> 8,
                         (length & 63) + code->count};
}

/* The loop of huff_write_portable and write_some, which are compiled to different
 * instructions. */
LOOP const uint8_t *write_loop(const struct huff_encoder *e, struct bitwriter *out,
                               const uint8_t *in, const struct lz_sequence *sequences,
                               uint32_t count)
{
    struct bitwriter w = *out;

    _Static_assert(DEFLATE_MAX_CODE + 5 + DEFLATE_MAX_CODE + 13 <= BITWRITER_ROOM,
                   "a match between flushes");

    for (const struct lz_sequence *s = sequences, *end = s + count; s < end; s++) {
        const struct bits match = match_bits(e, *s);
        struct bits literals;
        unsigned n = s->literals;

        for (; __builtin_expect(n > 3, 0); n -= 3, in += 3)
            put_three(&w, &e->codes, in);
        literals = few_literals(&e->codes, in, n);
        in += n + s->length;
        if (__builtin_expect(literals.count + match.count > BITWRITER_ROOM, 0)) {
            bits_put(&w, literals.value, literals.count);
            bits_flush(&w);
            bits_put(&w, match.value, match.count);
        } else {
            bits_put(&w, literals.value | match.value << literals.count,
                     literals.count + match.count);
        }
        bits_flush(&w);
    }
    *out = w;
    return in;
}

NOINLINE const uint8_t *huff_write_portable(struct huff_encoder *e, struct bitwriter *out,
                                            const uint8_t *in, const struct lz_sequence *sequences,
                                            uint32_t count)
{
    return write_loop(e, out, in, sequences, count);
}

#ifdef HAVE_AVX2_PATH
/* Writes sequences one by one: those that have too many literals for slots, and those that do not
 * fill a vector. */
AVX2_PATH NOINLINE static const uint8_t *write_some(const struct huff_encoder *e,
                                                    struct bitwriter *out, const uint8_t *in,
                                                    const struct lz_sequence *sequences,
                                                    uint32_t count)
{
    return write_loop(e, out, in, sequences, count);
}

/* Writes a slot of any number of bits, and flushes.  The caller must have flushed before. */
NOINLINE static void put_wide(const struct huff_encoder *e, struct bitwriter *w,
                              const uint8_t *literals, size_t n, struct lz_sequence match)
{
    write_literals(w, &e->codes, literals, n);
    if (match.length >= LZ_MIN_MATCH) {
        const struct bits bits = match_bits(e, match);

        bits_put(w, bits.value, bits.count);
        bits_flush(w);
    }
}

/* The bit writer's state in the form of huff_top_code: the pending bits are the uppermost ones of
 * `bits`, above bits without a meaning. */
struct top_bits {
    uint8_t *next;
    uint64_t bits, count;
};

static inline struct top_bits to_top(const struct bitwriter *w)
{
    return (struct top_bits){w->next, w->bits << (-w->count & 63), w->count};
}

static inline struct bitwriter from_top(const struct top_bits *w)
{
    return (struct bitwriter){w->next, w->bits >> 1 >> (63 - w->count), (unsigned)w->count};
}

/* Puts slot i, which has more than BITWRITER_ROOM bits, and flushes. */
NOINLINE static void put_wide_slot(const struct huff_encoder *e, struct top_bits *out, uint32_t i)
{
    const struct huff_slots *const s = &e->batch.slots;
    const uint16_t *const literals = s->literals + (size_t)i * HUFF_SLOT_LITERALS;
    struct bitwriter w = from_top(out);
    uint8_t bytes[HUFF_SLOT_LITERALS];
    struct lz_sequence match = {0};
    size_t n;

    for (n = 0; n < HUFF_SLOT_LITERALS && literals[n] != HUFF_NO_LITERAL; n++)
        bytes[n] = (uint8_t)literals[n];
    match.length = s->match[i] & UINT16_MAX;
    match.distance = (uint16_t)(s->match[i] >> 16);
    put_wide(e, &w, bytes, n, match);
    *out = to_top(&w);
}

/* Codes that are joined, and a number whose low 8 bits are the number of their bits. */
struct joined {
    huff_top_code code;
    uint64_t sum;
};

static inline struct joined join(struct joined a, huff_top_code b)
{
    return (struct joined){a.code >> (b & 63) | b, a.sum + b};
}

/* Puts all slots, and flushes. */
AVX2_PATH NOINLINE static void put_slots(const struct huff_encoder *e, struct bitwriter *out)
{
    const struct huff_slots *const s = &e->batch.slots;
    const struct huff_slot_codes *const codes = &e->codes.by_path.slots;
    struct top_bits w = to_top(out);

    for (uint32_t i = 0, used = s->used; i < used; i++) {
        const uint16_t *const literals = s->literals + (size_t)i * HUFF_SLOT_LITERALS;
        struct joined j = {codes->literal[literals[0]], codes->literal[literals[0]]};
        uint64_t count;

        j = join(j, codes->literal[literals[1]]);
        j = join(j, codes->literal[literals[2]]);
        j = join(j, codes->literal[literals[3]]);
        j = join(j, codes->length[s->match[i] & UINT16_MAX]);
        j = join(j, s->distance[i]);
        count = j.sum & 255;
        if (__builtin_expect(count > BITWRITER_ROOM, 0)) {
            /* Use a copy, so that `w` itself stays in registers. */
            struct top_bits writer = w;

            put_wide_slot(e, &writer, i);
            w = writer;
            continue;
        }
        /* The low 6 bits of j.code are no code. */
        w.bits = w.bits >> (count & 63) | (j.code & ~UINT64_C(63));
        w.count += count;
        store64(w.next, w.bits >> (-w.count & 63));
        w.next += w.count >> 3;
        w.count &= 7;
    }
    *out = from_top(&w);
}

const uint8_t *huff_write_avx2(struct huff_encoder *e, struct bitwriter *out, const uint8_t *in,
                               const struct lz_sequence *sequences, uint32_t count)
{
    while (count > 0) {
        uint32_t n = huff_slots_expand(&e->batch.slots, &in, sequences, count);

        if (n > 0) {
            huff_slots_encode(&e->batch.slots, &e->codes.by_path.slots);
            put_slots(e, out);
        } else {
            n = 1;
            in = write_some(e, out, in, sequences, n);
        }
        sequences += n;
        count -= n;
    }
    return in;
}
#endif

#ifdef HAVE_AVX512_PATH
/* Puts slot i, which has more than BITWRITER_ROOM bits, and flushes. */
NOINLINE static void put_wide_lane(const struct huff_encoder *e, struct bitwriter *w, uint32_t i)
{
    const struct huff_lane_slots *const s = &e->batch.lanes;
    struct lz_sequence match = {0};

    match.length = s->match[i] >> HUFF_LANES_LENGTH_SHIFT & HUFF_LANES_LENGTH_MASK;
    match.distance = (uint16_t)s->match[i];
    put_wide(e, w, s->literals + (size_t)i * HUFF_SLOT_LITERALS,
             s->match[i] >> HUFF_LANES_LITERALS_SHIFT, match);
}

/* Puts all slots that were encoded, and flushes. */
AVX512_PATH NOINLINE static void put_lanes(const struct huff_encoder *e, struct bitwriter *out)
{
    const struct huff_lane_slots *const s = &e->batch.lanes;
    struct bitwriter w = *out;

    for (uint32_t i = 0, used = s->used; i < used; i++) {
        const uint32_t count = s->count[i];

        if (__builtin_expect(count > BITWRITER_ROOM, 0)) {
            /* Use a copy, so that `w` itself stays in registers. */
            struct bitwriter writer = w;

            put_wide_lane(e, &writer, i);
            w = writer;
            continue;
        }
        bits_put(&w, s->bits[i], count);
        bits_flush(&w);
    }
    *out = w;
}

const uint8_t *huff_write_avx512(struct huff_encoder *e, struct bitwriter *out, const uint8_t *in,
                                 const struct lz_sequence *sequences, uint32_t count)
{
    while (count >= HUFF_LANES) {
        uint32_t n = huff_lanes_expand(&e->batch.lanes, &in, sequences, count);

        if (n > 0) {
            huff_lanes_encode(&e->batch.lanes, &e->codes.by_path.lanes, e->codes.distance,
                              e->length_symbols);
            put_lanes(e, out);
        } else {
            n = HUFF_LANES;
            in = write_some(e, out, in, sequences, n);
        }
        sequences += n;
        count -= n;
    }
    return write_some(e, out, in, sequences, count);
}
#endif

/* Writes all symbols of block b except the end-of-block symbol. */
static void write_symbols(struct huff_encoder *e, struct bitwriter *w, const uint8_t *in,
                          size_t len, const struct lz_chunk *chunks, const struct huff_block *b)
{
    const uint8_t *next = in + b->start.byte;
    uint32_t from = b->start.sequence;

    for (size_t c = b->start.chunk; c < b->end.chunk; c++) {
        const uint8_t *chunk_end = in + LZ_CHUNK_END(c * LZ_CHUNK_SIZE, len);

        if (chunks[c].count > from)
            next =
                e->functions->write(e, w, next, chunks[c].sequences + from, chunks[c].count - from);
        write_literals(w, &e->codes, next, (size_t)(chunk_end - next));
        next = chunk_end;
        from = 0;
    }
    /* A block that ends within a chunk ends after a sequence. */
    if (b->end.sequence > from)
        e->functions->write(e, w, next, chunks[b->end.chunk].sequences + from,
                            b->end.sequence - from);
}

void huff_write_block(struct huff_encoder *e, struct bitwriter *w, const uint8_t *in, size_t len,
                      const struct lz_chunk *chunks, const struct huff_block *b, bool final)
{
    const struct huff_plan *p = &e->plan;

    if (p->type == DEFLATE_STORED) {
        huff_write_stored(w, in + b->start.byte, b->end.byte - b->start.byte, final);
        return;
    }
    bits_put(w, final | (unsigned)p->type << 1, 3);
    if (p->type == DEFLATE_DYNAMIC) {
        huff_header_write(&p->header, w);
        make_codes(e->functions, &e->codes, p->litlen_lengths, DEFLATE_LITLEN_SYMBOLS,
                   p->distance_lengths, DEFLATE_DISTANCE_SYMBOLS);
    } else if (!e->has_fixed_codes) {
        make_fixed_codes(e->functions, &e->codes);
    }
    e->has_fixed_codes = p->type == DEFLATE_FIXED;
    bits_flush(w);
    write_symbols(e, w, in, len, chunks, b);
    put_code(w, e->codes.literal[DEFLATE_END_OF_BLOCK]);
    bits_flush(w);
}
