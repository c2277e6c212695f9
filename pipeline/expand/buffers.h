/*
 * buffers.h - memory for the output of regions
 *
 * All decompressions of a pipeline share the buffers, which all have one size.  Their number bounds
 * the memory that decompression takes, whatever the input makes.
 */
#ifndef GZLZSS_EXPAND_BUFFERS_H
#define GZLZSS_EXPAND_BUFFERS_H

#include "pipeline/expand/api.h"
#include "pipeline/expand/expansion.h"

/* Bytes for output in a buffer. */
#define BUFFER_SIZE (EXPAND_BUFFER - BUFFER_BEFORE)

struct buffer;

/* NULL if memory is short. */
struct buffers *buffers_new(int max);
void buffers_free(struct buffers *b);

/* Whether there is a buffer for one more region of this decompression. */
bool buffers_has(const struct expansion *e);

/* Takes a buffer for the region; its task has none if there is none, or memory is short. */
void buffers_take(struct expansion *e, struct region *r);

/* Gives the region's buffer back, if it has one. */
void buffers_give(struct expansion *e, struct region *r);

/* The region keeps its buffer for long: another may be made in its place. */
void buffers_disown(struct expansion *e, struct region *r);

/* Bytes of output that all buffers together are meant for. */
uint64_t buffers_output(const struct pipeline *p);

/* Takes all buffers that nobody uses; buffers_release gives their memory back to the system, and is
 * called without the lock. */
struct buffer *buffers_take_idle(struct pipeline *p);
void buffers_release(struct buffer *list);

#endif
