/*
 * raw.h - decodes raw DEFLATE (RFC 1951) to bytes
 *
 * The caller calls a decoder again and again.  Each call decodes from an input of the caller's to
 * an output of the caller's.  Between calls, the decoder relies on bytes that the caller keeps: the
 * last few of the input, and a window of the output.
 */
#ifndef GZLZSS_INFLATE_RAW_H
#define GZLZSS_INFLATE_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/blockheader.h"

/* The most bytes by which a decoder may step back in the input: the size of the widest bit
 * buffer. */
#define INF_BACK ((size_t)8)

/* The most bytes of input that a decoder leaves because it cannot go on without the bytes after
 * them. */
#define INF_REST INF_BLOCK_HEADER_MAX

/* An input of fewer than INF_SMALL bytes counts as small (inf_open). */
#define INF_SMALL ((size_t)16 << 10)

/* The largest distance, in bytes, at which data may refer back. */
#define INF_WINDOW ((size_t)32 << 10)

/* The reason why a call has ended. */
enum inf_result {
    INF_MORE,  /* all input was used, or the output is full; the data goes on */
    INF_CUT,   /* the rest of the input is an incomplete header of a block */
    INF_BLOCK, /* a block has ended that is not the final one; all its data is in the output */
    INF_END,   /* the final block has ended; all its data is in the output */
    INF_BAD,   /* the data is bad */
    INF_NO_MEMORY,
};

/* A call's input and output, each of less than 4 GiB. */
struct inf_io {
    const uint8_t *in; /* the INF_BACK bytes before it must be the preceding input */
    size_t in_len;
    bool in_ends; /* nothing follows this input */
    uint8_t *out;
    size_t out_len; /* 1 or more */
    size_t window;  /* bytes before `out` that belong to the same data, at most INF_WINDOW */

    /* Whether to return INF_BLOCK at the end of a block; otherwise INF_BLOCK is never returned. */
    bool stops;

    /* With `stops`: no call returns INF_BLOCK for a block that ends before this place.  Like
     * `place`, it is a number of bits, counted from the byte `in - INF_BACK`. */
    size_t stops_from;

    /* The caller sets the fields below to 0, and inf_run sets them. */

    /* Bytes of input that were taken.  After INF_END, the data ends after these bytes.  If the data
     * ends in the input of an earlier call, the number is negative, at least -INF_BACK. */
    ptrdiff_t used;

    /* Bytes of output that were made. */
    size_t made;

    /* After INF_BLOCK, where the next block starts: a number of bits, counted from the byte
     * `in - INF_BACK`. */
    size_t place;
};

/* A decoder: about 0.1 MB of memory. */
struct inf_raw;

/* Makes a decoder that is ready for data.  To decode good data, the decoder needs no further
 * memory.  Returns NULL if memory is short.  `is_small` says that the input has fewer than
 * INF_SMALL bytes.  If so, the decoder does not load ISA-L, since loading takes longer than zlib
 * takes to decode a small input. */
struct inf_raw *inf_open(bool is_small);

/* Makes the decoder ready for other data. */
void inf_reset(struct inf_raw *raw);

/* The data that a decoder has decoded decides which parts of its next data it leaves to zlib, and
 * so how far ahead of the output it takes input.  Makes raw decide as `other` will.  If both are
 * reset then, and get the same input, each call takes and makes the same numbers of bytes with
 * both, whatever their windows have. */
void inf_decide_as(struct inf_raw *raw, const struct inf_raw *other);

/*
 * Begins in the middle of data, at the start of a block; the decoder must be new or reset.  If
 * `skip` is 0, the block starts with the next call's input.  If it is 1 to 7, the block starts in
 * `byte`, after the lowest `skip` bits, and goes on in the next call's input.  window[0..len), len
 * at most INF_WINDOW, are the bytes before the block; they must also be in memory just before the
 * output.  Returns false if memory is short.
 */
bool inf_start(struct inf_raw *raw, uint8_t byte, unsigned skip, const uint8_t *window, size_t len);

/* Decodes until the input is used up, the output is full, or the data ends; with io->stops, also
 * until a block ends. */
enum inf_result inf_run(struct inf_raw *raw, struct inf_io *io);

/* Frees raw, which may be NULL. */
void inf_close(struct inf_raw *raw);

#endif
