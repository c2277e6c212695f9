/*
 * test_kernels.c - the GPU engine finds what the CPU engine finds
 *
 * tests/unit/test_kernels runs the kernels on an emulated device (tests/emulation/cuda_runtime.h),
 * and tests/gpu/test_kernels, which `make check-gpu` builds from the same source, on a real one.
 * The emulation is slow, so there are only a few small inputs, one for each case in the kernels.
 * tests/gpu/check.sh has larger inputs.
 */
#include "config.h"

#include "tests/unit/device.h"
#include "tests/unit/kernels.h"

/* True if a build with a sanitizer skips the level.  Another level runs the same kernels to another
 * depth. */
static bool is_like_another(int level)
{
    return UNIT_SANITIZED && level != 1 && level != 6 && level != 12;
}

/* Tests two segments: a whole one, of several chunks, and a short one, whose last chunk is short,
 * too. */
static void test_levels(void)
{
    for (int level = LZ_LEVEL_MIN; level <= LZ_LEVEL_MAX; level++)
        if (!is_like_another(level))
            compare_kind(84 * KIB + 77, level % 2 == 0 ? &words : &tokens, lz_level(level),
                         64 * KIB);
}

/* Tests a segment with positions that need more than 16 bits, and with more chunks than a block
 * links at level 10. */
static void test_long_segment(void)
{
    static const int some_levels[] = {1, 2, 10};

    for (size_t i = 0; i < 3; i++)
        compare_kind(300 * KIB, &tokens, lz_level(some_levels[i]), 512 * KIB);
}

/* The segments fill the batch's memory completely, and a segment is not a whole number of
 * chunks. */
static void test_full_batch(void)
{
    static const int some_levels[] = {1, 6, 9, 12};

    for (size_t i = 0; i < 4; i++) {
        compare_kind(66 * KIB, &tokens, lz_level(some_levels[i]), 33 * KIB);
        compare_kind(32 * KIB, &words, lz_level(some_levels[i]), 32 * KIB);
    }
}

static void test_smallest_segments(void)
{
    for (int level = 1; level <= 10; level += 3)
        compare_kind(70 * KIB, &words, lz_level(level), 32 * KIB);
}

static void test_kinds(void)
{
    static const struct input_kind *const kinds[] = {&zeros, &period, &random_bytes};
    static const int some_levels[] = {1, 6, 9, 12};

    for (size_t i = 0; i < 12; i++)
        if (!is_like_another(some_levels[i / 3]))
            compare_kind(66 * KIB - 3, kinds[i % 3], lz_level(some_levels[i / 3]), 2048 * KIB);
}

static void test_short_inputs(void)
{
    static const size_t lengths[] = {1, 3, 4, 11, 31, 257, 4097};
    static const int some_levels[] = {1, 5, 10};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (size_t l = 0; l < 3; l++)
            compare_kind(lengths[i], &zeros, lz_level(some_levels[l]), 32 * KIB);
}

/* Tests matches that go on after a chunk's end, and matches at the greatest distance and just
 * beyond it. */
static void test_edges(void)
{
    static const struct {
        size_t start, distance, length;
    } copies[] = {{32 * KIB - 6, 1000, 12}, {32 * KIB - 3, 20000, 12}, {35000, 32767, 20},
                  {36000, 32768, 20},       {37000, 32769, 20},        {38000, 4096, 3},
                  {38100, 4097, 3}};
    const size_t len = 65 * KIB;
    uint8_t *in = unit_need(malloc(len));

    fill_kind(in, len, &random_bytes, 0, 2);
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
        memcpy(in + copies[i].start, in + copies[i].start - copies[i].distance, copies[i].length);
    for (int level = LZ_LEVEL_MIN; level <= LZ_LEVEL_MAX; level++)
        if (!is_like_another(level))
            compare(in, len, lz_level(level), 128 * KIB);
    free(in);
}

/* With less shared memory for a block, searches read the links from global memory.  With still
 * less, searches also read the data's bytes from global memory. */
static void test_less_shared_memory(void)
{
    static const size_t sizes[] = {100000, 1000};

    for (size_t i = 0; i < 2; i++) {
        options.shared = sizes[i];
        compare_kind(70 * KIB, &tokens, lz_level(6), 128 * KIB);
        compare_kind(70 * KIB, &tokens, lz_level(9), 128 * KIB);
        compare_kind(70 * KIB, &tokens, lz_level(12), 128 * KIB);
    }
    options.shared = 0;
}

