/*
 * thread.h - starts threads that block signals
 *
 * The program's own threads take the signals to the process, and run their handlers; in the
 * command, the main thread does.  Threads that thread_start starts block all signals, with two
 * exceptions: the signals that report a fault in the thread itself, and SIGPROF.  The handler of
 * such a signal may interrupt any system call of the thread (EINTR).
 */
#ifndef GZLZSS_BASE_THREAD_H
#define GZLZSS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of stack that are enough for any thread that thread_start starts, except for a thread that
 * runs a GPU driver. */
#define THREAD_STACK_SIZE ((size_t)1 << 20)

/* Bytes of the largest stack.  GPU drivers may need more than THREAD_STACK_SIZE. */
#define THREAD_STACK_MAX ((size_t)8 << 20)

/* Starts a thread, as pthread_create does, with signals blocked as described above.  Its stack has
 * the system's usual size, but at least THREAD_STACK_SIZE and at most THREAD_STACK_MAX; if memory
 * or addresses are limited (RLIMIT_DATA, RLIMIT_AS), exactly THREAD_STACK_SIZE.  Returns whether
 * the thread was started. */
bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument);

#endif
