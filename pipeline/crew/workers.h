/*
 * workers.h - the crew: workers are started, sleep, and get memory
 */
#ifndef GZLZSS_WORKERS_H
#define GZLZSS_WORKERS_H

#include "pipeline/crew/state.h"

/* Memory to match and encode a segment of up to `size` bytes, but for the output; NULL if memory is
 * short.  NULL can be freed. */
struct worker_tools *tools_new(const struct lz_level *level, size_t size);
void tools_free(struct worker_tools *t);

/* There may be `threads` workers, of which the first `claimers` claim segments.  `main` is what their
 * threads do.  The first is the caller, if config.caller_works.  False if memory is short. */
bool crew_init(struct pipeline *p, int threads, int claimers, void *(*main)(void *worker));

/* Tells all threads to end. */
void crew_end(struct pipeline *p);

/* Whether they are to end. */
bool crew_ends(const struct pipeline *p);

/* Waits for the threads that have been told to end, and frees the crew's memory; without the lock.
 * `leave` frees what the first worker has beside its tools, if that is the caller. */
void crew_join(struct pipeline *p);
void crew_free(struct pipeline *p, void (*leave)(struct worker *first));

/* The first worker, the workers that there may be, and the workers that may claim segments. */
struct worker *crew_first(const struct pipeline *p);
int crew_threads(const struct pipeline *p);
int crew_claimers(const struct pipeline *p);

/* Calls `visit` for each worker that was started. */
void crew_visit(struct pipeline *p, void (*visit)(struct worker *w));

/* Whether workers wait; how many may yet be started; whether only the first was. */
bool crew_waits(const struct pipeline *p);
unsigned crew_idle(const struct pipeline *p);
bool crew_is_alone(const struct pipeline *p);

/* Whether a worker that was woken is on its way. */
bool crew_is_called(const struct pipeline *p);

/* There is something for one more worker: wakes one that waits, or starts another if there may be
 * one. */
void crew_call(struct pipeline *p);

/* Something was left that only some workers may do: wakes all that wait, if there are others. */
void crew_call_claimers(struct pipeline *p);

/* Waits until there may be something for this worker to do. */
void crew_wait(struct worker *w);

/* Whether the worker may claim segments, rather than help with those of others. */
bool crew_is_claimer(const struct worker *w);

/* A worker begins to match a segment of its own, or has ended that; how many are at it. */
void crew_begin_matching(struct pipeline *p);
void crew_end_matching(struct pipeline *p);

/* Sets what the policy is told of the crew. */
void crew_tell(const struct pipeline *p, struct policy_facts *f);

/* Whether the worker has all the memory that it needs for a segment. */
bool crew_is_equipped(const struct worker *w);

enum equipped {
    CREW_EQUIPPED,
    CREW_GO_AWAY, /* memory is short: the worker has to end, which is no failure as long as others
                     work; the first waits for them instead */
    CREW_NOBODY,  /* memory is short, and this is the first and there are no others */
};

/* Gets that memory; the lock is free meanwhile, so that all may be different afterwards. */
enum equipped crew_equip(struct worker *w);

/* Whether the worker got none the last time. */
bool crew_lacks_memory(const struct worker *w);

/* The end of a worker: frees its tools.  The lock is free meanwhile. */
void crew_leave(struct worker *w);

#endif
