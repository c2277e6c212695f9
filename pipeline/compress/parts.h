/*
 * parts.h - lets several workers match one segment
 *
 * There may be fewer segments than threads, for example in a small input, at the end of a large
 * input, or if a pipe is slow.  Then the worker that has claimed a segment, its owner, lets other
 * workers, its helpers, match chunks of the segment.  The owner takes chunks from the front.  Once
 * all chunks are matched, the owner encodes the segment.
 */
#ifndef GZLZSS_PARTS_H
#define GZLZSS_PARTS_H

#include "pipeline/crew/state.h"

/* Makes p->parts.  Returns false if memory is short. */
bool parts_init(struct pipeline *p);

/* Frees p->parts.  No segment may be shared. */
void parts_free(struct pipeline *p);

/* A segment with chunks that no worker has taken, or NULL. */
struct match_split *parts_to_match(const struct pipeline *p);

/* Offers chunks of the worker's claimed segment to helpers, if that is worth it.  If
 * w->split.matcher is not NULL afterwards, the worker has to call finish_parts later. */
void offer_parts(struct worker *w, const struct slot *s);

/* Takes some of the chunks that no worker has taken, and matches them.  The segment must have at
 * least one such chunk.  The owner takes the first of these chunks, and continues with its
 * matcher's tables; a helper takes the last.  Releases the lock meanwhile. */
void match_some(struct worker *w, struct match_split *p);

/* Matches all chunks of the worker's shared segment that no worker has taken, and waits until
 * helpers have matched the other chunks.  Called without the lock. */
void finish_parts(struct worker *w);

#endif
