/*
 * crew.h - workers are started, and get memory
 */
#ifndef GZLZSS_CREW_H
#define GZLZSS_CREW_H

#include "pipeline/job.h"

/* Memory to match and encode a segment of up to `size` bytes, but for the output; NULL if memory is
 * short.  NULL can be freed. */
struct tools *tools_new(const struct lz_level *level, size_t size);
void tools_free(struct tools *t);

/* There is something for one more worker: wakes one that waits, or starts another if there may be
 * one. */
void crew_call(struct pipeline *p);

/* Waits until there may be something for this worker to do. */
void crew_wait(struct worker *w);

/* Whether the worker has all the memory that it needs for a segment. */
bool crew_is_equipped(const struct worker *w);

/* Gets that memory; gives up the lock meanwhile, so that all may be different afterwards.  False
 * if memory is short.  The worker then has to end, which is no failure as long as others work.
 * The first worker waits for the others instead; if there are none, a job fails for want of memory,
 * and true is returned. */
bool crew_equip(struct worker *w);

/* The end of a worker: frees its memory.  Gives up the lock for a while. */
void crew_leave(struct worker *w);

#endif
