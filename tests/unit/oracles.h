/*
 * oracles.h - the methods of papers/ once more, as plainly as the papers describe them, and slowly
 *
 * oracle_NAME is in oracle_NAME.c.  For each byte of the segment in[0..len), it sets in tags the
 * distance of the match that covers the byte, or 0 if none does (lzss/tags.h).  No match crosses
 * the end of a chunk.  `param` has the keys' values.  Only the order of the keys is shared with
 * papers/.
 */
#ifndef GZLZSS_ORACLES_H
#define GZLZSS_ORACLES_H

#include "papers/papers.h"

typedef void oracle(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags);

#define ORACLE_DECLARE(name) oracle oracle_##name;
PAPER_METHODS(ORACLE_DECLARE)
#undef ORACLE_DECLARE

#endif
