/*
 * cuda.c - compression of input in a GPU's memory (include/gzlzss_cuda.h), and questions to CUDA
 * about the program's memory and streams
 *
 * The calling thread asks CUDA on which device the memory is, and waits for the caller's CUDA
 * stream.  It makes no other calls to CUDA; the object's threads do the rest.
 */
#include "config.h"

#include <errno.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "lib/compress.h"
#include "lib/cuda.h"
#include "lib/fd.h"

bool cuda_goes_on(void *ctx)
{
    return operation_goes_on(ctx);
}

gzlzss_status cuda_wait(struct operation *o, struct CUstream_st *stream,
                        const struct gpu_memory *in, const struct gpu_memory *out)
{
    const int device = in->is_on_gpu ? in->device : out->is_on_gpu ? out->device : -1;
    char error[GPU_ERROR_SIZE];

    switch (gpu_wait_stream(stream, device, cuda_goes_on, o, error)) {
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

gzlzss_status cuda_locate(const void *p, struct gpu_memory *m)
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
    c->job.uses_gpu = m->is_on_gpu;
    c->job.device = m->device;
}

/* Sets the output of a call whose input is set. */
static void set_output(struct compress_call *c, const struct gpu_memory *m, void *out, size_t room)
{
    compress_call_to(c, m->is_on_gpu ? out : m->host, room);
    c->is_on_gpu = m->is_on_gpu;
    c->device = m->device;
    if (m->is_on_gpu && !c->job.is_on_gpu) {
        c->job.uses_gpu = true;
        c->job.device = m->device;
    }
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
    status = cuda_locate(device_in, &in);
    if (status == GZLZSS_OK)
        status = cuda_locate(out, &to);
    if (status == GZLZSS_OK)
        status = cuda_wait(&c.operation, stream, &in, &to);
    if (status == GZLZSS_OK) {
        set_input(&c, &in, device_in, in_len);
        set_output(&c, &to, out, room);
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
    status = cuda_locate(device_in, &in);
    if (status == GZLZSS_OK)
        status = cuda_wait(&c.operation, stream, &in, &in);
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
