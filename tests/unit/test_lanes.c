/*
 * test_lanes.c - locating, expanding and encoding many sequences at a time gives the same result as
 * one by one
 *
 * Each number from lanes.c and slots.c is compared with the number that follows from the rules of
 * RFC 1951 for one sequence or slot.  The rules' symbols and extra bits come from deflate.h, and
 * their codes from huff_codes.
 */
#include "config.h"

#include <string.h>

#include "huffman/lanes.h"
#include "huffman/lengths.h"
#include "huffman/slots.h"
#include "tests/unit/unit.h"

#ifdef HAVE_AVX2_PATH

static struct huff_lengths_work work;

/* Returns a random number below n, mostly a small one, as in real data. */
static unsigned skewed(uint64_t *state, unsigned n)
{
    return (unsigned)unit_below(state, 1 + unit_below(state, unit_below(state, 4) == 0 ? n : 5));
}

/* Returns a random sequence, with up to `most` literals. */
static struct lz_sequence random_sequence(uint64_t *state, unsigned most)
{
    const unsigned power = 1u << unit_below(state, 16);

    return (struct lz_sequence){(uint16_t)skewed(state, most + 1),
                                (uint16_t)(LZ_MIN_MATCH + skewed(state, 256)),
                                (uint16_t)(1 + unit_below(state, power))};
}

/* Makes random codes for an alphabet of n symbols, all of which are used.  The more skewed the
 * frequencies, the longer the longest codes. */
static void random_codes(uint64_t *state, unsigned n, uint16_t *codes, uint8_t *lengths)
{
    uint32_t counts[DEFLATE_LITLEN_SYMBOLS];
    const unsigned skew = 1 + (unsigned)unit_below(state, 20);

    for (unsigned i = 0; i < n; i++)
        counts[i] = 1u << unit_below(state, skew);
    huff_lengths(&work, counts, n, DEFLATE_MAX_CODE, lengths);
    huff_codes(lengths, n, codes);
}

/* Up to 128 bits, to which codes are appended one by one. */
struct long_bits {
    uint64_t low;
    unsigned count;
};

static void put(struct long_bits *b, uint64_t value, unsigned count)
{
    if (b->count < 64)
        b->low |= value << b->count;
    b->count += count;
}

/* A block's random codes. */
struct codes {
    uint16_t litlen[DEFLATE_LITLEN_SYMBOLS], distance[DEFLATE_DISTANCE_SYMBOLS];
    uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS], distance_lengths[DEFLATE_DISTANCE_SYMBOLS];
    struct huff_value_code values[HUFF_VALUE_CODES]; /* distances' codes, by symbol */
};

static void make_codes(uint64_t *state, struct codes *c)
{
    memset(c->values, 0xa5, sizeof(c->values));
    random_codes(state, DEFLATE_LITLEN_SYMBOLS, c->litlen, c->litlen_lengths);
    random_codes(state, DEFLATE_DISTANCE_SYMBOLS, c->distance, c->distance_lengths);
    for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
        c->values[i] = huff_value_code(c->distance[i], c->distance_lengths[i],
                                       deflate_least_distance(i), deflate_distance_extra_bits(i));
}

static void put_length(struct long_bits *b, const struct codes *c, unsigned length)
{
    const unsigned symbol = deflate_length_symbol(length);
    const unsigned extra_bits = deflate_length_extra_bits(symbol);

    put(b, c->litlen[symbol], c->litlen_lengths[symbol]);
    put(b, deflate_length_extra(length, extra_bits), extra_bits);
}

static void put_distance(struct long_bits *b, const struct codes *c, unsigned distance)
{
    const unsigned symbol = deflate_distance_symbol(distance);
    const unsigned extra_bits = deflate_distance_extra_bits(symbol);

    put(b, c->distance[symbol], c->distance_lengths[symbol]);
    put(b, deflate_distance_extra(distance, extra_bits), extra_bits);
}

/* Sequences, their data, and the slots into which the first ones of them have to be expanded. */
#define SEQUENCES 400
struct slot {
    uint8_t literals[HUFF_SLOT_LITERALS];
    unsigned count; /* literals */
    unsigned length, distance;
};
struct expansion {
    struct lz_sequence sequences[SEQUENCES];
    uint32_t count;    /* sequences */
    uint32_t expanded; /* those that have to be expanded */
    size_t bytes;      /* their literals and matches */
    uint8_t in[SEQUENCES * (2 * HUFF_SLOT_MOST + LZ_MAX_MATCH) + LZ_INPUT_PAD];
    struct slot slots[HUFF_SLOTS_ENOUGH + 17 * HUFF_SLOTS_SEQUENCE];
    uint32_t used;
};

