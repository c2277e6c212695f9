/*
 * compress.c - compression of memory, files and ranges (include/gzlzss.h)
 *
 * Each call is a job of the object's pipeline.  The calling thread waits for the job, or does a
 * small input by itself (pipeline/compress/small.h).
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compat/check.h"
#include "compat/container.h"
#include "compat/crc.h"
#include "compat/gzip.h"
#include "huffman/huffman.h"
#include "lib/compress.h"
#include "lib/object.h"

gzlzss_status compress_judge(const struct operation *o, const struct pipeline_job *job)
{
    switch (job->status) {
    case PIPELINE_OK:
        return GZLZSS_OK;
    case PIPELINE_READ_ERROR:
        return operation_error(o, GZLZSS_ERROR_READ,
                               job->error_number == PIPELINE_SHORTER ? ENODATA : job->error_number);
    case PIPELINE_WRITE_ERROR:
        return operation_error(o, GZLZSS_ERROR_WRITE, job->error_number);
    case PIPELINE_NO_MEMORY:
        return GZLZSS_ERROR_MEMORY;
    case PIPELINE_CANCELLED:
        return GZLZSS_ERROR_CANCELLED;
    case PIPELINE_WRONG:
    case PIPELINE_NOT_VERIFIED:
        break;
    }
    return GZLZSS_ERROR_INTERNAL;
}

/* --- Headers and trailers ------------------------------------------------------------------- */

/* Returns the most bytes of the call's header. */
static size_t header_room(const gzlzss *z, const gzlzss_call *call)
{
    return gz_start_room(z->container, call != NULL ? call->name : NULL);
}

/* Writes the call's header to `out`, and returns its size in bytes. */
static size_t write_header(const gzlzss *z, const gzlzss_call *call, uint8_t *out)
{
    return gz_write_start(z->container, out, call != NULL ? call->name : NULL,
                          call != NULL ? call->mtime : 0, call_level(z, call));
}

uint8_t *compress_header(const gzlzss *z, const gzlzss_call *call, uint8_t small[SMALL_HEADER],
                         size_t *len)
{
    const size_t room = header_room(z, call);
    uint8_t *header = room <= SMALL_HEADER ? small : malloc(room);

    if (header != NULL)
        *len = write_header(z, call, header);
    return header;
}

gzlzss_status gzlzss_header(const gzlzss *z, void *out, size_t *out_len, const gzlzss_call *call)
{
    const struct lz_level *level;
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if (z == NULL || out == NULL || !call_is_valid(call) || !call_takes_level(z, call, &level) ||
        z->container == CONTAINER_ZIP)
        return GZLZSS_ERROR_ARGUMENT;
    if (room < header_room(z, call))
        return GZLZSS_ERROR_ROOM;
    *out_len = write_header(z, call, out);
    return GZLZSS_OK;
}

void gzlzss_trailer(void *out, uint32_t crc, uint64_t in_len)
{
    if (out != NULL)
        gz_write_trailer(out, crc, in_len);
}

gzlzss_status gzlzss_end(const gzlzss *z, void *out, size_t *out_len, uint32_t check,
                         uint64_t in_len)
{
    const struct gz_data data = {.check = check, .len = in_len};
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if (z == NULL || out == NULL || z->container == CONTAINER_ZIP)
        return GZLZSS_ERROR_ARGUMENT;
    if (room < gz_end_room(z->container, 0))
        return GZLZSS_ERROR_ROOM;
    *out_len = gz_write_end(z->container, out, &data);
    return GZLZSS_OK;
}

uint32_t gzlzss_check_combine(const gzlzss *z, uint32_t first, uint32_t second, uint64_t second_len)
{
    return z == NULL ? 0 : gz_check_combine(gz_check_of(z->container), first, second, second_len);
}

uint32_t gzlzss_crc32(uint32_t crc, const void *in, size_t in_len)
{
    return in == NULL ? crc : gz_crc32(crc, in, in_len);
}

uint32_t gzlzss_crc32_combine(uint32_t first, uint32_t second, uint64_t second_len)
{
    return gz_crc32_combine(first, second, second_len);
}

/* --- Memory --------------------------------------------------------------------------------- */

