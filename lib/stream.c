/*
 * stream.c - streams (include/gzlzss.h)
 *
 * Compression is a job whose input is pushed (pipeline/push.h).  Its output waits in a list until it
 * is taken.
 *
 * Decompression asks for its input, so it has a thread of its own, which works while the caller
 * waits in gzlzss_stream_run, and the object's threads help it (pipeline/expand.h).  They read from
 * the caller's input and write to the caller's output, and the caller goes on when the one is empty,
 * or the other full, and one of them wants more of it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "compat/gunzip.h"
#include "lib/compress.h"
#include "lib/decompress.h"

/* With so many bytes of output waiting, no more input is taken. */
#define WAITING_MAX ((size_t)8 << 20)

/* Output that waits to be taken: bytes[at..len). */
struct waiting {
    struct waiting *next;
    size_t at, len;
    uint8_t bytes[];
};

struct gzlzss_stream {
    struct operation operation;
    bool is_decompression;
    gzlzss_status error; /* the first; GZLZSS_OK if there was none */
    pthread_mutex_t lock;

    /* Compression: */
    struct pipeline_job job;
    uint8_t small[GZ_HEADER_SIZE], *header;
    struct waiting *first, *last; /* under the lock, */
    size_t waiting;               /* so many bytes */

    /* Decompression, under the lock: */
    pthread_t thread;
    struct expansion *expansion;          /* the thread's, or NULL */
    pthread_cond_t can_go, caller_can_go; /* those who read and write, and the caller */
    const uint8_t *in;                    /* the caller's, */
    size_t in_left;                       /* so many bytes of it */
    bool in_ends;
    uint8_t *out; /* likewise, and room */
    size_t room;
    bool wants_input, wants_room; /* somebody waits for it */
    bool reads_no_more;           /* nobody is to wait for input */
    bool is_over;
    uint64_t in_bytes, out_bytes;
};

/* --- Compression ---------------------------------------------------------------------------- */

/* Puts a job's output into the list. */
static bool put(struct pipeline_job *job, struct iovec *parts, int count)
{
    struct gzlzss_stream *s = job->ctx;
    struct waiting *w;
    size_t len = 0;

    for (int i = 0; i < count; i++)
        len += parts[i].iov_len;
    w = malloc(sizeof(*w) + len);
    if (w == NULL) {
        errno = ENOMEM;
        return false;
    }
    w->next = NULL;
    w->at = 0;
    w->len = 0;
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len > 0)
            memcpy(w->bytes + w->len, parts[i].iov_base, parts[i].iov_len);
        w->len += parts[i].iov_len;
    }
    pthread_mutex_lock(&s->lock);
    if (s->first == NULL)
        s->first = w;
    else
        s->last->next = w;
    s->last = w;
    s->waiting += w->len;
    pthread_mutex_unlock(&s->lock);
    return true;
}

static void wrote(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    struct gzlzss_stream *s = job->ctx;

    (void)engine;
    compress_tell(&s->operation, in, out);
}

static size_t bytes_waiting(struct gzlzss_stream *s)
{
    size_t waiting;

    pthread_mutex_lock(&s->lock);
    waiting = s->waiting;
    pthread_mutex_unlock(&s->lock);
    return waiting;
}

static bool has_output(void *ctx)
{
    return bytes_waiting(ctx) > 0;
}

