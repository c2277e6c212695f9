/*
 * cleanup.c - a signal must not leave half an output file behind (cleanup.h)
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "src/cleanup.h"

/* The signals that end the program from outside; those of a bug are left alone. */
static const int ending[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};

/* What a signal handler can reach has to be global.  The lock is one that a handler may take: no
 * mutex, but a flag, and it is held for a few system calls at most. */
static struct cleanup_output *armed;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static bool is_foreground;

/* Threads that want the lock wait here, so that only one of them takes turns with a handler. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
/* What is done under the lock takes less time than to sleep and to be woken. */
static pthread_mutex_t queue = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
#else
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
#endif

static void take_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield();
}

static void ending_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        sigaddset(set, ending[i]);
}

static void on_signal(int signal_number)
{
    take_lock();
    for (struct cleanup_output *o = armed; o != NULL; o = o->next)
        unlinkat(o->directory, o->name, 0);
    /* Die by the same signal, as whoever sent it expects; it comes as the handler returns. */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void cleanup_init(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;

    is_foreground = sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN;
    ending_signals(&action.sa_mask);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

bool cleanup_is_foreground(void)
{
    return is_foreground;
}

void cleanup_hold(sigset_t *before)
{
    sigset_t set;

    ending_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
    pthread_mutex_lock(&queue);
    take_lock();
}

void cleanup_release(const sigset_t *before)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
    pthread_mutex_unlock(&queue);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void cleanup_arm(struct cleanup_output *output)
{
    output->previous = NULL;
    output->next = armed;
    if (armed != NULL)
        armed->previous = output;
    armed = output;
}

void cleanup_disarm(struct cleanup_output *output)
{
    if (output->previous != NULL)
        output->previous->next = output->next;
    else
        armed = output->next;
    if (output->next != NULL)
        output->next->previous = output->previous;
}

void cleanup_signal_for(int error_number)
{
    /* To the process, not to this thread: the main thread is the one that takes it. */
    if (error_number == EPIPE)
        kill(getpid(), SIGPIPE);
    else if (error_number == EFBIG)
        kill(getpid(), SIGXFSZ);
}
