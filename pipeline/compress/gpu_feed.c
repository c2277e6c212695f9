/*
 * gpu_feed.c - fills batches, lets GPUs match them, and hands the segments to the workers
 * (gpu_feed.h)
 *
 * A GPU has several feeders, so that reading, copying and matching go on at the same time.  When a
 * feeder has filled a batch, it starts the GPU's next feeder.
 *
 * A segment gets into a batch in one of three ways:
 *
 * - If the segment can only be read in order, the feeder itself reads it.  In memory and in a file,
 *   that is the case for the last segment.
 * - Otherwise, if the segment is in the memory of the feeder's GPU, the GPU copies it.
 * - Otherwise, a worker reads it, or copies it if it was read ahead or pushed.
 */
#include "config.h"

#include "base/clock.h"
#include "base/thread.h"
#include "pipeline/compress/claim.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/facts.h"
#include "pipeline/compress/gpu_feed.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"

/* While segments wait to be encoded, 1 worker of 4 may read for GPUs.  With more readers, reading
 * gets no faster, because memory limits its speed.  With fewer readers, a GPU may have to wait. */
#define READING_SHARE 4

/* --- Whether to use GPUs, and how many --- */

/* Whether a job's pipe is worth GPUs, judged by how many of its bytes were claimed lately. */
static bool pipe_wants_gpu(struct job *j, const struct policy_facts *f, uint64_t least)
{
    const struct pipeline *p = j->pipeline;
    const struct pace now = {clock_seconds(), j->next_claim * p->segment_size};
    struct pace *const claimed = j->compression->claimed;
    const double bytes = (double)(now.bytes - claimed[0].bytes);
    const double seconds = now.time - claimed[0].time;

    if (now.time - claimed[1].time > POLICY_PIPE_SECONDS) {
        claimed[0] = claimed[1];
        claimed[1] = now;
    }
    return policy_pipe_wants_gpu(f, least, bytes, seconds, p->pipe_share, &j->stats.cpu_kept_up);
}

/* Starts one more feeder for a GPU, if the GPU may have one more and there is something to
 * claim. */
static void start_feeder(struct pipeline *p, int gpu)
{
    struct feeder *f = feeder_new(p, gpu);

    if (f == NULL || crew_ends(p) || jobs_first_unclaimed(p) == NULL)
        return;
    if (thread_start(&f->thread, feeder_main, f))
        feeder_began(f);
    else if (f->number == 0)
        gpus_fail(p->gpus, gpu, "cannot start a thread");
}

/* Starts the first feeder of each GPU that has come up since the last call.  That feeder starts the
 * GPU's other feeders. */
static void start_feeders(struct pipeline *p)
{
    for (int gpu; (gpu = feeding_next_gpu(p)) >= 0;) {
        slots_grow(p, GPUS_BATCHES * (uint64_t)p->batch_size);
        if (gpus_engine(p->gpus, gpu) != NULL)
            start_feeder(p, gpu);
    }
}

/* Whether it is time to decide again whether the work left is worth GPUs.  With small files,
 * workers ask every few microseconds, and each decision makes other workers wait for the lock. */
static bool is_time_to_weigh(struct pipeline *p, const struct job *j)
{
    /* Decide at every call in three cases.  First, if the pipeline waits for GPUs, nothing may be
     * matched before they are up.  Second, at the slow levels, a worker may take half a second for
     * the next segment.  Third, each decision also takes a sample of a pipe's speed. */
    return p->wait_for_gpu || p->level->finder->is_slow ||
           (j->state == JOB_OPEN && !source_is_file(&j->compression->source)) ||
           feeding_has_grown(p);
}

/* Decides whether GPUs shall come up for the job and for later jobs (wanted_gpus), and whether they
 * get work of this job.  `bytes` are the bytes that are known to come. */
static void weigh(struct job *j, const struct policy_facts *f, uint64_t bytes)
{
    struct pipeline *p = j->pipeline;
    const uint64_t least =
        p->config.is_test ? p->config.test_gpu_min : policy_gpu_min(f, f->longest);
    const bool is_worth =
        f->is_pipe ? pipe_wants_gpu(j, f, least) : policy_files_want_gpu(f, least);

    j->stats.wanted_gpus = is_worth || policy_later_want_gpu(f, least);
    if (j->stats.wanted_gpus)
        measure_wanted(p, bytes);
    if (!feeding_is_on(p) &&
        (is_worth || (gpus_count(p->gpus) > 0 && bytes >= policy_gpu_up_min(f, p->batch_size))))
        feeding_begin(p);
}

