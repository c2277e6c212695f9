/*
 * test_matcher.c - level 1 finds the matches that lzss/tagging.h defines, and the matches of every
 * level repeat earlier bytes
 *
 * The CPU engine's tagging finder uses one table for a whole segment.  The finder reads all
 * candidates of a chunk from the table before it compares the bytes of any of them, and writes
 * sequences without a tag array.  The textbook method
 * below does none of that.  Instead, it walks as the paper does, eight bytes at a time.  The
 * textbook method makes a new table for each chunk, with complete positions, and fills a tag array,
 * which lz_tags_to_sequences converts.  The finder and the textbook method must give exactly the
 * same sequences.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lzss/common.h"
#include "lzss/lzss.h"
#include "lzss/matcher.h"
#include "lzss/tagging.h"
#include "lzss/tags.h"
#include "tests/unit/inputs.h"
#include "tests/unit/textbook.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define MIB ((size_t)1 << 20)
#define MAX_LEN (MIB + 1)

/* On lower paths, only level 1 is tested here: other match finders have tests of their own for
 * these paths. */
static int last_level(void)
{
    return unit_on_lower_path() ? 1 : LZ_LEVEL_MAX;
}

static struct matchers matchers = {.segment_size = MAX_LEN};

/* --- The textbook method --- */

static int64_t newest[1 << LZ_TAGGING_HASH_BITS];

static uint32_t tagging_hash_at(const uint8_t *p, size_t least)
{
    return lz_tagging_hash(lz_tagging_product((uint32_t)p[0] | (uint32_t)p[1] << 8 |
                                                  (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24,
                                              least == 5 ? p[4] : 0));
}

/* The fewest bytes that have to agree in the segment in[0..len). */
static size_t least_of(const uint8_t *in, size_t len)
{
    unsigned distinct = 0;

    for (int value = 0; value < 256; value++)
        distinct += memchr(in, value, len < 4096 ? len : 4096) != NULL;
    return distinct < 192 ? 5 : 4;
}

/* Returns the distance from `pos` to its candidate, or 0. */
static size_t candidate(const uint8_t *in, size_t pos, size_t least)
{
    const int64_t found = newest[tagging_hash_at(in + pos, least)];
    const size_t distance = found > 0 ? pos - (size_t)found : 0;

    return distance < LZ_WINDOW_SIZE ? distance : 0;
}

/* Tags the chunk in[start..end) of the segment in[0..len).  Positions whose hashed bytes reach past
 * the segment are neither entered nor looked up. */
static void tag_chunk(const uint8_t *in, size_t len, size_t start, size_t end, uint16_t *tags)
{
    const size_t least = least_of(in, len);
    size_t entered = start < LZ_WINDOW_SIZE ? 0 : start - LZ_WINDOW_SIZE;
    size_t distance = 0; /* the distance of the match that the walk is in, or 0 */

    for (size_t i = 0; i < (size_t)1 << LZ_TAGGING_HASH_BITS; i++)
        newest[i] = -1;
    for (size_t pos = start; pos < end;) {
        const bool goes_on = distance > 0;
        const size_t enough = goes_on ? 4 : least;
        size_t agree = 0, tagged = 1;

        if (!goes_on && pos + least <= len) {
            for (; entered < pos; entered++)
                newest[tagging_hash_at(in + entered, least)] = (int64_t)entered;
            distance = candidate(in, pos, least);
        }
        if (distance > 0)
            agree = agreeing(in + pos, in + pos - distance, end - pos < 8 ? end - pos : 8);
        if (agree == 8)
            tagged = 4;
        else if (agree >= enough)
            tagged = agree;
        for (size_t i = 0; i < tagged; i++)
            tags[pos - start + i] = (uint16_t)(agree >= enough ? distance : 0);
        if (!goes_on && agree >= enough && pos > start && tags[pos - start - 1] == 0 &&
            in[pos - 1] == in[pos - 1 - distance])
            tags[pos - start - 1] = (uint16_t)distance;
        pos += tagged;
        if (agree < 8)
            distance = 0;
    }
}

/* --- Checks --- */

/* True if the chunk's sequences are those of the textbook method. */
static bool same_as_textbook(const uint8_t *in, size_t len, size_t start,
                             const struct lz_chunk *chunk)
{
    static uint16_t tags[LZ_CHUNK_SIZE];
    static struct lz_sequence want[LZ_CHUNK_MAX_SEQUENCES];
    size_t end = len - start < LZ_CHUNK_SIZE ? len : start + LZ_CHUNK_SIZE;
    size_t count;

    tag_chunk(in, len, start, end, tags);
    count = lz_tags_to_sequences(tags, end - start, want);
    return same_sequences(chunk, want, count);
}

/* Checks the segment in[0..len).  `what` names the segment in a failure. */
static void check_segment(const char *what, const uint8_t *in, size_t len)
{
    for (int goes_on = 0; goes_on <= 1; goes_on++) {
        uint8_t *copy = padded(in, len, goes_on);
        const struct lz_chunk *chunks =
            lz_match_segment(matcher_of(&matchers, lz_level(1)), copy, len);

        for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
            if (!check_valid(copy, len, c, &chunks[c], 32768) ||
                !same_as_textbook(copy, len, c * LZ_CHUNK_SIZE, &chunks[c])) {
                printf("# %s, %zu bytes, chunk %zu\n", what, len, c);
                break;
            }
        }
        CHECK(memcmp(copy, in, len) == 0);
        free(copy);
        if (len > 4 * LZ_CHUNK_SIZE)
            break; /* one kind of pad is enough */
    }
}

