/*
 * emit.h - writes matches as sequences
 */
#ifndef GZLZSS_LZSS_EMIT_H
#define GZLZSS_LZSS_EMIT_H

#include <stdbool.h>

#include "lzss/common.h"

/* Writes to `out` a sequence of `literals` literals and a match of `length` bytes, LZ_MIN_MATCH or
 * more, at `distance`.  A match longer than LZ_MAX_MATCH takes several sequences (lz_pieces).
 * Returns the end of the sequences written. */
static inline struct lz_sequence *lz_emit(struct lz_sequence *out, size_t literals, size_t length,
                                          size_t distance)
{
    if (__builtin_expect(length <= LZ_MAX_MATCH, 1)) {
        *out = (struct lz_sequence){(uint16_t)literals, (uint16_t)length, (uint16_t)distance};
        return out + 1;
    }
    for (uint32_t p = 0, pieces = lz_pieces((uint32_t)length); p < pieces; p++) {
        out->literals = (uint16_t)(p == 0 ? literals : 0);
        out->length = (uint16_t)lz_piece_length((uint32_t)length, p);
        out->distance = (uint16_t)distance;
        out++;
    }
    return out;
}

/* A match that is found but not yet written, because the next match may continue it
 * (lz_continues). */
struct lz_pending {
    int32_t literals; /* position of the first literal before the match */
    int32_t start;    /* position of the match */
    uint32_t length;  /* bytes of the match; 0 if there is no match yet */
    uint32_t distance;
};

/* If the match at `pos` continues the pending match, adds it to that match and returns true. */
static inline bool lz_join(struct lz_pending *p, int32_t pos, uint32_t length, uint32_t distance)
{
    if (!lz_continues((uint32_t)p->start, p->length, p->distance, (uint32_t)pos, distance))
        return false;
    p->length += length;
    return true;
}

/* Makes the match at `pos` the pending match.  The caller has written or counted the old pending
 * match. */
static inline void lz_replace(struct lz_pending *p, int32_t pos, uint32_t length, uint32_t distance)
{
    p->literals = p->start + (int32_t)p->length;
    p->start = pos;
    p->length = length;
    p->distance = distance;
}

/* Writes the pending match to `out`, if there is one, and makes the match at `pos` the pending
 * match.  Returns the end of the sequences written. */
static inline struct lz_sequence *lz_emit_next(struct lz_sequence *out, struct lz_pending *p,
                                               int32_t pos, uint32_t length, uint32_t distance)
{
    if (p->length > 0)
        out = lz_emit(out, (size_t)(p->start - p->literals), p->length, p->distance);
    lz_replace(p, pos, length, distance);
    return out;
}

#endif
