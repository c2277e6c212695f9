/*
 * oracles.h - second implementations of the methods of papers/, as plain as the papers'
 * descriptions, and slow
 *
 * oracle_NAME is in oracle_NAME.c.  The function makes the tags of the segment in[0..len), that is,
 * for each byte, the distance of the match that covers the byte, or 0 (lzss/tags.h).  No match
 * crosses the end of a chunk.  `param` has the keys' values, in the order of the keys in papers/.
 * The oracles share nothing else with papers/.
 */
#ifndef GZLZSS_ORACLES_H
#define GZLZSS_ORACLES_H

#include "papers/papers.h"

typedef void oracle(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags);

/* Returns the thesis's Murmur3 hash of three bytes, for a table of `size` buckets
 * (oracle_lzss.c). */
uint32_t oracle_murmur3(const uint8_t *bytes, uint32_t size);

#define ORACLE_DECLARE(name) oracle oracle_##name;
PAPER_METHODS(ORACLE_DECLARE)
#undef ORACLE_DECLARE

#endif
