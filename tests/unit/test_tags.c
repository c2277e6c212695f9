/*
 * test_tags.c - tag arrays are converted to the sequences that lzss/tags.h and lz_pieces define
 *
 * Tests arrays made by hand, every length of a run, and random arrays.  A plain converter, which
 * looks at one byte after another, gives the expected sequences.
 */
#include "config.h"

#include <string.h>

#include "lzss/common.h"
#include "lzss/tags.h"
#include "tests/unit/unit.h"

/* A tag array under construction, and the sequences that it must give. */
static uint16_t tags[LZ_CHUNK_SIZE];
static size_t len;
static struct lz_sequence want[LZ_CHUNK_MAX_SEQUENCES];
static size_t want_count;

static void start(void)
{
    len = 0;
    want_count = 0;
}

static void add_run(uint16_t tag, size_t n)
{
    while (n-- > 0)
        tags[len++] = tag;
}

static void expect(size_t literals, size_t length, size_t distance)
{
    want[want_count].literals = (uint16_t)literals;
    want[want_count].length = (uint16_t)length;
    want[want_count++].distance = (uint16_t)distance;
}

/* Converts the array in memory of exactly the size that lzss/tags.h asks for, so that a sanitizer
 * sees accesses outside it. */
static void check_sequences(void)
{
    uint16_t *exact = malloc(len * sizeof(*tags) + 1);
    struct lz_sequence *got = malloc(sizeof(want));
    size_t count;

    if (exact == NULL || got == NULL)
        abort();
    memcpy(exact, tags, len * sizeof(*tags));
    count = lz_tags_to_sequences(exact, len, got);
    if (CHECK_EQ(count, want_count)) {
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(got[i].literals, want[i].literals);
            CHECK_EQ(got[i].length, want[i].length);
            CHECK_EQ(got[i].distance, want[i].distance);
        }
    }
    CHECK(memcmp(exact, tags, len * sizeof(*tags)) == 0);
    free(exact);
    free(got);
}

/* Makes the expected sequences in the plainest way: measures a run of zeros, then a run of one
 * distance, and cuts the second run into pieces such that 1 or 2 bytes are never left over. */
static void expect_plainly(void)
{
    size_t i = 0;

    want_count = 0;
    while (i < len) {
        size_t literals = 0, run = 0;
        uint16_t distance;

        while (i < len && tags[i] == 0) {
            i++;
            literals++;
        }
        if (i == len)
            return;
        distance = tags[i];
        while (i < len && tags[i] == distance) {
            i++;
            run++;
        }
        while (run > 258) {
            size_t piece = run == 259 ? 256 : run == 260 ? 257 : 258;

            expect(literals, piece, distance);
            literals = 0;
            run -= piece;
        }
        expect(literals, run, distance);
    }
}

static void nothing(void)
{
    start();
    check_sequences();
}

/* A chunk of literals has no sequence, and literals after the last match have none either. */
static void literals(void)
{
    for (size_t n = 1; n <= 20; n++) {
        start();
        add_run(0, n);
        check_sequences();

        start();
        add_run(7, n + 2);
        add_run(0, n);
        expect(0, n + 2, 7);
        check_sequences();
    }
    start();
    add_run(0, LZ_CHUNK_SIZE);
    check_sequences();

    start();
    add_run(0, LZ_CHUNK_SIZE - 3);
    add_run(1, 3);
    expect(LZ_CHUNK_SIZE - 3, 3, 1);
    check_sequences();
}

/* Tests runs of about the greatest match length and its multiples, with pieces written out by
 * hand. */
static void long_runs(void)
{
    static const struct {
        size_t run, pieces[4];
    } cases[] = {
        {3, {3}},
        {257, {257}},
        {258, {258}},
        {259, {256, 3}}, /* would leave 1 byte */
        {260, {257, 3}}, /* would leave 2 bytes */
        {261, {258, 3}},
        {515, {258, 257}},
        {516, {258, 258}},
        {517, {258, 256, 3}},
        {518, {258, 257, 3}},
        {519, {258, 258, 3}},
        {774, {258, 258, 258}},
        {775, {258, 258, 256, 3}},
        {776, {258, 258, 257, 3}},
        {777, {258, 258, 258, 3}},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        for (size_t before = 0; before < 6; before++) {
            start();
            add_run(0, before);
            add_run(300, cases[c].run);
            for (size_t p = 0; p < 4 && cases[c].pieces[p] > 0; p++)
                expect(p == 0 ? before : 0, cases[c].pieces[p], 300);
            check_sequences();
        }
    }
}

