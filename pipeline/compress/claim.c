/*
 * claim.c - claims segments and reads them; reads ahead of a pipe (claim.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/compress/claim.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"

/* Releases the lock, so that the caller can read.  Returns the time. */
static double begin_reading(struct job *j)
{
    unlock(j->pipeline);
    return clock_seconds();
}

void count_read(struct job *j, double seconds, uint64_t bytes, bool ok, int error)
{
    j->stats.read += seconds;
    measure_read(j->pipeline, (double)bytes, seconds);
    if (!ok)
        job_fail(j, PIPELINE_READ_ERROR, error);
}

/* Takes the lock again, and counts the bytes that were read since `began`.  If reading failed (ok
 * is false, and errno is set), the job fails. */
static void end_reading(struct job *j, double began, bool ok, uint64_t bytes)
{
    const int error = errno;
    const double seconds = clock_seconds() - began;

    lock(j->pipeline);
    count_read(j, seconds, bytes, ok, error);
}

/* Zeros the LZ_INPUT_PAD bytes after in[0..len).  No result depends on them, but with zeros, every
 * run reads the same bytes. */
static void pad(uint8_t *in, size_t len)
{
    memset(in + len, 0, LZ_INPUT_PAD);
}

/* --- Segments that can be read in any order --- */

struct slot *claim_any(struct job *j, uint8_t *buf)
{
    const size_t size = j->pipeline->segment_size;
    struct slot *s = slot_new(j, size);

    if (s == NULL)
        return NULL;
    s->index = j->next_claim;
    s->in = buf;
    s->len = size;
    if (j->request->is_pushed || ahead_reads(&j->compression->ahead)) {
        s->ahead = ahead_claim(&j->compression->ahead);
        s->before = s->ahead->before;
        s->len = s->ahead->len;
        s->last = s->ahead->last;
        slot_weigh(s, s->len);
    }
    j->next_claim++;
    job_count_left(j, 0, s->len);
    return s;
}

/* Copies a segment that waited in memory to the slot's buffer. */
static void copy_ahead(struct slot *s)
{
    memcpy(s->in, s->ahead->bytes, s->before + s->len);
    /* In a batch, another segment may follow directly, so pad only a worker's own buffer. */
    if (s->feeder == NULL)
        pad(s->in, s->before + s->len);
}

void read_segment(struct slot *s)
{
    struct job *j = s->job;
    const double began = begin_reading(j);
    bool ok = true;

    if (s->ahead == NULL)
        ok = source_read_at(&j->compression->source, s->index, s->in);
    else
        copy_ahead(s);
    end_reading(j, began, ok, s->len);
    if (s->ahead == NULL)
        return;
    ahead_leave(&j->compression->ahead, s->ahead);
    s->ahead = NULL;
    /* The segment has left the list, so one more segment may be pushed or read ahead. */
    if (j->request->is_pushed)
        wake_caller(j->request);
    else
        wake_one(j->pipeline, CAN_WORK);
}

/* --- Segments that are read in order --- */

bool read_in_order(struct slot *s)
{
    struct source *source = &s->job->compression->source;
    const bool ok = s->job->pipeline->config.rsyncable
                        ? source_next_piece(source, s->in, &s->before, &s->len, &s->last)
                        : source_read_next(source, s->in, &s->len, &s->last);

    if (ok)
        pad(s->in, s->before + s->len);
    return ok;
}

void claim_read(struct slot *s)
{
    struct job *j = s->job;

    slot_weigh(s, s->len);
    s->index = j->next_claim++;
    if (s->last)
        j->total = j->next_claim;
    job_count_left(j, 0, s->len);
}

struct slot *claim_in_order(struct job *j, uint8_t *buf)
{
    struct pipeline *p = j->pipeline;
    struct slot *s = slot_new(j, p->segment_size);
    double began;
    bool ok;

    if (s == NULL)
        return NULL;
    j->reading = true;
    s->in = buf;
    began = begin_reading(j);
    ok = read_in_order(s);
    end_reading(j, began, ok, s->len);
    j->reading = false;
    if (ok && !j->failed)
        claim_read(s);
    /* Another thread can read the next segment now. */
    feeders_call(p);
    return s;
}

struct slot *claim_one(struct job *j, uint8_t *buf)
{
    struct slot *s;

    if (job_next_is_any(j)) {
        s = claim_any(j, buf);
        if (s != NULL)
            read_segment(s);
    } else {
        s = claim_in_order(j, buf);
    }
    if (s == NULL)
        job_fail(j, PIPELINE_NO_MEMORY, 0);
    if (!j->failed)
        return s;
    if (s != NULL)
        slot_done(s);
    job_settle(j);
    return NULL;
}

/* --- Reading ahead --- */

/* A worker reads ahead only while a GPU is brought up.  Bytes that wait in memory have left the
 * processor's caches when they are matched.  Without a GPU, that costs more time than reading ahead
 * gains.  With a single worker, reading ahead would only delay matching. */
struct job *job_to_read_ahead(struct pipeline *p)
{
    struct job *j = jobs_first_unclaimed(p);

    if (j == NULL || j->state != JOB_OPEN || j->total != UINT64_MAX || j->reading ||
        crew_threads(p) == 1 || !ahead_may_read(&j->compression->ahead, job_known_segments(j)))
        return NULL;
    return feeding_gpu_comes(p) ? j : NULL;
}

void read_ahead(struct job *j)
{
    struct pipeline *p = j->pipeline;
    struct compression *c = j->compression;
    const uint64_t index = job_known_segments(j);
    struct ahead *a = ahead_take_place(&c->ahead, index);
    double began;
    bool ok;

    if (a == NULL)
        return; /* memory is short: the job goes on without reading ahead */
    j->reading = true;
    began = begin_reading(j);
    ok = source_read_next(&c->source, a->bytes, &a->len, &a->last);
    end_reading(j, began, ok, ok ? a->len : 0);
    j->reading = false;
    if (j->failed) {
        job_settle(j);
        return;
    }
    ahead_was_read(&c->ahead, a);
    j->any_order = index + 1;
    if (a->last)
        j->total = j->any_order;
    else
        crew_call(p);
    job_count_left(j, a->len, 0);
    wake_crew(p);
}

bool leave_ahead(struct pipeline *p)
{
    struct job *j = jobs_first(p);
    uint8_t *block;

    if (j == NULL || j->state != JOB_OPEN || !ahead_reads(&j->compression->ahead) ||
        feeding_gpu_comes(p))
        return false;
    block = ahead_take_block(&j->compression->ahead);
    if (block == NULL)
        return false;
    unlock(p);
    free(block);
    lock(p);
    return true;
}
