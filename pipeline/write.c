/*
 * write.c - a job's output, written in order (write.h)
 *
 * The number of the segment that is next, the CRC and the sums of bytes are the writer's: nobody
 * else changes them, and nobody else reads them without the lock.
 */
#include "config.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/io.h"
#include "compat/crc.h"
#include "compat/gzip.h"
#include "pipeline/jobs.h"
#include "pipeline/write.h"

/* Finds the finished segments that are next in the output: WRITE_MOST at most, and no more bytes
 * than half of what slots may hold, so that others can go on while they are written.  Returns how
 * many. */
static unsigned find_finished(const struct job *j, struct slot *found[WRITE_MOST])
{
    uint64_t weight = 0;
    unsigned n = 0;

    for (struct slot *s = j->slots; s != NULL && s->done && n < WRITE_MOST; s = s->next_in_job) {
        weight += s->weight;
        if (n > 0 && weight > j->pipeline->held_max / 2)
            break;
        found[n++] = s;
    }
    return n;
}

bool write_parts(struct pipeline_job *of, struct iovec *parts, int count)
{
    return of->put != NULL ? of->put(of, parts, count) : io_write_parts(of->out_fd, parts, count);
}

void write_segments(struct job *j, struct slot *const found[], unsigned count, const char *engine,
                    struct written *w)
{
    uint8_t trailer[GZ_TRAILER_SIZE];
    struct iovec parts[WRITE_MOST + 2];
    int n = 0;

    *w = (struct written){.seconds = -clock_seconds()};
    if (j->written == 0)
        parts[n++] = (struct iovec){(void *)j->of->header, j->of->header_len};
    for (unsigned i = 0; i < count; i++) {
        const struct slot *s = found[i];

        j->crc = s->index == 0 ? s->crc : gz_crc32_combine(j->crc, s->crc, s->len);
        w->in_bytes += s->len;
        parts[n++] = (struct iovec){s->out, s->out_len};
        if (s->last && j->of->extent == PIPELINE_MEMBER) {
            gz_write_trailer(trailer, j->crc, j->stats.in_bytes + w->in_bytes);
            parts[n++] = (struct iovec){trailer, sizeof(trailer)};
        }
    }
    for (int i = 0; i < n; i++)
        w->out_bytes += parts[i].iov_len;
    w->ok = write_parts(j->of, parts, n);
    w->error = errno;
    w->seconds += clock_seconds();
    if (w->ok && j->of->wrote != NULL)
        j->of->wrote(j->of, j->stats.in_bytes + w->in_bytes, j->stats.out_bytes + w->out_bytes,
                     engine);
}

void count_written(struct job *j, unsigned count, const struct written *w)
{
    struct pipeline *p = j->pipeline;

    j->stats.write += w->seconds;
    p->write.seconds += w->seconds;
    p->write.bytes += (double)w->in_bytes;
    j->stats.in_bytes += w->in_bytes;
    j->stats.out_bytes += w->out_bytes;
    j->written += count;
}

/* What has been working. */
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
        if (j->of->is_pushed)
            wake_caller(j->of);
        for (unsigned i = 0; i < count; i++) {
            slot_free_first(j);
            /* There is room for one more segment. */
            if (p->waiting > 0 &&
                (p->left_segments + p->waiting_jobs > 0 || jobs_to_claim(p) != NULL))
                pthread_cond_signal(&p->can_work);
        }
        if (p->waiting > 0 && p->threads > p->claimers)
            pthread_cond_broadcast(&p->can_work);
        jobs_call_feeder(p);
    }
    j->writing = false;
    if (j->failed)
        job_fail(j, j->of->status, j->of->error_number);
}
