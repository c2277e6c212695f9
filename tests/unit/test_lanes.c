/*
 * test_lanes.c - locating and encoding sixteen sequences at a time gives the same result as one by
 * one
 *
 * Each number from lanes.c is compared with the number that follows from the rules of RFC 1951 for
 * one sequence.  The rules' symbols and extra bits come from deflate.h, and their codes from
 * huff_codes.
 */
#include "config.h"

#include <string.h>

#include "huffman/lanes.h"
#include "huffman/lengths.h"
#include "tests/unit/unit.h"

static struct huff_lengths_work work;

#ifdef HAVE_AVX512_PATH

#define MOST (3 * HUFF_LANES_BATCH)
#define MOST_LITERALS 40
#define FAR ((size_t)1 << 30) /* beyond any segment */

static uint8_t length_symbols[256];

static void make_length_symbols(void)
{
    for (unsigned i = 0; i < 256; i++)
        length_symbols[i] =
            (uint8_t)(deflate_length_symbol(LZ_MIN_MATCH + i) - DEFLATE_FIRST_LENGTH);
}

/* Returns a random number below n, mostly a small one, as in real data. */
static unsigned skewed(uint64_t *state, unsigned n)
{
    return (unsigned)unit_below(state, 1 + unit_below(state, unit_below(state, 4) == 0 ? n : 5));
}

static struct lz_sequence random_sequence(uint64_t *state)
{
    const unsigned power = 1u << unit_below(state, 16);

    return (struct lz_sequence){(uint16_t)skewed(state, MOST_LITERALS + 1),
                                (uint16_t)(LZ_MIN_MATCH + skewed(state, 256)),
                                (uint16_t)(1 + unit_below(state, power))};
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
            sequences[i] = random_sequence(&state);
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

static void encoded(void)
{
    static uint8_t in[HUFF_LANES_BATCH * (MOST_LITERALS + LZ_MAX_MATCH) + 4];
    static struct lz_sequence sequences[HUFF_LANES_BATCH];
    uint64_t state = 2;
    unsigned special = 0, wide = 0;

    for (unsigned round = 0; round < 2000; round++) {
        const uint32_t count =
            HUFF_LANES * (1 + (uint32_t)unit_below(&state, HUFF_LANES_BATCH / HUFF_LANES));
        const uint32_t room = round % 2 ? 56 : (uint32_t)unit_below(&state, 64);
        uint16_t litlen[DEFLATE_LITLEN_SYMBOLS], distance[DEFLATE_DISTANCE_SYMBOLS];
        uint8_t litlen_lengths[DEFLATE_LITLEN_SYMBOLS], distance_lengths[DEFLATE_DISTANCE_SYMBOLS];
        struct huff_lane_codes codes;
        struct huff_value_code distance_codes[HUFF_VALUE_CODES];
        struct huff_encoded e;
        size_t pos = 0;

        memset(&codes, 0xa5, sizeof(codes));
        memset(distance_codes, 0xa5, sizeof(distance_codes));
        random_codes(&state, DEFLATE_LITLEN_SYMBOLS, litlen, litlen_lengths);
        random_codes(&state, DEFLATE_DISTANCE_SYMBOLS, distance, distance_lengths);
        huff_lanes_make_codes(&codes, litlen, litlen_lengths);
        for (unsigned i = 0; i < DEFLATE_DISTANCE_SYMBOLS; i++)
            distance_codes[i] =
                huff_value_code(distance[i], distance_lengths[i], deflate_least_distance(i),
                                deflate_distance_extra_bits(i));
        for (uint32_t i = 0; i < count; i++) {
            sequences[i] = random_sequence(&state);
            pos += sequences[i].literals + sequences[i].length;
        }
        for (size_t i = 0; i < pos; i++)
            in[i] = (uint8_t)unit_rand(&state);
        CHECK_EQ(huff_lanes_encode(&e, &codes, distance_codes, in, sequences, count, room,
                                   length_symbols),
                 pos);
        pos = 0;
        for (uint32_t i = 0; i < count; i++) {
            const struct lz_sequence s = sequences[i];
            const unsigned last =
                s.literals < HUFF_LANES_LITERALS ? s.literals : HUFF_LANES_LITERALS;
            const unsigned l = deflate_length_symbol(s.length);
            const unsigned d = deflate_distance_symbol(s.distance);
            const unsigned l_extra = deflate_length_extra_bits(l);
            const unsigned d_extra = deflate_distance_extra_bits(d);
            struct long_bits b = {0, 0};
            bool is_special;

            pos += s.literals;
            CHECK_EQ(e.literals[i], pos - last);
            for (size_t k = pos - last; k < pos; k++)
                put(&b, litlen[in[k]], litlen_lengths[in[k]]);
            put(&b, litlen[l], litlen_lengths[l]);
            put(&b, deflate_length_extra(s.length, l_extra), l_extra);
            put(&b, distance[d], distance_lengths[d]);
            put(&b, deflate_distance_extra(s.distance, d_extra), d_extra);
            is_special = s.literals > HUFF_LANES_LITERALS || b.count > room;
            CHECK_EQ(e.count[i], b.count + (is_special ? HUFF_LANES_SPECIAL : 0));
            if (b.count <= 64)
                CHECK_EQ(e.bits[i], b.low);
            special += is_special;
            wide += b.count > 64;
            pos += s.length;
        }
    }
    CHECK(special > 1000 && wide > 100);
    printf("# %u marked as special, %u of more than 64 bits\n", special, wide);
}

int main(void)
{
    if (cpu_path() != CPU_AVX512) {
        puts("1..0 # SKIP this processor has no AVX-512");
        return 0;
    }
    make_length_symbols();
    RUN(symbols);
    RUN(located);
    RUN(encoded);
    return unit_done();
}

#else

int main(void)
{
    puts("1..0 # SKIP not built for x86-64");
    return 0;
}

#endif
