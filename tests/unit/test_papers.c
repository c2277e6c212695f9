/*
 * test_papers.c - each method of papers/ finds the matches that its oracle finds (oracles.h), and
 * --matcher selects the method
 *
 * The tests go through the list of methods, so they test a new method as soon as it has an oracle.
 * test_paper_kernels.c compares the GPU engine with the CPU engine.
 */
#include "config.h"

#include <string.h>

#include "lzss/tags.h"
#include "tests/unit/methods.h"
#include "tests/unit/oracles.h"

#define KIB ((size_t)1 << 10)

static oracle *const oracles[] = {
#define ORACLE_ENTRY(name) oracle_##name,
    PAPER_METHODS(ORACLE_ENTRY)
#undef ORACLE_ENTRY
};

/* --- The text of --matcher --- */

/* --matcher accepts everything that --matcher=help prints for each method, and exactly the ranges
 * that --matcher=help prints. */
static void test_list(void)
{
    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        const struct paper_method *method = paper_methods[p];
        size_t keys = 0;

        CHECK(strspn(method->name, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
              strlen(method->name));
        CHECK(strcmp(method->finder->name, method->name) == 0);
        CHECK(method->finder->twin != LZ_TWIN_NONE);
        CHECK(method->core_guess > 0);
        for (size_t q = 0; q < p; q++)
            CHECK(strcmp(method->name, paper_methods[q]->name) != 0);
        for (const struct paper_key *key = method->keys; key->name != NULL; key++, keys++) {
            if (key->words == NULL)
                CHECK(key->least <= key->usual && key->usual <= key->most);
            else
                CHECK(key->usual < words_of(key));
            for (size_t q = 0; q < keys; q++)
                CHECK(strcmp(key->name, method->keys[q].name) != 0);
        }
        CHECK(keys <= LZ_PARAMS);
    }
}

/* A method for the tests, with a key of each type. */
static const char *const fruits[] = {"apple", "pear", NULL};
static const struct paper_key test_keys[] = {
    {.name = "size", .usual = 7, .least = 5, .most = 4000000000},
    {.name = "power", .usual = 16, .least = 8, .most = 64, .is_power = true},
    {.name = "fruit", .usual = 1, .words = fruits},
    {.name = NULL},
};
static const struct lz_finder test_finder = {.name = "test"};
static const struct paper_method test_method = {
    .name = "test", .finder = &test_finder, .core_guess = 12e6, .keys = test_keys};

static void test_use(void)
{
    struct lz_level level = *lz_level(9);

    level.param[3] = 5;
    paper_use(&test_method, &level);
    CHECK(level.finder == &test_finder);
    CHECK(level.core_guess == 12e6);
    /* The fields for encoding are still the level's. */
    CHECK_EQ(level.split, lz_level(9)->split);
    CHECK_EQ(level.segment_default, lz_level(9)->segment_default);
    CHECK_EQ(level.param[0], 7);
    CHECK_EQ(level.param[1], 16);
    CHECK_EQ(level.param[2], 1);
    CHECK_EQ(level.param[3], 0);
}

static void test_keys_and_values(void)
{
    static const struct {
        const char *text;
        uint32_t size, power, fruit;
    } good[] = {
        {"size=5", 5, 16, 1},      {"size=4000000000", 4000000000, 16, 1},
        {"power=8", 7, 8, 1},      {"power=64", 7, 64, 1},
        {"fruit=apple", 7, 16, 0}, {"fruit=pear,size=006,power=32", 6, 32, 1},
    };
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "test has no key ''"},
        {"colour=red", "test has no key 'colour'"},
        {"siz=6", "test has no key 'siz'"},
        {"sizes=6", "test has no key 'sizes'"},
        {"size=6,", "test has no key ''"},
        {"size", "give size 5 to 4000000000"},
        {"size=", "give size 5 to 4000000000"},
        {"size=4", "give size 5 to 4000000000"},
        {"size=4000000001", "give size 5 to 4000000000"},
        {"size=4294967302", "give size 5 to 4000000000"}, /* 2^32 + 6 */
        {"size=18446744073709551622", "give size 5 to 4000000000"},
        {"size=-6", "give size 5 to 4000000000"},
        {"size= 6", "give size 5 to 4000000000"},
        {"size=6k", "give size 5 to 4000000000"},
        {"size=6=6", "give size 5 to 4000000000"},
        {"power=4", "give power a power of two, 8 to 64"},
        {"power=24", "give power a power of two, 8 to 64"},
        {"power=128", "give power a power of two, 8 to 64"},
        {"fruit=plum", "give fruit one of: apple pear"},
        {"fruit=app", "give fruit one of: apple pear"},
        {"fruit", "give fruit one of: apple pear"},
        {"size=6,power=8,size=6", "size is given twice"},
    };
    struct lz_level level;
    char error[PAPER_ERROR_SIZE];

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        paper_use(&test_method, &level);
        CHECK(paper_set(&test_method, good[i].text, &level, error));
        CHECK_EQ(level.param[0], good[i].size);
        CHECK_EQ(level.param[1], good[i].power);
        CHECK_EQ(level.param[2], good[i].fruit);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        paper_use(&test_method, &level);
        error[0] = '\0';
        if (!CHECK(!paper_set(&test_method, bad[i].text, &level, error)) ||
            !CHECK(strcmp(error, bad[i].error) == 0))
            printf("# %s: \"%s\"\n", bad[i].text, error);
    }
}

