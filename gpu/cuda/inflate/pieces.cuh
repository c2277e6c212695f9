/*
 * pieces.cuh - types and functions that the decompression kernels share; private to gpu/
 *
 * A batch of compressed bytes passes through these steps (units.cu and groups.cu queue them):
 *
 *     find      find.cu finds candidates: places where a block may start.
 *     count     count.cu decodes from each candidate to the next, a unit, by a warp or a block of
 *               threads.  It stores the unit's blocks, how much output each makes, and a map of
 *               each.
 *     chain     units.cu, on the host, follows the chain: each unit ends where the next one starts.
 *               Candidates outside the chain are false.  groups.cu cuts the chain's blocks into
 *               pieces.
 *     decode    symbols.cu turns each piece into symbols, by a team of threads.  A symbol is a
 *               byte, or the name of a byte of the window before the piece, which is not known yet.
 *     windows   resolve.cu finds the windows between pieces, by a scan.
 *     resolve   resolve.cu turns symbols into bytes.
 *     sum up    crc.cu computes the CRC-32 of parts of the output, or adler.cu the Adler-32.
 *
 * Bits are numbered from the start of a batch, which has fewer than 2^32.
 */
#ifndef GZLZSS_GPU_PIECES_CUH
#define GZLZSS_GPU_PIECES_CUH

#include <cuda_runtime.h>

#include <stddef.h>
#include <stdint.h>

#include "base/deflate.h"

/* Bytes that a match may reach back. */
#define GPU_WINDOW ((uint32_t)DEFLATE_WINDOW_SIZE)

/* A symbol below 256 is a byte.  GPU_UNKNOWN + i is byte i of the window before the piece. */
#define GPU_UNKNOWN 0x8000u

/* --- Input ------------------------------------------------------------------------------------ */

/* What a batch contains. */
enum gpu_wrapping {
    GPU_MEMBERS, /* a part of consecutive gzip members */
    /* Separate inputs, each in this wrapping (many.cu): */
    GPU_MANY_GZIP,
    GPU_MANY_ZLIB,
    GPU_MANY_RAW
};

/* A batch of compressed bytes, on the device. */
struct gpu_compressed {
    const uint32_t *words; /* the bytes; GPU_COMPRESSED_PAD zeros follow */
    uint32_t bits;         /* the batch's size in bits */
    uint32_t find_end;     /* candidates are searched before this bit */
    uint32_t is_last;      /* the input ends with the batch */
    uint32_t long_bits;    /* longer units are counted by a block of threads, not by a warp */
    uint32_t map_room;     /* entries of each of the GPU_MAPS maps */
    uint32_t is_bgzf;      /* candidates are searched behind gzip headers only */
    uint32_t wrapping;     /* enum gpu_wrapping */
};

/* Kernels read up to this many bytes behind a batch. */
#define GPU_COMPRESSED_PAD 1024

/* Returns the 64 bits from bit `bit` on. */
static __device__ __forceinline__ uint64_t gpu_bits_at(const uint32_t *words, uint32_t bit)
{
    const uint32_t at = bit / 32, shift = bit % 32;
    const uint64_t low = (uint64_t)words[at] | (uint64_t)words[at + 1] << 32;

    return shift == 0 ? low : low >> shift | (uint64_t)words[at + 2] << (64 - shift);
}

/* --- Units, blocks and pieces ----------------------------------------------------------------- */

/* How a unit ends. */
enum gpu_unit_end {
    GPU_UNIT_BAD,    /* it is not valid DEFLATE or gzip, or this engine leaves it to the CPU */
    GPU_UNIT_BLOCK,  /* a block of the same member starts at `end` */
    GPU_UNIT_MEMBER, /* a member has ended, and the next one's first block starts at `end` */
    GPU_UNIT_LAST,   /* a member has ended, and its trailer ends the input, or one of many inputs */
};

/* The most blocks of a unit.  Most units have one block; the last unit of a member has two.  With a
 * lower limit, more data is left to the CPU. */
#define GPU_UNIT_BLOCKS 16u

/* One block of a unit. */
struct gpu_block {
    uint32_t start;   /* bit where its header starts */
    uint32_t data;    /* bit behind the header; of a stored block, where its bytes start */
    uint32_t end;     /* bit behind the block */
    uint32_t length;  /* bytes of output */
    uint32_t steps;   /* steps of the map in which a code starts; 0: the block is stored */
    uint32_t outline; /* for the host: 1 + the number of its first outline entry; 0: no outline */
};

