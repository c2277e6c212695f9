/*
 * write.c - writes a job's output, in order (write.h)
 *
 * The writer owns `written` and `check` in struct compression, and in_bytes and out_bytes in the
 * job's stats.  Only the writer changes them, and other threads read them only with the lock held.
 */
#include "config.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/io.h"
#include "compat/check.h"
#include "compat/container.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/compress/read_back.h"
#include "pipeline/compress/verify.h"
#include "pipeline/compress/write.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"

/* Finds the finished segments that come next in the output, WRITE_MOST at most, and returns their
 * number.  Stops before they hold more than half of the bytes that slots may hold, so that other
 * threads can go on meanwhile.  But the first segment is always found, however large it is. */
static unsigned find_finished(const struct job *j, struct slot *found[WRITE_MOST])
{
    uint64_t weight = 0;
    unsigned n = 0;

    for (struct slot *s = j->slots; s != NULL && s->done && n < WRITE_MOST; s = s->next_in_job) {
        weight += s->weight;
        if (n > 0 && weight > slots_most(j->pipeline) / 2)
            break;
        found[n++] = s;
    }
    return n;
}

bool write_parts(struct pipeline_job *request, struct iovec *parts, int count)
{
    return request->put != NULL ? request->put(request, parts, count)
                                : io_write_parts(request->out_fd, parts, count);
}

/* Makes the bytes that follow the job's last segment, after `w` has counted that segment. */
static struct iovec end_of_output(const struct job *j, const struct written *w)
{
    const struct pipeline_job *request = j->request;
    const struct gz_data data = {
        .start = request->header,
        .start_len = request->header_len,
        .check = j->compression->check,
        .len = j->stats.in_bytes + w->in_bytes,
        .packed = j->stats.out_bytes + w->out_bytes - request->header_len,
    };
    uint8_t *end = j->compression->end;

    return (struct iovec){end, gz_write_end(j->pipeline->config.container, end, &data)};
}

/* For each segment that was just written, tells the caller where the next segment starts. */
static void tell_segments(struct job *j, struct slot *const found[], unsigned count)
{
    uint64_t in = j->stats.in_bytes, out = j->stats.out_bytes;

    if (j->compression->written == 0)
        out += j->request->header_len;
    for (unsigned i = 0; i < count; i++) {
        in += found[i]->len;
        out += found[i]->out_len;
        if (!found[i]->last)
            j->request->segment(j->request, in, out);
    }
}

void write_segments(struct job *j, struct slot *const found[], unsigned count, const char *engine,
                    struct written *w)
{
    struct compression *c = j->compression;
    const enum gz_check check = gz_check_of(j->pipeline->config.container);
    struct iovec parts[WRITE_MOST + 2];
    int n = 0;

    *w = (struct written){.seconds = -clock_seconds()};
    if (c->written == 0) {
        parts[n++] = (struct iovec){(void *)j->request->header, j->request->header_len};
        w->out_bytes = j->request->header_len;
    }
    for (unsigned i = 0; i < count; i++) {
        const struct slot *s = found[i];

        c->check = s->index == 0 ? s->check : gz_check_combine(check, c->check, s->check, s->len);
        w->in_bytes += s->len;
        w->out_bytes += s->out_len;
        parts[n++] = (struct iovec){s->out, s->out_len};
    }
    if (c->end != NULL && found[count - 1]->last) {
        parts[n] = end_of_output(j, w);
        w->out_bytes += parts[n++].iov_len;
    }
    w->ok = write_parts(j->request, parts, n);
    w->error = errno;
    w->seconds += clock_seconds();
    if (w->ok && j->request->segment != NULL)
        tell_segments(j, found, count);
    if (w->ok && j->request->wrote != NULL)
        j->request->wrote(j->request, j->stats.in_bytes + w->in_bytes,
                          j->stats.out_bytes + w->out_bytes, engine);
}

void count_written(struct job *j, unsigned count, const struct written *w)
{
    j->stats.write += w->seconds;
    measure_written(j->pipeline, (double)w->in_bytes, w->seconds);
    j->stats.in_bytes += w->in_bytes;
    j->stats.out_bytes += w->out_bytes;
    j->compression->written += count;
}

/* Names the engines that have matched the job's segments. */
static const char *engines(const struct job *j)
{
    return j->stats.gpu_segments == 0 ? "cpu" : j->stats.cpu_segments == 0 ? "gpu" : "cpu+gpu";
}

void write_finished(struct job *j)
{
    struct pipeline *p = j->pipeline;

    if (j->writing)
        return;
    j->writing = true;
    while (!j->failed) {
        struct slot *found[WRITE_MOST];
        const unsigned count = find_finished(j, found);
        const char *engine = engines(j);
        struct written w;

        if (count == 0)
            break;
        unlock(p);
        write_segments(j, found, count, engine, &w);
        lock(p);
        if (!w.ok) {
            j->writing = false;
            job_fail(j, PIPELINE_WRITE_ERROR, w.error);
            return;
        }
        count_written(j, count, &w);
        if (j->request->is_pushed)
            wake_caller(j->request);
        for (unsigned i = 0; i < count; i++) {
            if (verify_is_in_file(j)) {
                read_back_put(j);
                continue;
            }
            slot_free_first(j);
            /* The freed slot makes room for one more segment. */
            if (crew_waits(p) && jobs_leave_work(p))
                wake_one(p, CAN_WORK);
        }
        crew_call_claimers(p);
        feeders_call(p);
    }
    j->writing = false;
    if (j->failed)
        job_fail(j, j->request->status, j->request->error_number);
}
