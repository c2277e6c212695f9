/*
 * methods.h - shared by the tests of the papers' match finders: variants of each method, and data
 * for them
 */
#ifndef GZLZSS_METHODS_H
#define GZLZSS_METHODS_H

#include <string.h>

#include "papers/papers.h"
#include "tests/unit/inputs.h"

/* True if a key has so few values that the tests try all of them. */
static inline bool has_few_values(const struct paper_key *key)
{
    return key->words == NULL && !key->is_power && key->most - key->least < 4;
}

/* Returns how many words a key has. */
static inline unsigned words_of(const struct paper_key *key)
{
    unsigned count = 0;

    while (key->words[count] != NULL)
        count++;
    return count;
}

/* Returns how many values of a key the tests try.  A usual word is left out, since variant 0 has
 * it. */
static inline unsigned values_of(const struct paper_key *key)
{
    if (key->words != NULL)
        return words_of(key) - 1;
    return (has_few_values(key) ? key->most - key->least + 1 : 2) + (key->word != NULL);
}

/* Returns value number n of those that the tests try. */
static inline uint32_t value_of(const struct paper_key *key, unsigned n)
{
    if (key->words != NULL)
        return n < key->usual ? n : n + 1;
    if (has_few_values(key))
        return key->least + n;
    return n == 0 ? key->least : key->most + n - 1;
}

/* Variants with more than one unusual value. */
static const char *const more_variants[] = {
    "culzss,search=far,window=200,length=9",
    "culzss,search=one-pass,window=1000,length=258",
    "culzss,search=both,length=5",
    "gpulz,symbol=3,window=255,chunk=512",
    "glzss-basic,threads=32,table=65536,chunk=4096",
    "glzss-tagging,threads=4,table=65536,chunk=4096",
    "glzss-tagging,threads=4,chunk=32768",
    "dklzss,threads=1,chunk=512",
    "lz4,skip=no,enter=all,window=4096,table=1024",
    "lz4,skip=no,enter=all,window=4096,table=1024,threads=1",
    "lz4,enter=all,chunk=4k,chain=2,table=256",
    "lz4,enter=all,chain=32768",
    "lz4,skip=no,acceleration=7,threads=1,chunk=8k",
    "lzss,hash=djb2,chain=3",
    "lzss,hash=murmur3,chain=3,buckets=64",
    "lzss,choice=saving,ahead=16,length=258,window=32768",
    "lzss,threads=1,ahead=0,chain=5",
    NULL,
};

/* Sets *level to the method's n-th variant of more_variants, counted from 0.  Returns false if
 * there is no such variant. */
static inline bool make_more(const struct paper_method *method, unsigned n, struct lz_level *level)
{
    char error[PAPER_ERROR_SIZE];

    for (size_t i = 0; more_variants[i] != NULL; i++) {
        *level = *lz_level(6);
        if (paper_parse(more_variants[i], level, error) && level->finder == method->finder &&
            n-- == 0)
            return true;
    }
    return false;
}

/* Sets *level to level 6 with the method's variant number n.  Variant 0 has the usual values.  Each
 * of the following variants changes one parameter: to its least or greatest value, to each of its
 * values if they are few, or to each unusual word.  The variants of more_variants come last.
 * Returns false if there is no such variant. */
static inline bool make_variant(const struct paper_method *method, unsigned n,
                                struct lz_level *level)
{
    *level = *lz_level(6);
    paper_use(method, level);
    if (n-- == 0)
        return true;
    for (size_t i = 0; method->keys[i].name != NULL; i++) {
        const struct paper_key *key = &method->keys[i];

        if (n < values_of(key)) {
            level->param[i] = value_of(key, n);
            return true;
        }
        n -= values_of(key);
    }
    return make_more(method, n, level);
}

/* True if the level has an unusual value of the key `threads`, which only the GPU engine obeys. */
static inline bool is_for_gpu(const struct paper_method *method, const struct lz_level *level)
{
    for (size_t i = 0; method->keys[i].name != NULL; i++)
        if (strcmp(method->keys[i].name, "threads") == 0)
            return level->param[i] != PAPER_AUTO;
    return false;
}

/* True if a key's value in variant n, which make_variant has set, was in no earlier variant, or is
 * an unusual one. */
