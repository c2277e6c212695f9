/*
 * trail.h - points that a reader gets while compat/ decodes its input
 *
 * A reader (reader.h) decodes in one thread.  compat/gunzip.h can decode the same input with the
 * help of other threads (gz_io.ahead).  A trail connects the two.  It makes compat/ begin at a
 * proven point of the reader, and gives the reader a new point about every ACCESS_APART bytes of
 * output.  If the first point has the CRC and the length of its member's data, so do the new points
 * in that member.  Points in later members always have them.
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

/* access_trail_in returns the byte of the reader's input from which on compat/ must read.
 * access_trail_out returns the byte of the reader's output that compat/ writes first. */
uint64_t access_trail_in(const struct access_trail *t);
uint64_t access_trail_out(const struct access_trail *t);

/*
 * Returns the functions for gz_io.ahead.  After the first header, they move decoding to the first
 * point.  They leave points where the calling thread decodes, and otherwise do what `inner` does.
 * `inner` may be NULL; only then, seek(ctx, byte) is called in place of inner->seek (compat/io.h).
 * t and *inner must stay as long as the result is in use.
 *
 * Runs that `inner` decodes ahead leave points only by the next two functions.
 */
struct gz_ahead access_trail_ahead(struct access_trail *t, const struct gz_ahead *inner,
                                   void (*seek)(void *ctx, uint64_t byte), void *ctx);

/* Notes the start of a run that was accepted (expansion_watch): bit `bit` of the decompression's
 * input, and byte `out` of its output.  The `len` bytes before `end`, INF_WINDOW at most, are the
 * window. */
void access_trail_note(struct access_trail *t, uint64_t bit, uint64_t out, const uint8_t *end,
                       size_t len);

/* Gives the reader the point that was noted at byte `out`, if there is one.  `check` is the CRC of
 * the member's data before it.  Call both functions for all runs, in order.  Any thread may call
 * them, but only one thread at a time may be in each. */
void access_trail_leave(struct access_trail *t, uint64_t out, uint32_t check);

#endif
