/*
 * encoder.c - a segment's sequences in, DEFLATE blocks out
 *
 * The segment goes through part by part; a part is a chunk, or some of a chunk's sequences.  A
 * part's matches are checked against the input and its symbols counted; from the counts follows
 * about what the part would cost as a block.  A block is kept open: if the part costs less together
 * with it than apart, the part joins the block, else the block is written and the part starts the
 * next.  So parts share a Huffman code as long as that is smaller than paying for another header.
 *
 * A block is written in the cheapest of DEFLATE's three forms, by their exact sizes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/deflate.h"
#include "huffman/bitwriter.h"
#include "huffman/header.h"
#include "huffman/huffman.h"
#include "huffman/lanes.h"
#include "huffman/lengths.h"
#include "huffman/valuecode.h"

/*
 * The two loops over sequences are compiled once more for processors that have AVX2 and BMI2:
 * nothing holds them up but the number of instructions, and there are a tenth fewer then.  So are
 * the estimates, for larger vectors.  Either way they are functions of their own, for them to have
 * the registers to themselves.  Where there is AVX-512, they do what is left by lanes.h: the
 * sequences around a part's end.
 */
#define LOOP static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* How often each symbol occurs in a block, and the extra bits that go with them.  The arrays are as
 * large as the alphabets of fixed blocks: so loops over them go by whole vectors. */
struct counts {
    uint32_t litlen[DEFLATE_FIXED_LITLEN_SYMBOLS];
    uint32_t distance[DEFLATE_FIXED_DISTANCE_SYMBOLS];
    uint64_t extra_bits;
};

/* How a block is written. */
struct plan {
    enum deflate_block_type type;
    struct huff_header header; /* of a dynamic block, and its code lengths: */
    uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS];
    uint8_t distance_lengths[DEFLATE_DISTANCE_SYMBOLS];
};

/* A place in a segment, between two sequences or chunks. */
struct place {
    size_t byte;
    size_t chunk;
    uint32_t sequence; /* of the chunk */
};

/* A block that is being made. */
struct block {
    struct counts counts;
    struct place start, end;
    uint64_t bits; /* about what it takes */
};

/*
 * A code made ready for writing.  Literals and lengths: the code's bits, and above them a length's
 * extra bits, shifted left by 8, where the low 8 bits say how many they are together.  Distances
 * have too many values for a table by distance.
 */
struct codes {
    uint32_t literal[DEFLATE_END_OF_BLOCK + 1];
    uint32_t length[LZ_MAX_MATCH + 1];
    /* The first DEFLATE_DISTANCE_SYMBOLS are set. */
    struct huff_value_code distance[HUFF_VALUE_CODES];
#ifdef HAVE_AVX512_PATH
    struct huff_lane_codes lanes;
#endif
};

_Static_assert(HUFF_MAX_SYMBOLS >= DEFLATE_LITLEN_SYMBOLS && HUFF_MAX_LENGTH >= DEFLATE_MAX_CODE,
               "huff_lengths serves both alphabets");
_Static_assert(8 + DEFLATE_MAX_CODE + 5 <= 32, "a length's code, extra bits and their number");

/* Literals in front of a match that are gathered without asking how many they are. */
#define FEW_LITERALS 16

struct huff_encoder {
    bool avx2;              /* the processor has AVX2 and BMI2, */
    bool avx512;            /* and AVX-512, too */
    struct block blocks[3]; /* the open one, the next part, and the two together */
    struct plan plan;       /* of the block that is being written, */
    struct codes codes;     /* and its codes */
    /* Less DEFLATE_FIRST_LENGTH, by length less LZ_MIN_MATCH. */
    _Alignas(64) uint8_t length_symbols[256];
    uint8_t distance_symbols[1 + 2 * 256]; /* see distance_symbol */
    /* A part's literals but for long runs, one after the other. */
    uint8_t text[LZ_CHUNK_SIZE + FEW_LITERALS];
    uint16_t literals[4][256]; /* counted in four tables, so that equal neighbours do not wait */
#ifdef HAVE_AVX512_PATH
    union {
        struct huff_located located; /* while a part is counted, */
        struct huff_encoded encoded; /* or a block written */
    } lanes;
#endif
};

