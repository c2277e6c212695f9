/*
 * work.h - decides what a worker does next
 */
#ifndef GZLZSS_WORK_H
#define GZLZSS_WORK_H

#include "pipeline/crew/state.h"

/* Does the most urgent work that this worker can do now.  Releases the lock meanwhile.  Returns
 * false if there is nothing that the worker can do now. */
bool work_once(struct worker *w);

/* The function of a worker's thread.  *worker is a struct worker. */
void *worker_main(void *worker);

#endif
