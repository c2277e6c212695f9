/*
 * run.h - decodes a run: DEFLATE data from a place where decoding can start up to where it cannot
 * go on
 *
 * If a run starts in the middle of data, the 32 KiB of output before its start may be unknown.  In
 * this case, two decoders decode the same input.  The first decoder uses the fill byte in place of
 * each unknown byte.  The second decoder uses the fill byte's complement.  DEFLATE only copies
 * bytes of its window.  So a byte of output is known if, and only if, both decoders make the same
 * byte.  In the first decoder's output, each unknown byte is the fill byte.  As soon as 32 KiB in a
 * row are known, one decoder is enough.  (The symbols of inflate/symbols.h would tell the same, but
 * they come only block by block, and a damaged block has no end.)
 */
#ifndef GZLZSS_RECOVER_RUN_H
#define GZLZSS_RECOVER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/recover/view.h"
#include "inflate/raw.h"

enum gz_start_kind {
    GZ_START_MEMBER, /* the first block of a member: nothing is before it */
    GZ_START_MARK,   /* a block after a mark (inflate/find.h): it does not refer back */
    GZ_START_BLOCK,  /* another block: the window before it is not known */
};

/* A place where decoding can start. */
struct gz_start {
    enum gz_start_kind kind;
    uint64_t bit; /* where the block starts, in bits of the input */
    uint64_t at;  /* the byte where the member's header starts; without one, the byte of `bit` */
    /* Nothing should refer to bytes before the start, but the data is damaged and does so.  These
     * bytes count as unknown. */
    bool looks_back;
};

enum gz_run_end {
    GZ_RUN_MEMBER, /* the data's final block has ended, and a whole trailer follows */
    GZ_RUN_BAD,    /* the data is bad */
    GZ_RUN_CUT,    /* the input, or the part of it that was allowed, has ended */
    GZ_RUN_HOLE,   /* sectors of zeros begin, which the data did not have (is_hole in run.c) */
    GZ_RUN_DONE,   /* as much as the pass asks for is decoded */
    GZ_RUN_WRITE_ERROR,
    GZ_RUN_NO_MEMORY,
};

/* The lengths of the segments between marks, as votes: each segment of length `size` adds a vote,
 * and each other segment takes a vote away.  If most segments have one length, `size` is that
 * length. */
struct gz_segments {
    uint64_t size; /* in bytes of output; 0: none was seen */
    uint64_t votes, count;
};

/* Where a block starts: in bits of the input, and in bytes of the run's output. */
struct gz_block_place {
    uint64_t bit, made;
};

/* The facts about a run after decoding it. */
struct gz_run {
    enum gz_run_end end;
    uint64_t bit;     /* where decoding has ended, in bits of the input; after an error, roughly */
    uint64_t made;    /* bytes of output */
    uint64_t unknown; /* bytes of output that are not known */
    uint32_t crc;     /* the output's CRC, if all bytes are known */
    struct gz_block_place block, before; /* the last block, and the one before it */
    uint64_t first_mark, last_mark;      /* bytes of output before marks; UINT64_MAX: no mark */
    uint64_t marks;                      /* the number of marks */
    struct gz_segments segments;         /* the segments that lie in the run as a whole */
    uint64_t hole_end;                   /* GZ_RUN_HOLE: the byte after the zeros */
    /* GZ_RUN_MEMBER: the trailer, and the byte after it. */
    uint32_t stored_crc, stored_len;
    uint64_t next;
};

/* How to decode. */
struct gz_pass {
    struct gz_start start;
    uint64_t limit; /* the bit of the input before which to end */
    uint64_t most;  /* the most bytes of output; a little more if `bytes` is NULL */
    bool one_block; /* end after a block */
    bool is_trial;  /* nobody needs to know which bytes are unknown */
    bool stops_at_holes;
    /* `bytes` is called with the output, and `mark` at each mark.  In bytes[0..len), unknown bytes
     * have the value of `fill`.  other[0..len) has another value for each unknown byte, and the
     * same value for each known byte.  `other` is NULL if all bytes are known.  Both functions
     * return false, with errno set, if a write failed.  Both may be NULL. */
    bool (*bytes)(void *ctx, const uint8_t *bytes, const uint8_t *other, size_t len);
    bool (*mark)(void *ctx);
    void *ctx;
};

