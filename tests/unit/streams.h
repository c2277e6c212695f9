/*
 * streams.h - decompression with input and output in memory
 */
#ifndef GZLZSS_STREAMS_H
#define GZLZSS_STREAMS_H

#include "compat/gunzip.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

struct bytes {
    uint8_t *data;
    size_t len, room;
};

static inline void add(struct bytes *b, const void *data, size_t len)
{
    if (b->room - b->len < len) {
        b->room = 2 * b->room + len;
        b->data = realloc(b->data, b->room);
        if (b->data == NULL)
            abort();
    }
    if (len != 0)
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

static inline void drop(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}

static inline bool same(const struct bytes *a, const struct bytes *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* One decompression: how its input is read, and the result. */
struct job {
    const uint8_t *in;
    size_t in_len, in_pos;
    size_t read_max;   /* the most bytes that a read returns; 0: no limit */
    size_t max_from;   /* the position from which read_max applies */
    uint64_t *random;  /* if not NULL, reads return fewer bytes at random */
    size_t read_fail;  /* 1 + the position at which reading fails with EIO, or 0 */
    size_t write_fail; /* 1 + the output length at which writing fails with ENOSPC, or 0 */
    int after_end;     /* how many reads came after the end or an error */
    int extras;        /* how many extra fields were reported */
    unsigned extra;    /* the size of the last extra field */
    bool ended;
    struct bytes out;
    struct gz_info info;
    int error; /* errno after the decompression */
};

static inline ssize_t job_read(void *ctx, void *buf, size_t len)
{
    struct job *job = ctx;
    size_t n = job->in_len - job->in_pos;

    job->after_end += job->ended;
    if (job->read_fail != 0 && n > job->read_fail - 1 - job->in_pos)
        n = job->read_fail - 1 - job->in_pos;
    if (job->read_fail != 0 && n == 0) {
        job->ended = true;
        errno = EIO;
        return -1;
    }
    n = n < len ? n : len;
    if (job->in_pos < job->max_from)
        n = n < job->max_from - job->in_pos ? n : job->max_from - job->in_pos;
    else if (job->read_max != 0 && n > job->read_max)
        n = job->read_max;
    if (job->random != NULL && n > 1)
        n = 1 + unit_below(job->random, n);
    if (n == 0) {
        job->ended = true;
        return 0;
    }
    memcpy(buf, job->in + job->in_pos, n);
    job->in_pos += n;
    return (ssize_t)n;
}

static inline int job_write(void *ctx, const void *buf, size_t len)
{
    struct job *job = ctx;
    if (job->write_fail != 0 && job->out.len + len > job->write_fail - 1) {
        errno = ENOSPC;
        return -1;
    }
    add(&job->out, buf, len);
    return 0;
}

static inline void job_extra(void *ctx, unsigned bytes)
{
    struct job *job = ctx;
    job->extras++;
    job->extra = bytes;
}

/* Decompresses in[0..in_len).  The caller frees the output with drop(&job->out). */
static inline enum gz_status run(struct job *job, const void *in, size_t in_len)
{
    const struct gz_io io = {.read = job_read, .write = job_write, .ctx = job, .extra = job_extra};
    job->in = in;
    job->in_len = in_len;
    job->in_pos = 0;
    errno = 0;
    enum gz_status status = gz_decompress(&io, &job->info);
    job->error = errno;
    CHECK_EQ(job->info.out_bytes, job->out.len);
    CHECK(job->info.in_bytes <= in_len);
    CHECK_EQ(job->after_end, 0);
    return status;
}

#endif
