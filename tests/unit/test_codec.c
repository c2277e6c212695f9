/*
 * test_codec.c - the papers' formats (papers/codec/): what is coded is decoded again, the sizes are
 * those that bench/codings.c computes, keys that do not fit are refused, and damaged files too
 *
 * tests/fuzz/mutate_codec damages files at random; test_codings has sizes that were computed by
 * hand.
 */
#include "config.h"

#include <string.h>

#include "bench/codings.h"
#include "papers/codec/codec.h"
#include "papers/codec/culzss.h"
#include "papers/codec/dklzss.h"
#include "papers/codec/glzss.h"
#include "papers/codec/gpulz.h"
#include "papers/codec/lz4.h"
#include "papers/codec/lzss.h"
#include "papers/codec/position_lists.h"
#include "papers/gpulz.h"
#include "tests/unit/methods.h"

#define KIB ((size_t)1 << 10)

/* Returns a method by its name. */
static const struct paper_method *method_called(const char *name)
{
    size_t i = 0;

    while (strcmp(paper_methods[i]->name, name) != 0)
        i++;
    return paper_methods[i];
}

/* Returns a copy of data[0..len) that ends where its memory ends. */
static uint8_t *exact(const void *data, size_t len)
{
    uint8_t *copy = unit_need(malloc(len > 0 ? len : 1));

    if (len > 0)
        memcpy(copy, data, len);
    return copy;
}

/* --- Cutting ---------------------------------------------------------------------------------- */

/* Checks the pieces of matches, given as start and length, ended by a length of 0. */
static void check_pieces(const struct codec_shape *shape, const uint16_t *tags, uint32_t len,
                         const uint32_t (*pieces)[2])
{
    struct codec_cutter cutter = {tags, len, 0, 0};
    uint32_t start;

    for (;; pieces++) {
        const uint32_t length = codec_next(&cutter, shape, &start);

        CHECK_EQ(start, (*pieces)[0]);
        if (!CHECK_EQ(length, (*pieces)[1]) || length == 0)
            return;
    }
}

static void test_cut(void)
{
    static const uint16_t tags[20] = {0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 0, 5, 5, 5, 5, 2, 2, 2, 5, 5};
    static const struct codec_shape shapes[] = {
        {.least = 3, .most = 18}, {.least = 3, .most = 18, .is_apart = true},
        {.least = 3, .most = 5},  {.least = 1, .most = 2},
        {.least = 3, .most = 6},
    };
    static const uint32_t whole[][2] = {{3, 7}, {11, 4}, {15, 3}, {20, 0}};
    static const uint32_t apart[][2] = {{3, 3}, {6, 3}, {11, 4}, {20, 0}};
    static const uint32_t by_five[][2] = {{3, 5}, {11, 4}, {15, 3}, {20, 0}};
    static const uint32_t by_two[][2] = {{3, 2},  {5, 2},  {7, 2},  {9, 1},  {11, 2},
                                         {13, 2}, {15, 2}, {17, 1}, {18, 2}, {20, 0}};
    static const uint32_t none[][2] = {{2, 0}};

    check_pieces(&shapes[0], tags, 20, whole);
    check_pieces(&shapes[1], tags, 20, apart);
    check_pieces(&shapes[2], tags, 20, by_five);
    check_pieces(&shapes[3], tags, 20, by_two);
    check_pieces(&shapes[4], tags, 2, none);
}

/* --- Keys ------------------------------------------------------------------------------------- */

/* Whether the keys of a matcher fit its format; if not, checks the message. */
static void check_fits(const char *matcher, const char *message)
{
    struct lz_level level = *lz_level(6);
    char error[PAPER_ERROR_SIZE] = "";
    const struct paper_format *format;

    if (!CHECK(paper_parse(matcher, &level, error)))
        return;
    format = paper_format_of(level.finder->name, NULL);
    CHECK_EQ(paper_fits(format, &level, error), message == NULL);
    if (!CHECK(message == NULL || strcmp(error, message) == 0))
        printf("# %s: %s\n", matcher, error);
}

static void test_fits(void)
{
    check_fits("culzss,window=256,length=255", NULL);
    check_fits("culzss,window=257", "culzss's format has no room for window=257; give at most 256");
    check_fits("culzss,length=256", "culzss's format has no room for length=256; give at most 255");
    check_fits("lzss", NULL);
    check_fits("lzss,window=4097", "lzss's format has no room for window=4097; give at most 4096");
    check_fits("lzss,length=19", "lzss's format has no room for length=19; give at most 18");
    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        struct lz_level level;

        make_variant(paper_methods[p], 0, &level);
        check_fits(paper_methods[p]->name, NULL);
    }
}

/* --- Round trips ------------------------------------------------------------------------------ */

