/*
 * test_codings.c - the sizes in the papers' own codings equal sizes that were computed by hand from
 * the papers
 */
#include "config.h"

#include <string.h>

#include "bench/codings.h"
#include "lzss/lzss.h"
#include "papers/papers.h"
#include "tests/unit/unit.h"

/* Returns the size, in bits, of a segment with this text in the method's coding. */
static uint64_t bits_of(const char *matcher, const void *text, size_t len)
{
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD));
    struct lz_level level = *lz_level(LZ_LEVEL_DEFAULT);
    char error[PAPER_ERROR_SIZE];
    const struct coding *coding;
    struct lz_matcher *m;
    uint64_t bits = 0;

    memcpy(in, text, len);
    if (!CHECK(paper_parse(matcher, &level, error)))
        abort();
    coding = coding_of(level.finder->name);
    m = unit_need(lz_matcher_new(&level, level.segment_default));
    if (CHECK(coding != NULL))
        bits = coding_bits(coding, &level, in, len, lz_match_segment(m, in, len));
    lz_matcher_free(m);
    free(in);
    return bits;
}

static uint64_t bits(const char *matcher, const char *text)
{
    return bits_of(matcher, text, strlen(text));
}

/* A literal takes 9 bits, and a match takes 17 bits.  No match is longer than its distance. */
static void test_culzss(void)
{
    CHECK_EQ(bits("culzss", "abcde"), 5 * 9);
    CHECK_EQ(bits("culzss", "abcdeabcde"), 5 * 9 + 17);
    CHECK_EQ(bits("culzss", "aaaaaaaa"), 3 * 9 + 17 + 2 * 9);
    CHECK_EQ(bits("culzss", "abcdabcdabcd"), 4 * 9 + 2 * 17);
    CHECK_EQ(bits("culzss,length=3", "abcdefabcdef"), 6 * 9 + 2 * 17);
}

/* A literal takes 9 bits, and a match takes 25 bits.  Each chunk takes 64 further bits. */
static void test_glzss(void)
{
    static const char *const both[] = {"glzss-basic", "glzss-tagging"};

    for (int i = 0; i < 2; i++) {
        char matcher[64];
        char text[8192];

        CHECK_EQ(bits(both[i], "abcdefg"), 7 * 9 + 64);
        /* At first, all entries of the hash table are the chunk's first position. */
        CHECK_EQ(bits(both[i], "abcdabcdabcd"), 4 * 9 + 25 + 64);
        memset(text, 'a', sizeof(text));
        snprintf(matcher, sizeof(matcher), "%s,chunk=4096", both[i]);
        /* Each of the two chunks has a literal and a match of 4095 bytes, which counts as 16
         * matches of up to 259 bytes. */
        CHECK_EQ(bits_of(matcher, text, sizeof(text)), 2 * (9 + 16 * 25 + 64));
    }
}

/* A literal takes 9 bits, and a match of up to 18 bytes takes 17 bits. */
static void test_lzss(void)
{
    CHECK_EQ(bits("lzss", "abcdefg"), 7 * 9);
    CHECK_EQ(bits("lzss", "abcdabcd"), 4 * 9 + 17);
    CHECK_EQ(bits("lzss", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 9 + 3 * 17);
}

/* A sequence has one byte for two numbers: up to 14 literals, and a match of up to 18 bytes.
 * Larger numbers take more bytes.  The distance takes two bytes.  Literals after the last match
 * also take one byte for their number. */
static void test_lz4(void)
{
    char text[600];

    CHECK_EQ(bits("lz4", "abcdefg"), 8 * 8);
    CHECK_EQ(bits("lz4", "abcdefghijklmno"), (1 + 1 + 15) * 8);
    CHECK_EQ(bits("lz4", "abcdefabcdef"), (1 + 6 + 2 + 1) * 8);
    memset(text, 'a', sizeof(text));
    /* The text is a literal and a match of 599 bytes, whose length is coded as 4 + 15 + 255 + 255 +
     * 70. */
    CHECK_EQ(bits_of("lz4", text, sizeof(text)), (1 + 1 + 2 + 3 + 1) * 8);
}

/* A literal takes one byte.  A match takes eight bytes, and eight further bytes if a literal is
 * before it. */
static void test_position_lists(void)
{
    CHECK_EQ(bits("position-lists", "abcdefg"), 7 * 8);
    CHECK_EQ(bits("position-lists", "abcdefghabcdefgh"), 8 * 8 + 128);
    CHECK_EQ(bits("position-lists", "abcdefghijklmnopijklmnopabcdefgh"), 16 * 8 + 64 + 2 * 64);
}

/* A literal takes a flag bit and a symbol, and a match takes 17 bits.  A chunk's flag bits are
 * padded to whole bytes, and each chunk takes 64 further bits. */
static void test_gpulz(void)
{
    char text[8192];

    CHECK_EQ(bits("gpulz,symbol=1", "abcdefgh"), 8 * 9 + 64);
    CHECK_EQ(bits("gpulz,symbol=1", "abcdabcd"), 4 * 9 + 17 + 3 + 64);
    CHECK_EQ(bits("gpulz,symbol=2", "abcdabcd"), 2 * 17 + 17 + 5 + 64);
    CHECK_EQ(bits("gpulz,symbol=4", "abcdabcd"), 33 + 17 + 6 + 64);
    CHECK_EQ(bits("gpulz,symbol=4", "abcdabcdabcdx"), 33 + 2 * 17 + 9 + 4 + 64);
    /* Each chunk of 2048 bytes has one literal symbol, and one match for each of the other 511
     * symbols. */
    memset(text, 'a', sizeof(text));
    CHECK_EQ(bits_of("gpulz,symbol=4,window=32", text, 2048),
             33 + 17 * (5 + 15) + 64 + (8 - (1 + 5 + 15) % 8));
}

/* A literal takes 9 bits, and a match takes 25 bits.  No match is longer than its distance. */
static void test_dklzss(void)
{
    CHECK_EQ(bits("dklzss", "abcdefg"), 7 * 9);
    CHECK_EQ(bits("dklzss", "abcdabcd"), 4 * 9 + 25);
    CHECK_EQ(bits("dklzss", "aaaaaaaa"), 5 * 9 + 25);
    CHECK_EQ(bits("dklzss,chunk=512", "abcdabcd"), 4 * 9 + 19);
}

/* Every method has a coding. */
static void test_all(void)
{
    for (size_t i = 0; paper_methods[i] != NULL; i++)
        CHECK(coding_of(paper_methods[i]->finder->name) != NULL);
    CHECK(coding_of("chains") == NULL);
}

int main(void)
{
    RUN(test_culzss);
    RUN(test_glzss);
    RUN(test_lzss);
    RUN(test_lz4);
    RUN(test_position_lists);
    RUN(test_gpulz);
    RUN(test_dklzss);
    RUN(test_all);
    return unit_done();
}