static void add_slots(struct expansion *x, struct lz_sequence s)
{
    struct slot slot = {{0}, 0, 0, 0};
    const uint8_t *in = x->in + x->bytes;

    for (unsigned i = 0; i < s.literals; i++) {
        slot.literals[slot.count++] = *in++;
        if (slot.count == HUFF_SLOT_LITERALS) {
            x->slots[x->used++] = slot;
            slot.count = 0;
        }
    }
    slot.length = s.length;
    slot.distance = s.distance;
    x->slots[x->used++] = slot;
    x->bytes += s.literals + s.length;
}

/* Makes random sequences, with up to `most` literals, and computes how they have to be expanded in
 * groups of `group` sequences. */
static void make_expansion(uint64_t *state, struct expansion *x, unsigned most, uint32_t group)
{
    size_t bytes = 0;

    x->count = (uint32_t)unit_below(state, SEQUENCES + 1);
    for (uint32_t i = 0; i < x->count; i++) {
        x->sequences[i] = random_sequence(state, most);
        bytes += x->sequences[i].literals + x->sequences[i].length;
    }
    for (size_t i = 0; i < bytes + LZ_INPUT_PAD; i++)
        x->in[i] = (uint8_t)unit_rand(state);
    x->used = x->expanded = 0;
    x->bytes = 0;
    while (x->count - x->expanded >= group && x->used < HUFF_SLOTS_ENOUGH) {
        for (uint32_t i = 0; i < group; i++)
            if (x->sequences[x->expanded + i].literals > HUFF_SLOT_MOST)
                return;
        for (uint32_t i = 0; i < group; i++)
            add_slots(x, x->sequences[x->expanded++]);
    }
}

/* --- AVX2 --- */

static void check_top_code(huff_top_code code, const struct long_bits *want)
{
    CHECK_EQ(code, want->count == 0 ? 0 : want->low << (64 - want->count) | want->count);
}

/* The codes of literals and lengths are right. */
static void slot_codes(void)
{
    static struct huff_slot_codes codes;
    uint64_t state = 5;

    for (unsigned round = 0; round < 20; round++) {
        struct long_bits b;
        struct codes c;

        make_codes(&state, &c);
        memset(&codes, 0xa5, sizeof(codes));
        huff_slots_make_codes(&codes, c.litlen, c.litlen_lengths, c.values);
        for (unsigned i = 0; i < 256; i++) {
            b = (struct long_bits){c.litlen[i], c.litlen_lengths[i]};
            check_top_code(codes.literal[i], &b);
        }
        CHECK_EQ(codes.literal[HUFF_NO_LITERAL], 0);
        for (unsigned length = 0; length < LZ_MIN_MATCH; length++)
            CHECK_EQ(codes.length[length], 0);
        for (unsigned length = LZ_MIN_MATCH; length <= LZ_MAX_MATCH; length++) {
            b = (struct long_bits){0, 0};
            put_length(&b, &c, length);
            check_top_code(codes.length[length], &b);
        }
    }
}

/* Checks the slots of s, and the codes of their distances. */
static void check_slots(const struct huff_slots *s, const struct expansion *x,
                        const struct codes *c)
{
    CHECK_EQ(s->used, x->used);
    for (uint32_t i = 0; i < x->used; i++) {
        const struct slot *want = &x->slots[i];
        struct long_bits b = {0, 0};

        for (unsigned k = 0; k < HUFF_SLOT_LITERALS; k++)
            CHECK_EQ(s->literals[i * HUFF_SLOT_LITERALS + k],
                     k < want->count ? want->literals[k] : HUFF_NO_LITERAL);
        if (want->length == 0) {
            CHECK(s->match[i] < LZ_MIN_MATCH);
        } else {
            CHECK_EQ(s->match[i], want->length | want->distance << 16);
            put_distance(&b, c, want->distance);
        }
        check_top_code(s->distance[i], &b);
    }
}

static void slots(void)
{
    static struct huff_slot_codes codes;
    static struct expansion x;
    static struct huff_slots s;
    uint64_t state = 3;
    unsigned full = 0;

    for (unsigned round = 0; round < 2000; round++) {
        const uint8_t *in = x.in;
        struct codes c;

        make_codes(&state, &c);
        huff_slots_make_codes(&codes, c.litlen, c.litlen_lengths, c.values);
        make_expansion(&state, &x, round % 2 ? 20 : HUFF_SLOT_MOST + round % 40 / 20, 1);
        memset(&s, 0xa5, sizeof(s));
        CHECK_EQ(huff_slots_expand(&s, &in, x.sequences, x.count), x.expanded);
        CHECK_EQ((size_t)(in - x.in), x.bytes);
        huff_slots_encode(&s, &codes);
        check_slots(&s, &x, &c);
        full += x.used >= HUFF_SLOTS_ENOUGH;
    }
    CHECK(full > 100);
}

