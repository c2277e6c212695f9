/*
 * internal.cuh - what the files of gpu/cuda/ share; outside it, only GPU match finders include it
 *
 * One batch passes through these steps on the device (engine.cu queues them):
 *
 *     copy in      the batch's bytes, and a table of its chunks (struct gpu_span)
 *     find         the finder's kernels (struct gpu_finder): candidates or lists of matches
 *     parse        the finder's last kernels: one tag for each byte, which is the distance of the
 *                  match that covers the byte, or 0 for a literal
 *     compact      compact.cu: from tags to sequences
 *     copy out     results (struct gpu_result), then sequences
 */
#ifndef GZLZSS_GPU_INTERNAL_CUH
#define GZLZSS_GPU_INTERNAL_CUH

#include <cuda_runtime.h>

#include "gpu/gpu.h"
#include "gpu/module.h"
#include "lzss/finders.h"
#include "lzss/lzss.h"

/* Threads of a warp, and the mask of all its lanes. */
#define WARP 32
#define ALL_LANES 0xffffffffu

/* Where a chunk's sequences start in the batch's sequence array, and their number. */
struct gpu_result {
    uint32_t offset;
    uint32_t count;
};

/* A chunk has this count if the sequence array had no space left for it. */
#define GPU_NO_ROOM UINT32_MAX

static_assert(LZ_CHUNK_SIZE % GPU_ALIGNMENT == 0, "every chunk starts at such a multiple, too");
static_assert(LZ_CHUNKS(LZ_SEGMENT_MAX) <= UINT16_MAX, "a chunk's number in 16 bits");
static_assert(LZ_CHUNK_SIZE == LZ_WINDOW_SIZE, "a chunk's history is the chunk before");

/*
 * Readable bytes after a batch's input in device memory. Kernels read up to two steps of positions
 * (warp.cuh) past a chunk's end. Static assertions check that this number is large enough. Raise it
 * if a new kernel reads further. A larger number only costs memory.
 *
 * After a segment's end, these bytes belong to another segment, or are undefined. No result depends
 * on them. They change only the hashes of the segment's last positions, where fewer bytes are left
 * than a hash covers. No search starts at these positions. No search reaches them either, since
 * searches only go back.
 */
#define GPU_INPUT_PAD 4096

/* Bytes of a block's shared memory that are left for statically declared variables. Dynamic shared
 * memory may take the rest (shared_size). If a kernel uses all of shared_size and declares more
 * variables than fit, raise this number. A larger number leaves less dynamic shared memory to
 * finders. */
#define GPU_SHARED_STATIC 1024

/* One chunk of a batch: an entry of the table that the host makes for the kernels. The table lists
 * a segment's chunks in order, one directly after another. */
struct alignas(16) gpu_span {
    uint32_t start;   /* offset of its first byte in the input; a multiple of GPU_ALIGNMENT */
    uint32_t end;     /* offset of its end */
    uint32_t history; /* bytes before `start` that matches may reach: 0 or LZ_WINDOW_SIZE */
    /* Chunks of the group (lzss/optimal.h) that starts with this chunk; 0: no group starts here. */
    uint16_t group;
    uint16_t before; /* chunks of the segment before this one */
};

/* A batch as kernels see it. All pointers are device addresses. */
struct gpu_view {
    /* 16-byte aligned; GPU_INPUT_PAD bytes after the last segment are readable. */
    const uint8_t *input;
    const struct gpu_span *spans; /* one for each chunk */
    uint32_t chunks;              /* chunks in the batch */
    uint32_t shared_size;         /* bytes of dynamic shared memory that a block may have */
    /* LZ_CHUNK_SIZE tags for each chunk. Until a finder writes the tags, it may keep other numbers
     * there. */
    uint16_t *tags;
    void *scratch; /* the finder's memory, scratch() bytes for each chunk */
    /* Space for `capacity` sequences. Chunks take their shares in no fixed order. */
    struct lz_sequence *sequences;
    uint32_t capacity;
    uint32_t *used; /* sequences that chunks have asked space for; 0 at the start */
    struct gpu_result *results;
};

/* Returns the sum of the warp's values to all lanes. */
template <typename T> static __device__ __forceinline__ T gpu_warp_sum(T value)
{
    for (int by = WARP / 2; by > 0; by /= 2)
        value += __shfl_xor_sync(ALL_LANES, value, by);
    return value;
}

/* Returns n, or the next multiple of `to`. */
static inline size_t gpu_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Loads the span of chunk c, as one load of 16 bytes. */
static __device__ __forceinline__ gpu_span gpu_chunk_span(const gpu_view &v, uint32_t c)
{
    const uint4 span = __ldg((const uint4 *)(v.spans + c));

    return {span.x, span.y, span.z, (uint16_t)span.w, (uint16_t)(span.w >> 16)};
}

/* The bytes_a_sequence (struct gpu_finder) of the levels' finders. Most of their matches have four
 * bytes or more. A higher number takes less device memory, but then more chunks find no space for
 * their sequences, and the CPU has to match their segments again. */
