/*
 * claim.c - segments are claimed and read (claim.h)
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hugepages.h"
#include "pipeline/claim.h"
#include "pipeline/crew.h"
#include "pipeline/jobs.h"
#include "pipeline/pushed.h"

/* Gives up the lock to read; returns the time. */
static double begin_reading(struct job *j)
{
    unlock(j->pipeline);
    return clock_seconds();
}

void count_read(struct job *j, double seconds, uint64_t bytes, bool ok, int error)
{
    struct pipeline *p = j->pipeline;

    j->stats.read += seconds;
    p->read.seconds += seconds;
    p->read.bytes += (double)bytes;
    if (!ok)
        job_fail(j, PIPELINE_READ_ERROR, error);
}

/* Takes the lock again and counts what was read.  If that failed (not ok, with errno set), the
 * job fails. */
static void end_reading(struct job *j, double began, bool ok, uint64_t bytes)
{
    const int error = errno;
    const double seconds = clock_seconds() - began;

    lock(j->pipeline);
    count_read(j, seconds, bytes, ok, error);
}

/* Zeros the bytes behind in[0..len).  No result depends on them, but what is read there is the
 * same each time. */
static void pad(uint8_t *in, size_t len)
{
    memset(in + len, 0, LZ_INPUT_PAD);
}

/* --- Segments that can be read in any order --- */

struct slot *claim_any(struct job *j, uint8_t *buf)
{
    const uint64_t index = j->next_claim;
    const size_t size = j->pipeline->segment_size;
    struct slot *s = slot_new(j, size);

    if (s == NULL)
        return NULL;
    s->index = index;
    s->in = buf;
    s->len = size;
    if (j->of->is_pushed) {
        s->pushed = pushed_claim(j);
        s->ahead = s->pushed->bytes;
        s->before = s->pushed->before;
        s->len = s->pushed->len;
        s->last = s->pushed->last;
    } else if (j->ahead != NULL) {
        const uint64_t place = index % j->ahead_most;

        s->ahead = j->ahead_in + place * size;
        s->len = j->ahead[place].len;
        s->last = j->ahead[place].last;
    }
    slot_weigh(s, s->len);
    j->next_claim++;
    job_count_left(j, 0, s->len);
    return s;
}

void read_segment(struct slot *s)
{
    struct job *j = s->job;
    const double began = begin_reading(j);
    bool ok = true;

    if (s->ahead == NULL) {
        ok = source_read_at(&j->source, s->index, s->in);
    } else {
        memcpy(s->in, s->ahead, s->before + s->len);
        /* In a batch, another segment may follow. */
        if (s->feeder == NULL)
            pad(s->in, s->before + s->len);
    }
    end_reading(j, began, ok, s->len);
    if (s->ahead == NULL)
        return;
    /* There is room for one more. */
    s->ahead = NULL;
    if (s->pushed != NULL) {
        pushed_leave(j, s->pushed);
        s->pushed = NULL;
        wake_caller(j->of);
    } else {
        j->ahead[s->index % j->ahead_most].is_here = false;
        j->ahead_count--;
        pthread_cond_signal(&j->pipeline->can_work);
    }
}

/* --- Segments that are read in order --- */

bool read_in_order(struct slot *s)
{
    struct source *source = &s->job->source;
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
    /* The next segment can be read now. */
    jobs_call_feeder(p);
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

/* Only while a GPU is brought up.  Bytes that wait in memory have left the caches when they are
 * matched: without a GPU, that costs more than reading ahead gains.  With a single worker,
 * reading ahead only means matching later. */
struct job *job_to_read_ahead(struct pipeline *p)
{
    struct job *j = p->unclaimed;

    if (j == NULL || j->state != JOB_OPEN || j->ahead == NULL || j->ahead_ends ||
        j->of->is_pushed || j->total != UINT64_MAX || j->reading || p->threads == 1)
        return NULL;
    return !j->ahead[job_known_segments(j) % j->ahead_most].is_here && gpu_is_coming(p) ? j : NULL;
}

void read_ahead(struct job *j)
{
    struct pipeline *p = j->pipeline;
    const uint64_t index = job_known_segments(j);
    const uint64_t place = index % j->ahead_most;
    struct ahead *a = &j->ahead[place];
    uint8_t *in;
    double began;
    bool ok;

    /* All places are one allocation.  One for each segment would be slow while a GPU is brought
     * up, as the driver is busy with the memory, too. */
    if (j->ahead_in == NULL)
        j->ahead_in = hugepages_alloc_many(j->ahead_most, p->segment_size);
    if (j->ahead_in == NULL) {
        /* It can do without. */
        j->ahead_ends = true;
        return;
    }
    in = j->ahead_in + place * p->segment_size;
    j->reading = true;
    j->ahead_count++;
    began = begin_reading(j);
    ok = source_read_next(&j->source, in, &a->len, &a->last);
    end_reading(j, began, ok, ok ? a->len : 0);
    j->reading = false;
    if (j->failed) {
        job_settle(j);
        return;
    }
    a->is_here = true;
    j->any_order = index + 1;
    if (a->last)
        j->total = j->any_order;
    else
        crew_call(p);
    job_count_left(j, a->len, 0);
    wake_all(p);
}

bool leave_ahead(struct pipeline *p)
{
    struct job *j = p->first;
    uint8_t *in;

    if (j == NULL || j->state != JOB_OPEN || j->ahead_in == NULL || j->ahead_count > 0 ||
        j->of->is_pushed || gpu_is_coming(p))
        return false;
    in = j->ahead_in;
    j->ahead_in = NULL;
    unlock(p);
    free(in);
    lock(p);
    return true;
}
