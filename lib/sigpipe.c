/*
 * sigpipe.c - writing without SIGPIPE (sigpipe.h)
 */
#include "config.h"

#include <time.h>

#include "lib/sigpipe.h"

static bool is_pending(void)
{
    sigset_t set;

    return sigpending(&set) == 0 && sigismember(&set, SIGPIPE) == 1;
}

void sigpipe_block(struct sigpipe *s)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    s->was_pending = is_pending();
    pthread_sigmask(SIG_BLOCK, &set, &s->mask);
}

void sigpipe_restore(const struct sigpipe *s)
{
    const struct timespec none = {0, 0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!s->was_pending && is_pending())
        (void)sigtimedwait(&set, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}
