/*
 * cleanup.h - a signal must not leave half an output file behind
 *
 * An output that is not final yet is registered ("armed").  A signal that ends the program first
 * removes all armed outputs.  Signals are for the main thread alone: it runs the handler, and
 * every other thread is started with these signals blocked (base/thread.h).  Creating a file
 * and arming it, or removing an input and disarming its output, must not come apart: a thread does
 * both between cleanup_hold and cleanup_release.  The handler waits until no other thread is there,
 * and lets none go there any more.  The main thread cannot be interrupted while it is there, as it
 * then holds signals back.  Any number of threads may be there at a time: to create files one by
 * one would be what 16 threads wait for.
 */
#ifndef GZLZSS_CLEANUP_H
#define GZLZSS_CLEANUP_H

#include <signal.h>
#include <stdbool.h>

/* A file to be removed: a name, relative to a directory descriptor (or AT_FDCWD). */
struct cleanup_output {
    int directory;
    const char *name;
    struct cleanup_output *previous, *next; /* cleanup's own */
};

/* Catches the signals that end the program, except those that are ignored already. */
void cleanup_init(void);

/* Whether the keyboard can interrupt the program: a shell makes programs in the background
 * ignore that.  Valid after cleanup_init. */
bool cleanup_is_foreground(void);

/* Between these two, nothing is removed by a signal.  `before` is where the second finds the signals
 * that the first held back.  Not to be nested.  The first does not return once the program is about
 * to end by a signal. */
void cleanup_hold(sigset_t *before);
void cleanup_release(const sigset_t *before);

/* From cleanup_arm to cleanup_disarm, a signal removes this file before it ends the program.
 * Call both only between cleanup_hold and cleanup_release.  *output and the name must stay until
 * then. */
void cleanup_arm(struct cleanup_output *output);
void cleanup_disarm(struct cleanup_output *output);

/* Sends this process the signal that belongs to a failed write's errno (SIGPIPE to EPIPE,
 * SIGXFSZ to EFBIG): a thread other than the main thread blocks it.  Returns if the signal is
 * ignored, or if the errno has none. */
void cleanup_signal_for(int error_number);

#endif
