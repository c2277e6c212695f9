/*
 * write.h - a job's output, written in order
 */
#ifndef GZLZSS_WRITE_H
#define GZLZSS_WRITE_H

#include "pipeline/job.h"

/* Writes all finished segments that are next in the job's output, unless another thread does so.
 * Gives up the lock meanwhile.  If writing fails, the job does. */
void write_finished(struct job *j);

#endif