/* Tests every method's name, alone and with a key, and wrong texts, which leave the level's row
 * unchanged. */
static void test_names(void)
{
    static const char *const bad[] = {"", ",", "Culzss", "nothing", "nothing,window=8"};
    struct lz_level level = *lz_level(3);
    char error[PAPER_ERROR_SIZE], text[128];

    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        const struct paper_method *method = paper_methods[p];
        const struct paper_key *key = &method->keys[0];

        CHECK(paper_parse(method->name, &level, error) && level.finder == method->finder);
        snprintf(text, sizeof(text), "%s,", method->name);
        CHECK(!paper_parse(text, &level, error));
        snprintf(text, sizeof(text), "%sx", method->name);
        CHECK(!paper_parse(text, &level, error));
        if (key->name == NULL)
            continue;
        if (key->words == NULL)
            snprintf(text, sizeof(text), "%s,%s=%u", method->name, key->name, key->most);
        else
            snprintf(text, sizeof(text), "%s,%s=%s", method->name, key->name, key->words[0]);
        CHECK(paper_parse(text, &level, error));
        CHECK_EQ(level.param[0], key->words == NULL ? key->most : 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        level = *lz_level(3);
        CHECK(!paper_parse(bad[i], &level, error));
        CHECK(strncmp(error, "there is no match finder '", 26) == 0);
        CHECK(level.finder == lz_level(3)->finder);
    }
}

/* --- What the methods find --- */

static struct lz_sequence expected[LZ_CHUNK_MAX_SEQUENCES];

/* True if the chunk's sequences are those that the tags stand for. */
static bool are_tags(const struct lz_chunk *chunk, const uint16_t *tags, size_t len)
{
    const size_t count = lz_tags_to_sequences(tags, len, expected);

    return chunk->count == count &&
           (count == 0 || memcmp(chunk->sequences, expected, count * sizeof(*expected)) == 0);
}

/* Compares the sequences of a segment with the oracle's tags, from chunk `first` on. */
static bool is_found(const struct lz_chunk *chunks, const uint16_t *tags, size_t len, size_t first)
{
    for (size_t c = first; c < LZ_CHUNKS(len); c++) {
        const size_t start = c * LZ_CHUNK_SIZE;

        if (!CHECK(are_tags(&chunks[c], tags + start, LZ_CHUNK_END(start, len) - start))) {
            printf("# chunk %zu\n", c);
            return false;
        }
    }
    return true;
}

/* Compares the sequences with the oracle's tags again, after a second matcher has matched parts of
 * the segment. */
static bool are_parts_found(struct lz_matcher *m, struct lz_matcher *helper,
                            const struct lz_level *level, const uint8_t *in, size_t len,
                            const uint16_t *tags)
{
    const size_t chunks = LZ_CHUNKS(len);

    if (!level->finder->in_parts || chunks < 2)
        return true;
    lz_match_chunks(m, in, len, 0, chunks / 2, m);
    lz_match_chunks(helper, in, len, chunks / 2, chunks - chunks / 2, m);
    return is_found(lz_chunks(m), tags, len, 0);
}

/* Compares the method's results for the segment in[0..len) with those of its oracle.  The results
 * come from a new matcher and from a used one, with different bytes after the segment, as a whole
 * and in parts, and with the first chunk only as history. */
