/*
 * read_back.c - reads written segments back from the output file, and verifies them (read_back.h)
 *
 * The functions that return bool set errno if they return false: to 0 if the output is wrong, else
 * to the reason why it could not be read.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"
#include "compat/check.h"
#include "compat/container.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/compress/read_back.h"
#include "pipeline/compress/verify.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"

/* Written segments that no worker verifies yet, the oldest first. */
struct read_backs {
    struct slot *first, **end;
};

bool read_back_init(struct pipeline *p)
{
    p->read_backs = malloc(sizeof(*p->read_backs));
    if (p->read_backs == NULL)
        return false;
    p->read_backs->first = NULL;
    p->read_backs->end = &p->read_backs->first;
    return true;
}

void read_back_free(struct pipeline *p)
{
    free(p->read_backs);
}

/* --- The queue ------------------------------------------------------------------------------ */

/* Notes where the job's next written segment is in its output and its input. */
static void locate(struct slot *s)
{
    struct read_back *r = &s->job->compression->read_back;

    if (s->index == 0)
        r->out = s->job->request->header_len;
    s->out_at = r->out;
    r->out += s->out_len;
    r->in += s->len;
    s->in_end = r->in;
    r->has_last = s->last;
}

void read_back_put(struct job *j)
{
    struct read_backs *all = j->pipeline->read_backs;
    struct slot *s = slot_take_first(j);

    locate(s);
    j->unverified++;
    s->next = NULL;
    *all->end = s;
    all->end = &s->next;
}

/* Returns the link to the first segment that can be verified now.  The link has NULL if there is
 * none. */
static struct slot **find(const struct pipeline *p)
{
    struct slot **link = &p->read_backs->first;

    while (*link != NULL && (*link)->job->compression->read_back.is_busy)
        link = &(*link)->next;
    return link;
}

const struct slot *read_back_first(const struct pipeline *p)
{
    return p->read_backs != NULL ? *find(p) : NULL;
}

/* Takes the segment that read_back_first has found. */
static struct slot *take(struct pipeline *p)
{
    struct slot **link = find(p), *s = *link;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the caller knows that there is one */
    *link = s->next;
    if (s->next == NULL)
        p->read_backs->end = link;
    return s;
}

/* --- Reading and comparing ------------------------------------------------------------------ */

/* Reads `len` bytes of the output, from byte `at` on. */
static bool read_output(const struct job *j, uint8_t *to, size_t len, uint64_t at)
{
    const ssize_t n = io_read_at(j->request->out_fd, to, len, at);

    if (n == (ssize_t)len)
        return true;
    if (n >= 0)
        errno = 0; /* the file is too short */
    return false;
}

/* Compares bytes of the output, from byte `at` on, with those that it must have. */
static bool has_bytes(const struct job *j, const uint8_t *bytes, size_t len, uint64_t at)
{
    uint8_t block[256];

    for (size_t n; len > 0; bytes += n, at += n, len -= n) {
        n = len < sizeof(block) ? len : sizeof(block);
        if (!read_output(j, block, n, at))
            return false;
        errno = 0;
        if (memcmp(block, bytes, n) != 0)
            return false;
    }
    return true;
}

/* Decodes a piece after the window that the piece before it has left, and leaves a window. */
static bool verify_piece(const struct worker_tools *t, const struct slot *s)
{
    struct read_back *r = &s->job->compression->read_back;
    const size_t before = r->window_len, all = before + s->len;

    memcpy(t->in, r->window, before);
    if (!verify_segment(t->decoder, s, s->job->pipeline->config.container, s->last, t->in, before))
        return false;
    r->window_len = all < LZ_CHUNK_SIZE ? all : LZ_CHUNK_SIZE;
    memcpy(r->window, t->in + all - r->window_len, r->window_len);
    return true;
}

/* Reads a segment's output back, and decodes it. */
static bool verify_written(const struct worker_tools *t, const struct slot *s)
{
    const enum container container = s->job->pipeline->config.container;
    bool ok;

    if (!read_output(s->job, s->out, s->out_len, s->out_at))
        return false;
    ok = s->job->compression->read_back.window != NULL
             ? verify_piece(t, s)
             : verify_segment(t->decoder, s, container, s->last || container == CONTAINER_BGZF,
                              t->in, 0);
    errno = 0;
    return ok;
}

