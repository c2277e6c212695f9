/*
 * parts.h - segments that several workers match
 *
 * There may be fewer segments than threads: in a small input, at the end of a large one, or if a
 * pipe is slow.  Then workers also match chunks of a segment that another worker has claimed.  That
 * worker, the owner, encodes the segment.
 */
#ifndef GZLZSS_PARTS_H
#define GZLZSS_PARTS_H

#include "pipeline/crew/state.h"

/* Makes p->parts; false if memory is short. */
bool parts_init(struct pipeline *p);
void parts_free(struct pipeline *p);

/* A segment with chunks that nobody has taken, or NULL. */
struct match_split *parts_to_match(const struct pipeline *p);

/* Lets others help the worker with the segment that it has claimed, if that helps. */
void offer_parts(struct worker *w, const struct slot *s);

/* Takes chunks of the segment that nobody has taken, of which there is one at least, and matches
 * them.  The owner takes the first, and goes on with its tables; others take the last.  Gives up
 * the lock meanwhile. */
void match_some(struct worker *w, struct match_split *p);

/* Matches the chunks of the worker's segment that nobody has taken, and waits for the others;
 * called without the lock. */
void finish_parts(struct worker *w);

#endif