static void compare(size_t p, const struct lz_level *level, const uint8_t *in, size_t len)
{
    struct lz_matcher *m, *helper;
    uint16_t *tags;
    bool ok = true;

    /* The CPU engine would do the same as without the key `threads`. */
    if (is_for_gpu(paper_methods[p], level))
        return;
    m = unit_need(lz_matcher_new(level, len + 1));
    helper = unit_need(lz_matcher_new(level, len + 1));
    tags = unit_need(malloc((len + 1) * sizeof(*tags)));
    oracles[p](in, len, level->param, tags);
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        uint8_t *copy = padded(in, len, goes_on == 1);

        ok = ok && is_found(lz_match_segment(m, copy, len), tags, len, 0);
        ok = ok && are_parts_found(m, helper, level, copy, len, tags);
        if (level->finder->in_parts && len >= LZ_CHUNK_SIZE) {
            const struct lz_chunk *chunks = lz_match_after(m, copy, len);

            ok = ok && CHECK_EQ(chunks[0].count, 0) && is_found(chunks, tags, len, 1);
        }
        free(copy);
    }
    if (!ok) {
        print_variant(paper_methods[p], level);
        printf("# %zu bytes\n", len);
    }
    free(tags);
    lz_matcher_free(helper);
    lz_matcher_free(m);
}

static const struct input_kind kinds[] = {
    {"zeros", ZEROS, 0},         {"period 2", PERIOD, 2}, {"period 37", PERIOD, 37},
    {"period 200", PERIOD, 200}, {"random", RANDOM, 0},   {"4 letters", FEW_VALUES, 4},
    {"tokens", TOKENS, 200},     {"words", WORDS, 0},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Tests every kind of data with the usual values, and some kinds with every other variant. */
static void test_kinds(void)
{
    const size_t len = 34 * KIB + 5;
    uint8_t *in = unit_need(malloc(len));
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n++)
            for (size_t k = 0; k < KINDS; k++)
                if ((n == 0 && !UNIT_SANITIZED) || k % 3 == n % 3) {
                    fill_kind(in, len, &kinds[k], LONGEST_TOKEN, n);
                    compare(p, &level, in, len);
                }
    free(in);
}

/* Tests matches with the greatest length and distance, and with one byte more or less. */
static void test_edges(void)
{
    const size_t len = 70 * KIB;
    const uint64_t rounds = UNIT_SANITIZED ? 1 : 4;
    uint8_t *in = unit_need(malloc(len));
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n += UNIT_SANITIZED ? 2 : 1)
            for (uint64_t seed = 0; seed < rounds; seed++) {
                fill_edges(in, len, paper_methods[p], &level, seed);
                compare(p, &level, in, len);
            }
    free(in);
}

/* Tests data in which all matches have a distance that is a key's value, or one byte more.  Usual
 * values are tried only in variant 0; test_edges has them in all variants. */
static void test_periods(void)
{
    const size_t len = 40 * KIB;
    uint8_t *in = unit_need(malloc(len));
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n += UNIT_SANITIZED ? 2 : 1)
            for (size_t i = 0; paper_methods[p]->keys[i].name != NULL; i++)
                for (size_t more = 0; more < (UNIT_SANITIZED ? 1 : 2); more++) {
                    const size_t distance = level.param[i] + more;

                    if (!is_new_value(paper_methods[p], n, &level, i))
                        continue;
                    fill_period(in, len, distance > 0 ? distance : 1);
                    compare(p, &level, in, len);
                }
    free(in);
}

/* Compares every method with its oracle, on this data: with its usual values, and with every third
 * of its other variants, namely those whose number leaves `rest` when divided by three. */
static void compare_third(const uint8_t *in, size_t len, unsigned rest)
{
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n++)
            if (n == 0 || n % 3 == rest)
                compare(p, &level, in, len);
}

/* Right before each text that can be matched comes a beginning of that text (fill_prefixes). */
static void test_prefixes(void)
{
    const size_t len = 36 * KIB;
    uint8_t *in = unit_need(malloc(len));
    struct lz_level level;

    fill_prefixes(in, len);
    for (size_t p = 0; paper_methods[p] != NULL; p++)
        for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n++)
            compare(p, &level, in, len);
    free(in);
}

/* Tests matches at DEFLATE's greatest distance, and at distances that are one byte less or more.
 * The matches are in some places, or fill all of the data.  Each distance has its third of the
 * variants.  Under sanitizers, only the distance that is one byte more is tested. */
static void test_far(void)
{
    const size_t len = 70 * KIB;
    uint8_t *in = unit_need(malloc(len));

    for (size_t distance = LZ_WINDOW_SIZE + (UNIT_SANITIZED ? 1 : -1);
         distance <= LZ_WINDOW_SIZE + 1; distance++) {
        fill_far(in, len, distance);
        compare_third(in, len, distance % 3);
        fill_period(in, len, distance);
        compare_third(in, len, (distance + 1) % 3);
    }
    free(in);
}

