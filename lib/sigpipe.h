/*
 * sigpipe.h - writing to a pipe that nobody reads, without the signal that says so
 *
 * The library's own threads block this one and SIGXFSZ, which comes of a file that is too large, as
 * nearly all signals (base/thread.h).  The calling thread, where it writes, blocks these two, and takes
 * away what came of its own writing.
 */
#ifndef GZLZSS_LIB_SIGPIPE_H
#define GZLZSS_LIB_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct sigpipe {
    sigset_t mask;    /* the thread's, before, */
    sigset_t pending; /* and signals that are none of ours */
};

void sigpipe_block(struct sigpipe *s);

/* has_failed: a write has, so that there may be a signal of ours. */
void sigpipe_restore(const struct sigpipe *s, bool has_failed);

#endif
