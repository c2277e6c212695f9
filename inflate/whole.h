/*
 * whole.h - decodes DEFLATE from memory that has all of it, to memory that has room for all of it
 *
 * The decoder of raw.h can stop at any bit, and goes on there when it is called again.  This
 * decoder can go on only where a block starts.  So it takes less time, and no copies.
 */
#ifndef GZLZSS_INFLATE_WHOLE_H
#define GZLZSS_INFLATE_WHOLE_H

#include <stdbool.h>
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

/* Data that is decoded one stretch of blocks after another. */
struct inf_stretch {
    /* The input: in[0..len).  The next block starts at bit `place`.  `len` is at most
     * SIZE_MAX / 8. */
    const uint8_t *in;
    size_t len, place;
    /* The output: out[0..made) was decoded earlier from the same data, and out[made..room) is
     * free. */
    uint8_t *out;
    size_t room, made;
    /* Called when out[0..made) is decoded: at least after each block, and within a block after
     * INF_SLICE to about 2 * INF_SLICE bytes of output.  `at_block` says whether a block has just
     * ended; if so, `place` and `made` are up to date in the struct.  Decoding stops if the
     * function returns false. */
    bool (*goes_on)(void *ctx, size_t made, bool at_block);
    void *ctx;
};

/* Bytes of output that are decoded before the caller's function sees them.  With more, they may
 * have left the processor's cache.  With fewer, the decoder's loop starts more often. */
#define INF_SLICE ((size_t)256 << 10)

/*
 * Decodes blocks from s->place on, and moves s->place and s->made to the end of the last block that
 * was decoded as a whole.  Returns
 *
 *   - INF_END after the data's final block;
 *   - INF_BLOCK if goes_on has returned false; in the middle of a block, that block does not count;
 *   - INF_BAD, INF_CUT or INF_MORE, as inf_whole does, because of the block at s->place.
 *
 * Afterwards, out[s->made..room) has undefined contents.
 */
enum inf_result inf_whole_stretch(struct inf_whole *w, struct inf_stretch *s);

#endif
