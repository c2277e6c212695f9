/*
 * measures.c - counts work and measures its speed (measures.h)
 */
#include "config.h"

#include "base/clock.h"
#include "pipeline/crew/measures.h"

static void add(struct policy_work *work, double bytes, double seconds)
{
    work->bytes += bytes;
    work->seconds += seconds;
}

void measure_job(struct pipeline *p)
{
    p->measures.totals.jobs++;
}

void measure_wanted(struct pipeline *p, uint64_t bytes)
{
    if (p->measures.totals.gpu_bytes == 0)
        p->measures.totals.gpu_bytes = bytes;
}

void measure_read(struct pipeline *p, double bytes, double seconds)
{
    add(&p->measures.read, bytes, seconds);
}

void measure_written(struct pipeline *p, double bytes, double seconds)
{
    add(&p->measures.write, bytes, seconds);
}

void measure_encoded(struct pipeline *p, double bytes, double seconds, bool by_gpu)
{
    p->measures.totals.gpu_segments += by_gpu;
    p->measures.totals.cpu_segments += !by_gpu;
    add(&p->measures.encode, bytes, seconds);
}

void measure_matched(struct pipeline *p, double bytes, double seconds)
{
    add(&p->measures.match, bytes, seconds);
}

void measure_batch(struct pipeline *p, uint64_t bytes)
{
    struct measures *m = &p->measures;

    m->gpu_matched += bytes;
    m->paces[m->pace_count++ % PACES] = (struct pace){clock_seconds(), m->gpu_matched};
}

void measures_forget_pace(struct pipeline *p)
{
    p->measures.pace_count = 0;
}

void measures_totals(const struct pipeline *p, struct pipeline_totals *totals)
{
    *totals = p->measures.totals;
}

/* Returns the bytes per second that the GPUs have matched lately, or 0 if the rate is not known
 * yet.  At first, a GPU gets all its batches at once, and the first batch comes back late.  So the
 * rate is known only after more batches have come back than there are feeders. */
static double gpu_rate(const struct measures *m, int feeders)
{
    const struct pace *newest = &m->paces[(m->pace_count - 1) % PACES];
    const struct pace *oldest = &m->paces[m->pace_count > PACES ? m->pace_count % PACES : 0];

    if (m->pace_count <= (uint64_t)feeders)
        return 0;
    return (double)(newest->bytes - oldest->bytes) / (clock_seconds() - oldest->time);
}

void measures_tell(const struct pipeline *p, int feeders, struct policy_facts *f)
{
    f->match = p->measures.match;
    f->encode = p->measures.encode;
    f->read = p->measures.read;
    f->write = p->measures.write;
    f->gpu_rate = gpu_rate(&p->measures, feeders);
}