/* Returns the bytes that the codings compute for a file with this input. */
static uint64_t computed_size(const struct paper_format *format, const struct lz_level *level,
                              const uint8_t *in, size_t len)
{
    const struct coding *const coding = coding_of(format->method, format->form);
    const size_t segment = paper_segment(format, level);
    struct lz_matcher *m = unit_need(lz_matcher_new(level, segment));
    uint64_t bits = coding->file_bits;

    for (size_t at = 0; at < len; at += segment) {
        const size_t some = len - at < segment ? len - at : segment;

        bits += coding_bits(coding, level, in + at, some, lz_match_segment(m, in + at, some));
    }
    lz_matcher_free(m);
    CHECK_EQ(bits % 8, 0);
    return bits / 8;
}

/* Returns the bytes of all packed blocks. */
static uint64_t packed_size(const struct paper_format *format, const struct lz_level *level,
                            const uint8_t *in, size_t len, const uint16_t *tags)
{
    const struct codec_shape shape = format->shape(level);
    uint8_t *packed = unit_need(malloc(position_lists_packed_bound(shape.chunk)));
    uint64_t size = 0;

    for (size_t at = 0; at < len; at += shape.chunk) {
        const uint32_t some = (uint32_t)(len - at < shape.chunk ? len - at : shape.chunk);

        size += position_lists_pack(&shape, in + at, tags + at, some, packed);
    }
    free(packed);
    return size;
}

/* Codes and decodes in[0..len), and compares the size with the computed one. */
static void round_trip(const struct paper_format *format, const struct lz_level *level,
                       const uint8_t *in, size_t len)
{
    uint8_t *const copy = padded(in, len, true);
    uint16_t *const tags = unit_need(malloc((len + 1) * sizeof(*tags)));
    size_t size = 0, decoded = 0;
    uint8_t *coded, *out, *file;

    CHECK(paper_match(format, level, copy, len, tags));
    coded = unit_need(paper_encode(format, level, copy, len, tags, &size));
    file = exact(coded, size);
    out = paper_decode(format, level, file, size, &decoded);
    if (!CHECK(out != NULL && decoded == len && memcmp(out, in, len) == 0) ||
        !CHECK_EQ(format->family == CODEC_POSITION_LISTS
                      ? packed_size(format, level, copy, len, tags)
                      : size,
                  computed_size(format, level, copy, len))) {
        print_variant(method_called(format->method), level);
        printf("# form %s, %zu bytes\n", format->form != NULL ? format->form : "-", len);
    }
    free(out);
    free(file);
    free(coded);
    free(tags);
    free(copy);
}

static const struct input_kind kinds[] = {
    {"zeros", ZEROS, 0},         {"period 2", PERIOD, 2}, {"period 37", PERIOD, 37},
    {"period 200", PERIOD, 200}, {"random", RANDOM, 0},   {"4 letters", FEW_VALUES, 4},
    {"tokens", TOKENS, 200},     {"words", WORDS, 0},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Every format, every variant whose keys fit, and every kind of data. */
static void test_round_trips(void)
{
    const size_t len = 70 * KIB + 5;
    uint8_t *in = unit_need(malloc(len));
    char error[PAPER_ERROR_SIZE];
    struct lz_level level;

    for (size_t f = 0; paper_formats[f] != NULL; f++) {
        const struct paper_method *const method = method_called(paper_formats[f]->method);

        for (unsigned n = 0; make_variant(method, n, &level); n++) {
            if (!paper_fits(paper_formats[f], &level, error))
                continue;
            for (size_t k = 0; k < KINDS; k++)
                if (n == 0 || !UNIT_SANITIZED || k % 3 == n % 3) {
                    fill_kind(in, len, &kinds[k], LONGEST_TOKEN, n);
                    round_trip(paper_formats[f], &level, in, len - n % 2 * 37 * KIB);
                }
            fill_edges(in, len, method, &level, n);
            round_trip(paper_formats[f], &level, in, len);
        }
    }
    free(in);
}

/* Every format with inputs that end at a chunk's end, or near it, or have few bytes. */
static void test_lengths(void)
{
    static const size_t few[] = {0, 1, 2, 3, 4, 12, 13, 14, 17, 18};
    struct lz_level level;

    for (size_t f = 0; paper_formats[f] != NULL; f++) {
        size_t chunk;
        uint8_t *in;

        make_variant(method_called(paper_formats[f]->method), 0, &level);
        chunk = paper_formats[f]->shape(&level).chunk;
        in = unit_need(malloc(2 * chunk + 1));
        for (size_t k = 0; k < KINDS; k += KINDS - 1) {
            fill_kind(in, 2 * chunk + 1, &kinds[k], LONGEST_TOKEN, f);
            for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++)
                round_trip(paper_formats[f], &level, in, few[i]);
            for (size_t len = chunk - 1; len <= chunk + 1 && k > 0; len++)
                round_trip(paper_formats[f], &level, in, len);
            round_trip(paper_formats[f], &level, in, 2 * chunk + 1);
        }
        free(in);
    }
}

