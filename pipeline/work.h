/*
 * work.h - what a worker does
 */
#ifndef GZLZSS_WORK_H
#define GZLZSS_WORK_H

#include "pipeline/crew/state.h"

/* Does what comes first; gives up the lock meanwhile.  False: there is nothing to do now, or no
 * memory to do it. */
bool work_once(struct worker *w);

/* What all workers but the first do: a thread's function. */
void *worker_main(void *worker);

#endif
