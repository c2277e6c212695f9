/*
 * whole.h - decodes DEFLATE from memory that has all of it, to memory that has room for all of it
 *
 * The decoder of raw.h can stop at any bit, and goes on there when it is called again.  This
 * decoder cannot stop, so it takes less time for a few KB in memory.
 */
#ifndef GZLZSS_INFLATE_WHOLE_H
#define GZLZSS_INFLATE_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include "inflate/raw.h"

/* A decoder's tables: 44 KB of memory. */
struct inf_whole;

/* Makes a decoder; returns NULL if memory is short. */
struct inf_whole *inf_whole_new(void);

/* Frees w, which may be NULL. */
void inf_whole_free(struct inf_whole *w);

/*
 * Decodes the data that starts with in[0], and accepts the same data as the decoder of raw.h.
 * Returns INF_END at the data's end, and sets *used to the number of bytes of input up to there,
 * and *made to the number of bytes of output.  `len` is at most SIZE_MAX / 8.  With any other
 * result, out[0..room) has undefined contents:
 *
 *   - INF_BAD: the data is bad;
 *   - INF_CUT: the data goes on after in[0..len);
 *   - INF_MORE: there is more output than `room` bytes.
 */
enum inf_result inf_whole(struct inf_whole *w, const uint8_t *in, size_t len, uint8_t *out,
                          size_t room, size_t *used, size_t *made);

#endif