static inline bool is_new_value(const struct paper_method *method, unsigned n,
                                const struct lz_level *level, size_t key)
{
    return n == 0 || level->param[key] != method->keys[key].usual;
}

/* Prints the variant that was tried. */
static inline void print_variant(const struct paper_method *method, const struct lz_level *level)
{
    printf("# %s", method->name);
    for (size_t i = 0; method->keys[i].name != NULL; i++)
        printf(", %s=%u", method->keys[i].name, level->param[i]);
    printf("\n");
}

/* Returns a random number, at most `most`, at which the method may change its behaviour: a length
 * or a distance that is a key's value or one of DEFLATE's limits, or is one less or one more.  The
 * number counts bytes, or symbols of two to four bytes. */
static inline size_t edge_of(const struct paper_method *method, const struct lz_level *level,
                             size_t most, uint64_t *state)
{
    static const size_t limits[] = {1, 2, 3, 4, 8, 16, 32, 128, LZ_MAX_MATCH, 4096, LZ_WINDOW_SIZE};
    size_t keys = 0, n, edge;

    while (method->keys[keys].name != NULL)
        keys++;
    n = unit_below(state, keys + sizeof(limits) / sizeof(limits[0]));
    edge = (n < keys ? level->param[n] : limits[n - keys]) + unit_below(state, 3);
    edge = edge > 1 ? edge - 1 : 1;
    if (unit_below(state, 4) == 0)
        edge *= 2 + unit_below(state, 3);
    return edge > most ? most : edge;
}

/* Fills out[0..len) with noise and, in each 4 KiB, with several copies of one long text.  Right
 * before each copy is a beginning of the text, whose last bytes equal the first bytes of the text.
 * A search that skips the bytes that it has matched must not skip the copy after them. */
static inline void fill_prefixes(uint8_t *out, size_t len)
{
    uint64_t state = 11;

    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(2 + unit_below(&state, 254));
    for (size_t start = 0; start + 4096 <= len; start += 4096) {
        uint8_t text[80], part[48];
        const size_t run = 24 + unit_below(&state, 17);

        /* The text is a run of zeros, a 1, eight zeros, and noise.  The part is the run and the
         * 1. */
        memset(text, 0, sizeof(text));
        text[run] = 1;
        for (size_t i = run + 9; i < sizeof(text); i++)
            text[i] = (uint8_t)(2 + unit_below(&state, 254));
        memcpy(part, text, run + 1);
        for (size_t at = start; at + 400 < start + 4096; at += 200 + unit_below(&state, 150)) {
            memcpy(out + at, part, run + 1);
            memcpy(out + at + run + 1, text, sizeof(text));
        }
        memcpy(out + start + 4096 - sizeof(text), text, sizeof(text));
    }
}

/* Fills out[0..len) with noise and copies of earlier bytes, with lengths and distances from
 * edge_of. */
static inline void fill_edges(uint8_t *out, size_t len, const struct paper_method *method,
                              const struct lz_level *level, uint64_t seed)
{
    uint64_t state = seed;

    for (size_t i = 0; i < len;) {
        const size_t length = edge_of(method, level, len - i, &state);
        const bool is_copy = i > 0 && unit_below(&state, 4) > 0;
        const size_t distance = is_copy ? edge_of(method, level, i, &state) : 0;
        const size_t n = is_copy ? length : length < 9 ? length : 9;

        for (size_t j = 0; j < n; j++, i++)
            out[i] = is_copy ? out[i - distance] : (uint8_t)unit_rand(&state);
    }
}

/* Fills out[0..len) with `distance` bytes (at least 1) of noise, again and again. */
static inline void fill_period(uint8_t *out, size_t len, size_t distance)
{
    uint64_t state = distance;

    for (size_t i = 0; i < len; i++)
        out[i] = i < distance ? (uint8_t)unit_rand(&state) : out[i - distance];
}

/* Fills out[0..len) with zeros and, at every multiple of `distance`, the same 64 bytes of noise.
 * Zeros need few table entries, so every method still remembers the noise when it comes again. */
static inline void fill_far(uint8_t *out, size_t len, size_t distance)
{
    uint64_t state = distance;

    for (size_t i = 0; i < len; i++) {
        const size_t at = i % distance;

        out[i] = at >= 64 ? 0 : i < distance ? (uint8_t)unit_rand(&state) : out[i - distance];
    }
}

#endif
