/*
 * pieces.cuh - what the kernels that decompress share; private to gpu/
 *
 * A batch of compressed bytes passes through these steps (units.cu and groups.cu queues them):
 *
 *     find      find.cu: candidates, the places where a block may start
 *     count     count.cu: a warp decodes from each candidate to the next place where a block
 *               starts.  It notes the blocks on the way, how much output they make, and a map of
 *               each.
 *     chain     units.cu, on the host: the true candidates are those to which the ends lead from
 *               the first.  Their blocks are cut into pieces.
 *     decode    symbols.cu: a team of threads makes symbols of each piece.  A symbol is a byte, or
 *               the name of a byte of the window before the piece, which is not known yet.
 *     windows   resolve.cu: the windows between pieces, by a scan
 *     resolve   resolve.cu: symbols become bytes
 *     sum up    crc.cu: the CRC-32 of parts of the output
 *
 * Bits are numbered from the start of a batch, which has less than 2^32 of them.
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

/* A batch of compressed bytes.  The address is a device's. */
struct gpu_compressed {
    const uint32_t *words; /* the bytes; GPU_COMPRESSED_PAD zeros follow */
    uint32_t bits;         /* of the batch */
    uint32_t find_end;     /* candidates are looked for before this bit */
    uint32_t is_last;      /* the input ends with the batch */
    uint32_t long_bits;    /* longer units are counted by a block of threads, not by a warp */
    uint32_t map_room;     /* entries of each of the GPU_MAPS maps */
    uint32_t is_bgzf;      /* candidates are looked for behind gzip headers alone */
};

/* Kernels read up to this many bytes behind a batch. */
#define GPU_COMPRESSED_PAD 1024

/* The bits from a place on, 64 of them. */
static __device__ __forceinline__ uint64_t gpu_bits_at(const uint32_t *words, uint32_t bit)
{
    const uint32_t at = bit / 32, shift = bit % 32;
    const uint64_t low = (uint64_t)words[at] | (uint64_t)words[at + 1] << 32;

    return shift == 0 ? low : low >> shift | (uint64_t)words[at + 2] << (64 - shift);
}

/* --- Units, blocks and pieces ----------------------------------------------------------------- */

/* How a unit ends. */
enum gpu_unit_end {
    GPU_UNIT_BAD,    /* no good DEFLATE or gzip, or something that this engine leaves to the CPU */
    GPU_UNIT_BLOCK,  /* a block of the same member starts at `end` */
    GPU_UNIT_MEMBER, /* a member has ended, and the next one's first block starts at `end` */
    GPU_UNIT_LAST,   /* a member has ended, and with its trailer the input */
};

/* The most blocks of a unit.  Most units have one; the last of a member, two.  With fewer, more
 * data is left to the CPU. */
#define GPU_UNIT_BLOCKS 6u

/* One block of a unit. */
struct gpu_block {
    uint32_t start;   /* bit where its header starts */
    uint32_t data;    /* bit behind the header; of a stored block, where its bytes start */
    uint32_t end;     /* bit behind the block */
    uint32_t length;  /* bytes of output */
    uint32_t steps;   /* steps of the map in which a code starts; 0: the block is stored */
    uint32_t outline; /* the host's: number of its first entry in the outline and one; 0: none */
};

/* What starts at a candidate: blocks up to the next place that may be a candidate. */
struct gpu_unit {
    uint32_t start;  /* bit */
    uint32_t end;    /* bit, see enum gpu_unit_end */
    uint32_t how;    /* enum gpu_unit_end */
    uint32_t length; /* bytes of output */
    uint32_t crc;    /* if a member has ended: its CRC-32, as the trailer says */
    uint32_t size;   /* and its length modulo 2^32 */
    uint32_t count;  /* blocks */
    uint32_t reach;  /* bit up to which it may have written its map */
    gpu_block blocks[GPU_UNIT_BLOCKS];
};

/*
 * The map.  The codes of a block are cut every GPU_STEP bits, counted from block.data.  The map
 * says for each cut where the first code behind it starts, and how much output the block makes
 * before that code.  With it, all threads of `decode` begin at once, each with a step.
 *
 * The low GPU_MAP_BITS bits of an entry are the distance in bits from the cut to the code, which is
 * less than GPU_MAP_END as a code with its extra bits is shorter.  The rest is output.  The entry
 * behind the last step has GPU_MAP_END and the output of the whole block.
 */
#define GPU_STEP 128u
#define GPU_MAP_BITS 6
#define GPU_MAP_END ((1u << GPU_MAP_BITS) - 1)

/* The most output of one block, so that an entry can hold it. */
#define GPU_BLOCK_MAX ((1u << (32 - GPU_MAP_BITS)) - 1)

/* Entries for each unit beside those for its bits: each block may have a step begun, and an end. */
#define GPU_MAP_UNIT (2 * GPU_UNIT_BLOCKS)

/* Entries behind those of all units.  The threads of a warp or a team write and read entries up to
 * this far behind the last that counts. */
#define GPU_MAP_SPARE 4096

/* Candidates take turns with this many maps.  Two candidates that share a map overwrite entries
 * of each other if one lies in the blocks of the other.  With fewer maps, that happens more often,
 * and units are counted again; more take more memory. */
#define GPU_MAPS 8u

