/*
 * push.c - input that the caller gives (push.h)
 *
 * The caller's thread copies it to the next free place of j->ahead_in.  A place that is full waits
 * there for one byte more, or the end: only then it is known whether the segment is the last.
 */
#include "config.h"

#include <string.h>

#include "base/hugepages.h"
#include "pipeline/crew.h"
#include "pipeline/jobs.h"
#include "pipeline/push.h"

/* Segments that may wait: as many as keep all at work.  While a GPU is brought up, as many as are
 * read ahead of a pipe then. */
static uint64_t most_waiting(const struct job *j)
{
    struct pipeline *p = j->pipeline;
    uint64_t most = (uint64_t)p->claimers + PUSH_SPARE;

    if (p->feeding && gpu_is_coming(p))
        return j->ahead_most;
    if (p->feeding)
        most += (uint64_t)p->feeders_alive * (p->batch_size / p->segment_size);
    return most < j->ahead_most ? most : j->ahead_most;
}

/* Whether the next place is free. */
static bool has_place(const struct job *j)
{
    return j->ahead_count < most_waiting(j) && !j->ahead[j->any_order % j->ahead_most].is_here;
}

bool job_can_be_pushed(const struct job *j)
{
    if (j->state != JOB_OPEN || j->failed)
        return false;
    return has_place(j) || (j->source.held != NULL && source_has_room(&j->source));
}

static uint8_t *next_place(const struct job *j)
{
    return j->ahead_in + j->any_order % j->ahead_most * j->pipeline->segment_size;
}

/* What is in the next place can be claimed. */
static void publish(struct job *j, size_t before, size_t len, bool last)
{
    struct pipeline *p = j->pipeline;

    j->ahead[j->any_order % j->ahead_most] =
        (struct ahead){.is_here = true, .before = before, .len = len, .last = last};
    j->ahead_count++;
    j->any_order++;
    j->pushed = 0;
    if (last) {
        j->total = j->any_order;
        j->of->has_ended = true;
    }
    job_count_left(j, len, 0);
    crew_call(p);
    jobs_call_feeder(p);
}

/* Copies what fits into the next place; gives up the lock. */
static size_t copy(struct job *j, const uint8_t *bytes, size_t len)
{
    struct pipeline *p = j->pipeline;
    const size_t room = p->segment_size - j->pushed, n = len < room ? len : room;
    uint8_t *const to = next_place(j) + j->pushed;

    if (n == 0)
        return 0;
    unlock(p);
    memcpy(to, bytes, n);
    lock(p);
    j->pushed += n;
    return n;
}

static size_t push_segments(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    const size_t size = j->pipeline->segment_size;
    size_t taken = 0;

    while (!j->failed && has_place(j)) {
        if (j->pushed == size && taken < len) {
            publish(j, 0, size, false);
            continue;
        }
        taken += copy(j, bytes + taken, len - taken);
        if (taken < len)
            continue;
        if (ends && !j->failed)
            publish(j, 0, j->pushed, true);
        break;
    }
    return taken;
}

/* Cuts off the next piece; gives up the lock. */
static void push_piece(struct job *j)
{
    struct pipeline *p = j->pipeline;
    uint8_t *const to = next_place(j);
    size_t before, len;
    bool last;

    unlock(p);
    /* It reads nothing, so that it cannot fail. */
    (void)source_next_piece(&j->source, to, &before, &len, &last);
    lock(p);
    if (!j->failed)
        publish(j, before, len, last);
}

static size_t push_pieces(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    struct pipeline *p = j->pipeline;
    size_t taken = 0;

    while (!j->failed && !j->of->has_ended) {
        size_t n;

        while (!j->failed && !j->of->has_ended && source_has_piece(&j->source) && has_place(j))
            push_piece(j);
        if (j->of->has_ended || !source_has_room(&j->source) || (taken == len && !ends))
            break;
        unlock(p);
        n = source_push(&j->source, bytes + taken, len - taken, ends);
        lock(p);
        taken += n;
        if (n == 0 && !(has_place(j) && source_has_piece(&j->source)))
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
    if (j->ahead_in == NULL)
        j->ahead_in = hugepages_alloc_many(j->ahead_most, p->segment_size);
    if (j->ahead_in == NULL)
        job_fail(j, PIPELINE_NO_MEMORY, 0);
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
