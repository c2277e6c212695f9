/*
 * write.c - writes blocks (write.h)
 *
 * Except in rare cases, a sequence becomes bits without a branch that depends on its data.  The
 * codes of up to three literals and of the match after them are looked up in tables, joined to one
 * number, and put at once.  With AVX-512, lanes.c joins the codes of 16 sequences at a time; then
 * these bits only have to be put.
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

/* Makes codes in the form that writing needs, from the code lengths of the two alphabets. */
static void make_codes(struct huff_codes *codes, const uint8_t *litlen_lengths,
                       unsigned litlen_symbols, const uint8_t *distance_lengths,
                       unsigned distance_symbols)
{
    uint16_t code[HUFF_MAX_SYMBOLS + 2], distance_code[DEFLATE_FIXED_DISTANCE_SYMBOLS];

    huff_codes(litlen_lengths, litlen_symbols, code);
    for (unsigned i = 0; i <= DEFLATE_END_OF_BLOCK; i++)
        codes->literal[i] = (uint32_t)code[i] << 8 | litlen_lengths[i];
    for (unsigned length = LZ_MIN_MATCH; length <= LZ_MAX_MATCH; length++) {
        unsigned symbol = deflate_length_symbol(length);
        unsigned extra_bits = deflate_length_extra_bits(symbol);
        unsigned code_bits = litlen_lengths[symbol];
        uint32_t bits = code[symbol] | deflate_length_extra(length, extra_bits) << code_bits;

        codes->length[length] = bits << 8 | (code_bits + extra_bits);
    }
    huff_codes(distance_lengths, distance_symbols, distance_code);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        codes->distance[i] =
            huff_value_code(distance_code[i], distance_lengths[i], deflate_least_distance(i),
                            deflate_distance_extra_bits(i));
#ifdef HAVE_AVX512_PATH
    huff_lanes_make_codes(&codes->lanes, code, litlen_lengths);
#endif
}

