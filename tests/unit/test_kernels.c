/*
 * test_kernels.c - the GPU engine on an emulated device (tests/emulation/cuda_runtime.h) finds what the
 * CPU engine finds
 *
 * Chunks take the emulation up to a second, so inputs are few and small: what is one of a kind for
 * the kernels is in them.  tests/gpu/check.sh is about real devices.
 */
#include "config.h"

#include <string.h>

#include "gpu/gpu.h"
#include "tests/unit/inputs.h"

#define KIB ((size_t)1 << 10)

/* Chunks of the segment that are not the CPU engine's. */
static size_t count_wrong(const struct gpu_batch *b, const struct lz_chunk *chunks, size_t first,
                          size_t count)
{
    size_t wrong = 0;

    for (size_t c = 0; c < count; c++) {
        const struct lz_chunk *is = &b->chunks[first + c];

        wrong += is->count != chunks[c].count ||
                 (is->count > 0 && memcmp(is->sequences, chunks[c].sequences,
                                          is->count * sizeof(*is->sequences)) != 0);
    }
    return wrong;
}

/* Matches in[0..len) at a level, in segments of `segment_size` bytes, as one batch of the engine's
 * on a device of so much shared memory for a block (0: an H100's), and by the CPU engine. */
static void compare(const uint8_t *in, size_t len, int level, size_t segment_size,
                    const char *shared_size)
{
    const struct lz_level *l = lz_level(level);
    const size_t segments = (len + segment_size - 1) / segment_size;
    struct lz_matcher *m = lz_matcher_new(l, segment_size);
    uint8_t *segment = unit_need(malloc(segment_size + LZ_INPUT_PAD));
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_engine *g;
    struct gpu_batch *b = NULL;

    if (shared_size != NULL)
        setenv("GZLZSS_TEST_GPU_SHARED", shared_size, 1);
    g = gpu_open(0, l, segment_size, segments * segment_size, 1, error);
    unsetenv("GZLZSS_TEST_GPU_SHARED");
    if (CHECK(m != NULL && g != NULL))
        b = gpu_new_batch(g, error);
    if (CHECK(b != NULL) && CHECK(len <= b->capacity)) {
        memcpy(b->input, in, len);
        b->length = len;
        CHECK(gpu_submit(g, b, error) && gpu_collect(g, b, error));
        for (size_t s = 0, chunk = 0; s < segments; s++) {
            const size_t start = s * segment_size;
            const size_t n = len - start < segment_size ? len - start : segment_size;

            memcpy(segment, in + start, n);
            memset(segment + n, 0, LZ_INPUT_PAD);
            CHECK_EQ(count_wrong(b, lz_match_segment(m, l, segment, n), chunk, LZ_CHUNKS(n)), 0);
            chunk += LZ_CHUNKS(n);
        }
    }
    if (error[0] != '\0')
        printf("# %s\n", error);
    if (g != NULL) {
        gpu_free_batch(g, b);
        gpu_close(g);
    }
    free(segment);
    lz_matcher_free(m);
}

static void compare_kind(size_t len, const struct input_kind *k, int level, size_t segment_size,
                         const char *shared_size)
{
    uint8_t *in = unit_need(malloc(len));

    fill_kind(in, len, k, LONGEST_TOKEN, 1);
    compare(in, len, level, segment_size, shared_size);
    free(in);
}

static const struct input_kind zeros = {"zeros", ZEROS, 0};
static const struct input_kind period = {"period", PERIOD, 37};
static const struct input_kind random_bytes = {"random", RANDOM, 0};
static const struct input_kind tokens = {"tokens", TOKENS, 200};
static const struct input_kind words = {"words", WORDS, 0};

/* Two segments: a whole one, of several chunks, and one that is short, as is its last chunk. */
static void test_levels(void)
{
    for (int level = LZ_LEVEL_MIN; level <= LZ_LEVEL_MAX; level++)
        compare_kind(84 * KIB + 77, level % 2 == 0 ? &words : &tokens, level, 64 * KIB, NULL);
}

/* More chunks in a row than a warp makes links of, whose positions go beyond 16 bits. */
static void test_long_segment(void)
{
    for (int level = 1; level <= 2; level++)
        compare_kind(300 * KIB, &tokens, level, 512 * KIB, NULL);
}

static void test_smallest_segments(void)
{
    for (int level = 1; level <= 10; level += 3)
        compare_kind(70 * KIB, &words, level, 32 * KIB, NULL);
}

static void test_kinds(void)
{
    static const struct input_kind *const kinds[] = {&zeros, &period, &random_bytes};
    static const int some_levels[] = {1, 6, 9, 12};

    for (size_t i = 0; i < 12; i++)
        compare_kind(66 * KIB - 3, kinds[i % 3], some_levels[i / 3], 2048 * KIB, NULL);
}

static void test_short_inputs(void)
{
    static const size_t lengths[] = {1, 3, 4, 11, 31, 257, 4097};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (int level = 1; level <= 12; level += 5 - level % 5)
            compare_kind(lengths[i], &zeros, level, 32 * KIB, NULL);
}

/* Matches that reach beyond a chunk, and that are as far as they may be, and further. */
static void test_edges(void)
{
    static const struct {
        size_t start, distance, length;
    } copies[] = {{32 * KIB - 6, 1000, 12}, {32 * KIB - 3, 20000, 12}, {35000, 32767, 20},
                  {36000, 32768, 20},       {37000, 32769, 20},        {38000, 4096, 3},
                  {38100, 4097, 3}};
    const size_t len = 40 * KIB;
    uint8_t *in = unit_need(malloc(len));

    fill_kind(in, len, &random_bytes, 0, 2);
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
        memcpy(in + copies[i].start, in + copies[i].start - copies[i].distance, copies[i].length);
    for (int level = LZ_LEVEL_MIN; level <= LZ_LEVEL_MAX; level++)
        compare(in, len, level, 64 * KIB, NULL);
    free(in);
}

/* Where a block has less shared memory, searches read more from elsewhere. */
static void test_less_shared_memory(void)
{
    compare_kind(70 * KIB, &tokens, 9, 128 * KIB, "100000");
    compare_kind(70 * KIB, &tokens, 9, 128 * KIB, "66000");
}

int main(void)
{
    RUN(test_levels);
    RUN(test_long_segment);
    RUN(test_smallest_segments);
    RUN(test_kinds);
    RUN(test_short_inputs);
    RUN(test_edges);
    RUN(test_less_shared_memory);
    return unit_done();
}
