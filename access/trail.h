/*
 * trail.h - lets many threads decode for a reader (reader.h), and leaves points on their way
 *
 * A trail belongs to a decompression of the reader's input by compat/gunzip.h, which other threads
 * may help (gz_io.ahead).  It begins at the last proven point before a place, and gives the reader
 * a point about every ACCESS_APART bytes of output.  Such a point has the CRC and the length of the
 * member's data before it, if the first point has them.
 */
#ifndef GZLZSS_ACCESS_TRAIL_H
#define GZLZSS_ACCESS_TRAIL_H

#include "access/reader.h"
#include "compat/io.h"

struct access_trail;

/* Makes a trail from the last proven point at byte `offset` of r's output or before it.  Returns
 * NULL if memory is short. */
struct access_trail *access_trail_new(struct access_reader *r, uint64_t offset);

/* Frees t, which may be NULL. */
void access_trail_free(struct access_trail *t);

/* The byte of the reader's input at which the input of the decompression must start, and the byte
 * of the reader's output at which its output starts. */
uint64_t access_trail_in(const struct access_trail *t);
uint64_t access_trail_out(const struct access_trail *t);

/*
 * Returns the functions for gz_io.ahead.  They go to the first point after the first header was
 * read, leave points where the calling thread decodes, and otherwise do what `inner` does.  If
 * `inner` is NULL, `seek` must make the decompression read on at a byte of its input.  t and *inner
 * must stay as long as the result is in use.
 */
struct gz_ahead access_trail_ahead(struct access_trail *t, const struct gz_ahead *inner,
                                   void (*seek)(void *ctx, uint64_t byte), void *ctx);

/* Notes that a run was accepted.  It starts at bit `bit` of the decompression's input and byte
 * `out` of its output.  The `len` bytes before `end`, INF_WINDOW at most, are the window. */
void access_trail_note(struct access_trail *t, uint64_t bit, uint64_t out, const uint8_t *end,
                       size_t len);

/* Leaves the point of a noted run.  `check` is the CRC of the member's data before byte `out`.  All
 * calls for runs give their places in order.  access_trail_note and access_trail_leave may be
 * called by any thread, each by one at a time. */
void access_trail_leave(struct access_trail *t, uint64_t out, uint32_t check);

#endif
