/*
 * raw.h - raw DEFLATE (RFC 1951) to bytes
 *
 * A decoder works from the caller's input to the caller's output, a call at a time.  Between calls
 * it relies on bytes that the caller keeps: a few of the input, and a window of the output.
 */
#ifndef GZLZSS_INFLATE_RAW_H
#define GZLZSS_INFLATE_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/blockheader.h"

/* How far a decoder may step back in the input: the bytes of the widest bit buffer. */
#define INF_BACK ((size_t)8)

/* The most input that a decoder leaves, as it cannot go on without what follows it. */
#define INF_REST INF_BLOCK_HEADER_MAX

/* See inf_open. */
#define INF_SMALL ((size_t)16 << 10)

/* How far data may refer back. */
#define INF_WINDOW ((size_t)32 << 10)

enum inf_result {
    INF_MORE,  /* all input was used or the output is full; there is more to come */
    INF_CUT,   /* the input left is the start of a block's header, and more of it is needed */
    INF_BLOCK, /* a block has ended, which is not the final one, and all its data is in the output */
    INF_END,   /* the final block has ended and all its data is in the output */
    INF_BAD,
    INF_NO_MEMORY,
};

/* One call's input and output.  Either has less than 4 GiB. */
struct inf_io {
    const uint8_t *in; /* the INF_BACK bytes before are those that came before */
    size_t in_len;
    bool in_ends; /* nothing follows that input */
    uint8_t *out;
    size_t out_len; /* at least 1 */
    size_t window;  /* bytes before out that belong to the same data, at most INF_WINDOW */
    bool stops;     /* return INF_BLOCK at the end of each block; otherwise it is never returned */
    size_t stops_from; /* with `stops`: but not at an end before that place (see `place`) */

    /* For inf_run to set, 0 before: the number of input bytes taken, and of output bytes made.
     * After INF_END, `used` are those up to the data's last byte, which may be as few as -INF_BACK
     * if it lies in input of calls before. */
    ptrdiff_t used;
    size_t made;
    size_t place; /* after INF_BLOCK: where the next block starts, in bits from in - INF_BACK on */
};

/* A decoder; about 0.1 MB of memory. */
struct inf_raw;

/* A decoder that is ready for data, and needs no more memory for good data; NULL if memory is short.
 * `is_small`: for inputs of less than INF_SMALL, which ISA-L takes longer to be loaded than zlib takes for
 * all. */
struct inf_raw *inf_open(bool is_small);

/* Forgets the data at hand: the decoder is ready for other data. */
void inf_reset(struct inf_raw *raw);

/*
 * Begins inside of data, where a block starts: the decoder must be ready for other data.  The block
 * starts after the lowest `skip` bits, 1 to 7, of `byte`, and goes on in the next call's input; or
 * with that, if skip is 0.  window[0..len) is what comes before, len at most INF_WINDOW; it must
 * also stand before the output.  False if memory is short.
 */
bool inf_start(struct inf_raw *raw, uint8_t byte, unsigned skip, const uint8_t *window, size_t len);

/* Decodes until the input is used up, or the output is full, or the data ends. */
enum inf_result inf_run(struct inf_raw *raw, struct inf_io *io);

void inf_close(struct inf_raw *raw); /* raw may be NULL */

#endif
