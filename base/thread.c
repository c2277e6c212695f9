/*
 * thread.c - starts threads that block signals (thread.h)
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/thread.h"

/* Chooses the size of a stack (thread.h).  The C library's default is not good, because glibc takes
 * the value of "ulimit -s", which may be very small or very large, and musl takes 128 KiB.  If the
 * process may map only a limited amount of memory, a stack larger than necessary would waste some
 * of that memory. */
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

/* A thread's function and its argument. */
struct start {
    void *(*body)(void *);
    void *argument;
};

/* Fills the set with the signals that a started thread does not block.  These are the signals of a
 * fault in the thread itself, because if they were blocked, the kernel would kill the process
 * without calling the handler.  The set also has SIGPROF, by which a profiler looks at all
 * threads. */
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

/* Starts a thread with all signals blocked.  A new thread inherits the signal mask of the calling
 * thread, so the calling thread blocks all signals during pthread_create.  The new thread then
 * unblocks some signals itself.  (The calling thread cannot unblock them before pthread_create,
 * since it might then take a signal that its own program had blocked.) */
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