/* --- The check value of the whole ----------------------------------------------------------- */

/*
 * Returns a segment's share of the CRC-32 of the whole.
 *
 * The CRC-32 of the whole is the sum (exclusive or) of the segments' CRCs, each multiplied by
 * x^(8 n), where n is the number of bytes after the segment (crc.c).  But segments are verified in
 * any order, and n is not known before the last segment is written.  So this function divides each
 * CRC by x^(8 m), where m is the number of bytes up to the segment's end.  The length of the whole
 * is m + n bytes for every segment.  So verify_around multiplies the sum by x^(8 (m + n)).  As
 * x^(2^32-1) = 1, dividing by x^(8 m) is the same as multiplying by x^(8 (2^32-1 - m)).
 *
 * The writer joins the CRCs in another way.  So a mistake in either shows.
 */
static uint32_t share_of(const struct slot *s)
{
    return gz_check_combine(GZ_CHECK_CRC32, s->sum, 0, UINT32_MAX - s->in_end % UINT32_MAX);
}

/* Whether the format's end has a CRC-32 of the whole. */
static bool has_whole_crc(enum container container)
{
    return container != CONTAINER_BGZF && gz_check_of(container) == GZ_CHECK_CRC32;
}

/* Compares the header, the end and the size of the output, after all segments were verified. */
static bool verify_around(const struct job *j)
{
    const struct pipeline_job *request = j->request;
    const enum container container = j->pipeline->config.container;
    const struct read_back *r = &j->compression->read_back;
    const struct gz_data data = {
        .start = request->header,
        .start_len = request->header_len,
        .check = has_whole_crc(container) ? gz_check_combine(GZ_CHECK_CRC32, r->sum, 0, r->in)
                                          : j->compression->check,
        .len = r->in,
        .packed = r->out - request->header_len,
    };
    /* The end was written, so its memory is free. */
    uint8_t *const end = j->compression->end;
    const size_t end_len = end != NULL ? gz_write_end(container, end, &data) : 0;
    struct stat file;

    if (!has_bytes(j, request->header, request->header_len, 0) ||
        !has_bytes(j, end, end_len, r->out) || fstat(request->out_fd, &file) != 0)
        return false;
    errno = 0;
    return (uint64_t)file.st_size == r->out + end_len;
}

/* --- Segments ------------------------------------------------------------------------------- */

/* Verifies a segment without the lock, which the caller holds.  The job's time grows. */
static bool verify_slot(const struct worker_tools *t, struct slot *s)
{
    struct job *j = s->job;
    struct read_back *r = &j->compression->read_back;
    double seconds = -clock_seconds();
    uint32_t share = 0;
    bool ok;
    int error;

    r->is_busy = r->window != NULL;
    unlock(j->pipeline);
    ok = verify_written(t, s);
    error = errno;
    if (ok)
        share = share_of(s);
    lock(j->pipeline);
    r->sum ^= share;
    r->is_busy = false;
    /* This is the only segment left, so no other thread uses the job's state for reading back. */
    if (ok && !j->failed && r->has_last && j->unverified == 1) {
        unlock(j->pipeline);
        ok = verify_around(j);
        error = errno;
        lock(j->pipeline);
    }
    j->stats.verify += seconds + clock_seconds();
    errno = error;
    return ok;
}

void read_back_do(struct worker *w)
{
    struct pipeline *p = w->pipeline;
    struct slot *s = take(p);
    struct job *j = s->job;

    if (read_back_first(p) != NULL)
        crew_call(p);
    if (!j->failed && !verify_slot(w->tools, s))
        job_fail(j, PIPELINE_NOT_VERIFIED, errno);
    j->unverified--;
    slot_free(s);
    /* The freed slot makes room for one more segment. */
    if (crew_waits(p) && jobs_leave_work(p))
        wake_one(p, CAN_WORK);
    crew_call_claimers(p);
    feeders_call(p);
    job_settle(j);
}

bool read_back_small(struct worker *w, struct slot *s)
{
    struct read_back *r = &s->job->compression->read_back;

    locate(s);
    if (!verify_written(w->tools, s))
        return false;
    r->sum = share_of(s);
    return verify_around(s->job);
}