_Static_assert(LZ_CHUNK_SIZE <= UINT16_MAX, "a part's literals in 16 bits");

struct huff_encoder *huff_encoder_new(void)
{
    struct huff_encoder *e = aligned_alloc(_Alignof(struct huff_encoder), sizeof(*e));

    if (e == NULL)
        return NULL;
#ifdef HAVE_AVX2_PATH
    e->avx2 = cpu_has_avx2_path();
#endif
#ifdef HAVE_AVX512_PATH
    e->avx512 = cpu_has_avx512_path();
#endif
    for (unsigned length = LZ_MIN_MATCH; length <= LZ_MAX_MATCH; length++)
        e->length_symbols[length - LZ_MIN_MATCH] =
            (uint8_t)(deflate_length_symbol(length) - DEFLATE_FIRST_LENGTH);
    for (unsigned i = 1; i <= 256; i++) {
        e->distance_symbols[i] = (uint8_t)deflate_distance_symbol(i);
        e->distance_symbols[256 + i] = (uint8_t)deflate_distance_symbol(i << 7);
    }
    return e;
}

void huff_encoder_free(struct huff_encoder *e)
{
    free(e);
}

size_t huff_bound(size_t len)
{
    /* No block takes more than it would stored: its bytes, and a header of at most 5 with the
     * filling before it for every 65535 of them begun, which are no more than it has parts; and a
     * part has HUFF_SPLIT_MIN bytes unless it is its chunk's last. */
    return len + 5 * (len / HUFF_SPLIT_MIN + len / LZ_CHUNK_SIZE + 2) + 5 + 2 * BITWRITER_SLACK;
}

/* The symbol of a distance.  Above 256, distances that are equal but for the low 7 bits of what is
 * one less share one, so a table of all is not needed, which would take the cache that the data
 * needs. */
static inline unsigned distance_symbol(const struct huff_encoder *e, unsigned distance)
{
    return e->distance_symbols[distance <= 256 ? distance : (distance + 127 + (256 << 7)) >> 7];
}

/* Bytes compared side by side, with whatever vector registers there are. */
typedef uint64_t vector16 __attribute__((vector_size(16)));
typedef uint64_t vector32 __attribute__((vector_size(32)));

/* Of all that was compared, where something differed: 0 if nothing did. */
struct difference {
    vector16 halves;
    vector32 whole; /* what was compared 32 bytes at a time */
};

LOOP void compare16(struct difference *d, const uint8_t *a, const uint8_t *b, const uint8_t *mask)
{
    vector16 va, vb, vmask;

    memcpy(&va, a, sizeof(va));
    memcpy(&vb, b, sizeof(vb));
    memcpy(&vmask, mask, sizeof(vmask));
    d->halves |= (va ^ vb) & vmask;
}

/* Compares the bytes of a[0..32) and b[0..32) for which mask[0..32) has ones. */
LOOP void compare(struct difference *d, const uint8_t *a, const uint8_t *b, const uint8_t *mask,
                  bool avx2)
{
    if (avx2) {
        vector32 va, vb, vmask;

        memcpy(&va, a, sizeof(va));
        memcpy(&vb, b, sizeof(vb));
        memcpy(&vmask, mask, sizeof(vmask));
        d->whole |= (va ^ vb) & vmask;
    } else {
        /* Vectors of more than a register's size are made up badly (gcc 12). */
        compare16(d, a, b, mask);
        compare16(d, a + 16, b + 16, mask + 16);
    }
}

#define COMPARED 32

/* For COMPARED - n on: n bytes of ones, then zeros. */
#define ONES 255, 255, 255, 255, 255, 255, 255, 255
static const uint8_t compare_masks[2 * COMPARED] = {ONES, ONES, ONES, ONES};
#undef ONES

