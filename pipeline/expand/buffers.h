/*
 * buffers.h - memory for the output of regions
 *
 * All decompressions of a pipeline share the buffers.  All buffers have the same size.  The number
 * of buffers limits the memory that decompression takes, however large the output is.
 */
#ifndef GZLZSS_EXPAND_BUFFERS_H
#define GZLZSS_EXPAND_BUFFERS_H

#include "pipeline/expand/api.h"
#include "pipeline/expand/expansion.h"

/* Bytes of a buffer that hold output. */
#define BUFFER_SIZE (EXPAND_BUFFER - BUFFER_BEFORE)

struct buffer;

/* Makes an empty set of at most `max` buffers.  Returns NULL if memory is short. */
struct buffers *buffers_new(int max);
void buffers_free(struct buffers *b);

/* Whether one more region may have a buffer now. */
bool buffers_has(const struct expansion *e);

/* Takes a buffer for the region's task.  If all buffers are in use, or if memory is short, the
 * task's buffer stays NULL. */
void buffers_take(struct expansion *e, struct region *r);

/* Gives the region's buffer back, if it has one. */
void buffers_give(struct expansion *e, struct region *r);

/* Tells the set that the region will keep its buffer for a long time.  The buffer no longer counts,
 * so that another buffer may be made in its place. */
void buffers_disown(struct expansion *e, struct region *r);

/* The bytes of output that all buffers together should hold: REGION_OUT for each. */
uint64_t buffers_output(const struct pipeline *p);

/* buffers_take_idle takes all idle buffers out of the set.  buffers_release then returns their
 * memory to the system, and is called without the lock. */
struct buffer *buffers_take_idle(struct pipeline *p);
void buffers_release(struct buffer *list);

#endif