/* No input may have 2^32 bytes or more. */
static void test_too_long(void)
{
    struct codec_file file;
    struct lz_level level;

    if (sizeof(size_t) < 8)
        return;
    make_variant(method_called("lzss"), 0, &level);
    CHECK(!paper_begin(&file, paper_format_of("lzss", NULL), &level, (size_t)UINT32_MAX + 1));
    paper_close(&file);
    CHECK(paper_begin(&file, paper_format_of("lzss", NULL), &level, UINT32_MAX));
    CHECK_EQ(file.count, 4096);
    CHECK_EQ(paper_plain(&file, 4095), (1 << 20) - 1);
    paper_close(&file);
}

/* --- Damaged chunks --------------------------------------------------------------------------- */

/* A coded form, and the number of plain bytes that a file asks for. */
struct coded_chunk {
    const char *bytes;
    uint32_t size, plain;
    const char *text; /* the plain bytes; NULL if the coded form is damaged */
};

#define CODED(bytes) bytes, sizeof(bytes) - 1

typedef bool decode_chunk(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                          uint8_t *out, uint32_t plain);

static void check_chunks(decode_chunk *decode, const struct codec_shape *shape,
                         const struct coded_chunk *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct coded_chunk *const c = &chunks[i];
        uint8_t *const coded = exact(c->bytes, c->size);
        uint8_t *const out = unit_need(malloc(c->plain));
        const bool is_good = decode(shape, coded, c->size, out, c->plain);

        if (!CHECK_EQ(is_good, c->text != NULL) ||
            !CHECK(!is_good || memcmp(out, c->text, c->plain) == 0))
            printf("# chunk %zu\n", i);
        free(out);
        free(coded);
    }
}

#define CHECK_CHUNKS(decode, shape, chunks) \
    check_chunks(decode, shape, chunks, sizeof(chunks) / sizeof(chunks[0]))

static void test_damaged_culzss(void)
{
    static const struct codec_shape shape = {.chunk = 4096};
    static const struct coded_chunk chunks[] = {
        /* Three literals, and a match of three bytes, three back. */
        {CODED("\7abc\3\2"), 9, NULL},
        {CODED("\7abc\3\2\3\2"), 9, "abcabcabc"},
        {CODED("\7abc\3\2\3\5"), 9, "abcabcabc"},
        {CODED("abcabcabc"), 9, "abcabcabc"}, /* stored */
        {CODED("\7abc"), 3, NULL},            /* longer than stored */
        {CODED(""), 9, NULL},                 /* no flags */
        {CODED("\xff"
               "abcdefgh"),
         10, NULL},                             /* no second flags */
        {CODED("\7abc"), 9, NULL},              /* no match */
        {CODED("\7abc\3"), 9, NULL},            /* half of a match */
        {CODED("\7abc\3\2\2\5\6\5"), 14, NULL}, /* length 2 */
        {CODED("\7abc\4\2\3\2"), 10, NULL},     /* longer than its distance */
        {CODED("\7abc\3\3\3\2"), 9, NULL},      /* before the chunk */
        {CODED("\7abc\3\2\6\5"), 11, NULL},     /* past the chunk's end */
        {CODED("\7abc\3\2\3\2"), 18, NULL},     /* too short */
        {CODED("\7abc\3\2\6\5x"), 12, NULL},    /* a byte is left */
        {CODED("\47abc\3\2\6\5"), 12, NULL},    /* a flag is left */
        {CODED("\7abc\3\2\6\5"), 12, "abcabcabcabc"},
    };

    CHECK_CHUNKS(culzss_decode, &shape, chunks);
}

static void test_damaged_glzss(void)
{
    static const struct codec_shape shape = {.chunk = 65536, .variant = GLZSS_25};
    static const struct coded_chunk chunks[] = {
        /* A run of two literals, and a match of five bytes, two back. */
        {CODED("\2\1ab\2\0\1"), 7, "abababa"},
        {CODED(""), 7, NULL},
        {CODED("\2"), 7, NULL},
        {CODED("\2\1a"), 7, NULL},          /* half of a run */
        {CODED("\2\1ab"), 7, NULL},         /* no match */
        {CODED("\2\1ab\2\0"), 7, NULL},     /* a part of a match */
        {CODED("\2\1ab\0\0\1"), 7, NULL},   /* distance 0 */
        {CODED("\2\1ab\3\0\1"), 7, NULL},   /* before the chunk */
        {CODED("\2\1ab\2\1\1"), 7, NULL},   /* far before the chunk */
        {CODED("\2\1ab\2\0\2"), 7, NULL},   /* past the chunk's end */
        {CODED("\0\7abababab"), 7, NULL},   /* a run past the chunk's end */
        {CODED("\2\1ab\2\0\1\0"), 7, NULL}, /* a byte is left */
        {CODED("\6\1ab\2\0\1"), 7, NULL},   /* a flag is left */
        {CODED("\2\1ab\2\0\1"), 8, NULL},   /* too short */
    };

    CHECK_CHUNKS(glzss_decode, &shape, chunks);
}

/* Bits, the highest first: the bytes of a text of 0 and 1, other characters left out. */
static uint32_t bits_to_bytes(const char *text, uint8_t *out)
{
    uint32_t count = 0;

    for (; *text != '\0'; text++) {
        if (*text != '0' && *text != '1')
            continue;
        if (count % 8 == 0)
            out[count / 8] = 0;
        out[count / 8] |= (uint8_t)((*text - '0') << (7 - count % 8));
        count++;
    }
    return (count + 7) / 8;
}

