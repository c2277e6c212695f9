/*
 * feeding.h - counts GPU batches in use, and keeps the segments that wait for them
 *
 * gpu_feed.c fills the batches.  If there are no GPUs, p->feeding is NULL.  Then no feeder exists,
 * and the queues `unread` and `ready` are empty.
 */
#ifndef GZLZSS_FEEDING_H
#define GZLZSS_FEEDING_H

#include "pipeline/crew/state.h"

/* A thread with one batch of a GPU to itself.  gpu_feed.c fills the batch. */
struct feeder {
    struct pipeline *pipeline;
    pthread_t thread;
    int gpu,    /* the GPU's number in the pool */
        number; /* the batch's number on that GPU */
    struct gpu_batch *batch;
    struct slot *first, *last; /* the segments in the batch */
    unsigned unread;           /* segments in the batch that workers have not read yet */
    /* Segments in the batch that are not encoded yet; 0: the batch is free. */
    unsigned pending;
};

/* Makes p->feeding.  Returns false if memory is short. */
bool feeding_init(struct pipeline *p);

/* Waits for the feeders, which crew_end has told to end.  Called without the lock. */
void feeding_join(struct pipeline *p);

/* Frees p->feeding, which may be NULL. */
void feeding_free(struct pipeline *p);

/* --- Whether GPUs get work --- */

/* Whether GPUs now get part of the work that is left. */
bool feeding_is_on(const struct pipeline *p);

/* Lets GPUs get part of the work that is left, from now on until nothing is left. */
void feeding_begin(struct pipeline *p);

/* Whether it is time to decide again whether GPUs are worth using.  It is if the bytes left have
 * grown by a batch's bytes, or if WEIGHING_PAUSE has passed, since this function last returned
 * true. */
bool feeding_has_grown(struct pipeline *p);

/* Whether there will be more feeders, because a GPU is being brought up, or because a GPU that is
 * up has no feeder yet. */
bool feeding_gpu_comes(const struct pipeline *p);

/* Returns the number of the next GPU that is up and has no feeder, and counts it as having one from
 * now on.  Returns -1 if there is none. */
int feeding_next_gpu(struct pipeline *p);

/* --- Feeders --- */

/* Makes the GPU's next feeder; the caller starts its thread.  Returns NULL if the GPU has as many
 * feeders as it can have. */
struct feeder *feeder_new(struct pipeline *p, int gpu);

/* Counts a feeder whose thread was started. */
void feeder_began(const struct feeder *f);

/* Stops counting a feeder, which ends. */
void feeder_ended(const struct feeder *f);

/* Feeders that have not ended. */
int feeders_alive(const struct pipeline *p);

/* Feeders that have not ended, if GPUs now get part of the work that is left; else 0. */
int feeders_at_work(const struct pipeline *p);

/* Counts a feeder as busy.  Call this when the feeder begins to fill its batch. */
void feeder_is_busy(const struct feeder *f);

/* Stops counting a feeder as busy.  Call this after the GPU has matched the feeder's batch or has
 * failed. */
void feeder_is_done(const struct feeder *f);

/* Counts a segment of the feeder's batch that was encoded or dropped.  After the last segment, the
 * batch is free. */
void feeder_release(struct feeder *f);

/* Waits until there may be segments for the feeder's batch, which is free.  Releases the lock
 * meanwhile. */
void feeder_wait(const struct feeder *f);

/* Whether a feeder with a free batch should fill it now. */
bool feeders_may_fill(struct pipeline *p);

/* Wakes a feeder with a free batch if there are enough segments for a batch now.  Call this
 * whenever there is more to claim, or slots have more room. */
void feeders_call(struct pipeline *p);

/* --- Waiting segments --- */

/* Puts a slot into the queue `unread`.  A worker then reads the segment for the slot's feeder. */
void unread_put(struct slot *s);

/* Whether the queue `unread` is empty. */
bool unread_is_empty(const struct pipeline *p);

/* Takes the first slot from the queue `unread`, which must not be empty.  The worker counts as a
 * reader until it calls unread_is_read. */
struct slot *unread_take(struct pipeline *p);

/* Stops counting the worker as a reader.  Call this after unread_take, once the segment is read. */
void unread_is_read(struct pipeline *p);

/* The number of workers that count as readers, because they read a segment for a feeder now. */
int unread_readers(const struct pipeline *p);

/* Puts a slot that its feeder is done with into the queue `ready`.  A worker then encodes the
 * segment. */
void ready_put(struct slot *s);

/* The first slot in the queue `ready`, or NULL.  The slot stays in the queue. */
struct slot *ready_first(const struct pipeline *p);

/* Takes the first slot from the queue `ready`.  Returns NULL if the queue is empty. */
struct slot *ready_take(struct pipeline *p);

#endif
