/*
 * adler.cu - the Adler-32 of zlib's format (RFC 1950), on the GPU
 *
 * An Adler-32 has two sums modulo BASE.  The low half is the sum of the bytes.  The high half is
 * the sum of the low halves after each byte, so it contains byte i of n exactly n - i times.  The
 * two sums of each part are computed separately, starting from 0, and joined afterwards.
 *
 * A block of threads sums up one part of the output.  Each thread has every THREADS-th byte.
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/inflate/pieces.cuh"

#define THREADS 256

#define BASE 65521u

/* A thread takes remainders only once, after its last byte.  Until then, its high half stays below
 * 2^64, and its low half below 2^32. */
static_assert(GPU_CRC_PART <= 1 << 20, "the sums fit");

static __global__ void __launch_bounds__(THREADS)
    sum_up_adler(const uint8_t *bytes, gpu_crc_part *parts)
{
    __shared__ uint32_t lows[THREADS], highs[THREADS];
    const gpu_crc_part part = parts[blockIdx.x];
    const uint8_t *p = bytes + part.start;
    uint64_t high = 0;
    uint32_t low = 0;

    for (uint32_t i = threadIdx.x; i < part.length; i += THREADS) {
        low += p[i];
        high += (uint64_t)(part.length - i) * p[i];
    }
    lows[threadIdx.x] = low % BASE;
    highs[threadIdx.x] = (uint32_t)(high % BASE);
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            lows[threadIdx.x] = (lows[threadIdx.x] + lows[threadIdx.x + half]) % BASE;
            highs[threadIdx.x] = (highs[threadIdx.x] + highs[threadIdx.x + half]) % BASE;
        }
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x].crc = highs[0] << 16 | lows[0];
}

cudaError_t gpu_sum_up_adler(const uint8_t *bytes, gpu_crc_part *parts, uint32_t count,
                             cudaStream_t stream)
{
    if (count == 0)
        return cudaSuccess;
    sum_up_adler<<<count, THREADS, 0, stream>>>(bytes, parts);
    return cudaGetLastError();
}

uint32_t gpu_adler_join(uint32_t sum, uint32_t next, uint64_t length)
{
    const uint32_t low = sum & 0xffff, n = (uint32_t)(length % BASE);
    const uint32_t high = (uint32_t)(((sum >> 16) + (uint64_t)n * low + (next >> 16)) % BASE);

    return high << 16 | (low + (next & 0xffff)) % BASE;
}

cudaError_t gpu_load_adler(void)
{
    const void *const kernels[] = {(const void *)sum_up_adler};

    return gpu_load(kernels);
}
