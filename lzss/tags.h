/*
 * tags.h - from a tag array to sequences
 *
 * The tag array is how GLZSS holds a parse (tagging.h).  The GPU engine makes one and turns it into
 * sequences on the device (gpu/compact.cu); this is the same step on the host, in its plainest
 * form.
 */
#ifndef GZLZSS_LZSS_TAGS_H
#define GZLZSS_LZSS_TAGS_H

#include <stddef.h>
#include <stdint.h>

#include "lzss/lzss.h"

/*
 * tags[0..len), len up to LZ_CHUNK_SIZE, has a distance for each byte of a chunk that a match
 * covers and 0 for each literal.  A run of equal distances, which must be LZ_MIN_MATCH long or
 * longer, becomes one match, or several where it is longer than LZ_MAX_MATCH (lz_pieces).  Writes
 * the sequences to out, which has room for LZ_CHUNK_MAX_SEQUENCES, and returns how many.
 */
size_t lz_tags_to_sequences(const uint16_t *tags, size_t len, struct lz_sequence *out);

#endif
