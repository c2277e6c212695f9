/*
 * parts.c - lets several workers match one segment (parts.h)
 */
#include "config.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pipeline/compress/facts.h"
#include "pipeline/compress/parts.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/workers.h"

struct parts {
    struct match_split *first; /* segments with chunks that no worker has taken */
};

bool parts_init(struct pipeline *p)
{
    p->parts = calloc(1, sizeof(*p->parts));
    return p->parts != NULL;
}

void parts_free(struct pipeline *p)
{
    free(p->parts);
}

struct match_split *parts_to_match(const struct pipeline *p)
{
    return p->parts->first;
}

void offer_parts(struct worker *w, const struct slot *s)
{
    struct pipeline *p = w->pipeline;
    struct policy_facts facts;

    /* Helpers have matchers for the pipeline's level only, and cannot match a piece, which refers
     * to bytes before it. */
    if (s->before > 0 || s->job->request->level != NULL)
        return;
    facts_get(p, &facts);
    if (!policy_may_split(&facts, s->len, jobs_segments_left(p) + jobs_waiting(p),
                          crew_claimers(p)))
        return;
    w->split = (struct match_split){
        .in = s->in,
        .len = s->len,
        .matcher = w->tools->matcher,
        .end = (unsigned)LZ_CHUNKS(s->len),
        .link = p->parts->first,
    };
    p->parts->first = &w->split;
    s->job->stats.split_segments++;
    crew_call(p);
}

void match_some(struct worker *w, struct match_split *split)
{
    struct pipeline *p = w->pipeline;
    const bool is_owner = split == &w->split;
    const unsigned others = split->busy + crew_idle(p);
    const unsigned count = policy_part(split->end - split->next, others, is_owner);
    const unsigned first = is_owner ? split->next : split->end - count;
    double seconds;

    if (is_owner)
        split->next += count;
    else
        split->end -= count;
    split->busy++;
    if (split->next == split->end) {
        struct match_split **link = &p->parts->first;

        while (*link != split)
            link = &(*link)->link;
        *link = split->link;
    }
    /* With fewer than POLICY_PART_MIN chunks left, another worker would come too late. */
    if (split->end - split->next >= POLICY_PART_MIN)
        crew_call(p);
    unlock(p);
    seconds = -clock_seconds();
    lz_match_chunks(w->tools->matcher, split->in, split->len, first, count, split->matcher);
    seconds += clock_seconds();
    lock(p);
    split->seconds += seconds;
    lz_take_counters(w->tools->matcher, split->counters);
    if (--split->busy == 0 && split->next == split->end)
        wake_all(p, CAN_JOIN);
}

void finish_parts(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct match_split *split = &w->split;

    lock(p);
    while (split->next < split->end)
        match_some(w, split);
    while (split->busy > 0)
        await(p, CAN_JOIN);
    unlock(p);
    split->matcher = NULL;
}
