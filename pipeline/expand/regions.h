/*
 * regions.h - the list of regions: parts of the input that workers decode ahead
 *
 * The list is in the order of the input.  No run of a region starts before the region.
 */
#ifndef GZLZSS_EXPAND_REGIONS_H
#define GZLZSS_EXPAND_REGIONS_H

#include "pipeline/expand/expansion.h"

/* --- For workers --- */

/* Returns the first region that is REGION_NEW or REGION_FOUND, or a new region.  Returns NULL if
 * nothing may be decoded ahead now, there is no more input for a region, there is no output buffer,
 * or memory is short. */
struct region *regions_next(struct expansion *e);

/* Looks for the start of a region, which must be REGION_NEW.  Gives up the lock.  Afterwards the
 * region is REGION_FOUND, REGION_BARREN, or REGION_NEW again. */
void region_find_start(struct expansion *e, struct expand_tools *t, struct region *r);

/* Takes an output buffer for a region, which must be REGION_FOUND, and sets up its task.  Returns
 * false if there is no buffer, or the expansion is closing. */
bool region_begin(struct expansion *e, struct region *r);

/* Decides whether a paused task must continue, and returns true if it must.  It must not if another
 * region starts where the task has paused, or if the task is no longer wanted.  Before returning
 * true, sets task.until.  Gives up the lock. */
bool region_goes_on(struct expansion *e, struct expand_tools *t, struct region *r);

/* Ends the decoding of a region.  If the output buffer was full, makes a region of the input that
 * is left.  Gives up the lock, so *r may be freed afterwards. */
void region_end(struct expansion *e, struct expand_tools *t, struct region *r);

/* --- For the consumer --- */

/* Returns the region that has a run that starts at `bit`, or that may still get such a run.  Sets
 * *run to that run, or to NULL if it is not decoded yet.  Returns NULL if there is no such
 * region. */
struct region *regions_at(struct expansion *e, uint64_t bit, struct decoded_run **run);

/* Returns the first bit after `bit` at which the consumer, which is at `bit`, should call
 * regions_at again.  At that bit, a run or a region starts, or a search for a start may be over. */
uint64_t regions_next_start(const struct expansion *e, uint64_t bit);

/* Frees the regions, and forgets the input, that a consumer at `bit` cannot use any more. */
void regions_drop_past(struct expansion *e, uint64_t bit);

/* regions_count_run counts a run that was accepted.  regions_uncount_run undoes that for a run that
 * was taken out of the line again. */
void regions_count_run(struct expansion *e, const struct decoded_run *run);
void regions_uncount_run(struct expansion *e, const struct decoded_run *run);

/* --- For the end, and while the caller is away --- */

/* Returns the first region of the list, or NULL. */
struct region *regions_first(const struct expansion *e);

/* Discards the output of each decoded region that has no run in the line; the region can be decoded
 * again.  All other decoded regions keep their buffers, which no longer count towards the limit on
 * buffers (buffers_disown). */
void regions_give_up(struct expansion *e);

/* Makes the workers that decode regions stop soon.  No region will be used any more. */
void regions_cancel(struct expansion *e);

/* Frees all regions.  No thread may be working on any of them. */
void regions_free(struct expansion *e);

#endif
