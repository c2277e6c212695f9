/*
 * api.h - decompression by many threads: parts of the input are decoded ahead
 *
 * One thread, the consumer, decodes the input from its start (compat/gunzip.h), as if it were
 * alone.  The input is a .gz, zlib's format or raw DEFLATE.  The consumer's result is
 * authoritative.  Meanwhile, idle workers cut the input ahead of the consumer into regions.  In
 * each region, a worker looks for a place where a block seems to start, and decodes from there.
 * The result is a run: a sequence of decoded blocks.  When the consumer reaches exactly the place
 * where a run starts, it accepts the run, and continues where the run ends.  A run whose start the
 * consumer never reaches is thrown away.  So a wrong guess costs time, but never changes the
 * output.
 *
 * A worker ends a run before the first block that is not good DEFLATE.  The consumer finds the
 * errors in the input, in order.  So the output before an error, and the error itself, are the same
 * as with one thread.
 *
 * Data after a gzip header does not refer to data before it.  Nor does data after the mark of
 * `pigz -i`, which also ends our segments.  A worker that starts at such a place decodes bytes
 * (inflate/raw.h).  A worker that starts elsewhere decodes symbols (inflate/symbols.h), until the
 * last INF_WINDOW symbols are all bytes.  The symbols become bytes once the window before them is
 * known.
 *
 * Two steps must be done in order: accepting a run, which gives the next run its window, and
 * writing a run.  While the consumer takes over runs, any idle thread may do these steps.  One
 * thread at a time accepts, and one writes.  Any number of threads turn symbols into bytes.
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

/* Does some work for a file that is being decompressed.  Releases the pipeline's lock meanwhile.
 * Returns false if there is nothing to do now. */
bool expand_some(struct worker *w);

/* Frees a worker's memory for decompression.  Called without the lock.  `t` may be NULL. */
void expand_free_tools(struct expand_tools *t);

/* Size of an output buffer in bytes.  A buffer holds the output of one region. */
#define EXPAND_BUFFER ((size_t)6 << 20)

/* Makes p->expansions, with at most buffers_max output buffers.  Returns false if memory is
 * short. */
bool expand_init(struct pipeline *p, int buffers_max);

/* Frees p->expansions and its idle buffers. */
void expand_free(struct pipeline *p);

/* Frees the memory that decompression keeps for the next file and that no thread uses now.  A
 * thread that is short of memory calls this, without the lock. */
void pipeline_give_back(struct pipeline *p);

/* --- A decompression --- */

/* Call the functions below without the lock.  The consumer calls them, unless a comment says
 * otherwise.  In the command, the consumer is the main thread or a worker in a job's `begin`.  In
 * the library, it is the calling thread or the stream's own thread. */

struct pipeline_expansion_stats {
    uint64_t runs;      /* runs that were decoded ahead and accepted */
    uint64_t bytes;     /* bytes of output of these runs */
    uint64_t gpu_bytes; /* bytes of output that a GPU has decoded */
};

/* One thread decodes an input that has fewer bytes than this. */
#ifndef PIPELINE_EXPAND_MIN /* tests choose other sizes */
#define PIPELINE_EXPAND_MIN ((uint64_t)512 << 10)
#endif

/* Makes a decompression of the file or pipe fd, from fd's position on.  The output goes to
 * `write`.  Any thread may call `write`, but only one at a time, and all signals may be blocked
 * meanwhile.  `write` may wait.  `region` is for tests: it sets the bytes of input in each region.
 * If `region` is 0, the size is chosen automatically.  Returns NULL if the caller should decompress
 * with one thread, because the input is small, or is neither a file nor a pipe; because no other
 * thread or GPU can help; or because memory is short. */
struct expansion *pipeline_expand(struct pipeline *p, int fd, size_t region,
                                  int (*write)(void *ctx, const void *buf, size_t len), void *ctx);

/* Like pipeline_expand, for the regular file fd, from its byte `from` on.  The file's position has
 * no effect, and stays as it is.  Also returns NULL if only a GPU could help. */
struct expansion *pipeline_expand_at(struct pipeline *p, int fd, uint64_t from,
                                     int (*write)(void *ctx, const void *buf, size_t len),
                                     void *ctx);

/* Makes a decompression of the input in[0..len), which must not change until expansion_close.
 * `write` and `ctx` are as for pipeline_expand.  Returns NULL if memory is short. */
struct expansion *pipeline_expand_memory(struct pipeline *p, const uint8_t *in, size_t len,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);

