/*
 * crc.cu - the CRC-32 of gzip, on the GPU
 *
 * Without its complements at the start and the end, a CRC is linear.  Let a second part of n bytes
 * follow a first part.  To get the CRC of both, move the first part's CRC over n zero bytes, which
 * is a multiplication by a power of x, and take the exclusive or with the second part's CRC.
 *
 * A block of threads sums up one part of the output, row by row.  A row has one word for each
 * thread, so that neighbours load neighbouring words.  For each word, a thread adds the word to its
 * CRC, and moves the CRC over a whole row, by tables.  After its last word, that is too far.  The
 * last row ends where the part ends (the first row may have fewer words), so how much too far
 * depends only on the thread's number.  At last, each thread moves its CRC back, and the exclusive
 * or of all CRCs is the part's CRC.
 *
 * The complements: in the first part of a member (is_first), the first four bytes are complemented
 * here.  The host complements the CRC of all the member's parts.
 */
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/internal.cuh"

#define THREADS 256

/* Bytes of a row. */
#define ROW (4 * THREADS)

/* The polynomial of gzip's CRC-32.  Bit 31 is the coefficient of x to the power of 0. */
#define POLYNOMIAL 0xedb88320u

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
    uint32_t power = 1u << 31, square = 1u << 30; /* the polynomials 1 and x */

    for (; n > 0; n /= 2) {
        if (n % 2 != 0)
            power = multiply(power, square);
        square = multiply(square, square);
    }
    return power;
}

/* x to the power of n equals x to the power of n + ORDER. */
#define ORDER UINT32_MAX

/* powers.of[i] is the last factor of thread i's CRC.  The loop in sum_up moves this CRC over a
 * whole row from the start of the thread's last word on.  But the part ends THREADS - i words after
 * that start.  So this power of x moves the CRC back over i words. */
struct thread_powers {
    uint32_t of[THREADS];
};

static constexpr thread_powers make_powers(void)
{
    thread_powers powers = {};

    for (uint32_t i = 0; i < THREADS; i++)
        powers.of[i] = power_of_x(ORDER - 8 * ROW + 32 * (THREADS - i));
    return powers;
}

static __device__ const thread_powers powers = make_powers();

/* Returns the word that ends `after` words before the part's end.  If the part's first word has
 * fewer than four bytes, zeros come before them. */
static __device__ __forceinline__ uint32_t word_at(const uint8_t *p, const gpu_crc_part &part,
                                                   uint32_t after)
{
    const int32_t at = (int32_t)(part.length - 4 * after) - 4;
    uint32_t word = 0;

    if (at >= 4 && ((uintptr_t)(p + at) & 3) == 0)
        return *(const uint32_t *)(p + at);
    for (int32_t i = at < 0 ? 0 : at; i < at + 4; i++) {
        const uint32_t byte = p[i] ^ (part.is_first && i < 4 ? 255u : 0);

        word |= byte << (8 * (i - at));
    }
    return word;
}

/* Returns the sum of a part of fewer than 8 bytes. */
static __device__ uint32_t sum_up_few(const uint8_t *p, const gpu_crc_part &part)
{
    uint32_t sum = part.is_first ? UINT32_MAX : 0;

    for (uint32_t i = 0; i < part.length; i++) {
        sum ^= p[i];
        for (uint32_t k = 0; k < 8; k++)
            sum = sum >> 1 ^ ((sum & 1) != 0 ? POLYNOMIAL : 0);
    }
    return sum;
}

/* Sets the CRC of each part.  One block sums up one part. */
static __global__ void __launch_bounds__(THREADS) sum_up(const uint8_t *bytes, gpu_crc_part *parts)
{
    /* table[k][i]: the power of x that moves a CRC over a row, times a word in which byte k is i
     * and the others are 0.  basis[b]: the same power, times a word that has only bit b. */
    __shared__ uint32_t table[4][256], basis[32];
    __shared__ uint32_t sums[THREADS];
    constexpr uint32_t row_power = power_of_x(8 * ROW);
    const gpu_crc_part part = parts[blockIdx.x];
    const uint8_t *const p = bytes + part.start;
    const uint32_t words = (part.length + 3) / 4, rows = (words + THREADS - 1) / THREADS;
    uint32_t sum = 0;

    if (part.length < 8) {
        if (threadIdx.x == 0)
            parts[blockIdx.x].crc = sum_up_few(p, part);
        return;
    }
    if (threadIdx.x < 32)
        basis[threadIdx.x] = multiply(1u << threadIdx.x, row_power);
    __syncthreads();
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t product = 0;

        for (uint32_t bit = 0; bit < 8; bit++)
            product ^= (threadIdx.x >> bit & 1) != 0 ? basis[8 * k + bit] : 0;
        table[k][threadIdx.x] = product;
    }
    __syncthreads();
    for (uint32_t row = rows; row > 0; row--) {
        const uint32_t after = row * THREADS - 1 - threadIdx.x;

        if (after < words)
            sum ^= word_at(p, part, after);
        sum = table[0][sum & 255] ^ table[1][sum >> 8 & 255] ^ table[2][sum >> 16 & 255] ^
              table[3][sum >> 24];
    }
    sums[threadIdx.x] = multiply(sum, powers.of[threadIdx.x]);
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] ^= sums[threadIdx.x + half];
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
    /* Nearly all parts have this length, so the compiler computes the power for it. */
    constexpr uint32_t power = power_of_x(8 * (uint64_t)GPU_CRC_PART);

    return multiply(sum, length == GPU_CRC_PART ? power : power_of_x(8 * length)) ^ next;
}

cudaError_t gpu_load_crc(void)
{
    const void *const kernels[] = {(const void *)sum_up};

    return gpu_load(kernels);
}
