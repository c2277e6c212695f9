/*
 * bits.cuh - reads bits, block headers and gzip headers on the GPU; private to gpu/
 */
#ifndef GZLZSS_GPU_BITS_CUH
#define GZLZSS_GPU_BITS_CUH

#include "base/deflate.h"
#include "gpu/cuda/inflate/pieces.cuh"

/* Reads bits in order.  gpu_refill makes sure that `buffer` has 32 bits or more. */
struct gpu_reader {
    const uint32_t *next; /* the word behind `ahead` */
    uint32_t ahead;       /* the word behind the buffer's last, loaded before it is needed */
    uint32_t count;       /* number of bits in `buffer` */
    uint64_t buffer;      /* the next bits; the first is the lowest */
};

/* Moves the reader to bit number `bit` of the words. */
static __device__ __forceinline__ void gpu_seek(gpu_reader &r, const uint32_t *words, uint32_t bit)
{
    const uint32_t at = bit / 32, shift = bit % 32;

    r.next = words + at + 3;
    r.ahead = words[at + 2];
    r.buffer = ((uint64_t)words[at] | (uint64_t)words[at + 1] << 32) >> shift;
    r.count = 64 - shift;
}

static __device__ __forceinline__ void gpu_refill(gpu_reader &r)
{
    if (r.count <= 32) {
        r.buffer |= (uint64_t)r.ahead << r.count;
        r.count += 32;
        r.ahead = *r.next++;
    }
}

/* Skips n bits, which must be in the buffer. */
static __device__ __forceinline__ void gpu_drop(gpu_reader &r, uint32_t n)
{
    r.buffer >>= n;
    r.count -= n;
}

/* Returns the next n bits, 0 to 31, which must be in the buffer, and skips them. */
static __device__ __forceinline__ uint32_t gpu_take(gpu_reader &r, uint32_t n)
{
    const uint32_t bits = (uint32_t)r.buffer & ((1u << n) - 1);

    gpu_drop(r, n);
    return bits;
}

/* Returns the number of the next bit, counted from the start of the words. */
static __device__ __forceinline__ uint32_t gpu_bit_of(const gpu_reader &r, const uint32_t *words)
{
    return (uint32_t)(r.next - words - 1) * 32 - r.count;
}

static __host__ __device__ inline uint8_t gpu_byte_at(const uint32_t *words, uint32_t byte)
{
    return ((const uint8_t *)words)[byte];
}

/* --- Headers of dynamic blocks (RFC 1951, 3.2.7) ---------------------------------------------- */

/* How many code lengths the header of a dynamic block has. */
struct gpu_header {
    uint32_t litlens;   /* number of code lengths of literals and lengths */
    uint32_t distances; /* number of code lengths of distances */
};

/*
 * Reads the code lengths of a dynamic block, from the bit after the block's type on.  If `lengths`
 * is not NULL, stores the code lengths in lengths[]: first those of literals and lengths, then
 * those of distances.
 *
 * Returns whether the GPU decodes such codes.  Both codes must be complete, and there must be a
 * code for the end of the block.  As an exception, the distance code may be empty, or consist of
 * one code of one bit.  zlib also accepts one literal or length code of one bit; the GPU leaves
 * blocks with such a code to the CPU.
 */