#define GPU_BYTES_A_SEQUENCE 4

/* A match finder on the GPU. match/NAME.cu defines the finder NAME as gpu_finder_NAME. */
struct gpu_finder {
    /* Returns the scratch memory that the finder needs for each chunk, in bytes. */
    size_t (*scratch)(const struct lz_level *level);

    /* Queues the kernels that do most of the work. NULL: `parse` does all the work. */
    cudaError_t (*find)(const gpu_view &v, const struct lz_level *level, cudaStream_t stream);

    /* Queues the last kernels, which fill in the batch's tags. For each chunk, one warp, or a few,
     * takes long sequential walks. The walks leave most of the device free, so they run beside
     * other batches' `find` kernels. */
    cudaError_t (*parse)(const gpu_view &v, const struct lz_level *level, cudaStream_t stream);

    /* A batch has space for one sequence in this many input bytes. With LZ_MIN_MATCH, the space is
     * always enough. With a higher number, some chunks may get GPU_NO_ROOM. Their segments then
     * fail the caller's check, and the CPU matches them. */
    uint32_t bytes_a_sequence;

    /* Loads all kernels that `find` and `parse` queue (gpu_load). */
    cudaError_t (*load)(void);
};

/* Loads kernels[0..count) onto the current device. Without this, CUDA loads each kernel at its
 * first launch, and the launch waits inside the driver for all kernels that run. If one of them
 * never ended, no deadline (wait.cu) could end the wait. */
cudaError_t gpu_load(const void *const *kernels, size_t count);

template <size_t COUNT> static inline cudaError_t gpu_load(const void *const (&kernels)[COUNT])
{
    return gpu_load(kernels, COUNT);
}

/*
 * Lets the blocks of a kernel have `size` bytes of dynamic shared memory; levels may ask for
 * different sizes. Returns an error if a block of this device cannot have that many.
 *
 * CUDA has one limit for each kernel on a device, and all threads and engines share it. So this
 * function always sets the limit to the most that the device allows. Otherwise, an engine that
 * needs less would lower the limit for an engine that needs more.
 */
template <typename Kernel>
static inline cudaError_t gpu_allow_shared(Kernel *kernel, const gpu_view &v, size_t size)
{
    if (size <= 48 << 10)
        return cudaSuccess; /* every kernel may have this much */
    if (size > v.shared_size)
        return cudaErrorInvalidValue;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)v.shared_size);
}

/* Like the function above, for a kernel whose blocks always have `size` bytes. */
template <typename Kernel> static inline cudaError_t gpu_allow_shared(Kernel *kernel, size_t size)
{
    if (size <= 48 << 10)
        return cudaSuccess;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)size);
}

/* Queues the kernel that turns the tags of all chunks into sequences and results (compact.cu).
 * gpu_code_fits_device has loaded the kernel. */
cudaError_t gpu_tags_to_sequences(const gpu_view &v, cudaStream_t stream);

/* Makes `device` the calling thread's current device. Fails if the device is lost
 * (gpu_device_is_lost). Also sets the thread's capture mode to relaxed. Otherwise, an allocation or
 * an event query of this thread would make a stream capture in another thread fail. */
cudaError_t gpu_use_device(int device);

/* Limits the waits for a device, or for one engine's work on it (wait.cu). */
struct gpu_watch {
    int device;
    double seconds; /* the most seconds of a wait */
    double spin;    /* seconds for which a wait asks all the time, before it begins to sleep */
    bool is_lost;   /* a wait has taken longer; use gpu_is_lost */
};

/* Prepares for waits for the device's work on `bytes` bytes. `seconds` is for tests: the most
 * seconds of a wait; 0: the usual limit. */
void gpu_watch_init(struct gpu_watch *w, int device, uint64_t bytes, double seconds, double spin);

/* Whether a wait has taken too long, here, or in another engine for the device whose work still has
 * not ended. If so, the device may still use all memory that it was given: do not free the memory,
 * do not use it again, and queue no more work. */
bool gpu_is_lost(const struct gpu_watch *w);

/* Whether there is work on the device that has taken too long and has not ended: a call of CUDA
 * could wait for it without an end. */
bool gpu_device_is_lost(int device);

/* Wait for the event, or for all work in the stream. Return cudaErrorLaunchTimeout if the device is
 * lost, or the error of the work. */
cudaError_t gpu_await_event(struct gpu_watch *w, cudaEvent_t event);
cudaError_t gpu_await_stream(struct gpu_watch *w, cudaStream_t stream);

/* For tests: queues a kernel that takes some 20 s. */
cudaError_t gpu_stay_busy(cudaStream_t stream);

/* As cudaGetErrorString, with words of our own for a device that is lost. */
const char *gpu_error_text(cudaError_t status);

/* Whether this program contains code for the current device (compact.cu). Finds out by loading the
 * kernel of gpu_tags_to_sequences. */
cudaError_t gpu_code_fits_device(void);

#endif
