/*
 * claim.h - segments are claimed and read
 */
#ifndef GZLZSS_CLAIM_H
#define GZLZSS_CLAIM_H

#include "pipeline/crew/state.h"

/* Claims the job's next segment, which can be read right now, and reads it into buf, of a segment's
 * size and LZ_INPUT_PAD; gives up the lock meanwhile.  NULL if the job has failed; it may be gone
 * then. */
struct slot *claim_one(struct job *j, uint8_t *buf);

/* Claims the next segment of those that can be read in any order, for the place buf;
 * read_segment has to follow.  NULL if memory is short. */
struct slot *claim_any(struct job *j, uint8_t *buf);

/* Reads it there; gives up the lock meanwhile.  If that fails, the job does. */
void read_segment(struct slot *s);

/* Claims the next segment of the others and reads it into buf; gives up the lock meanwhile.
 * NULL if memory is short.  If the job has failed meanwhile, the caller drops the slot
 * (slot_done). */
struct slot *claim_in_order(struct job *j, uint8_t *buf);

/* Reads the segment that is next in order into the slot's place; called without the lock, by the
 * one thread that reads the job's input in order.  False with errno set. */
bool read_in_order(struct slot *s);

/* Counts what was read, in so many seconds.  If that failed (not ok), the job fails with this
 * error. */
void count_read(struct job *j, double seconds, uint64_t bytes, bool ok, int error);

/* The segment was read: it is the job's next, and perhaps its last. */
void claim_read(struct slot *s);

/* The job to read ahead of, or NULL: while a GPU is brought up, a pipe can give more than the
 * workers can match. */
struct job *job_to_read_ahead(struct pipeline *p);

/* Reads one more segment ahead; gives up the lock meanwhile. */
void read_ahead(struct job *j);

/* Frees the memory of what was read ahead, unless some of that is still to be matched or more
 * may come.  True if it did; it gave up the lock then, as that may take long. */
bool leave_ahead(struct pipeline *p);

#endif
