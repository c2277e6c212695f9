/*
 * wake.h - waits for a descriptor, until another thread ends the wait
 *
 * A condition variable cannot wake a thread that waits in poll(2).  So the thread polls a pipe,
 * too, and another thread ends the wait by writing a byte to the pipe.  The byte stays in the pipe,
 * and ends all later waits as well, until wake_clear empties the pipe.
 */
#ifndef GZLZSS_BASE_WAKE_H
#define GZLZSS_BASE_WAKE_H

#include <stdbool.h>

/* The two ends of a pipe: [0] to read, [1] to write.  Both are -1 if there is no pipe. */
struct wake {
    int ends[2];
};

/* Returns a struct wake that has no pipe. */
static inline struct wake wake_none(void)
{
    return (struct wake){{-1, -1}};
}

/* Opens the pipe.  If that fails, sets *w to wake_none(), and returns false with errno set. */
bool wake_open(struct wake *w);

/* Closes the pipe, if there is one. */
void wake_close(const struct wake *w);

bool wake_is_open(const struct wake *w);

/* Ends all waits, now and until wake_clear is called.  Never blocks.  Any thread may call this
 * while the pipe is open. */
void wake_call(const struct wake *w);

/* Empties the pipe, so that earlier calls of wake_call no longer end waits. */
void wake_clear(const struct wake *w);

/* The result of wake_wait: one of these bits, or both. */
enum {
    WAKE_READY = 1,  /* the descriptor is ready, or has an error */
    WAKE_CALLED = 2, /* wake_call was called */
};

/*
 * Waits until fd is ready for `events` (as for poll), or until wake_call was called, but at most
 * `ms` milliseconds (-1: without limit).  Returns WAKE_READY, WAKE_CALLED or both; 0 when the time
 * is over, or earlier after a signal; -1 with errno set if poll fails.  The pipe must be open.
 */
int wake_wait(const struct wake *w, int fd, short events, int ms);

#endif
