/*
 * blocks.h - random DEFLATE blocks, with everything that RFC 1951 allows, and some errors
 *
 * No compressor writes most of these blocks.  zlib's inflate defines their decoded data.
 */
#ifndef GZLZSS_BLOCKS_H
#define GZLZSS_BLOCKS_H

#include "tests/unit/encoders.h"

enum { LENGTH_CODES = 19, LITLEN_CODES = 288, DISTANCE_CODES = 32, END_OF_BLOCK = 256 };

/* A dynamic block's header: its fields, and the symbols that give the code lengths, in order. */
struct header {
    unsigned litlens, distances, listed;
    /* The lengths, in bits, of the code for code lengths. */
    uint8_t length_lengths[LENGTH_CODES];
    struct {
        uint8_t symbol, more; /* symbol: 0 to 18; more: the extra bits for 16 to 18 */
    } steps[LITLEN_CODES + DISTANCE_CODES];
    unsigned n;
};

/* The code lengths of a block's two codes. */
struct codes {
    uint8_t litlen[LITLEN_CODES], distance[DISTANCE_CODES];
};

static const uint8_t length_order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                   11, 4,  12, 3, 13, 2, 14, 1, 15};

static inline unsigned below(uint64_t *state, unsigned n)
{
    return (unsigned)unit_below(state, n);
}

static inline bool one_in(uint64_t *state, unsigned n)
{
    return unit_below(state, n) == 0;
}

/* --- Writing -------------------------------------------------------------------------------- */

/* Writes the code of a symbol, highest bit first. */
static inline void put_code(struct bits *out, const uint32_t *code, const uint8_t *lengths,
                            unsigned symbol)
{
    for (unsigned i = lengths[symbol]; i > 0; i--)
        put_bits(out, code[symbol] >> (i - 1), 1);
}

