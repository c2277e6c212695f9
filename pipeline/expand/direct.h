/*
 * direct.h - the consumer decodes from memory straight to the caller's memory
 *
 * If the input and the output are in memory (expansion_set_memory), the consumer needs no buffers:
 * it decodes from where the input is to where the output goes.  It does so wherever no run comes.
 */
#ifndef GZLZSS_EXPAND_DIRECT_H
#define GZLZSS_EXPAND_DIRECT_H

#include "pipeline/expand/expansion.h"

/* Whether the consumer can decode directly. */
bool direct_is_possible(const struct expansion *e);

/* Decodes from the consumer's place up to the first block that starts at bit `until` or later, or
 * to the member's end; but stops after about 1 MiB of output.  Moves the place.  Direct decoding
 * must be possible, and the line must be idle.  Gives up the lock.  Returns false if it has decoded
 * nothing, because there is no room, the next block is bad or does not fit, or the caller's goes_on
 * has returned false.  The consumer then decodes this block in the usual way, which finds out what
 * is wrong.  Also returns false if the caller's `wrote` has failed; *error is then its errno. */
bool direct_decode(struct expansion *e, uint64_t until, int *error);

/* Frees the decoder.  Called without the lock. */
void direct_free(struct expansion *e);

#endif
