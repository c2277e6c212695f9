/*
 * oracles.h - what each method of papers/ finds, once more: as plainly as its paper says it, and slowly
 *
 * oracle_NAME is in oracle_NAME.c.  For each byte of the segment in[0..len), it puts into tags the
 * distance of the match that covers the byte, or 0 if none does (lzss/tags.h).  No match goes beyond
 * a chunk.  `param` has the keys' values.  It shares nothing with papers/ but the order of the keys.
 */
#ifndef GZLZSS_ORACLES_H
#define GZLZSS_ORACLES_H

#include "papers/papers.h"

typedef void oracle(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags);

#define ORACLE_DECLARE(name) oracle oracle_##name;
PAPER_METHODS(ORACLE_DECLARE)
#undef ORACLE_DECLARE

#endif
