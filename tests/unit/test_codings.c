/*
 * test_codings.c - the sizes of files in the papers' formats, computed and written, equal sizes
 * that were computed by hand from the papers
 */
#include "config.h"

#include <string.h>

#include "bench/codings.h"
#include "lzss/lzss.h"
#include "papers/codec/codec.h"
#include "papers/codec/position_lists.h"
#include "papers/papers.h"
#include "tests/unit/unit.h"

/* Returns the bytes of a packed block, before the range coder. */
static size_t packed_size(const struct paper_format *format, const struct lz_level *level,
                          const uint8_t *in, uint32_t len, const uint16_t *tags)
{
    const struct codec_shape shape = format->shape(level);
    uint8_t *packed = unit_need(malloc(position_lists_packed_bound(len)));
    const size_t size = position_lists_pack(&shape, in, tags, len, packed);

    free(packed);
    return size;
}

/* Returns the bytes of a file as it is written. */
static size_t written_size(const struct paper_format *format, const struct lz_level *level,
                           const uint8_t *in, size_t len)
{
    uint16_t *tags = unit_need(calloc(len, sizeof(*tags)));
    size_t size = 0;

    CHECK(paper_match(format, level, in, len, tags));
    if (format->family == CODEC_POSITION_LISTS)
        size = packed_size(format, level, in, (uint32_t)len, tags);
    else
        free(unit_need(paper_encode(format, level, in, len, tags, &size)));
    free(tags);
    return size;
}

/* Returns the bytes of a file with this text in the method's format. */
static size_t bytes_in(const char *matcher, const char *form, const void *text, size_t len)
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
    coding = coding_of(level.finder->name, form);
    m = unit_need(lz_matcher_new(&level, level.segment_default));
    if (CHECK(coding != NULL))
        bits =
            coding->file_bits + coding_bits(coding, &level, in, len, lz_match_segment(m, in, len));
    CHECK_EQ(bits % 8, 0);
    CHECK_EQ(bits / 8, written_size(paper_format_of(level.finder->name, form), &level, in, len));
    lz_matcher_free(m);
    free(in);
    return bits / 8;
}

static size_t bytes(const char *matcher, const char *text)
{
    return bytes_in(matcher, NULL, text, strlen(text));
}

/* Returns a number of bits in bytes, rounded up. */
static size_t in_bytes(size_t bits)
{
    return (bits + 7) / 8;
}

/* A literal takes 9 bits, and a match takes 17 bits.  No match is longer than its distance.  A
 * chunk that would grow is stored.  The file has 8 bytes, and each chunk 2. */
static void test_culzss(void)
{
    CHECK_EQ(bytes("culzss", "abcde"), 10 + 5);
    CHECK_EQ(bytes("culzss", "abcdeabcde"), 10 + in_bytes(5 * 9 + 17));
    /* Three literals, a match of three bytes, and one of six. */
    CHECK_EQ(bytes("culzss", "aaaaaaaaaaaa"), 10 + in_bytes(3 * 9 + 2 * 17));
    CHECK_EQ(bytes("culzss", "abcdabcdabcd"), 10 + in_bytes(4 * 9 + 2 * 17));
    CHECK_EQ(bytes("culzss,length=3", "abcdefabcdef"), 10 + in_bytes(6 * 9 + 2 * 17));
}

/* A run of literals takes 9 bits besides them, and a match takes 25 bits, or in the other form 17.
 * The file has 4 bytes, and each chunk 8. */
static void test_glzss(void)
{
    static const char *const both[] = {"glzss-basic", "glzss-tagging"};

    for (int i = 0; i < 2; i++) {
        char matcher[64];
        char text[8192];

        CHECK_EQ(bytes(both[i], "abcdefg"), 12 + in_bytes(9 + 7 * 8));
        /* At first, all entries of the hash table are the chunk's first position. */
        CHECK_EQ(bytes(both[i], "abcdabcdabcd"), 12 + in_bytes(9 + 4 * 8 + 25));
        CHECK_EQ(bytes_in(both[i], "17", "abcdabcdabcd", 12), 12 + in_bytes(9 + 4 * 8 + 17));
        memset(text, 'a', sizeof(text));
        snprintf(matcher, sizeof(matcher), "%s,chunk=4096", both[i]);
        /* Each of the two chunks has a literal and a match of 4095 bytes, which counts as 16
         * matches of up to 259 bytes, or as 32 of up to 131. */
        CHECK_EQ(bytes_in(matcher, "25", text, sizeof(text)),
                 4 + 2 * (8 + in_bytes(9 + 8 + 16 * 25)));
        CHECK_EQ(bytes_in(matcher, "17", text, sizeof(text)),
                 4 + 2 * (8 + in_bytes(9 + 8 + 32 * 25)));
    }
}

/* A literal takes 9 bits, and a match of up to 18 bytes takes 17 bits.  The file has 4 bytes, and
 * each chunk 8. */
static void test_lzss(void)
{
    char text[40];

    memset(text, 'a', sizeof(text));
    CHECK_EQ(bytes("lzss", "abcdefg"), 12 + in_bytes(7 * 9));
    CHECK_EQ(bytes("lzss", "abcdabcd"), 12 + in_bytes(4 * 9 + 17));
    CHECK_EQ(bytes_in("lzss", NULL, text, 40), 12 + in_bytes(9 + 3 * 17));
    /* The last two bytes are too short for a match. */
    CHECK_EQ(bytes_in("lzss", NULL, text, 39), 12 + in_bytes(9 + 2 * 17 + 2 * 9));
}

