/*
 * cuda_decompress.c - decompression to a GPU's memory, and from it (include/gzlzss_cuda.h)
 *
 * The calling thread makes a GPU do all of the work (gpu/inflate.h).  If the GPU leaves the data to
 * the CPU, or fails, the CPU starts again from the first byte, with a stream and copies.  So the
 * CPU alone decides whether data is damaged.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "lib/cuda.h"
#include "lib/inflaters.h"
#include "lib/stream.h"

/* --- By a GPU --------------------------------------------------------------------------------- */

/* The CPU decompresses inputs with fewer bytes than this.  They have few blocks, so most of the GPU
 * would have nothing to do. */
#define GPU_INFLATE_MIN ((size_t)64 << 10)

void cuda_wake_up(struct operation *o)
{
    inflaters_wake(&o->z->inflaters);
}

bool cuda_tell(struct cuda_attempt *a, uint64_t in, uint64_t out)
{
    bool is_to_go_on;

    if (a->is_silent)
        return operation_goes_on(a->operation);
    a->in_bytes = in;
    a->out_bytes = out;
    gpu_restore_thread(&a->program);
    is_to_go_on = operation_tell(a->operation, in, out);
    gpu_save_thread(&a->program);
    return is_to_go_on;
}

enum gpu_inflate_result cuda_use_engine(struct cuda_attempt *a, int device, cuda_work *work,
                                        void *ctx)
{
    struct inflaters *s = &a->operation->z->inflaters;
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;
    char error[GPU_ERROR_SIZE];
    struct inflater *i;

    gpu_save_thread(&a->program);
    i = inflaters_take(s, device, cuda_goes_on, a->operation);
    if (i != NULL) {
        result = work(ctx, inflater_engine(i), error);
        inflaters_release(
            s, i, result == GPU_INFLATE_FAILED || result == GPU_INFLATE_LOST ? error : NULL);
    }
    gpu_restore_thread(&a->program);
    return result;
}

gzlzss_status cuda_lost(const struct operation *o)
{
    return operation_error(o, GZLZSS_ERROR_WRITE, EIO);
}

/* The program's function that allocates memory for the output, and what it has returned. */
struct allocation {
    void *(*allocate)(void *ctx, size_t size);
    void *ctx;
    void *out;
    size_t room;
    struct gpu_memory memory;
    /* GZLZSS_OK if the memory can be used. */
    gzlzss_status status;
    bool was_called;
};

static void ask_program(struct allocation *a, size_t size)
{
    a->was_called = true;
    a->room = size;
    a->out = a->allocate(a->ctx, size);
    a->status = a->out != NULL || size == 0 ? cuda_locate(a->out, &a->memory) : GZLZSS_ERROR_MEMORY;
}

/* The work of one call, for an engine. */
struct expansion_work {
    struct cuda_attempt attempt;
    int device;
    const uint8_t *in;
    size_t in_len;
    uint8_t *out;
    size_t room;
    struct allocation *allocation;
    /* Bytes of output that were made or counted.  The engine sets this. */
    uint64_t made;
};

static bool tell(void *ctx, uint64_t in, uint64_t out)
{
    struct expansion_work *w = ctx;

    return cuda_tell(&w->attempt, in, out);
}

static enum gpu_inflate_result inflate(void *ctx, struct gpu_inflate *g, char error[GPU_ERROR_SIZE])
{
    struct expansion_work *w = ctx;
    size_t made = 0;
    const enum gpu_inflate_result result =
        gpu_inflate(g, w->in, w->in_len, w->out, w->room, &made, tell, w, error);

    w->made = made;
    return result;
}