/* --- Inputs --- */

static const struct input_kind kinds[] = {
    {"zeros", ZEROS, 0},         {"period 1", PERIOD, 1},       {"period 2", PERIOD, 2},
    {"period 3", PERIOD, 3},     {"period 4", PERIOD, 4},       {"period 5", PERIOD, 5},
    {"period 6", PERIOD, 6},     {"period 7", PERIOD, 7},       {"period 8", PERIOD, 8},
    {"period 9", PERIOD, 9},     {"random", RANDOM, 0},         {"2 values", FEW_VALUES, 2},
    {"4 values", FEW_VALUES, 4}, {"20 values", FEW_VALUES, 20}, {"words", WORDS, 0},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static void fill(uint8_t *out, size_t len, size_t k, uint64_t seed)
{
    fill_kind(out, len, &kinds[k], LONGEST_TOKEN, seed);
}

static void shortest(void)
{
    for (size_t k = 0; k < KINDS; k++) {
        uint8_t in[20];

        fill(in, sizeof(in), k, 1);
        for (size_t len = 0; len <= sizeof(in); len++)
            check_segment(kinds[k].name, in, len);
    }
}

/* Tests segments of about one and two chunks, with matches that end with the chunk, or could go on
 * after the chunk's end. */
static void around_chunks(void)
{
    static uint8_t in[2 * LZ_CHUNK_SIZE + 4];

    for (size_t k = 0; k < KINDS; k++) {
        fill(in, sizeof(in), k, 2);
        for (size_t chunks = 1; chunks <= 2; chunks++)
            for (size_t len = chunks * LZ_CHUNK_SIZE - 4; len <= chunks * LZ_CHUNK_SIZE + 4; len++)
                check_segment(kinds[k].name, in, len);
    }
}

/* Tests whole segments, and one byte more or less, with positions above 65535, whose low 16 bits
 * occur several times. */
static void around_segments(void)
{
    uint8_t *in = unit_need(malloc(MAX_LEN));

    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].kind == PERIOD && kinds[k].parameter % 4 != 1)
            continue;
        fill(in, MAX_LEN, k, 3);
        check_segment(kinds[k].name, in, MIB + 1);
        if (kinds[k].kind == WORDS || kinds[k].kind == ZEROS) {
            check_segment(kinds[k].name, in, MIB);
            check_segment(kinds[k].name, in, MIB - 1);
        }
    }
    free(in);
}

/* Tests files that exist wherever this test is built: at least its executable, and gzlzss's
 * sources, in one segment. */
