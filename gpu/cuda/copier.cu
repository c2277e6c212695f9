/*
 * copier.cu - copies from and to a GPU's memory, for any thread (gpu.h)
 *
 * A copier has a non-blocking stream, so its copies and the work in the program's streams do not
 * wait for each other.
 *
 * If the host memory is not pinned, the copier copies by way of pinned memory of its own, in
 * pieces: while the processor copies one piece, the GPU copies the next. The driver would do the
 * same, but only one copy at a time for all threads: 16 threads that fetch 2 MiB each get 8 GB/s
 * from the driver, and 33 GB/s in this way (H100).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda/internal.cuh"

/* Bytes of a piece. Two pieces should stay in a core's cache. */
#define PIECE ((size_t)256 << 10)

/* Seconds for which a thread asks whether a piece is copied before it sleeps. The copy of a piece
 * takes less time than putting the thread to sleep. */
#define SPIN 20e-6

/* Up to this many bytes, the driver copies faster than this file. */
#define FEW ((size_t)16 << 10)

struct gpu_copier {
    int device;
    cudaStream_t stream;
    cudaEvent_t done[2]; /* happen when the pieces are copied */
    uint8_t *pieces;     /* pinned memory for two pieces; NULL until needed */
    struct gpu_watch watch;
};

static bool failed(cudaError_t status, int device, char error[GPU_ERROR_SIZE])
{
    if (status == cudaSuccess)
        return false;
    snprintf(error, GPU_ERROR_SIZE, "CUDA device %d: %.100s", device, gpu_error_text(status));
    return true;
}

struct gpu_copier *gpu_new_copier(int device, char error[GPU_ERROR_SIZE])
{
    struct gpu_copier *c = (struct gpu_copier *)calloc(1, sizeof(*c));
    cudaError_t status;

