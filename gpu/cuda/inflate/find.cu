/*
 * find.cu - finds where a block of DEFLATE may start, on the GPU (twin of inflate/find.c)
 *
 * Candidates are:
 *
 *   - Dynamic blocks that are not final.  The GPU tries every bit, in three tests:
 *       1. A thread tests 32 places at once, with shifts of a word: three bits of the header, and
 *          the ranges of two of its numbers.  One place in nine passes.
 *       2. The code of the code lengths must be complete.  One place in 1,000 passes both tests,
 *          and goes to a list.
 *       3. A second kernel reads the whole headers at the listed places.  Nearly all places that
 *          pass are true starts of blocks.
 *   - Places after empty stored blocks.  `pigz -i` and this program end segments with such a
 *     block.  A block of any type may follow it.
 *   - Stored blocks, found by their length and its complement.
 *   - Places after gzip headers.  In BGZF, there are no other candidates.  These places suffice
 *     there, as a member of BGZF has at most 64 KiB of output.
 *
 * A false candidate costs a little time.  The host finds out which candidates are false when it
 * follows the chain of units (units.cu).
 */
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/inflate/bits.cuh"

#define THREADS 256

/* The most blocks of threads.  A GPU does not run more at a time; others would only wait. */
#define BLOCKS_MAX 2048u

/* LENGTHS_AT_A_TIME: code lengths, of 3 bits each, that one table look-up adds up.  LENGTHS_TABLE:
 * entries of that table. */
#define LENGTHS_AT_A_TIME 4
#define LENGTHS_TABLE (1u << (3 * LENGTHS_AT_A_TIME))

static __device__ void append(const gpu_list &list, uint32_t value)
{
    const uint32_t i = atomicAdd(list.count, 1u);

    if (i < list.most)
        list.values[i] = value;
}

/* Returns a mask of the places, among the lowest 32 bits of x, where the header of a dynamic block
 * that is not final may start.  Tests the header's first three bits, and its two numbers of codes,
 * whose fields of five bits must not be 30 or 31. */
static __device__ __forceinline__ uint32_t may_start(uint64_t x)
{
    const uint64_t is_dynamic = ~x & ~(x >> 1) & (x >> 2);
    const uint64_t pairs = x & (x >> 1), fours = pairs & (pairs >> 2);

    return (uint32_t)(is_dynamic & ~(fours >> 4) & ~(fours >> 9));
}

/* Whether the code of the code lengths is complete, that is, whether its codes use all 128 patterns
 * of seven bits.  `low` has the header's first 64 bits, `high` the bits after them.  used[i] is the
 * number of patterns that LENGTHS_AT_A_TIME code lengths use if the bits of these lengths are i. */
static __device__ __forceinline__ bool is_complete(const uint16_t *used, uint64_t low,
                                                   uint64_t high)
{
    const uint32_t count = (uint32_t)(low >> 13 & 15) + 4;
    uint64_t lengths = (low >> 17 | high << 47) & (((uint64_t)1 << (3 * count)) - 1);
    uint32_t sum = 0;

    for (; lengths != 0 && sum <= 128; lengths >>= 3 * LENGTHS_AT_A_TIME)
        sum += used[lengths % LENGTHS_TABLE];
    return sum == 128;
}

/* Whether a stored block of `length` bytes may have its length field at byte number `byte`.  The
 * three bits before that field must be 0, and the block must end in the batch.  Another block must
 * follow whose header may be good.  If the following block is a fixed block, it must be empty,
 * because other bits look like a fixed block too often by chance. */
static __device__ bool stored_may_be(const gpu_compressed &in, uint32_t byte, uint32_t length)
{
    const uint32_t next = 8 * (byte + 4 + length);
    uint64_t header;

    if ((gpu_byte_at(in.words, byte - 1) & 0xe0) != 0 || byte + 12 + length > in.bits / 8)
        return false;
    header = gpu_bits_at(in.words, next);
    switch (header >> 1 & 3) {
    case DEFLATE_STORED:
        return (header >> 8 & 0xffff) == (~header >> 24 & 0xffff);
    case DEFLATE_FIXED:
        return (header >> 3 & 0x7f) == 0;
    case DEFLATE_DYNAMIC:
        return gpu_header_is_good(in, next + 3);
    default:
        return false;
    }
}