static void real_files(void)
{
    static const char *const binaries[] = {"/proc/self/exe", "/bin/sh"};
    static const char *const sources[] = {
        "LICENSE",          "Makefile.am",    "configure.ac",           "lzss/lzss.h",
        "lzss/tagging.c",   "lzss/tagging.h", "huffman/lengths.c",      "huffman/encoder.c",
        "huffman/header.c", "src/operands.c", "tests/unit/test_tags.c", "tests/unit/test_matcher.c",
        "lzss/lzss.h",
    };
    const char *srcdir = getenv("srcdir");
    uint8_t *in = unit_need(malloc(MAX_LEN));
    size_t len = 0;

    for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++) {
        len = unit_read_file(binaries[i], in, MAX_LEN);
        check_segment(binaries[i], in, len);
    }
    len = 0;
    for (size_t i = 0; srcdir != NULL && i < sizeof(sources) / sizeof(*sources); i++) {
        char name[4096];

        snprintf(name, sizeof(name), "%s/%s", srcdir, sources[i]);
        len += unit_read_file(name, in + len, MAX_LEN - len);
    }
    printf("# %zu bytes of source\n", len);
    check_segment("sources", in, len);
    free(in);
}

/* Returns the number of sequences with this distance. */
static size_t count_distance(const struct lz_chunk *chunks, size_t len, size_t distance)
{
    size_t n = 0;

    for (size_t c = 0; c < LZ_CHUNKS(len); c++)
        for (uint32_t i = 0; i < chunks[c].count; i++)
            n += chunks[c].sequences[i].distance == distance;
    return n;
}

/*
 * A marker of eight bytes, which occur nowhere else, is at `first` and again `distance` bytes
 * later.  The rest is zeros, which all have the same hash, so that they displace no marker from the
 * table.  So the first marker must be found exactly if it is at most LZ_TAGGING_WINDOW bytes back.
 */
static void repeat_marker(size_t first, size_t distance)
{
    static const uint8_t marker[] = {201, 113, 7, 59, 242, 131, 83, 167};
    size_t len = first + distance + 5000;
    uint8_t *in = unit_need(calloc(len + LZ_INPUT_PAD, 1));
    const struct lz_chunk *chunks;
    size_t second_start = first + distance, chunk_end;

    memcpy(in + first, marker, sizeof(marker));
    memcpy(in + second_start, marker, sizeof(marker));
    check_segment("marker", in, len);
    chunks = lz_match_segment(matcher_of(&matchers, lz_level(1)), in, len);
    /* The marker is not found if fewer than five bytes of its copy are left in the chunk. */
    chunk_end = (second_start / LZ_CHUNK_SIZE + 1) * LZ_CHUNK_SIZE;
    if (distance > LZ_TAGGING_WINDOW || chunk_end - second_start >= 5)
        CHECK_EQ(count_distance(chunks, len, distance) > 0, distance <= LZ_TAGGING_WINDOW);
    free(in);
}

static void window_ends(void)
{
    static const size_t firsts[] = {0,     1,     2,     100,   32760, 32764, 32765,
                                    32766, 32767, 32768, 32769, 65535, 65536, 65537};
    static const size_t distances[] = {32766, 32767, 32768, 32769};

    for (size_t f = 0; f < sizeof(firsts) / sizeof(*firsts); f++)
        for (size_t d = 0; d < sizeof(distances) / sizeof(*distances); d++)
            repeat_marker(firsts[f], distances[d]);
}

/* Positions some multiple of 65536 or of 262144 bytes back have the same low bits as near
 * positions. */
static void stale_positions(void)
{
    static const size_t nearby[] = {0, 1, 5, 300, 32767, 32768};
    static const size_t back[] = {1 << 16, 2 << 16, 1 << 18};

    for (size_t b = 0; b < sizeof(back) / sizeof(*back); b++) {
        for (size_t n = 0; n < sizeof(nearby) / sizeof(*nearby); n++) {
            repeat_marker(0, back[b] + nearby[n]);
            repeat_marker(50000, back[b] + nearby[n]);
        }
    }
}

