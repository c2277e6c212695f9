/*
 * emit.h - writing a match as sequences
 */
#ifndef GZLZSS_LZSS_EMIT_H
#define GZLZSS_LZSS_EMIT_H

#include <stdbool.h>

#include "lzss/common.h"

/* Appends `literals` literals and a match of any length from LZ_MIN_MATCH up at `distance`, as one
 * sequence or, past LZ_MAX_MATCH, several.  Returns where the next sequence goes. */
static inline struct lz_sequence *lz_emit(struct lz_sequence *out, size_t literals, size_t length,
                                          size_t distance)
{
    uint32_t pieces = 1;

    if (length > LZ_MAX_MATCH)
        pieces = lz_pieces((uint32_t)length);
    out->literals = (uint16_t)literals;
    for (uint32_t p = 0;; p++) {
        out->length = (uint16_t)(pieces == 1 ? length : lz_piece_length((uint32_t)length, p));
        out->distance = (uint16_t)distance;
        out++;
        if (p + 1 == pieces)
            return out;
        out->literals = 0;
    }
}

/* A match that is found but not yet written: the next one may continue it (lz_continues). */
struct lz_pending {
    int32_t literals; /* where the literals before the match start, */
    int32_t start;    /* and the match */
    uint32_t length;  /* 0: there is none yet */
    uint32_t distance;
};

/* Lets the match at `pos` continue p's; false if it does not. */
static inline bool lz_join(struct lz_pending *p, int32_t pos, uint32_t length, uint32_t distance)
{
    if (!lz_continues((uint32_t)p->start, p->length, p->distance, (uint32_t)pos, distance))
        return false;
    p->length += length;
    return true;
}

/* Puts the match at `pos` in the place of p's, which is done with. */
static inline void lz_replace(struct lz_pending *p, int32_t pos, uint32_t length, uint32_t distance)
{
    p->literals = p->start + (int32_t)p->length;
    p->start = pos;
    p->length = length;
    p->distance = distance;
}

/* Writes p's match, if there is one, and puts the one at `pos` in its place. */
static inline struct lz_sequence *lz_emit_next(struct lz_sequence *out, struct lz_pending *p,
                                               int32_t pos, uint32_t length, uint32_t distance)
{
    if (p->length > 0)
        out = lz_emit(out, (size_t)(p->start - p->literals), p->length, p->distance);
    lz_replace(p, pos, length, distance);
    return out;
}

#endif
