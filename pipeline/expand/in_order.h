/*
 * in_order.h - what can only be done in order: runs are accepted, and written
 *
 * When the consumer comes to where a decoded run starts, it stops decoding, and its place moves on
 * over one run after another.  To accept a run gives the next one its window; accepted runs stand
 * in a line.  Between the two, the symbols of each become bytes (it is resolved).
 *
 * Any thread does these steps while the consumer is at runs, not only the consumer: otherwise all
 * others would wait while it writes, or decodes a region.  One thread at a time accepts, and one
 * writes; any number resolve.
 */
#ifndef GZLZSS_EXPAND_IN_ORDER_H
#define GZLZSS_EXPAND_IN_ORDER_H

#include "pipeline/expand/expansion.h"

/* The consumer is at that place: in_order_step goes on from there until in_order_end.  The window
 * stands before place->end. */
void in_order_begin(struct expansion *e, struct gz_place *place);

/* The consumer goes on itself.  The last of the output stands before place->end then. */
void in_order_end(struct expansion *e, struct gz_place *place);

/* Accepts all runs that are there, or writes one, or resolves one.  Gives up the lock.  False:
 * there is nothing to do now. */
bool in_order_step(struct expansion *e, struct expand_tools *t);

/* The window before the consumer's place.  Only while in_order_is_idle. */
uint8_t *in_order_window(struct expansion *e);

/* What comes where the consumer is. */
enum coming {
    RUN_IS_THERE,
    RUN_COMES,    /* a thread decodes it, or looks for its start */
    RUN_MAY_COME, /* a thread could decode it */
    NO_RUN_COMES,
};

/* What comes; RUN_COMES while a thread accepts runs. */
enum coming in_order_coming(struct expansion *e);

/* Whether all runs that were accepted are written, or writing has failed, and nobody is at it. */
bool in_order_is_idle(const struct expansion *e);

/* Whether writing has failed; *error becomes errno then. */
bool in_order_has_failed(const struct expansion *e, int *error);

/* The run that is being written, or NULL. */
const struct decoded_run *in_order_written(const struct expansion *e);

/* Takes all runs out of the line but those that have to stay: the one that is being written, and
 * those behind it if it is shorter than a window.  The consumer's place goes back.  False: that is
 * not possible now. */
bool in_order_shorten(struct expansion *e);

/* Whether the run is accepted and not written. */
static inline bool run_is_in_line(const struct decoded_run *run)
{
    return run->state == RUN_UNRESOLVED || run->state == RUN_RESOLVING || run->state == RUN_READY;
}

#endif
