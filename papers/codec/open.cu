/*
 * open.cu - the memory for the papers' formats on a GPU (gpu.h)
 *
 * The methods' match finders work on batches of chunks (gpu/cuda/internal.cuh). Their scratch
 * memory may be many times as large as the input, so the input is matched in batches that share one
 * scratch memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include <cub/device/device_scan.cuh>

#include "papers/codec/gpulz.h"
#include "papers/codec/position_lists.h"
#include "papers/codec/state.cuh"
#include "papers/gpulz.h"

/* The scratch memory takes at most 1 / SCRATCH_SHARE of the device's free memory. A smaller part
 * gives smaller batches, which may keep the device less busy. */
#define SCRATCH_SHARE 3

void *paper_gpu_pinned(size_t size)
{
    void *memory = NULL;

    return cudaMallocHost(&memory, size) == cudaSuccess ? memory : NULL;
}

void paper_gpu_free_pinned(void *memory)
{
    cudaFreeHost(memory);
}

/* Allocates `count` elements on the device. */
template <typename T> static cudaError_t take(T **array, size_t count)
{
    return cudaMalloc(array, count * sizeof(T));
}

/* Sets the numbers of the view that do not depend on the input. */
static void set_shape(struct paper_gpu *g)
{
    struct codec_view *v = &g->v;
    const bool is_gpulz = g->format->family == CODEC_GPULZ;

    v->shape = g->format->shape(g->level);
    v->parts = g->format->parts;
    v->second =
        is_gpulz ? (uint32_t)gpu_round_up(gpulz_flags_bound(v->shape.chunk), CODEC_ALIGNMENT) : 0;
    v->slot = v->second + (uint32_t)gpu_round_up(v->shape.bound, CODEC_ALIGNMENT);
    if (is_gpulz && g->level->param[GPULZ_SYMBOL] != GPULZ_AUTO)
        v->width = gpulz_width(g->level->param[GPULZ_SYMBOL]);
    if (g->format->family == CODEC_POSITION_LISTS)
        v->packed_slot =
            (uint32_t)gpu_round_up(position_lists_packed_bound(v->shape.chunk), CODEC_ALIGNMENT);
}

/* Allocates the memory for coding and decoding up to `chunks` chunks of the paper. */
static cudaError_t take_coded_memory(struct paper_gpu *g, size_t chunks)
{
    const size_t elements = CODEC_PARTS * (chunks + 1);
    struct codec_view *v = &g->v;
    cudaError_t status;

    g->room = codec_front_size(&g->format->layout, v->parts, chunks) +
              chunks * (CODEC_HEAD_SIZE + (size_t)v->slot);
    status = take(&v->slots, chunks * v->slot + CODEC_PAD);
    /* Kernels may read a few bytes that nobody has written, though no result depends on them. */
    if (status == cudaSuccess)
        status = cudaMemsetAsync(v->slots, 0, chunks * v->slot + CODEC_PAD, g->stream);
    if (status == cudaSuccess)
        status = take(&v->sizes, elements);
    if (status == cudaSuccess)
        status = take(&v->sums, elements);
    if (status == cudaSuccess)
        status = take(&v->coded, g->room + CODEC_PAD);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(v->coded, 0, g->room + CODEC_PAD, g->stream);
    if (status == cudaSuccess)
        status = take(&g->places, chunks * CODEC_PARTS);
    if (status == cudaSuccess)
        status = take(&g->chunk_widths, chunks);
    if (status == cudaSuccess)
        status = take(&v->is_damaged, 1);
    if (status == cudaSuccess)
        status = cub::DeviceScan::ExclusiveSum(NULL, g->scan_size, v->sizes, v->sums,
                                               (int)chunks + 1, g->stream);
    return status == cudaSuccess ? cudaMalloc(&g->scan, g->scan_size) : status;
}

/* Allocates what only position lists need, for up to `chunks` chunks. */
static cudaError_t take_lists_memory(struct paper_gpu *g, size_t chunks)
{
    struct codec_view *v = &g->v;
    cudaError_t status;

    if (g->format->family != CODEC_POSITION_LISTS)
        return cudaSuccess;
    status = take(&v->packed, chunks * v->packed_slot);
    if (status == cudaSuccess)
        status = take(&v->packed_sizes, chunks);
    if (status == cudaSuccess)
        status = take(&v->counts, 256);
    if (status == cudaSuccess)
        status = take(&v->model, 1);
    return status == cudaSuccess ? cudaMallocHost(&g->lists, sizeof(*g->lists)) : status;
}

/* Returns how many chunks are matched at a time: whole segments, as many as the scratch memory
 * allows. */
