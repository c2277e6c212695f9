/*
 * in_order.h - accepts, resolves and writes runs, in order
 *
 * When the consumer reaches the start of a decoded run, it stops decoding, and its place moves over
 * one run after another.  Each run passes three steps:
 *
 *   accept   The place moves to the run's end, and the run goes to the end of a line.  This gives
 *            the next run its window.
 *   resolve  The run's symbols become bytes.
 *   write    The run's bytes are written, and the run leaves the line.
 *
 * Between in_order_begin and in_order_end, any thread does these steps.  If only the consumer did
 * them, all other threads would wait while it writes or decodes a region.  One thread at a time
 * accepts, and one writes.  Any number of threads resolve.
 */
#ifndef GZLZSS_EXPAND_IN_ORDER_H
#define GZLZSS_EXPAND_IN_ORDER_H

#include "pipeline/expand/expansion.h"

/* Lets in_order_step accept runs from the consumer's place on, until in_order_end.  The bytes
 * before place->end are the window. */
void in_order_begin(struct expansion *e, struct gz_place *place);

/* Ends what in_order_begin has started, so that the consumer decodes by itself from now on.  Copies
 * the window at the place to the bytes before place->end. */
void in_order_end(struct expansion *e, struct gz_place *place);

/* Does one of these: accepts all runs that can be accepted now, writes one run, or resolves one.
 * Gives up the lock.  Returns false if there is nothing to do now. */
bool in_order_step(struct expansion *e, struct expand_tools *t);

/* Keeps all threads from accepting runs, until in_order_release.  Meanwhile, the caller may use the
 * window without the lock, and may move the consumer's place with the lock.  Call this only while
 * in_order_is_idle returns true. */
void in_order_hold(struct expansion *e);
void in_order_release(struct expansion *e);

/* Returns the window before the consumer's place.  Call this only while in_order_is_idle returns
 * true, or between in_order_hold and in_order_release. */
uint8_t *in_order_window(struct expansion *e);

/* Whether a run starts at the consumer's place. */
enum coming {
    RUN_IS_THERE, /* a run was decoded */
    RUN_COMES,    /* a thread decodes a run from there, or looks for a start there */
    RUN_MAY_COME, /* a thread could decode a run from there */
    NO_RUN_COMES, /* no run starts there, or none that can be accepted */
};

/* Returns whether a run starts at the consumer's place.  While a thread accepts runs, returns
 * RUN_COMES. */
enum coming in_order_coming(struct expansion *e);

/* Whether no thread is accepting or writing, and nothing is left to write, because all accepted
 * runs are written or because writing has failed. */
bool in_order_is_idle(const struct expansion *e);

/* Whether writing has failed.  If so, sets *error to the errno of the failure. */
bool in_order_has_failed(const struct expansion *e, int *error);

/* Returns the run that is being written, or NULL. */
const struct decoded_run *in_order_written(const struct expansion *e);

/* Shortens the line to the run that is being written and, if this run is shorter than a window, the
 * runs after it that complete the window.  Takes all later runs out of the line, and moves the
 * consumer's place back to the first of these.  Returns false if this is not possible now. */
bool in_order_shorten(struct expansion *e);

/* Whether the run is accepted and not yet written. */
static inline bool run_is_in_line(const struct decoded_run *run)
{
    return run->state == RUN_UNRESOLVED || run->state == RUN_RESOLVING || run->state == RUN_READY;
}

#endif
