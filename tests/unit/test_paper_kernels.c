/*
 * test_paper_kernels.c - with the methods of papers/, the GPU engine finds what the CPU engine
 * finds
 *
 * Like test_kernels.c, tests/unit/test_paper_kernels runs on an emulated device, which is slow, and
 * tests/gpu/test_paper_kernels on a real one.  The tests go through the list of methods.
 */
#include "config.h"

#include "tests/unit/kernels.h"
#include "tests/unit/methods.h"

/* Calls test(level) for every method with its usual values. */
static void for_each_method(void (*test)(const struct lz_level *level))
{
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        make_variant(paper_methods[p], 0, &level);
        test(&level);
    }
}

/* Compares the engines on two segments: a whole one, of several chunks, and a short one, whose last
 * chunk is short, too. */
static void compare_kinds(const struct lz_level *level)
{
    static const struct input_kind *const kinds[] = {&zeros, &period, &random_bytes, &tokens,
                                                     &words};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        compare_kind(84 * KIB + 77, kinds[i], level, 64 * KIB);
}

static void test_kinds(void)
{
    for_each_method(compare_kinds);
}

/* Compares the engines on a segment with positions that need more than 16 bits. */
static void compare_long_segment(const struct lz_level *level)
{
    compare_kind(140 * KIB, &words, level, 256 * KIB);
}

static void test_long_segment(void)
{
    for_each_method(compare_long_segment);
}

/* The segments fill the batch's memory completely, and a segment is not a whole number of
 * chunks. */
static void compare_full_batch(const struct lz_level *level)
{
    compare_kind(66 * KIB, &tokens, level, 33 * KIB);
    compare_kind(32 * KIB, &words, level, 32 * KIB);
}

static void test_full_batch(void)
{
    for_each_method(compare_full_batch);
}

static void compare_short_inputs(const struct lz_level *level)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 9, 31, 257, 4097};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        compare_kind(lengths[i], &zeros, level, 32 * KIB);
        compare_kind(lengths[i], &words, level, 32 * KIB);
    }
}

static void test_short_inputs(void)
{
    for_each_method(compare_short_inputs);
}

/* A segment's sequences do not depend on its neighbours or on earlier contents of the batch. */
static void compare_in_one_batch(const struct lz_level *level)
{
    static const size_t first[] = {1, MIXED_SEGMENT, 4096, 3, 64 * KIB + 1, 100, 64 * KIB, 2};
    static const size_t second[] = {100, 33, 4 * KIB, 3, 32 * KIB + 1, 1, 4095, 0, 2};
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(level, 5 * MIXED_SEGMENT, MIXED_SEGMENT, &b);

    compare_mixed(g, b, level, first, 8, &random_bytes, false);
    compare_mixed(g, b, level, second, 9, &zeros, true);
    compare_mixed(g, b, level, second, 9, &period, true);
    gpu_free_batch(g, b);
    gpu_close(g);
}

static void test_mixed_lengths(void)
{
    for_each_method(compare_in_one_batch);
}

/* Compares the engines on the largest possible number of sequences, with matches of three bytes.  A
 * batch must have room for all these sequences. */
static void compare_threes(const struct lz_level *level)
{
    const size_t len = 64 * KIB;
    uint8_t *in = unit_need(malloc(len + 3));
    uint64_t state = 5;

    /* The data consists of 20 different words of three bytes. */
    for (size_t i = 0; i < len; i += 3) {
        const uint8_t word = (uint8_t)(3 * unit_below(&state, 20));

        in[i] = word;
        in[i + 1] = (uint8_t)(word + 1);
        in[i + 2] = (uint8_t)(word + 2);
    }
    compare(in, len, level, 32 * KIB);
    free(in);
}

static void test_threes(void)
{
    for_each_method(compare_threes);
}