void consider_gpus(struct pipeline *p)
{
    struct job *j = p->gpus != NULL ? jobs_to_weigh(p) : NULL;
    struct policy_facts f;
    uint64_t bytes;

    if (j == NULL || crew_ends(p) || (!feeding_is_on(p) && !is_time_to_weigh(p, j)))
        return;
    facts_get(p, &f);
    bytes = f.is_pipe ? f.given : f.expected;
    if (!j->stats.wanted_gpus)
        weigh(j, &f, bytes);
    if (j->stats.wanted_gpus)
        gpus_want(p->gpus, policy_gpus(bytes, p->further_gpu, GPUS_MAX),
                  j->request->uses_gpu ? j->request->device : -1);
    if (feeding_is_on(p))
        start_feeders(p);
}

/* --- Reading --- */

bool read_for_feeder(struct pipeline *p)
{
    struct slot *s;
    struct feeder *f;

    /* While segments wait to be encoded, not all workers may read, as a reader may have to wait for
     * input. */
    if (unread_is_empty(p) ||
        (ready_first(p) != NULL && READING_SHARE * unread_readers(p) >= crew_threads(p)))
        return false;
    s = unread_take(p);
    f = s->feeder;
    if (!unread_is_empty(p))
        crew_call(p);
    if (!s->job->failed)
        read_segment(s);
    unread_is_read(p);
    if (--f->unread == 0)
        wake_all(p, CAN_FREE);
    return true;
}

/* Adds a slot to the feeder's batch. */
static void add(struct feeder *f, struct slot *s)
{
    s->feeder = f;
    s->next_in_batch = NULL;
    if (f->first == NULL)
        f->first = s;
    else
        f->last->next_in_batch = s;
    f->last = s;
    f->pending++;
}

/* Whether the job's input is in the memory of the feeder's own GPU.  A GPU must not read another
 * GPU's memory, because it may lack the right to do so, and the error would look as if the GPU had
 * failed. */
static bool is_near(const struct feeder *f, const struct job *j)
{
    return j->request->is_on_gpu && j->request->device == gpus_device(f->pipeline->gpus, f->gpu);
}

/* Claims one segment of any job for the feeder's batch.  If no segment can be claimed, begins a
 * job.  Releases the lock while it reads a segment in order or begins a job.  Returns false if
 * there is nothing to claim and no job to begin now, if the batch or the slots have no room, or if
 * the crew ends. */
static bool claim_for_batch(struct feeder *f)
{
    struct pipeline *p = f->pipeline;
    struct gpu_batch *b = f->batch;
    struct job *j = jobs_to_claim_for_gpu(p);
    struct slot *s;
    unsigned index;
    uint8_t *in;

    if (!gpu_batch_fits(b, p->segment_size) || !slots_have_room(p, p->segment_size, 0) ||
        crew_ends(p))
        return false;
    if (j == NULL) {
        j = jobs_to_begin(p);
        if (j != NULL)
            job_begin(j);
        return j != NULL;
    }
    in = gpu_batch_add(b, p->segment_size, &index);
    if (job_next_is_any(j)) {
        s = claim_any(j, in);
        if (s != NULL && s->len < p->segment_size)
            gpu_batch_set_length(b, index, s->len);
        if (s != NULL && is_near(f, j)) {
            gpu_batch_set_source(b, index, source_on_gpu(&j->compression->source, s->index));
            s->is_away = true;
        } else if (s != NULL) {
            unread_put(s);
            f->unread++;
        }
    } else {
        s = claim_in_order(j, in);
        gpu_batch_set_length(b, index, s != NULL && !j->failed ? s->len : 0);
    }
    if (s == NULL) {
        gpu_batch_set_length(b, index, 0);
        job_fail(j, PIPELINE_NO_MEMORY, 0);
    } else {
        s->place = index;
        add(f, s);
    }
    if (j->failed && s == NULL)
        job_settle(j);
    return true;
}