/* Compares `length` bytes (3 to LZ_MAX_MATCH); up to COMPARED - 1 bytes after them must be
 * readable.  Few matches are longer than COMPARED: for the others, there is no branch that could be
 * predicted wrong. */
LOOP void compare_match(struct difference *d, const uint8_t *a, const uint8_t *b, size_t length,
                        bool avx2)
{
    compare(d, a, b, compare_masks + COMPARED - (length < COMPARED ? length : COMPARED), avx2);
    while (length > COMPARED) {
        /* The last bytes once more, so that a mask is not needed. */
        size_t step = length < 2 * COMPARED ? length - COMPARED : COMPARED;

        length -= step;
        a += step;
        b += step;
        compare(d, a, b, compare_masks, avx2);
    }
}

/* Whether all that was compared was equal. */
LOOP bool all_equal(const struct difference *d)
{
    return (d->halves[0] | d->halves[1] | d->whole[0] | d->whole[1] | d->whole[2] | d->whole[3]) ==
           0;
}

/* Adds in[0..n) to the counts of the part. */
static void count_literals(struct huff_encoder *e, const uint8_t *in, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t bytes = load64(in + i);

        for (unsigned k = 0; k < 8; k++)
            e->literals[k & 3][(bytes >> (8 * k)) & 255]++;
    }
    for (; i < n; i++)
        e->literals[i & 3][in[i]]++;
}

/* Makes a part's counts of literals and the extra bits. */
static void sum_up(const struct huff_encoder *e, struct counts *counts)
{
    for (unsigned i = 0; i < 256; i++)
        counts->litlen[i] =
            (uint32_t)e->literals[0][i] + e->literals[1][i] + e->literals[2][i] + e->literals[3][i];
    counts->litlen[DEFLATE_END_OF_BLOCK] = 1;
    for (unsigned i = DEFLATE_FIRST_LENGTH; i < DEFLATE_LITLEN_SYMBOLS; i++)
        counts->extra_bits += (uint64_t)counts->litlen[i] * deflate_length_extra_bits(i);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        counts->extra_bits += (uint64_t)counts->distance[i] * deflate_distance_extra_bits(i);
}

/*
 * Checks and counts sequences that start at in[pos], which is in a chunk that ends at chunk_end:
 * `count` of them, or so many that `enough` is reached.  Returns where they end, and their number
 * in *counted; or 0 if one is not a match.
 */
LOOP size_t count_loop(struct huff_encoder *e, const uint8_t *in, size_t pos, size_t chunk_end,
                       size_t enough, const struct lz_sequence *sequences, uint32_t count,
                       uint32_t *counted, struct counts *counts, bool avx2)
{
    const struct lz_sequence *s = sequences, *const end = s + count;
    uint8_t *text = e->text;
    struct difference d = {{0}, {0}};

    for (; s < end && pos < enough; s++) {
        const size_t literals = s->literals, length = s->length, distance = s->distance;
        const size_t match = pos + literals;

        if (length - LZ_MIN_MATCH > LZ_MAX_MATCH - LZ_MIN_MATCH || match + length > chunk_end)
            return 0;
        if (distance - 1 >= LZ_WINDOW_SIZE || distance > match)
            return 0;
        compare_match(&d, in + match, in + match - distance, length, avx2);
        memcpy(text, in + pos, FEW_LITERALS);
        if (__builtin_expect(literals <= FEW_LITERALS, 1))
            text += literals;
        else
            count_literals(e, in + pos, literals);
        counts->litlen[DEFLATE_FIRST_LENGTH + e->length_symbols[length - LZ_MIN_MATCH]]++;
        counts->distance[distance_symbol(e, (unsigned)distance)]++;
        pos = match + length;
    }
    count_literals(e, e->text, (size_t)(text - e->text));
    *counted = (uint32_t)(s - sequences);
    return all_equal(&d) ? pos : 0;
}