/* Compares the method that a text selects with its oracle. */
static void compare_text(const char *text, const uint8_t *in, size_t len)
{
    struct lz_level level = *lz_level(6);
    char error[PAPER_ERROR_SIZE];

    if (!CHECK(paper_parse(text, &level, error))) {
        printf("# %s\n", error);
        return;
    }
    for (size_t p = 0; paper_methods[p] != NULL; p++)
        if (paper_methods[p]->finder == level.finder)
            compare(p, &level, in, len);
}

/* Tests combinations of keys that affect each other. */
static void test_together(void)
{
    const size_t len = 40 * KIB + 3;
    uint8_t *in = unit_need(malloc(len));

    /* The last three bytes of a packet and the first byte of the next packet occurred together
     * before.  They must not match, since a match must not cross the packet's end. */
    fill_kind(in, len, &kinds[4], LONGEST_TOKEN, 1);
    for (size_t i = 0; i + 4 <= len; i += 4096) {
        memcpy(in + i, "abca", 4);
        if (i > 0)
            memcpy(in + i - 3, "abc", 3);
    }
    compare_text("position-lists,hash=4,threshold=3,block=4096", in, len);
    compare_text("position-lists,hash=3,threshold=3,block=4096", in, len);

    /* The steps grow with each miss.  With an acceleration, the first step is long, too. */
    fill_kind(in, len, &kinds[6], LONGEST_TOKEN, 1);
    compare_text("lz4,table=256,skip=0", in, len);
    compare_text("lz4,table=256,skip=0,acceleration=7", in, len);
    compare_text("lz4,skip=1,acceleration=3,chunk=8k", in, len);
    free(in);
}

static void test_sizes(void)
{
    static const size_t sizes[] = {0,    1,    2,    3,     4,     5,     8,     127,  512,
                                   4095, 4096, 4097, 32767, 32768, 32769, 65536, 65537};
    uint8_t *in = unit_need(malloc(65537));
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        make_variant(paper_methods[p], 0, &level);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            fill_kind(in, sizes[i], &kinds[i % 2 == 0 ? 0 : 7], LONGEST_TOKEN, i);
            compare(p, &level, in, sizes[i]);
        }
    }
    free(in);
}

/* Tests short segments of a few symbols of one to four bytes, which have many parses of equal
 * size. */
static void test_few_symbols(void)
{
    const uint64_t rounds = UNIT_SANITIZED ? 200 : 4000;
    uint8_t in[4 * 64];
    struct lz_level level;

    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        make_variant(paper_methods[p], 0, &level);
        for (uint64_t seed = 0; seed < rounds; seed++) {
            uint64_t state = seed;
            const size_t width = 1 + unit_below(&state, 4);
            const size_t len = unit_below(&state, sizeof(in) + 1);
            const uint64_t values = 2 + unit_below(&state, 8);

            for (size_t i = 0; i < sizeof(in); i += width) {
                const uint64_t value = unit_below(&state, values);

                for (size_t j = 0; j < width && i + j < sizeof(in); j++)
                    in[i + j] = (uint8_t)(value * (j + 1));
            }
            compare(p, &level, in, len);
        }
    }
}

static void test_real_files(void)
{
    static const char *const names[] = {"prose.txt", "source.txt", "object.bin"};
    const char *srcdir = getenv("srcdir");
    const size_t most = 200 * KIB;
    uint8_t *in = unit_need(malloc(most));
    struct lz_level level;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[4096];
        size_t len;

        snprintf(name, sizeof(name), "%s/tests/data/%s", srcdir != NULL ? srcdir : ".", names[i]);
        len = unit_read_file(name, in, most);
        CHECK(len > 0);
        for (size_t p = 0; paper_methods[p] != NULL; p++)
            for (unsigned n = 0; make_variant(paper_methods[p], n, &level); n++)
                compare(p, &level, in, len);
    }
    free(in);
}

/* --- What the methods count --- */