/* Memory for decoding. */
struct gz_runner {
    struct gz_view *view;
    uint8_t fill;
    struct inf_raw *raw[2];
    uint8_t *memory[2];
    uint64_t work;    /* units of work done so far (see the budget below) */
    uint64_t allowed; /* units that gz_runner_allow has added to the budget */
};

/*
 * The budget.  Recovering tries places that turn out to be false, and decodes bytes again.  In a
 * real file, that is little work.  In hostile data, the work could be without bound.  So all work
 * counts, in units of about a nanosecond, and the whole input has one budget: GZ_WORK_FREE units,
 * GZ_WORK_RATIO units for each byte of the input up to the place where the work is done, and the
 * units of decoding each run that is written, GZ_WORK_PASSES times.  The latter are added as soon
 * as it is sure that the run, or a part of it, will be written.  If the budget is used up, the next
 * search for a start begins further on, at the first byte for which the budget is large enough
 * (gz_runner_from).  With larger constants, more is recovered of a file with a damaged place in
 * every few KB, and a hostile file takes longer.
 */
#define GZ_WORK_FREE ((uint64_t)256 << 20)
#define GZ_WORK_RATIO ((uint64_t)64)
#define GZ_WORK_PASSES 4

/* The units of work: for each byte that a decoder takes; for GZ_WORK_OUTPUT bytes that it makes;
 * for each call of gz_run_decode, which prepares windows of 32 KiB; and for checking the header of
 * a dynamic block. */
#define GZ_WORK_INPUT 8
#define GZ_WORK_OUTPUT 4
#define GZ_WORK_DECODING ((uint64_t)2 << 10)
#define GZ_WORK_CHECK ((uint64_t)1 << 10)

/* Returns the first byte of the input for which the budget is large enough. */
static inline uint64_t gz_runner_from(const struct gz_runner *r)
{
    const uint64_t allowed = GZ_WORK_FREE + r->allowed;

    return r->work <= allowed ? 0 : (r->work - allowed + GZ_WORK_RATIO - 1) / GZ_WORK_RATIO;
}

/* Whether the budget allows that bytes before bit `bit` of the input are decoded again. */
static inline bool gz_runner_may(const struct gz_runner *r, uint64_t bit)
{
    return gz_runner_from(r) <= bit / 8;
}

/* Allocates the memory.  The caller has set `view` and `fill`.  Returns false if memory is
 * short. */
bool gz_runner_open(struct gz_runner *r);
void gz_runner_close(struct gz_runner *r);

/* Adds to the budget for a run, or a part of it, that is written: from *start to bit `bit` of the
 * input, `made` bytes of output.  *allowed has the units that were added for parts of the run
 * before, at first 0. */
void gz_runner_allow(struct gz_runner *r, const struct gz_start *start, uint64_t bit, uint64_t made,
                     uint64_t *allowed);

/* Decodes a run as `pass` says, and fills in *run. */
void gz_run_decode(struct gz_runner *r, const struct gz_pass *pass, struct gz_run *run);

/* Whether the block that starts at bit `bit` of the input is a stored block. */
bool gz_run_is_stored(struct gz_view *view, uint64_t bit);

/* Adds the segments of *more to *to. */
void gz_segments_add(struct gz_segments *to, const struct gz_segments *more);

/* Returns the length that nearly all segments have; 0 if too many segments have other lengths. */
static inline uint64_t gz_segments_size(const struct gz_segments *s)
{
    return 2 * s->votes >= s->count ? s->size : 0;
}

/* Whether the run, which ends with GZ_RUN_MEMBER, has the length in the trailer. */
static inline bool gz_run_has_length(const struct gz_run *run)
{
    return (uint32_t)run->made == run->stored_len;
}

/* Whether the run is a whole member with the right CRC. */
static inline bool gz_run_has_crc(const struct gz_run *run)
{
    return run->end == GZ_RUN_MEMBER && run->unknown == 0 && run->crc == run->stored_crc;
}

#endif
