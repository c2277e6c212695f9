/*
 * api.h - decompression by many threads: parts of the input are decoded ahead
 *
 * One thread, the consumer, decodes a .gz from its start (compat/gunzip.h), as if it were alone.
 * What it finds out is what counts.  Meanwhile idle workers look for places further on where blocks
 * seem to start, and decode from there, each its own stretch of the input.  When the consumer comes
 * to exactly such a place, what was decoded from there is accepted, and it goes on where that ends.
 * What starts at a place that the consumer never comes to is thrown away.  So a wrong guess costs
 * time, and never a byte.
 *
 * What a worker decodes ends at the end of a block, before anything that is not good DEFLATE.  The
 * consumer comes to that itself, so that the output up to an error and the error are what they are
 * with one thread.
 *
 * From where nothing refers back (the mark of `pigz -i`, which our segments end with, and the start
 * of a gzip member), bytes are decoded (inflate/raw.h).  From elsewhere, symbols are
 * (inflate/symbols.h), until there is a window without unknown bytes.  These become bytes once the
 * window is known.
 *
 * What can only be done in order (to accept a piece, which gives the next one its window, and to
 * write it) is done by whoever comes by while the consumer is among pieces: one thread at a time
 * accepts, and one writes.  Any number make bytes of symbols.
 */
#ifndef GZLZSS_EXPAND_API_H
#define GZLZSS_EXPAND_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "compat/io.h"

struct expand_tools;
struct pipeline;
struct worker;

/* Does some work for a file that is being decompressed.  Gives up the lock; false: there is
 * nothing that can be done now. */
bool expand_some(struct worker *w);

/* Frees a worker's memory for that; without the lock.  NULL does nothing. */
void expand_free_tools(struct expand_tools *t);

/* Memory for the output of one stretch. */
#define EXPAND_ROOM ((size_t)6 << 20)

/* Makes p->expanding, with so many rooms of EXPAND_ROOM at most; false if memory is short. */
bool expand_init(struct pipeline *p, int rooms_max);

/* Frees it, and what it keeps. */
void expand_free(struct pipeline *p);

/* --- Decompression --- */

/*
 * The crew decodes parts of a .gz ahead of the thread that decompresses it, which is one of the
 * crew's: in a job's `begin`, or the thread that made the pipeline.
 */
struct expansion;

struct pipeline_expansion_stats {
    uint64_t pieces; /* parts that were decoded ahead and taken over, */
    uint64_t bytes;  /* and the output that they made */
};

/* Input of fewer bytes is decoded by one thread. */
#define PIPELINE_EXPAND_MIN ((uint64_t)512 << 10)

/* For the file or pipe fd, from its position on; `write` is what the decompression writes with: any
 * thread calls it, one at a time, and it may have all signals blocked.  A worker may wait in it,
 * and for the pipe, some ms.
 * `stretch` is 0 but in tests: the bytes of input in each part.  NULL if one thread is as good, for
 * an input that is small or is neither a file nor a pipe, or if memory is short. */
struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t stretch,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx);

/* The same for the input in[0..len), which stays as it is until expansion_close. */
struct expansion *pipeline_expand_memory(struct pipeline *p, const uint8_t *in, size_t len,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);

/*
 * The same for what expansion_push gives; NULL only if memory is short.  `write` is called by the
 * thread that decompresses alone, since it may have to wait.
 *
 * expansion_push gives the next bytes of the input, as many as there is room for now, and returns
 * how many; `ends`: the input ends with them.  By one thread at a time, until expansion_close.
 * expansion_has_input says whether expansion_read would not wait for it.
 */
struct expansion *pipeline_expand_pushed(struct pipeline *p,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);
size_t expansion_push(struct expansion *e, const uint8_t *bytes, size_t len, bool ends);
bool expansion_has_input(struct expansion *e);

/* `write` waits for room, or does no more.  Nothing is accepted meanwhile. */
void expansion_set_stalled(struct expansion *e, bool is_stalled);

/* `write` has written `len` bytes. */
void expansion_wrote(struct expansion *e, size_t len);

/* Called by the consumer, in `write` or where it reads, when it has waited long for the caller: gives up
 * what was decoded ahead, so that little memory is kept.  rest[0..len) is what `write` has not written yet
 * of what it was given, or NULL.  False: that is not possible now, but will soon be. */
bool expansion_give_up(struct expansion *e, const void *rest, size_t len);

/* The input is gzip's: others may take part. */
void expansion_begin(struct expansion *e);

/* What gunzip.h's decompression needs: gz_io's `ahead`, and `read`. */
const struct gz_ahead *expansion_ahead(const struct expansion *e);
ssize_t expansion_read(struct expansion *e, void *buf, size_t len);

/* Bytes of the input that were read, or taken over. */
uint64_t expansion_position(struct expansion *e);

/* Frees what decompression keeps for the next file, as far as nobody uses it now.  For a thread
 * that lacks memory. */
void pipeline_give_back(struct pipeline *p);

/* Ends it, and leaves the file positioned as reading it in order would have. */
void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats);

#endif
