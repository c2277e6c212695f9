/*
 * stream.c - streams (include/gzlzss.h)
 *
 * Compression is a job whose input is pushed (pipeline/compress/push.h).  Its output waits in a
 * list until the caller takes it.
 *
 * A decompressor calls a function to get its input.  So each stream that decompresses has a thread
 * of its own, the consumer.  The object's threads help the consumer (pipeline/expand/api.h).  The
 * caller pushes the input, as for compression.  Only the consumer writes to the caller's output, so
 * only the consumer waits while the caller is away.
 *
 * A thread that holds one of these locks may take only locks further down the list:
 *
 *   1. the lock of a list of calls (object.h), which gzlzss_cancel holds while it wakes each call
 *   2. a stream's lock
 *   3. the pipeline's lock, which the pipeline's functions take, among them expansion_has_input
 *   4. the locks of an expansion's input (pipeline/expand/input.c), of GPUs, of copiers and of
 *      inflaters (lib/inflaters.h)
 *
 * So has_output, which the pipeline calls with its lock held, takes no stream's lock.  The pipeline
 * holds no lock while it calls put_parts, wrote, ended and write_stream.  No thread holds a lock
 * while it calls the program's `progress`.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "compat/gunzip.h"
#include "lib/compress.h"
#include "lib/decompress.h"
#include "lib/stream.h"

/* Bytes of waiting output above which a stream that compresses takes no more input. */
#define WAITING_MAX ((size_t)8 << 20)

/* If a consumer has waited for its caller for this many milliseconds, it gives up the output that
 * was decoded ahead, and the memory of that output. */
#ifndef STREAM_PATIENCE
#define STREAM_PATIENCE 100
#endif

/* Output that waits to be taken: bytes[at..len). */
struct waiting {
    struct waiting *next;
    size_t at, len;
    uint8_t bytes[];
};

struct gzlzss_stream {
    struct operation operation;
    bool is_decompression;
    pthread_mutex_t lock;

    /* Protected by the lock: */

    /* Ends fd.c's waits; NULL if fd.c does not use the stream. */
    const struct wake *wake;
    /* Whether fd.c waits for its input, or until the stream has something to do. */
    bool polls;
    /* Whether the job is over, or will be at once. */
    bool ends;

    /* Compression: */

    struct pipeline_job job;
    /* The header, which is in `small` or in allocated memory. */
    uint8_t small[SMALL_HEADER], *header;
    /* The output that waits.  Protected by the lock. */
    struct waiting *first, *last;
    /* Bytes of output that wait.  Changed only with the lock held. */
    atomic_size_t waiting;

    /* Decompression: */

    /* The consumer. */
    pthread_t thread;
    /* The consumer and the caller use this.  Once is_over is set, only the caller does. */
    struct expansion *expansion;

    /* Decompression; protected by the lock: */

    /* The consumer waits for can_go, and the caller for caller_can_go. */
    pthread_cond_t can_go, caller_can_go;
    /* The caller's memory for output while the caller is in gzlzss_stream_run.  It has room for
     * `room` bytes. */
    uint8_t *out;
    size_t room;
    /* Whether the consumer waits for input, and whether it waits for room. */
    bool starves, wants_room;
    /* Whether the consumer has done something since the caller last reset went_on. */
    bool went_on;
    /* Whether the consumer has ended, and the status with which it has ended. */
    bool is_over;
    gzlzss_status status;
    uint64_t out_bytes;
};

