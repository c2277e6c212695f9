/*
 * kernels.h - shared by the tests of kernels: lets the GPU engine and the CPU engine match batches,
 * and compares the results
 */
#ifndef GZLZSS_KERNELS_H
#define GZLZSS_KERNELS_H

#include <string.h>

#include "gpu/gpu.h"
#include "tests/unit/inputs.h"

#define KIB ((size_t)1 << 10)

static inline bool is_same(const struct lz_chunk *a, const struct lz_chunk *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->sequences, b->sequences,
                                                            a->count * sizeof(*a->sequences)) == 0);
}

/* True if the engine reports that it gave up the chunk. */
static inline bool is_given_up(const struct lz_chunk *c)
{
    return c->count == 1 && c->sequences[0].length == 0;
}

/* A segment to match. */
struct segment {
    const uint8_t *in;
    size_t len;
    /* If this is larger than len, the segment is added to the batch with this size, and then
     * shortened to len. */
    size_t added;
    bool is_away; /* the engine reads it in place, without a copy in the batch */
};

/* Matches these segments as one batch.  Returns how many of their chunks differ from the CPU
 * engine's result, not counting chunks that the GPU engine gave up.  Sets *given_up to the number
 * of chunks that the GPU engine gave up. */
static inline size_t match_segments(struct gpu_engine *g, struct gpu_batch *b,
                                    const struct segment *segments, unsigned count,
                                    const struct lz_level *level, size_t segment_size,
                                    size_t *given_up)
{
    struct lz_matcher *m = unit_need(lz_matcher_new(level, segment_size));
    uint8_t *alone = unit_need(malloc(segment_size + LZ_INPUT_PAD));
    char error[GPU_ERROR_SIZE] = "";
    size_t wrong = 0, length = 0;

    gpu_batch_clear(b);
    for (unsigned i = 0, index; i < count; i++) {
        const struct segment *s = &segments[i];
        const size_t added = s->added > s->len ? s->added : s->len;
        uint8_t *in;

        CHECK(gpu_batch_fits(b, added));
        in = unit_need(gpu_batch_add(b, added, &index));
        CHECK_EQ(index, i);
        CHECK_EQ((uintptr_t)in % 16, 0);
        if (s->is_away)
            gpu_batch_set_source(b, index, s->in);
        else
            memcpy(in, s->in, s->len);
        if (s->len < added)
            gpu_batch_set_length(b, index, s->len);
        length += s->len;
    }
    CHECK_EQ(b->count, count);
    CHECK_EQ(b->length, length);
    *given_up = 0;
    if (!CHECK(gpu_submit(g, b, error) && gpu_collect(g, b, error)))
        printf("# %s\n", error);
    for (unsigned i = 0; i < count; i++) {
        const size_t len = segments[i].len;
        const struct lz_chunk *found = gpu_batch_chunks(b, i), *expected;

        CHECK(len == 0 || memcmp(b->input + b->segments[i].start, segments[i].in, len) == 0);
        memcpy(alone, segments[i].in, len);
        memset(alone + len, 0, LZ_INPUT_PAD);
        expected = lz_match_segment(m, alone, len);
        for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
            if (is_given_up(&found[c]))
                (*given_up)++;
            else
                wrong += !is_same(&found[c], &expected[c]);
        }
    }
    free(alone);
    lz_matcher_free(m);
    return wrong;
}

/* Like match_segments, for in[0..len), cut into segments of `segment_size` bytes. */
static inline size_t match(struct gpu_engine *g, struct gpu_batch *b, const uint8_t *in, size_t len,
                           const struct lz_level *level, size_t segment_size, size_t *given_up)
{
    struct segment segments[16] = {{NULL, 0, 0, false}};
    unsigned count = 0;

    for (size_t start = 0; start < len && count < 16; start += segment_size)
        segments[count++] = (struct segment){
            in + start, len - start < segment_size ? len - start : segment_size, 0, false};
    return match_segments(g, b, segments, count, level, segment_size, given_up);
}

/* The options with which tests open engines. */
static struct gpu_options options;