/* Moves output to the caller, as much as there is and there is room for. */
static void take(struct gzlzss_stream *s, gzlzss_out *out)
{
    pthread_mutex_lock(&s->lock);
    while (s->first != NULL && out->used < out->size) {
        struct waiting *w = s->first;
        const size_t room = out->size - out->used, left = w->len - w->at;
        const size_t n = left < room ? left : room;

        memcpy((uint8_t *)out->bytes + out->used, w->bytes + w->at, n);
        out->used += n;
        w->at += n;
        s->waiting -= n;
        if (w->at == w->len) {
            s->first = w->next;
            free(w);
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* What became of the job, which is over. */
static gzlzss_status judge(const struct gzlzss_stream *s)
{
    if (s->job.status == PIPELINE_WRITE_ERROR)
        return GZLZSS_ERROR_MEMORY; /* of put */
    return compress_judge(&s->operation, &s->job);
}

static gzlzss_status run_compression(struct gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                     bool end)
{
    struct pipeline *p = s->operation.z->pipeline;

    for (;;) {
        size_t pushed = 0;

        /* In this order: what was written before it was over is there then. */
        const bool is_over = pipeline_is_over(&s->job);

        take(s, out);
        if (is_over && (s->job.status != PIPELINE_OK || !has_output(s)))
            return s->job.status == PIPELINE_OK ? GZLZSS_STREAM_END : judge(s);
        if (!s->job.has_ended && (in->used < in->size || end) && bytes_waiting(s) <= WAITING_MAX) {
            pushed = pipeline_push(p, &s->job, (const uint8_t *)in->bytes + in->used,
                                   in->size - in->used, end);
            in->used += pushed;
        }
        if (in->used == in->size && !end)
            return GZLZSS_OK;
        if (out->used == out->size && has_output(s))
            return GZLZSS_OK;
        if (pushed == 0)
            pipeline_wait_to_push(p, &s->job, has_output, s);
    }
}

gzlzss_status gzlzss_compress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call)
{
    struct gzlzss_stream *made;
    gzlzss_status status;

    if (s == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *s = NULL;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GZLZSS_ERROR_MEMORY;
    status = operation_begin(&made->operation, z, call, &made->job);
    if (status != GZLZSS_OK) {
        free(made);
        return status;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->job = (struct pipeline_job){
        .is_pushed = true, .in_fd = -1, .out_fd = -1, .put = put, .wrote = wrote, .ctx = made};
    made->header = compress_header(z, call, made->small, &made->job.header_len);
    made->job.header = made->header;
    if (made->header != NULL && pipeline_submit(z->pipeline, &made->job)) {
        *s = made;
        return GZLZSS_OK;
    }
    operation_end(&made->operation);
    if (made->header != made->small)
        free(made->header);
    pthread_mutex_destroy(&made->lock);
    free(made);
    return GZLZSS_ERROR_MEMORY;
}

static void end_compression(struct gzlzss_stream *s)
{
    struct pipeline *p = s->operation.z->pipeline;

    pipeline_cancel_job(p, &s->job);
    pipeline_wait(p, &s->job);
    for (struct waiting *w = s->first, *next; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
    if (s->header != s->small)
        free(s->header);
}

/* --- Decompression -------------------------------------------------------------------------- */

static bool is_cancelled(const struct gzlzss_stream *s)
{
    return !operation_goes_on(&s->operation);
}

/* Waits for the caller's input, up to `ms`, or for ever if that is -1; false if nothing came. */
static bool wait_for_input(struct gzlzss_stream *s, int ms)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (ms > 0 ? ms : 0) * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    s->wants_input = true;
    pthread_cond_signal(&s->caller_can_go);
    while (s->in_left == 0 && !s->in_ends && !s->reads_no_more && !is_cancelled(s) && error == 0)
        error = ms < 0 ? pthread_cond_wait(&s->can_go, &s->lock)
                       : pthread_cond_timedwait(&s->can_go, &s->lock, &until);
    s->wants_input = false;
    return s->in_left > 0 || s->in_ends;
}

static ssize_t read_for(void *ctx, void *buf, size_t len, int ms)
{
    struct gzlzss_stream *s = ctx;
    ssize_t n = -1;

    pthread_mutex_lock(&s->lock);
    if (is_cancelled(s) || s->reads_no_more) {
        errno = ECANCELED;
    } else if (s->in_left == 0 && !s->in_ends && !wait_for_input(s, ms)) {
        errno = is_cancelled(s) || s->reads_no_more ? ECANCELED : ETIMEDOUT;
    } else {
        n = (ssize_t)(len < s->in_left ? len : s->in_left);
        if (n > 0) {
            memcpy(buf, s->in, (size_t)n);
            s->in += n;
        }
        s->in_left -= (size_t)n;
        s->in_bytes += (size_t)n;
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void read_no_more(void *ctx)
{
    struct gzlzss_stream *s = ctx;

    pthread_mutex_lock(&s->lock);
    s->reads_no_more = true;
    pthread_cond_broadcast(&s->can_go);
    pthread_mutex_unlock(&s->lock);
}

static ssize_t read_stream(void *ctx, void *buf, size_t len)
{
    struct gzlzss_stream *s = ctx;

    return s->expansion != NULL ? expansion_read(s->expansion, buf, len)
                                : read_for(s, buf, len, -1);
}

static int write_stream(void *ctx, const void *buf, size_t len)
{
    struct gzlzss_stream *s = ctx;
    uint64_t in, out;

    pthread_mutex_lock(&s->lock);
    for (size_t done = 0; done < len && !is_cancelled(s);) {
        const size_t n = len - done < s->room ? len - done : s->room;

        if (n > 0) {
            memcpy(s->out, (const uint8_t *)buf + done, n);
            s->out += n;
        }
        s->room -= n;
        s->out_bytes += n;
        done += n;
        if (done == len)
            break;
        s->wants_room = true;
        pthread_cond_signal(&s->caller_can_go);
        while (s->room == 0 && !is_cancelled(s))
            pthread_cond_wait(&s->can_go, &s->lock);
        s->wants_room = false;
    }
    in = s->in_bytes;
    out = s->out_bytes;
    pthread_mutex_unlock(&s->lock);
    return operation_tell(&s->operation, in, out) ? 0 : -1;
}

/* Decompresses; *error is an errno. */
static enum gz_status decompress(struct gzlzss_stream *s, int *error)
{
    const struct pipeline_reader reader = {read_for, read_no_more, s};
    struct gz_io io = {.read = read_stream, .write = write_stream, .ctx = s};
    struct pipeline_expansion_stats stats;
    enum gz_status status = GZ_NO_MEMORY;
    struct gz_stream *stream;
    struct gz_info info;

    s->expansion = pipeline_expand_reader(s->operation.z->pipeline, &reader, write_stream, s);
    if (s->expansion != NULL)
        io.ahead = expansion_ahead(s->expansion);
    stream = gz_open(&io, &info);
    if (stream != NULL) {
        status = gz_read_header(stream);
        if (status == GZ_OK && s->expansion != NULL && info.format == GZ_FORMAT_GZIP)
            expansion_begin(s->expansion);
        if (status == GZ_OK)
            status = gz_run(stream);
    }
    *error = errno;
    gz_close(stream);
    if (s->expansion != NULL)
        expansion_close(s->expansion, &stats);
    return status;
}

static void *decompress_main(void *argument)
{
    struct gzlzss_stream *s = argument;
    int error;
    const enum gz_status status = decompress(s, &error);

    pthread_mutex_lock(&s->lock);
    s->error = decompress_judge(&s->operation, status, error);
    if (s->operation.call != NULL)
        s->operation.call->in_bytes = s->in_bytes;
    s->is_over = true;
    pthread_cond_signal(&s->caller_can_go);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static gzlzss_status run_decompression(struct gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                       bool end)
{
    gzlzss_status status = GZLZSS_OK;

    pthread_mutex_lock(&s->lock);
    s->in_left = in->size - in->used;
    if (s->in_left > 0)
        s->in = (const uint8_t *)in->bytes + in->used;
    s->in_ends = end;
    s->room = out->size - out->used;
    if (s->room > 0)
        s->out = (uint8_t *)out->bytes + out->used;
    pthread_cond_broadcast(&s->can_go);
    while (!s->is_over && !(s->wants_input && s->in_left == 0 && !s->in_ends) &&
           !(s->wants_room && s->room == 0))
        pthread_cond_wait(&s->caller_can_go, &s->lock);
    in->used = in->size - s->in_left;
    out->used = out->size - s->room;
    /* Both are the caller's again. */
    s->in_left = 0;
    s->room = 0;
    if (s->is_over)
        status = s->error == GZLZSS_OK ? GZLZSS_STREAM_END : s->error;
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Nobody waits any more: it was cancelled. */
static void wake_up(struct operation *o)
{
    struct gzlzss_stream *s = (struct gzlzss_stream *)(void *)o;

    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->can_go);
    pthread_mutex_unlock(&s->lock);
}

static void init_waiting(struct gzlzss_stream *s)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->can_go, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&s->caller_can_go, NULL);
}

gzlzss_status gzlzss_decompress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call)
{
    struct gzlzss_stream *made;
    gzlzss_status status;

    if (s == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *s = NULL;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GZLZSS_ERROR_MEMORY;
    status = operation_begin(&made->operation, z, call, NULL);
    if (status != GZLZSS_OK) {
        free(made);
        return status;
    }
    made->is_decompression = true;
    pthread_mutex_init(&made->lock, NULL);
    init_waiting(made);
    pthread_mutex_lock(&z->lock);
    made->operation.wake_up = wake_up;
    pthread_mutex_unlock(&z->lock);
    if (thread_start(&made->thread, decompress_main, made)) {
        *s = made;
        return GZLZSS_OK;
    }
    operation_end(&made->operation);
    pthread_cond_destroy(&made->can_go);
    pthread_cond_destroy(&made->caller_can_go);
    pthread_mutex_destroy(&made->lock);
    free(made);
    return GZLZSS_ERROR_MEMORY;
}

static void end_decompression(struct gzlzss_stream *s)
{
    atomic_store(&s->operation.is_cancelled, true);
    wake_up(&s->operation);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->can_go);
    pthread_cond_destroy(&s->caller_can_go);
}

/* --- Both ----------------------------------------------------------------------------------- */

gzlzss_status gzlzss_stream_run(gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in, int end)
{
    gzlzss_in nothing = {"", 0, 0};

    if (s == NULL || out == NULL || out->used > out->size || (out->bytes == NULL && out->size > 0))
        return GZLZSS_ERROR_ARGUMENT;
    if (in == NULL)
        in = &nothing;
    if (in->used > in->size || (in->bytes == NULL && in->size > 0))
        return GZLZSS_ERROR_ARGUMENT;
    if (s->operation.z->owner != getpid())
        return GZLZSS_ERROR_FORKED;
    return s->is_decompression ? run_decompression(s, out, in, end != 0)
                               : run_compression(s, out, in, end != 0);
}

void gzlzss_stream_free(gzlzss_stream *s)
{
    if (s == NULL)
        return;
    if (s->operation.z->owner == getpid()) {
        if (s->is_decompression)
            end_decompression(s);
        else
            end_compression(s);
        operation_end(&s->operation);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}