/* Tests random data that repeats at exactly the window's size, or just beyond it. */
static void repeated_windows(void)
{
    uint8_t *in = unit_need(malloc(5 * LZ_TAGGING_WINDOW));
    uint64_t state = 5;

    for (size_t distance = LZ_TAGGING_WINDOW - 1; distance <= LZ_TAGGING_WINDOW + 1; distance++) {
        size_t len = 5 * LZ_TAGGING_WINDOW - 7;
        uint8_t *copy;
        size_t n;

        for (size_t i = 0; i < len; i++)
            in[i] = i < distance ? (uint8_t)unit_rand(&state) : in[i - distance];
        check_segment("repeated window", in, len);
        copy = padded(in, len, false);
        n = count_distance(lz_match_segment(matcher_of(&matchers, lz_level(1)), copy, len), len,
                           distance);
        CHECK_EQ(n > 300, distance <= LZ_TAGGING_WINDOW);
        free(copy);
    }
    free(in);
}

/* Tests data of several kinds, in pieces of random length, so that matches that start in data of
 * one kind end at any place in data of another kind. */
static void mixtures(void)
{
    uint8_t *in = unit_need(malloc(3 * LZ_CHUNK_SIZE));
    uint64_t state = 6;

    for (unsigned round = 0; round < 60; round++) {
        size_t len = unit_below(&state, 3 * LZ_CHUNK_SIZE + 1), pos = 0;

        while (pos < len) {
            size_t n = 1 + unit_below(&state, 1 + unit_below(&state, 3000));

            if (n > len - pos)
                n = len - pos;
            if (unit_below(&state, 2) && pos > 0) {
                size_t distance = 1 + unit_below(&state, pos < 40000 ? pos : 40000);

                for (size_t i = 0; i < n; i++)
                    in[pos + i] = in[pos + i - distance];
            } else {
                fill(in + pos, n, unit_below(&state, KINDS), unit_rand(&state));
            }
            pos += n;
        }
        check_segment("mixture", in, len);
    }
    free(in);
}

static bool same_chunks(const struct lz_chunk *a, const struct lz_chunk *b, size_t len)
{
    for (size_t c = 0; c < LZ_CHUNKS(len); c++)
        if (!CHECK_EQ(a[c].count, b[c].count) ||
            !CHECK(a[c].count == 0 || memcmp(a[c].sequences, b[c].sequences,
                                             a[c].count * sizeof(struct lz_sequence)) == 0))
            return false;
    return true;
}

/* A used matcher gives the same result as a new one; so does a matcher for larger segments. */
static void nothing_carried_over(void)
{
    size_t len = 3 * LZ_CHUNK_SIZE - 5;
    uint8_t *in = unit_need(calloc(len + LZ_INPUT_PAD, 1));

    for (size_t k = 0; k < KINDS; k++) {
        for (int level = LZ_LEVEL_MIN; level <= last_level(); level++) {
            size_t n = level == 1 ? len : len - (k * 4096 + (size_t)level * 333);
            struct lz_matcher *fresh = unit_need(lz_matcher_new(lz_level(level), n));

            if (k % 3 > 0 && level % 3 > 1)
                n = 10000;
            fill(in, n, k, 7);
            if (!same_chunks(lz_match_segment(matcher_of(&matchers, lz_level(level)), in, n),
                             lz_match_segment(fresh, in, n), n))
                printf("# %s, level %d\n", kinds[k].name, level);
            lz_matcher_free(fresh);
        }
    }
    lz_matcher_free(NULL);
    free(in);
}

/* True if all matches repeat earlier bytes, and stay within their chunk. */
static bool are_matches(const struct lz_chunk *chunks, const uint8_t *in, size_t len)
{
    for (size_t c = 0; c < LZ_CHUNKS(len); c++) {
        size_t pos = c * LZ_CHUNK_SIZE;

        for (uint32_t i = 0; i < chunks[c].count; i++) {
            const struct lz_sequence s = chunks[c].sequences[i];

            pos += s.literals;
            if (!CHECK(s.distance >= 1 && s.distance <= pos && s.distance <= LZ_WINDOW_SIZE) ||
                !CHECK(pos + s.length <= LZ_CHUNK_END(c * LZ_CHUNK_SIZE, len)) ||
                !CHECK(memcmp(in + pos, in + pos - s.distance, s.length) == 0))
                return false;
            pos += s.length;
        }
    }
    return true;
}

/* The first chunk is only history (lz_match_after).  If a finder can match a segment's chunks
 * independently, the other chunks get the same sequences as usual.  At all levels, the other chunks
 * have matches into the first chunk. */