/* Every distance gets the right code. */
static void distances(void)
{
    static struct huff_slot_codes codes;
    static struct huff_slots s;
    uint64_t state = 4;
    struct codes c;

    make_codes(&state, &c);
    huff_slots_make_codes(&codes, c.litlen, c.litlen_lengths, c.values);
    for (unsigned first = 1; first <= LZ_WINDOW_SIZE; first += 128) {
        s.used = 128;
        for (unsigned i = 0; i < s.used; i++)
            s.match[i] = LZ_MIN_MATCH | (first + i) << 16;
        huff_slots_encode(&s, &codes);
        for (unsigned i = 0; i < s.used; i++) {
            struct long_bits b = {0, 0};

            put_distance(&b, &c, first + i);
            check_top_code(s.distance[i], &b);
        }
    }
}

/* --- AVX-512 --- */

#ifdef HAVE_AVX512_PATH

#define MOST (3 * HUFF_LANES_BATCH)
#define FAR ((size_t)1 << 30) /* beyond any segment */

static uint8_t length_symbols[256];

static void make_length_symbols(void)
{
    for (unsigned i = 0; i < 256; i++)
        length_symbols[i] =
            (uint8_t)(deflate_length_symbol(LZ_MIN_MATCH + i) - DEFLATE_FIRST_LENGTH);
}

/* Every length and every distance has the right symbol. */
static void symbols(void)
{
    static struct lz_sequence sequences[HUFF_LANES_BATCH];
    struct huff_located l;

    for (unsigned first = 0; first < LZ_WINDOW_SIZE; first += HUFF_LANES_BATCH) {
        for (unsigned i = 0; i < HUFF_LANES_BATCH; i++) {
            const unsigned length = LZ_MIN_MATCH + (first + i) % 256;

            sequences[i] = (struct lz_sequence){0, (uint16_t)length, (uint16_t)(first + i + 1)};
        }
        CHECK_EQ(huff_lanes_locate(&l, sequences, HUFF_LANES_BATCH, LZ_WINDOW_SIZE, FAR, FAR, 0,
                                   LZ_MAX_MATCH, length_symbols),
                 HUFF_LANES_BATCH);
        for (unsigned i = 0; i < HUFF_LANES_BATCH; i++) {
            CHECK_EQ(l.length_symbol[i],
                     deflate_length_symbol(sequences[i].length) - DEFLATE_FIRST_LENGTH);
            CHECK_EQ(l.distance_symbol[i], deflate_distance_symbol(sequences[i].distance));
        }
    }
}

/* Calls huff_lanes_locate for sequences that start at `pos`.  Checks that the call locates exactly
 * the sequences that it must locate, and that its results for them are right. */
static void check_located(const struct lz_sequence *sequences, uint32_t count, size_t pos,
                          size_t enough, size_t end, uint32_t few, uint32_t limit)
{
    struct huff_located l;
    const uint32_t located =
        huff_lanes_locate(&l, sequences, count, pos, enough, end, few, limit, length_symbols);
    uint32_t i;

    for (i = 0; i < count && i < HUFF_LANES_BATCH; i++) {
        const struct lz_sequence s = sequences[i];
        const size_t match = pos + s.literals;
        const bool special = s.literals > few || s.length > limit;

        if (s.length < LZ_MIN_MATCH || s.length > LZ_MAX_MATCH || s.distance < 1 ||
            s.distance > LZ_WINDOW_SIZE || s.distance > match || pos >= enough ||
            match + s.length > end)
            break;
        if (i < located) {
            CHECK_EQ(l.literals[i], pos);
            CHECK_EQ(l.match[i], match);
            CHECK_EQ(l.length[i], s.length);
            CHECK_EQ(l.distance[i], s.distance);
            CHECK_EQ(l.length_symbol[i], deflate_length_symbol(s.length) - DEFLATE_FIRST_LENGTH +
                                             (special ? HUFF_LANES_SPECIAL : 0));
            CHECK_EQ(l.distance_symbol[i], deflate_distance_symbol(s.distance));
            CHECK_EQ(l.short_of[i], s.length < limit ? limit - s.length : 0);
        }
        pos = match + s.length;
        if (i + 1 == located)
            CHECK_EQ(l.end, pos);
    }
    CHECK_EQ(located, i - i % HUFF_LANES);
}

