/*
 * thread.c - starting threads that no signal interrupts (thread.h)
 */
#include "config.h"

#include <signal.h>

#include "base/thread.h"

/* Makes the stack large enough where by default it is not: musl gives a thread 128 KiB, glibc 8 MiB,
 * as ulimit -s has it. */
static void enlarge_stack(pthread_attr_t *attributes)
{
    size_t size;

    if (pthread_attr_getstacksize(attributes, &size) == 0 && size < THREAD_STACK_SIZE)
        pthread_attr_setstacksize(attributes, THREAD_STACK_SIZE);
}

bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    enlarge_stack(&attributes);

    /* A new thread inherits the mask of the one that starts it, so it never takes a signal. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}
