/*
 * ahead.h - segments that wait in memory: read ahead of a pipe, or pushed by the caller
 *
 * They wait in one list, in order, until a thread has copied them to where they are matched.
 *
 * The caller fills one pushed segment at a time.  Its memory grows with its bytes, so that a stream
 * with little input costs little.  The pipeline keeps the memory of a few whole segments for the next,
 * of any job, and frees the others.
 *
 * What is read ahead goes to a block of memory that holds all segments which may be read ahead at a
 * time.  (Memory for each of them would be slow to get while a GPU is brought up, as the driver is busy
 * with the memory, too.)
 */
#ifndef GZLZSS_AHEAD_H
#define GZLZSS_AHEAD_H

#include "pipeline/crew/state.h"

struct ahead {
    struct ahead *previous, *next;
    size_t before; /* see struct slot */
    size_t len;
    bool last;
    bool is_used; /* a place in the block: not copied yet */
    size_t room;  /* bytes that there is memory for */
    uint8_t *bytes;
};

/* A job's segments; zeros before ahead_init.  Its fields are ahead.c's. */
struct ahead_list {
    struct pipeline *pipeline;
    struct ahead *first, *last; /* segments that are not copied yet; */
    struct ahead *unclaimed;    /* the first of these that is not claimed, or NULL; */
    uint64_t count, most;       /* how many, or being read, and how many there may be */
    struct ahead *filling;      /* the pushed segment that the caller fills, or NULL */
    struct ahead *places;       /* the block's; NULL: nothing may be read ahead; */
    uint8_t *block;             /* and its bytes; NULL when there are none */
    bool lacks_memory;          /* for the block */
};

/* Up to `most` segments may wait; may_read: they may be read ahead, if there is memory for that. */
void ahead_init(struct ahead_list *l, struct pipeline *p, uint64_t most, bool may_read);

/* Frees all segments of a job that no other thread has.  Without the lock. */
void ahead_free(struct ahead_list *l);

/* Makes p->spare_segments; false if memory is short. */
bool ahead_init_spare(struct pipeline *p);
void ahead_free_spare(struct pipeline *p);

/* How many wait, or are being read; how many may. */
uint64_t ahead_count(const struct ahead_list *l);
uint64_t ahead_most(const struct ahead_list *l);

/* --- What is pushed --- */

/* Gives the segment that is being filled memory for at least `want` bytes in all; begins one if there is
 * none.  The lock may be free meanwhile.  False: memory is short. */
bool ahead_make_room(struct ahead_list *l, size_t want);

/* Bytes in the segment that is being filled; where the next byte goes, after ahead_make_room. */
size_t ahead_filled(const struct ahead_list *l);
uint8_t *ahead_end(const struct ahead_list *l);

/* So many bytes more were put there. */
void ahead_fill(struct ahead_list *l, size_t len);

/* Puts it into the list: it can be claimed. */
void ahead_publish(struct ahead_list *l, size_t before, size_t len, bool last);

/* --- What is read ahead --- */

/* Whether segment `index`, the next, may be read ahead: there is a place for it. */
bool ahead_may_read(const struct ahead_list *l, uint64_t index);

/* Whether segments of this job may be read ahead at all. */
bool ahead_reads(const struct ahead_list *l);

/* Its place, which counts from now on.  NULL: memory is short, and nothing more is read ahead. */
struct ahead *ahead_take_place(struct ahead_list *l, uint64_t index);

/* What was read to the place can be claimed. */
void ahead_was_read(struct ahead_list *l, struct ahead *a);

/* Takes the block's memory, if nothing is in it, for the caller to free; or NULL. */
uint8_t *ahead_take_block(struct ahead_list *l);

/* --- Both --- */

/* Claims the first segment that is not claimed.  It stays in the list. */
struct ahead *ahead_claim(struct ahead_list *l);

/* Takes a segment that was copied off the list.  The lock may be free meanwhile. */
void ahead_leave(struct ahead_list *l, struct ahead *a);

#endif
