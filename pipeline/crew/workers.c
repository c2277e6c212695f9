/*
 * workers.c - starts workers, lets them sleep, and gives them memory (workers.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hugepages.h"
#include "base/thread.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"

/* Seconds that the library waits after a failed start of a thread before it tries again.  The
 * command does not try again, because it ends soon. */
#define START_AGAIN 1.0

/* --- The crew ------------------------------------------------------------------------------- */

bool crew_init(struct pipeline *p, int threads, int claimers, void *(*main)(void *worker))
{
    p->crew = (struct crew){
        .main = main,
        .workers = calloc((size_t)threads, sizeof(*p->crew.workers)),
        .threads = threads,
        .claimers = claimers,
        .started = p->config.caller_works,
    };
    if (p->crew.workers == NULL)
        return false;
    p->crew.workers[0].pipeline = p;
    return true;
}

void crew_end(struct pipeline *p)
{
    p->crew.ends = true;
    wake_crew(p);
}

bool crew_ends(const struct pipeline *p)
{
    return p->crew.ends;
}

void crew_join(struct pipeline *p)
{
    int started;

    lock(p);
    started = p->crew.started;
    unlock(p);
    for (int i = p->config.caller_works; i < started; i++)
        pthread_join(p->crew.workers[i].thread, NULL);
}

void crew_free(struct pipeline *p, void (*leave)(struct worker *first))
{
    if (p->config.caller_works && p->crew.workers != NULL) {
        lock(p);
        crew_leave(&p->crew.workers[0]);
        unlock(p);
        leave(&p->crew.workers[0]);
    }
    free(p->crew.workers);
}

struct worker *crew_first(const struct pipeline *p)
{
    return &p->crew.workers[0];
}

int crew_threads(const struct pipeline *p)
{
    return p->crew.threads;
}

int crew_claimers(const struct pipeline *p)
{
    return p->crew.claimers;
}

void crew_visit(struct pipeline *p, void (*visit)(struct worker *w))
{
    for (int i = 0; i < p->crew.started; i++)
        visit(&p->crew.workers[i]);
}

bool crew_waits(const struct pipeline *p)
{
    return p->crew.waiting > 0;
}

unsigned crew_idle(const struct pipeline *p)
{
    return (unsigned)(p->crew.waiting + p->crew.threads - p->crew.started);
}

bool crew_is_alone(const struct pipeline *p)
{
    return p->crew.started == 1;
}

bool crew_is_called(const struct pipeline *p)
{
    return p->crew.called > 0;
}

/* Starts one more worker, if one more may be started now. */
static void start(struct pipeline *p)
{
    struct crew *c = &p->crew;
    struct worker *w = &c->workers[c->started];

    if (c->started >= c->threads || c->ends ||
        (c->start_again != 0 && clock_seconds() <= c->start_again))
        return;
    w->pipeline = p;
    /* If the system gives no more threads, the workers that exist do the work. */
    if (thread_start(&w->thread, c->main, w))
        c->started++;
    else if (p->config.caller_works)
        c->threads = c->started;
    else
        c->start_again = clock_seconds() + START_AGAIN;
}

void crew_call(struct pipeline *p)
{
    struct crew *c = &p->crew;

    if (c->waiting <= c->called) {
        start(p);
        return;
    }
    c->called++;
    /* If some workers may not claim segments, one signal might wake only such a worker, so wake
     * all. */
    if (c->threads > c->claimers)
        wake_all(p, CAN_WORK);
    else
        wake_one(p, CAN_WORK);
}

void crew_call_claimers(struct pipeline *p)
{
    if (p->crew.waiting > 0 && p->crew.threads > p->crew.claimers)
        wake_all(p, CAN_WORK);
}

void crew_wait(struct worker *w)
{
    struct pipeline *p = w->pipeline;

    p->crew.waiting++;
    await(p, CAN_WORK);
    p->crew.waiting--;
    if (p->crew.called > 0)
        p->crew.called--;
}

bool crew_is_claimer(const struct worker *w)
{
    const struct crew *c = &w->pipeline->crew;

    return w - c->workers < c->claimers || c->have_left;
}

void crew_begin_matching(struct pipeline *p)
{
    p->crew.matching++;
}

void crew_end_matching(struct pipeline *p)
{
    p->crew.matching--;
}