/* The same as struct coded_chunk, in bits. */
struct coded_bits {
    const char *bits;
    uint32_t plain;
    const char *text;
};

static void check_bits(decode_chunk *decode, const struct codec_shape *shape,
                       const struct coded_bits *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[64];
        const uint32_t size = bits_to_bytes(chunks[i].bits, bytes);
        const struct coded_chunk chunk = {(const char *)bytes, size, chunks[i].plain,
                                          chunks[i].text};

        check_chunks(decode, shape, &chunk, 1);
    }
}

#define CHECK_BITS(decode, shape, chunks) \
    check_bits(decode, shape, chunks, sizeof(chunks) / sizeof(chunks[0]))

/* The letters a and b. */
#define A "01100001 "
#define B "01100010 "

static void test_damaged_glzss_17(void)
{
    static const struct codec_shape shape = {.chunk = 65536, .variant = GLZSS_17};
    static const struct coded_bits chunks[] = {
        /* A run of two literals, and a near match of five bytes, two back. */
        {"0 00000001 " A B "1 0 00000000001 0001", 7, "abababa"},
        /* The same by a far match. */
        {"0 00000001 " A B "1 1 0000000000000010 0000001", 7, "abababa"},
        {"", 7, NULL},
        {"0 00000001 " A, 7, NULL},
        {"0 00000001 " A B, 7, NULL},
        {"0 00000001 " A B "1 0 00000000001", 7, NULL},
        {"0 00000001 " A B "1 0 00000000010 0001", 7, NULL},          /* before the chunk */
        {"0 00000001 " A B "1 1 0000000000000000 0000001", 7, NULL},  /* distance 0 */
        {"0 00000001 " A B "1 1 1000000000000010 0000001", 7, NULL},  /* far before it */
        {"0 00000001 " A B "1 0 00000000001 0010", 7, NULL},          /* past the end */
        {"0 00000111 " A B A B A B A B, 7, NULL},                     /* a run past the end */
        {"0 00000001 " A B "1 0 00000000001 0001 1", 7, NULL},        /* padding of 1 */
        {"0 00000001 " A B "1 0 00000000001 0001 00000000", 7, NULL}, /* a byte is left */
    };

    CHECK_BITS(glzss_decode, &shape, chunks);
}

static void test_damaged_lzss(void)
{
    static const struct codec_shape shape = {.chunk = LZSS_CODE_CHUNK};
    static const struct coded_bits chunks[] = {
        /* Two literals, and a match of five bytes, two back. */
        {"0" A "0" B "1 000000000001 0010", 7, "abababa"},
        {"", 7, NULL},
        {"0" A "0 0110001", 7, NULL},                                /* half of a literal */
        {"0" A "0" B, 7, NULL},                                      /* no match */
        {"0" A "0" B "1 000000", 7, NULL},                           /* half of a match */
        {"0" A "0" B "1 000000000010 0010", 7, NULL},                /* before the chunk */
        {"1 000000000000 0010", 5, NULL},                            /* at the chunk's start */
        {"0" A "0" B "1 000000000001 0011", 7, NULL},                /* past the end */
        {"0" A "0" B "1 000000000001 0010 1", 7, NULL},              /* padding of 1 */
        {"0" A "0" B "1 000000000001 0010 00000 00000000", 7, NULL}, /* a byte is left */
        {"0" A "0" B "1 000000000001 0010", 8, NULL},                /* too short */
    };

    CHECK_BITS(lzss_decode, &shape, chunks);
}

static void test_damaged_dklzss(void)
{
    static const struct codec_shape shape = {.chunk = 512, .variant = 9};
    static const struct coded_bits chunks[] = {
        /* Four literals, and a match of three bytes at position 1. */
        {"0" A "0" B "0" A "0" A "1 000000001 000000011", 7, "abaabaa"},
        {"0" A "0" B "0" A "0" A "1 000000001", 7, NULL},             /* half of a match */
        {"0" A "0" B "0" A "0" A "1 000000001 000000010", 6, NULL},   /* length 2 */
        {"0" A "0" B "0" A "0" A "1 000000010 000000011", 7, NULL},   /* into itself */
        {"0" A "0" B "0" A "0" A "1 000000101 000000011", 7, NULL},   /* after itself */
        {"0" A "0" B "0" A "0" A "1 000000000 000000100", 7, NULL},   /* past the end */
        {"0" A "0" B "0" A "0" A "1 000000001 000000011 1", 7, NULL}, /* padding of 1 */
        {"0" A "0" B "0" A "0" A "1 000000001 000000011 00000000", 7, NULL},
        {"1 000000000 000000011", 3, NULL}, /* at the chunk's start */
    };

    CHECK_BITS(dklzss_decode, &shape, chunks);
}