static void after_a_chunk(void)
{
    const size_t len = 3 * LZ_CHUNK_SIZE - 777;
    uint64_t state = 5;
    uint8_t *in = unit_need(calloc(len + LZ_INPUT_PAD, 1));

    for (size_t k = 0; k < KINDS; k++) {
        fill(in, len, k, 9);
        for (int level = LZ_LEVEL_MIN; level <= last_level(); level++) {
            struct lz_matcher *other = unit_need(lz_matcher_new(lz_level(level), len));
            const struct lz_chunk *after =
                lz_match_after(matcher_of(&matchers, lz_level(level)), in, len);
            const struct lz_chunk *whole = lz_match_segment(other, in, len);

            CHECK_EQ(after[0].count, 0);
            CHECK(!lz_level(level)->finder->in_parts ||
                  same_chunks(after + 1, whole + 1, len - LZ_CHUNK_SIZE));
            CHECK(are_matches(after, in, len));
            lz_matcher_free(other);
        }
    }
    /* A chunk, and a copy of it with a few changes. */
    for (size_t i = 0; i < LZ_CHUNK_SIZE; i++)
        in[i] = (uint8_t)unit_rand(&state);
    memcpy(in + LZ_CHUNK_SIZE, in + 100, LZ_CHUNK_SIZE - 100);
    for (int level = LZ_LEVEL_MIN; level <= last_level(); level++) {
        const struct lz_chunk *after =
            lz_match_after(matcher_of(&matchers, lz_level(level)), in, 2 * LZ_CHUNK_SIZE);

        CHECK(after[1].count > 0);
        CHECK(after[1].count < 200);
        CHECK(are_matches(after, in, 2 * LZ_CHUNK_SIZE));
        /* A single chunk, with nothing after the history. */
        CHECK_EQ(lz_match_after(matcher_of(&matchers, lz_level(level)), in, LZ_CHUNK_SIZE)[0].count,
                 0);
    }
    free(in);
}

/* True if a and b have the same sequences, from the chunk that contains `begin` on, and the matches
 * repeat earlier bytes.  The first sequence starts at `begin`. */
static bool same_pieces(const struct lz_chunk *a, const struct lz_chunk *b, const uint8_t *in,
                        size_t begin, size_t end)
{
    size_t pos = begin;

    for (size_t c = begin / LZ_CHUNK_SIZE; c < LZ_CHUNKS(end); c++) {
        const size_t chunk_end = LZ_CHUNK_END(c * LZ_CHUNK_SIZE, end);

        if (!CHECK_EQ(a[c].count, b[c].count) ||
            !CHECK(memcmp(a[c].sequences, b[c].sequences, a[c].count * sizeof(*a[c].sequences)) ==
                   0))
            return false;
        for (uint32_t i = 0; i < b[c].count; i++) {
            const struct lz_sequence s = b[c].sequences[i];

            pos += s.literals;
            if (!CHECK(s.distance >= 1 && s.distance <= pos && pos + s.length <= chunk_end) ||
                !CHECK(memcmp(in + pos, in + pos - s.distance, s.length) == 0))
                return false;
            pos += s.length;
        }
        pos = chunk_end;
    }
    return true;
}

/* Matches pieces of any length, one after another.  A matcher that keeps its tables must find the
 * same matches as a matcher that fills its tables from the window before each piece.  That must
 * also hold after chunks were removed from the start of the data.  Short pieces take long, as each
 * has a window before it, so there is less data in them. */
