/*
 * small.h - small inputs in memory, compressed by the thread that calls, alone
 */
#ifndef GZLZSS_SMALL_H
#define GZLZSS_SMALL_H

#include "pipeline/crew/state.h"

/* Makes p->small, without which nothing is small; false if memory is short. */
bool small_init(struct pipeline *p);

/* Frees the memory that was kept. */
void small_free(struct pipeline *p);

/* See pipeline_is_for_here and pipeline_compress_here.  Both are called without the lock. */
bool small_fits(const struct pipeline *p, const struct pipeline_job *request);
bool small_compress(struct pipeline *p, struct pipeline_job *request);

#endif