/* Tests the methods that count, with so few bytes that the counts can be checked by hand. */
static void test_counts(void)
{
    static const struct {
        const char *matcher, *in;
        uint64_t counts[LZ_COUNTERS];
    } cases[] = {
        /* With 16 buckets, DJB2 is the exclusive or of the bytes' low four bits, so all orders of
         * the same three letters are in one bucket.  There, each of cxb, bac, cxa and xab probes
         * one earlier position, and the last abc probes two. */
        {"lzss,hash=djb2,buckets=16", "abcxbacxabc", {6, 5}},
        {"lzss,hash=djb2,buckets=16,ahead=0", "abcxbacxabc", {6, 5}},
        {"lzss,hash=djb2,buckets=16,chain=1", "abcxbacxabc", {5, 5}},
        {"lzss,hash=djb2,buckets=16,window=7", "abcxbacxabc", {5, 5}},
        {"lzss,hash=djb2,buckets=16,window=3", "abcxbacxabc", {2, 2}},
        /* Only abc finds another position in its bucket. */
        {"lzss,hash=murmur3,buckets=32768", "abcxbacxabc", {1, 0}},
        {"lzss,hash=djb2,buckets=32768", "abcxbacxabc", {1, 0}},
        /* abc probes one position.  The searches ahead of abc, for bcd and cde, probe one position
         * each.  A match of the greatest length is taken without looking ahead. */
        {"lzss,ahead=0,buckets=32768", "bcdeabcxabcde", {1, 0}},
        {"lzss,ahead=1,buckets=32768", "bcdeabcxabcde", {2, 0}},
        {"lzss,ahead=2,buckets=32768", "bcdeabcxabcde", {3, 0}},
        {"lzss,ahead=8,buckets=32768", "bcdeabcxabcde", {3, 0}},
        {"lzss,ahead=8,buckets=32768,length=3", "bcdeabcxabcde", {1, 0}},
        /* The search ahead of abc, for def, probes one position.  When the walk comes to def, the
         * walk does not search there again. */
        {"lzss,ahead=8,buckets=32768", "abcxdefyabcdef", {2, 0}},
        {"lzss,ahead=3,buckets=32768", "abcxdefyabcdef", {2, 0}},
        {"lzss", "ab", {0, 0}},
        {"culzss", "abcabcabc", {0, 0}},
    };
    struct lz_level level;
    char error[PAPER_ERROR_SIZE];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t len = strlen(cases[i].in);
        uint8_t *in = padded((const uint8_t *)cases[i].in, len, true);
        uint64_t counts[LZ_COUNTERS] = {0};
        struct lz_matcher *m;

        level = *lz_level(6);
        CHECK(paper_parse(cases[i].matcher, &level, error));
        m = unit_need(lz_matcher_new(&level, len));
        lz_match_segment(m, in, len);
        lz_take_counters(m, counts);
        for (size_t k = 0; k < LZ_COUNTERS; k++)
            if (!CHECK_EQ(counts[k], cases[i].counts[k]))
                printf("# %s: %s\n", cases[i].matcher, cases[i].in);
        lz_matcher_free(m);
        free(in);
    }
}

/* The sums of counts do not depend on which worker matches which part.  Counts that were taken once
 * are not taken again. */
static void test_counts_in_parts(void)
{
    const size_t len = 150 * KIB + 5, chunks = LZ_CHUNKS(len);
    uint8_t *plain = unit_need(malloc(len)), *in;
    struct lz_level level;

    fill_kind(plain, len, &kinds[KINDS - 1], LONGEST_TOKEN, 3);
    in = padded(plain, len, false);
    for (size_t p = 0; paper_methods[p] != NULL; p++) {
        struct lz_matcher *m, *helper;
        uint64_t whole[LZ_COUNTERS] = {0}, parts[LZ_COUNTERS] = {0};

        make_variant(paper_methods[p], 0, &level);
        if (!level.finder->in_parts)
            continue;
        m = unit_need(lz_matcher_new(&level, len));
        helper = unit_need(lz_matcher_new(&level, len));
        lz_match_segment(m, in, len);
        lz_take_counters(m, whole);
        lz_match_chunks(m, in, len, 0, 1, m);
        lz_match_chunks(helper, in, len, 1, chunks - 1, m);
        lz_take_counters(m, parts);
        lz_take_counters(helper, parts);
        lz_take_counters(helper, parts);
        for (size_t i = 0; i < LZ_COUNTERS; i++) {
            CHECK_EQ(parts[i], whole[i]);
            CHECK((whole[i] > 0) == (level.finder->counter_names != NULL));
        }
        lz_matcher_free(helper);
        lz_matcher_free(m);
    }
    free(in);
    free(plain);
}

int main(void)
{
    RUN(test_list);
    RUN(test_use);
    RUN(test_keys_and_values);
    RUN(test_names);
    RUN(test_kinds);
    RUN(test_edges);
    RUN(test_periods);
    RUN(test_prefixes);
    RUN(test_far);
    RUN(test_together);
    RUN(test_sizes);
    RUN(test_few_symbols);
    RUN(test_real_files);
    RUN(test_counts);
    RUN(test_counts_in_parts);
    return unit_done();
}
