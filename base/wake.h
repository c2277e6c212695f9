/*
 * wake.h - waiting for a descriptor, until another thread ends the wait
 *
 * A thread that waits in poll(2) cannot be reached by a condition variable.  So there is a pipe
 * that it polls, too: another thread ends the wait by writing a byte to the pipe.  The byte stays
 * there, and ends all later waits as well, until wake_clear.
 */
#ifndef GZLZSS_BASE_WAKE_H
#define GZLZSS_BASE_WAKE_H

#include <stdbool.h>

/* The two ends of a pipe; -1: there is none. */
struct wake {
    int ends[2];
};

/* No pipe. */
static inline struct wake wake_none(void)
{
    return (struct wake){{-1, -1}};
}

/* Opens the pipe.  False, with errno set, if that fails: then *w is wake_none(). */
bool wake_open(struct wake *w);

/* Closes the pipe, if there is one. */
void wake_close(const struct wake *w);

bool wake_is_open(const struct wake *w);

/* Ends waits.  Any thread may call it while the pipe is open; it never waits. */
void wake_call(const struct wake *w);

/* Forgets all calls of wake_call so far. */
void wake_clear(const struct wake *w);

/* What wake_wait returns, alone or together. */
enum {
    WAKE_READY = 1,  /* the descriptor is ready, or has an error */
    WAKE_CALLED = 2, /* wake_call was called */
};

/*
 * Waits until fd is ready for `events` (poll's), or wake_call was called, but for `ms` milliseconds
 * at most, without end if ms is -1.  Returns WAKE_READY, WAKE_CALLED or both; 0 after that time, or
 * sooner after a signal; -1 with errno set if poll fails.  The pipe must be open.
 */
int wake_wait(const struct wake *w, int fd, short events, int ms);

#endif