/* Writes the header of a dynamic block. */
static inline void put_header(struct bits *out, bool final, const struct header *h)
{
    uint32_t code[LENGTH_CODES] = {0};

    canonical_codes(h->length_lengths, LENGTH_CODES, code);
    put_bits(out, final, 1);
    put_bits(out, 2, 2);
    put_bits(out, h->litlens - 257, 5);
    put_bits(out, h->distances - 1, 5);
    put_bits(out, h->listed - 4, 4);
    for (unsigned i = 0; i < h->listed; i++)
        put_bits(out, h->length_lengths[length_order[i]], 3);
    for (unsigned i = 0; i < h->n; i++) {
        const unsigned symbol = h->steps[i].symbol;
        put_code(out, code, h->length_lengths, symbol);
        if (symbol >= 16)
            put_bits(out, h->steps[i].more, symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
    }
}

static inline void add_step(struct header *h, unsigned symbol, unsigned more)
{
    h->steps[h->n].symbol = (uint8_t)symbol;
    h->steps[h->n++].more = (uint8_t)more;
}

/* --- Reading -------------------------------------------------------------------------------- */

/* Returns n bits of in[0..len), starting at bit number `bit`.  Bits past the end are zeros. */
static inline unsigned get_bits(const uint8_t *in, size_t len, uint64_t bit, unsigned n)
{
    unsigned value = 0;

    for (unsigned i = 0; i < n; i++)
        if ((bit + i) / 8 < len)
            value |= (in[(bit + i) / 8] >> (bit + i) % 8 & 1u) << i;
    return value;
}

/* True if a dynamic block starts at bit number `bit` of in[0..len), all of its code for code
 * lengths is in the input, and that code has no symbols.  GNU gzip and inf_check_block reject such
 * a block at once.  zlib first reads one bit for each code length, and reports truncated input if
 * too few bits are left. */
static inline bool has_no_length_code(const uint8_t *in, size_t len, uint64_t bit)
{
    const unsigned litlens = 257 + get_bits(in, len, bit + 3, 5);
    const unsigned distances = 1 + get_bits(in, len, bit + 8, 5);
    const unsigned listed = 4 + get_bits(in, len, bit + 13, 4);
    bool has = get_bits(in, len, bit + 1, 2) == 2 && litlens <= 286 && distances <= 30 &&
               bit + 17 + 3 * listed <= 8 * (uint64_t)len;

    for (unsigned i = 0; i < listed; i++)
        has = has && get_bits(in, len, bit + 17 + 3 * i, 3) == 0;
    return has;
}

/* --- Codes at random ------------------------------------------------------------------------ */

/* Makes a complete code for some of n symbols, with lengths of up to `longest` bits.  The number of
 * symbols with a code is `symbols`.  A single symbol gets one bit. */
static inline void random_code(uint8_t *lengths, unsigned n, unsigned symbols, unsigned longest,
                               uint64_t *state)
{
    uint8_t depth[LITLEN_CODES] = {0};
    const bool deep = one_in(state, 3);

    /* Split leaves of a tree until there are enough leaves. */
    for (unsigned leaves = 1; leaves < symbols; leaves++) {
        unsigned at = deep && !one_in(state, 8) ? leaves - 1 : below(state, leaves);
        while (depth[at] == longest)
            at = (at + 1) % leaves;
        depth[leaves] = ++depth[at];
    }
    memset(lengths, 0, n);
    for (unsigned i = 0, at; i < symbols; i++) {
        do
            at = below(state, n);
        while (lengths[at] != 0);
        lengths[at] = symbols == 1 ? 1 : depth[i];
    }
}

/* Changes some lengths, so that the code is rarely complete. */
static inline void spoil_code(uint8_t *lengths, unsigned n, unsigned longest, uint64_t *state)
{
    do {
        uint8_t *const length = &lengths[below(state, n)];
        switch (below(state, 4)) {
        case 0:
            *length = 0;
            break;
        case 1:
            *length = (uint8_t)(*length == longest ? 0 : *length + 1u);
            break;
        case 2:
            *length = (uint8_t)(*length == 0 ? longest : *length - 1u);
            break;
        default:
            *length = (uint8_t)below(state, longest + 1);
        }
    } while (!one_in(state, 2));
}

/* Makes codes for a block.  If `spoil` is true, the codes may be wrong. */
static inline void random_codes(struct codes *c, bool spoil, uint64_t *state)
{
    memset(c, 0, sizeof *c);
    switch (below(state, 12)) {
    case 0: /* a code for the end of the block only */
        c->litlen[END_OF_BLOCK] = 1;
        break;
    case 1: /* a code without length symbols */
        random_code(c->litlen, 257, 2 + below(state, 255), 15, state);
        break;
    case 2: /* a code for few symbols */
        random_code(c->litlen, 286, 2 + below(state, 8), 4 + below(state, 4), state);
        break;
    default:
        random_code(c->litlen, 286, 2 + below(state, 285), 9 + below(state, 7), state);
    }
    if (c->litlen[END_OF_BLOCK] == 0 && !(spoil && one_in(state, 4))) {
        /* The end of the block takes the place of another symbol. */
        unsigned at = below(state, 286);
        while (c->litlen[at] == 0)
            at = (at + 1) % 286;
        c->litlen[END_OF_BLOCK] = c->litlen[at];
        c->litlen[at] = 0;
    }
    switch (below(state, 8)) {
    case 0: /* none */
        break;
    case 1:
        random_code(c->distance, 30, 1, 1, state);
        break;
    default:
        random_code(c->distance, 30, 2 + below(state, 29), 5 + below(state, 11), state);
    }
    if (spoil && one_in(state, 2))
        spoil_code(c->litlen, 286, 15, state);
    if (spoil && one_in(state, 2))
        spoil_code(c->distance, 30, 15, state);
}

/* Sets h->steps to symbols that give the n code lengths.  At random, repeats are used wherever
 * possible, sometimes, or never. */
static inline void random_steps(struct header *h, const uint8_t *lengths, unsigned n,
                                uint64_t *state)
{
    const unsigned repeats = below(state, 4);

    h->n = 0;
    for (unsigned i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && lengths[i + run] == lengths[i];)
            run++;
        if (repeats == 0 || run < 3 || one_in(state, 8))
            run = 1;
        if (lengths[i] == 0 && run >= 11 && repeats != 1) {
            run = run < 138 ? run : 138;
            add_step(h, 18, run - 11);
        } else if (lengths[i] == 0 && run >= 3) {
            run = run < 10 ? run : 10;
            add_step(h, 17, run - 3);
        } else if (run >= 4) {
            run = run < 7 ? run : 7;
            add_step(h, lengths[i], 0);
            add_step(h, 16, run - 4);
        } else {
            run = 1;
            add_step(h, lengths[i], 0);
        }
    }
}

