/*
 * workers.h - starts workers, lets them sleep, and gives them memory
 */
#ifndef GZLZSS_WORKERS_H
#define GZLZSS_WORKERS_H

#include "pipeline/crew/state.h"

/* Makes memory to match and encode a segment of up to `size` bytes, and to verify it if `verifies`
 * is set.  The memory has no output buffer.  If can_be_huge is set, the input buffer may take more
 * address space, so that it can later be in huge pages.  Returns NULL if memory is short. */
struct worker_tools *tools_new(const struct lz_level *level, size_t size, bool verifies,
                               bool can_be_huge);

/* Asks for huge pages for an input buffer of `size` bytes, if it can be in huge pages. */
void tools_ask_for_huge_pages(struct worker_tools *t, size_t size);

/* Frees a worker's memory, with its output buffer.  t may be NULL. */
void tools_free(struct worker_tools *t);

/* Makes p->crew.  There may be `threads` workers, whose threads run `main`; the first `claimers`
 * workers claim segments.  With config.caller_works, the caller is the first worker.  Returns false
 * if memory is short. */
bool crew_init(struct pipeline *p, int threads, int claimers, void *(*main)(void *worker));

/* Tells all workers to end. */
void crew_end(struct pipeline *p);

/* Whether workers were told to end. */
bool crew_ends(const struct pipeline *p);

/* Waits for the threads that crew_end has told to end.  Called without the lock. */
void crew_join(struct pipeline *p);

/* Frees the crew's memory.  If the caller is the first worker, `leave` frees that worker's memory
 * other than its tools; other workers free their own before they end.  Called without the lock. */
void crew_free(struct pipeline *p, void (*leave)(struct worker *first));

/* The first worker. */
struct worker *crew_first(const struct pipeline *p);

/* The most workers that there may be. */
int crew_threads(const struct pipeline *p);

/* The most workers that may claim segments. */
int crew_claimers(const struct pipeline *p);

/* Calls `visit` for each worker that was started. */
void crew_visit(struct pipeline *p, void (*visit)(struct worker *w));

/* Whether at least one worker waits. */
bool crew_waits(const struct pipeline *p);

/* The number of workers that wait, plus the number of workers that may still be started. */
unsigned crew_idle(const struct pipeline *p);

/* Whether exactly one worker was started. */
bool crew_is_alone(const struct pipeline *p);

/* Whether a worker was woken and does not run yet. */
bool crew_is_called(const struct pipeline *p);

/* Wakes a waiting worker.  If no worker waits, starts one more, unless the crew has as many workers
 * as it may have.  Call this when there is something to do for one more worker. */
void crew_call(struct pipeline *p);

/* If some workers may not claim segments, wakes all waiting workers, because a signal for a single
 * worker might wake one that may not claim.  Otherwise does nothing.  Call this when there may be
 * segments to claim. */
void crew_call_claimers(struct pipeline *p);

/* Waits until this worker may find something to do.  Releases the lock meanwhile. */
void crew_wait(struct worker *w);

/* Whether the worker may claim segments.  If not, it only helps with the segments of others. */
bool crew_is_claimer(const struct worker *w);

/* Counts a worker that begins to match a segment of its own. */
void crew_begin_matching(struct pipeline *p);

/* Stops counting a worker that has finished matching its own segment. */
void crew_end_matching(struct pipeline *p);

/* Sets the policy's facts about the crew: threads and matching. */
void crew_tell(const struct pipeline *p, struct policy_facts *f);

/* Whether the worker has all the memory that it needs to match and encode a segment at this
 * level. */
bool crew_is_equipped(const struct worker *w, const struct lz_level *level);

enum equipped {
    CREW_EQUIPPED,
    /* Memory is short.  The first worker must wait, because other workers have memory.  Any other
     * worker must end; this is no failure as long as other workers go on. */
    CREW_GO_AWAY,
    CREW_NOBODY, /* memory is short, this is the first worker, and no other worker has memory */
};

/* Gets the worker its memory for this level.  Releases the lock meanwhile, so the work to do may
 * have changed. */
enum equipped crew_equip(struct worker *w, const struct lz_level *level);

/* Whether the worker's last crew_equip failed. */
bool crew_lacks_memory(const struct worker *w);

/* Frees the tools of a worker that ends.  No new worker takes its place.  Releases the lock
 * meanwhile. */
void crew_leave(struct worker *w);

#endif
