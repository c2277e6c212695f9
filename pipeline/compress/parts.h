/*
 * parts.h - lets several workers match one segment
 *
 * There may be fewer segments than threads: in a small input, at the end of a large one, or if a
 * pipe is slow.  Then the worker that has claimed a segment, its owner, lets other workers, its
 * helpers, match chunks of it.  The owner takes chunks from the front.  Once all chunks are
 * matched, the owner encodes the segment.
 */
#ifndef GZLZSS_PARTS_H
#define GZLZSS_PARTS_H

#include "pipeline/crew/state.h"

/* Makes p->parts; false if memory is short. */
bool parts_init(struct pipeline *p);

/* Frees p->parts.  No segment may be shared. */
void parts_free(struct pipeline *p);

/* A segment with chunks that no worker has taken, or NULL. */
struct match_split *parts_to_match(const struct pipeline *p);

/* Offers the worker's claimed segment to helpers, if that is worth it.  The worker has to call
 * finish_parts later. */
void offer_parts(struct worker *w, const struct slot *s);

/* Takes some of the segment's chunks that no worker has taken (there must be at least one), and
 * matches them.  The owner takes the first of these chunks, and continues with its matcher's
 * tables; a helper takes the last.  Releases the lock meanwhile. */
void match_some(struct worker *w, struct match_split *p);

/* Matches the chunks of the worker's shared segment that no worker has taken, and waits for
 * helpers.  Called without the lock. */
void finish_parts(struct worker *w);

#endif
