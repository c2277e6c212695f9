/*
 * lists.cu - codes and decodes the format of the position lists on a GPU, a thread for each block
 *
 * As in section III.D and E of the paper: the bytes' frequencies are counted on the GPU, one table
 * serves the whole file and is read from shared memory, and "each thread will encode its block
 * independently". The paper lets each thread or block of threads count one byte value. Here, a
 * block of threads counts all values in one block of the file, because then each byte is read once.
 * The frequencies are scaled on the host (paper_set_model), since there are only 256.
 */
#include "papers/codec/kernels.cuh"
#include "papers/codec/position_lists.h"

/* Threads of a block that codes, as in threads.cu, and of a block that counts. */
#define THREADS 32
#define COUNT_THREADS 256

static_assert(sizeof(range_model) % sizeof(uint16_t) == 0, "is copied in numbers of 16 bits");

/* Copies the model to shared memory. All threads of the block call this function. */
static __device__ __forceinline__ void load_model(range_model *m, const range_model *from)
{
    for (uint32_t i = threadIdx.x; i < sizeof(*m) / sizeof(m->sums[0]); i += THREADS)
        m->sums[i] = from->sums[i];
    __syncthreads();
}

static __global__ void __launch_bounds__(THREADS) pack_blocks(codec_view v)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;
    const size_t begin = (size_t)c * v.shape.chunk;

    if (c < v.chunks)
        v.packed_sizes[c] =
            position_lists_pack(&v.shape, v.plain + begin, v.tags + begin, codec_plain(v, c),
                                v.packed + (size_t)c * v.packed_slot);
}

/* Adds how often each byte occurs in a packed block to v.counts. */
static __global__ void __launch_bounds__(COUNT_THREADS) count_bytes(codec_view v)
{
    __shared__ uint32_t counts[256];
    const uint8_t *packed = v.packed + (size_t)blockIdx.x * v.packed_slot;
    const uint32_t size = v.packed_sizes[blockIdx.x];

    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < size; i += COUNT_THREADS)
        atomicAdd(&counts[packed[i]], 1u);
    __syncthreads();
    if (counts[threadIdx.x] > 0)
        atomicAdd(&v.counts[threadIdx.x], (unsigned long long)counts[threadIdx.x]);
}

static __global__ void __launch_bounds__(THREADS) encode_blocks(codec_view v)
{
    __shared__ range_model model;
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    load_model(&model, v.model);
    if (c < v.chunks)
        v.sizes[c] = range_encode(&model, v.packed + (size_t)c * v.packed_slot, v.packed_sizes[c],
                                  v.slots + (size_t)c * v.slot);
}

static __global__ void __launch_bounds__(THREADS) decode_blocks(codec_view v)
{
    __shared__ range_model model;
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    load_model(&model, v.model);
    if (c >= v.chunks)
        return;
    const codec_place place = v.places[c];

    if (!position_lists_decode(&model, v.coded + place.at, place.size,
                               v.packed + (size_t)c * v.packed_slot,
                               v.plain + (size_t)c * v.shape.chunk, codec_plain(v, c)))
        *v.is_damaged = 1;
}

cudaError_t codec_pack_lists(const codec_view &v, cudaStream_t stream)
{
    pack_blocks<<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

cudaError_t codec_count_lists(const codec_view &v, cudaStream_t stream)
{
    count_bytes<<<v.chunks, COUNT_THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

cudaError_t codec_encode_lists(const codec_view &v, cudaStream_t stream)
{
    encode_blocks<<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

cudaError_t codec_decode_lists(const codec_view &v, cudaStream_t stream)
{
    decode_blocks<<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}
