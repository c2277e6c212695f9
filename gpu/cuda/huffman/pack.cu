/*
 * pack.cu - moves the segments' outputs together, and prepares the sums of input and output
 *
 * Until now, each segment had room for the longest output.  The bus takes only what is used.
 */
#include "gpu/cuda/huffman/coding.cuh"

#define THREADS 256

/* Bytes that a block of threads copies. */
#define SLICE (64u << 10)

/* Gives each segment its place among the packed outputs, and fills in the parts of its output's
 * CRC (gpu_crc_part). */
static __global__ void __launch_bounds__(THREADS) place_outputs(gpu_coder c)
{
    const uint32_t segment = blockIdx.x * THREADS + threadIdx.x;

    if (segment >= c.segments)
        return;
    const gpu_to_code t = c.to_code[segment];
    gpu_coded *const r = &c.coded[segment];
    const uint32_t length = r->bad == 0 ? r->length : 0;

    r->packed = atomicAdd(c.packed_size, (length + 15) / 16 * 16);
    for (uint32_t i = 0; i < t.out_sums; i++) {
        gpu_crc_part part = {};

        if (i * GPU_CRC_PART < length) {
            part.start = r->packed + (uint64_t)i * GPU_CRC_PART;
            part.length = min(length - i * GPU_CRC_PART, GPU_CRC_PART);
        }
        part.is_first = i == 0;
        c.out_sums[t.out_sum + i] = part;
    }
}

static __global__ void __launch_bounds__(THREADS) pack(gpu_coder c)
{
    const gpu_to_code t = c.to_code[blockIdx.x];
    const gpu_coded r = c.coded[blockIdx.x];
    const uint32_t length = r.bad == 0 ? r.length : 0;
    const uint4 *const from = (const uint4 *)((const uint8_t *)c.out + t.out);
    uint4 *const to = (uint4 *)(c.packed + r.packed);

    for (uint32_t at = blockIdx.y * SLICE; at < length; at += gridDim.y * SLICE)
        for (uint32_t i = at / 16 + threadIdx.x; i < min(at + SLICE, length + 15) / 16;
             i += THREADS)
            to[i] = from[i];
}

cudaError_t gpu_pack_output(const gpu_coder &c, uint32_t longest, cudaStream_t stream)
{
    const uint32_t slices = min(longest / SLICE + 1, 64u);
    cudaError_t status;

    place_outputs<<<(c.segments + THREADS - 1) / THREADS, THREADS, 0, stream>>>(c);
    pack<<<dim3(c.segments, slices), THREADS, 0, stream>>>(c);
    status = cudaGetLastError();
    if (status == cudaSuccess)
        status = gpu_sum_up(c.packed, c.out_sums, c.out_sum_count, stream);
    return status;
}

cudaError_t gpu_load_pack(void)
{
    const void *const kernels[] = {(const void *)place_outputs, (const void *)pack};

    return gpu_load(kernels);
}