static void test_damaged_lz4(void)
{
    static const struct codec_shape shape = {.chunk = LZ4_CODE_CHUNK};
    static const struct coded_chunk chunks[] = {
        /* Two literals; a match of five bytes, two back; one literal. */
        {CODED("\x20"
               "ab\0\0"
               "\1\2\0"
               "\x10"
               "c\0\0"),
         8, "abababac"},
        {CODED("\x20"
               "ab\0\0"
               "\x11"
               "c\2\0"),
         8, "abcbcbcb"},
        {CODED("\x20"
               "ab\0\0"
               "\xf"
               "\2\0\5"),
         26, "abababababababababababababa"},
        {CODED(""), 8, NULL},
        {CODED("\x20"
               "a"),
         8, NULL}, /* a literal is missing */
        {CODED("\x20"
               "ab\0"),
         8, NULL}, /* half of a distance */
        {CODED("\x20"
               "ab\0\0"),
         8, NULL}, /* no match */
        {CODED("\x20"
               "ab\0\0"
               "\0\0\0"
               "\1\2\0"),
         7, NULL}, /* an entry of nothing */
        {CODED("\x21"
               "ab\0\0"
               "\1\2\0"),
         7, NULL}, /* a length without a match */
        {CODED("\x20"
               "ab\0\0"
               "\1\3\0"),
         7, NULL}, /* before the chunk */
        {CODED("\x20"
               "ab\0\0"
               "\1\2\1"),
         7, NULL}, /* far before the chunk */
        {CODED("\x20"
               "ab\0\0"
               "\2\2\0"),
         7, NULL}, /* past the end */
        {CODED("\x20"
               "ab\0\0"
               "\0\2\0"),
         5, NULL}, /* four bytes are too many */
        {CODED("\x30"
               "abc\0\0"),
         2, NULL}, /* literals past the end */
        {CODED("\xf0"
               "\xff\xff\xff\xff\xff\xff"),
         20, NULL}, /* literals without end */
        {CODED("\x20"
               "ab\0\0"
               "\xf\2\0\xff\xff\xff\xff\xff"),
         20, NULL},
        {CODED("\x20"
               "ab\0\0"
               "\xf\2\0"),
         26, NULL}, /* the length's bytes are missing */
        {CODED("\xf0"), 26, NULL},
        {CODED("\x20"
               "ab\0\0"
               "\1\2\0\0"),
         7, NULL}, /* a byte is left */
    };

    CHECK_CHUNKS(lz4_decode, &shape, chunks);
}

/* gpuLZ's flags and data, in a coded form whose first byte is the number of the flags' bytes; the
 * variant is the width. */
static bool decode_gpulz(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                         uint8_t *out, uint32_t plain)
{
    const struct gpulz_sizes sizes = {coded[0], size - 1 - coded[0]};
    uint8_t *const flags = exact(coded + 1, sizes.flags);
    uint8_t *const data = exact(coded + 1 + sizes.flags, sizes.data);
    const bool is_good = gpulz_decode(flags, data, sizes, s->variant, out, plain);

    free(flags);
    free(data);
    return is_good;
}

static void test_damaged_gpulz(void)
{
    static const struct codec_shape one = {.chunk = 2048, .variant = 1};
    static const struct codec_shape two = {.chunk = 2048, .variant = 2};
    static const struct coded_chunk by_one[] = {
        {CODED("\1\4"
               "ab\2\2"),
         4, "abab"},
        {CODED("\1\4"
               "ab\1\2"),
         3, "aba"},
        {CODED("\0"), 4, NULL}, /* no flags */
        {CODED("\1\4"
               "ab\2"),
         4, NULL}, /* half of a match */
        {CODED("\1\4"
               "a"),
         4, NULL}, /* half of the literals */
        {CODED("\1\4"
               "ab\0\2"),
         4, NULL}, /* length 0 */
        {CODED("\1\4"
               "ab\0\0"),
         4, NULL}, /* length and distance 0 */
        {CODED("\1\4"
               "ab\2\1"),
         4, NULL}, /* longer than its distance */
        {CODED("\1\4"
               "ab\2\3"),
         4, NULL}, /* before the chunk */
        {CODED("\1\4"
               "ab\2\2"),
         3, NULL}, /* past the end */
        {CODED("\1\4"
               "ab\2\2c"),
         4, NULL}, /* data are left */
        {CODED("\1\14"
               "ab\2\2"),
         4, NULL}, /* a flag is left */
        {CODED("\1\14"
               "ab\0\2\2\2"),
         4, NULL}, /* a match of nothing */
        {CODED("\2\4\0"
               "ab\2\2"),
         4, NULL}, /* flags are left */
        {CODED("\1\4"
               "ab\2\2"),
         12, NULL}, /* too short */
        {CODED("\1\0"
               "abcdefghi"),
         9, NULL}, /* a flag is missing */
    };
    static const struct coded_chunk by_two[] = {
        {CODED("\1\4"
               "abcd\2\2"
               "e"),
         9, "abcdabcde"},
        {CODED("\1\4"
               "abcd\2\2"),
         9, NULL},
        {CODED("\1\14"
               "abcd\2\2\1\1"),
         9, NULL}, /* a match of the last byte */
        {CODED("\1\4"
               "abcd\2\3"
               "e"),
         9, NULL},
    };

    CHECK_CHUNKS(decode_gpulz, &one, by_one);
    CHECK_CHUNKS(decode_gpulz, &two, by_two);
}

