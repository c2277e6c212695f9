/*
 * share.h - which calls of the library workers help
 *
 * In the library, the consumers of memory and regular files are the program's own threads, besides
 * the crew's.  If every worker helped every call, 16 calls on a crew of 16 threads would keep 32
 * threads busy, and each call would pay for decoding to symbols.  So if there are two or more of
 * these consumers, they and the helpers are together at most as many as the crew's threads, and
 * workers help only as many calls as there are helpers for.  A call that nobody helps decodes as if
 * there were no other threads.
 *
 * In the command, consumers are threads of the crew, and workers help all of them.  The consumers
 * of streams mostly wait, so they do not count.
 */
#ifndef GZLZSS_EXPAND_SHARE_H
#define GZLZSS_EXPAND_SHARE_H

#include "pipeline/expand/expansion.h"

/* Counts the consumer as a thread of the program.  Called without the lock. */
void share_begin(struct expansion *e);

/* Ends what share_begin has begun, if anything.  Called with the lock. */
void share_end(struct expansion *e);

/* Decides again whether workers help this decompression.  The consumer calls this at each block or
 * stretch, with the lock. */
void share_decide(struct expansion *e);

/* Whether workers may help this decompression. */
bool share_helps(const struct expansion *e);

/* Whether one more worker may begin to help. */
bool share_has_room(const struct pipeline *p);

#endif
