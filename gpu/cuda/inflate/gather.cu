/*
 * gather.cu - brings many inputs together into a batch, on the GPU
 *
 * Inputs are copied 16 bytes at a time.  So many.cu chooses each input's place such that source and
 * place have the same address modulo 16.
 */
#include "base/zlib_header.h"
#include "gpu/cuda/inflate/bits.cuh"
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/inflate/pieces.cuh"

#define THREADS 256

/* Bytes of an input that a block of threads copies at a time. */
#define SLICE (64u << 10)

/* The most blocks of threads for one input. */
#define SLICES_MAX 256u

/* Copies from[0..len) to to[]. */
static __device__ void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t len)
{
    const uint32_t lead = min((uint32_t)(-(uintptr_t)to & 15), len);
    const uint32_t blocks = ((uintptr_t)to & 15) == ((uintptr_t)from & 15) ? (len - lead) / 16 : 0;
    const uint32_t rest = lead + 16 * blocks;

    for (uint32_t i = threadIdx.x; i < blocks; i += THREADS)
        ((uint4 *)(to + lead))[i] = ((const uint4 *)(from + lead))[i];
    for (uint32_t i = threadIdx.x; i < lead; i += THREADS)
        to[i] = from[i];
    for (uint32_t i = rest + threadIdx.x; i < len; i += THREADS)
        to[i] = from[i];
}

static __global__ void __launch_bounds__(THREADS)
    gather_inputs(uint8_t *batch, const gpu_input *inputs)
{
    const gpu_input i = inputs[blockIdx.x];

    if (i.from == NULL)
        return;
    for (uint32_t at = blockIdx.y * SLICE; at < i.length; at += gridDim.y * SLICE)
        copy_bytes(batch + i.at + at, i.from + at, min(i.length - at, SLICE));
}

/* Returns the number of the byte after the zlib header that starts at byte number `byte`.  Returns
 * 0 if the header is not valid, or asks for a dictionary. */
static __device__ uint32_t zlib_header_end(const gpu_compressed &in, uint32_t byte)
{
    const uint32_t method = gpu_byte_at(in.words, byte), flags = gpu_byte_at(in.words, byte + 1);

    return zlib_header_is_good(method, flags) ? byte + ZLIB_HEADER_SIZE : 0;
}

static __global__ void __launch_bounds__(THREADS)
    find_first_blocks(gpu_compressed in, gpu_input *inputs, uint32_t count)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

    if (i >= count)
        return;
    const uint32_t at = inputs[i].at;
    const uint32_t byte = in.wrapping == GPU_MANY_GZIP   ? gpu_header_end(in, at)
                          : in.wrapping == GPU_MANY_ZLIB ? zlib_header_end(in, at)
                                                         : at;

    inputs[i].start = byte < at + inputs[i].length ? 8 * byte : 0;
}

cudaError_t gpu_gather(const gpu_compressed &in, gpu_input *inputs, uint32_t count,
                       uint32_t longest, cudaStream_t stream)
{
    const uint32_t slices = max(1u, min((longest + SLICE - 1) / SLICE, SLICES_MAX));

    gather_inputs<<<dim3(count, slices), THREADS, 0, stream>>>((uint8_t *)in.words, inputs);
    find_first_blocks<<<(count + THREADS - 1) / THREADS, THREADS, 0, stream>>>(in, inputs, count);
    return cudaGetLastError();
}

cudaError_t gpu_load_gather(void)
{
    const void *const kernels[] = {(const void *)gather_inputs, (const void *)find_first_blocks};

    return gpu_load(kernels);
}