/* --- Segments of all lengths in one batch --- */

/* A segment's sequences do not depend on its neighbours or on earlier contents of the batch. */
static void test_mixed_lengths(void)
{
    static const size_t first[] = {4, 32 * KIB + 1, 1, 4 * KIB, 32 * KIB - 1, 2, 100, 32 * KIB, 3};
    static const size_t large[] = {1, MIXED_SEGMENT, 4096, 3, 64 * KIB + 1, 100, 64 * KIB, 2};
    static const size_t second[] = {100, 33, 4 * KIB, 3, 32 * KIB + 1, 1, 4095, 0, 2};

    /* Levels of all finders.  Levels 1, 6 and 12 get large segments, and levels 2 and 10 get small
     * ones. */
    static const int some_levels[] = {1, 2, 6, 10, 12};

    for (size_t i = 0; i < sizeof(some_levels) / sizeof(some_levels[0]); i++) {
        const int level = some_levels[i];
        struct gpu_batch *b;
        struct gpu_engine *g;

        if (is_like_another(level) && level != 2)
            continue;
        g = open_engine(lz_level(level), 5 * MIXED_SEGMENT, MIXED_SEGMENT, &b);
        if (level == 1 || level == 6 || level == 12)
            compare_mixed(g, b, lz_level(level), large, 8, &random_bytes, false);
        else
            compare_mixed(g, b, lz_level(level), first, 9, &zeros, false);
        compare_mixed(g, b, lz_level(level), second, 9, &period, true);
        gpu_free_batch(g, b);
        gpu_close(g);
    }
}

/* When the optimal finder joins units to blocks, no block may contain data of two segments, even if
 * all segments are whole chunks and have similar data. */
static void test_neighbours(void)
{
    uint8_t *in = unit_need(malloc(160 * KIB));
    const struct segment segments[] = {{in, 64 * KIB, 0, false},
                                       {in + 64 * KIB, 32 * KIB, 0, false},
                                       {in + 96 * KIB, 64 * KIB, 0, false}};
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(lz_level(10), 160 * KIB, 64 * KIB, &b);
    size_t given_up;

    fill_kind(in, 160 * KIB, &tokens, 6, 4);
    CHECK_EQ(match_segments(g, b, segments, 3, lz_level(10), 64 * KIB, &given_up), 0);
    CHECK_EQ(given_up, 0);
    gpu_free_batch(g, b);
    gpu_close(g);
    free(in);
}

/* Tests the capacity of a batch: in bytes, and in chunks. */
static void test_room(void)
{
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(lz_level(6), 3 * 33 * KIB, 33 * KIB, &b);
    char error[GPU_ERROR_SIZE] = "";
    unsigned index = 77;
    uint8_t *before;

    CHECK_EQ(b->capacity, 3 * 33 * KIB);
    CHECK_EQ(b->count, 0);
    CHECK_EQ(b->length, 0);
    /* Whole segments lie one after another, without gaps. */
    before = gpu_batch_add(b, 33 * KIB, &index);
    CHECK_EQ(index, 0);
    CHECK(gpu_batch_add(b, 33 * KIB, &index) == before + 33 * KIB);
    CHECK(!gpu_batch_fits(b, 33 * KIB + 1) && gpu_batch_fits(b, 33 * KIB));
    CHECK(gpu_batch_add(b, 33 * KIB, &index) == before + 66 * KIB);
    CHECK_EQ(index, 2);
    CHECK(!gpu_batch_fits(b, 1));
    CHECK(gpu_batch_add(b, 1, &index) == NULL);
    CHECK_EQ(b->count, 3);
    /* A segment of one byte counts as a chunk, and the next segment starts at the next multiple of
     * 16. */
    gpu_batch_clear(b);
    CHECK_EQ(b->count, 0);
    CHECK(gpu_batch_add(b, 1, &index) == before);
    CHECK_EQ(index, 0);
    for (unsigned i = 1; i < 6; i++)
        CHECK(gpu_batch_add(b, 16 + i % 2, &index) == before + 16 + (i - 1) * 16 + i / 2 * 16);
    CHECK_EQ(index, 5);
    CHECK(!gpu_batch_fits(b, 1));
    /* Try batches without data: one without segments, and one with two empty segments. */
    gpu_batch_clear(b);
    CHECK(gpu_submit(g, b, error) && gpu_collect(g, b, error));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(gpu_batch_add(b, 5, &index) != NULL);
        gpu_batch_set_length(b, index, 0);
    }
    CHECK_EQ(b->length, 0);
    CHECK(gpu_submit(g, b, error) && gpu_collect(g, b, error));
    gpu_free_batch(g, b);
    gpu_close(g);
}

