/*
 * thread.c - starting threads that no signal interrupts (thread.h)
 */
#include "config.h"

#include <signal.h>
#include <stddef.h>

#include "base/thread.h"

bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    sigset_t all, before;
    int error;

    /* A new thread inherits the mask of the one that starts it, so it never takes a signal. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}