#ifdef HAVE_AVX2_PATH
AVX2_PATH NOINLINE static size_t count_sequences_avx2(struct huff_encoder *e, const uint8_t *in,
                                                      size_t pos, size_t chunk_end, size_t enough,
                                                      const struct lz_sequence *sequences,
                                                      uint32_t count, uint32_t *counted,
                                                      struct counts *counts)
{
    return count_loop(e, in, pos, chunk_end, enough, sequences, count, counted, counts, true);
}
#endif

#ifdef HAVE_AVX512_PATH
/* As count_loop, but stops where huff_lanes_locate does.  If it counts none, it returns pos, be that
 * 0. */
AVX512_PATH NOINLINE static size_t count_lanes(struct huff_encoder *e, const uint8_t *in,
                                               size_t pos, size_t chunk_end, size_t enough,
                                               const struct lz_sequence *sequences, uint32_t count,
                                               uint32_t *counted, struct counts *counts)
{
    struct huff_located *const l = &e->lanes.located;
    uint8_t *text = e->text;
    struct difference d = {{0}, {0}};
    uint32_t n;

    *counted = 0;
    while ((n = huff_lanes_locate(l, sequences + *counted, count - *counted, pos, enough, chunk_end,
                                  FEW_LITERALS, COMPARED, e->length_symbols)) > 0) {
        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *match = in + l->match[i], *before = match - l->distance[i];
            const uint8_t *literals = in + l->literals[i];
            size_t gathered = (size_t)(match - literals);
            uint32_t symbol = l->length_symbol[i];

            compare(&d, match, before, compare_masks + l->short_of[i], true);
            memcpy(text, literals, FEW_LITERALS);
            counts->distance[l->distance_symbol[i]]++;
            if (__builtin_expect(symbol >= HUFF_LANES_SPECIAL, 0)) {
                symbol -= HUFF_LANES_SPECIAL;
                compare_match(&d, match, before, l->length[i], true);
                if (gathered > FEW_LITERALS) {
                    count_literals(e, literals, gathered);
                    gathered = 0;
                }
            }
            counts->litlen[DEFLATE_FIRST_LENGTH + symbol]++;
            text += gathered;
        }
        pos = l->end;
        *counted += n;
    }
    count_literals(e, e->text, (size_t)(text - e->text));
    return all_equal(&d) ? pos : 0;
}
#endif

NOINLINE static size_t count_sequences(struct huff_encoder *e, const uint8_t *in, size_t pos,
                                       size_t chunk_end, size_t enough,
                                       const struct lz_sequence *sequences, uint32_t count,
                                       uint32_t *counted, struct counts *counts)
{
    uint32_t before = 0;

#ifdef HAVE_AVX512_PATH
    if (e->avx512) {
        pos = count_lanes(e, in, pos, chunk_end, enough, sequences, count, &before, counts);
        if (before > 0 && pos == 0)
            return 0;
    }
#endif
#ifdef HAVE_AVX2_PATH
    if (e->avx2)
        pos = count_sequences_avx2(e, in, pos, chunk_end, enough, sequences + before,
                                   count - before, counted, counts);
    else
#endif
        pos = count_loop(e, in, pos, chunk_end, enough, sequences + before, count - before, counted,
                         counts, false);
    *counted += before;
    return pos;
}

/*
 * Checks the matches of the part from *at on, and counts its symbols: sequences until there are
 * `split` bytes, or what is left of the chunk.  Moves *at to the part's end.  False if a sequence
 * is not a match.
 */
static bool count_part(struct huff_encoder *e, const uint8_t *in, size_t len,
                       const struct lz_chunk *chunks, size_t split, struct place *at,
                       struct counts *counts)
{
    const struct lz_chunk *chunk = &chunks[at->chunk];
    const size_t chunk_end = LZ_CHUNK_END(at->chunk * LZ_CHUNK_SIZE, len);

    memset(counts, 0, sizeof(*counts));
    memset(e->literals, 0, sizeof(e->literals));
    if (at->sequence < chunk->count) {
        uint32_t counted;

        at->byte = count_sequences(e, in, at->byte, chunk_end, at->byte + split,
                                   chunk->sequences + at->sequence, chunk->count - at->sequence,
                                   &counted, counts);
        if (at->byte == 0)
            return false;
        at->sequence += counted;
    }
    if (at->sequence == chunk->count) {
        count_literals(e, in + at->byte, chunk_end - at->byte);
        at->byte = chunk_end;
        at->chunk++;
        at->sequence = 0;
    }
    sum_up(e, counts);
    return true;
}