/* Does the work of `inflate` for zlib's format and raw DEFLATE. */
static enum gpu_inflate_result inflate_one(void *ctx, struct gpu_inflate *g,
                                           char error[GPU_ERROR_SIZE])
{
    struct expansion_work *w = ctx;
    struct gpu_inflate_input input = {
        .in = w->in, .in_len = w->in_len, .out = w->out, .room = w->room};
    const enum gpu_inflate_result result =
        gpu_inflate_many(g, &input, 1, w->attempt.operation->z->container, tell, w, error);

    w->made = input.made;
    return result == GPU_INFLATE_DONE ? input.result : result;
}

static enum gpu_inflate_result count(void *ctx, struct gpu_inflate *g, char error[GPU_ERROR_SIZE])
{
    struct expansion_work *w = ctx;

    return gpu_inflate_count(g, w->in, w->in_len, &w->made, tell, w, error);
}

/* Asks the program for memory that the engine's GPU can write to.  Returns NULL if the program gave
 * other memory, or none. */
static uint8_t *allocate_on_gpu(void *ctx, size_t size)
{
    struct expansion_work *w = ctx;
    struct allocation *a = w->allocation;

    gpu_restore_thread(&w->attempt.program);
    ask_program(a, size);
    gpu_save_thread(&w->attempt.program);
    return a->status == GZLZSS_OK && a->memory.is_on_gpu && a->memory.device == w->device ? a->out
                                                                                          : NULL;
}

static enum gpu_inflate_result inflate_new(void *ctx, struct gpu_inflate *g,
                                           char error[GPU_ERROR_SIZE])
{
    struct expansion_work *w = ctx;
    size_t made = 0;
    const enum gpu_inflate_result result =
        gpu_inflate_new(g, w->in, w->in_len, allocate_on_gpu, &made, tell, w, error);

    w->made = made;
    return result;
}

/* --- By the CPU ------------------------------------------------------------------------------- */

/* Bytes that are copied at a time. */
#define BUFFER_SIZE ((size_t)1 << 20)

/* A stream with its input and output.  Bytes in a GPU's memory go through a buffer. */
struct gpu_expansion {
    gzlzss_stream *stream;
    /* The stream's operation. */
    const struct operation *operation;
    /* The call's operation, which may be cancelled before the stream's operation begins. */
    const struct operation *outer;
    struct gpu_memory from, to;
    /* The rest of the input: next[0..left). */
    const uint8_t *next;
    size_t left;
    /* If set, the output is only counted, and not kept. */
    bool only_counts;
    /* Where the next byte of output goes, and the room from there on. */
    uint8_t *out;
    size_t room;
    /* Bytes of output so far. */
    size_t made;
    uint8_t *in_buffer, *out_buffer;
};

/* Gives the stream more input. */
static gzlzss_status refill(struct gpu_expansion *e, gzlzss_in *in)
{
    size_t n = e->left;

    *in = (gzlzss_in){e->next, n, 0};
    if (e->from.is_on_gpu) {
        n = n < BUFFER_SIZE ? n : BUFFER_SIZE;
        *in = (gzlzss_in){e->in_buffer, n, 0};
        if (!operation_copy(e->operation, e->from.device, e->in_buffer, e->next, n))
            return operation_error(e->operation, GZLZSS_ERROR_READ, errno);
    }
    e->next += n;
    e->left -= n;
    return GZLZSS_OK;
}

/* Whether the stream writes to out_buffer, not to the program's memory. */
static bool has_buffer(const struct gpu_expansion *e)
{
    return e->to.is_on_gpu || e->only_counts;
}

/* Returns the memory to which the stream writes next. */
static gzlzss_out output(const struct gpu_expansion *e)
{
    if (has_buffer(e))
        return (gzlzss_out){e->out_buffer, e->room < BUFFER_SIZE ? e->room : BUFFER_SIZE, 0};
    return (gzlzss_out){e->out, e->room, 0};
}

