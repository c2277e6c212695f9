/*
 * estimate.h - what an estimate of a block's size is made of; for plan.c and for the GPU
 */
#ifndef GZLZSS_HUFFMAN_ESTIMATE_H
#define GZLZSS_HUFFMAN_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/both.h"
#include "base/deflate.h"
#include "huffman/bitwriter.h"
#include "huffman/huffman.h"

/* The most bytes of a segment's output (huff_bound). */
BOTH_INLINE size_t most_bytes(size_t len)
{
    /* No block takes more bytes than its data would take as stored blocks.  A stored block adds at
     * most 5 bytes to its data, with padding.  A block has at least as many parts as its data would
     * need stored blocks, so 5 bytes for each part are enough.  Each part has HUFF_SPLIT_MIN bytes
     * or more, unless it is its chunk's last one.  With HUFF_BEST, parts may be shorter; but each
     * block has as many bytes, unless it ends where a chunk ends. */
    return len + 5 * (len / HUFF_SPLIT_MIN + len / LZ_CHUNK_SIZE + 2) + 2 * 5 + 2 * BITWRITER_SLACK;
}

/* The bits that n bytes take in stored blocks, if the first header starts `offset` bits into a
 * byte. */
BOTH_INLINE uint64_t stored_bits(size_t n, unsigned offset)
{
    uint64_t more = n > DEFLATE_MAX_STORED ? (n - 1) / DEFLATE_MAX_STORED : 0;
    unsigned first = 3 + (-(offset + 3) & 7);

    return first + 32 + more * 40 + 8 * (uint64_t)n;
}

/*
 * Returns the logarithm of n to base 2, in units of 1/65536, with an error of at most 0.001.  If n
 * is 0, the result has no meaning.  Converting n to a float gives its exponent and mantissa.  The
 * conversion is exact, or rounded in the same way on every machine, and the rest is done with
 * integers.  So the result is the same everywhere.  The mantissa's logarithm is a polynomial of
 * degree 3, which is exact at powers of two.
 */
BOTH_INLINE uint32_t log2_65536(uint32_t n)
{
    const float f = (float)(int32_t)n;
    uint32_t bits, x, y;

    memcpy(&bits, &f, sizeof(bits));
    x = (bits & 0x7fffff) >> 7;
    y = (x * (65536 - x)) >> 16;
    return ((bits >> 23) - 127) * 65536 + x + (y * (27700 - ((x * 10400) >> 16)) >> 16);
}

/* The estimated size of a dynamic block in bits: `entropy` is that of its counts in 1/65536 bits
 * (log2_65536), `used` the number of symbols that occur, and `extra` the bits of all extra bits. */
BOTH_INLINE uint64_t estimated_bits(uint64_t entropy, uint32_t used, uint64_t extra)
{
    return 3 + extra + entropy / 65536 + 150 + 13 * used / 4;
}

/* The form of a block, by its exact sizes in bits. */
BOTH_INLINE enum deflate_block_type best_type(uint64_t dynamic, uint64_t fixed, uint64_t stored)
{
    if (stored < fixed && stored < dynamic)
        return DEFLATE_STORED;
    return dynamic < fixed ? DEFLATE_DYNAMIC : DEFLATE_FIXED;
}

#endif
