/*
 * test_gpu_huffman.c - the GPU engine writes the bytes that the CPU's encoder writes, and sees its
 * own errors
 *
 * As test_kernels.c, this runs on an emulated device, and on a real one (REAL_DEVICE).
 */
#include "config.h"

#include <stdio.h>
#include <zlib.h>

#include "compat/crc.h"
#include "huffman/huffman.h"
#include "tests/unit/device.h"
#include "tests/unit/kernels.h"

/* The bytes that the CPU writes for a segment. */
struct expected {
    uint8_t *bytes;
    size_t length;
};

static struct expected encode(const uint8_t *in, size_t len, const struct lz_level *level,
                              bool is_last)
{
    struct lz_matcher *m = unit_need(lz_matcher_new(level, len));
    struct huff_encoder *e = unit_need(huff_encoder_new());
    uint8_t *copy = padded(in, len, false);
    struct expected x = {unit_need(malloc(huff_bound(len))), 0};

    CHECK(huff_encode_segment(e, copy, len, lz_match_segment(m, copy, len), level->split,
                              is_last ? HUFF_LAST : HUFF_MARK, x.bytes, &x.length));
    free(copy);
    huff_encoder_free(e);
    lz_matcher_free(m);
    return x;
}

/* Lets the GPU code in[0..len) in segments of `segment_size` bytes.  Returns their number. */
static unsigned submit(struct gpu_engine *g, struct gpu_batch *b, const uint8_t *in, size_t len,
                       size_t segment_size)
{
    char error[GPU_ERROR_SIZE] = "";
    unsigned count = 0, index;

    gpu_batch_clear(b);
    b->codes = true;
    for (size_t at = 0; at < len; at += segment_size, count++) {
        const size_t n = len - at < segment_size ? len - at : segment_size;

        memcpy(unit_need(gpu_batch_add(b, n, &index)), in + at, n);
        gpu_batch_set_last(b, index, at + n == len);
    }
    if (!CHECK(gpu_submit(g, b, error) && gpu_collect(g, b, error)))
        printf("# %s\n", error);
    CHECK(b->codes);
    return count;
}

/* Lets the GPU code in[0..len) in segments of `segment_size` bytes.  Returns how many segments have
 * an output; each must be the CPU's. */
static unsigned code(struct gpu_engine *g, struct gpu_batch *b, const uint8_t *in, size_t len,
                     const struct lz_level *level, size_t segment_size, const char *name)
{
    const unsigned count = submit(g, b, in, len, segment_size);
    unsigned right = 0;

    for (unsigned i = 0; i < count; i++) {
        const size_t at = i * segment_size;
        const size_t n = len - at < segment_size ? len - at : segment_size;
        struct gpu_output o;

        if (!gpu_batch_output(b, i, &o))
            continue;
        struct expected x = encode(in + at, n, level, at + n == len);

        right++;
        if (!CHECK(o.length == x.length && memcmp(o.bytes, x.bytes, x.length) == 0)) {
            size_t same = 0;

            while (same < o.length && same < x.length && o.bytes[same] == x.bytes[same])
                same++;
            printf("# %s, split %u: segment %u of %u: %zu bytes, not %zu; the first %zu are the "
                   "same\n",
                   name, level->split, i, count, o.length, x.length, same);
        }
        CHECK_EQ(o.in_crc, gz_crc32(0, in + at, n));
        CHECK_EQ(o.out_crc, gz_crc32(0, o.bytes, o.length));
        free(x.bytes);
    }
    return right;
}

/* The same with an engine of its own.  All segments must have an output. */
static void code_all(const uint8_t *in, size_t len, const struct lz_level *level,
                     size_t segment_size, const char *name)
{
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(level, len, segment_size, &b);

    CHECK(gpu_codes(g));
    if (!CHECK_EQ(code(g, b, in, len, level, segment_size, name),
                  (len + segment_size - 1) / segment_size))
        printf("# %s, split %u: no output\n", name, level->split);
    gpu_free_batch(g, b);
    gpu_close(g);
}

static void code_kind(size_t len, const struct input_kind *k, const struct lz_level *level,
                      size_t segment_size)
{
    uint8_t *in = unit_need(malloc(len));

    fill_kind(in, len, k, LONGEST_TOKEN, 1);
    code_all(in, len, level, segment_size, k->name);
    free(in);
}

