/*
 * test_wake.c - a wait for a descriptor ends when the descriptor is ready, when time is up, or by a
 * call from another thread
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wake.h"
#include "tests/unit/unit.h"

static void open_both(struct wake *w, int ends[2])
{
    if (!wake_open(w) || pipe(ends) != 0)
        abort();
}

static void close_both(const struct wake *w, const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
    wake_close(w);
}

static void says_why(void)
{
    struct wake w;
    int ends[2];
    char byte;

    open_both(&w, ends);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, 0), 0);
    CHECK_EQ(wake_wait(&w, ends[1], POLLOUT, -1), WAKE_READY);
    CHECK_EQ(write(ends[1], "", 1), 1);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, -1), WAKE_READY);
    wake_call(&w);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, -1), WAKE_READY | WAKE_CALLED);
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    /* A call also ends all later waits, until wake_clear is called. */
    for (int i = 0; i < 3; i++)
        CHECK_EQ(wake_wait(&w, ends[0], POLLIN, -1), WAKE_CALLED);
    wake_clear(&w);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, 0), 0);
    close_both(&w, ends);
}

static void waits_for_its_time(void)
{
    const double start = clock_seconds();
    struct wake w;
    int ends[2];

    open_both(&w, ends);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, 20), 0);
    CHECK(clock_seconds() - start >= 0.019);
    close_both(&w, ends);
}

/* More calls than a pipe holds bytes must not make the caller wait. */
static void never_waits_to_call(void)
{
    struct wake w;
    int ends[2];

    open_both(&w, ends);
    for (int i = 0; i < 1 << 17; i++)
        wake_call(&w);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, -1), WAKE_CALLED);
    wake_clear(&w);
    CHECK_EQ(wake_wait(&w, ends[0], POLLIN, 0), 0);
    close_both(&w, ends);
}

static void *call_main(void *argument)
{
    usleep(20000);
    wake_call(argument);
    return NULL;
}

static void is_called_by_another_thread(void)
{
    pthread_t thread;
    struct wake w;
    int ends[2], found;

    open_both(&w, ends);
    if (!CHECK(pthread_create(&thread, NULL, call_main, &w) == 0))
        return;
    do
        found = wake_wait(&w, ends[0], POLLIN, -1);
    while (found == 0);
    CHECK_EQ(found, WAKE_CALLED);
    pthread_join(thread, NULL);
    close_both(&w, ends);
}

static void none(void)
{
    const struct wake w = wake_none();

    CHECK(!wake_is_open(&w));
    wake_close(&w);
}

int main(void)
{
    RUN(says_why);
    RUN(waits_for_its_time);
    RUN(never_waits_to_call);
    RUN(is_called_by_another_thread);
    RUN(none);
    return unit_done();
}
