/*
 * regions.h - the list of regions: parts of the input that workers decode ahead
 *
 * Regions lie in the list in the order of the input.  Nothing that a region decodes starts before
 * it.
 */
#ifndef GZLZSS_EXPAND_REGIONS_H
#define GZLZSS_EXPAND_REGIONS_H

#include "pipeline/expand/expansion.h"

/* --- For workers --- */

/* The first region that a worker can work on (it is REGION_NEW or REGION_FOUND), or a new one; NULL
 * if there is nothing, or no output buffer, or memory is short. */
struct region *regions_next(struct expansion *e);

/* Looks for the start of a region, which is REGION_NEW.  Gives up the lock.  Afterwards the region
 * is REGION_FOUND, REGION_BARREN, or REGION_NEW again. */
void region_find_start(struct expansion *e, struct expand_tools *t, struct region *r);

/* Takes an output buffer for a region, which is REGION_FOUND, and readies its task.  False if there
 * is no buffer, or the expansion ends. */
bool region_begin(struct expansion *e, struct region *r);

/* Whether a task that has paused is to go on: nothing that others decode, or will decode, starts
 * where it has paused.  Sets task.until then.  Gives up the lock. */
bool region_goes_on(struct expansion *e, struct expand_tools *t, struct region *r);

/* A region was decoded.  If it is full, what it leaves becomes another region.  Gives up the lock,
 * and *r may be gone afterwards. */
void region_end(struct expansion *e, struct expand_tools *t, struct region *r);

/* --- For the consumer --- */

/* The region that has a run which starts at that bit, or that may yet have one; *run is that run,
 * or NULL.  Returns NULL if there is no such region. */
struct region *regions_at(struct expansion *e, uint64_t bit, struct decoded_run **run);

/* The first bit behind `bit`, where the consumer is, at which something starts or may yet be found
 * to. */
uint64_t regions_next_start(const struct expansion *e, uint64_t bit);

/* Frees what the consumer, which is at that bit, cannot use any more, and forgets input. */
void regions_drop_past(struct expansion *e, uint64_t bit);

/* A run was accepted; or was taken out of the line again. */
void regions_count_run(struct expansion *e, const struct decoded_run *run);
void regions_uncount_run(struct expansion *e, const struct decoded_run *run);

/* --- For the end, and while the caller is away --- */

struct region *regions_first(const struct expansion *e);

/* Frees what was decoded of all regions that have no run in line: it can be decoded again.  Buffers
 * that must stay no longer count. */
void regions_give_up(struct expansion *e);

/* Nothing of any region will be used.  Whoever decodes one ends soon. */
void regions_cancel(struct expansion *e);

/* Frees all regions; nobody works on one. */
void regions_free(struct expansion *e);

#endif