/* --- Inputs --- */

static void test_levels(void)
{
    for (int level = 1; level <= 9; level++)
        code_kind(84 * KIB + 77, level % 2 == 0 ? &words : &tokens, lz_level(level), 64 * KIB);
}

/* Matches of 258 bytes, matches of one distance, and no matches, whose blocks are stored, with more
 * than 65535 bytes. */
static void test_kinds(void)
{
    static const struct input_kind *const kinds[] = {&zeros, &period, &random_bytes};
    static const int some_levels[] = {1, 2, 6};

    for (size_t i = 0; i < 9; i++)
        code_kind(170 * KIB - 3, kinds[i % 3], lz_level(some_levels[i / 3]), 512 * KIB);
}

static void test_short_inputs(void)
{
    static const size_t lengths[] = {1,   2,   3,    4,    11,   31,    127,   128,
                                     129, 257, 4095, 4096, 4097, 32767, 32768, 32769};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        code_kind(lengths[i], &zeros, lz_level(1), 32 * KIB);
        code_kind(lengths[i], &words, lz_level(6), 32 * KIB);
    }
}

/* Data that changes its kind, so that blocks end within chunks and within spans; few values, whose
 * codes need no or one distance; and steep counts, whose codes need the limit of 15 bits. */
static void test_mixed(void)
{
    const size_t len = 256 * KIB;
    uint8_t *in = unit_need(malloc(len));
    uint32_t random = 1;
    size_t at = 0;

    for (unsigned i = 0; at < len; i++) {
        static const struct input_kind *const kinds[] = {&words, &random_bytes, &tokens, &zeros};
        const size_t n = 3000 + i * 1237 % 17000, left = len - at;

        fill_kind(in + at, n < left ? n : left, kinds[i % 4], LONGEST_TOKEN, i);
        at += n < left ? n : left;
    }
    for (int level = 1; level <= 9; level += 4)
        code_all(in, len, lz_level(level), 128 * KIB, "mixed");

    for (size_t i = 0; i < len; i++) {
        unsigned value = 0;

        random = random * 1664525 + 1013904223;
        /* Value k occurs a little less than half as often as k - 1. */
        for (uint32_t r = random >> 4; value < 27 && r % 100 < 47; r = r / 100 + (r << 9))
            value++;
        in[i] = (uint8_t)(value * 9);
    }
    code_all(in, len, lz_level(1), 256 * KIB, "steep");
    code_all(in, len, lz_level(6), 256 * KIB, "steep");
    memset(in, 'a', len);
    for (size_t i = 0; i < len; i += 1000 + i % 7)
        in[i] = 'b';
    code_all(in, len, lz_level(6), 256 * KIB, "two values");
    free(in);
}

/* BGZF's levels, with short segments. */
static void test_bgzf(void)
{
    for (int level = 1; level <= 7; level += 3)
        code_kind(200 * KIB, &words, lz_level(LZ_ROW_BGZF + level - 1), 65280);
}

/* A batch that coded can be used again, for coding and for matching. */
static void test_second_use(void)
{
    const struct lz_level *level = lz_level(6);
    const size_t len = 100 * KIB;
    uint8_t *in = unit_need(malloc(len));
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(level, len, 64 * KIB, &b);
    size_t given_up;

    fill_kind(in, len, &words, LONGEST_TOKEN, 1);
    CHECK_EQ(code(g, b, in, len, level, 64 * KIB, "first"), 2);
    CHECK_EQ(match(g, b, in, len, level, 64 * KIB, &given_up), 0);
    fill_kind(in, len, &tokens, LONGEST_TOKEN, 2);
    CHECK_EQ(code(g, b, in, 90 * KIB, level, 64 * KIB, "again"), 2);
    gpu_free_batch(g, b);
    gpu_close(g);
    free(in);
}

/* HUFF_BEST is the CPU's. */
static void test_best(void)
{
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(lz_level(10), 40000, 64 * KIB, &b);
    char error[GPU_ERROR_SIZE];
    unsigned index;

    CHECK(!gpu_codes(g));
    gpu_batch_clear(b);
    b->codes = true;
    memset(unit_need(gpu_batch_add(b, 40000, &index)), 'x', 40000);
    CHECK(gpu_submit(g, b, error) && gpu_collect(g, b, error));
    CHECK(!b->codes);
    CHECK(gpu_batch_chunks(b, 0)[0].count > 0);
    gpu_free_batch(g, b);
    gpu_close(g);
}