/* Consecutive blocks from a candidate on, up to the next candidate or the member's end. */
struct gpu_unit {
    uint32_t start;  /* bit where it starts */
    uint32_t end;    /* bit where it ends (enum gpu_unit_end) */
    uint32_t how;    /* enum gpu_unit_end */
    uint32_t length; /* bytes of output */
    uint32_t crc;    /* if a member has ended: the checksum in its trailer */
    uint32_t size;   /* if a member of gzip has ended: the length modulo 2^32 in its trailer */
    uint32_t count;  /* blocks in blocks[] */
    uint32_t reach;  /* map entries up to this bit may have been written; 0: none */
    gpu_block blocks[GPU_UNIT_BLOCKS];
};

/*
 * The map.  A block's codes, which start at block.data, are cut into steps of GPU_STEP bits.  For
 * each step, a map entry says where the first code in it starts, and how much output the block
 * makes before that code.  So all threads of `decode` can begin at once, each with a step.
 *
 * The low GPU_MAP_BITS bits of an entry are the distance in bits from the step's start to that
 * code.  It is less than GPU_MAP_END: a length and its distance have at most 48 bits, with their
 * extra bits.  The other bits are the output in bytes.  One more entry follows the last step's: it
 * has GPU_MAP_END and the output of the whole block.
 */
#define GPU_STEP 128u
#define GPU_MAP_BITS 6
#define GPU_MAP_END ((1u << GPU_MAP_BITS) - 1)

/* The most output of one block, so that an entry can hold it. */
#define GPU_BLOCK_MAX ((1u << (32 - GPU_MAP_BITS)) - 1)

/* Entries that each unit may need beside those for its bits.  Each block may need two: one for a
 * step that it fills in part, and one behind its last step. */
#define GPU_MAP_UNIT (2 * GPU_UNIT_BLOCKS)

/* Spare entries behind those of all units: a warp or a team may read or write up to this many
 * entries behind the last that is used. */
#define GPU_MAP_SPARE 4096

/* Candidate number i writes to map number i % GPU_MAPS.  If a candidate lies in a block of another
 * one with the same map, they overwrite each other's entries.  Then units.cu has units counted
 * again.  With fewer maps, that happens more often; more take more memory. */
#define GPU_MAPS 8u

/* Returns the entries that a map needs for `count` candidates in a batch of `bits` bits. */
static __host__ __device__ inline size_t gpu_map_room(uint32_t bits, size_t count)
{
    return bits / GPU_STEP + count * GPU_MAP_UNIT + GPU_MAP_SPARE;
}

/* Returns the number of the first map entry of candidate number `rank`, which starts at bit
 * `start`. */
static __host__ __device__ inline uint32_t gpu_map_place(const gpu_compressed &in, uint32_t start,
                                                         uint32_t rank)
{
    return rank % GPU_MAPS * in.map_room + start / GPU_STEP + rank * GPU_MAP_UNIT;
}

/* A part of a block that a team decodes. */
struct gpu_piece {
    uint64_t block_out; /* where the block's output starts in the group's, in bytes */
    uint64_t to;        /* where the block's output goes, in bytes from `out` of gpu_resolve on */
    uint32_t map;       /* number of its first map entry */
    uint32_t steps;     /* 0: the block is stored */
    uint32_t header;    /* bit where the block's header starts */
    uint32_t data;      /* bit where its codes, or the stored bytes, start */
    uint32_t first;     /* number of its first step in the block */
    uint32_t known;     /* bytes before the block that belong to its member, at most GPU_WINDOW */
    uint32_t length;    /* bytes of output of the whole block; if its map has more, that is wrong */
};

/* Where the output of a piece is in the group's; `decode` sets this. */
struct gpu_range {
    uint64_t start;
    uint32_t length;
    uint32_t is_bad; /* a match reaches back before its member's start, or the map is wrong */
};

/* Consecutive pieces that the device decodes in one go.  For the scan that finds windows, they are
 * divided into chunks of `chunk` pieces. */
struct gpu_group {
    const gpu_piece *pieces;
    uint32_t count;
    uint32_t chunk;
    gpu_range *ranges; /* one for each piece */
    uint16_t *symbols; /* the group's output */
    uint16_t *names;   /* scratch memory of the scan: 2 * GPU_WINDOW for each chunk */
    uint8_t *windows;  /* the window before each chunk, and that behind the last */
    uint32_t *next;    /* a counter on the device, which is 0 before `decode` */
};