/* Makes a decompression of an input that the caller passes to expansion_push piece by piece.  Only
 * the consumer calls `write`, which may wait for a long time.  Returns NULL only if memory is
 * short. */
struct expansion *pipeline_expand_pushed(struct pipeline *p,
                                         int (*write)(void *ctx, const void *buf, size_t len),
                                         void *ctx);

/* Appends bytes[0..len) to a pushed input, or as many of these bytes as there is room for now.
 * Returns how many bytes it has taken.  If `ends` is set, the input ends with bytes[0..len).  Until
 * expansion_close, any thread may call this, but only one at a time. */
size_t expansion_push(struct expansion *e, const uint8_t *bytes, size_t len, bool ends);

/* Whether expansion_read would return at once.  Any thread may call this. */
bool expansion_has_input(struct expansion *e);

/* Tells the decompression whether `write` is waiting for room now.  While `write` waits, no run is
 * accepted. */
void expansion_set_stalled(struct expansion *e, bool is_stalled);

/* Tells the decompression that `write` has written `len` bytes. */
void expansion_wrote(struct expansion *e, size_t len);

/* Discards the output that was decoded ahead, so that the decompression keeps little memory.  The
 * consumer calls this when it has waited for the caller for a long time, in `write` or for input.
 * If it waits in `write`, rest[0..len) are the bytes that `write` was given and has not written
 * yet.  Otherwise `rest` is NULL.  Returns false if this is not possible now; then call it again
 * later. */
bool expansion_give_up(struct expansion *e, const void *rest, size_t len);

/* Tells the decompression that `write` ignores the bytes, and so may be given NULL.  Call this
 * before expansion_begin. */
void expansion_discard(struct expansion *e);

/* Lets the consumer decode to the caller's memory without buffers, if the input is in memory.
 * One thread at a time calls `write` or one of these functions, which get the same `ctx`:
 *
 *   - next returns where the next byte of output goes, and sets *room to the bytes that there are
 *     from there on.  All output so far is in memory just before.  Without room, next returns NULL.
 *   - wrote says that `len` bytes of output are there.  Returns as `write` does.
 *   - goes_on returns false if the decompression should end; `read` and `write` then fail.  It may
 *     be called at any time.
 *
 * No GPU then decodes this input.  Call this before expansion_begin.  Returns false if memory is
 * short; the decompression then uses buffers. */
bool expansion_set_memory(struct expansion *e, uint8_t *(*next)(void *ctx, size_t *room),
                          int (*wrote)(void *ctx, size_t len), bool (*goes_on)(void *ctx));

/* Keeps GPUs from decoding this input.  Call this before expansion_begin. */
void expansion_avoid_gpu(struct expansion *e);

/* Sets the input's format: CONTAINER_ZLIB, CONTAINER_RAW, or any other value for a .gz, which is
 * the default.  Call this before expansion_begin. */
void expansion_set_container(struct expansion *e, enum container container);

/* The caller's functions that are called for each accepted run, in order.  Any thread may call
 * them, but only one thread at a time is in each. */
struct expansion_watch {
    /* Called when the run is accepted.  The run starts at bit `bit` of the input and at byte `out`
     * of the output.  The last `len` bytes of output before the run, INF_WINDOW at most, end at the
     * address `end`. */
    void (*at)(void *ctx, uint64_t bit, uint64_t out, const uint8_t *end, size_t len);
    /* Called before the run, which starts at byte `out` of the output, is written.  `check` is the
     * check value of the member's data before the run.  May be NULL. */
    void (*before_write)(void *ctx, uint64_t out, uint32_t check);
    void *ctx;
};

/* Makes the decompression call the functions of *watch, which is copied.  No GPU then decodes this
 * input.  Call this before expansion_begin. */
void expansion_watch(struct expansion *e, const struct expansion_watch *watch);

/* Tells the decompression that the input is in the format that was set.  From now on, workers and a
 * GPU may take part. */
void expansion_begin(struct expansion *e);

/* The two members `ahead` and `read` of the struct gz_io (compat/io.h) with which the consumer
 * decompresses. */
const struct gz_ahead *expansion_ahead(const struct expansion *e);
ssize_t expansion_read(struct expansion *e, void *buf, size_t len);

/* Returns how many bytes of the input the consumer has passed, by reading them or by accepting
 * runs.  Any thread may call this. */
uint64_t expansion_position(struct expansion *e);

/* Ends the decompression and frees *e.  If pipeline_expand has made it, sets the file's position to
 * where reading the file in order would have left it. */
void expansion_close(struct expansion *e, struct pipeline_expansion_stats *stats);

#endif
