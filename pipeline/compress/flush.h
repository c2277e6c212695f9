/*
 * flush.h - compresses the pieces of a stream that is flushed, in the calling thread
 *
 * A flush ends a piece of the input.  The receiver can then decode all bytes of that piece.  Once a
 * stream was flushed, the input's end ends a piece, too.  A piece may refer to the 32 KiB before
 * it.  So many small pieces together are little larger than one large piece.  Handing a piece of
 * 100 bytes to another thread would take longer than compressing it.  So the caller's thread
 * compresses the piece, with tables that the stream keeps from piece to piece.
 *
 * One or more pieces make a segment.  The mark ends the segment, and the next piece cannot refer to
 * anything before the mark.  A piece of more than FLUSH_PIECE_MAX bytes is a segment of its own,
 * which the crew compresses.
 *
 * A piece's bytes depend only on the input since the segment's start, on the places of the flushes
 * and on the level.
 *
 * Memory.  A stream keeps its window (struct flush).  A set of tools (struct flush_tools), which
 * has the tables, takes several times as much memory.  So a pipeline keeps only a limited number of
 * sets.  If no free set is left, a stream takes the set of the stream whose last flush is longest
 * ago.  At its next flush, that other stream gets another set, and fills the tables from its
 * window.
 */
#ifndef GZLZSS_FLUSH_H
#define GZLZSS_FLUSH_H

#include "compat/check.h"
#include "pipeline/crew/state.h"

/* The most bytes of a piece.  A larger piece loses little if it starts with an empty window, and it
 * gains from more than one thread.  If you change this number, the output changes. */
#define FLUSH_PIECE_MAX ((size_t)128 << 10)

/* How far the bytes so far were flushed, by the last call (job_push).  A flush without new bytes
 * gives an empty block only if this number rises. */
enum flushed {
    FLUSHED_NOT, /* the last call gave bytes, or said that more follow; or there was no call yet */
    FLUSHED,
    FLUSHED_FULLY
};

/* A job's state for flushes; all zeros before the first flush.  Only the thread that pushes uses
 * it, with one exception.  Any thread that holds the lock may take `tools` away, but not between
 * flush_begin and flush_end. */
struct flush {
    struct flush_tools *tools; /* NULL if the stream has none yet, or if another took them */
    bool goes_on;              /* the tools' tables have the bytes in `held` */
    /* held[0..filled) is the input since the last mark, without whole chunks to which no match can
     * refer.  The memory has room for `room` bytes. */
    uint8_t *held;
    size_t room, filled;
    /* Bytes of input since the last mark, or since the start if there was no mark. */
    uint64_t since_mark;
    bool waits;   /* a flush is not complete yet */
    bool has_new; /* bytes came since the last complete flush */
    enum flushed flushed;
};

/* Makes p->flushes.  Returns false if memory is short. */
bool flush_init(struct pipeline *p);

/* Frees p->flushes and the tools in it.  Call this without the lock. */
void flush_exit(struct pipeline *p);

/* Whether pieces can be compressed in this pipeline's format at this level.  If not, every piece is
 * a segment of its own. */
bool flush_is_possible(const struct pipeline *p, const struct lz_level *level);

/* Gets the tools for one piece.  All pieces of a job have the same level.  May release the lock
 * meanwhile.  Returns false if memory is short. */
bool flush_begin(struct flush *f, struct pipeline *p, const struct lz_level *level);

/* Compresses the piece bytes[0..s->len), 1 to FLUSH_PIECE_MAX bytes.  `end` says how the output
 * ends, and `check` is the kind of check value.  Sets s->out, s->out_len and s->check; s->out stays
 * valid until flush_end.  Call this without the lock, after flush_begin. */
enum pipeline_status flush_encode(struct flush *f, const uint8_t *bytes, struct slot *s,
                                  enum huff_end end, enum gz_check check);

/* Gives back the tools that flush_begin got.  Call this after the piece was written, or after an
 * error. */
void flush_end(struct flush *f, struct pipeline *p);

/* Forgets the window.  Call this after a mark, or when the crew gets a segment. */
void flush_forget(struct flush *f);

/* Frees the job's state.  Call this without the lock. */
void flush_close(struct flush *f, struct pipeline *p);

#endif
