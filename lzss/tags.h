/*
 * tags.h - turns a tag array into sequences
 *
 * GLZSS (tagging.h) holds its choice of matches in a tag array, with one number for each byte of a
 * chunk.  The GPU engine makes such arrays and turns them into sequences on the device
 * (gpu/cuda/match/compact.cu).  The function below does the same step on the CPU, in the plainest
 * form; only tests use it.
 */
#ifndef GZLZSS_LZSS_TAGS_H
#define GZLZSS_LZSS_TAGS_H

#include <stddef.h>
#include <stdint.h>

#include "lzss/lzss.h"

/*
 * tags[0..len), len up to LZ_CHUNK_SIZE, holds for each byte of a chunk the distance of the match
 * that covers the byte, or 0 for a literal.  A run of equal distances has LZ_MIN_MATCH bytes or
 * more, and becomes one match, or several if it is longer than LZ_MAX_MATCH (lz_pieces).
 *
 * Writes the sequences to `out`, which has room for LZ_CHUNK_MAX_SEQUENCES, and returns their
 * number.
 */
size_t lz_tags_to_sequences(const uint16_t *tags, size_t len, struct lz_sequence *out);

#endif
