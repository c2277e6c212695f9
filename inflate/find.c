/*
 * find.c - finds where a block of DEFLATE may start (find.h)
 *
 * A dynamic block's header may start at any bit of the data.  A table tells, for the next 13 bits,
 * how many bits further the next possible start is.  The table rules out most places in one
 * look-up.  At the other places, the precode lengths of 3 bits, which follow the counts, must make
 * a complete code.  By chance, they rarely do.  The whole header is checked only if they do.
 */
#include "config.h"

#include "inflate/find.h"

#include <string.h>

#include "base/bytes.h"
#include "inflate/blockheader.h"

/* The number that two consecutive bytes of memory give when loaded as a uint16_t. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PAIR(first, second) ((first) << 8 | (second))
#else
#define PAIR(first, second) ((second) << 8 | (first))
#endif

bool inf_is_mark(const uint8_t *in)
{
    static const uint8_t mark[INF_MARK_SIZE] = {0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0xff};

    return memcmp(in, mark, sizeof(mark)) == 0;
}

bool inf_is_sync(const uint8_t *in)
{
    return load32(in) == 0xffff0000;
}

/*
 * The search looks only at pairs of bytes at even places.  These are enough, since each hint has
 * one of four pairs at an even place.  An empty stored block, 00 00 FF FF, has the pair FF FF or,
 * if it starts at an odd place, 00 FF.  A gzip header, 1F 8B 08, has the pair 1F 8B or, if it
 * starts at an odd place, 8B 08.  Each of these pairs but 1F 8B lies one or two bytes after the
 * hint's start, so the pairs are read from two bytes after `at` on.  A pair 1F 8B at `at` itself is
 * looked for separately.  The loop over the pairs has no branch, so compilers can vectorize it.
 */
size_t inf_find_hint(const uint8_t *in, size_t from, size_t to)
{
    enum { PAIRS = INF_HINT_SIZE / 2 };
    size_t at = from;

    for (; at + INF_HINT_SIZE + 2 <= to; at += INF_HINT_SIZE) {
        uint16_t pairs[PAIRS];
        unsigned any = 0;

        memcpy(pairs, in + at + 2, sizeof(pairs));
        for (size_t i = 0; i < PAIRS; i++) {
            const uint16_t pair = pairs[i];

            any |= (unsigned)(pair == 0xffff) | (unsigned)(pair == PAIR(0x00, 0xff)) |
                   (unsigned)(pair == PAIR(0x1f, 0x8b)) | (unsigned)(pair == PAIR(0x8b, 0x08));
        }
        if (any != 0 || (in[at] == 0x1f && in[at + 1] == 0x8b))
            return at;
    }
    return at < to ? at : to;
}

/* Bytes of a stored block's length and of the length's complement. */
#define LENGTHS_SIZE ((size_t)4)

/* Returns the length of a stored block if in[0..LENGTHS_SIZE) could be a length and its complement;
 * otherwise 0. */
static size_t stored_length(const uint8_t *in)
{
    const unsigned length = in[0] | (unsigned)in[1] << 8;
    const unsigned complement = in[2] | (unsigned)in[3] << 8;

    return (length ^ complement) == 0xffff ? length : 0;
}

/* Returns where the stored block ends whose length is at in[at]; SIZE_MAX if that is no length, or
 * no stored block starts at that end.  Between two stored blocks, the second one's first three bits
 * fill a byte, with zeros as padding. */
static size_t stored_end(const uint8_t *in, size_t len, size_t at)
{
    const size_t length = at + LENGTHS_SIZE <= len ? stored_length(in + at) : 0;
    const size_t end = at + LENGTHS_SIZE + length;

    if (length == 0 || end + 1 + LENGTHS_SIZE > len)
        return SIZE_MAX;
    return in[end] == 0 && stored_length(in + end + 1) > 0 ? end : SIZE_MAX;
}

/* The inner loop over STEP places has no branch, so compilers can vectorize it. */
size_t inf_find_stored(const uint8_t *in, size_t len, size_t from, size_t to)
{
    enum { STEP = 64 };

    for (size_t at = from; at < to; at += STEP) {
        const bool is_near_end = at + STEP + LENGTHS_SIZE > len;
        unsigned any = is_near_end;

        for (size_t i = at; i < at + STEP && !is_near_end; i++)
            any |= ((in[i] ^ in[i + 2]) & (in[i + 1] ^ in[i + 3])) == 0xff;
        for (size_t i = at; i < at + STEP && any != 0; i++) {
            const size_t end = i < to ? stored_end(in, len, i) : SIZE_MAX;

            if (end < to)
                return end;
        }
    }
    return SIZE_MAX;
}

