/*
 * clock.h - the time, to measure with
 */
#ifndef GZLZSS_BASE_CLOCK_H
#define GZLZSS_BASE_CLOCK_H

#include <time.h>

/* Seconds since some moment in the past, the same for the whole run.  Any thread. */
static inline double clock_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