/* Tests every run length.  A run must have as few pieces as possible.  Each piece must have a
 * match's length, and the sum of the pieces' lengths must be the run's length. */
static void every_run(void)
{
    for (uint32_t run = LZ_MIN_MATCH; run <= LZ_CHUNK_SIZE; run++) {
        uint32_t pieces = lz_pieces(run), sum = 0;

        CHECK_EQ(pieces, run / 258 + (run % 258 != 0));
        for (uint32_t p = 0; p < pieces; p++) {
            uint32_t piece = lz_piece_length(run, p);

            CHECK(piece >= 3 && piece <= 258);
            sum += piece;
        }
        CHECK_EQ(sum, run);
    }
    for (size_t run = LZ_MIN_MATCH; run <= 1100; run++) {
        start();
        add_run(9, run);
        expect_plainly();
        check_sequences();
        add_run(0, 1);
        check_sequences();
    }
}

/* A run that fills a whole chunk has 127 times 258 bytes and 2 further bytes. */
static void whole_chunk(void)
{
    start();
    add_run(1, LZ_CHUNK_SIZE);
    for (int i = 0; i < 126; i++)
        expect(0, 258, 1);
    expect(0, 257, 1);
    expect(0, 3, 1);
    check_sequences();

    start();
    add_run(0, 1);
    add_run(1, LZ_CHUNK_SIZE - 1);
    expect(1, 258, 1);
    for (int i = 0; i < 125; i++)
        expect(0, 258, 1);
    expect(0, 256, 1);
    expect(0, 3, 1);
    check_sequences();
}

/* Tests the smallest and the largest distances.  The largest, 32768, does not fit in a signed
 * 16-bit number. */
static void distances(void)
{
    static const uint16_t at[] = {1, 2, 255, 256, 257, 32767, 32768};

    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        start();
        add_run(0, 2);
        add_run(at[i], 300);
        expect(2, 258, at[i]);
        expect(0, 42, at[i]);
        check_sequences();
        for (size_t j = 0; j < sizeof(at) / sizeof(*at); j++) {
            if (i == j)
                continue;
            add_run(at[j], 5);
            expect(0, 5, at[j]);
            check_sequences();
            len -= 5;
            want_count--;
        }
    }
}

/* Adjacent runs become separate matches without literals between them.  The runs end at all places
 * within a group of tags, and some distances differ only in the low or the high byte. */
static void adjacent_runs(void)
{
    for (size_t a = 3; a <= 12; a++) {
        for (size_t b = 3; b <= 12; b++) {
            start();
            add_run(0, a - 3);
            add_run(0x0102, a);
            add_run(0x0103, b);
            add_run(0x0203, a);
            add_run(0, 1);
            add_run(0x0203, b);
            expect(a - 3, a, 0x0102);
            expect(0, b, 0x0103);
            expect(0, a, 0x0203);
            expect(1, b, 0x0203);
            check_sequences();
        }
    }
}

/* Tests a chunk with as many sequences as a chunk can have, which fill the whole array. */
static void most_sequences(void)
{
    start();
    for (size_t i = 0; i < LZ_CHUNK_MAX_SEQUENCES; i++) {
        add_run((uint16_t)(1 + i % 2), 3);
        expect(0, 3, 1 + i % 2);
    }
    add_run(0, LZ_CHUNK_SIZE - len);
    check_sequences();
}

static void random_arrays(void)
{
    uint64_t state = 1;

    for (unsigned round = 0; round < 400; round++) {
        size_t size = unit_below(&state, round % 8 == 0 ? LZ_CHUNK_SIZE + 1 : 2000);
        size_t longest = 1 + unit_below(&state, round % 2 ? 1000 : 12);
        uint16_t different = (uint16_t)(1 + unit_below(&state, LZ_WINDOW_SIZE));

        start();
        while (len < size) {
            size_t run = 3 + unit_below(&state, longest);
            uint16_t tag = (uint16_t)(LZ_WINDOW_SIZE - unit_below(&state, different));

            if (unit_below(&state, 2))
                add_run(0, 1 + unit_below(&state, size - len < longest ? size - len : longest));
            if (len + run > size)
                break;
            add_run(tag, run);
        }
        if (len < size)
            add_run(0, size - len);
        expect_plainly();
        check_sequences();
    }
}

int main(void)
{
    RUN(nothing);
    RUN(literals);
    RUN(long_runs);
    RUN(every_run);
    RUN(whole_chunk);
    RUN(distances);
    RUN(adjacent_runs);
    RUN(most_sequences);
    RUN(random_arrays);
    return unit_done();
}