static __device__ inline bool gpu_read_header(gpu_reader &r, uint8_t *lengths, gpu_header &h)
{
    const uint8_t order[] = DEFLATE_PRECODE_ORDER;
    uint8_t own[DEFLATE_PRECODE_SYMBOLS], table[1 << DEFLATE_MAX_PRECODE];
    uint32_t counts[8] = {0}, next[8], code = 0, used = 0, total;
    uint32_t litlen_used = 0, distance_used = 0, distance_codes = 0, previous = 0;
    bool has_end = false;

    gpu_refill(r);
    h.litlens = gpu_take(r, 5) + DEFLATE_FIRST_LENGTH;
    h.distances = gpu_take(r, 5) + 1;
    const uint32_t listed = gpu_take(r, 4) + 4;
    if (h.litlens > DEFLATE_LITLEN_SYMBOLS || h.distances > DEFLATE_DISTANCE_SYMBOLS)
        return false;
    for (uint32_t i = 0; i < DEFLATE_PRECODE_SYMBOLS; i++)
        own[i] = 0;
    for (uint32_t i = 0; i < listed; i++) {
        gpu_refill(r);
        const uint32_t length = gpu_take(r, 3);

        own[order[i]] = (uint8_t)length;
        counts[length]++;
        used += (128u >> length) & 127;
    }
    if (used != 128)
        return false;
    next[0] = 0;
    for (uint32_t k = 1; k < 8; k++) {
        next[k] = code;
        code = (code + counts[k]) << 1;
    }
    for (uint32_t s = 0; s < DEFLATE_PRECODE_SYMBOLS; s++) {
        const uint32_t length = own[s];

        if (length == 0)
            continue;
        for (uint32_t i = __brev(next[length]++) >> (32 - length); i < 128; i += 1u << length)
            table[i] = (uint8_t)(s << 3 | length);
    }
    total = h.litlens + h.distances;
    for (uint32_t i = 0; i < total;) {
        uint32_t times = 1, length, symbol;

        gpu_refill(r);
        symbol = table[r.buffer & 127];
        gpu_drop(r, symbol & 7);
        symbol >>= 3;
        length = symbol;
        if (symbol == 16) {
            if (i == 0)
                return false;
            length = previous;
            times = 3 + gpu_take(r, 2);
        } else if (symbol > 16) {
            length = 0;
            times = symbol == 17 ? 3 + gpu_take(r, 3) : 11 + gpu_take(r, 7);
        }
        if (i + times > total)
            return false;
        previous = length;
        for (; times > 0; times--, i++) {
            const uint32_t share = length == 0 ? 0 : 32768u >> length;

            if (i < h.litlens) {
                litlen_used += share;
                has_end |= i == DEFLATE_END_OF_BLOCK && length != 0;
            } else {
                distance_used += share;
                distance_codes += length != 0;
            }
            if (lengths != NULL)
                lengths[i] = (uint8_t)length;
        }
        if (litlen_used > 32768 || distance_used > 32768)
            return false;
    }
    return has_end && litlen_used == 32768 &&
           (distance_used == 32768 || distance_codes == 0 ||
            (distance_codes == 1 && distance_used == 16384));
}

/* Whether the GPU decodes blocks with this dynamic header (gpu_read_header).  `bit` is the bit
 * after the block's type. */
static __device__ inline bool gpu_header_is_good(const gpu_compressed &in, uint32_t bit)
{
    gpu_reader r;
    gpu_header h;

    if (bit > in.bits)
        return false;
    gpu_seek(r, in.words, bit);
    return gpu_read_header(r, NULL, h);
}

/* --- gzip's headers (RFC 1952) ---------------------------------------------------------------- */

/* The GPU reads member headers of at most this many bytes. */
#define GPU_HEADER_MAX 4096u

/* Returns the number of the byte after the member header that starts at byte number `byte`.
 * Returns 0 if there is no header there, or if the GPU leaves the header to the CPU.  The GPU does
 * so if the header has a reserved flag or a CRC of its own, or is longer than GPU_HEADER_MAX. */
static __host__ __device__ inline uint32_t gpu_header_end(const gpu_compressed &in, uint32_t byte)
{
    enum { EXTRA = 4, NAME = 8, COMMENT = 16, ODD = 0xe2 };
    const uint32_t bytes = in.bits / 8;
    const uint32_t limit = bytes - byte < GPU_HEADER_MAX ? bytes : byte + GPU_HEADER_MAX;
    uint32_t at = byte + 10, strings = 0, flags;

    if (byte >= bytes || at > limit)
        return 0;
    flags = gpu_byte_at(in.words, byte + 3);
    if (gpu_byte_at(in.words, byte) != 0x1f || gpu_byte_at(in.words, byte + 1) != 0x8b ||
        gpu_byte_at(in.words, byte + 2) != 8 || (flags & ODD) != 0)
        return 0;
    if (flags & EXTRA) {
        if (at + 2 > limit)
            return 0;
        at += 2 + (gpu_byte_at(in.words, at) | (uint32_t)gpu_byte_at(in.words, at + 1) << 8);
    }
    strings = ((flags & NAME) != 0) + ((flags & COMMENT) != 0);
    for (; strings > 0; strings--) {
        while (at < limit && gpu_byte_at(in.words, at) != 0)
            at++;
        at++;
    }
    return at <= limit ? at : 0;
}

#endif
