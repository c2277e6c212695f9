/*
 * bitwriter.h - bits to bytes, least significant first (RFC 1951, section 3.1.1)
 *
 * Bits gather in a 64-bit word.  A flush stores the whole word and keeps the bits of the last,
 * unfinished byte, so at most 7 are pending after it and BITWRITER_ROOM more can be put before the
 * next one is due.  There are no branches; the price is that up to 8 bytes past the last one
 * written are overwritten, which the caller's buffer must have room for.
 */
#ifndef GZLZSS_BITWRITER_H
#define GZLZSS_BITWRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define BITWRITER_ROOM 56
#define BITWRITER_SLACK 8

struct bitwriter {
    uint8_t *next;  /* where the next whole byte goes */
    uint64_t bits;  /* pending bits, the first lowest; the rest is 0 */
    unsigned count; /* how many are pending */
};

/* Adds the low `count` bits of `value`, whose other bits are 0. */
static inline void bits_put(struct bitwriter *w, uint64_t value, unsigned count)
{
    w->bits |= value << w->count;
    w->count += count;
}

/* Writes the whole bytes that are pending. */
static inline void bits_flush(struct bitwriter *w)
{
    store64(w->next, w->bits);
    w->next += w->count >> 3;
    w->bits >>= w->count & ~7u;
    w->count &= 7;
}

/* Flushes, filling the last byte up with zero bits. */
static inline void bits_align(struct bitwriter *w)
{
    /* First what is pending, so that no more than one byte is left to be filled up. */
    bits_flush(w);
    w->count = (w->count + 7) & ~7u;
    bits_flush(w);
}

#endif
