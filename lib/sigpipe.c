/*
 * sigpipe.c - writing without SIGPIPE and SIGXFSZ (sigpipe.h)
 */
#include "config.h"

#include <time.h>

#include "lib/sigpipe.h"

static const int signals[] = {SIGPIPE, SIGXFSZ};

#define COUNT (sizeof(signals) / sizeof(*signals))

void sigpipe_block(struct sigpipe *s)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < COUNT; i++)
        sigaddset(&set, signals[i]);
    sigemptyset(&s->pending);
    (void)sigpending(&s->pending);
    pthread_sigmask(SIG_BLOCK, &set, &s->mask);
}

void sigpipe_restore(const struct sigpipe *s, bool has_failed)
{
    const struct timespec none = {0, 0};
    sigset_t now, ours;

    sigemptyset(&ours);
    if (has_failed && sigpending(&now) == 0)
        for (size_t i = 0; i < COUNT; i++)
            if (sigismember(&now, signals[i]) == 1 && sigismember(&s->pending, signals[i]) != 1)
                sigaddset(&ours, signals[i]);
    while (sigtimedwait(&ours, NULL, &none) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}
