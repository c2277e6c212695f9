/*
 * flush.h - compresses the pieces of a stream that is flushed, in the calling thread
 *
 * A flush ends a piece of the input: the other side can decode all bytes before it.  After a flush,
 * the input's end ends a piece, too.  A piece may refer to the 32 KiB before it, so that many small
 * pieces take few more bytes than one large one.  Handing a piece of 100 bytes to another thread
 * would take longer than to compress it.  So the caller's thread does that, with tables that stay
 * from piece to piece.
 *
 * Pieces make up a segment: at its end stands the mark, and the window is forgotten.  Pieces of
 * more than FLUSH_PIECE_MAX bytes are segments of their own, which the crew compresses.
 *
 * A piece's bytes depend only on the input since the segment's start, on the places of the flushes
 * and on the level.
 *
 * Memory.  A stream keeps its window (struct flush).  The tables (struct flush_tools) take several
 * times as much, so there are not always enough for all streams: then a stream gets those of the
 * stream whose last flush is longest ago.  That stream fills others from its window at its next
 * flush.
 */
#ifndef GZLZSS_FLUSH_H
#define GZLZSS_FLUSH_H

#include "compat/check.h"
#include "pipeline/crew/state.h"

/* The most bytes of a piece.  Larger pieces lose little by an empty window, and are worth more than
 * one thread.  Changing this number changes the output. */
#define FLUSH_PIECE_MAX ((size_t)128 << 10)

/* A job's state; all zeros before the first flush.  Only the thread that pushes uses it; but
 * another thread may take `tools` away, with the lock held, except between flush_begin and
 * flush_end. */
struct flush {
    struct flush_tools *tools; /* NULL: none, or another stream got them */
    bool goes_on;              /* the tools' tables have the bytes in `held` */
    /* The input since the last mark, without whole chunks that are out of reach: held[0..filled),
     * with memory for `room` bytes. */
    uint8_t *held;
    size_t room, filled;
    /* Bytes of input since the last mark, or since the start. */
    uint64_t since_mark;
    bool waits; /* a flush is not complete yet */
};

/* Makes p->flushes; false if memory is short. */
bool flush_init(struct pipeline *p);

/* Frees p->flushes and the tools that it keeps.  Called without the lock. */
void flush_exit(struct pipeline *p);

/* Whether pieces can be compressed in this pipeline's format at this level.  If not, every piece is
 * a segment of its own. */
bool flush_is_possible(const struct pipeline *p, const struct lz_level *level);

/* Gets the tools for one piece.  The level stays the same for all pieces of a job.  May release the
 * lock meanwhile.  False: memory is short. */
bool flush_begin(struct flush *f, struct pipeline *p, const struct lz_level *level);

/* Compresses the piece bytes[0..s->len), 1 to FLUSH_PIECE_MAX bytes, which ends as `end` says. 
 * `check` is the kind of check value.  Sets s->out, which stays valid until flush_end, s->out_len
 * and s->check.  Called without the lock, after flush_begin. */
enum pipeline_status flush_encode(struct flush *f, const uint8_t *bytes, struct slot *s,
                                  enum huff_end end, enum gz_check check);

/* Call this after flush_begin, when the piece was written. */
void flush_end(struct flush *f, struct pipeline *p);

/* Forgets the window, since a mark or a whole segment follows it. */
void flush_forget(struct flush *f);

/* Frees the job's state.  Called without the lock. */
void flush_close(struct flush *f, struct pipeline *p);

#endif