/* An entry has one byte for two numbers: up to 14 literals, and a match of up to 18 bytes.  Larger
 * numbers take more bytes.  The distance takes two bytes, also after the first 13 literals and
 * after the last literals, which have no match.  The file has 4 bytes, and each chunk 8. */
static void test_lz4(void)
{
    char text[600];

    CHECK_EQ(bytes("lz4", "abcdefg"), 12 + 1 + 7 + 2);
    CHECK_EQ(bytes("lz4", "abcdefghijklmno"), 12 + (1 + 13 + 2) + (1 + 2 + 2));
    CHECK_EQ(bytes("lz4", "abcdefabcdef"), 12 + 1 + 12 + 2);
    /* The match of 12 bytes starts among the first literals.  Five bytes of it are left. */
    CHECK_EQ(bytes("lz4", "abcdefabcdefabcdef"), 12 + (1 + 13 + 2) + (1 + 2));
    CHECK_EQ(bytes("lz4", "abcdefghijklmnopqrstuvwxyz0123456789abcdefghij"),
             12 + (1 + 13 + 2) + (1 + 1 + 23 + 2));
    memset(text, 'a', sizeof(text));
    /* 587 bytes are left for the match, whose length is coded as 4 + 15 + 255 + 255 + 58. */
    CHECK_EQ(bytes_in("lz4", NULL, text, sizeof(text)), 12 + (1 + 13 + 2) + (1 + 2 + 3));
}

/* Before the range coder, a literal takes one byte.  A match takes eight bytes, and eight further
 * bytes if a literal is before it.  A block has 8 bytes. */
static void test_position_lists(void)
{
    CHECK_EQ(bytes("position-lists", "abcdefg"), 8 + 7);
    CHECK_EQ(bytes("position-lists", "abcdefghabcdefgh"), 8 + 8 + 8 + 8);
    CHECK_EQ(bytes("position-lists", "abcdefghijklmnopijklmnopabcdefgh"), 8 + 16 + 8 + 2 * 8);
}

/* A literal takes a flag bit and a symbol, and a match takes 17 bits.  A chunk's flag bits are
 * padded to whole bytes.  The file has 24 bytes, and each chunk 8, and one more if each has symbols
 * of a size of its own. */
static void test_gpulz(void)
{
    char text[8192];

    CHECK_EQ(bytes("gpulz,symbol=1", "abcdefgh"), 32 + 8 + 1);
    CHECK_EQ(bytes("gpulz,symbol=auto", "abcdefgh"), 33 + 8 + 1);
    CHECK_EQ(bytes("gpulz,symbol=1", "abcdabcd"), 32 + 4 + 2 + 1);
    CHECK_EQ(bytes("gpulz,symbol=2", "abcdabcd"), 32 + 4 + 2 + 1);
    CHECK_EQ(bytes("gpulz,symbol=4", "abcdabcd"), 32 + 4 + 2 + 1);
    CHECK_EQ(bytes("gpulz,symbol=4", "abcdabcdabcdx"), 32 + 4 + 2 * 2 + 1 + 1);
    /* Each chunk of 2048 bytes has one literal symbol, and matches for the other 511 symbols: of 1,
     * 2, 4, 8 and 16 symbols, and of 32 symbols or less. */
    memset(text, 'a', sizeof(text));
    CHECK_EQ(bytes_in("gpulz,symbol=4,window=32", NULL, text, 2048),
             32 + 4 + 2 * (5 + 15) + in_bytes(1 + 5 + 15));
}

/* A literal takes 9 bits, and a match takes 25 bits.  No match is longer than its distance.  The
 * file has 4 bytes, and each chunk 2. */
static void test_dklzss(void)
{
    CHECK_EQ(bytes("dklzss", "abcdefg"), 6 + in_bytes(7 * 9));
    CHECK_EQ(bytes("dklzss", "abcdabcd"), 6 + in_bytes(4 * 9 + 25));
    CHECK_EQ(bytes("dklzss", "aaaaaaaa"), 6 + in_bytes(5 * 9 + 25));
    CHECK_EQ(bytes("dklzss,chunk=512", "abcdabcd"), 6 + in_bytes(4 * 9 + 19));
}

/* Every method has a coding and a format. */
static void test_all(void)
{
    for (size_t i = 0; paper_methods[i] != NULL; i++) {
        CHECK(coding_of(paper_methods[i]->finder->name, NULL) != NULL);
        CHECK(paper_format_of(paper_methods[i]->finder->name, NULL) != NULL);
    }
    for (size_t i = 0; paper_formats[i] != NULL; i++)
        CHECK(coding_of(paper_formats[i]->method, paper_formats[i]->form) != NULL);
    CHECK(coding_of("chains", NULL) == NULL);
    CHECK(paper_format_of("chains", NULL) == NULL);
    CHECK(coding_of("culzss", "17") == NULL);
    CHECK(paper_format_of("culzss", "17") == NULL);
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
