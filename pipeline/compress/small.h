/*
 * small.h - compresses small inputs in memory, in the calling thread alone
 */
#ifndef GZLZSS_SMALL_H
#define GZLZSS_SMALL_H

#include "pipeline/crew/state.h"

/* Makes p->small; returns false if memory is short.  While p->small is NULL, small_fits is always
 * false. */
bool small_init(struct pipeline *p);

/* Frees p->small and the tools that it keeps. */
void small_free(struct pipeline *p);

/* Whether small_compress can do the job (pipeline_is_for_here says more).  Called without the
 * lock. */
bool small_fits(const struct pipeline *p, const struct pipeline_job *request);

/* Does the job in the calling thread.  Returns false if memory is short (pipeline_compress_here
 * says more).  Called without the lock. */
bool small_compress(struct pipeline *p, struct pipeline_job *request);

#endif
