/*
 * cleanup.h - a signal must not leave half an output file behind
 *
 * Signals are for the main thread alone: it runs the handler, so the handler never runs beside the
 * code that arms and disarms it, and cannot remove an output whose input is just being removed
 * too.  Every other thread is started with all signals blocked (cleanup_start_thread).
 */
#ifndef GZLZSS_CLEANUP_H
#define GZLZSS_CLEANUP_H

#include <pthread.h>
#include <stdbool.h>

/* Catches the signals that end the program, except those that are ignored already. */
void cleanup_init(void);

/* Holds these signals back from now on, or no longer. Not to be nested. */
void cleanup_hold(void);
void cleanup_release(void);

/* From now on a signal removes this file before it ends the program; the name must stay valid until
 * cleanup_disarm.  Call both only while signals are held. */
void cleanup_arm(const char *name);
void cleanup_disarm(void);

/* Takes the signal that goes with a failed write's errno (SIGPIPE with EPIPE, SIGXFSZ with EFBIG),
 * which was held back if it was not the main thread that wrote.  Returns if it is ignored, or goes
 * with none. */
void cleanup_signal_for(int error_number);

/* pthread_create for a thread that gets no signals; returns true if the thread was started. */
bool cleanup_start_thread(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
