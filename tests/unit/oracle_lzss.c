/*
 * oracle_lzss.c - LZSS with hash chains as its paper describes it (oracles.h)
 */
#include "config.h"

#include "tests/unit/oracles.h"
#include "tests/unit/unit.h"

/* The two hashes of three bytes in the paper's appendix. */
static uint32_t djb2(const uint8_t *bytes, uint32_t size)
{
    uint32_t key = 5381;

    for (int i = 0; i < 3; i++) {
        key = key * 33 ^ bytes[i];
        key %= size;
    }
    return key;
}

uint32_t oracle_murmur3(const uint8_t *bytes, uint32_t size)
{
    uint32_t k = (uint32_t)bytes[0] * 65536 + bytes[1] * 256U + bytes[2], hash = 0;

    k *= 0xcc9e2d51;
    k = k << 15 | k >> (32 - 15);
    k *= 0x1b873593;
    hash ^= k;
    hash ^= 3;
    hash ^= hash >> 16;
    hash *= 0x85ebca6b;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35;
    hash ^= hash >> 16;
    return hash % size;
}

/* Returns the value of a match after `skipped` literals.  If choice is 0, the value is the match's
 * length.  Otherwise, the value is the number of bits that the paper's coding saves for each byte
 * of the literals and the match, times 1024, rounded down. */
static size_t value(size_t length, size_t skipped, uint32_t choice)
{
    const size_t plain = 9 * (skipped + length), coded = 9 * skipped + 17;

    return length == 0 ? 0 : choice == 0 ? length : (plain - coded) * 1024 / (skipped + length);
}

void oracle_lzss(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t window = param[0], longest = param[1], chain = param[4], ahead = param[5];
    size_t *last = unit_need(malloc(param[3] * sizeof(*last)));
    size_t *before = unit_need(malloc((len + 1) * sizeof(*before)));
    size_t *length = unit_need(calloc(len + 1, sizeof(*length)));
    size_t *distance = unit_need(calloc(len + 1, sizeof(*distance)));

    /* Find the longest match at each position.  If several matches are equally long, find the
     * nearest.  In chains, positions are counted from 1, and 0 ends a chain. */
    for (uint32_t i = 0; i < param[3]; i++)
        last[i] = 0;
    for (size_t pos = 0; pos + 3 <= len; pos++) {
        const uint32_t key = (param[2] == 0 ? djb2 : oracle_murmur3)(in + pos, param[3]);
        const size_t left = LZ_CHUNK_SIZE - pos % LZ_CHUNK_SIZE;
        size_t end = len - pos < left ? len : pos + left, looked_at = 0;

        end = end - pos < longest ? end : pos + longest;
        before[pos] = last[key];
        last[key] = pos + 1;
        for (size_t at = before[pos]; at > 0 && pos - (at - 1) <= window; at = before[at - 1]) {
            size_t n = 0;

            if (++looked_at > chain || pos + length[pos] == end)
                break;
            /* Only a match that also has this byte is longer. */
            if (in[at - 1 + length[pos]] != in[pos + length[pos]])
                continue;
            while (pos + n < end && in[at - 1 + n] == in[pos + n])
                n++;
            if (n >= 3 && n > length[pos]) {
                length[pos] = n;
                distance[pos] = pos - (at - 1);
            }
        }
    }
    for (size_t pos = 0; pos < len;) {
        const size_t start = pos - pos % LZ_CHUNK_SIZE;
        size_t best = pos;

        /* If a match starts here, take the best of the matches that start here or up to `ahead`
         * bytes later. */
        for (size_t at = pos; length[pos] > 0 && at <= pos + ahead && at < len; at++)
            if (at < start + LZ_CHUNK_SIZE &&
                value(length[at], at - pos, param[6]) > value(length[best], best - pos, param[6]))
                best = at;
        while (pos < best)
            tags[pos++] = 0;
        if (length[best] == 0)
            tags[pos++] = 0;
        for (size_t n = 0; n < length[best]; n++)
            tags[pos++] = (uint16_t)distance[best];
    }
    free(distance);
    free(length);
    free(before);
    free(last);
}