_Static_assert(PIPELINE_PIECE_MIN >= HUFF_SPLIT_MIN, "bytes of a piece");

size_t gzlzss_bound(const gzlzss *z, size_t in_len)
{
    size_t least, ends;

    /* No buffer can be larger than SIZE_MAX / 2. */
    if (z == NULL || in_len > SIZE_MAX / 2)
        return SIZE_MAX;
    /* At most, the end of each segment adds as many bytes as an empty segment takes.  With
     * --rsyncable, pieces take the place of segments, and have HUFF_SPLIT_MIN bytes or more. */
    least = z->is_rsyncable ? HUFF_SPLIT_MIN : z->segment_size;
    ends = in_len / least * huff_bound(0) + gz_start_room(z->container, NULL) +
           gz_end_room(z->container, gz_start_room(z->container, NULL));
    if (z->container == CONTAINER_BGZF)
        ends += (in_len / least + 1) * BGZF_AROUND;
    return huff_bound(in_len) + ends;
}

/* gzlzss_compress_new first asks for in_len / NEW_RATIO + NEW_LEAST bytes.  With a larger
 * NEW_RATIO, more outputs outgrow this memory, and growing it may copy the bytes.  With a smaller
 * NEW_RATIO, more memory is given back at the end. */
#define NEW_RATIO 3
#define NEW_LEAST 256

/* Whether the call's memory has room for `len` more bytes.  If not, remembers that it is full, and
 * sets errno. */
static bool has_room(struct compress_call *c, size_t len)
{
    if (len <= c->room - c->len)
        return true;
    c->is_full = true;
    errno = ENOBUFS;
    return false;
}

/* Appends a part of a job's output to the call's memory, which is a GPU's. */
static bool put_on_gpu(struct compress_call *c, const struct iovec *parts, int count)
{
    size_t len = 0;

    for (int i = 0; i < count; i++)
        len += parts[i].iov_len;
    if (!has_room(c, len) ||
        !pipeline_put(c->operation.z->pipeline, c->device, c->out + c->len, parts, count))
        return false;
    c->len += len;
    return true;
}

/* Appends a part of a job's output to the call's memory. */
static bool put_parts(struct pipeline_job *job, struct iovec *parts, int count)
{
    struct compress_call *c = job->ctx;

    if (c->is_on_gpu)
        return put_on_gpu(c, parts, count);
    for (int i = 0; i < count; i++) {
        const size_t len = parts[i].iov_len;

        if (c->grow != NULL) {
            if (!grow_put(c->grow, parts[i].iov_base, len))
                return false;
            continue;
        }
        if (!has_room(c, len))
            return false;
        if (len > 0)
            memcpy(c->out + c->len, parts[i].iov_base, len);
        c->len += len;
    }
    return true;
}

void compress_tell(struct operation *o, uint64_t in, uint64_t out)
{
    if (!operation_tell(o, in, out) && o->job != NULL)
        pipeline_cancel_job(o->z->pipeline, o->job);
}

/* The job's `wrote`, which the pipeline calls after it has written a part of the output. */
static void wrote(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    struct compress_call *c = job->ctx;

    (void)engine;
    compress_tell(&c->operation, in, out);
}

void compress_call_init(struct compress_call *c)
{
    *c = (struct compress_call){.job = {.in_fd = -1, .out_fd = -1, .wrote = wrote}};
    c->job.ctx = c;
    c->operation.job = &c->job;
}

void compress_call_from(struct compress_call *c, const void *in, size_t in_len)
{
    /* job.in must not be NULL, because NULL would mean that the job's input is not memory. */
    c->job.in = in_len > 0 ? in : "";
    c->job.in_len = in_len;
    c->job.size = in_len;
}

void compress_call_to(struct compress_call *c, void *out, size_t room)
{
    c->out = out;
    c->room = room;
    c->job.put = put_parts;
}

/* Does the job.  This thread alone does it if that is faster; otherwise the object's threads do
 * it. */
static void do_job(struct compress_call *c)
{
    struct pipeline *p = c->operation.z->pipeline;
    struct pipeline_job *job = &c->job;

    /* If the output is in a GPU's memory, the object's threads do the job, because this thread
     * makes no calls to CUDA. */
    if (c->is_on_gpu || !pipeline_is_for_here(p, job) || !pipeline_compress_here(p, job)) {
        job->status = pipeline_run(p, job);
        return;
    }
    if (job->status == PIPELINE_OK &&
        !operation_tell(&c->operation, job->stats.in_bytes, job->stats.out_bytes))
        job->status = PIPELINE_CANCELLED;
}