/* Tests every variant, with matches near the greatest length and the greatest distance. */
static void test_edges(void)
{
    const size_t len = 34 * KIB + 5;
    uint8_t *in = unit_need(malloc(len));
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n++) {
            fill_edges(in, len, paper_methods[p], &level, n);
            if (!compare(in, len, &level, 64 * KIB))
                print_variant(paper_methods[p], &level);
        }
    free(in);
}

/* Compares the engines on matches at DEFLATE's greatest distance, and at distances that are one
 * byte less or more, in segments with an even and an odd number of chunks.  Under sanitizers, only
 * the distance that is one byte more is compared. */
static void compare_far(const struct lz_level *level)
{
    const size_t len = 163 * KIB;
    uint8_t *in = unit_need(malloc(len));

    for (size_t distance = LZ_WINDOW_SIZE + (UNIT_SANITIZED ? 1 : -1);
         distance <= LZ_WINDOW_SIZE + 1; distance++) {
        fill_far(in, len, distance);
        compare(in, len, level, 98 * KIB);
    }
    free(in);
}

static void test_far(void)
{
    for_each_method(compare_far);
}

/* Right before each text that can be matched comes a beginning of that text (fill_prefixes). */
static void compare_prefixes(const struct lz_level *level)
{
    const size_t len = 36 * KIB;
    uint8_t *in = unit_need(malloc(len));

    fill_prefixes(in, len);
    compare(in, len, level, 64 * KIB);
    free(in);
}

static void test_prefixes(void)
{
    for_each_method(compare_prefixes);
}

/* For each key of a method, tests data in which all matches have the key's value as their distance.
 * If that is the key's usual value, it is tried in variant 0 only; test_edges has such distances in
 * all variants. */
static void test_periods(void)
{
    const size_t len = 34 * KIB;
    uint8_t *in = unit_need(malloc(len));
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n += UNIT_SANITIZED ? 4 : 1)
            for (size_t i = 0; paper_methods[p]->keys[i].name != NULL; i++) {
                if (!is_new_value(paper_methods[p], n, &level, i))
                    continue;
                fill_period(in, len, level.param[i] > 0 ? level.param[i] : 1);
                if (!compare(in, len, &level, 64 * KIB))
                    print_variant(paper_methods[p], &level);
            }
    free(in);
}

/* A block gets less shared memory than it could use. */
static void compare_with_less(const struct lz_level *level)
{
    options.shared = 1024;
    compare_kind(70 * KIB, &words, level, 96 * KIB);
    options.shared = 60000;
    compare_kind(70 * KIB, &tokens, level, 128 * KIB);
    options.shared = 0;
}

static void test_less_shared_memory(void)
{
    for_each_method(compare_with_less);
}

/* Compares forms of methods that have kernels of their own: on segments of several chunks, on
 * batches of many segments, and with less shared memory. */
static void test_forms(void)
{
    static const char *const forms[] = {
        "glzss-basic,threads=32",  "glzss-tagging,threads=4", "dklzss,threads=1",
        "lzss,threads=1",          "lz4,threads=1",           "lz4,enter=all",
        "lz4,enter=all,threads=1",
    };
    struct lz_level level;
    char error[PAPER_ERROR_SIZE];

    for (size_t i = 0; paper_methods[0] != NULL && i < sizeof(forms) / sizeof(forms[0]); i++) {
        level = *lz_level(6);
        if (!CHECK(paper_parse(forms[i], &level, error)))
            continue;
        compare_long_segment(&level);
        compare_full_batch(&level);
        compare_in_one_batch(&level);
        compare_with_less(&level);
    }
}

int main(void)
{
    RUN(test_kinds);
    RUN(test_long_segment);
    RUN(test_full_batch);
    RUN(test_short_inputs);
    RUN(test_mixed_lengths);
    RUN(test_threes);
    RUN(test_edges);
    RUN(test_far);
    RUN(test_prefixes);
    RUN(test_periods);
    RUN(test_less_shared_memory);
    RUN(test_forms);
    return unit_done();
}