/* Bits of n bytes stored, the first block's header starting `offset` bits into a byte. */
static uint64_t stored_bits(size_t n, unsigned offset)
{
    uint64_t more = n > DEFLATE_MAX_STORED ? (n - 1) / DEFLATE_MAX_STORED : 0;
    unsigned first = 3 + (-(offset + 3) & 7);

    return first + 32 + more * 40 + 8 * (uint64_t)n;
}

/* The sum of counts[0..n).  A block's counts are of no more than a segment's bytes, and the end. */
static inline uint32_t total(const uint32_t *counts, unsigned n)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* Bits of a fixed block's codes (RFC 1951, section 3.2.6).  Each range of equal lengths is summed
 * up by itself, which takes no multiplications and goes by whole vectors. */
static uint64_t fixed_codes(const struct counts *c)
{
    const uint64_t sevens = total(c->litlen + 256, 24);
    const uint64_t eights = (uint64_t)total(c->litlen, 144) + total(c->litlen + 280, 8);
    const uint64_t nines = total(c->litlen + 144, 112);

    return 7 * sevens + 8 * eights + 9 * nines +
           DEFLATE_FIXED_DISTANCE_LENGTH *
               (uint64_t)total(c->distance, DEFLATE_FIXED_DISTANCE_SYMBOLS);
}

/* The logarithm of n to base 2, in 1/65536, off by less than 0.001; anything for 0.  All in
 * integers but for the conversion of n, which is exact, or rounded the same way everywhere, and
 * finds the exponent and the mantissa; a polynomial of degree 3 goes through powers of two. */
static inline uint32_t log2_65536(uint32_t n)
{
    const float f = (float)(int32_t)n;
    uint32_t bits, x, y;

    memcpy(&bits, &f, sizeof(bits));
    x = (bits & 0x7fffff) >> 7;
    y = (x * (65536 - x)) >> 16;
    return ((bits >> 23) - 127) * 65536 + x + (y * (27700 - ((x * 10400) >> 16)) >> 16);
}

/* The bits of counts[0..n) with codes as good as any, in 1/65536: n log n of all together, less
 * that of each.  Adds the number of symbols in use to *used. */
LOOP uint64_t entropy(const uint32_t *counts, unsigned n, uint32_t *used)
{
    uint32_t symbols = 0, sum = 0;
    uint64_t each = 0;

    for (unsigned i = 0; i < n; i++) {
        symbols += counts[i] > 0;
        sum += counts[i];
        each += (uint64_t)counts[i] * log2_65536(counts[i]);
    }
    *used += symbols;
    return sum == 0 ? 0 : (uint64_t)sum * log2_65536(sum) - each;
}

/*
 * About what b takes.  No codes need to be made for that: three fifths of the time of encoding at
 * level 9 went into codes of blocks that were never written.  A dynamic block's header is taken to
 * have 150 bits, and 3.25 for each symbol in use, as they have over source, text, XML and machine
 * code.  Sizes are within 0.06 % of those that deciding by exact sizes gives.
 */
LOOP void estimate_loop(struct block *b)
{
    const struct counts *c = &b->counts;
    const uint64_t fixed = 3 + c->extra_bits + fixed_codes(c);
    const uint64_t stored = stored_bits(b->end.byte - b->start.byte, 0);
    uint64_t bits;
    uint32_t used = 0;

    bits = entropy(c->litlen, DEFLATE_FIXED_LITLEN_SYMBOLS, &used);
    bits += entropy(c->distance, DEFLATE_FIXED_DISTANCE_SYMBOLS, &used);
    bits = 3 + c->extra_bits + bits / 65536 + 150 + 13 * used / 4;
    bits = bits < fixed ? bits : fixed;
    b->bits = bits < stored ? bits : stored;
}

