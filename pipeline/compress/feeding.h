/*
 * feeding.h - GPU batches: how many are at work, and which segments wait for GPUs and behind them
 *
 * gpu_feed.h fills them.  Without GPUs (p->feeding is NULL), nothing is ever fed or waits.
 */
#ifndef GZLZSS_FEEDING_H
#define GZLZSS_FEEDING_H

#include "pipeline/crew/state.h"

/* A thread, and a GPU's batch that it has to itself.  gpu_feed.c fills it. */
struct feeder {
    struct pipeline *pipeline;
    pthread_t thread;
    int gpu, number; /* the batch is number `number` of this GPU */
    struct gpu_batch *batch;
    struct slot *first, *last; /* what is in it */
    unsigned unread;           /* segments that workers have not read yet, */
    unsigned pending;          /* or not encoded; 0: the batch is free */
};

/* Makes p->feeding; false if memory is short. */
bool feeding_init(struct pipeline *p);

/* Waits for feeders, which have been told to end; without the lock. */
void feeding_join(struct pipeline *p);
void feeding_free(struct pipeline *p);

/* --- Whether GPUs are fed --- */

/* Whether GPUs get part of what is left now; begins that, until nothing is left. */
bool feeding_is_on(const struct pipeline *p);
void feeding_begin(struct pipeline *p);

/* Whether what is left has grown by a batch since this last returned true, or that was some time
 * ago. */
bool feeding_has_grown(struct pipeline *p);

/* Whether there will be feeders: a GPU is being brought up, or is up and has none yet. */
bool feeding_gpu_comes(const struct pipeline *p);

/* The next GPU that is up and has no feeder, which is counted as having one; -1 if there is none. */
int feeding_next_gpu(struct pipeline *p);

/* --- Feeders --- */

/* The GPU's next feeder, whose thread has not been started; NULL if it can have no more.  If its
 * thread was started, feeder_began counts it, and feeder_ended when it ends. */
struct feeder *feeder_new(struct pipeline *p, int gpu);
void feeder_began(const struct feeder *f);
void feeder_ended(const struct feeder *f);

/* Feeders that have not ended; of these, batches that are in use for what is left now. */
int feeders_alive(const struct pipeline *p);
int feeders_at_work(const struct pipeline *p);

/* A feeder fills its batch or has it matched, until feeder_is_done. */
void feeder_is_busy(const struct feeder *f);
void feeder_is_done(const struct feeder *f);

/* A segment of the feeder's batch was encoded, or dropped. */
void feeder_release(struct feeder *f);

/* Waits until there may be something for a batch that is free. */
void feeder_wait(const struct feeder *f);

/* Whether a feeder whose batch is free should fill it now. */
bool feeders_may_fill(struct pipeline *p);

/* Wakes a feeder that waits for something to put into its batch, if there is enough now. */
void feeders_call(struct pipeline *p);

/* --- Segments that wait --- */

/* For a worker to read them for a feeder: unread_is_read follows unread_take.  unread_readers is how
 * many workers are between these two. */
void unread_put(struct slot *s);
bool unread_is_empty(const struct pipeline *p);
struct slot *unread_take(struct pipeline *p);
void unread_is_read(struct pipeline *p);
int unread_readers(const struct pipeline *p);

/* For a worker to encode them, after a feeder had them.  ready_first leaves the slot there; NULL if
 * there is none. */
void ready_put(struct slot *s);
struct slot *ready_first(const struct pipeline *p);
struct slot *ready_take(struct pipeline *p);

#endif
