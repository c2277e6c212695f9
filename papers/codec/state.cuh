/*
 * state.cuh - the memory of struct paper_gpu (gpu.h)
 */
#ifndef GZLZSS_PAPERS_CODEC_STATE_CUH
#define GZLZSS_PAPERS_CODEC_STATE_CUH

#include <stdio.h>

#include "papers/codec/gpu.h"
#include "papers/codec/kernels.cuh"

/* The most times of one step. A step that has more adds them to the last one. */
#define TIMES_MAX 64

/* The host's copy of what position lists have for a whole file. */
struct lists {
    uint64_t counts[256];
    struct range_model model;
};

/* Work between two events of a step. */
struct work {
    const char *name;
    bool is_copy; /* between host and device */
};

struct paper_gpu {
    int device;
    const struct lz_level *level;
    const struct paper_format *format;
    size_t most; /* plain bytes that fit */
    cudaStream_t stream;

    /* Device memory, besides the arrays of `v`. */
    struct codec_view v;
    struct gpu_span *spans; /* one for each chunk of LZ_CHUNK_SIZE bytes */
    uint16_t *tags;
    void *scratch; /* the match finder's, for `batch` chunks */
    void *scan;    /* CUB's temporary memory */
    size_t scan_size;
    struct codec_place *places;
    uint8_t *chunk_widths;

    uint32_t batch;       /* chunks of LZ_CHUNK_SIZE bytes that are matched at a time */
    uint32_t segment;     /* bytes of a segment */
    uint32_t shared_size; /* most dynamic shared memory of a block, bytes (gpu_view) */
    size_t room;          /* bytes of a file that fit */
    size_t coded_len;     /* bytes of the file on the device */
    uint64_t *totals;     /* pinned memory of the host: for each part, the sum of all sizes */
    uint32_t *is_damaged; /* pinned memory of the host */
    struct lists *lists;  /* pinned memory of the host; NULL in other formats */

    cudaEvent_t events[TIMES_MAX + 1];
    struct work work[TIMES_MAX]; /* work[i]: what the device does between events i and i + 1 */
    unsigned work_count;         /* of the current step */
    struct paper_gpu_times times;
};

/* Whether a call of CUDA has failed. If so, sets `error` to a message. */
static inline bool codec_failed(const struct paper_gpu *g, cudaError_t status,
                                char error[GPU_ERROR_SIZE])
{
    if (status == cudaSuccess)
        return false;
    snprintf(error, GPU_ERROR_SIZE, "CUDA device %d: %.100s", g->device,
             cudaGetErrorString(status));
    return true;
}

#endif
