/*
 * sigpipe.h - writing without SIGPIPE and SIGXFSZ
 *
 * A write to a pipe that nobody reads sends SIGPIPE, and a write to a file that is too large sends
 * SIGXFSZ.  The library's own threads block nearly all signals (base/thread.h).  Where the calling
 * thread writes, it blocks these two, and afterwards removes the signals that its own writes have
 * sent.
 */
#ifndef GZLZSS_LIB_SIGPIPE_H
#define GZLZSS_LIB_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct sigpipe {
    /* The thread's signal mask before sigpipe_block. */
    sigset_t mask;
    /* Signals that were pending before sigpipe_block.  These stay pending. */
    sigset_t pending;
};

/* Blocks both signals in the calling thread. */
void sigpipe_block(struct sigpipe *s);

/* Undoes sigpipe_block.  has_failed tells whether a write has failed; if so, a signal that this
 * write has sent may be pending. */
void sigpipe_restore(const struct sigpipe *s, bool has_failed);

#endif
