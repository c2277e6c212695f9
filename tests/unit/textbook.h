/*
 * textbook.h - shared by the matching tests: parts of their textbook methods, and checks of
 * sequences
 *
 * The textbook methods implement the definitions in lzss/'s headers in the plainest way, with their
 * own constants.  From lzss/ itself, they use only the hash functions.
 */
#ifndef GZLZSS_TEXTBOOK_H
#define GZLZSS_TEXTBOOK_H

#include "lzss/chains.h"
#include "lzss/lzss.h"
#include "tests/unit/unit.h"

/* Declares a function of a textbook method, which sanitizers leave out.  In such functions,
 * sanitizers would find little, and take most of the time. */
#define TEXTBOOK \
    static __attribute__((no_sanitize("address"))) __attribute__((no_sanitize("undefined")))

/* Copies the level table's rows with this finder to `rows`.  Returns their number, which must not
 * be 0. */
TEXTBOOK inline size_t rows_of(const struct lz_finder *finder, const struct lz_level *rows[LZ_ROWS])
{
    size_t count = 0;

    for (int row = LZ_LEVEL_STORED; row < LZ_ROWS; row++)
        if (lz_level(row)->finder == finder)
            rows[count++] = lz_level(row);
    if (count == 0)
        abort();
    return count;
}

/* Returns how many of the first `most` bytes at a and b are equal, up to the first difference. */
TEXTBOOK inline size_t agreeing(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t n = 0;

    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* Returns the number of the highest bit that is set, or -1 if n is 0. */
TEXTBOOK inline int magnitude(size_t n)
{
    int bits = -1;

    for (; n > 0; n /= 2)
        bits++;
    return bits;
}

/* Returns the hash of the bytes at p, whose number is `bytes` (3 to 8, 12, 24 or 64). */
TEXTBOOK inline uint32_t hash_at(const uint8_t *p, unsigned bytes)
{
    uint64_t eights[8] = {0};
    uint32_t a, b;

    for (unsigned i = 0; i < bytes; i++)
        eights[i / 8] |= (uint64_t)p[i] << 8 * (i % 8);
    a = (uint32_t)eights[0];
    b = (uint32_t)(eights[0] >> 32);
    switch (bytes) {
    case 3:
        return lz_hash3(a);
    case 4:
        return lz_hash4(a);
    case 5:
        return lz_hash5(a, b);
    case 6:
        return lz_hash6(a, b);
    case 7:
        return lz_hash7(a, b);
    case 8:
        return lz_hash8(a, b);
    case 12:
        return lz_hash12(a, b, (uint32_t)eights[1]);
    case 24:
        return lz_hash24(eights[0], eights[1], eights[2]);
    default:
        return lz_hash64(eights[0], eights[2], eights[5], eights[7]);
    }
}

/* Returns how many different values the first 4096 bytes of the chunk in[0..size) have. */
TEXTBOOK inline unsigned sample_values(const uint8_t *in, size_t size)
{
    bool seen[256] = {false};
    unsigned distinct = 0;

    for (size_t pos = 0; pos < size && pos < 4096; pos++) {
        distinct += !seen[in[pos]];
        seen[in[pos]] = true;
    }
    return distinct;
}

/* Returns the least length of a match worth taking, for a chunk with `distinct` different values
 * and a level of this depth. */
TEXTBOOK inline unsigned least_taken(unsigned distinct, size_t depth)
{
    static const unsigned steps[] = {6, 8, 16, 40, 80}, leasts[] = {9, 7, 6, 5, 4, 3};
    unsigned i = 0;

    while (i < 5 && distinct >= steps[i])
        i++;
    if (depth < 5 && leasts[i] > 4)
        return 4;
    return depth < 10 && leasts[i] > 5 ? 5 : leasts[i];
}

/* Checks that the sequences of chunk `c` of the segment in[0..len) stay within DEFLATE's limits,
 * the chunk and `window`, and that the matches repeat earlier bytes. */
static inline bool check_valid(const uint8_t *in, size_t len, size_t c,
                               const struct lz_chunk *chunk, size_t window)
{
    size_t pos = c * LZ_CHUNK_SIZE, end = len - pos < LZ_CHUNK_SIZE ? len : pos + LZ_CHUNK_SIZE;

    if (!CHECK(chunk->count <= LZ_CHUNK_MAX_SEQUENCES))
        return false;
    for (uint32_t i = 0; i < chunk->count; i++) {
        const struct lz_sequence s = chunk->sequences[i];

        pos += s.literals;
        if (!CHECK(s.length >= 3 && s.length <= 258) || !CHECK(pos + s.length <= end) ||
            !CHECK(s.distance >= 1 && s.distance <= window) || !CHECK(s.distance <= pos) ||
            !CHECK_EQ(agreeing(in + pos, in + pos - s.distance, s.length), s.length))
            return false;
        pos += s.length;
    }
    return true;
}

/* True if the chunk's sequences are want[0..count). */
static inline bool same_sequences(const struct lz_chunk *chunk, const struct lz_sequence *want,
                                  size_t count)
{
    for (size_t i = 0; i < count && i < chunk->count; i++) {
        const struct lz_sequence *got = &chunk->sequences[i];

        if (!CHECK_EQ(got->literals, want[i].literals) || !CHECK_EQ(got->length, want[i].length) ||
            !CHECK_EQ(got->distance, want[i].distance)) {
            printf("# sequence %zu\n", i);
            return false;
        }
    }
    return CHECK_EQ(chunk->count, count);
}

#endif
