/*
 * inputs.h - shared by the tests of matching and coding: inputs, and DEFLATE's tables written out
 */
#ifndef GZLZSS_INPUTS_H
#define GZLZSS_INPUTS_H

#include <string.h>

#include "lzss/lzss.h"
#include "tests/unit/unit.h"

/* Copies in[0..len) to memory that ends right after the pad, so that a sanitizer sees reads past
 * the pad.  If goes_on is true, the pad repeats the data's last byte, so a run at the data's end
 * seems to go on.  Otherwise, the pad's first byte already differs from the data's last byte. */
static inline uint8_t *padded(const uint8_t *in, size_t len, bool goes_on)
{
    uint8_t *copy = unit_need(malloc(len + LZ_INPUT_PAD));

    memcpy(copy, in, len);
    for (size_t i = len; i < len + LZ_INPUT_PAD; i++)
        copy[i] = (uint8_t)(len == 0 ? 0 : goes_on ? copy[i - 1] : ~copy[i - 1]);
    return copy;
}

/* Matchers for segments of up to `segment_size` bytes, one for each row of a level table that a
 * test uses.  One matcher matches all segments for its row, so that a test sees whether bytes that
 * one segment leaves in memory affect the next segment. */
struct matchers {
    size_t segment_size;
    size_t count;
    const struct lz_level *levels[64];
    struct lz_matcher *matchers[64];
};

static inline struct lz_matcher *matcher_of(struct matchers *all, const struct lz_level *level)
{
    size_t i = 0;

    while (i < all->count && all->levels[i] != level)
        i++;
    if (i == sizeof(all->levels) / sizeof(all->levels[0]))
        abort();
    if (i == all->count) {
        all->levels[i] = level;
        all->matchers[i] = unit_need(lz_matcher_new(level, all->segment_size));
        all->count++;
    }
    return all->matchers[i];
}

static inline void matchers_free(struct matchers *all)
{
    for (size_t i = 0; i < all->count; i++)
        lz_matcher_free(all->matchers[i]);
    all->count = 0;
}

/* A kind of test data. */
struct input_kind {
    const char *name;
    enum { ZEROS, PERIOD, RANDOM, FEW_VALUES, TOKENS, WORDS } kind;
    unsigned parameter; /* depends on the kind: the period, or the number of different values */
};

#define LONGEST_TOKEN 16

/* Fills out[0..len) with tokens and single values between them.  A token is a string of 2 to
 * `longest` values (at most LONGEST_TOKEN); some tokens are more frequent than others.  Any 4096
 * bytes that start at a multiple of 4096 have exactly `values` different values. */
static inline void fill_tokens(uint8_t *out, size_t len, unsigned values, unsigned longest,
                               uint64_t *state)
{
    uint64_t dictionary = 4;
    uint8_t tokens[512][LONGEST_TOKEN];

    for (unsigned i = 0; i < 512 * longest; i++)
        tokens[i / longest][i % longest] = (uint8_t)unit_below(&dictionary, values);
    for (size_t i = 0; i < len;) {
        size_t token = unit_below(state, 1 + unit_below(state, 512));
        size_t n = unit_below(state, 4) == 0 ? 1 : 2 + token % (longest - 1);

        if (i % 4096 < values) {
            out[i] = (uint8_t)(i % 4096);
            i++;
            continue;
        }
        for (size_t j = 0; j < n && i < len && i % 4096 >= values; j++)
            out[i++] = n == 1 ? (uint8_t)unit_below(state, values) : tokens[token][j];
    }
}

/* Fills out[0..len) with words of 1 to 11 letters and blanks between them.  Some words are more
 * frequent than others. */
static inline void fill_words(uint8_t *out, size_t len, uint64_t *state)
{
    uint8_t words[256][12];

    for (unsigned i = 0; i < sizeof(words); i++)
        words[i / 12][i % 12] = (uint8_t)('a' + unit_below(state, 26));
    for (size_t i = 0; i < len; i++) {
        uint64_t word = unit_below(state, 1 + unit_below(state, 256));
        size_t n = 1 + word % 11;

        for (size_t j = 0; j < n && i < len; j++)
            out[i++] = words[word][j];
        if (i < len)
            out[i] = ' ';
    }
}

/* Fills out[0..len) with data of kind k.  longest: the longest token, for kinds with tokens. */
static inline void fill_kind(uint8_t *out, size_t len, const struct input_kind *k, unsigned longest,
                             uint64_t seed)
{
    uint64_t state = seed;

    if (k->kind == TOKENS) {
        fill_tokens(out, len, k->parameter, longest, &state);
        return;
    }
    if (k->kind == WORDS) {
        fill_words(out, len, &state);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (k->kind == ZEROS)
            out[i] = 0;
        else if (k->kind == PERIOD)
            out[i] = (uint8_t)(17 * (i % k->parameter) + 1);
        else if (k->kind == RANDOM)
            out[i] = (uint8_t)unit_rand(&state);
        else
            out[i] = (uint8_t)unit_below(&state, k->parameter);
    }
}

/* Returns the symbol of a match length, and its number of extra bits (RFC 1951, section 3.2.5). */
static inline unsigned length_symbol(size_t length, unsigned *extra_bits)
{
    static const uint16_t base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                    2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    unsigned s = 28;

    while (base[s] > length)
        s--;
    *extra_bits = extra[s];
    return 257 + s;
}

/* Returns the symbol of a distance, and its number of extra bits (RFC 1951, section 3.2.5). */
static inline unsigned distance_symbol(size_t distance, unsigned *extra_bits)
{
    static const uint16_t base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                    33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                    1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const uint8_t extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                    6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    unsigned s = 29;

    while (base[s] > distance)
        s--;
    *extra_bits = extra[s];
    return s;
}

#endif
