/*
 * pushed.h - memory for segments that the caller pushes
 *
 * The caller fills one segment at a time.  Full segments wait in a list, in order, until a thread
 * has copied them to where they are worked on.  The memory of the segment that is being filled grows
 * with its bytes, so that a stream with little input costs little.  The pipeline keeps the memory of
 * a few whole segments for the next, of any job, and frees the others.
 */
#ifndef GZLZSS_PUSHED_H
#define GZLZSS_PUSHED_H

#include "pipeline/job.h"

struct pushed {
    struct pushed *previous, *next;
    size_t before; /* see struct slot */
    size_t len;
    bool last;
    size_t room; /* bytes that there is memory for */
    uint8_t *bytes;
};

/* Gives j->filling memory for at least `want` bytes in all; begins a segment if there is none.  May
 * give up the lock meanwhile.  False: memory is short. */
bool pushed_make_room(struct job *j, size_t want);

/* Puts j->filling into the list: it can be claimed. */
void pushed_publish(struct job *j, size_t before, size_t len, bool last);

/* Claims the first segment that is not claimed.  It stays in the list. */
struct pushed *pushed_claim(struct job *j);

/* Takes a segment that was copied off the list.  May give up the lock meanwhile. */
void pushed_leave(struct job *j, struct pushed *s);

/* Frees all segments of a job that no other thread has.  Without the lock. */
void pushed_free(struct job *j);

/* Frees what the pipeline keeps. */
void pushed_free_spare(struct pipeline *p);

#endif