/* Looks for candidates other than dynamic blocks at the four bytes of word number `word`.  `x` has
 * that word and the next. */
static __device__ void look_at_bytes(const gpu_compressed &in, uint32_t word, uint64_t x,
                                     const gpu_list &found)
{
    for (uint32_t i = 0; i < 4; i++, x >>= 8) {
        const uint32_t four = (uint32_t)x, byte = 4 * word + i;

        if (four == 0xffff0000u) {
            append(found, 8 * (byte + 4));
        } else if ((four >> 16 ^ (four & 0xffff)) == 0xffff && byte > 0) {
            if (stored_may_be(in, byte, four & 0xffff))
                append(found, 8 * byte - 3);
        } else if ((four & 0xe0ffffffu) == 0x00088b1fu) {
            const uint32_t end = gpu_header_end(in, byte);

            if (end != 0)
                append(found, 8 * end);
        }
    }
}

static __global__ void __launch_bounds__(THREADS)
    find_some(gpu_compressed in, gpu_list found, gpu_list maybe)
{
    __shared__ uint16_t used[LENGTHS_TABLE];
    const uint32_t words = (in.find_end + 31) / 32, step = gridDim.x * THREADS;

    for (uint32_t i = threadIdx.x; i < LENGTHS_TABLE; i += THREADS) {
        uint32_t sum = 0;

        for (uint32_t k = 0; k < 3 * LENGTHS_AT_A_TIME; k += 3)
            sum += (128u >> (i >> k & 7)) & 127;
        used[i] = (uint16_t)sum;
    }
    __syncthreads();
    for (uint32_t w = blockIdx.x * THREADS + threadIdx.x; w < words; w += step) {
        const uint64_t x = (uint64_t)in.words[w] | (uint64_t)in.words[w + 1] << 32;
        const uint64_t y = (uint64_t)in.words[w + 2] | (uint64_t)in.words[w + 3] << 32;

        look_at_bytes(in, w, x, found);
        for (uint32_t places = may_start(x); places != 0; places &= places - 1) {
            const uint32_t i = (uint32_t)__ffs((int)places) - 1;
            const uint64_t low = i == 0 ? x : x >> i | y << (64 - i);

            if (is_complete(used, low, y >> i))
                append(maybe, 32 * w + i);
        }
    }
}

/* Finds the places after gzip headers. */
static __global__ void __launch_bounds__(THREADS) find_members(gpu_compressed in, gpu_list found)
{
    const uint32_t words = (in.find_end + 31) / 32, step = gridDim.x * THREADS;

    for (uint32_t w = blockIdx.x * THREADS + threadIdx.x; w < words; w += step) {
        uint64_t x = (uint64_t)in.words[w] | (uint64_t)in.words[w + 1] << 32;

        for (uint32_t byte = 4 * w; byte < 4 * w + 4; byte++, x >>= 8)
            if (((uint32_t)x & 0xe0ffffffu) == 0x00088b1fu && gpu_header_end(in, byte) != 0)
                append(found, 8 * gpu_header_end(in, byte));
    }
}

/* Appends to `found` the places of `maybe` where a whole header is good. */
static __global__ void __launch_bounds__(THREADS)
    check_headers(gpu_compressed in, gpu_list found, gpu_list maybe)
{
    const uint32_t n = min(*maybe.count, maybe.most);

    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        if (maybe.values[i] < in.find_end && gpu_header_is_good(in, maybe.values[i] + 3))
            append(found, maybe.values[i]);
}

cudaError_t gpu_find_starts(const gpu_compressed &in, const gpu_list &found, const gpu_list &maybe,
                            cudaStream_t stream)
{
    const uint32_t words = (in.find_end + 31) / 32;
    const uint32_t blocks = min((words + THREADS - 1) / THREADS, BLOCKS_MAX);

    if (words == 0)
        return cudaSuccess;
    if (in.is_bgzf) {
        find_members<<<blocks, THREADS, 0, stream>>>(in, found);
        return cudaGetLastError();
    }
    find_some<<<blocks, THREADS, 0, stream>>>(in, found, maybe);
    check_headers<<<blocks, THREADS, 0, stream>>>(in, found, maybe);
    return cudaGetLastError();
}

cudaError_t gpu_load_find(void)
{
    const void *const kernels[] = {(const void *)find_members, (const void *)find_some,
                                   (const void *)check_headers};

    return gpu_load(kernels);
}