/* Makes workers read the feeder's segments in `unread`, and waits until they have done so. */
static void wait_read(struct feeder *f)
{
    struct pipeline *p = f->pipeline;

    if (f->unread == 0)
        return;
    crew_call(p);
    wake_all(p, CAN_WORK);
    while (f->unread > 0)
        await(p, CAN_FREE);
}

/* Makes workers read the segments that the GPU should have copied from its own memory.  Call this
 * after the GPU has failed.  Call it before any segment of the batch is encoded, as the encoder may
 * look at the bytes after a segment. */
static void read_away(struct feeder *f)
{
    for (struct slot *s = f->first; s != NULL; s = s->next_in_batch)
        if (s->is_away) {
            unread_put(s);
            f->unread++;
        }
    wait_read(f);
}

/* Claims segments for the feeder's batch, and waits until they are read. */
static void fill_batch(struct feeder *f)
{
    struct pipeline *p = f->pipeline;

    gpu_batch_clear(f->batch);
    f->first = f->last = NULL;
    while (claim_for_batch(f))
        ;
    start_feeder(p, f->gpu);
    feeders_call(p);
    wait_read(f);
}

/* --- Matching --- */

/* Adds a job's share of a batch's times to the job's own times. */
static void add_times(struct gpu_times *to, const struct gpu_times *of_batch, double share)
{
    to->copy_in += share * of_batch->copy_in;
    to->kernels += share * of_batch->kernels;
    to->copy_out += share * of_batch->copy_out;
}

/* Hands the feeder's segments to the workers.  The segments are matched, unless the GPU failed. */
static void hand_over(struct feeder *f, bool matched)
{
    struct pipeline *p = f->pipeline;
    const struct gpu_batch *b = f->batch;

    for (struct slot *s = f->first, *next; s != NULL; s = next) {
        next = s->next_in_batch;
        s->chunks = matched ? gpu_batch_chunks(b, s->place) : NULL;
        if (matched)
            add_times(&s->job->stats.gpu, &b->times, (double)s->len / (double)b->length);
        ready_put(s);
        crew_call(p);
    }
    if (matched)
        measure_batch(p, b->length);
    wake_all(p, CAN_WORK);
}

/* Fills the feeder's batch, lets the GPU match it, and hands its segments to the workers.  Returns
 * false if the GPU failed. */
static bool feed(struct feeder *f, struct gpu_engine *engine, char error[GPU_ERROR_SIZE])
{
    struct pipeline *p = f->pipeline;
    bool ok;

    fill_batch(f);
    if (f->batch->length == 0) {
        /* The batch has nothing to match. */
        hand_over(f, false);
        return true;
    }
    unlock(p);
    ok = gpu_submit(engine, f->batch, error) && gpu_collect(engine, f->batch, error);
    lock(p);
    if (!ok)
        read_away(f);
    hand_over(f, ok);
    return ok;
}

void *feeder_main(void *argument)
{
    struct feeder *f = argument;
    struct pipeline *p = f->pipeline;
    char error[GPU_ERROR_SIZE] = "";
    bool ok;

    f->batch = gpus_batch(p->gpus, f->gpu, f->number, error);
    /* Without its first batch, the GPU is useless.  Without a further batch, it is only slower. */
    ok = f->batch != NULL || f->number > 0;
    lock(p);
    while (ok && f->batch != NULL && !crew_ends(p)) {
        struct gpu_engine *engine = gpus_engine(p->gpus, f->gpu);

        if (engine == NULL)
            break;
        if (f->pending > 0) {
            await(p, CAN_FREE);
        } else if (feeders_may_fill(p)) {
            feeder_is_busy(f);
            ok = feed(f, engine, error);
            feeder_is_done(f);
            consider_gpus(p);
            feeders_call(p);
        } else {
            feeder_wait(f);
        }
    }
    if (!ok)
        gpus_fail(p->gpus, f->gpu, error);
    feeder_ended(f);
    /* From now on, workers may have to match without GPUs, so wake them. */
    crew_call(p);
    wake_crew(p);
    unlock(p);
    return NULL;
}
