/*
 * compress.c - compression of memory, files and ranges (include/gzlzss.h)
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "huffman/huffman.h"
#include "lib/compress.h"
#include "lib/object.h"

/* A call's output in memory. */
struct memory {
    struct operation *operation;
    uint8_t *out;
    size_t room, len;
    bool is_full;
};

gzlzss_status compress_judge(const struct operation *o, const struct pipeline_job *job)
{
    switch (job->status) {
    case PIPELINE_OK:
        return GZLZSS_OK;
    case PIPELINE_READ_ERROR:
        return operation_error(o, GZLZSS_ERROR_READ, job->error_number);
    case PIPELINE_WRITE_ERROR:
        return operation_error(o, GZLZSS_ERROR_WRITE, job->error_number);
    case PIPELINE_NO_MEMORY:
        return GZLZSS_ERROR_MEMORY;
    case PIPELINE_CANCELLED:
        return GZLZSS_ERROR_CANCELLED;
    case PIPELINE_WRONG:
        break;
    }
    return GZLZSS_ERROR_INTERNAL;
}

/* --- Headers and trailers ------------------------------------------------------------------- */

static size_t header_room(const gzlzss_call *call)
{
    return GZ_HEADER_SIZE + (call != NULL && call->name != NULL ? strlen(call->name) + 1 : 0);
}

uint8_t *compress_header(const gzlzss *z, const gzlzss_call *call, uint8_t small[GZ_HEADER_SIZE],
                         size_t *len)
{
    uint8_t *header = small;

    if (call != NULL && call->name != NULL)
        header = malloc(header_room(call));
    if (header != NULL)
        *len = gz_write_header(header, call != NULL ? call->name : NULL,
                               call != NULL ? call->mtime : 0, z->level);
    return header;
}

gzlzss_status gzlzss_header(const gzlzss *z, void *out, size_t *out_len, const gzlzss_call *call)
{
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if (z == NULL || out == NULL || !call_is_valid(call))
        return GZLZSS_ERROR_ARGUMENT;
    if (room < header_room(call))
        return GZLZSS_ERROR_ROOM;
    *out_len = gz_write_header(out, call != NULL ? call->name : NULL,
                               call != NULL ? call->mtime : 0, z->level);
    return GZLZSS_OK;
}

void gzlzss_trailer(void *out, uint32_t crc, uint64_t in_len)
{
    gz_write_trailer(out, crc, in_len);
}

uint32_t gzlzss_crc32_combine(uint32_t first, uint32_t second, uint64_t second_len)
{
    return gz_crc32_combine(first, second, second_len);
}

/* --- Memory --------------------------------------------------------------------------------- */

size_t gzlzss_bound(const gzlzss *z, size_t in_len)
{
    /* Every segment may end with as much as an empty one takes.  Pieces of --rsyncable have
     * HUFF_SPLIT_MIN bytes or more. */
    const size_t least = z->is_rsyncable ? HUFF_SPLIT_MIN : z->segment_size;
    const size_t ends = in_len / least * huff_bound(0) + GZ_HEADER_SIZE + GZ_TRAILER_SIZE;

    /* No buffer is so large. */
    if (in_len > SIZE_MAX / 2)
        return SIZE_MAX;
    return huff_bound(in_len) + ends;
}

/* Puts a job's output into memory. */
static bool put(struct pipeline_job *job, struct iovec *parts, int count)
{
    struct memory *m = job->ctx;

    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len > m->room - m->len) {
            m->is_full = true;
            errno = ENOBUFS;
            return false;
        }
        if (parts[i].iov_len > 0)
            memcpy(m->out + m->len, parts[i].iov_base, parts[i].iov_len);
        m->len += parts[i].iov_len;
    }
    return true;
}

void compress_tell(struct operation *o, uint64_t in, uint64_t out)
{
    if (!operation_tell(o, in, out) && o->job != NULL)
        pipeline_cancel_job(o->z->pipeline, o->job);
}

static void memory_wrote(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    const struct memory *m = job->ctx;

    (void)engine;
    compress_tell(m->operation, in, out);
}

