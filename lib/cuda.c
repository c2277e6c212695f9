/*
 * cuda.c - input in a GPU's memory, and output to it (include/gzlzss_cuda.h)
 *
 * The calling thread asks CUDA on which device the memory is, and waits for the caller's stream.
 * For compression it makes no other calls to CUDA; the object's threads do the rest.
 *
 * For decompression to a GPU's memory, the calling thread has that GPU do all of the work
 * (gpu/inflate.h).  If the GPU leaves the data to the CPU, or fails, the CPU starts again from the
 * first byte, with a stream and copies.  So every verdict on damaged data is the CPU's.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "lib/compress.h"
#include "lib/fd.h"
#include "lib/inflaters.h"
#include "lib/stream.h"

static bool goes_on(void *ctx)
{
    return operation_goes_on(ctx);
}

/* Waits for the caller's CUDA stream, in a call that has begun. */
static gzlzss_status wait_for(struct operation *o, struct CUstream_st *stream,
                              const struct gpu_memory *in, const struct gpu_memory *out)
{
    const int device = in->is_on_gpu ? in->device : out->is_on_gpu ? out->device : -1;
    char error[GPU_ERROR_SIZE];

    switch (gpu_wait_stream(stream, device, goes_on, o, error)) {
    case GPU_WAIT_DONE:
        return GZLZSS_OK;
    case GPU_WAIT_CAPTURED:
        return GZLZSS_ERROR_ARGUMENT;
    case GPU_WAIT_STOPPED:
        return GZLZSS_ERROR_CANCELLED;
    case GPU_WAIT_FAILED:
        break;
    }
    return operation_error(o, GZLZSS_ERROR_READ, EIO);
}

/* Finds out where the memory at p is: on which device, or on the host. */
static gzlzss_status locate_memory(const void *p, struct gpu_memory *m)
{
    char error[GPU_ERROR_SIZE];

    return gpu_find_memory(p, m, error) ? GZLZSS_OK : GZLZSS_ERROR_GPU;
}

/* Sets the input of a call that has begun. */
static void set_input(struct compress_call *c, const struct gpu_memory *m, const void *in,
                      size_t in_len)
{
    compress_call_from(c, m->is_on_gpu ? in : m->host, in_len);
    c->job.is_on_gpu = m->is_on_gpu;
    c->job.device = m->device;
}

