/*
 * progress.h - one line on standard error that tells how far the work is
 */
#ifndef GZLZSS_PROGRESS_H
#define GZLZSS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/options.h"

/* Of one input.  One thread at a time; all zero, it shows nothing. */
struct progress {
    const char *name;
    uint64_t total; /* bytes of input; 0 if that is not known */
    bool expanding; /* decompression: the ratio is of output to input */
    bool is_wanted; /* it may be shown */
    double delay;   /* seconds before the line is shown first */
    double start;   /* when the work began, as clock_seconds tells it */
    double shown;   /* when the line was shown last; 0: not yet */
    size_t width;   /* of what is on the terminal now */
};

/* Starts for an input called `name`, which has to stay: with --progress, or with -v on a terminal,
 * then only if it takes more than two seconds; else nothing is ever shown. */
void progress_start(struct progress *p, const struct options *o, const char *name, uint64_t total);

/* Shows how many bytes were read and written so far, and by what ("cpu"), a few times a second at
 * most. */
void progress_update(struct progress *p, uint64_t in, uint64_t out, const char *engine);

/* Removes the line; returns whether there was one. */
bool progress_end(struct progress *p);

#endif
