/*
 * here.h - small inputs in memory, compressed by the thread that calls, alone
 */
#ifndef GZLZSS_HERE_H
#define GZLZSS_HERE_H

#include "pipeline/job.h"

/* Frees the memory that was kept. */
void here_free(struct pipeline *p);

#endif