gzlzss_status gzlzss_cuda_compress(gzlzss *z, void *out, size_t *out_len, const void *device_in,
                                   size_t in_len, struct CUstream_st *stream, gzlzss_call *call)
{
    struct compress_call c;
    struct gpu_memory in, to;
    gzlzss_status status;
    size_t room;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    room = *out_len;
    *out_len = 0;
    if ((out == NULL && room > 0) || (device_in == NULL && in_len > 0))
        return GZLZSS_ERROR_ARGUMENT;
    compress_call_init(&c);
    status = operation_begin(&c.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    status = locate_memory(device_in, &in);
    if (status == GZLZSS_OK)
        status = locate_memory(out, &to);
    if (status == GZLZSS_OK)
        status = wait_for(&c.operation, stream, &in, &to);
    if (status == GZLZSS_OK) {
        set_input(&c, &in, device_in, in_len);
        compress_call_to(&c, to.is_on_gpu ? out : to.host, room);
        c.is_on_gpu = to.is_on_gpu;
        c.device = to.device;
        status = compress_call_run(&c);
    }
    operation_end(&c.operation);
    if (status == GZLZSS_OK)
        *out_len = c.len;
    return status;
}

gzlzss_status gzlzss_cuda_compress_fd(gzlzss *z, int out_fd, const void *device_in, size_t in_len,
                                      struct CUstream_st *stream, gzlzss_call *call)
{
    const bool is_file = fd_is_file(out_fd);
    struct compress_call c;
    struct gpu_memory in;
    gzlzss_status status;

    if (device_in == NULL && in_len > 0)
        return GZLZSS_ERROR_ARGUMENT;
    compress_call_init(&c);
    status = operation_begin(&c.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    status = locate_memory(device_in, &in);
    if (status == GZLZSS_OK)
        status = wait_for(&c.operation, stream, &in, &in);
    if (status == GZLZSS_OK && is_file) {
        set_input(&c, &in, device_in, in_len);
        c.job.out_fd = out_fd;
        status = compress_call_run(&c);
    }
    if (status == GZLZSS_OK && !is_file)
        status = fd_compress_memory(z, out_fd, &in, device_in, in_len, &c.operation, call);
    operation_end(&c.operation);
    return status;
}

/* --- Decompression by a GPU ----------------------------------------------------------------- */

/* Inputs with fewer compressed bytes are left to the CPU.  A smaller input has few blocks, so that
 * most of the GPU would have nothing to do. */
#define GPU_INFLATE_MIN ((size_t)64 << 10)

/* A call that a GPU does, or has tried to do. */
struct gpu_attempt {
    struct operation *operation;
    struct gpu_thread program;
    /* The numbers that `progress` was told last. */
    uint64_t in_bytes, out_bytes;
};

/* Ends the wait for a GPU's turn. */
static void wake_up(struct operation *o)
{
    inflaters_wake(&o->z->inflaters);
}

/* Tells the program how far the GPU is.  While `progress` runs, the thread has the program's CUDA
 * context. */
static bool tell(void *ctx, uint64_t in, uint64_t out)
{
    struct gpu_attempt *a = ctx;
    bool is_to_go_on;

    a->in_bytes = in;
    a->out_bytes = out;
    gpu_restore_thread(&a->program);
    is_to_go_on = operation_tell(a->operation, in, out);
    gpu_save_thread(&a->program);
    return is_to_go_on;
}

/* Decompresses in[0..in_len) on the device.  Sets *out_len to the bytes of output.  After
 * GPU_INFLATE_LEFT or GPU_INFLATE_FAILED, the CPU must decompress the whole input. */
static enum gpu_inflate_result run_gpu(struct gpu_attempt *a, int device, const uint8_t *in,
                                       size_t in_len, uint8_t *out, size_t room, size_t *out_len)
{
    struct inflaters *s = &a->operation->z->inflaters;
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;
    char error[GPU_ERROR_SIZE];
    struct inflater *i;

    *out_len = 0;
    gpu_save_thread(&a->program);
    i = inflaters_take(s, device, goes_on, a->operation);
    if (i != NULL) {
        result = gpu_inflate(inflater_engine(i), in, in_len, out, room, out_len, tell, a, error);
        inflaters_release(s, i, result == GPU_INFLATE_FAILED ? error : NULL);
    }
    gpu_restore_thread(&a->program);
    return result;
}

/* --- Decompression by the CPU --------------------------------------------------------------- */

/* Bytes that are copied at a time. */
#define BUFFER_SIZE ((size_t)1 << 20)

/* A stream with its input and output.  Bytes in a GPU's memory go through a buffer. */
struct gpu_expansion {
    gzlzss_stream *stream;
    /* The stream's operation. */
    const struct operation *operation;
    /* The call's operation, which may be cancelled before the stream's begins. */
    const struct operation *outer;
    struct gpu_memory from, to;
    /* The rest of the input: next[0..left). */
    const uint8_t *next;
    size_t left;
    /* Where the next byte of output goes, and the room from there on. */
    uint8_t *out;
    size_t room;
    /* Bytes of output before `out`. */
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

/* Returns the memory to which the stream writes next. */
static gzlzss_out output(const struct gpu_expansion *e)
{
    if (e->to.is_on_gpu)
        return (gzlzss_out){e->out_buffer, e->room < BUFFER_SIZE ? e->room : BUFFER_SIZE, 0};
    return (gzlzss_out){e->out, e->room, 0};
}

/* Takes n bytes of output from the stream. */
static gzlzss_status take_output(struct gpu_expansion *e, size_t n)
{
    if (e->to.is_on_gpu && !operation_copy(e->operation, e->to.device, e->out, e->out_buffer, n))
        return operation_error(e->operation, GZLZSS_ERROR_WRITE, errno);
    if (n > 0)
        e->out += n;
    e->room -= n;
    e->made += n;
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
        /* More output follows, and there is no room for it. */
        if (error == GZLZSS_OK && e->room == 0 && (in.used < in.size || directive == GZLZSS_END))
            return GZLZSS_ERROR_ROOM;
        if (error == GZLZSS_OK && in.used == in.size && e->left > 0)
            error = refill(e, &in);
        if (error != GZLZSS_OK)
            return error;
    }
    return GZLZSS_ERROR_CANCELLED;
}

/* Decompresses by the CPU, after the wait for the caller's CUDA stream.  told: the numbers that
 * `progress` was told before. */
static gzlzss_status expand_memory(gzlzss *z, struct gpu_expansion *e,
                                   const struct gpu_attempt *told, gzlzss_call *call)
{
    gzlzss_status status = GZLZSS_ERROR_MEMORY;

    e->in_buffer = malloc(e->from.is_on_gpu ? BUFFER_SIZE : 1);
    e->out_buffer = malloc(e->to.is_on_gpu ? BUFFER_SIZE : 1);
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

/* Decompresses by the GPU that has the output, if it may and can, else by the CPU. */
static gzlzss_status expand_by_any(gzlzss *z, struct gpu_expansion *e, struct operation *o,
                                   gzlzss_call *call)
{
    struct gpu_attempt a = {.operation = o};
    const size_t in_len = e->left;
    enum gpu_inflate_result result = GPU_INFLATE_LEFT;

    if (e->to.is_on_gpu && in_len >= GPU_INFLATE_MIN && object_may_use(z, e->to.device))
        result = run_gpu(&a, e->to.device, e->next, in_len, e->out, e->room, &e->made);
    switch (result) {
    case GPU_INFLATE_DONE:
        if (call != NULL) {
            call->in_bytes = in_len;
            call->out_bytes = e->made;
        }
        return GZLZSS_OK;
    case GPU_INFLATE_STOPPED:
        return GZLZSS_ERROR_CANCELLED;
    default:
        return expand_memory(z, e, &a, call);
    }
}

gzlzss_status gzlzss_cuda_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                     size_t in_len, struct CUstream_st *stream, gzlzss_call *call)
{
    struct operation operation = {.wake_up = wake_up};
    struct gpu_expansion e = {.outer = &operation, .next = in, .left = in_len, .out = out};
    gzlzss_status status;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    e.room = *out_len;
    *out_len = 0;
    if ((out == NULL && e.room > 0) || (in == NULL && in_len > 0))
        return GZLZSS_ERROR_ARGUMENT;
    status = operation_begin(&operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    status = locate_memory(in, &e.from);
    if (status == GZLZSS_OK)
        status = locate_memory(out, &e.to);
    if (status == GZLZSS_OK)
        status = wait_for(&operation, stream, &e.from, &e.to);
    if (status != GZLZSS_OK || (!e.from.is_on_gpu && !e.to.is_on_gpu)) {
        operation_end(&operation);
        if (status != GZLZSS_OK)
            return status;
        *out_len = e.room;
        return gzlzss_decompress(z, e.to.host, out_len, e.from.host, in_len, call);
    }
    if (!e.from.is_on_gpu)
        e.next = e.from.host;
    if (!e.to.is_on_gpu)
        e.out = e.to.host;
    status = expand_by_any(z, &e, &operation, call);
    operation_end(&operation);
    *out_len = e.made;
    return status;
}