/* Moves n bytes of output, which the stream has made, to their place. */
static gzlzss_status take_output(struct gpu_expansion *e, size_t n)
{
    e->made += n;
    if (e->only_counts)
        return GZLZSS_OK;
    if (e->to.is_on_gpu && !operation_copy(e->operation, e->to.device, e->out, e->out_buffer, n)) {
        e->made -= n;
        return operation_error(e->operation, GZLZSS_ERROR_WRITE, errno);
    }
    if (n > 0)
        e->out += n;
    e->room -= n;
    return GZLZSS_OK;
}

/* Runs the stream from the input's start to its end. */
static gzlzss_status expand(struct gpu_expansion *e)
{
    gzlzss_in in = {NULL, 0, 0};

    while (operation_goes_on(e->outer)) {
        gzlzss_out out = output(e);
        const gzlzss_directive directive = e->left == 0 ? GZLZSS_END : GZLZSS_CONTINUE;
        const gzlzss_status status = gzlzss_stream_run(e->stream, &out, &in, directive);
        gzlzss_status error = take_output(e, out.used);

        if (error == GZLZSS_OK && status != GZLZSS_OK)
            return status == GZLZSS_STREAM_END ? GZLZSS_OK : status;
        /* If the output has no room left and the stream is not at its end, there may be more
         * output, which has no room. */
        if (error == GZLZSS_OK && e->room == 0 && (in.used < in.size || directive == GZLZSS_END))
            return GZLZSS_ERROR_ROOM;
        if (error == GZLZSS_OK && in.used == in.size && e->left > 0)
            error = refill(e, &in);
        if (error != GZLZSS_OK)
            return error;
    }
    return GZLZSS_ERROR_CANCELLED;
}

/* Decompresses by the CPU.  Call this after waiting for the program's CUDA stream.  `told` has the
 * last numbers that `progress` got from the GPU's attempt. */
static gzlzss_status expand_memory(gzlzss *z, struct gpu_expansion *e,
                                   const struct cuda_attempt *told, gzlzss_call *call)
{
    gzlzss_status status = GZLZSS_ERROR_MEMORY;

    e->in_buffer = malloc(e->from.is_on_gpu ? BUFFER_SIZE : 1);
    e->out_buffer = malloc(has_buffer(e) ? BUFFER_SIZE : 1);
    if (e->in_buffer != NULL && e->out_buffer != NULL)
        status = gzlzss_decompress_stream(&e->stream, z, call);
    if (status == GZLZSS_OK) {
        stream_set_told(e->stream, told->in_bytes, told->out_bytes);
        e->operation = stream_operation(e->stream);
        status = expand(e);
        gzlzss_stream_free(e->stream);
        if (call != NULL)
            call->out_bytes = e->made;
    }
    free(e->in_buffer);
    free(e->out_buffer);
    return status;
}

/* Sets *size to the bytes of all output, or of the output before an error.  Works on a copy of *e,
 * so the decompression that follows starts at the same place. */
static gzlzss_status count_memory(gzlzss *z, const struct gpu_expansion *e, size_t *size)
{
    static const struct cuda_attempt nothing;
    struct gpu_expansion counting = *e;
    gzlzss_status status;

    counting.only_counts = true;
    counting.room = SIZE_MAX;
    status = expand_memory(z, &counting, &nothing, NULL);
    *size = counting.made;
    return status;
}

/* --- By a GPU or the CPU -------------------------------------------------------------------- */

/* Whether the object reads a .gz.  A GPU decompresses the other formats, zlib's format and raw
 * DEFLATE, only by gpu_inflate_many. */
static bool is_gzip(const gzlzss *z)
{
    return z->container != CONTAINER_ZLIB && z->container != CONTAINER_RAW;
}

/* Whether a GPU may do the work of this call. */
static bool may_use_gpu(const gzlzss *z, const struct gpu_expansion *e, int device)
{
    return e->left >= GPU_INFLATE_MIN && object_may_use(z, device);
}

/* Decompresses by the GPU that has the output.  If that GPU may not be used or cannot do it, the
 * CPU decompresses. */
