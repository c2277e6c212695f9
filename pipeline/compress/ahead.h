/*
 * ahead.h - keeps segments that wait in memory: read ahead of a pipe, or pushed by the caller
 *
 * The segments of a job wait in one list, in order, until a thread has copied them to where they
 * are matched.
 *
 * Pushed segments: the caller fills one at a time.  The segment's memory grows with its bytes, so
 * that a stream with little input costs little.  When a full segment was copied, the pipeline keeps
 * the segment's memory for the next pushed segment of any job.  If the pipeline keeps enough memory
 * already, it frees the segment's memory instead.
 *
 * Segments read ahead: they are in one block of memory, which has a place for each of the segments
 * that may wait at the same time.  Getting memory segment by segment would be slow while a GPU is
 * brought up, since the driver is changing the process's memory, too.
 */
#ifndef GZLZSS_AHEAD_H
#define GZLZSS_AHEAD_H

#include "pipeline/crew/state.h"

struct ahead {
    struct ahead *previous, *next;
    size_t before; /* bytes before the segment, as in struct slot */
    size_t len;
    bool last;
    bool is_used; /* this is a place in the block, and it holds a segment */
    size_t room;  /* bytes that `bytes` has memory for */
    uint8_t *bytes;
};

/* The waiting segments of a job; all zeros before ahead_init.  Only ahead.c uses the fields. */
struct ahead_list {
    struct pipeline *pipeline;
    struct ahead *first, *last; /* segments that are not copied yet, in order */
    struct ahead *unclaimed;    /* the first segment that is not claimed, or NULL */
    uint64_t count,             /* segments in the list, or being read */
        most;                   /* the most that `count` may be */
    struct ahead *filling;      /* the pushed segment that the caller is filling, or NULL */
    struct ahead *places;       /* the places in the block; NULL: nothing may be read ahead */
    uint8_t *block;             /* the block's memory, or NULL while there is none */
    bool lacks_memory;          /* there was no memory for the block */
};

/* Makes the list.  Up to `most` segments may wait.  If may_read is set, segments may be read ahead,
 * unless memory for their places is short. */
void ahead_init(struct ahead_list *l, struct pipeline *p, uint64_t most, bool may_read);

/* Frees all segments of a job.  No other thread may use any of them.  Called without the lock. */
void ahead_free(struct ahead_list *l);

/* Makes p->spare_segments.  Returns false if memory is short. */
bool ahead_init_spare(struct pipeline *p);

/* Frees p->spare_segments and the memory that it keeps. */
void ahead_free_spare(struct pipeline *p);

/* Segments that wait or are being read. */
uint64_t ahead_count(const struct ahead_list *l);

/* The most segments that may wait. */
uint64_t ahead_most(const struct ahead_list *l);

/* --- Pushed segments --- */

/* Gives the segment that is being filled memory for at least `want` bytes in all.  If no segment is
 * being filled, begins one.  May release the lock meanwhile.  Returns false if memory is short. */
bool ahead_make_room(struct ahead_list *l, size_t want);

/* Bytes in the segment that is being filled. */
size_t ahead_filled(const struct ahead_list *l);

/* The address where the next byte goes in the segment that is being filled.  Call ahead_make_room
 * first. */
uint8_t *ahead_end(const struct ahead_list *l);

/* The address of the first byte of the segment that is being filled.  That segment must exist. */
const uint8_t *ahead_begin(const struct ahead_list *l);

/* Counts `len` bytes that the caller has put at the address ahead_end. */
void ahead_fill(struct ahead_list *l, size_t len);

/* Empties the segment that is being filled, after its bytes were compressed elsewhere.  Keeps the
 * segment's memory if it is small, else frees it. */
void ahead_empty(struct ahead_list *l);

/* Puts the segment that was filled into the list, so that it can be claimed. */
void ahead_publish(struct ahead_list *l, size_t before, size_t len, bool last);

/* --- Segments read ahead --- */

/* Whether the next segment, number `index`, may be read ahead now.  It may if its place in the
 * block is free. */
bool ahead_may_read(const struct ahead_list *l, uint64_t index);

/* Whether segments of this job may be read ahead at all. */
bool ahead_reads(const struct ahead_list *l);

/* Takes the place in the block for segment `index`; ahead_count includes the segment from now on.
 * Returns NULL if memory is short; then nothing more is read ahead. */
struct ahead *ahead_take_place(struct ahead_list *l, uint64_t index);

/* Puts a segment into the list, so that it can be claimed.  Call this after reading the segment to
 * its place. */
void ahead_was_read(struct ahead_list *l, struct ahead *a);

/* If the block holds no segment, takes the block away from the list and returns it; the caller must
 * free it.  Otherwise returns NULL. */
uint8_t *ahead_take_block(struct ahead_list *l);

/* --- Both kinds of segments --- */

/* Claims the first segment in the list that is not claimed, which must exist.  The segment stays in
 * the list until ahead_leave. */
struct ahead *ahead_claim(struct ahead_list *l);

/* Takes a segment off the list after it was copied, and frees or keeps its memory.  May release the
 * lock meanwhile. */
void ahead_leave(struct ahead_list *l, struct ahead *a);

#endif