/* Does the job, by this thread alone if that is faster. */
static void do_job(struct operation *o, struct pipeline_job *job)
{
    struct pipeline *p = o->z->pipeline;

    if (!pipeline_is_for_here(p, job) || !pipeline_compress_here(p, job)) {
        job->status = pipeline_run(p, job);
        return;
    }
    if (job->status == PIPELINE_OK && !operation_tell(o, job->stats.in_bytes, job->stats.out_bytes))
        job->status = PIPELINE_CANCELLED;
}

/* Compresses memory: a member, or a range of it.  *out_len becomes what there is in out. */
static gzlzss_status compress_memory(gzlzss *z, void *out, size_t room, size_t *out_len,
                                     const void *in, size_t in_len, enum pipeline_extent extent,
                                     uint32_t *crc, gzlzss_call *call)
{
    struct operation operation = {0};
    struct memory memory = {&operation, out, room, 0, false};
    uint8_t small[GZ_HEADER_SIZE], *header = NULL;
    struct pipeline_job job = {
        .size = in_len,
        /* What is not NULL is memory. */
        .in = in_len > 0 ? in : "",
        .in_len = in_len,
        .in_fd = -1,
        .out_fd = -1,
        .put = put,
        .wrote = memory_wrote,
        .ctx = &memory,
        .extent = extent,
    };
    gzlzss_status status;

    operation.job = &job;
    status = operation_begin(&operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    if (extent == PIPELINE_MEMBER) {
        header = compress_header(z, call, small, &job.header_len);
        job.header = header;
    }
    if (extent == PIPELINE_MEMBER && header == NULL) {
        status = GZLZSS_ERROR_MEMORY;
    } else {
        do_job(&operation, &job);
        status = memory.is_full && job.status == PIPELINE_WRITE_ERROR
                     ? GZLZSS_ERROR_ROOM
                     : compress_judge(&operation, &job);
    }
    operation_end(&operation);
    if (header != small)
        free(header);
    if (status != GZLZSS_OK)
        return status;
    *out_len = memory.len;
    if (crc != NULL)
        *crc = job.crc;
    return GZLZSS_OK;
}

gzlzss_status gzlzss_compress(gzlzss *z, void *out, size_t *out_len, const void *in, size_t in_len,
                              gzlzss_call *call)
{
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if ((out == NULL && room > 0) || (in == NULL && in_len > 0))
        return GZLZSS_ERROR_ARGUMENT;
    return compress_memory(z, out, room, out_len, in, in_len, PIPELINE_MEMBER, NULL, call);
}

gzlzss_status gzlzss_compress_range(gzlzss *z, void *out, size_t *out_len, const void *in,
                                    size_t in_len, int is_last, uint32_t *crc, gzlzss_call *call)
{
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if (z == NULL || (out == NULL && room > 0) || (in == NULL && in_len > 0) || crc == NULL ||
        z->is_rsyncable || (!is_last && (in_len == 0 || in_len % z->segment_size != 0)))
        return GZLZSS_ERROR_ARGUMENT;
    return compress_memory(z, out, room, out_len, in, in_len,
                           is_last ? PIPELINE_TAIL : PIPELINE_RANGE, crc, call);
}

/* --- Files ---------------------------------------------------------------------------------- */

static void file_wrote(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    (void)engine;
    compress_tell(job->ctx, in, out);
}

gzlzss_status compress_file(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call)
{
    struct operation operation = {0};
    uint8_t small[GZ_HEADER_SIZE], *header;
    struct pipeline_job job = {
        .in_fd = in_fd, .out_fd = out_fd, .wrote = file_wrote, .ctx = &operation};
    gzlzss_status status;

    operation.job = &job;
    status = operation_begin(&operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    header = compress_header(z, call, small, &job.header_len);
    job.header = header;
    if (header == NULL) {
        status = GZLZSS_ERROR_MEMORY;
    } else {
        job.status = pipeline_run(z->pipeline, &job);
        status = compress_judge(&operation, &job);
    }
    operation_end(&operation);
    if (header != small)
        free(header);
    return status;
}