static __host__ __device__ inline uint32_t gpu_chunks(const gpu_group &g)
{
    return (g.count + g.chunk - 1) / g.chunk;
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* A list on the device, with room for `most` values.  *count is 0 at first.  It also counts values
 * that had no room. */
struct gpu_list {
    uint32_t *values;
    uint32_t *count;
    uint32_t most;
};

/* Each loads the kernels of one file (gpu_load). */
cudaError_t gpu_load_adler(void);
cudaError_t gpu_load_copy(void);
cudaError_t gpu_load_count(void);
cudaError_t gpu_load_crc(void);
cudaError_t gpu_load_decode(void);
cudaError_t gpu_load_find(void);
cudaError_t gpu_load_gather(void);
cudaError_t gpu_load_resolve(void);

/* Queues the search for candidates.  Their bits go to `found`, in any order, some of them twice.
 * `maybe` is for places that are tested further. */
cudaError_t gpu_find_starts(const gpu_compressed &in, const gpu_list &found, const gpu_list &maybe,
                            cudaStream_t stream);

/* Which units are counted, and where the results go. */
struct gpu_count_work {
    const uint32_t *starts; /* bits where the candidates start, in ascending order */
    uint32_t count;
    const uint32_t *which; /* numbers of the candidates to count; NULL: all */
    uint32_t which_count;
    gpu_unit *units; /* one for each candidate */
    uint32_t *map;
    uint32_t *next; /* GPU_COUNTERS counters on the device, which are 0 */
    uint32_t *late; /* scratch memory: room for which_count numbers */
    /* Short units are counted in this stream, beside the long ones.  The events order the two
     * streams. */
    cudaStream_t side;
    cudaEvent_t fork, join;
};

#define GPU_COUNTERS 4

/* Queues the counting of units, by `blocks` blocks of threads at most. */
cudaError_t gpu_count_units(const gpu_compressed &in, const gpu_count_work &w, uint32_t blocks,
                            cudaStream_t stream);

/* A block whose map is outlined: outline[to + i] becomes the output before step number
 * i * GPU_OUTLINE_STEPS. */
struct gpu_outlined {
    uint32_t map, steps, to;
};

#define GPU_OUTLINE_STEPS 64u

/* Queues the outlines of blocks[0..count); count must not be 0. */
cudaError_t gpu_copy_outline(const uint32_t *map, const gpu_outlined *blocks, uint32_t count,
                             uint32_t *outline, cudaStream_t stream);

/* Queues the decoding of a group, to g.symbols and g.ranges. */
cudaError_t gpu_decode(const gpu_compressed &in, const gpu_group &g, const uint32_t *map,
                       uint32_t blocks, cudaStream_t stream);

/* Queues the search for windows.  The first of g.windows, before the group, is given; this sets the
 * others. */
cudaError_t gpu_find_windows(const gpu_group &g, cudaStream_t stream);

/* Queues turning the group's symbols into bytes; a block's bytes go to out + piece.to.  Sets is_bad
 * in the range of a piece with a match that reaches back too far. */
cudaError_t gpu_resolve(const gpu_group &g, uint8_t *out, cudaStream_t stream);

/* A part of the output, of at most GPU_CRC_PART bytes. */
struct gpu_crc_part {
    uint64_t start; /* in bytes from the output's start on */
    uint32_t length;
    uint32_t crc;      /* its sum, which crc.cu or adler.cu sets */
    uint32_t is_first; /* the first part of a member's output in the group */
};

#define GPU_CRC_PART (64u << 10)

/* Returns the sum of consecutive parts.  The last part has the sum `next` and `length` bytes; the
 * others have the sum `sum`, 0 if there are none.  The CRC-32 of all parts is the complement of
 * their sum.  Joins the CRC-32s of two consecutive runs of bytes in the same way. */
uint32_t gpu_crc_join(uint32_t sum, uint32_t next, uint64_t length);

/* Queues the computation of the sums of parts[0..count), which are parts of bytes[]. */
cudaError_t gpu_sum_up(const uint8_t *bytes, gpu_crc_part *parts, uint32_t count,
                       cudaStream_t stream);

/* The same two functions for the Adler-32 of zlib's format (RFC 1950).  To get the Adler-32 of all
 * parts, begin with the sum ADLER_START, and join the sum of each part to it. */
#define ADLER_START 1u
uint32_t gpu_adler_join(uint32_t sum, uint32_t next, uint64_t length);
cudaError_t gpu_sum_up_adler(const uint8_t *bytes, gpu_crc_part *parts, uint32_t count,
                             cudaStream_t stream);

/* --- Many inputs ------------------------------------------------------------------------------ */

/* One of many inputs in a batch. */
struct gpu_input {
    const uint8_t *from; /* source, which the device can read; NULL: already in the batch */
    uint32_t at;         /* byte of the batch where it starts */
    uint32_t length;     /* bytes */
    uint32_t start;      /* bit of the batch where its first block starts; 0: no usual header */
};

/* Queues copies of inputs[0..count) to their places in the batch.  Then sets `start` of each.
 * longest: the bytes of the longest input. */
cudaError_t gpu_gather(const gpu_compressed &in, gpu_input *inputs, uint32_t count,
                       uint32_t longest, cudaStream_t stream);

#endif