/* Tests a batch that is used a second time, with less data. */
static void test_second_use(void)
{
    const size_t len = 70 * KIB;
    uint8_t *in = unit_need(malloc(len));
    size_t given_up;
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(lz_level(6), len, 32 * KIB, &b);

    fill_kind(in, len, &words, 0, 3);
    CHECK_EQ(match(g, b, in, len, lz_level(6), 32 * KIB, &given_up), 0);
    CHECK_EQ(match(g, b, in + 5000, 40 * KIB, lz_level(6), 32 * KIB, &given_up), 0);
    CHECK_EQ(given_up, 0);
    gpu_free_batch(g, b);
    gpu_close(g);
    free(in);
}

/* A batch has no room for a sequence in every three bytes, so the engine gives up the chunks that
 * do not fit. */
static void test_no_room(void)
{
    const size_t len = 64 * KIB;
    uint8_t *in = unit_need(malloc(len + 3));
    uint8_t words_of_three[600][3];
    uint64_t state = 5;
    size_t given_up;
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(lz_level(6), len, 32 * KIB, &b);

    for (size_t i = 0; i < sizeof(words_of_three); i++)
        words_of_three[i / 3][i % 3] = (uint8_t)unit_rand(&state);
    for (size_t i = 0; i < len; i += 3)
        memcpy(in + i, words_of_three[unit_below(&state, 600)], 3);
    CHECK_EQ(match(g, b, in, len, lz_level(6), 32 * KIB, &given_up), 0);
    CHECK_EQ(given_up, 1);
    gpu_free_batch(g, b);
    gpu_close(g);
    free(in);
}

/* --- Segments in memory of their own --- */

/* Tests segments that the engine reads in place, at any address, among segments that the batch
 * contains.  The engine matches all of them, and reads no byte after a segment.  (On a real device,
 * the segments are in host memory, which a copy can read, too.) */
static void test_sources(void)
{
    static const size_t lengths[] = {
        MIXED_SEGMENT, MIXED_SEGMENT, 33 * KIB + 3, 4, 0, MIXED_SEGMENT, 77, 1};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
    static const int some_levels[] = {1, 6, 10};

    /* The level does not affect how segments are read, so each round uses another level. */
    for (unsigned round = 0; round < 3; round++) {
        const int level = some_levels[round];
        /* All segments are read in place, or only some.  Segments lie one after another, or
         * apart. */
        const bool are_together = round == 0, is_every = round < 2;
        const size_t shift = round * 3 + 1;
        struct segment segments[COUNT];
        uint8_t *data[COUNT], *all = NULL, *next = NULL;
        size_t sum = 0, given_up;
        struct gpu_batch *b;
        struct gpu_engine *g = open_engine(lz_level(level), 5 * MIXED_SEGMENT, MIXED_SEGMENT, &b);

        for (unsigned i = 0; i < COUNT; i++)
            sum += lengths[i];
        if (are_together)
            next = all = unit_need(malloc(sum));
        for (unsigned i = 0; i < COUNT; i++) {
            data[i] = are_together ? NULL : unit_need(malloc(lengths[i] + shift));
            segments[i] = (struct segment){are_together ? next : data[i] + shift, lengths[i], 0,
                                           is_every || i % 3 != 1};
            fill_kind((uint8_t *)segments[i].in, lengths[i], i % 2 == 0 ? &words : &tokens,
                      LONGEST_TOKEN, i + 1);
            if (are_together)
                next += lengths[i];
        }
        fill_gaps(b, &random_bytes);
        for (int again = 0; again < (round == 0 ? 2 : 1); again++) {
            CHECK_EQ(
                match_segments(g, b, segments, COUNT, lz_level(level), MIXED_SEGMENT, &given_up),
                0);
            CHECK_EQ(given_up, 0);
            /* Now read no segment in place.  The batch must not remember the earlier addresses. */
            for (unsigned i = 0; i < COUNT; i++)
                segments[i].is_away = false;
        }
        for (unsigned i = 0; i < COUNT; i++)
            free(data[i]);
        free(all);
        gpu_free_batch(g, b);
        gpu_close(g);
    }
}