static void piece_by_piece(void)
{
    const size_t most_data = 9 * LZ_CHUNK_SIZE + 777, little_data = 4 * LZ_CHUNK_SIZE + 777;
    uint8_t *in = unit_need(calloc(most_data + LZ_INPUT_PAD, 1));
    uint64_t state = 6;

    CHECK(lz_level_for_more(lz_level(LZ_LEVEL_STORED)) == NULL);
    CHECK(lz_level_for_more(lz_level(1)) == lz_level(2));
    CHECK(lz_level_for_more(lz_level(6)) == lz_level(6));
    CHECK(lz_level_for_more(lz_level(12)) == lz_level(9));
    for (size_t k = 0; k < KINDS; k++) {
        fill(in, most_data, k, 9);
        for (int level = 2; level <= 9; level += UNIT_SANITIZED ? 3 : 1) {
            const bool is_short = level % 2 != 0;
            const size_t len = is_short ? little_data : most_data, most = is_short ? 500 : 40000;
            struct lz_matcher *keeps = unit_need(lz_matcher_new(lz_level(level), len)),
                              *fills = matcher_of(&matchers, lz_level(level));
            size_t cut = 0, end;

            for (size_t begin = 0; begin < len; begin = end) {
                const size_t n = 1 + unit_below(&state, begin % 7 == 0 ? 9 : most);
                const struct lz_chunk *a, *b;

                end = n < len - begin ? begin + n : len;
                if (begin - cut >= 2 * LZ_CHUNK_SIZE)
                    cut = (begin / LZ_CHUNK_SIZE - 1) * LZ_CHUNK_SIZE;
                a = lz_match_more(keeps, in + cut, end - cut, begin - cut, begin > 0);
                b = lz_match_more(fills, in + cut, end - cut, begin - cut, false);
                if (!same_pieces(a, b, in + cut, begin - cut, end - cut))
                    break;
            }
            lz_matcher_free(keeps);
        }
    }
    free(in);
}

/* Several matchers match a segment's chunks: one from the front, the others from the end.  If the
 * finder can match in parts, the result must be the same as with one matcher. */
static void in_parts(void)
{
    const size_t most = 14 * LZ_CHUNK_SIZE;
    struct matchers helpers = {.segment_size = most}, alone = {.segment_size = most};
    uint8_t *in = unit_need(calloc(most + LZ_INPUT_PAD, 1));
    uint64_t state = 11;

    for (size_t k = 0; k < KINDS + 2; k++) {
        const size_t len = most - unit_below(&state, 3 * LZ_CHUNK_SIZE);
        const size_t period = LZ_CHUNK_SIZE - 6 + unit_below(&state, 10);

        fill(in, len, k < KINDS ? k : 10, k);
        /* The kinds from KINDS on repeat at about the greatest distance of a match. */
        for (size_t i = period; k >= KINDS && i < len; i++)
            if (unit_below(&state, 50) > 0)
                in[i] = in[i - period];
        for (int level = LZ_LEVEL_MIN; lz_level(level)->finder->in_parts; level++) {
            const struct lz_level *l = lz_level(level);
            struct lz_matcher *const m = matcher_of(&matchers, l);
            struct lz_matcher *const helper = matcher_of(&helpers, l);
            const struct lz_chunk *whole = lz_match_segment(matcher_of(&alone, l), in, len);
            size_t next = 0, end = LZ_CHUNKS(len);

            while (next < end) {
                size_t n = 1 + unit_below(&state, k % 2 == 0 ? 3 : 9);

                n = n < end - next ? n : end - next;
                if (unit_below(&state, 3) == 0) {
                    lz_match_chunks(m, in, len, next, n, m);
                    next += n;
                } else {
                    end -= n;
                    lz_match_chunks(helper, in, len, end, n, m);
                }
            }
            if (!same_chunks(lz_chunks(m), whole, len))
                printf("# kind %zu, level %d\n", k, level);
        }
    }
    free(in);
    matchers_free(&alone);
    matchers_free(&helpers);
}

/* If a finder could not get some of its memory, the result is the same. */
static void little_memory(void)
{
    const size_t most = 4 * LZ_CHUNK_SIZE;
    uint8_t *in = unit_need(calloc(most + LZ_INPUT_PAD, 1));
    uint64_t state = 13;

    for (int level = LZ_LEVEL_MIN; level <= last_level(); level++) {
        const struct lz_level *l = lz_level(level);
        const size_t more = lz_matcher_more(l, most);

        /* Give the matcher none of the additional memory, then a sixth of it, then two sixths.
         * Some finders take no additional memory. */
        for (unsigned share = 0; share <= (more > 0 ? 2 : 0); share++) {
            struct lz_matcher *m = unit_need(lz_matcher_new(l, most));

            lz_matcher_limit(m, more / 6 * share);
            for (size_t k = share % 2; k < KINDS; k += 2) {
                const size_t len = most - unit_below(&state, LZ_CHUNK_SIZE);

                fill(in, len, k, 1 + (uint64_t)level);
                if (!same_chunks(lz_match_segment(m, in, len),
                                 lz_match_segment(matcher_of(&matchers, l), in, len), len) ||
                    !same_chunks(lz_match_after(m, in, len),
                                 lz_match_after(matcher_of(&matchers, l), in, len), len))
                    printf("# %s, level %d, %u/6\n", kinds[k].name, level, share);
            }
            lz_matcher_free(m);
        }
    }
    free(in);
}