static uint32_t fit_batch(const struct paper_gpu *g, size_t chunks, size_t available)
{
    const size_t segment = g->segment / LZ_CHUNK_SIZE;
    const size_t scratch = gpu_twin(g->level)->scratch(g->level);
    const size_t fits = scratch > 0 ? available / SCRATCH_SHARE / scratch : chunks;

    return (uint32_t)(fits < chunks ? max(fits / segment, (size_t)1) * segment : chunks);
}

/* Allocates the memory for matching up to `chunks` chunks of LZ_CHUNK_SIZE bytes. */
static cudaError_t take_match_memory(struct paper_gpu *g, size_t chunks)
{
    const size_t scratch = gpu_twin(g->level)->scratch(g->level);
    size_t available, total;
    cudaError_t status = take(&g->v.plain, g->most + GPU_INPUT_PAD);

    if (status == cudaSuccess)
        status = cudaMemsetAsync(g->v.plain, 0, g->most + GPU_INPUT_PAD, g->stream);
    if (status == cudaSuccess)
        status = take(&g->spans, chunks);
    if (status == cudaSuccess)
        status = take(&g->tags, chunks * LZ_CHUNK_SIZE);
    if (status == cudaSuccess)
        status = cudaMemGetInfo(&available, &total);
    if (status != cudaSuccess)
        return status;
    g->batch = fit_batch(g, chunks, available);
    g->v.tags = g->tags;
    return scratch > 0 ? cudaMalloc(&g->scratch, g->batch * scratch) : cudaSuccess;
}

static cudaError_t take_all(struct paper_gpu *g)
{
    const size_t chunk = g->v.shape.chunk, chunks = (g->most + chunk - 1) / chunk;
    cudaDeviceProp properties;
    cudaError_t status = gpu_use_device(g->device);

    if (status == cudaSuccess)
        status = cudaGetDeviceProperties(&properties, g->device);
    if (status == cudaSuccess)
        status = gpu_code_fits_device();
    if (status == cudaSuccess)
        status = cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
    for (int i = 0; i <= TIMES_MAX && status == cudaSuccess; i++)
        status = cudaEventCreateWithFlags(&g->events[i], 0);
    if (status == cudaSuccess)
        status = cudaMallocHost(&g->totals, CODEC_PARTS * sizeof(*g->totals));
    if (status == cudaSuccess)
        status = cudaMallocHost(&g->is_damaged, sizeof(*g->is_damaged));
    if (status == cudaSuccess)
        status = take_coded_memory(g, chunks);
    if (status == cudaSuccess)
        status = take_lists_memory(g, chunks);
    if (status == cudaSuccess)
        status = take_match_memory(g, LZ_CHUNKS(g->most));
    if (status == cudaSuccess)
        g->shared_size = (uint32_t)(properties.sharedMemPerBlockOptin - GPU_SHARED_STATIC);
    return status;
}

struct paper_gpu *paper_gpu_open(int device, const struct paper_format *format,
                                 const struct lz_level *level, size_t most,
                                 char error[GPU_ERROR_SIZE])
{
    static_assert(PAPER_ERROR_SIZE <= GPU_ERROR_SIZE, "a message of paper_fits has room");
    struct paper_gpu *g;

    if (!paper_fits(format, level, error))
        return NULL;
    g = (struct paper_gpu *)calloc(1, sizeof(*g));
    if (g == NULL) {
        snprintf(error, GPU_ERROR_SIZE, "out of memory");
        return NULL;
    }
    g->device = device;
    g->level = level;
    g->format = format;
    g->most = most;
    g->segment = (uint32_t)paper_segment(format, level);
    set_shape(g);
    if (!codec_failed(g, take_all(g), error))
        return g;
    (void)cudaGetLastError();
    paper_gpu_close(g);
    return NULL;
}

void paper_gpu_close(struct paper_gpu *g)
{
    if (g == NULL)
        return;
    (void)gpu_use_device(g->device);
    /* A member that was never allocated is NULL, which these calls accept. */
    cudaFree(g->v.plain);
    cudaFree(g->v.slots);
    cudaFree(g->v.sizes);
    cudaFree(g->v.sums);
    cudaFree(g->v.coded);
    cudaFree(g->v.is_damaged);
    cudaFree(g->v.packed);
    cudaFree(g->v.packed_sizes);
    cudaFree(g->v.counts);
    cudaFree(g->v.model);
    cudaFreeHost(g->lists);
    cudaFree(g->spans);
    cudaFree(g->tags);
    cudaFree(g->scratch);
    cudaFree(g->scan);
    cudaFree(g->places);
    cudaFree(g->chunk_widths);
    cudaFreeHost(g->totals);
    cudaFreeHost(g->is_damaged);
    for (int i = 0; i <= TIMES_MAX; i++)
        if (g->events[i] != NULL)
            cudaEventDestroy(g->events[i]);
    if (g->stream != NULL)
        cudaStreamDestroy(g->stream);
    free(g);
}