/* --- Position lists --------------------------------------------------------------------------- */

/* Unpacks a packed block of `size` bytes, whose rows and text end where their memory ends.  Returns
 * false if its sizes are wrong, too. */
static bool unpack_exactly(const uint8_t *packed, uint32_t size, uint8_t *out, uint32_t plain)
{
    const uint32_t text_size = codec_get32(packed), rows = codec_get32(packed + 4);
    const uint64_t rows_size = (uint64_t)POSITION_LISTS_ROW * rows;
    uint8_t *row_copy, *text;
    bool is_good;

    if (POSITION_LISTS_HEAD + rows_size + text_size != size)
        return false;
    row_copy = exact(packed + POSITION_LISTS_HEAD, rows_size);
    text = exact(packed + POSITION_LISTS_HEAD + rows_size, text_size);
    is_good = position_lists_unpack(
        (struct position_lists_reader){row_copy, text, rows, text_size, 0, 0}, out, plain);
    free(text);
    free(row_copy);
    return is_good;
}

/* Decodes a packed block after coding it by the range coder. */
static bool decode_packed(const struct codec_shape *s, const uint8_t *coded, uint32_t size,
                          uint8_t *out, uint32_t plain)
{
    uint8_t *const scratch = unit_need(malloc(position_lists_packed_bound(plain)));
    uint8_t *const ranged = unit_need(malloc(range_bound(size)));
    const bool is_good = unpack_exactly(coded, size, out, plain);
    uint64_t counts[256] = {0};
    struct range_model model;
    uint32_t ranged_size;
    uint8_t *exactly;

    (void)s;
    for (uint32_t i = 0; i < size; i++)
        counts[coded[i]]++;
    paper_set_model(&model, counts);
    ranged_size = range_encode(&model, coded, size, ranged);
    exactly = exact(ranged, ranged_size);
    CHECK_EQ(position_lists_decode(&model, exactly, ranged_size, scratch, out, plain), is_good);
    free(exactly);
    free(ranged);
    free(scratch);
    return is_good;
}

#define N32(n) n "\0\0\0"

static void test_damaged_lists(void)
{
    static const struct codec_shape shape = {.chunk = 4096};
    static const struct coded_chunk chunks[] = {
        /* Text "ab", a pair of five bytes at 0, and "c". */
        {CODED(N32("\13") N32("\1") N32("\2") N32("\1") "ab" N32("\0") N32("\5") "c"), 8,
         "abababac"},
        {CODED(N32("\2") N32("\0") "ab"), 2, "ab"},
        {CODED(N32("\2") N32("\0") "ab"), 3, NULL},    /* too short */
        {CODED(N32("\2") N32("\0") "ab"), 1, NULL},    /* too long */
        {CODED(N32("\3") N32("\0") "ab"), 2, NULL},    /* text is missing */
        {CODED(N32("\1") N32("\0") "ab"), 1, NULL},    /* text is left */
        {CODED("\2\0\0\xff" N32("\0") "ab"), 2, NULL}, /* a text of 4 GB */
        {CODED(N32("\2") "\0\0\0\x20"
                         "ab"),
         2, NULL}, /* rows of 4 GB */
        /* The row's place is after the text, before it, and at the start. */
        {CODED(N32("\13") N32("\1") N32("\14") N32("\1") "ab" N32("\0") N32("\5") "c"), 8, NULL},
        {CODED(N32("\12") N32("\1") N32("\0") N32("\1") N32("\0") N32("\5") "ab"), 7, NULL},
        /* The row's place is after the text, but the file asks for more bytes. */
        {CODED(N32("\13") N32("\1") N32("\14") N32("\1") "ab" N32("\0") N32("\5") "c"), 20, NULL},
        {CODED(N32("\3") N32("\1") N32("\2") N32("\0") "abc"), 3, NULL},
        /* The row has no pairs, or more than there are. */
        {CODED(N32("\13") N32("\1") N32("\2") N32("\0") "ab" N32("\0") N32("\5") "c"), 8, NULL},
        {CODED(N32("\13") N32("\1") N32("\2") N32("\2") "ab" N32("\0") N32("\5") "c"), 8, NULL},
        /* A pair begins at itself, has no bytes, or goes past the end. */
        {CODED(N32("\13") N32("\1") N32("\2") N32("\1") "ab" N32("\2") N32("\5") "c"), 8, NULL},
        {CODED(N32("\13") N32("\1") N32("\2") N32("\1") "ab" N32("\0") N32("\0") "c"), 3, NULL},
        {CODED(N32("\13") N32("\1") N32("\2") N32("\1") "ab" N32("\0") N32("\7") "c"), 8, NULL},
        /* Two rows touch, and two are not in order. */
        {CODED(N32("\22") N32("\2") N32("\2") N32("\1") N32("\12") N32("\1") "ab" N32("\0")
                   N32("\2") N32("\0") N32("\2")),
         6, NULL},
        {CODED(N32("\23") N32("\2") N32("\2") N32("\1") N32("\1") N32("\1") "ab" N32("\0")
                   N32("\2") "c" N32("\0") N32("\2")),
         7, NULL},
    };

    CHECK_CHUNKS(decode_packed, &shape, chunks);
}