/* Ends all waits.  Called when the call was cancelled. */
static void wake_up(struct operation *o)
{
    struct gzlzss_stream *s = (struct gzlzss_stream *)(void *)o;

    pthread_mutex_lock(&s->lock);
    pthread_cond_signal(&s->can_go);
    if (s->wake != NULL)
        wake_call(s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* If a caller waits in fd.c, wakes it, because the caller has something to do.  The lock is
 * held. */
static void wake_poll(struct gzlzss_stream *s)
{
    if (s->polls)
        wake_call(s->wake);
    s->polls = false;
}

/* --- Compression ---------------------------------------------------------------------------- */

/* Appends a part of a job's output to the list of output that waits. */
static bool put_parts(struct pipeline_job *job, struct iovec *parts, int count)
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
    wake_poll(s);
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* The job's `end`, which the pipeline calls when the job is over or will be at once. */
static void ended(struct pipeline_job *job)
{
    struct gzlzss_stream *s = job->ctx;

    pthread_mutex_lock(&s->lock);
    s->ends = true;
    wake_poll(s);
    pthread_mutex_unlock(&s->lock);
}

static void wrote(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    struct gzlzss_stream *s = job->ctx;

    (void)engine;
    compress_tell(&s->operation, in, out);
}

static bool has_output(void *ctx)
{
    const struct gzlzss_stream *s = ctx;

    return atomic_load(&s->waiting) > 0;
}

/* Moves waiting output to the caller, as much as there is room for. */
static void take_output(struct gzlzss_stream *s, gzlzss_out *out)
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

/* Returns the status of a stream whose job is over. */
static gzlzss_status judge(const struct gzlzss_stream *s)
{
    if (s->job.status == PIPELINE_WRITE_ERROR)
        return GZLZSS_ERROR_MEMORY; /* put_parts fails for no other reason */
    return compress_judge(&s->operation, &s->job);
}

/* Returns the address of the first unused byte. */
static const uint8_t *unused_input(const gzlzss_in *in)
{
    return (const uint8_t *)in->bytes + in->used;
}

/* Returns what pipeline_push must do for a directive. */
static enum pipeline_push push_of(gzlzss_directive directive)
{
    switch (directive) {
    case GZLZSS_END:
        return PIPELINE_PUSH_END;
    case GZLZSS_FLUSH:
        return PIPELINE_PUSH_FLUSH;
    case GZLZSS_FULL_FLUSH:
        return PIPELINE_PUSH_FULL_FLUSH;
    case GZLZSS_CONTINUE:
        break;
    }
    return PIPELINE_PUSH_MORE;
}

static gzlzss_status run_compression(struct gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                     gzlzss_directive directive)
{
    struct pipeline *p = s->operation.z->pipeline;
    bool is_flushed = false;

    for (;;) {
        size_t pushed = 0;

        /* Ask whether the job is over before taking output.  All output is written before the job
         * is over, so this thread misses none. */
        const bool is_over = pipeline_is_over(&s->job);

        take_output(s, out);
        if (is_over && (s->job.status != PIPELINE_OK || !has_output(s)))
            return s->job.status == PIPELINE_OK ? GZLZSS_STREAM_END : judge(s);
        if (is_flushed)
            return GZLZSS_OK;
        /* GZLZSS_CONTINUE tells the pipeline something even without input (enum flushed). */
        if (!s->job.has_ended && atomic_load(&s->waiting) <= WAITING_MAX) {
            pushed = pipeline_push(p, &s->job, unused_input(in), in->size - in->used,
                                   push_of(directive));
            in->used += pushed;
            is_flushed = s->job.is_flushed;
        }
        if (in->used == in->size && directive == GZLZSS_CONTINUE)
            return GZLZSS_OK;
        if (out->used == out->size && has_output(s))
            return GZLZSS_OK;
        if (pushed == 0 && !is_flushed)
            pipeline_wait_to_push(p, &s->job, has_output, s);
    }
}

/* Makes a stream, and sets the fields that both directions use.  Returns NULL if memory is
 * short. */
static struct gzlzss_stream *stream_new(bool is_decompression)
{
    struct gzlzss_stream *s = calloc(1, sizeof(*s));
    pthread_condattr_t monotonic;

    if (s == NULL)
        return NULL;
    s->is_decompression = is_decompression;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->can_go, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&s->caller_can_go, NULL);
    return s;
}

static void free_header(struct gzlzss_stream *s)
{
    if (s->header != s->small)
        free(s->header);
}

/* Frees the stream.  No thread may use it any more. */
static void stream_delete(struct gzlzss_stream *s)
{
    for (struct waiting *w = s->first, *next; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
    free_header(s);
    pthread_cond_destroy(&s->can_go);
    pthread_cond_destroy(&s->caller_can_go);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

gzlzss_status gzlzss_compress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call)
{
    struct gzlzss_stream *made;
    gzlzss_status status;

    if (s == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *s = NULL;
    made = stream_new(false);
    if (made == NULL)
        return GZLZSS_ERROR_MEMORY;
    made->job = (struct pipeline_job){.is_pushed = true,
                                      .in_fd = -1,
                                      .out_fd = -1,
                                      .put = put_parts,
                                      .wrote = wrote,
                                      .end = ended,
                                      .ctx = made};
    made->operation.job = &made->job;
    made->operation.wake_up = wake_up;
    status = operation_begin(&made->operation, z, call);
    if (status == GZLZSS_OK && !call_takes_level(z, call, &made->job.level)) {
        operation_end(&made->operation);
        status = GZLZSS_ERROR_ARGUMENT;
    }
    if (status == GZLZSS_OK) {
        made->header = compress_header(z, call, made->small, &made->job.header_len);
        made->job.header = made->header;
        if (made->header != NULL && pipeline_submit(z->pipeline, &made->job)) {
            *s = made;
            return GZLZSS_OK;
        }
        operation_end(&made->operation);
        status = GZLZSS_ERROR_MEMORY;
    }
    stream_delete(made);
    return status;
}

/* Cancels the job and waits for its end. */
static void end_compression(struct gzlzss_stream *s)
{
    struct pipeline *p = s->operation.z->pipeline;

    pipeline_cancel_job(p, &s->job);
    pipeline_wait(p, &s->job);
}

/* --- Decompression -------------------------------------------------------------------------- */

static bool is_cancelled(const struct gzlzss_stream *s)
{
    return !operation_goes_on(&s->operation);
}

/* Tells the caller that the consumer has done something for which the caller may wait.  The lock is
 * held. */
static void tell_caller(struct gzlzss_stream *s)
{
    s->went_on = true;
    if (s->wants_room || s->is_over)
        wake_poll(s);
    pthread_cond_signal(&s->caller_can_go);
}

static bool starves_now(void *ctx)
{
    struct gzlzss_stream *s = ctx;

    return !expansion_has_input(s->expansion);
}

/* Makes the consumer wait for the caller.  If nothing wakes the consumer for STREAM_PATIENCE ms, it
 * gives up the output that was decoded ahead, unless it has done so before (*has_given_up).
 * rest[0..len) is the output that the consumer is about to write. */
static void wait_for_caller(struct gzlzss_stream *s, bool *has_given_up, const void *rest,
                            size_t len)
{
    struct timespec until;

    if (*has_given_up) {
        pthread_cond_wait(&s->can_go, &s->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += STREAM_PATIENCE * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&s->can_go, &s->lock, &until) == ETIMEDOUT)
        *has_given_up = expansion_give_up(s->expansion, rest, len);
}

static ssize_t read_stream(void *ctx, void *buf, size_t len)
{
    struct gzlzss_stream *s = ctx;
    bool has_given_up = false;
    ssize_t n = -1;

    pthread_mutex_lock(&s->lock);
    while (!expansion_has_input(s->expansion) && !is_cancelled(s)) {
        s->starves = true;
        tell_caller(s);
        wait_for_caller(s, &has_given_up, NULL, 0);
    }
    s->starves = false;
    pthread_mutex_unlock(&s->lock);
    if (!operation_goes_on(&s->operation))
        return -1;
    n = expansion_read(s->expansion, buf, len);
    pthread_mutex_lock(&s->lock);
    /* The input has room for more bytes now. */
    tell_caller(s);
    pthread_mutex_unlock(&s->lock);
    return n;
}

static int write_stream(void *ctx, const void *buf, size_t len)
{
    struct gzlzss_stream *s = ctx;
    uint64_t in, out;

    pthread_mutex_lock(&s->lock);
    for (size_t done = 0; done < len && !is_cancelled(s);) {
        const size_t n = len - done < s->room ? len - done : s->room;
        bool has_given_up = false;

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
        tell_caller(s);
        expansion_set_stalled(s->expansion, true);
        while (s->room == 0 && !is_cancelled(s))
            wait_for_caller(s, &has_given_up, (const uint8_t *)buf + done, len - done);
        expansion_set_stalled(s->expansion, false);
        s->wants_room = false;
    }
    expansion_wrote(s->expansion, len);
    in = expansion_position(s->expansion);
    out = s->out_bytes;
    tell_caller(s);
    pthread_mutex_unlock(&s->lock);
    return operation_tell(&s->operation, in, out) ? 0 : -1;
}

static void *decompress_main(void *argument)
{
    struct gzlzss_stream *s = argument;
    struct gz_io io = {.read = read_stream,
                       .write = write_stream,
                       .waits = starves_now,
                       .ctx = s,
                       .container = s->operation.z->container};
    uint64_t used;
    int error = 0;
    const enum gz_status status = decompress_all(s->operation.z, &io, s->expansion, &used, &error);

    pthread_mutex_lock(&s->lock);
    s->status = decompress_judge(&s->operation, status, error);
    if (s->status == GZLZSS_OK)
        s->status = GZLZSS_STREAM_END;
    if (s->operation.call != NULL)
        s->operation.call->in_bytes = used;
    s->is_over = true;
    tell_caller(s);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Closes the expansion, if there is one.  The consumer must have ended. */
static void close_expansion(struct gzlzss_stream *s)
{
    struct pipeline_expansion_stats stats;

    if (s->expansion != NULL)
        expansion_close(s->expansion, &stats);
    s->expansion = NULL;
}

/* Pushes as much input as there is room for.  Gives up the lock meanwhile. */
static void push_input(struct gzlzss_stream *s, gzlzss_in *in, bool ends)
{
    pthread_mutex_unlock(&s->lock);
    in->used += expansion_push(s->expansion, unused_input(in), in->size - in->used, ends);
    pthread_mutex_lock(&s->lock);
    pthread_cond_signal(&s->can_go);
}

static gzlzss_status run_decompression(struct gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                       gzlzss_directive directive)
{
    gzlzss_status status = GZLZSS_OK;

    pthread_mutex_lock(&s->lock);
    s->room = out->size - out->used;
    if (s->room > 0)
        s->out = (uint8_t *)out->bytes + out->used;
    for (;;) {
        s->went_on = false;
        if (!s->is_over)
            push_input(s, in, directive == GZLZSS_END);
        if (s->is_over || (s->wants_room && s->room == 0))
            break;
        /* Do not return while the consumer wants room for output.  Let the consumer use the
         * caller's room first. */
        if (in->used == in->size && !s->wants_room &&
            (directive == GZLZSS_CONTINUE ||
             (directive != GZLZSS_END && s->starves && !expansion_has_input(s->expansion))))
            break;
        while (!s->went_on && !(s->wants_room && s->room == 0))
            pthread_cond_wait(&s->caller_can_go, &s->lock);
    }
    out->used = out->size - s->room;
    /* From now on, only the caller uses its memory for output. */
    s->room = 0;
    if (s->is_over)
        status = s->status;
    pthread_mutex_unlock(&s->lock);
    if (status != GZLZSS_OK)
        close_expansion(s);
    return status;
}

gzlzss_status gzlzss_decompress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call)
{
    struct gzlzss_stream *made;
    gzlzss_status status;

    if (s == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *s = NULL;
    made = stream_new(true);
    if (made == NULL)
        return GZLZSS_ERROR_MEMORY;
    made->operation.wake_up = wake_up;
    status = operation_begin(&made->operation, z, call);
    if (status == GZLZSS_OK) {
        made->expansion = pipeline_expand_pushed(z->pipeline, write_stream, made);
        if (made->expansion != NULL && thread_start(&made->thread, decompress_main, made)) {
            *s = made;
            return GZLZSS_OK;
        }
        operation_end(&made->operation);
        close_expansion(made);
        status = GZLZSS_ERROR_MEMORY;
    }
    stream_delete(made);
    return status;
}

/* Cancels the consumer and waits for its end. */
static void end_decompression(struct gzlzss_stream *s)
{
    atomic_store(&s->operation.is_cancelled, true);
    wake_up(&s->operation);
    pthread_join(s->thread, NULL);
    close_expansion(s);
}

/* --- Compression and decompression ---------------------------------------------------------- */

gzlzss_status gzlzss_stream_run(gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                gzlzss_directive directive)
{
    gzlzss_in nothing = {"", 0, 0};

    if (s == NULL || out == NULL || out->used > out->size || (out->bytes == NULL && out->size > 0))
        return GZLZSS_ERROR_ARGUMENT;
    if (in == NULL)
        in = &nothing;
    if (in->used > in->size || (in->bytes == NULL && in->size > 0) || directive < GZLZSS_CONTINUE ||
        directive > GZLZSS_FULL_FLUSH)
        return GZLZSS_ERROR_ARGUMENT;
    /* C does not define additions to NULL, not even of 0. */
    if (in->bytes == NULL)
        in = &nothing;
    if (object_is_foreign(s->operation.z))
        return GZLZSS_ERROR_FORKED;
    return s->is_decompression ? run_decompression(s, out, in, directive)
                               : run_compression(s, out, in, directive);
}

void gzlzss_stream_free(gzlzss_stream *s)
{
    if (s == NULL)
        return;
    if (object_is_foreign(s->operation.z)) {
        /* In the parent, a thread may have been changing the list of output, so do not free the
         * list. */
        free_header(s);
        free(s);
        return;
    }
    if (s->is_decompression)
        end_decompression(s);
    else
        end_compression(s);
    operation_end(&s->operation);
    stream_delete(s);
}

/* --- For fd.c ------------------------------------------------------------------------------- */

void stream_set_wake(gzlzss_stream *s, const struct wake *wake)
{
    pthread_mutex_lock(&s->lock);
    s->wake = wake;
    s->polls = false;
    pthread_mutex_unlock(&s->lock);
}

/* Whether the caller has something to do without more input.  The lock is held. */
static bool has_something(const struct gzlzss_stream *s)
{
    return s->is_decompression ? s->wants_room || s->is_over : s->waiting > 0 || s->ends;
}

bool stream_polls(gzlzss_stream *s)
{
    bool polls;

    pthread_mutex_lock(&s->lock);
    polls = s->polls = !has_something(s);
    pthread_mutex_unlock(&s->lock);
    return polls;
}

void stream_set_told(gzlzss_stream *s, uint64_t in, uint64_t out)
{
    pthread_mutex_lock(&s->lock);
    s->operation.told_in = in;
    s->operation.told_out = out;
    pthread_mutex_unlock(&s->lock);
}

const struct operation *stream_operation(const gzlzss_stream *s)
{
    return &s->operation;
}