gzlzss_status compress_call_run(struct compress_call *c)
{
    struct operation *o = &c->operation;
    uint8_t small[SMALL_HEADER], *header = NULL;
    gzlzss_status status;

    if (!call_takes_level(o->z, o->call, &c->job.level))
        return GZLZSS_ERROR_ARGUMENT;
    if (c->job.extent == PIPELINE_WHOLE) {
        header = compress_header(o->z, o->call, small, &c->job.header_len);
        if (header == NULL)
            return GZLZSS_ERROR_MEMORY;
        c->job.header = header;
    }
    do_job(c);
    if (c->job.status != PIPELINE_WRITE_ERROR)
        status = compress_judge(o, &c->job);
    else if (c->grow != NULL)
        status = GZLZSS_ERROR_MEMORY;
    else
        status = c->is_full ? GZLZSS_ERROR_ROOM : compress_judge(o, &c->job);
    if (header != small)
        free(header);
    return status;
}

gzlzss_status gzlzss_compress_new(gzlzss *z, void **out, size_t *out_len,
                                  void *(*resize)(void *ctx, void *memory, size_t size), void *ctx,
                                  const void *in, size_t in_len, gzlzss_call *call)
{
    struct grow g = {.resize = resize, .ctx = ctx};
    struct compress_call c;
    gzlzss_status status;

    if (out == NULL || out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *out = NULL;
    *out_len = 0;
    if (in == NULL && in_len > 0)
        return GZLZSS_ERROR_ARGUMENT;
    compress_call_init(&c);
    compress_call_from(&c, in, in_len);
    c.grow = &g;
    c.job.put = put_parts;
    status = operation_begin(&c.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    g.first = in_len / NEW_RATIO + NEW_LEAST;
    status = compress_call_run(&c);
    operation_end(&c.operation);
    if (status == GZLZSS_OK) {
        grow_fit(&g);
        *out_len = g.len;
    }
    *out = g.bytes;
    return status;
}

/* Compresses memory to a member, or to a range of a member.  *out_len becomes the number of bytes
 * in `out`. */
static gzlzss_status compress_memory(gzlzss *z, void *out, size_t room, size_t *out_len,
                                     const void *in, size_t in_len, enum pipeline_extent extent,
                                     uint32_t *check, gzlzss_call *call)
{
    struct compress_call c;
    gzlzss_status status;

    compress_call_init(&c);
    compress_call_from(&c, in, in_len);
    compress_call_to(&c, out, room);
    c.job.extent = extent;
    status = operation_begin(&c.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    status = compress_call_run(&c);
    operation_end(&c.operation);
    if (status != GZLZSS_OK)
        return status;
    *out_len = c.len;
    if (check != NULL)
        *check = c.job.check;
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
    return compress_memory(z, out, room, out_len, in, in_len, PIPELINE_WHOLE, NULL, call);
}

gzlzss_status gzlzss_compress_range(gzlzss *z, void *out, size_t *out_len, const void *in,
                                    size_t in_len, int is_last, uint32_t *check, gzlzss_call *call)
{
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if (z == NULL || (out == NULL && room > 0) || (in == NULL && in_len > 0) || check == NULL ||
        z->is_rsyncable || z->container == CONTAINER_ZIP ||
        (!is_last && (in_len == 0 || in_len % z->segment_size != 0)))
        return GZLZSS_ERROR_ARGUMENT;
    return compress_memory(z, out, room, out_len, in, in_len,
                           is_last ? PIPELINE_TAIL : PIPELINE_RANGE, check, call);
}

/* --- Files ---------------------------------------------------------------------------------- */

gzlzss_status compress_file(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call)
{
    struct compress_call c;
    gzlzss_status status;

    compress_call_init(&c);
    c.job.in_fd = in_fd;
    c.job.out_fd = out_fd;
    status = operation_begin(&c.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    status = compress_call_run(&c);
    operation_end(&c.operation);
    return status;
}
