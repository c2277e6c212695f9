/*
 * cleanup.h - removes partial outputs when a signal ends the program
 *
 * An output that is not final yet is registered ("armed").  A signal that ends the program first
 * removes all armed outputs.
 *
 * Only the main thread takes signals: it runs the handler, and every other thread is started with
 * these signals blocked (base/thread.h).
 *
 * Creating a file and arming it must happen together, and so must removing an input and disarming
 * its output.  A thread does each pair between cleanup_hold and cleanup_release.  The handler waits
 * until no thread is between these two calls, and makes cleanup_hold stop all threads that come
 * later.  The handler cannot interrupt the main thread between the two calls, since cleanup_hold
 * blocks signals.
 *
 * Any number of threads may be between the two calls at a time.  A lock would allow only one
 * thread, so 16 threads that create files would wait for each other.
 */
#ifndef GZLZSS_CLEANUP_H
#define GZLZSS_CLEANUP_H

#include <signal.h>
#include <stdbool.h>

/* A file that a signal removes.  `name` is relative to the directory whose descriptor is
 * `directory`, or to the working directory if `directory` is AT_FDCWD. */
struct cleanup_output {
    int directory;
    const char *name;
    struct cleanup_output *previous, *next; /* the neighbours in cleanup.c's list of armed
                                             * outputs */
};

/* Installs the handler for the signals that end the program.  Signals that the process ignores
 * already stay ignored. */
void cleanup_init(void);

/* Whether the keyboard can interrupt the program.  It cannot if a shell has started the program in
 * the background, since the shell then makes the program ignore SIGINT.  Call cleanup_init
 * first. */
bool cleanup_is_foreground(void);

/* Keeps signals from removing outputs until cleanup_release.  Sets *before to the signals that were
 * blocked before the call.  A thread must not call this function again before cleanup_release.  If
 * a signal is about to end the program, this function does not return. */
void cleanup_hold(sigset_t *before);

/* Ends what cleanup_hold began; `before` is what cleanup_hold set. */
void cleanup_release(const sigset_t *before);

/* Registers an output: until cleanup_disarm, a signal that ends the program first removes this
 * file.  Call this only between cleanup_hold and cleanup_release.  *output and its name must stay
 * until cleanup_disarm. */
void cleanup_arm(struct cleanup_output *output);

/* Ends what cleanup_arm began.  Call this only between cleanup_hold and cleanup_release. */
void cleanup_disarm(struct cleanup_output *output);

/* Sends this process the signal that belongs to a failed write's errno: SIGPIPE for EPIPE, SIGXFSZ
 * for EFBIG.  Threads other than the main thread need this, as they block signals.  Returns if the
 * errno has no signal, or the signal is ignored. */
void cleanup_signal_for(int error_number);

#endif
