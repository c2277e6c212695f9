/*
 * guard.c - calls that KeyboardInterrupt ends at once
 *
 * Python runs the handlers of signals in its main thread, between two instructions of Python.  So a
 * main thread that is in a call of the library for a minute would notice Ctrl-C only afterwards.
 * If a call may take long, the main thread therefore starts another thread for it.  While the main
 * thread waits, it asks several times a second whether a handler has something to say.
 */
#include "core.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Milliseconds between two looks at signals. */
#define GUARD_PATIENCE 20

struct task {
    void (*work)(void *);
    void *argument;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
};

/* The main thread's number, as threading.get_ident() gives it; 0 if unknown. */
static unsigned long main_thread;

PyObject *py_guard_set_main_thread(PyObject *module, PyObject *ident)
{
    const unsigned long number = PyLong_AsUnsignedLong(ident);

    (void)module;
    if (PyErr_Occurred() != NULL)
        return NULL;
    main_thread = number;
    Py_RETURN_NONE;
}

static void *task_main(void *argument)
{
    struct task *t = argument;

    t->work(t->argument);
    pthread_mutex_lock(&t->lock);
    t->has_ended = true;
    pthread_cond_signal(&t->ended);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Starts a thread that gets no signals, so that they reach the threads that Python knows. */
static bool start(pthread_t *thread, struct task *t)
{
    sigset_t all, before;
    bool ok;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ok = pthread_create(thread, NULL, task_main, t) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* Waits until the task has ended, for at most GUARD_PATIENCE milliseconds.  Returns whether it has
 * ended. */
static bool wait_a_little(struct task *t)
{
    struct timespec until;
    int error = 0;
    bool has_ended;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += GUARD_PATIENCE * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&t->lock);
    while (!t->has_ended && error == 0)
        error = pthread_cond_timedwait(&t->ended, &t->lock, &until);
    has_ended = t->has_ended;
    pthread_mutex_unlock(&t->lock);
    return has_ended;
}

/* Waits for the task, and cancels its call if a signal handler raises an exception.  The thread may
 * not have begun the call when it is cancelled, so cancel it again and again.  Returns false with
 * the exception. */
static bool watch(struct task *t, gzlzss *z, const gzlzss_call *call)
{
    bool is_interrupted = false, has_ended;

    do {
        if (is_interrupted)
            gzlzss_cancel(z, call);
        Py_BEGIN_ALLOW_THREADS has_ended = wait_a_little(t);
        Py_END_ALLOW_THREADS if (!is_interrupted && PyErr_CheckSignals() != 0) is_interrupted =
            true;
    } while (!has_ended);
    return !is_interrupted;
}

static bool run_watched(struct task *t, gzlzss *z, const gzlzss_call *call)
{
    pthread_condattr_t monotonic;
    pthread_t thread;
    bool ok;

    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    ok = start(&thread, t);
    if (ok) {
        ok = watch(t, z, call);
        pthread_join(thread, NULL);
    } else {
        Py_BEGIN_ALLOW_THREADS t->work(t->argument);
        Py_END_ALLOW_THREADS ok = true;
    }
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->lock);
    return ok;
}

bool py_guard_run(gzlzss *z, const gzlzss_call *call, size_t bytes, void (*work)(void *),
                  void *argument)
{
    struct task t = {.work = work, .argument = argument};

    if (bytes >= GUARD_MIN && PyThread_get_thread_ident() == main_thread)
        return run_watched(&t, z, call);
    Py_BEGIN_ALLOW_THREADS work(argument);
    Py_END_ALLOW_THREADS return true;
}