static void located(void)
{
    static struct lz_sequence sequences[MOST];
    uint64_t state = 1;

    for (unsigned round = 0; round < 4000; round++) {
        const uint32_t count = (uint32_t)unit_below(&state, MOST + 1);
        const size_t pos = LZ_WINDOW_SIZE + unit_below(&state, LZ_SEGMENT_MAX - 4 * LZ_CHUNK_SIZE);
        size_t end = pos;

        for (uint32_t i = 0; i < count; i++) {
            sequences[i] = random_sequence(&state, 40);
            if (i < HUFF_LANES_BATCH)
                end += sequences[i].literals + sequences[i].length;
        }
        check_located(sequences, count, pos, FAR, end, 16, 32);
        /* In the first call, the sequences end one byte too late.  In the second, a sequence may
         * start so late that locating stops there.  In the third, little data comes before the
         * sequences. */
        check_located(sequences, count, pos, FAR, end - 1, 0, 3);
        check_located(sequences, count, pos, pos + unit_below(&state, end - pos + 2), end, 3, 258);
        check_located(sequences, count, unit_below(&state, 2000), FAR, FAR, 16, 32);
        /* One sequence has a number that is not allowed. */
        if (count > 0) {
            struct lz_sequence *s = &sequences[unit_below(&state, count)];

            switch (round % 6) {
            case 0:
                s->length = (uint16_t)unit_below(&state, LZ_MIN_MATCH);
                break;
            case 1:
                s->length = LZ_MAX_MATCH + 1;
                break;
            case 2:
                s->length = UINT16_MAX;
                break;
            case 3:
                s->distance = 0;
                break;
            case 4:
                s->distance = LZ_WINDOW_SIZE + 1;
                break;
            default:
                s->distance = s->literals = s->length = UINT16_MAX;
            }
            check_located(sequences, count, pos, FAR, LZ_SEGMENT_MAX, 16, 32);
        }
    }
}

static void encoded(void)
{
    static struct expansion x;
    static struct huff_lane_slots s;
    uint64_t state = 2;
    unsigned wide = 0, full = 0;

    for (unsigned round = 0; round < 2000; round++) {
        static struct huff_lane_codes codes;
        const uint8_t *in = x.in;
        struct codes c;

        make_codes(&state, &c);
        memset(&codes, 0xa5, sizeof(codes));
        huff_lanes_make_codes(&codes, c.litlen, c.litlen_lengths);
        make_expansion(&state, &x, round % 2 ? 20 : HUFF_SLOT_MOST + round % 40 / 20, HUFF_LANES);
        memset(&s, 0xa5, sizeof(s));
        CHECK_EQ(huff_lanes_expand(&s, &in, x.sequences, x.count), x.expanded);
        CHECK_EQ((size_t)(in - x.in), x.bytes);
        CHECK_EQ(s.used, x.used);
        huff_lanes_encode(&s, &codes, c.values, length_symbols);
        for (uint32_t i = 0; i < x.used; i++) {
            const struct slot *want = &x.slots[i];
            struct long_bits b = {0, 0};

            CHECK_EQ(s.match[i], want->distance | want->length << HUFF_LANES_LENGTH_SHIFT |
                                     (want->length == 0 ? HUFF_SLOT_LITERALS : want->count)
                                         << HUFF_LANES_LITERALS_SHIFT);
            for (unsigned k = 0; k < want->count; k++) {
                CHECK_EQ(s.literals[i * HUFF_SLOT_LITERALS + k], want->literals[k]);
                put(&b, c.litlen[want->literals[k]], c.litlen_lengths[want->literals[k]]);
            }
            if (want->length > 0) {
                put_length(&b, &c, want->length);
                put_distance(&b, &c, want->distance);
            }
            CHECK_EQ(s.count[i], b.count);
            if (b.count <= 64)
                CHECK_EQ(s.bits[i], b.low);
            wide += b.count > 64;
        }
        full += x.used >= HUFF_SLOTS_ENOUGH;
    }
    CHECK(wide > 100 && full > 100);
}

static void run_lanes(void)
{
    make_length_symbols();
    RUN(symbols);
    RUN(located);
    RUN(encoded);
}

#endif

int main(void)
{
    if (cpu_path() < CPU_AVX2) {
        puts("1..0 # SKIP this processor has no AVX2");
        return 0;
    }
    RUN(slot_codes);
    RUN(slots);
    RUN(distances);
#ifdef HAVE_AVX512_PATH
    if (cpu_path() == CPU_AVX512)
        run_lanes();
#endif
    return unit_done();
}

#else

int main(void)
{
    puts("1..0 # SKIP not built for x86-64");
    return 0;
}

#endif