/* The result does not depend on bytes that a longer segment has left behind in the matcher's
 * memory. */
static void nothing_before(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 6 * LZ_CHUNK_SIZE;
    uint8_t *const all =
        mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *const in = all + page;
    uint64_t state = 3;

    if (!CHECK(all != MAP_FAILED))
        return;
    CHECK_EQ(mprotect(all, page, PROT_NONE), 0);
    for (int level = LZ_LEVEL_MIN; level <= last_level(); level++) {
        struct lz_matcher *m = unit_need(lz_matcher_new(lz_level(level), size));

        for (size_t len = 1; len < 3 * page; len += len < 40 ? 1 : 301) {
            for (size_t i = 0; len % 8 == 1 && i < size; i++)
                in[i] = (uint8_t)unit_below(&state, 4);
            if (len % 8 == 1)
                lz_match_segment(m, in, size - LZ_INPUT_PAD);
            CHECK(are_matches(lz_match_segment(m, in, len), in, len));
        }
        lz_matcher_free(m);
    }
    munmap(all, page + size);
}

/* All matches of every level and method repeat earlier bytes, and the bytes after the segment do
 * not matter. */
static void every_level(void)
{
    static uint8_t in[2 * LZ_CHUNK_SIZE + 4];
    struct matchers others = {.segment_size = sizeof(in)};

    for (int level = LZ_LEVEL_MIN; level <= last_level(); level++) {
        for (size_t k = 0; k < KINDS; k++) {
            size_t lens[] = {0, 1, 2, 3, 4, 7, 11, 12, 13, 300, LZ_CHUNK_SIZE - k, sizeof(in)};

            for (size_t i = k % 2; i < sizeof(lens) / sizeof(*lens); i += 2) {
                const struct lz_chunk *chunks;
                uint8_t *copy, *differs;

                fill(in, lens[i], k, (uint64_t)level);
                copy = padded(in, lens[i], true);
                differs = padded(in, lens[i], false);
                chunks = lz_match_segment(matcher_of(&matchers, lz_level(level)), copy, lens[i]);
                for (size_t c = 0; c < LZ_CHUNKS(lens[i]); c++)
                    check_valid(copy, lens[i], c, &chunks[c], 32768);
                if (!same_chunks(
                        chunks,
                        lz_match_segment(matcher_of(&others, lz_level(level)), differs, lens[i]),
                        lens[i]))
                    printf("# %s, level %d\n", kinds[k].name, level);
                free(differs);
                free(copy);
            }
        }
    }
    matchers_free(&others);
}

/* lz_take_counters adds what was counted since its last call. */
static void counters_start_anew(void)
{
    struct lz_matcher *m = unit_need(lz_matcher_new(lz_level(LZ_LEVEL_MIN), 1));
    uint64_t sums[LZ_COUNTERS] = {0};

    for (size_t i = 0; i < LZ_COUNTERS; i++)
        m->counters[i] = i + 1;
    lz_take_counters(m, sums);
    lz_take_counters(m, sums);
    for (size_t i = 0; i < LZ_COUNTERS; i++)
        CHECK_EQ(sums[i], i + 1);
    lz_matcher_free(m);
}

int main(void)
{
    RUN(shortest);
    RUN(around_chunks);
    RUN(around_segments);
    RUN(real_files);
    RUN(window_ends);
    RUN(stale_positions);
    RUN(repeated_windows);
    RUN(mixtures);
    RUN(nothing_carried_over);
    RUN(after_a_chunk);
    /* Level 1 has no part in this test. */
    if (last_level() > 1)
        RUN(piece_by_piece);
    RUN(in_parts);
    RUN(little_memory);
    RUN(nothing_before);
    RUN(every_level);
    RUN(counters_start_anew);
    matchers_free(&matchers);
    return unit_done_on_paths();
}