static gzlzss_status expand_by_any(gzlzss *z, struct gpu_expansion *e, struct operation *o,
                                   gzlzss_call *call)
{
    struct expansion_work w = {.attempt.operation = o,
                               .device = e->to.device,
                               .in = e->next,
                               .in_len = e->left,
                               .out = e->out,
                               .room = e->room};
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;

    if (e->to.is_on_gpu && may_use_gpu(z, e, e->to.device))
        result = cuda_use_engine(&w.attempt, w.device, is_gzip(z) ? inflate : inflate_one, &w);
    e->made = (size_t)w.made;
    switch (result) {
    case GPU_INFLATE_DONE:
        call_set_results(call, w.in_len, w.made);
        return GZLZSS_OK;
    case GPU_INFLATE_STOPPED:
        return GZLZSS_ERROR_CANCELLED;
    case GPU_INFLATE_LOST:
        return cuda_lost(o);
    default:
        return expand_memory(z, e, &w.attempt, call);
    }
}

/* Begins a call: finds out where its memory is, and waits for the stream.  `out` is NULL if the
 * call has no output yet. */
static gzlzss_status begin(struct gpu_expansion *e, gzlzss *z, struct operation *o, const void *out,
                           struct CUstream_st *stream, gzlzss_call *call)
{
    gzlzss_status status = operation_begin(o, z, call);

    if (status != GZLZSS_OK)
        return status;
    e->outer = o;
    status = cuda_locate(e->next, &e->from);
    if (status == GZLZSS_OK)
        status = cuda_locate(out, &e->to);
    if (status == GZLZSS_OK)
        status = cuda_wait(o, stream, &e->from, &e->to);
    if (status != GZLZSS_OK)
        operation_end(o);
    if (!e->from.is_on_gpu)
        e->next = e->from.host;
    if (!e->to.is_on_gpu)
        e->out = e->to.host;
    return status;
}

gzlzss_status gzlzss_cuda_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                     size_t in_len, struct CUstream_st *stream, gzlzss_call *call)
{
    struct operation operation = {.wake_up = cuda_wake_up};
    struct gpu_expansion e = {.next = in, .left = in_len, .out = out};
    gzlzss_status status;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    e.room = *out_len;
    *out_len = 0;
    if ((out == NULL && e.room > 0) || (in == NULL && in_len > 0))
        return GZLZSS_ERROR_ARGUMENT;
    status = begin(&e, z, &operation, out, stream, call);
    if (status != GZLZSS_OK)
        return status;
    if (!e.from.is_on_gpu && !e.to.is_on_gpu) {
        operation_end(&operation);
        *out_len = e.room;
        return gzlzss_decompress(z, e.to.host, out_len, e.from.host, in_len, call);
    }
    status = expand_by_any(z, &e, &operation, call);
    operation_end(&operation);
    *out_len = e.made;
    return status;
}

/* Returns the GPU for a call whose output has no place yet: the GPU that has the input or, if the
 * host has it, the calling thread's current device. */
static int device_for(const struct gpu_expansion *e)
{
    return e->from.is_on_gpu ? e->from.device : gpu_current_device();
}

