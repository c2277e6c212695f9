/*
 * test_strategies.c - the rows for Huffman codes only and for runs find what lzss/literals.c and
 * lzss/runs.c say, whether a segment is matched as a whole or in parts
 */
#include "config.h"

#include <string.h>

#include "lzss/lzss.h"
#include "tests/unit/inputs.h"
#include "tests/unit/textbook.h"
#include "tests/unit/unit.h"

#define MAX_LEN (3 * (size_t)LZ_CHUNK_SIZE)

static const struct input_kind kinds[] = {{"zeros", ZEROS, 0},         {"period 2", PERIOD, 2},
                                          {"random", RANDOM, 0},       {"2 values", FEW_VALUES, 2},
                                          {"4 values", FEW_VALUES, 4}, {"words", WORDS, 0}};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Lengths around 0, the shortest and the longest match, and the size of a chunk. */
/* clang-format off */
static const size_t lengths[] = {
    0, 1, 2, 3, 4, 5, 258, 259, 260, 517, LZ_CHUNK_SIZE - 1, LZ_CHUNK_SIZE, LZ_CHUNK_SIZE + 1,
    LZ_CHUNK_SIZE + 4, 2 * LZ_CHUNK_SIZE + 300, MAX_LEN
};
/* clang-format on */

/* Sets covered[i] for the bytes of the segment that are in a run: three bytes or more, in one
 * chunk, that are all equal to the byte before them. */
static void cover(const uint8_t *in, size_t len, bool *covered)
{
    for (size_t start = 0; start < len; start += LZ_CHUNK_SIZE) {
        const size_t end = LZ_CHUNK_END(start, len);
        size_t after;

        /* in[i..after) are equal; a run leaves out the byte that it repeats. */
        for (size_t i = start; i < end; i = after) {
            size_t first = i > 0 && in[i - 1] == in[i] ? i : i + 1;

            for (after = i + 1; after < end && in[after] == in[i];)
                after++;
            for (size_t n = first; n < after; n++)
                covered[n] = after - first >= LZ_MIN_MATCH;
        }
    }
}

/* True if the chunks' matches are at distance 1 and cover exactly the bytes marked in covered[]. */
static bool covers(const uint8_t *in, size_t len, const struct lz_chunk *chunks,
                   const bool *covered)
{
    for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
        size_t pos = c * LZ_CHUNK_SIZE;
        const size_t end = LZ_CHUNK_END(pos, len);

        if (!check_valid(in, len, c, &chunks[c], 1))
            return false;
        for (uint32_t i = 0; i < chunks[c].count; i++) {
            for (size_t n = chunks[c].sequences[i].literals; n > 0; n--)
                if (!CHECK(!covered[pos++]))
                    return false;
            for (size_t n = chunks[c].sequences[i].length; n > 0; n--)
                if (!CHECK(covered[pos++]))
                    return false;
        }
        while (pos < end)
            if (!CHECK(!covered[pos++]))
                return false;
    }
    return true;
}

static void check_runs(const struct input_kind *kind, const uint8_t *in, size_t len)
{
    struct matchers alone = {.segment_size = MAX_LEN}, helpers = alone;
    bool *const covered = unit_need(calloc(len + 1, sizeof(*covered)));
    uint8_t *const copy = padded(in, len, true);
    struct lz_matcher *const m = matcher_of(&alone, &lz_run_length);
    struct lz_matcher *const helper = matcher_of(&helpers, &lz_run_length);

    cover(copy, len, covered);
    if (!covers(copy, len, lz_match_segment(m, copy, len), covered))
        printf("# %s, %zu bytes\n", kind->name, len);
    for (size_t c = LZ_CHUNKS(len); c-- > 0;)
        lz_match_chunks(helper, copy, len, c, 1, m);
    CHECK(covers(copy, len, lz_chunks(m), covered));
    if (len >= LZ_CHUNK_SIZE) {
        memset(covered, false, LZ_CHUNK_SIZE);
        CHECK(covers(copy, len, lz_match_after(m, copy, len), covered));
    }
    free(copy);
    free(covered);
    matchers_free(&alone);
    matchers_free(&helpers);
}

static void runs(void)
{
    uint8_t *const in = unit_need(malloc(MAX_LEN));

    for (size_t k = 0; k < KINDS; k++) {
        fill_kind(in, MAX_LEN, &kinds[k], 10, k);
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            check_runs(&kinds[k], in, lengths[i]);
    }
    free(in);
}

static void literals(void)
{
    struct matchers alone = {.segment_size = MAX_LEN};
    struct lz_matcher *const m = matcher_of(&alone, &lz_huffman_only);
    uint8_t *const in = unit_need(calloc(MAX_LEN + LZ_INPUT_PAD, 1));

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const struct lz_chunk *chunks = lz_match_segment(m, in, lengths[i]);

        for (size_t c = 0; c < LZ_CHUNKS(lengths[i]); c++)
            CHECK_EQ(chunks[c].count, 0);
    }
    lz_match_chunks(m, in, MAX_LEN, 1, 2, m);
    CHECK(lz_chunks(m)[1].count == 0 && lz_chunks(m)[2].count == 0);
    free(in);
    matchers_free(&alone);
}

/* All rows have a twin on a GPU, except level 0, lz_huffman_only and lz_run_length. */
static void twins(void)
{
    CHECK(!lz_has_twin(&lz_huffman_only) && !lz_has_twin(&lz_run_length));
    for (int level = LZ_LEVEL_STORED; level <= LZ_LEVEL_MAX; level++)
        CHECK_EQ(lz_has_twin(lz_level(level)), level != LZ_LEVEL_STORED);
}

int main(void)
{
    RUN(runs);
    RUN(literals);
    RUN(twins);
    return unit_done();
}