#ifdef HAVE_AVX2_PATH
AVX2_PATH NOINLINE static void estimate_avx2(struct block *b)
{
    estimate_loop(b);
}
#endif

NOINLINE static void estimate(const struct huff_encoder *e, struct block *b)
{
#ifdef HAVE_AVX2_PATH
    if (e->avx2) {
        estimate_avx2(b);
        return;
    }
#endif
    (void)e;
    estimate_loop(b);
}

/* Plans how to write b, which starts `offset` bits into a byte. */
static void plan_block(struct plan *p, const struct block *b, unsigned offset)
{
    const struct counts *c = &b->counts;
    const uint64_t stored = stored_bits(b->end.byte - b->start.byte, offset);
    uint64_t fixed = 3 + c->extra_bits + fixed_codes(c), dynamic = 3 + c->extra_bits;

    dynamic += huff_lengths(c->litlen, DEFLATE_LITLEN_SYMBOLS, DEFLATE_MAX_CODE, p->litlen_lengths);
    dynamic +=
        huff_lengths(c->distance, DEFLATE_DISTANCE_SYMBOLS, DEFLATE_MAX_CODE, p->distance_lengths);
    huff_header_plan(p->litlen_lengths, p->distance_lengths, &p->header);
    dynamic += p->header.bits;

    p->type = dynamic < fixed ? DEFLATE_DYNAMIC : DEFLATE_FIXED;
    if (stored < fixed && stored < dynamic)
        p->type = DEFLATE_STORED;
}

/* both = a followed by b. */
static void join(const struct block *a, const struct block *b, struct block *both)
{
    for (unsigned i = 0; i < DEFLATE_FIXED_LITLEN_SYMBOLS; i++)
        both->counts.litlen[i] = a->counts.litlen[i] + b->counts.litlen[i];
    both->counts.litlen[DEFLATE_END_OF_BLOCK] = 1;
    for (unsigned i = 0; i < DEFLATE_FIXED_DISTANCE_SYMBOLS; i++)
        both->counts.distance[i] = a->counts.distance[i] + b->counts.distance[i];
    both->counts.extra_bits = a->counts.extra_bits + b->counts.extra_bits;
    both->start = a->start;
    both->end = b->end;
}

/* Writes in[0..n) as stored blocks, at least one. */
static void write_stored(struct bitwriter *w, const uint8_t *in, size_t n, bool final)
{
    do {
        size_t piece = n < DEFLATE_MAX_STORED ? n : DEFLATE_MAX_STORED;

        n -= piece;
        bits_put(w, (final && n == 0) | DEFLATE_STORED << 1, 3);
        bits_align(w);
        bits_put(w, piece | (uint64_t)(piece ^ 0xffff) << 16, 32);
        bits_flush(w);
        memcpy(w->next, in, piece);
        w->next += piece;
        in += piece;
    } while (n > 0);
}

/* Makes codes ready from the two alphabets' code lengths. */
static void make_codes(struct codes *codes, const uint8_t *litlen_lengths, unsigned litlen_symbols,
                       const uint8_t *distance_lengths, unsigned distance_symbols)
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

/* Puts an entry of a codes' table. */
static inline void put_code(struct bitwriter *w, uint32_t code)
{
    bits_put(w, code >> 8, code & 0xff);
}

/* Puts three literals after a flush, and flushes. */
static inline void put_three(struct bitwriter *w, const struct codes *codes, const uint8_t *in)
{
    _Static_assert(3 * DEFLATE_MAX_CODE <= BITWRITER_ROOM, "three literals between flushes");

    put_code(w, codes->literal[in[0]]);
    put_code(w, codes->literal[in[1]]);
    put_code(w, codes->literal[in[2]]);
    bits_flush(w);
}

