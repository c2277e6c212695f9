/*
 * push.c - makes segments from input that the caller gives (push.h)
 *
 * The caller's thread copies its input to the segment that is being filled (ahead.h).  A full
 * segment waits there for one more byte, or for the end: only then is it known whether it is the
 * last.
 */
#include "config.h"

#include <string.h>

#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/compress/push.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/workers.h"

/* The number of segments that may wait: enough to keep all workers and GPUs busy; while a GPU is
 * brought up, as many as there are places. */
static uint64_t most_waiting(const struct job *j)
{
    const struct pipeline *p = j->pipeline;
    const uint64_t places = ahead_most(&j->compression->ahead);
    uint64_t most = (uint64_t)crew_claimers(p) + PUSH_SPARE;

    if (feeding_gpu_comes(p))
        return places;
    most += (uint64_t)feeders_at_work(p) * (p->batch_size / p->segment_size);
    return most < places ? most : places;
}

/* Whether one more segment may be filled. */
static bool has_place(const struct job *j)
{
    return ahead_count(&j->compression->ahead) < most_waiting(j);
}

bool job_can_be_pushed(const struct job *j)
{
    if (j->state != JOB_OPEN || j->failed)
        return false;
    return has_place(j) ||
           (j->compression->source.held != NULL && source_has_room(&j->compression->source));
}

/* Publishes the segment that was being filled: from now on, it can be claimed. */
static void publish(struct job *j, size_t before, size_t len, bool last)
{
    struct pipeline *p = j->pipeline;

    ahead_publish(&j->compression->ahead, before, len, last);
    j->any_order++;
    if (last) {
        j->total = j->any_order;
        j->request->has_ended = true;
    }
    job_count_left(j, len, 0);
    crew_call(p);
    feeders_call(p);
}

/* Gives the segment that is being filled memory for `want` bytes in all.  If memory is short, the
 * job fails. */
static bool make_room(struct job *j, size_t want)
{
    if (!ahead_make_room(&j->compression->ahead, want))
        job_fail(j, PIPELINE_NO_MEMORY, 0);
    return !j->failed;
}

/* Copies bytes to the segment that is being filled, which has room for them.  Releases the lock
 * meanwhile. */
static void copy(struct job *j, const uint8_t *bytes, size_t len)
{
    struct pipeline *p = j->pipeline;
    struct ahead_list *ahead = &j->compression->ahead;
    uint8_t *const to = ahead_end(ahead);

    if (len == 0)
        return;
    unlock(p);
    memcpy(to, bytes, len);
    lock(p);
    ahead_fill(ahead, len);
}

static size_t push_segments(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    const size_t size = j->pipeline->segment_size;
    size_t taken = 0;

    while (!j->failed && has_place(j) && (taken < len || ends)) {
        const size_t filled = ahead_filled(&j->compression->ahead);
        const size_t n = len - taken < size - filled ? len - taken : size - filled;

        if (filled == size && taken < len) {
            publish(j, 0, size, false);
            continue;
        }
        if (!make_room(j, filled + n))
            break;
        copy(j, bytes + taken, n);
        taken += n;
        if (taken < len)
            continue;
        if (ends && !j->failed)
            publish(j, 0, ahead_filled(&j->compression->ahead), true);
        break;
    }
    return taken;
}

/* Cuts the next piece off the source's bytes.  Releases the lock meanwhile. */
static void push_piece(struct job *j)
{
    struct pipeline *p = j->pipeline;
    size_t before, len;
    bool last;

    if (!make_room(j, p->segment_size))
        return;
    unlock(p);
    /* This reads nothing, so it cannot fail. */
    (void)source_next_piece(&j->compression->source, ahead_end(&j->compression->ahead), &before,
                            &len, &last);
    lock(p);
    if (!j->failed)
        publish(j, before, len, last);
}

static size_t push_pieces(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    struct pipeline *p = j->pipeline;
    struct source *source = &j->compression->source;
    size_t taken = 0;

    while (!j->failed && !j->request->has_ended) {
        size_t n = 0;
        bool ok;

        while (!j->failed && !j->request->has_ended && source_has_piece(source) && has_place(j))
            push_piece(j);
        if (j->request->has_ended || !source_has_room(source) || (taken == len && !ends))
            break;
        unlock(p);
        ok = source_push(source, bytes + taken, len - taken, ends, &n);
        lock(p);
        if (!ok)
            job_fail(j, PIPELINE_NO_MEMORY, 0);
        taken += n;
        if (n == 0 && !(has_place(j) && source_has_piece(source)))
            break;
    }
    return taken;
}

size_t job_push(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    struct pipeline *p = j->pipeline;
    size_t taken = 0;

    if (j->state != JOB_OPEN)
        return 0;
    j->pushing = true;
    if (!j->failed && p->config.rsyncable)
        taken = push_pieces(j, bytes, len, ends);
    else if (!j->failed)
        taken = push_segments(j, bytes, len, ends);
    j->pushing = false;
    if (j->failed)
        job_settle(j);
    return taken;
}
