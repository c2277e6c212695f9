/*
 * thread.c - starting threads that block signals (thread.h)
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/thread.h"

/* By default, a stack has as much as `ulimit -s` says with glibc, which may be next to nothing or very
 * much, and 128 KiB with musl.  Where it is limited what is mapped, most of a large one would be wasted. */
static void choose_stack(pthread_attr_t *attributes)
{
    const size_t most = limits_mapped() == UINT64_MAX ? THREAD_STACK_MAX : THREAD_STACK_SIZE;
    size_t size = 0;

    (void)pthread_attr_getstacksize(attributes, &size);
    if (size < THREAD_STACK_SIZE)
        (void)pthread_attr_setstacksize(attributes, THREAD_STACK_SIZE);
    else if (size > most)
        (void)pthread_attr_setstacksize(attributes, most);
}

/* What a thread begins with. */
struct start {
    void *(*body)(void *);
    void *argument;
};

/* The signals that a thread of ours may take.  Those of a fault in it: where one is blocked, the kernel
 * ends the process without its handler.  And a profiler's, which is about all threads. */
static void taken_signals(sigset_t *set)
{
    static const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};

    sigemptyset(set);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        sigaddset(set, taken[i]);
}

static void *begin(void *argument)
{
    const struct start s = *(struct start *)argument;
    sigset_t taken;

    free(argument);
    taken_signals(&taken);
    pthread_sigmask(SIG_UNBLOCK, &taken, NULL);
    return s.body(s.argument);
}

/* Starts it with all signals blocked, as it inherits the mask of the thread that starts it.  (To unblock
 * some there would let this thread take a signal that it blocks itself.) */
static bool start_blocked(pthread_t *thread, const pthread_attr_t *attributes, struct start *s)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, attributes, begin, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

bool thread_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    struct start *s = malloc(sizeof(*s));
    pthread_attr_t attributes;
    bool ok = false;

    if (s == NULL)
        return false;
    *s = (struct start){body, argument};
    if (pthread_attr_init(&attributes) == 0) {
        choose_stack(&attributes);
        ok = start_blocked(thread, &attributes, s);
        pthread_attr_destroy(&attributes);
    }
    if (!ok)
        free(s);
    return ok;
}
