/*
 * cleanup.c - removes partial outputs when a signal ends the program (cleanup.h)
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/io.h"
#include "src/cleanup.h"

/* The signals by which users, other processes and resource limits end the program.  SIGSEGV and
 * other signals that show a bug keep their default action. */
static const int ending[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};

/* The number of threads that are between cleanup_hold and cleanup_release.  The signal handler
 * waits until the number is 0, since a handler must not lock a mutex.  The handler runs on the main
 * thread.  It never runs while the main thread is between the two calls, since cleanup_hold blocks
 * the signals. */
static atomic_uint inside;
/* True once the handler runs.  From then on, cleanup_hold stops every thread that calls it. */
static atomic_bool is_ending;

/* All armed outputs.  A thread that changes the list must be between cleanup_hold and
 * cleanup_release, and holds the spin lock `lock` while it changes the list, which takes only a
 * moment. */
static struct cleanup_output *armed;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static bool is_foreground;

/* The handler sleeps at most this many milliseconds between two looks at `inside`.  A longer sleep
 * may delay the program's end; a shorter one uses more processor time. */
#define SLEEP_MAX 10

static void take_lock(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield();
}

static void give_lock(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void ending_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        sigaddset(set, ending[i]);
}

/* Returns when no thread is between cleanup_hold and cleanup_release.  A slow file system may keep
 * a thread between the two calls for seconds, so the handler sleeps between two looks.  It sleeps
 * by calling poll, which a signal handler may do. */
static void wait_until_all_are_out(void)
{
    for (int sleep = 0; atomic_load(&inside) > 0; sleep += sleep < SLEEP_MAX)
        poll(NULL, 0, sleep);
}

static void on_signal(int signal_number)
{
    sigset_t set;

    atomic_store(&is_ending, true);
    wait_until_all_are_out();
    for (struct cleanup_output *o = armed; o != NULL; o = o->next)
        io_unlink_at(o->directory, o->name);
    /* Die by the same signal, as its sender expects. */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    /* Process 1 of a PID namespace, such as a container's command, does not die by a signal whose
     * action is the default one.  It must not go on, since its outputs are gone now. */
    _exit(128 + signal_number);
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
    /* The order of these calls matters: either this thread sees that the handler runs, or the
     * handler sees that `inside` counts this thread. */
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&is_ending)) {
        atomic_fetch_sub(&inside, 1);
        for (;;)
            pause();
    }
}

void cleanup_release(const sigset_t *before)
{
    atomic_fetch_sub(&inside, 1);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void cleanup_arm(struct cleanup_output *output)
{
    output->previous = NULL;
    take_lock();
    output->next = armed;
    if (armed != NULL)
        armed->previous = output;
    armed = output;
    give_lock();
}

void cleanup_disarm(struct cleanup_output *output)
{
    take_lock();
    if (output->previous != NULL)
        output->previous->next = output->next;
    else
        armed = output->next;
    if (output->next != NULL)
        output->next->previous = output->previous;
    give_lock();
}

void cleanup_signal_for(int error_number)
{
    /* Send the signal to the process, not to this thread, because only the main thread takes it. */
    if (error_number == EPIPE)
        kill(getpid(), SIGPIPE);
    else if (error_number == EFBIG)
        kill(getpid(), SIGXFSZ);
}