/* Parts of any sizes, also with no bytes, arrive one after another.  Some of them fill the copier's
 * pieces exactly. */
static void test_puts(struct gpu_copier *c, const uint8_t *from, uint8_t *to)
{
    static const size_t sizes[] = {10, 262134, 0, 262144, 1, 300000, 0, 524288, 8};
    const int most = sizeof(sizes) / sizeof(sizes[0]);
    char error[GPU_ERROR_SIZE] = "";
    struct iovec parts[sizeof(sizes) / sizeof(sizes[0])];

    for (int count = 1; count <= most; count++) {
        size_t len = 0;

        for (int i = 0; i < count; len += sizes[i++])
            parts[i] = (struct iovec){(void *)(from + i), sizes[i]};
        memset(to, 1, len + 1);
        CHECK(gpu_put(c, to, parts, count, error));
        CHECK_EQ(to[len], 1);
        for (int i = count - 1; i >= 0; i--) {
            len -= sizes[i];
            CHECK(memcmp(to + len, from + i, sizes[i]) == 0);
        }
    }
}

static void test_copies(void)
{
    /* The copier copies 256 KiB at a time if one end is host memory that is not pinned. */
    static const size_t sizes[] = {
        1, 4999, (16 << 10) + 1, 256 << 10, (256 << 10) + 1, (512 << 10) - 1, (768 << 10) + 3};
    static uint8_t from[1 << 20], to[2 << 20];
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_copier *c = unit_need(gpu_new_copier(0, error));

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 7 + (i >> 8) * 3);
    for (size_t i = 0; i < 3 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        const size_t len = sizes[i / 3];

        device_hide(i % 3 == 1 ? to : i % 3 == 2 ? from : NULL, sizeof(to));
        memset(to, 1, sizeof(to));
        CHECK(gpu_copy(c, to + 1, from + 2, len, error));
        CHECK(memcmp(to + 1, from + 2, len) == 0);
        CHECK_EQ(to[0], 1);
        CHECK_EQ(to[len + 1], 1);
    }
    device_hide(NULL, 0);
    test_puts(c, from, to);
    gpu_free_copier(c);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

/* Tests pointers to host memory, with or without a driver. */
static void test_host_memory(void)
{
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_thread t;
    struct gpu_memory m;
    int byte = 0;

    CHECK(gpu_find_memory(&byte, &m, error));
    CHECK(!m.is_on_gpu && m.host == &byte);
    CHECK(gpu_find_memory(NULL, &m, error));
    CHECK(!m.is_on_gpu && m.host == NULL);
    CHECK_EQ(gpu_wait_stream(NULL, -1, always, NULL, error), GPU_WAIT_DONE);
    gpu_save_thread(&t);
    gpu_restore_thread(&t);
}

static void test_devices(void)
{
    char error[GPU_ERROR_SIZE];
    const int count = gpu_count(error);
    struct gpu_description d;

    CHECK(count > 0);
    for (int i = 0; i < count; i++) {
        gpu_describe(i, &d);
        CHECK(d.error[0] == '\0' && d.name[0] != '\0' && d.is_supported);
        CHECK(d.major > 0 && d.multiprocessors > 0 && d.memory > 0);
    }
}

int main(void)
{
    RUN(test_levels);
    RUN(test_long_segment);
    RUN(test_full_batch);
    RUN(test_smallest_segments);
    RUN(test_kinds);
    RUN(test_short_inputs);
    RUN(test_edges);
    RUN(test_less_shared_memory);
    RUN(test_mixed_lengths);
    RUN(test_neighbours);
    RUN(test_room);
    RUN(test_second_use);
    RUN(test_no_room);
    RUN(test_sources);
    RUN(test_copies);
    RUN(test_host_memory);
    RUN(test_devices);
    return unit_done();
}