/* --- Errors --- */

/* Whether the output decodes to in[0..len). */
static bool decodes(const struct gpu_output *o, const uint8_t *in, size_t len)
{
    uint8_t *out = unit_need(malloc(len + 1));
    z_stream z = {.next_in = (uint8_t *)o->bytes,
                  .avail_in = (unsigned)o->length,
                  .next_out = out,
                  .avail_out = (unsigned)len + 1};
    bool same;

    CHECK_EQ(inflateInit2(&z, -15), Z_OK);
    same = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0 && z.total_out == len &&
           memcmp(out, in, len) == 0;
    inflateEnd(&z);
    free(out);
    return same;
}

/* Flips bits all over a segment's output: headers, codes, stored bytes, padding.  Each is seen,
 * unless the output still decodes to the input: a distance may become another one at which the same
 * bytes are. */
static void see_flips(const uint8_t *in, size_t len, int level, unsigned step)
{
    struct expected x = encode(in, len, lz_level(level), true);
    unsigned harmless = 0, flips = 0;

    for (size_t bit = 0; bit < 8 * x.length;
         bit += bit < 800 || bit + 100 > 8 * x.length ? 1 + step / 50 : step + bit % 7) {
        struct gpu_batch *b;
        struct gpu_engine *g;
        struct gpu_output o;

        options.flip = (long)bit + 1;
        g = open_engine(lz_level(level), len, 512 * KIB, &b);
        submit(g, b, in, len, len);
        if (!gpu_batch_output(b, 0, &o))
            CHECK(o.is_wrong);
        else if (CHECK(decodes(&o, in, len)))
            harmless++;
        else
            printf("# level %d, bit %zu of %zu\n", level, bit, 8 * x.length);
        flips++;
        gpu_free_batch(g, b);
        gpu_close(g);
    }
    options.flip = 0;
    CHECK(harmless <= flips / 100);
    printf("# level %d: %u flipped bits of %zu, %u harmless\n", level, flips, 8 * x.length,
           harmless);
    free(x.bytes);
}

/* The same for the mark after a segment, and for its padding. */
static void test_flipped_marks(void)
{
    const size_t len = 3000, segment_size = 32 * KIB;
    uint8_t *in = unit_need(malloc(2 * segment_size));
    struct expected x;

    fill_kind(in, segment_size + len, &words, LONGEST_TOKEN, 1);
    x = encode(in, segment_size, lz_level(6), false);
    for (size_t bit = 8 * x.length - 90; bit < 8 * x.length; bit++) {
        struct gpu_batch *b;
        struct gpu_engine *g;
        struct gpu_output o;

        options.flip = (long)bit + 1;
        g = open_engine(lz_level(6), segment_size + len, segment_size, &b);
        submit(g, b, in, segment_size + len, segment_size);
        CHECK(!gpu_batch_output(b, 0, &o) && o.is_wrong);
        /* The other segment is right. */
        CHECK(gpu_batch_output(b, 1, &o));
        gpu_free_batch(g, b);
        gpu_close(g);
    }
    options.flip = 0;
    free(x.bytes);
    free(in);
}

#ifdef REAL_DEVICE
#define STEP 2
#else
#define STEP 2000
#endif

static void test_flips(void)
{
    const size_t len = 80 * KIB;
    uint8_t *in = unit_need(malloc(len));

    fill_kind(in, 20 * KIB, &words, LONGEST_TOKEN, 1);
    see_flips(in, 2 * KIB, 6, STEP / 2);
    see_flips(in, 9 * KIB, 1, STEP);
    fill_kind(in + 5 * KIB, 75 * KIB, &random_bytes, LONGEST_TOKEN, 1);
    fill_kind(in + 75 * KIB, 5 * KIB, &tokens, LONGEST_TOKEN, 1);
    see_flips(in, len, 6, STEP * 40);
    free(in);
}

int main(void)
{
    RUN(test_levels);
    RUN(test_kinds);
    RUN(test_short_inputs);
    RUN(test_mixed);
    RUN(test_bgzf);
    RUN(test_second_use);
    RUN(test_best);
    RUN(test_flips);
    RUN(test_flipped_marks);
    return unit_done();
}