void crew_tell(const struct pipeline *p, struct policy_facts *f)
{
    f->threads = p->crew.threads;
    f->matching = p->crew.matching;
}

/* --- The workers' memory -------------------------------------------------------------------- */

void tools_free(struct worker_tools *t)
{
    if (t == NULL)
        return;
    lz_matcher_free(t->matcher);
    huff_encoder_free(t->encoder);
    inf_whole_free(t->decoder);
    free(t->in);
    free(t->out);
    free(t);
}

struct worker_tools *tools_new(const struct lz_level *level, size_t size, bool verifies,
                               bool can_be_huge)
{
    const bool is_stored = lz_is_stored(level);
    struct worker_tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->level = level;
    if (!is_stored) {
        t->matcher = lz_matcher_new(level, size);
        t->encoder = huff_encoder_new();
    }
    if (verifies)
        t->decoder = inf_whole_new();
    t->can_be_huge = can_be_huge && size >= HUGE_PAGE;
    t->in = t->can_be_huge ? hugepages_reserve(size + LZ_INPUT_PAD) : malloc(size + LZ_INPUT_PAD);
    if ((!is_stored && (t->matcher == NULL || t->encoder == NULL)) ||
        (verifies && t->decoder == NULL) || t->in == NULL) {
        tools_free(t);
        return NULL;
    }
    memset(t->in + size, 0, LZ_INPUT_PAD);
    return t;
}

void tools_ask_for_huge_pages(struct worker_tools *t, size_t size)
{
    if (t->can_be_huge)
        hugepages_ask(t->in, size);
    t->can_be_huge = false;
}

bool crew_is_equipped(const struct worker *w, const struct lz_level *level)
{
    return w->tools != NULL && w->tools->level == level && w->tools->out != NULL;
}

bool crew_lacks_memory(const struct worker *w)
{
    return w->lacks_memory;
}

/* Whether other workers have tools, or are getting or freeing some now. */
static bool others_have_memory(const struct worker *w)
{
    const struct crew *c = &w->pipeline->crew;

    return c->equipped - (w->tools != NULL) + c->getting + c->leaving > 0;
}

/* Gets a worker the memory that it lacks, or as much of it as the system gives.  If the worker's
 * tools are for another level, frees them first, so that the worker never has more memory than it
 * needs.  Releases the lock meanwhile. */
static void get_memory(struct worker *w, const struct lz_level *level)
{
    struct pipeline *p = w->pipeline;
    struct crew *c = &p->crew;

    if (w->tools == NULL || w->tools->level != level) {
        struct worker_tools *t = w->tools;

        w->tools = NULL;
        c->equipped -= t != NULL;
        c->getting++;
        unlock(p);
        tools_free(t);
        t = tools_new(level, p->segment_size, p->config.verify, crew_maps_freely(p));
        if (t != NULL && t->matcher != NULL)
            lz_matcher_limit(t->matcher, p->matcher_more);
        lock(p);
        c->getting--;
        w->tools = t;
        c->equipped += t != NULL;
    }
    if (w->tools != NULL && w->tools->out == NULL)
        w->tools->out = slots_take_output(p);
}

enum equipped crew_equip(struct worker *w, const struct lz_level *level)
{
    struct pipeline *p = w->pipeline;
    struct crew *c = &p->crew;

    get_memory(w, level);
    /* If no other worker has memory now, the first worker tries once more, because the memory that
     * other workers have freed may be enough. */
    if (!crew_is_equipped(w, level) && w == c->workers && !others_have_memory(w))
        get_memory(w, level);
    w->lacks_memory = !crew_is_equipped(w, level);
    if (!w->lacks_memory)
        return CREW_EQUIPPED;
    c->have_left = true;
    if (w != c->workers)
        return CREW_GO_AWAY;
    if (!others_have_memory(w))
        return CREW_NOBODY;
    /* Workers that have memory may be asleep.  They must do the work now, so wake them. */
    wake_all(p, CAN_WORK);
    return CREW_GO_AWAY;
}

void crew_leave(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct worker_tools *t = w->tools;

    w->tools = NULL;
    p->crew.equipped -= t != NULL;
    /* No other worker may be started in place of this one. */
    p->crew.threads = p->crew.started;
    p->crew.leaving++;
    unlock(p);
    tools_free(t);
    lock(p);
    p->crew.leaving--;
    wake_crew(p);
}