/* Writes in[0..n); flushes after the last, and expects to start after a flush. */
static void write_literals(struct bitwriter *out, const struct codes *codes, const uint8_t *in,
                           size_t n)
{
    struct bitwriter w = *out; /* in registers */

    for (; n >= 3; n -= 3, in += 3)
        put_three(&w, codes, in);
    for (; n > 0; n--)
        put_code(&w, codes->literal[*in++]);
    bits_flush(&w);
    *out = w;
}

/* Some bits, and how many. */
struct bits {
    uint64_t value;
    unsigned count;
};

/* The codes of in[0..n), n from 0 to 3, found without a branch that could be predicted wrong: most
 * matches come after so few literals.  4 bytes at `in` must be readable. */
static inline struct bits few_literals(const struct codes *codes, const uint8_t *in, size_t n)
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

/* A match's codes and extra bits. */
static inline struct bits match_bits(const struct huff_encoder *e, struct lz_sequence s)
{
    const unsigned symbol = distance_symbol(e, s.distance);
    const uint32_t length = e->codes.length[s.length];
    const struct huff_value_code *code = &e->codes.distance[symbol];
    const uint32_t distance = ((uint32_t)s.distance << code->shift) + code->bits;

    return (struct bits){(uint64_t)distance << (length & 63) | length >> 8,
                         (length & 63) + code->count};
}

/* Writes sequences[0..count), whose literals and matches start at `in`; returns where they end. */
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

#ifdef HAVE_AVX512_PATH
/* Writes a sequence that huff_lanes_encode has marked as special, whose last literals are at `last`,
 * and of which it made `count` bits. */
LOOP void write_special(const struct huff_encoder *e, struct bitwriter *w, const uint8_t *last,
                        struct lz_sequence s, uint64_t bits, uint32_t count)
{
    const unsigned n = s.literals < HUFF_LANES_LITERALS ? s.literals : HUFF_LANES_LITERALS;
    const unsigned more = s.literals - n;

    write_literals(w, &e->codes, last - more, more);
    if (count <= BITWRITER_ROOM) {
        bits_put(w, bits, count);
    } else {
        const struct bits match = match_bits(e, s);

        write_literals(w, &e->codes, last, n);
        bits_put(w, match.value, match.count);
    }
    bits_flush(w);
}

/* As write_loop, but leaves what there is more than a multiple of HUFF_LANES. */
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
                /* A copy, so that `w` itself stays in registers. */
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
#endif

#ifdef HAVE_AVX2_PATH
AVX2_PATH NOINLINE static const uint8_t *
write_sequences_avx2(const struct huff_encoder *e, struct bitwriter *out, const uint8_t *in,
                     const struct lz_sequence *sequences, uint32_t count)
{
    return write_loop(e, out, in, sequences, count);
}
#endif

NOINLINE static const uint8_t *write_sequences(struct huff_encoder *e, struct bitwriter *out,
                                               const uint8_t *in,
                                               const struct lz_sequence *sequences, uint32_t count)
{
#ifdef HAVE_AVX512_PATH
    if (e->avx512) {
        in = write_lanes(e, out, in, sequences, count);
        sequences += count - count % HUFF_LANES;
        count %= HUFF_LANES;
    }
#endif
#ifdef HAVE_AVX2_PATH
    if (e->avx2)
        return write_sequences_avx2(e, out, in, sequences, count);
#endif
    return write_loop(e, out, in, sequences, count);
}

/* Writes a block's symbols, all but the last. */
static void write_symbols(struct huff_encoder *e, struct bitwriter *w, const uint8_t *in,
                          size_t len, const struct lz_chunk *chunks, const struct block *b)
{
    const uint8_t *next = in + b->start.byte;
    uint32_t from = b->start.sequence;

    for (size_t c = b->start.chunk; c < b->end.chunk; c++) {
        const uint8_t *chunk_end = in + LZ_CHUNK_END(c * LZ_CHUNK_SIZE, len);

        if (chunks[c].count > from)
            next = write_sequences(e, w, next, chunks[c].sequences + from, chunks[c].count - from);
        write_literals(w, &e->codes, next, (size_t)(chunk_end - next));
        next = chunk_end;
        from = 0;
    }
    /* A block that ends within a chunk ends with a sequence. */
    if (b->end.sequence > from)
        write_sequences(e, w, next, chunks[b->end.chunk].sequences + from, b->end.sequence - from);
}