/*
 * A dynamic block's header (RFC 1951, section 3.2.7) starts with 17 bits: one for the final block,
 * two for the type, five for the number of literal and length codes less 257, five for the number
 * of distance codes less 1, and four for the number of precode lengths less 4.  Then come the
 * precode lengths, of 3 bits each.
 */
enum {
    TYPE_DYNAMIC = 2 << 1, /* the first three bits of a block that is not the final one */
    TYPE_FINAL = TYPE_DYNAMIC | 1,
    LITLENS_MOST = 286 - 257,
    DISTANCES_MOST = 30 - 1,
    COUNTS_BITS = 17,
};

/* Whether a header whose first three bits are `wanted` could start with the lowest `known` bits of
 * `bits`. */
static bool could_be(unsigned wanted, unsigned bits, unsigned known)
{
    const unsigned type = bits & 7, litlens = bits >> 3 & 31, distances = bits >> 8 & 31;

    return ((type ^ wanted) & ((1u << (known < 3 ? known : 3)) - 1)) == 0 &&
           (known < 8 || litlens <= LITLENS_MOST) && (known < 13 || distances <= DISTANCES_MOST);
}

/* Fills in the tables for headers with `wanted` as their first three bits. */
static void init(struct inf_finder *f, unsigned wanted)
{
    for (unsigned bits = 0; bits < 1u << INF_FIND_BITS; bits++) {
        unsigned skip = 0;

        while (skip < INF_FIND_BITS && !could_be(wanted, bits >> skip, INF_FIND_BITS - skip))
            skip++;
        f->skip[bits] = (uint8_t)skip;
    }
    for (unsigned lengths = 0; lengths < 1 << 12; lengths++) {
        unsigned used = 0;

        for (unsigned i = 0; i < 12; i += 3)
            used += (128u >> (lengths >> i & 7)) & 127;
        f->used[lengths] = (uint16_t)used;
    }
}

void inf_finder_init(struct inf_finder *f)
{
    init(f, TYPE_DYNAMIC);
}

void inf_finder_init_final(struct inf_finder *f)
{
    init(f, TYPE_FINAL);
}

/* Whether `count` precode lengths of 3 bits, at most 19, make a complete code. */
static inline bool is_complete(const struct inf_finder *f, uint64_t lengths, unsigned count)
{
    unsigned used = 0;

    lengths &= (UINT64_C(1) << (3 * count)) - 1;
    for (unsigned i = 0; i < 60; i += 12)
        used += f->used[lengths >> i & 0xfff];
    return used == 128;
}

/* Returns the bits of `in` from bit `place` on; at least 57 of them are valid. */
static inline uint64_t bits_at(const uint8_t *in, uint64_t place)
{
    return load64(in + place / 8) >> (place % 8);
}

uint64_t inf_find_counted(const struct inf_finder *f, const uint8_t *in, size_t len, uint64_t from,
                          uint64_t to, uint64_t *checked)
{
    const uint64_t end = 8 * (uint64_t)len;

    for (uint64_t place = from; place < to && place + COUNTS_BITS + 57 <= end;) {
        const uint64_t bits = bits_at(in, place);
        const unsigned skip = f->skip[bits & ((1u << INF_FIND_BITS) - 1)];

        if (skip > 0) {
            place += skip;
            continue;
        }
        if (is_complete(f, bits_at(in, place + COUNTS_BITS), 4 + (unsigned)(bits >> 13 & 15))) {
            const size_t first = (size_t)(place / 8);
            const unsigned skipped = (unsigned)(place % 8);
            struct inf_block block;

            ++*checked;
            if (inf_check_block((uint64_t)in[first] >> skipped, 8 - skipped, in + first + 1,
                                len - first - 1, &block) == INF_BLOCK_GOOD)
                return place;
        }
        place++;
    }
    return INF_NOWHERE;
}

uint64_t inf_find_dynamic(const struct inf_finder *f, const uint8_t *in, size_t len, uint64_t from,
                          uint64_t to)
{
    uint64_t checked = 0;

    return inf_find_counted(f, in, len, from, to, &checked);
}
