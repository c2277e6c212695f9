/*
 * bitwriter.h - writes bits to bytes, least significant bit first (RFC 1951, section 3.1.1)
 *
 * Bits gather in a 64-bit word.  A flush stores the whole word, and then keeps only the bits of the
 * last, unfinished byte.  So at most 7 bits are pending after a flush, and BITWRITER_ROOM more can
 * be put before the next flush.  There are no branches, so none is mispredicted.  The price is that
 * a flush overwrites up to BITWRITER_SLACK bytes after the last byte that it writes; the caller's
 * buffer must have room for them.
 */
#ifndef GZLZSS_BITWRITER_H
#define GZLZSS_BITWRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* The most bits that can be put between two flushes. */
#define BITWRITER_ROOM 56

/* The number of bytes that a flush may overwrite after the last byte that it writes. */
#define BITWRITER_SLACK 8

struct bitwriter {
    uint8_t *next;  /* where the next whole byte goes */
    uint64_t bits;  /* the pending bits, the first one lowest; all others are 0 */
    unsigned count; /* the number of pending bits */
};

/* Adds the low `count` bits of `value`, whose other bits are 0. */
BOTH_INLINE void bits_put(struct bitwriter *w, uint64_t value, unsigned count)
{
    w->bits |= value << w->count;
    w->count += count;
}

/* Writes the whole bytes among the pending bits. */
BOTH_INLINE void bits_flush(struct bitwriter *w)
{
    store64(w->next, w->bits);
    w->next += w->count >> 3;
    w->bits >>= w->count & ~7u;
    w->count &= 7;
}

/* Fills the last byte up with zero bits, and flushes. */
BOTH_INLINE void bits_align(struct bitwriter *w)
{
    /* Flush first, so that at most one byte is left to fill up. */
    bits_flush(w);
    w->count = (w->count + 7) & ~7u;
    bits_flush(w);
}

#endif
