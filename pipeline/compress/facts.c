/*
 * facts.c - gathers the facts for the policy (facts.h)
 */
#include "config.h"

#include "pipeline/compress/compression.h"
#include "pipeline/compress/facts.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/workers.h"

/* Fills in the facts about j, the open job that the policy judges. */
static void tell_job(const struct job *j, struct policy_facts *f)
{
    f->is_pipe = !source_is_file(&j->compression->source) && j->total == UINT64_MAX;
    f->is_on_gpu = j->request->is_on_gpu;
    f->uses_gpu = j->request->uses_gpu;
    f->given = job_known_segments(j) * j->pipeline->segment_size;
    f->reads_ahead = ahead_reads(&j->compression->ahead) && j->reading;
}

void facts_get(const struct pipeline *p, struct policy_facts *f)
{
    const struct job *j = jobs_to_weigh(p);

    *f = (struct policy_facts){
        .backend = p->config.backend,
        .core_guess = p->core_guess,
        .is_slow = p->level->finder->is_slow,
        .in_parts = p->level->finder->in_parts,
        .segment_size = p->segment_size,
        .gpu_is_coming = feeding_gpu_comes(p),
        .feeding = feeders_at_work(p),
    };
    measures_tell(p, feeders_alive(p), f);
    crew_tell(p, f);
    jobs_tell(p, f);
    if (j != NULL && j->state == JOB_OPEN)
        tell_job(j, f);
}
