/*
 * bytes.h - unaligned loads and match lengths for host code
 */
#ifndef GZLZSS_BASE_BYTES_H
#define GZLZSS_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Little-endian loads from any address. */
static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/*
 * How many bytes at a and b agree, up to `max`, when the first `known` are known to.  Reads up to 7
 * bytes past the end of the comparison.
 */
static inline size_t match_length(const uint8_t *a, const uint8_t *b, size_t known, size_t max)
{
    while (known < max) {
        uint64_t diff = load64(a + known) ^ load64(b + known);

        if (diff != 0) {
            known += (size_t)__builtin_ctzll(diff) >> 3;
            return known < max ? known : max;
        }
        known += 8;
    }
    return max;
}

#endif