/* Makes a code for the symbols that h->steps contains, and perhaps for further symbols. */
static inline void random_length_code(struct header *h, uint64_t *state)
{
    bool used[LENGTH_CODES] = {false};
    uint8_t dealt[LENGTH_CODES];
    unsigned symbols = 0, from = 0;

    for (unsigned i = 0; i < h->n; i++)
        used[h->steps[i].symbol] = true;
    for (unsigned i = 0; i < LENGTH_CODES; i++) {
        used[i] = used[i] || one_in(state, 8);
        symbols += used[i];
    }
    for (unsigned i = 0; symbols < 2; i++) {
        symbols += !used[i];
        used[i] = true;
    }
    random_code(dealt, LENGTH_CODES, symbols,
                symbols <= 8 && one_in(state, 2) ? 3 : 5 + below(state, 3), state);
    memset(h->length_lengths, 0, sizeof h->length_lengths);
    for (unsigned i = 0; i < LENGTH_CODES; i++)
        if (used[i]) {
            while (dealt[from] == 0)
                from++;
            h->length_lengths[i] = dealt[from++];
        }
    h->listed = LENGTH_CODES;
    while (h->listed > 4 && h->length_lengths[length_order[h->listed - 1]] == 0 &&
           !one_in(state, 10))
        h->listed--;
}

/* Makes a header for codes.  If `spoil` is true, some fields may be wrong. */
static inline void random_header(struct header *h, const struct codes *c, bool spoil,
                                 uint64_t *state)
{
    uint8_t lengths[LITLEN_CODES + DISTANCE_CODES];

    h->litlens = 286;
    h->distances = 30;
    while (h->litlens > 257 && c->litlen[h->litlens - 1] == 0 && !one_in(state, 20))
        h->litlens--;
    while (h->distances > 1 && c->distance[h->distances - 1] == 0 && !one_in(state, 20))
        h->distances--;
    if (spoil && one_in(state, 10))
        h->litlens = 257 + below(state, 32);
    if (spoil && one_in(state, 10))
        h->distances = 1 + below(state, 32);
    memcpy(lengths, c->litlen, h->litlens);
    memcpy(lengths + h->litlens, c->distance, h->distances);
    random_steps(h, lengths, h->litlens + h->distances, state);
    if (spoil && one_in(state, 3)) {
        const unsigned at = one_in(state, 4) ? 0 : h->n - 1 - below(state, h->n);
        h->steps[at].symbol = (uint8_t)below(state, LENGTH_CODES);
        h->steps[at].more = (uint8_t)below(state, 128);
    }
    random_length_code(h, state);
    if (spoil && one_in(state, 3))
        spoil_code(h->length_lengths, LENGTH_CODES, 7, state);
    if (spoil && one_in(state, 20))
        memset(h->length_lengths, 0, sizeof h->length_lengths);
    if (spoil && one_in(state, 10))
        h->listed = 4 + below(state, 16);
}

/* --- Blocks at random ----------------------------------------------------------------------- */

/* The tables of RFC 1951, section 3.2.5.  The _bits functions return how many extra bits a symbol
 * has.  The _base functions return the smallest length or distance that the symbol stands for. */
static inline unsigned length_bits(unsigned symbol)
{
    return symbol < 265 || symbol >= 285 ? 0 : (symbol - 261) / 4;
}

static inline unsigned length_base(unsigned symbol)
{
    return symbol < 265    ? symbol - 254
           : symbol >= 285 ? 258
                           : 3 + ((4 + (symbol - 261) % 4) << length_bits(symbol));
}

static inline unsigned distance_bits(unsigned symbol)
{
    return symbol < 4 ? 0 : symbol / 2 - 1;
}

static inline unsigned distance_base(unsigned symbol)
{
    return symbol < 4 ? symbol + 1 : 1 + ((2 + symbol % 2) << distance_bits(symbol));
}

