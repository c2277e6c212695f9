/*
 * crc.cu - the CRC-32 of gzip, on the GPU
 *
 * Without its complements at the start and the end, a CRC is linear.  Let a second part of n bytes
 * follow a first part.  To get the CRC of both, move the first part's CRC over n zero bytes, which
 * is a multiplication by a power of x, and take the exclusive or with the second part's CRC.
 *
 * A block of threads sums up one part of the output.  Each thread has EACH bytes.  The threads'
 * bytes end where the part ends, so only the first threads may have fewer bytes, or none.  So the
 * distances by which CRCs move depend only on the threads' numbers.  Neighbours join their CRCs in
 * a tree.  The thread that has the first byte of a member's output in the group begins with the
 * complement.  The host complements the sum.
 */
#include "gpu/pieces.cuh"
#include "gpu/internal.cuh"

#define THREADS 256
#define EACH (GPU_CRC_PART / THREADS)

/* The polynomial of gzip's CRC-32.  Bit 31 is the coefficient of x to the power of 0. */
#define POLYNOMIAL 0xedb88320u

static_assert((EACH & (EACH - 1)) == 0, "distances are powers of two");

/* Returns the product of a and b modulo the polynomial. */
static constexpr __host__ __device__ uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (uint32_t i = 0; i < 32; i++) {
        product ^= (a >> (31 - i) & 1) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Returns x to the power of n, modulo the polynomial. */
static constexpr __host__ __device__ uint32_t power_of_x(uint64_t n)
{
    uint32_t power = 1u << 31, square = 1u << 30; /* 1, and x */

    for (; n > 0; n /= 2) {
        if (n % 2 != 0)
            power = multiply(power, square);
        square = multiply(square, square);
    }
    return power;
}

/* Sets the CRC of each part.  One block sums up one part. */
static __global__ void __launch_bounds__(THREADS) sum_up(const uint8_t *bytes, gpu_crc_part *parts)
{
    __shared__ uint32_t table[4][256];
    __shared__ uint32_t sums[THREADS];
    const gpu_crc_part part = parts[blockIdx.x];
    /* This thread has EACH bytes of the part, from byte `from` on.  If `from` is negative, the
     * bytes before 0 are not in the part. */
    const int32_t from = (int32_t)part.length - (int32_t)(EACH * (THREADS - threadIdx.x));
    const uint8_t *p = bytes + part.start;
    uint32_t crc, sum = 0, power;

    crc = threadIdx.x;
    for (uint32_t i = 0; i < 8; i++)
        crc = crc >> 1 ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
    table[0][threadIdx.x] = crc;
    __syncthreads();
    for (uint32_t k = 1; k < 4; k++) {
        crc = crc >> 8 ^ table[0][crc & 255];
        table[k][threadIdx.x] = crc;
    }
    __syncthreads();
    if (part.is_first && from <= 0 && from + (int32_t)EACH > 0)
        sum = UINT32_MAX;
    for (int32_t i = from < 0 ? 0 : from; i < from + (int32_t)EACH;) {
        if (((uintptr_t)(p + i) & 3) == 0 && i + 4 <= from + (int32_t)EACH) {
            sum ^= *(const uint32_t *)(p + i);
            sum = table[3][sum & 255] ^ table[2][sum >> 8 & 255] ^ table[1][sum >> 16 & 255] ^
                  table[0][sum >> 24];
            i += 4;
        } else {
            sum = sum >> 8 ^ table[0][(sum ^ p[i]) & 255];
            i++;
        }
    }
    sums[threadIdx.x] = sum;
    power = power_of_x(8 * EACH);
    for (uint32_t step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * step) == 0)
            sums[threadIdx.x] = multiply(sums[threadIdx.x], power) ^ sums[threadIdx.x + step];
        power = multiply(power, power);
    }
    if (threadIdx.x == 0)
        parts[blockIdx.x].crc = sums[0];
}

cudaError_t gpu_sum_up(const uint8_t *bytes, gpu_crc_part *parts, uint32_t count,
                       cudaStream_t stream)
{
    if (count == 0)
        return cudaSuccess;
    sum_up<<<count, THREADS, 0, stream>>>(bytes, parts);
    return cudaGetLastError();
}

uint32_t gpu_crc_join(uint32_t sum, uint32_t next, uint64_t length)
{
    if (sum == 0)
        return next;
    /* Nearly all parts have the same length. */
    constexpr uint32_t power = power_of_x(8 * (uint64_t)GPU_CRC_PART);

    return multiply(sum, length == GPU_CRC_PART ? power : power_of_x(8 * length)) ^ next;
}
