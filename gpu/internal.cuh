/*
 * internal.cuh - what the files of gpu/ share; nothing outside gpu/ includes it
 */
#ifndef GZLZSS_GPU_INTERNAL_CUH
#define GZLZSS_GPU_INTERNAL_CUH

#include <cuda_runtime.h>

#include "gpu/gpu.h"
#include "lzss/finders.h"
#include "lzss/lzss.h"

/* Where a chunk's sequences start in the batch's, and how many there are. */
struct gpu_result {
    uint32_t offset;
    uint32_t count;
};

/* The count of a chunk whose sequences did not fit. */
#define GPU_NO_ROOM UINT32_MAX

static_assert(LZ_CHUNK_SIZE % GPU_ALIGNMENT == 0, "every chunk starts at such a multiple, too");
static_assert(LZ_CHUNK_SIZE == LZ_WINDOW_SIZE, "a chunk's history is the chunk before");

/*
 * Bytes behind a batch's input, in device memory, that may be read: two steps of positions
 * (warp.cuh), and their bytes.  Kernels read as far behind every chunk.  Behind a segment's end,
 * these bytes are another segment's, or any; no result depends on them.  They take part in the
 * hashes of the segment's last positions alone.  No search starts from these positions, being too
 * close to the end for a match of as many bytes as are hashed, and no search meets them, since it
 * goes back from where it starts.
 */
#define GPU_INPUT_PAD 4096

/* Of a block's shared memory, what kernels have beside what they ask for when they are queued. */
#define GPU_SHARED_STATIC 1024

/* One chunk of a batch: an entry of the table that the host makes for the kernels.  Chunks of one
 * segment are side by side in it, in order. */
struct alignas(16) gpu_span {
    uint32_t start;   /* of its bytes in the input, a multiple of GPU_ALIGNMENT */
    uint32_t end;     /* of its bytes; what lies behind may be another segment */
    uint32_t history; /* bytes before start that it may refer to: 0 or LZ_WINDOW_SIZE */
    uint32_t group;   /* chunks of the group that starts with it (lzss/optimal.h); 0: none does */
};

/* A batch as kernels see it; all pointers are device memory. */
struct gpu_view {
    const uint8_t *input; /* 16-byte aligned, GPU_INPUT_PAD readable bytes after the last segment */
    const struct gpu_span *spans; /* one for each chunk */
    uint32_t chunks;              /* of the whole batch */
    uint32_t shared_size;         /* bytes of shared memory that a kernel may ask for a block */
    uint16_t *tags; /* LZ_CHUNK_SIZE for every chunk; tagging has distances there first */
    void *scratch;  /* what the finder asked for */
    struct lz_sequence *sequences; /* room for `capacity`; chunks take their parts in any order */
    uint32_t capacity;
    uint32_t *used; /* sequences taken, 0 at the start */
    struct gpu_result *results;
};

/* The span of chunk c: one load of 16 bytes. */
static __device__ __forceinline__ gpu_span gpu_chunk_span(const gpu_view &v, uint32_t c)
{
    const uint4 span = __ldg((const uint4 *)(v.spans + c));

    return {span.x, span.y, span.z, span.w};
}

/* The levels' finders' room: most of their matches have four bytes or more. */
#define GPU_BYTES_A_SEQUENCE 4

/* A match finder's part of the work on a batch; gpu/NAME.cu defines the one of that name as
 * gpu_finder_NAME. */
struct gpu_finder {
    /* The bytes of scratch memory that it needs for a chunk. */
    size_t (*scratch)(const struct lz_level *level);

    /* Queues the kernels that do the bulk of the work.  NULL: `parse` does all. */
    cudaError_t (*find)(const gpu_view &v, const struct lz_level *level, cudaStream_t stream);

    /* Queues those that come after them and fill the batch's tags: one walk along each chunk, which
     * take long but leave most of the device free for other batches. */
    cudaError_t (*parse)(const gpu_view &v, const struct lz_level *level, cudaStream_t stream);

    /* A batch has room for one sequence for every so many input bytes; LZ_MIN_MATCH is always
     * enough.  If a batch has more sequences all the same, chunks that find no room are marked.  The
     * caller's check then fails for their segments, and the CPU matches them. */
    uint32_t bytes_a_sequence;
};

/*
 * Lets blocks of a kernel have `size` bytes of shared memory, which need not be the same for all
 * levels; an error if a device's blocks cannot have as much.  What is allowed holds for all who launch
 * the kernel on the device.  So it is the most there is: an engine with smaller blocks does not take from
 * others what they need.
 */
template <typename Kernel>
static inline cudaError_t gpu_allow_shared(Kernel *kernel, const gpu_view &v, size_t size)
{
    if (size <= 48 << 10)
        return cudaSuccess; /* as always */
    if (size > v.shared_size)
        return cudaErrorInvalidValue;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)v.shared_size);
}

/* Queues the kernel that turns the tags of all chunks into sequences and results (compact.cu). */
cudaError_t gpu_tags_to_sequences(const gpu_view &v, cudaStream_t stream);

/* Makes the device the thread's current one.  What the thread does from now on is nothing to streams
 * that others capture into graphs meanwhile: without this, a capture may fail because some other
 * thread allocates memory, or looks at an event. */
cudaError_t gpu_use_device(int device);

/* Whether this program has code that the current device can run (compact.cu). */
cudaError_t gpu_code_fits_device(void);

#endif