/* Makes the codes of fixed blocks (RFC 1951, section 3.2.6). */
static void make_fixed_codes(struct huff_codes *codes)
{
    uint8_t litlen_lengths[DEFLATE_FIXED_LITLEN_SYMBOLS];
    uint8_t distance_lengths[DEFLATE_FIXED_DISTANCE_SYMBOLS];

    for (unsigned i = 0; i < sizeof(litlen_lengths); i++)
        litlen_lengths[i] = (uint8_t)deflate_fixed_length(i);
    memset(distance_lengths, DEFLATE_FIXED_DISTANCE_LENGTH, sizeof(distance_lengths));
    make_codes(codes, litlen_lengths, sizeof(litlen_lengths), distance_lengths,
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

/* The loop of huff_write_portable and huff_write_avx2, which are compiled to different
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
AVX2_PATH NOINLINE const uint8_t *huff_write_avx2(struct huff_encoder *e, struct bitwriter *out,
                                                  const uint8_t *in,
                                                  const struct lz_sequence *sequences,
                                                  uint32_t count)
{
    return write_loop(e, out, in, sequences, count);
}
#endif

#ifdef HAVE_AVX512_PATH
/* Puts the literals in[0..n), with n from 0 to 4, and flushes, without a branch on n.  The caller
 * must have flushed before.  4 bytes at `in` must be readable. */
LOOP void put_few(struct bitwriter *w, const struct huff_codes *codes, const uint8_t *in,
                  unsigned n)
{
    static const uint32_t masks[8] = {~0u, ~0u, ~0u, ~0u, 0, 0, 0, 0};
    const uint32_t bytes = load32(in), *const mask = masks + 4 - n;
    const uint32_t a = codes->literal[bytes & 255] & mask[0];
    const uint32_t b = codes->literal[bytes >> 8 & 255] & mask[1];
    const uint32_t c = codes->literal[bytes >> 16 & 255] & mask[2];
    const uint32_t d = codes->literal[bytes >> 24] & mask[3];

    _Static_assert(2 * DEFLATE_MAX_CODE <= BITWRITER_ROOM, "two literals between flushes");

    bits_put(w, (uint64_t)(b >> 8) << (a & 63) | a >> 8, (a + b) & 63);
    bits_flush(w);
    bits_put(w, (uint64_t)(d >> 8) << (c & 63) | c >> 8, (c + d) & 63);
    bits_flush(w);
}

/* Writes a sequence that huff_lanes_encode has marked as special.  `last` points to the sequence's
 * last literals.  These literals and the match take `count` bits.  If `count` is at most 64, `bits`
 * holds them. */
LOOP void write_special(const struct huff_encoder *e, struct bitwriter *w, const uint8_t *last,
                        struct lz_sequence s, uint64_t bits, uint32_t count)
{
    const unsigned n = s.literals < HUFF_LANES_LITERALS ? s.literals : HUFF_LANES_LITERALS;
    unsigned more = s.literals - n;

    if (more > 32) {
        write_literals(w, &e->codes, last - more, more - 4);
        more = 4;
    }
    for (; more > 4; more -= 4)
        put_few(w, &e->codes, last - more, 4);
    put_few(w, &e->codes, last - more, more);
    if (count <= BITWRITER_ROOM) {
        bits_put(w, bits, count);
    } else {
        const struct bits match = match_bits(e, s);

        write_literals(w, &e->codes, last, n);
        bits_put(w, match.value, match.count);
    }
    bits_flush(w);
}

/* Like write_loop, but does not write the last count % HUFF_LANES sequences. */
AVX512_PATH NOINLINE static const uint8_t *write_lanes(struct huff_encoder *e,
                                                       struct bitwriter *out, const uint8_t *in,
                                                       const struct lz_sequence *sequences,
                                                       uint32_t count)
{
    struct huff_encoded *const l = &e->lanes.encoded;
    struct bitwriter w = *out;

    while (count >= HUFF_LANES) {
        const uint32_t n = count < HUFF_LANES_BATCH ? count - count % HUFF_LANES : HUFF_LANES_BATCH;
        const size_t bytes = huff_lanes_encode(l, &e->codes.lanes, e->codes.distance, in, sequences,
                                               n, BITWRITER_ROOM, e->length_symbols);

        for (uint32_t i = 0; i < n; i++) {
            const uint32_t bits = l->count[i];

            if (__builtin_expect(bits >= HUFF_LANES_SPECIAL, 0)) {
                /* Use a copy, so that `w` itself stays in registers. */
                struct bitwriter writer = w;

                write_special(e, &writer, in + l->literals[i], sequences[i], l->bits[i],
                              bits - HUFF_LANES_SPECIAL);
                w = writer;
                continue;
            }
            bits_put(&w, l->bits[i], bits);
            bits_flush(&w);
        }
        in += bytes;
        sequences += n;
        count -= n;
    }
    *out = w;
    return in;
}

const uint8_t *huff_write_avx512(struct huff_encoder *e, struct bitwriter *out, const uint8_t *in,
                                 const struct lz_sequence *sequences, uint32_t count)
{
    in = write_lanes(e, out, in, sequences, count);
    return huff_write_avx2(e, out, in, sequences + (count - count % HUFF_LANES),
                           count % HUFF_LANES);
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
        make_codes(&e->codes, p->litlen_lengths, DEFLATE_LITLEN_SYMBOLS, p->distance_lengths,
                   DEFLATE_DISTANCE_SYMBOLS);
    } else if (!e->has_fixed_codes) {
        make_fixed_codes(&e->codes);
    }
    e->has_fixed_codes = p->type == DEFLATE_FIXED;
    bits_flush(w);
    write_symbols(e, w, in, len, chunks, b);
    put_code(w, e->codes.literal[DEFLATE_END_OF_BLOCK]);
    bits_flush(w);
}
