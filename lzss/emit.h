/*
 * emit.h - writing a match as sequences
 */
#ifndef GZLZSS_LZSS_EMIT_H
#define GZLZSS_LZSS_EMIT_H

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

#endif
