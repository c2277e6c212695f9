/*
 * clock.h - reads the time, for measurements and for waits
 */
#ifndef GZLZSS_BASE_CLOCK_H
#define GZLZSS_BASE_CLOCK_H

#include <time.h>

/* Seconds since a moment in the past that stays the same for the whole run (CLOCK_MONOTONIC).  Any
 * thread may call it. */
static inline double clock_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