/* Writes block b in the cheapest form, given where it starts. */
static void write_block(struct huff_encoder *e, struct bitwriter *w, const uint8_t *in, size_t len,
                        const struct lz_chunk *chunks, const struct block *b, bool final)
{
    struct plan *p = &e->plan;

    plan_block(p, b, w->count);
    if (p->type == DEFLATE_STORED) {
        write_stored(w, in + b->start.byte, b->end.byte - b->start.byte, final);
        return;
    }
    bits_put(w, final | (unsigned)p->type << 1, 3);
    if (p->type == DEFLATE_DYNAMIC) {
        huff_header_write(&p->header, w);
        make_codes(&e->codes, p->litlen_lengths, DEFLATE_LITLEN_SYMBOLS, p->distance_lengths,
                   DEFLATE_DISTANCE_SYMBOLS);
    } else {
        uint8_t litlen_lengths[DEFLATE_FIXED_LITLEN_SYMBOLS];
        uint8_t distance_lengths[DEFLATE_FIXED_DISTANCE_SYMBOLS];

        for (unsigned i = 0; i < sizeof(litlen_lengths); i++)
            litlen_lengths[i] = (uint8_t)deflate_fixed_length(i);
        memset(distance_lengths, DEFLATE_FIXED_DISTANCE_LENGTH, sizeof(distance_lengths));
        make_codes(&e->codes, litlen_lengths, sizeof(litlen_lengths), distance_lengths,
                   sizeof(distance_lengths));
    }
    bits_flush(w);
    write_symbols(e, w, in, len, chunks, b);
    put_code(w, e->codes.literal[DEFLATE_END_OF_BLOCK]);
    bits_flush(w);
}

/* Encodes what is from `at`, a chunk's start, on. */
static bool encode(struct huff_encoder *e, const uint8_t *in, size_t len,
                   const struct lz_chunk *chunks, struct place at, size_t split, bool last,
                   uint8_t *out, size_t *out_len)
{
    struct bitwriter w = {out, 0, 0};
    struct block *open = NULL, *next = &e->blocks[0], *both = &e->blocks[1], *spare = &e->blocks[2];

    while (at.byte < len) {
        next->start = at;
        if (!count_part(e, in, len, chunks, split, &at, &next->counts))
            return false;
        next->end = at;
        estimate(e, next);
        if (open != NULL) {
            struct block *closed = open;

            join(open, next, both);
            estimate(e, both);
            if (both->bits <= open->bits + next->bits) {
                open = both;
                both = closed;
                continue;
            }
            write_block(e, &w, in, len, chunks, open, false);
        } else {
            open = spare;
        }
        spare = open;
        open = next;
        next = spare;
    }
    if (open != NULL) {
        write_block(e, &w, in, len, chunks, open, last);
    } else if (last) {
        /* An empty file: a fixed block that ends at once. */
        bits_put(&w, 1 | DEFLATE_FIXED << 1, 3);
        bits_put(&w, 0, 7);
    }
    if (!last)
        write_stored(&w, in, 0, false);
    bits_align(&w);
    *out_len = (size_t)(w.next - out);
    return true;
}

bool huff_encode_segment(struct huff_encoder *e, const uint8_t *in, size_t len,
                         const struct lz_chunk *chunks, size_t split, bool last, uint8_t *out,
                         size_t *out_len)
{
    const struct place start = {0, 0, 0};

    return encode(e, in, len, chunks, start, split, last, out, out_len);
}

bool huff_encode_after(struct huff_encoder *e, const uint8_t *in, size_t len,
                       const struct lz_chunk *chunks, size_t split, bool last, uint8_t *out,
                       size_t *out_len)
{
    const struct place second_chunk = {.byte = LZ_CHUNK_SIZE, .chunk = 1};

    return encode(e, in, len, chunks, second_chunk, split, last, out, out_len);
}
