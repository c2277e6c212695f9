/*
 * expand.h - decompression by many threads: parts of the input are decoded ahead
 *
 * One thread, the consumer, decodes a .gz from its start (compat/gunzip.h), as if it were alone.
 * What it finds out is what counts.  Meanwhile idle workers look for places further on where blocks
 * seem to start, and decode from there, each its own stretch of the input.  When the consumer comes
 * to exactly such a place, what was decoded from there is accepted, and it goes on where that ends.
 * What starts at a place that the consumer never comes to is thrown away.  So a wrong guess costs
 * time, and never a byte.
 *
 * What a worker decodes ends at the end of a block, before anything that is not good DEFLATE.  The
 * consumer comes to that itself, so that the output up to an error and the error are what they are
 * with one thread.
 *
 * From where nothing refers back (the mark of `pigz -i`, which our segments end with, and the start
 * of a gzip member), bytes are decoded (inflate/raw.h).  From elsewhere, symbols are
 * (inflate/symbols.h), until there is a window without unknown bytes.  These become bytes once the
 * window is known.
 *
 * What can only be done in order (to accept a piece, which gives the next one its window, and to
 * write it) is done by whoever comes by while the consumer is among pieces: one thread at a time
 * accepts, and one writes.  Any number make bytes of symbols.
 */
#ifndef GZLZSS_EXPAND_H
#define GZLZSS_EXPAND_H

#include "pipeline/job.h"

struct expand_tools;

/* Does some work for a file that is being decompressed.  Gives up the lock; false: there is
 * nothing that can be done now. */
bool expand_some(struct worker *w);

/* Frees a worker's memory for that; without the lock.  NULL does nothing. */
void expand_free_tools(struct expand_tools *t);

/* Frees what the pipeline keeps for that. */
void expand_free_rooms(struct pipeline *p);

#endif
