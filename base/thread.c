/*
 * thread.c - starting threads that no signal interrupts (thread.h)
 */
#include "config.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/thread.h"

/* Whether what is mapped is limited, be it filled or not, as most of a stack never is. */
static bool is_mapping_limited(void)
{
    struct rlimit data, addresses;

    return (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY) ||
           (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY);
}

/* By default, a stack has as much as `ulimit -s` says with glibc, which may be next to nothing or very
 * much, and 128 KiB with musl. */
static void choose_stack(pthread_attr_t *attributes)
{
    const size_t most = is_mapping_limited() ? THREAD_STACK_SIZE : THREAD_STACK_MAX;
    size_t size = 0;

    (void)pthread_attr_getstacksize(attributes, &size);
    if (size < THREAD_STACK_SIZE)
        (void)pthread_attr_setstacksize(attributes, THREAD_STACK_SIZE);
    else if (size > most)
        (void)pthread_attr_setstacksize(attributes, most);
}

bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    choose_stack(&attributes);

    /* A new thread inherits the mask of the one that starts it, so it never takes a signal. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error == 0;
}
