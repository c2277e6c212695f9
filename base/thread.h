/*
 * thread.h - starting threads that block signals
 *
 * Signals to the process are for the program's own threads, in the command for the main thread, which
 * run their handlers.  Threads of ours take only what is about themselves: the signals of a fault, and
 * SIGPROF.  A handler of these may interrupt any system call of theirs (EINTR).
 */
#ifndef GZLZSS_BASE_THREAD_H
#define GZLZSS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* A stack of so many bytes is enough for any thread of ours. */
#define THREAD_STACK_SIZE ((size_t)1 << 20)

/* No thread has a larger one.  GPUs' drivers may need more than THREAD_STACK_SIZE. */
#define THREAD_STACK_MAX ((size_t)8 << 20)

/* pthread_create for a thread that blocks all other signals and has a stack of THREAD_STACK_SIZE at least, and of
 * no more where memory or addresses are limited (RLIMIT_DATA, RLIMIT_AS); returns true if the thread was
 * started. */
bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