gzlzss_status gzlzss_cuda_decompressed_size(gzlzss *z, uint64_t *size, const void *in,
                                            size_t in_len, struct CUstream_st *stream,
                                            gzlzss_call *call)
{
    struct operation operation = {.wake_up = cuda_wake_up};
    struct gpu_expansion e = {.next = in, .left = in_len, .only_counts = true, .room = SIZE_MAX};
    struct expansion_work w = {.attempt = {.operation = &operation, .is_silent = true},
                               .in_len = in_len};
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;
    gzlzss_status status;

    if (size == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *size = 0;
    if (in == NULL && in_len > 0)
        return GZLZSS_ERROR_ARGUMENT;
    status = begin(&e, z, &operation, NULL, stream, call);
    if (status != GZLZSS_OK)
        return status;
    w.device = device_for(&e);
    w.in = e.next;
    if (is_gzip(z) && may_use_gpu(z, &e, w.device))
        result = cuda_use_engine(&w.attempt, w.device, count, &w);
    switch (result) {
    case GPU_INFLATE_DONE:
        *size = w.made;
        call_set_results(call, in_len, w.made);
        break;
    case GPU_INFLATE_STOPPED:
        status = GZLZSS_ERROR_CANCELLED;
        break;
    default:
        status = expand_memory(z, &e, &w.attempt, call);
        *size = e.made;
    }
    operation_end(&operation);
    return status;
}

/* Decompresses by the CPU, to memory that the program has allocated for a GPU's attempt or
 * allocates now. */
static gzlzss_status expand_to_new(gzlzss *z, struct gpu_expansion *e, struct allocation *a,
                                   const struct cuda_attempt *told, gzlzss_call *call)
{
    size_t size;
    gzlzss_status verdict = count_memory(z, e, &size), status;

    if (verdict == GZLZSS_ERROR_MEMORY || verdict == GZLZSS_ERROR_CANCELLED)
        return verdict;
    if (!a->was_called || size > a->room)
        ask_program(a, size);
    if (a->status != GZLZSS_OK)
        return a->status;
    e->to = a->memory;
    e->out = e->to.is_on_gpu ? a->out : e->to.host;
    e->room = a->room;
    status = expand_memory(z, e, told, call);
    /* If the data is damaged, `verdict` is the error.  The second pass may end before the damage,
     * because there is no room for more output. */
    return status == GZLZSS_ERROR_ROOM ? verdict : status;
}

/* Decompresses to memory that the program allocates.  If no GPU may be used, or if the GPU cannot
 * decompress the input, the CPU does the work. */
static gzlzss_status expand_new_by_any(gzlzss *z, struct gpu_expansion *e, struct operation *o,
                                       struct allocation *a, gzlzss_call *call)
{
    struct expansion_work w = {.attempt.operation = o,
                               .device = device_for(e),
                               .in = e->next,
                               .in_len = e->left,
                               .allocation = a};
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;

    if (is_gzip(z) && may_use_gpu(z, e, w.device))
        result = cuda_use_engine(&w.attempt, w.device, inflate_new, &w);
    e->made = (size_t)w.made;
    if (result == GPU_INFLATE_DONE) {
        call_set_results(call, w.in_len, w.made);
        return GZLZSS_OK;
    }
    if (a->was_called && a->status != GZLZSS_OK)
        return a->status;
    /* The engine also stops if `allocate` returned memory that is not the GPU's.  Then the CPU does
     * the work. */
    if (result == GPU_INFLATE_STOPPED && !operation_goes_on(o))
        return GZLZSS_ERROR_CANCELLED;
    e->made = 0;
    if (result == GPU_INFLATE_LOST && a->was_called)
        return cuda_lost(o);
    return expand_to_new(z, e, a, &w.attempt, call);
}

gzlzss_status gzlzss_cuda_decompress_new(gzlzss *z, void **out, size_t *out_len,
                                         void *(*allocate)(void *ctx, size_t size), void *ctx,
                                         const void *in, size_t in_len, struct CUstream_st *stream,
                                         gzlzss_call *call)
{
    struct operation operation = {.wake_up = cuda_wake_up};
    struct gpu_expansion e = {.next = in, .left = in_len};
    struct allocation a = {.allocate = allocate, .ctx = ctx};
    gzlzss_status status;

    if (out == NULL || out_len == NULL || allocate == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *out = NULL;
    *out_len = 0;
    if (in == NULL && in_len > 0)
        return GZLZSS_ERROR_ARGUMENT;
    status = begin(&e, z, &operation, NULL, stream, call);
    if (status != GZLZSS_OK)
        return status;
    status = expand_new_by_any(z, &e, &operation, &a, call);
    operation_end(&operation);
    *out = a.out;
    *out_len = e.made;
    return status;
}
