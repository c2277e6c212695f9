/*
 * cleanup.c - a signal must not leave half an output file behind (cleanup.h)
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "src/cleanup.h"

static const int ending[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};

/* What a signal handler can reach has to be global.  Only the main thread touches it. */
static const char *volatile partial_output;

/* What was held back before cleanup_hold. */
static sigset_t before_hold;

static void ending_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        sigaddset(set, ending[i]);
}

static void on_signal(int signal_number)
{
    const char *name = partial_output;

    if (name != NULL)
        unlink(name);
    /* Die by the same signal, as whoever sent it expects to see; it comes as the handler returns.
     */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void cleanup_init(void)
{
    struct sigaction action = {.sa_handler = on_signal}, before;

    ending_signals(&action.sa_mask);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

void cleanup_hold(void)
{
    sigset_t set;

    ending_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, &before_hold);
}

void cleanup_release(void)
{
    pthread_sigmask(SIG_SETMASK, &before_hold, NULL);
}

void cleanup_signal_for(int error_number)
{
    /* To the process, not to this thread: the main thread is the one that takes it. */
    if (error_number == EPIPE)
        kill(getpid(), SIGPIPE);
    else if (error_number == EFBIG)
        kill(getpid(), SIGXFSZ);
}

void cleanup_arm(const char *name)
{
    partial_output = name;
}

void cleanup_disarm(void)
{
    partial_output = NULL;
}

bool cleanup_start_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}