/* The entries that a map needs for `count` candidates, which start before that bit. */
static __host__ __device__ inline size_t gpu_map_room(uint32_t bits, size_t count)
{
    return bits / GPU_STEP + count * GPU_MAP_UNIT + GPU_MAP_SPARE;
}

/* Number of the first entry of candidate number `rank`, which starts at that bit. */
static __host__ __device__ inline uint32_t gpu_map_place(const gpu_compressed &in, uint32_t start,
                                                         uint32_t rank)
{
    return rank % GPU_MAPS * in.map_room + start / GPU_STEP + rank * GPU_MAP_UNIT;
}

/* A part of a block that a team decodes. */
struct gpu_piece {
    uint64_t block_out; /* the block's output starts here, counted from the group's */
    uint32_t map;       /* its first entry of the map */
    uint32_t steps;     /* 0: the block is stored */
    uint32_t header;    /* bit where the block's header starts */
    uint32_t data;      /* bit where its codes, or the stored bytes, start */
    uint32_t first;     /* number of its first step in the block */
    uint32_t known;     /* bytes before the block that belong to its member, at most GPU_WINDOW */
    uint32_t length;    /* bytes of output of the whole block: its map must not say more */
};

/* The output of a piece, counted from the group's; `decode` sets it. */
struct gpu_range {
    uint64_t start;
    uint32_t length;
    uint32_t is_bad; /* a match reaches back before the start of its member */
};

/* Consecutive pieces that the device decodes in one go.  Each chunk has `chunk` of them.  A scan
 * finds the window before each chunk. */
struct gpu_group {
    const gpu_piece *pieces;
    uint32_t count;
    uint32_t chunk;
    gpu_range *ranges; /* one for each piece */
    uint16_t *symbols; /* the group's output */
    uint16_t *names;   /* twice GPU_WINDOW for each chunk, for the scan */
    uint8_t *windows;  /* GPU_WINDOW for each chunk, before it, and one more */
    uint32_t *next;    /* a counter, which is 0 */
};

static __host__ __device__ inline uint32_t gpu_chunks(const gpu_group &g)
{
    return (g.count + g.chunk - 1) / g.chunk;
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* A list on the device.  `count` counts what had no room, too; it is 0 before. */
struct gpu_list {
    uint32_t *values;
    uint32_t *count;
    uint32_t most;
};

/* Queues the search for candidates.  `found` gets their bits, in any order, some of them twice;
 * `maybe` is for places that are looked at again. */
cudaError_t gpu_find_starts(const gpu_compressed &in, const gpu_list &found, const gpu_list &maybe,
                            cudaStream_t stream);

/* The candidates whose units are counted, and where what is counted goes. */
struct gpu_count_work {
    const uint32_t *starts; /* of all candidates, in ascending order */
    uint32_t count;
    const uint32_t *which; /* numbers of those to count; NULL: all */
    uint32_t which_count;
    gpu_unit *units; /* of all candidates */
    uint32_t *map;
    uint32_t *next; /* two counters, which are 0 */
    /* Short units are counted in `side`, beside the long ones.  `fork` and `join` are for that. */
    cudaStream_t side;
    cudaEvent_t fork, join;
};

/* Queues the counting of units, by `blocks` blocks of threads at most. */
cudaError_t gpu_count_units(const gpu_compressed &in, const gpu_count_work &w, uint32_t blocks,
                            cudaStream_t stream);

/* A block whose map is outlined: outline[to + i] becomes the output before step number
 * i * GPU_OUTLINE_STEPS. */
struct gpu_outlined {
    uint32_t map, steps, to;
};

#define GPU_OUTLINE_STEPS 64u

/* Queues the outlines of blocks[0..count), of which there are some. */
cudaError_t gpu_copy_outline(const uint32_t *map, const gpu_outlined *blocks, uint32_t count,
                             uint32_t *outline, cudaStream_t stream);

/* Queues the decoding of a group, to g.symbols and g.ranges. */
cudaError_t gpu_decode(const gpu_compressed &in, const gpu_group &g, const uint32_t *map,
                       uint32_t blocks, cudaStream_t stream);

/* Queues the windows: g.windows[0..GPU_WINDOW) is there; the others become those before the other
 * chunks, and the last one the window behind the group. */
cudaError_t gpu_find_windows(const gpu_group &g, cudaStream_t stream);

/* Queues the output of the group to out[]; sets is_bad of ranges. */
cudaError_t gpu_resolve(const gpu_group &g, uint8_t *out, cudaStream_t stream);

/* A part of the output, of at most GPU_CRC_PART bytes. */
struct gpu_crc_part {
    uint64_t start;
    uint32_t length;
    uint32_t crc;      /* what crc.cu makes of it */
    uint32_t is_first; /* a member begins with this part */
};

#define GPU_CRC_PART (64u << 10)

/* The sum of parts in a row, or the CRC-32 of two runs of bytes.  The last part has the sum `next`
 * and `length` bytes; `sum` is that of the others, or 0 if there are none.  The CRC-32 of some
 * bytes is the complement of their sum. */
uint32_t gpu_crc_join(uint32_t sum, uint32_t next, uint64_t length);

/* Queues the sums of parts[0..count) of bytes[]. */
cudaError_t gpu_sum_up(const uint8_t *bytes, gpu_crc_part *parts, uint32_t count,
                       cudaStream_t stream);

#endif
