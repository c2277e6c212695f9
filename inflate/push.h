/*
 * push.h - decodes DEFLATE that comes in pieces, to output that goes away in pieces
 *
 * The decoder stops and goes on at any bit and any byte, and keeps all that it needs itself.  So
 * it asks nothing of the pieces of input, or of the memory for output.  It takes the loop of fast.h
 * wherever a piece has enough input and room.  It accepts the same data as the decoder of raw.h.
 */
#ifndef GZLZSS_INFLATE_PUSH_H
#define GZLZSS_INFLATE_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/raw.h"

/* A decoder: less than 1 KB of memory.  From the first block on, it has tables of 44 KB, and from
 * the first inf_push_keep on, a window of 32 KB. */
struct inf_push;

/* Makes a decoder; returns NULL if memory is short. */
struct inf_push *inf_push_new(void);

/* Makes a decoder that goes on where `from` is; returns NULL if memory is short. */
struct inf_push *inf_push_copy(const struct inf_push *from);

/* Frees p, which may be NULL. */
void inf_push_free(struct inf_push *p);

/* A piece of input and memory for output.  inf_push raises `used` and `made`. */
struct inf_piece {
    const uint8_t *in; /* in[used..len) is to be decoded */
    size_t len, used;
    /* out[0..made) is output since the last inf_push_keep, and out[made..room) is free.  The caller
     * may raise `room` between two calls. */
    uint8_t *out;
    size_t room, made;
};

/*
 * Decodes until the piece's input is used or its room is full.  Returns
 *
 *   - INF_MORE: the data goes on.  If all input is used and made < room, there is no more output
 *     without more input;
 *   - INF_END: the data has ended, just before in[used];
 *   - INF_BAD: the data is bad; all output before the error is made;
 *   - INF_NO_MEMORY.
 *
 * After INF_END and INF_BAD, the decoder can only be freed.
 */
enum inf_result inf_push(struct inf_push *p, struct inf_piece *piece);

/* Keeps the window of the output out[0..made), so that the memory at `out` may be given other
 * contents.  Before the data's first byte, `out` may be a preset dictionary.  Returns false if
 * memory is short. */
bool inf_push_keep(struct inf_push *p, const uint8_t *out, size_t made);

#endif