/* Opens an engine, and allocates a batch for `len` bytes. */
static inline struct gpu_engine *open_engine(const struct lz_level *level, size_t len,
                                             size_t segment_size, struct gpu_batch **b)
{
    const size_t segments = (len + segment_size - 1) / segment_size;
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_engine *g =
        gpu_open(0, level, segment_size, segments * segment_size, 1, &options, error);

    *b = g == NULL ? NULL : gpu_new_batch(g, error);
    if (!CHECK(*b != NULL) || !CHECK(len <= (*b)->capacity)) {
        printf("# %s\n", error);
        abort();
    }
    return g;
}

/* Matches in[0..len) at the level, in segments of `segment_size` bytes, by the GPU engine (in one
 * batch) and by the CPU engine.  Returns false if the results differ. */
static inline bool compare(const uint8_t *in, size_t len, const struct lz_level *level,
                           size_t segment_size)
{
    size_t given_up;
    struct gpu_batch *b;
    struct gpu_engine *g = open_engine(level, len, segment_size, &b);
    const bool ok =
        CHECK_EQ(match(g, b, in, len, level, segment_size, &given_up), 0) && CHECK_EQ(given_up, 0);

    if (!ok)
        printf("# %s, depth %u, %zu bytes in segments of %zu\n", level->finder->name, level->depth,
               len, segment_size);
    gpu_free_batch(g, b);
    gpu_close(g);
    return ok;
}

static inline void compare_kind(size_t len, const struct input_kind *k,
                                const struct lz_level *level, size_t segment_size)
{
    uint8_t *in = unit_need(malloc(len));

    fill_kind(in, len, k, LONGEST_TOKEN, 1);
    compare(in, len, level, segment_size);
    free(in);
}

static const struct input_kind zeros = {"zeros", ZEROS, 0};
static const struct input_kind period = {"period", PERIOD, 37};
static const struct input_kind random_bytes = {"random", RANDOM, 0};
static const struct input_kind tokens = {"tokens", TOKENS, 200};
static const struct input_kind words = {"words", WORDS, 0};

/* --- Segments of all lengths in one batch --- */

/* The largest segment: three chunks, of which the last is short. */
#define MIXED_SEGMENT (80 * KIB)

/* Fills all of a batch's memory with data of kind k, so that such data lies between the segments
 * that a test adds later. */
static inline void fill_gaps(struct gpu_batch *b, const struct input_kind *k)
{
    fill_kind(b->input, b->capacity + LZ_INPUT_PAD, k, LONGEST_TOKEN, 7);
}

/* Compares the engines on a batch of segments with these lengths and all kinds of data.  Data of
 * kind `gaps` lies between the segments. */
static inline void compare_mixed(struct gpu_engine *g, struct gpu_batch *b,
                                 const struct lz_level *level, const size_t *lengths,
                                 unsigned count, const struct input_kind *gaps, bool are_shorter)
{
    static const struct input_kind *const kinds[] = {&words, &zeros, &tokens,      &period,
                                                     &zeros, &zeros, &random_bytes};
    struct segment segments[16] = {{NULL, 0, 0, false}};
    uint8_t *data[16] = {NULL};
    size_t given_up;

    for (unsigned i = 0; i < count; i++) {
        data[i] = unit_need(malloc(lengths[i] + 1));
        fill_kind(data[i], lengths[i], kinds[(i + count) % 7], LONGEST_TOKEN, i + 1);
        segments[i] =
            (struct segment){data[i], lengths[i], are_shorter ? lengths[i] + i * 111 : 0, false};
    }
    fill_gaps(b, gaps);
    if (!CHECK_EQ(match_segments(g, b, segments, count, level, MIXED_SEGMENT, &given_up), 0) ||
        !CHECK_EQ(given_up, 0))
        printf("# %s, depth %u, %u segments in one batch, gaps: %s\n", level->finder->name,
               level->depth, count, gaps->name);
    for (unsigned i = 0; i < count; i++)
        free(data[i]);
}

#endif
