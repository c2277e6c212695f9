/*
 * thread.h - starting threads that no signal interrupts
 *
 * Signals are for the main thread alone, which runs their handlers.
 */
#ifndef GZLZSS_BASE_THREAD_H
#define GZLZSS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* pthread_create for a thread that blocks all signals; returns true if the thread was started. */
bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