/* The stream that is being made. */
struct stream {
    struct bits bits;
    uint64_t made;    /* decoded bytes so far, or a few less */
    bool spoil;       /* make some errors */
    uint64_t *random; /* the state of unit_rand() */
};

/* Writes up to `symbols` random symbols of a block, and then the end of the block. */
static inline void put_symbols(struct stream *s, const struct codes *c, unsigned symbols)
{
    uint32_t litlen[LITLEN_CODES] = {0}, distance[DISTANCE_CODES] = {0};
    uint16_t have[LITLEN_CODES], have_distance[DISTANCE_CODES];
    unsigned n = 0, distances = 0;

    canonical_codes(c->litlen, LITLEN_CODES, litlen);
    canonical_codes(c->distance, DISTANCE_CODES, distance);
    for (unsigned i = 0; i < LITLEN_CODES; i++)
        if (c->litlen[i] != 0 && i != END_OF_BLOCK)
            have[n++] = (uint16_t)i;
    for (unsigned i = 0; i < DISTANCE_CODES; i++)
        if (c->distance[i] != 0)
            have_distance[distances++] = (uint16_t)i;
    for (; n != 0 && symbols != 0; symbols--) {
        const unsigned symbol = have[below(s->random, n)];
        if (symbol < END_OF_BLOCK) {
            put_code(&s->bits, litlen, c->litlen, symbol);
            s->made++;
            continue;
        }
        const unsigned d = distances == 0 ? 31 : have_distance[below(s->random, distances)],
                       bits = distance_bits(d);
        uint64_t more = unit_below(s->random, UINT64_C(1) << bits);
        if (symbol > 285 || d >= 30 || distance_base(d) + more > s->made) {
            /* With these extra bits, the distance is too great.  If all extra bits are 0, the
             * distance may be right. */
            more = 0;
            if ((symbol > 285 || d >= 30 || distance_base(d) > s->made) &&
                !(s->spoil && one_in(s->random, 100)))
                continue;
        }
        put_code(&s->bits, litlen, c->litlen, symbol);
        put_bits(&s->bits, unit_rand(s->random), length_bits(symbol));
        s->made += length_base(symbol);
        put_code(&s->bits, distance, c->distance, d);
        put_bits(&s->bits, more, bits);
    }
    if (!(s->spoil && one_in(s->random, 20)))
        put_code(&s->bits, litlen, c->litlen, END_OF_BLOCK);
}

static inline void put_stored(struct stream *s, bool final, unsigned len)
{
    put_bits(&s->bits, final, 1);
    put_bits(&s->bits, 0, 2);
    while (s->bits.n != 0)
        put_bits(&s->bits, s->spoil, 1);
    put_bits(&s->bits, len, 16);
    put_bits(&s->bits, ~len ^ (s->spoil && one_in(s->random, 10)), 16);
    s->made += len;
    for (; len != 0; len--)
        put_bits(&s->bits, len * 37, 8);
}

static inline void put_fixed(struct stream *s, bool final, unsigned symbols)
{
    struct codes c;

    for (unsigned i = 0; i < LITLEN_CODES; i++)
        c.litlen[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(c.distance, 5, sizeof c.distance);
    put_bits(&s->bits, final, 1);
    put_bits(&s->bits, 1, 2);
    put_symbols(s, &c, symbols);
}

static inline void put_dynamic(struct stream *s, bool final, unsigned symbols)
{
    struct codes c;
    struct header h;

    random_codes(&c, s->spoil, s->random);
    random_header(&h, &c, s->spoil, s->random);
    put_header(&s->bits, final, &h);
    put_symbols(s, &c, symbols);
}

/* Writes a block of up to `symbols` symbols. */
static inline void put_block(struct stream *s, bool final, unsigned symbols)
{
    symbols = below(s->random, symbols + 1);
    switch (below(s->random, 8)) {
    case 0:
        put_stored(s, final, symbols & 0xffff);
        break;
    case 1:
        put_stored(s, final, 0);
        break;
    case 2:
    case 3:
        put_fixed(s, final, symbols);
        break;
    default:
        put_dynamic(s, final, symbols);
    }
}

#endif