/* The text, or the rows, of a packed block are longer than any block of 100 bytes needs. */
static void test_long_lists(void)
{
    static const struct codec_shape shape = {.chunk = 4096};
    static const uint32_t sizes[][2] = {{65536, 0}, {0, 8192}};
    const uint32_t size = POSITION_LISTS_HEAD + 65536;
    uint8_t *packed = unit_need(calloc(1, size));

    for (int i = 0; i < 2; i++) {
        uint8_t out[100];

        codec_put32(packed, sizes[i][0]);
        codec_put32(packed + 4, sizes[i][1]);
        CHECK(!decode_packed(&shape, packed, size, out, sizeof(out)));
    }
    free(packed);
}

/* The range coder: bytes of one value, of two values of which one is rare, and of all values. */
static void test_range(void)
{
    static const unsigned rare[] = {0, 1, 2, 256, 20000};
    const uint32_t size = 40000;
    uint8_t *in = unit_need(malloc(size)), *out = unit_need(malloc(size));
    uint8_t *coded = unit_need(malloc(range_bound(size)));
    uint64_t state = 5;

    for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
        uint64_t counts[256] = {0};
        struct range_model model;
        struct range_decoder d;
        uint32_t coded_size;

        for (uint32_t k = 0; k < size; k++)
            counts[in[k] = rare[i] == 0                      ? 255
                           : unit_below(&state, rare[i]) > 0 ? 0
                                                             : (uint8_t)unit_rand(&state)]++;
        paper_set_model(&model, counts);
        CHECK_EQ(model.sums[256], RANGE_TOTAL);
        coded_size = range_encode(&model, in, size, coded);
        CHECK(coded_size <= range_bound(size));
        CHECK(rare[i] > 0 || coded_size == 4);
        d = range_begin(coded, coded_size);
        CHECK(range_decode(&d, &model, out, size) && range_is_at_end(&d));
        CHECK(memcmp(in, out, size) == 0);
        /* A byte too few, and one too many. */
        d = range_begin(coded, coded_size - 1);
        CHECK(!range_decode(&d, &model, out, size) || !range_is_at_end(&d));
        coded[coded_size] = 0;
        d = range_begin(coded, coded_size + 1);
        CHECK(range_decode(&d, &model, out, size) && !range_is_at_end(&d));
        /* A number that no encoder makes. */
        memset(coded, 255, 4);
        d = range_begin(coded, coded_size);
        CHECK(!range_decode(&d, &model, out, size));
    }
    free(coded);
    free(out);
    free(in);
}

static void test_model(void)
{
    uint16_t frequencies[256] = {RANGE_TOTAL - 1};
    uint64_t counts[256];
    struct range_model model;

    CHECK(!range_model_set(&model, frequencies));
    frequencies[255] = 1;
    CHECK(range_model_set(&model, frequencies));
    frequencies[128] = 1;
    CHECK(!range_model_set(&model, frequencies));
    /* Rare bytes keep a frequency of 1. */
    for (unsigned b = 0; b < 256; b++)
        counts[b] = b == 7 ? 1000000000 : b % 2;
    paper_set_model(&model, counts);
    for (unsigned b = 0; b < 256; b++)
        CHECK_EQ(model.sums[b + 1] - model.sums[b], b == 7 ? RANGE_TOTAL - 127 : b % 2);
    memset(counts, 0, sizeof(counts));
    paper_set_model(&model, counts);
    CHECK_EQ(model.sums[256], 0);
}

/* --- Damaged files ---------------------------------------------------------------------------- */

/* Whether a format decodes the file bytes[0..size). */
static bool decodes(const struct paper_format *format, const struct lz_level *level,
                    const uint8_t *bytes, size_t size)
{
    uint8_t *const copy = exact(bytes, size);
    size_t len;
    uint8_t *const out = paper_decode(format, level, copy, size, &len);

    free(out);
    free(copy);
    return out != NULL;
}

/* Returns the size of everything before the first chunk's coded form. */
static size_t front_of(const struct paper_format *format, const struct lz_level *level,
                       const uint8_t *bytes, size_t size)
{
    struct codec_file file;
    size_t front = 0;

    if (CHECK(paper_open(&file, format, level, bytes, size)))
        front = (size_t)file.places[0].at;
    paper_close(&file);
    return front;
}

/* Checks that paper_open refuses a file, or gives only places that lie in it. */
static void check_places(const struct paper_format *format, const struct lz_level *level,
                         const uint8_t *bytes, size_t size)
{
    struct codec_file file;

    if (paper_open(&file, format, level, bytes, size))
        for (size_t i = 0; i < (size_t)file.count * format->parts; i++)
            CHECK(file.places[i].at <= size && file.places[i].size <= size - file.places[i].at);
    paper_close(&file);
}

