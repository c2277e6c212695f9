/*
 * api.h - decompression by many threads: parts of the input are decoded ahead
 *
 * One thread, the consumer, decodes a .gz from its start (compat/gunzip.h), as if it were alone.
 * Its result is authoritative.  Meanwhile idle workers cut the input behind it into regions, look
 * for a place in each where a block seems to start, and decode from there.  When the consumer comes
 * to exactly such a place, it accepts what was decoded from there, and goes on where that ends.
 * What starts at a place that the consumer never comes to is thrown away.  So a wrong guess costs
 * time, and never a byte.
 *
 * A worker stops at the end of a block, before anything that is not good DEFLATE.  Errors in the
 * input are found by the consumer, in order: the output up to an error and the error are what they
 * are with one thread.
 *
 * From where nothing refers back (the mark of `pigz -i`, with which our segments end, and the start
 * of a gzip member), a worker decodes bytes (inflate/raw.h).  From elsewhere, it decodes symbols
 * (inflate/symbols.h), until a window has no unknown byte.  The symbols become bytes once the
 * window before them is known.
 *
 * Two things can only be done in order: to accept a run, which gives the next one its window, and
 * to write it.  Any idle thread may do these while the consumer is at runs: one thread at a time
 * accepts, and one writes.  Any number of threads make bytes of symbols.
 */
#ifndef GZLZSS_EXPAND_API_H
#define GZLZSS_EXPAND_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "compat/io.h"

struct expand_tools;
struct expansion;
struct pipeline;
struct worker;

/* --- For the pipeline --- */

/* Does some work for a file that is being decompressed.  Gives up the lock.  False: there is
 * nothing to do now. */
bool expand_some(struct worker *w);

/* Frees a worker's memory for decompression; without the lock.  `t` may be NULL. */
void expand_free_tools(struct expand_tools *t);

/* Bytes of an output buffer, which takes the output of one region. */
#define EXPAND_BUFFER ((size_t)6 << 20)

/* Makes p->expansions, with at most buffers_max output buffers.  False if memory is short. */
bool expand_init(struct pipeline *p, int buffers_max);

/* Frees p->expansions, and the buffers that it keeps. */
void expand_free(struct pipeline *p);

/* Frees the memory that decompression keeps for the next file and that no thread uses now.  For a
 * thread that lacks memory; without the lock. */
void pipeline_give_back(struct pipeline *p);

/* --- A decompression --- */

/* All of this is called without the lock, by the consumer except where it says otherwise.  The
 * consumer is the command's main thread, a worker in a job's `begin`, or in the library the calling
 * thread or a stream's own. */

struct pipeline_expansion_stats {
    uint64_t runs;      /* runs of blocks that were decoded ahead and accepted */
    uint64_t bytes;     /* their output */
    uint64_t gpu_bytes; /* output that a GPU has decoded */
};

/* Input of fewer bytes is decoded by one thread. */
#define PIPELINE_EXPAND_MIN ((uint64_t)512 << 10)

/* Decompresses the file or pipe fd, from its position on.  `write` is what the decompression writes
 * with: any thread calls it, one at a time, possibly with all signals blocked.  It may wait; so may
 * reads from a pipe, for some ms.  `region` is 0 except in tests: bytes of input in each region.
 * Returns NULL if one thread does as well: the input is small, or is neither a file nor a pipe; or
 * if memory is short. */
struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t region,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx);

/* The same for the input in[0..len), which must not change until expansion_close. */
struct expansion *pipeline_expand_memory(struct pipeline *p, const uint8_t *in, size_t len,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);

/* The same for an input that expansion_push gives.  Only the consumer calls `write`, which may wait
 * for long.  Returns NULL only if memory is short. */
struct expansion *pipeline_expand_pushed(struct pipeline *p,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);

/* Gives the next bytes of a pushed input, as many as there is room for now; returns how many were
 * taken.  `ends`: the input ends with bytes[0..len).  One thread at a time may call it, until
 * expansion_close. */
size_t expansion_push(struct expansion *e, const uint8_t *bytes, size_t len, bool ends);

/* Whether expansion_read would not wait.  Any thread. */
bool expansion_has_input(struct expansion *e);

/* `write` waits for room, or waits no longer.  While it waits, no run is accepted. */
void expansion_set_stalled(struct expansion *e, bool is_stalled);

/* `write` has written `len` bytes. */
void expansion_wrote(struct expansion *e, size_t len);

/* The consumer, in `write` or where it reads, has waited long for the caller: gives up what was
 * decoded ahead, so that little memory is kept. rest[0..len) is the part of the bytes given to
 * `write` that it has not written yet; NULL: it is not in `write`.  False: that is not possible
 * now, but will be soon. */
bool expansion_give_up(struct expansion *e, const void *rest, size_t len);

/* `write` does not look at the bytes, which may be NULL then.  Before expansion_begin. */
void expansion_discard(struct expansion *e);

/* No GPU decodes.  Before expansion_begin. */
void expansion_avoid_gpu(struct expansion *e);

/* The input is a .gz: workers may take part. */
void expansion_begin(struct expansion *e);

/* For gunzip.h's decompression: gz_io's `ahead` and `read`. */
const struct gz_ahead *expansion_ahead(const struct expansion *e);
ssize_t expansion_read(struct expansion *e, void *buf, size_t len);

/* Bytes of the input that were read, or belong to accepted runs.  Any thread. */
uint64_t expansion_position(struct expansion *e);

/* Ends the decompression and frees *e.  The file is left at the position that reading it in order
 * would have come to. */
void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats);

#endif
