/*
 * sigpipe.h - writing to a pipe that nobody reads, without the signal that says so
 *
 * The library's own threads block all signals.  A thread of the program's that works for a while
 * blocks this one meanwhile, and takes away what came of its own writing.
 */
#ifndef GZLZSS_LIB_SIGPIPE_H
#define GZLZSS_LIB_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct sigpipe {
    sigset_t mask;    /* the thread's, before */
    bool was_pending; /* a signal that is none of ours */
};

void sigpipe_block(struct sigpipe *s);
void sigpipe_restore(const struct sigpipe *s);

#endif