/* Checks that no beginning of a file is decoded, nor the file with a byte more. */
static void check_lengths(const struct paper_format *format, const struct lz_level *level,
                          const uint8_t *bytes, size_t size)
{
    const size_t front = front_of(format, level, bytes, size);
    uint8_t *const more = unit_need(calloc(1, size + 1));

    memcpy(more, bytes, size);
    for (size_t cut = 0; cut < size; cut += cut < front + 20 ? 1 : 97)
        if (!CHECK(!decodes(format, level, bytes, cut)))
            printf("# %s, %zu of %zu bytes\n", format->method, cut, size);
    CHECK(decodes(format, level, more, size));
    CHECK(!decodes(format, level, more, size + 1));
    free(more);
}

/* Checks that a file is not decoded if a bit in bytes[begin..end) has changed. */
static void check_flips(const struct paper_format *format, const struct lz_level *level,
                        uint8_t *bytes, size_t size, size_t begin, size_t end)
{
    for (size_t i = 8 * begin; i < 8 * end; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        if (!CHECK(!decodes(format, level, bytes, size)))
            printf("# %s, byte %zu, bit %zu\n", format->method, i / 8, i % 8);
        check_places(format, level, bytes, size);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

/* Checks that a file is not decoded if a bit in its front or in a head has changed.  The
 * frequencies are left out, since other bytes may come out with them. */
static void check_fronts(const struct paper_format *format, const struct lz_level *level,
                         uint8_t *bytes, size_t size)
{
    const size_t front = front_of(format, level, bytes, size);
    const size_t model = format->layout.has_model ? 8 : front;
    struct codec_file file;

    check_flips(format, level, bytes, size, 0, model);
    if (format->layout.has_model)
        check_flips(format, level, bytes, size, model + 512, front);
    if (format->layout.has_heads && CHECK(paper_open(&file, format, level, bytes, size))) {
        for (uint32_t i = 1; i < file.count; i++) {
            const size_t at = (size_t)file.places[i].at;

            check_flips(format, level, bytes, size, at - 8, at);
        }
        paper_close(&file);
    }
}

/* Checks that no symbol of gpuLZ has 0 bytes, or more than 4.  The last byte of a file with widths
 * is the last chunk's width. */
static void check_widths(const struct lz_level *level, uint8_t *bytes, size_t size)
{
    const struct paper_format *const format = paper_format_of("gpulz", NULL);
    const uint8_t width = bytes[size - 1];
    struct codec_file file;

    for (unsigned wrong = 0; wrong < 256; wrong += wrong == 0 ? 5 : 1) {
        bytes[size - 1] = (uint8_t)wrong;
        CHECK(!paper_open(&file, format, level, bytes, size));
        paper_close(&file);
    }
    bytes[size - 1] = width;
}

static void check_damaged_files(const struct paper_format *format, const struct lz_level *level)
{
    const size_t len = 70 * KIB;
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD));
    uint16_t *tags = unit_need(malloc(len * sizeof(*tags)));
    uint8_t *bytes;
    size_t size;

    fill_kind(in, len, &kinds[KINDS - 1], LONGEST_TOKEN, 1);
    CHECK(paper_match(format, level, in, len, tags));
    bytes = unit_need(paper_encode(format, level, in, len, tags, &size));
    check_lengths(format, level, bytes, size);
    check_fronts(format, level, bytes, size);
    if (format->family == CODEC_GPULZ && level->param[GPULZ_SYMBOL] == GPULZ_AUTO)
        check_widths(level, bytes, size);
    free(bytes);
    free(tags);
    free(in);
}

static void test_damaged_files(void)
{
    /* Files with several chunks that have heads, and without widths. */
    static const char *const more[] = {"lz4,chunk=4k", "gpulz,symbol=2"};
    struct lz_level level;
    char error[PAPER_ERROR_SIZE];

    for (size_t f = 0; paper_formats[f] != NULL; f++) {
        make_variant(method_called(paper_formats[f]->method), 0, &level);
        check_damaged_files(paper_formats[f], &level);
    }
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        level = *lz_level(6);
        CHECK(paper_parse(more[i], &level, error));
        check_damaged_files(paper_format_of(level.finder->name, NULL), &level);
    }
}

int main(void)
{
    RUN(test_cut);
    RUN(test_fits);
    RUN(test_round_trips);
    RUN(test_lengths);
    RUN(test_too_long);
    RUN(test_damaged_culzss);
    RUN(test_damaged_glzss);
    RUN(test_damaged_glzss_17);
    RUN(test_damaged_lzss);
    RUN(test_damaged_dklzss);
    RUN(test_damaged_lz4);
    RUN(test_damaged_gpulz);
    RUN(test_damaged_lists);
    RUN(test_long_lists);
    RUN(test_range);
    RUN(test_model);
    RUN(test_damaged_files);
    return unit_done();
}
