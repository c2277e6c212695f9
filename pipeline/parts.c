/*
 * parts.c - segments that several workers match (parts.h)
 */
#include "config.h"

#include "base/clock.h"
#include "pipeline/crew.h"
#include "pipeline/jobs.h"
#include "pipeline/parts.h"

void offer_parts(struct worker *w, const struct slot *s)
{
    struct pipeline *p = w->pipeline;
    struct policy_facts facts;

    if (s->before > 0)
        return;
    get_facts(p, &facts);
    if (!policy_may_split(&facts, s->len, p->left_segments + p->waiting_jobs, p->claimers))
        return;
    w->split = (struct split){
        .in = s->in,
        .len = s->len,
        .matcher = w->tools->matcher,
        .end = (unsigned)LZ_CHUNKS(s->len),
        .link = p->splits,
    };
    p->splits = &w->split;
    s->job->stats.split_segments++;
    crew_call(p);
}

void match_some(struct worker *w, struct split *split)
{
    struct pipeline *p = w->pipeline;
    const bool is_owner = split == &w->split;
    const unsigned others = split->busy + (unsigned)(p->waiting + p->threads - p->started);
    const unsigned count = policy_part(split->end - split->next, others, is_owner);
    const unsigned first = is_owner ? split->next : split->end - count;
    double seconds;

    if (is_owner)
        split->next += count;
    else
        split->end -= count;
    split->busy++;
    if (split->next == split->end) {
        struct split **link = &p->splits;

        while (*link != split)
            link = &(*link)->link;
        *link = split->link;
    }
    /* For fewer chunks, another worker would come too late. */
    if (split->end - split->next >= POLICY_PART_MIN)
        crew_call(p);
    unlock(p);
    seconds = -clock_seconds();
    lz_match_chunks(w->tools->matcher, p->level, split->in, split->len, first, count,
                    split->matcher);
    seconds += clock_seconds();
    lock(p);
    split->seconds += seconds;
    lz_take_counters(w->tools->matcher, split->counters);
    if (--split->busy == 0 && split->next == split->end)
        pthread_cond_broadcast(&p->can_join);
}

void finish_parts(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct split *split = &w->split;

    lock(p);
    while (split->next < split->end)
        match_some(w, split);
    while (split->busy > 0)
        pthread_cond_wait(&p->can_join, &p->lock);
    unlock(p);
    split->matcher = NULL;
}