    if (c == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    c->device = device;
    gpu_watch_init(&c->watch, device, 0, 0, SPIN);
    status = gpu_use_device(device);
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
    for (int i = 0; i < 2 && status == cudaSuccess; i++)
        status =
            cudaEventCreateWithFlags(&c->done[i], cudaEventBlockingSync | cudaEventDisableTiming);
    if (!failed(status, device, error))
        return c;
    gpu_free_copier(c);
    return NULL;
}

void gpu_free_copier(struct gpu_copier *c)
{
    if (!gpu_is_lost(&c->watch) && gpu_use_device(c->device) == cudaSuccess) {
        for (int i = 0; i < 2; i++)
            if (c->done[i] != NULL)
                cudaEventDestroy(c->done[i]);
        cudaFreeHost(c->pieces);
        if (c->stream != NULL)
            cudaStreamDestroy(c->stream);
    }
    free(c);
}

/* Whether p is host memory that is not pinned. */
static bool is_pageable(const void *p)
{
    struct cudaPointerAttributes attributes;

    if (cudaPointerGetAttributes(&attributes, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return true;
    }
    return attributes.type == cudaMemoryTypeUnregistered;
}

/* Whether the copier has memory for pieces. */
static bool has_pieces(struct gpu_copier *c)
{
    if (c->pieces == NULL && cudaMallocHost(&c->pieces, 2 * PIECE) != cudaSuccess) {
        (void)cudaGetLastError();
        c->pieces = NULL;
    }
    return c->pieces != NULL;
}

/* Queues a copy; done[i] happens when it is complete. */
static cudaError_t queue(struct gpu_copier *c, void *to, const void *from, size_t len, int i)
{
    const cudaError_t status = cudaMemcpyAsync(to, from, len, cudaMemcpyDefault, c->stream);

    return status == cudaSuccess ? cudaEventRecord(c->done[i], c->stream) : status;
}

/* Waits for done[i]. */
static cudaError_t wait(struct gpu_copier *c, int i)
{
    return gpu_await_event(&c->watch, c->done[i]);
}

static size_t piece_size(size_t offset, size_t len)
{
    return len - offset < PIECE ? len - offset : PIECE;
}

/* Copies to host memory that is not pinned. */
static cudaError_t fetch(struct gpu_copier *c, uint8_t *to, const uint8_t *from, size_t len)
{
    cudaError_t status = queue(c, c->pieces, from, piece_size(0, len), 0);

    for (size_t at = 0; at < len && status == cudaSuccess; at += PIECE) {
        const size_t next = at + PIECE;
        const int i = at / PIECE % 2;

        if (next < len)
            status =
                queue(c, c->pieces + (1 - i) * PIECE, from + next, piece_size(next, len), 1 - i);
        if (status == cudaSuccess)
            status = wait(c, i);
        if (status == cudaSuccess)
            memcpy(to + at, c->pieces + i * PIECE, piece_size(at, len));
    }
    return status;
}

/* Copies the parts, which are host memory, one after another to device memory. Waits only when the
 * memory for pieces is needed again, and at the end. */
static cudaError_t put(struct gpu_copier *c, uint8_t *to, const struct iovec *parts, int count)
{
    cudaError_t status = cudaSuccess;
    size_t have = 0, used = 0; /* bytes in the current piece; bytes of the current part in pieces */
    int i = 0;

    while (count > 0 && status == cudaSuccess) {
        const size_t n = piece_size(used, parts->iov_len);
        const size_t step = n < PIECE - have ? n : PIECE - have;

        /* The event of a piece that was never queued has happened. */
        if (have == 0)
            status = wait(c, i);
        if (status == cudaSuccess)
            memcpy(c->pieces + i * PIECE + have, (const uint8_t *)parts->iov_base + used, step);
        have += step;
        used += step;
        if (used == parts->iov_len) {
            parts++;
            count--;
            used = 0;
        }
        if (status == cudaSuccess && (have == PIECE || count == 0)) {
            status = queue(c, to, c->pieces + i * PIECE, have, i);
            to += have;
            have = 0;
            i = 1 - i;
        }
    }
    return status == cudaSuccess ? wait(c, 1 - i) : status;
}

/* Ends a copy. Returns false, with a message in error, if it has failed. */
static bool has_copied(struct gpu_copier *c, cudaError_t status, char error[GPU_ERROR_SIZE])
{
    if (!failed(status, c->device, error))
        return true;
    /* Copies that are queued already may still touch the program's memory. */
    (void)gpu_await_stream(&c->watch, c->stream);
    return false;
}

/* Prepares for a copy of `len` bytes. */
static bool begin(struct gpu_copier *c, size_t len, char error[GPU_ERROR_SIZE])
{
    if (gpu_is_lost(&c->watch))
        return !failed(cudaErrorLaunchTimeout, c->device, error);
    gpu_watch_init(&c->watch, c->device, len, 0, SPIN);
    return !failed(gpu_use_device(c->device), c->device, error);
}

bool gpu_copy(struct gpu_copier *c, void *to, const void *from, size_t len,
              char error[GPU_ERROR_SIZE])
{
    const struct iovec part = {(void *)from, len};
    cudaError_t status;

    if (!begin(c, len, error))
        return false;
    if (len > FEW && is_pageable(to) && has_pieces(c))
        status = fetch(c, (uint8_t *)to, (const uint8_t *)from, len);
    else if (len > FEW && is_pageable(from) && has_pieces(c))
        status = put(c, (uint8_t *)to, &part, 1);
    else if ((status = queue(c, to, from, len, 0)) == cudaSuccess)
        status = wait(c, 0);
    return has_copied(c, status, error);
}

bool gpu_put(struct gpu_copier *c, void *to, const struct iovec *parts, int count,
             char error[GPU_ERROR_SIZE])
{
    uint8_t *next = (uint8_t *)to;
    size_t len = 0;

    for (int i = 0; i < count; i++)
        len += parts[i].iov_len;
    if (!begin(c, len, error))
        return false;
    if (has_pieces(c))
        return has_copied(c, put(c, next, parts, count), error);
    for (int i = 0; i < count; next += parts[i++].iov_len)
        if (!gpu_copy(c, next, parts[i].iov_base, parts[i].iov_len, error))
            return false;
    return true;
}
