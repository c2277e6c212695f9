/*
 * coding.cuh - what the files of gpu/cuda/huffman/ share: the twins of huffman/
 *
 * These kernels turn a batch's sequences into DEFLATE blocks, with the same bytes as
 * huff_encode_segment.  They run after the match finder's kernels, without the host in between:
 *
 *     count     parts.cu checks the limits of each chunk's sequences, divides the chunk into parts,
 *               and counts the symbols of each part
 *     join      blocks.cu joins parts to blocks, by estimates
 *     plan      blocks.cu makes each block's codes and header
 *     lay out   blocks.cu chooses each block's form, and its place in the segment's output
 *     write     write.cu writes the codes of all spans side by side, and the frames:
 *               headers, ends of blocks, marks
 *     check     check.cu decodes what was written, and compares it with the input
 *     pack      pack.cu moves the segments' outputs together, and sums up input and output
 *
 * Whatever the sequences are, no kernel writes outside its arrays.  A segment whose result cannot
 * be used is `bad` (struct gpu_coded).
 */
#ifndef GZLZSS_GPU_CODING_CUH
#define GZLZSS_GPU_CODING_CUH

#include "base/deflate.h"
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/internal.cuh"
#include "huffman/header.h"
#include "huffman/huffman.h"
#include "huffman/lengths.h"

/* The most parts of a chunk: all of them but the last have HUFF_SPLIT_MIN bytes or more. */
#define GPU_PARTS ((uint32_t)(LZ_CHUNK_SIZE / 4096))
static_assert(HUFF_SPLIT_MIN == 4096, "GPU_PARTS");

/* A chunk's parts have slots: part k of chunk c has slot c * GPU_PARTS + k. */

/* Entries of a table by symbol: literals and lengths first, and from GPU_DISTANCES on distances. */
#define GPU_DISTANCES ((uint32_t)DEFLATE_FIXED_LITLEN_SYMBOLS)
#define GPU_CODED_SYMBOLS (GPU_DISTANCES + DEFLATE_FIXED_DISTANCE_SYMBOLS)

/* One thread writes, and one thread checks, the codes that start in a span of this many bytes. */
#define GPU_SPAN 128u
#define GPU_SPANS ((uint32_t)LZ_CHUNK_SIZE / GPU_SPAN)

/* In a span in which no code starts, gpu_span_start has this byte. */
#define GPU_NO_CODE UINT16_MAX

/* Where a span's first code is: a byte of the chunk, and a bit of the segment's output. */
struct gpu_span_start {
    uint32_t bit;
    uint16_t byte;
};

/* Room for a block's header: a dynamic header has at most 286 bytes, and the bit writer writes
 * BITWRITER_SLACK more. */
#define GPU_BLOCK_HEADER 304u

/* Most blocks of a batch.  A batch with more leaves some of its segments to the CPU. */
static inline uint32_t gpu_block_room(uint32_t chunks)
{
    return 2 * chunks + 64;
}

/* A block.  Bits are counted from the start of the segment's output. */
struct gpu_coded_block {
    uint32_t segment, first_slot; /* its segment, and the slot of its first part */
    uint32_t begin, bytes;        /* its bytes: where they start in the segment, and their number */
    uint32_t dynamic, fixed;      /* its size in these forms, in bits */
    uint32_t header;              /* the size of a dynamic header in bits, without the type */
    uint32_t type;                /* enum deflate_block_type */
    uint32_t at;                  /* where it starts */
    uint32_t data;                /* where its first code or, in stored blocks, byte is */
    uint32_t end;                 /* where it ends */
};

/* A segment to be coded, which the host describes. */
struct gpu_to_code {
    uint32_t length;          /* its bytes */
    uint32_t chunk, chunks;   /* its first chunk, and their number */
    uint32_t out;             /* where its output starts; a multiple of 16 */
    uint32_t is_last;         /* 1: its last block is final; 0: it ends with the mark (HUFF_MARK) */
    uint32_t in_sum, in_sums; /* the CRC parts of its input: the first one, and their number */
    uint32_t out_sum, out_sums; /* those of its output */
};

/* Why a segment's output cannot be used.  Several bits may be set. */
enum { GPU_BAD_MATCHES = 1, GPU_BAD_ROOM = 2, GPU_BAD_BITS = 4 };

/* The result of coding a segment. */
struct gpu_coded {
    uint32_t bad;    /* GPU_BAD_...; 0: the output is right */
    uint32_t blocks; /* number of blocks */
    uint32_t length; /* bytes of its output */
    uint32_t packed; /* where its output is among the packed outputs; a multiple of 16 */
};

/* The tables with which a block is checked (check.cu). */
struct gpu_check_tables;

/* Memory for making one block's codes.  A warp needs one. */
struct gpu_plan_work {
    huff_lengths_work work;
    huff_header header;
    uint8_t lengths[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];
    uint16_t codes[DEFLATE_LITLEN_SYMBOLS + DEFLATE_DISTANCE_SYMBOLS];
};

/* Warps that make codes side by side. */
#define GPU_PLANNERS 1024u

/* A batch to be coded, as kernels see it.  All pointers are device addresses. */
struct gpu_coder {
    uint32_t segments, split;
    const gpu_to_code *to_code; /* [segment] */
    gpu_coded *coded;           /* [segment] */
    uint32_t *chunk_segment;    /* [chunk]: its segment */
    uint16_t *ends;             /* [sequence]: where it ends in its chunk */
    uint16_t *part_ends;        /* [slot]: where the part ends in its chunk */
    uint8_t *parts;             /* [chunk]: number of parts */
    uint16_t *part_counts;      /* [slot][GPU_CODED_SYMBOLS] */
    uint32_t *part_blocks;      /* [slot]: number of the part's block */
    uint32_t *part_bits;        /* [slot]: bits of its codes; then of all earlier parts' in the
                                 * segment */
    uint32_t block_room;        /* most blocks */
    uint32_t *block_count;      /* blocks that were asked for */
    gpu_coded_block *blocks;    /* [block], in any order */
    uint32_t *segment_blocks;   /* [slot of the segment's first part + i]: block i of the segment */
    uint32_t *block_counts;     /* [block][GPU_CODED_SYMBOLS] */
    /* [block][GPU_CODED_SYMBOLS]: the codes of its dynamic form.  The low 8 bits have the number of
     * a code's bits, and the bits above have the code. */
    uint32_t *codes;
    uint8_t *headers;         /* [block][GPU_BLOCK_HEADER]: its dynamic header */
    gpu_plan_work *planners;  /* [GPU_PLANNERS] */
    gpu_check_tables *tables; /* [block] */
    gpu_span_start *starts;   /* [chunk][GPU_SPANS] */
    uint32_t *out;            /* all segments' outputs */
    uint8_t *packed;          /* the same, packed */
    gpu_crc_part *in_sums;    /* parts of the segments' input, for their CRC-32 */
    gpu_crc_part *out_sums;   /* the same of the packed outputs; a segment's last may be empty */
    uint32_t out_sum_count;
    uint32_t *packed_size; /* bytes used there */
};

/* Queue the steps.  gpu_coder's arrays need not be cleared before, but for `coded`, `block_count`,
 * `packed_size` and `out`, which must be zeros. */
cudaError_t gpu_count_parts(const gpu_view &v, const gpu_coder &c, cudaStream_t stream);
cudaError_t gpu_make_blocks(const gpu_view &v, const gpu_coder &c, cudaStream_t stream);
cudaError_t gpu_write_codes(const gpu_view &v, const gpu_coder &c, cudaStream_t stream);
cudaError_t gpu_check_codes(const gpu_view &v, const gpu_coder &c, cudaStream_t stream);
cudaError_t gpu_pack_output(const gpu_coder &c, uint32_t longest, cudaStream_t stream);

/* For tests: flips bit number `bit` of the first segment's output. */
cudaError_t gpu_flip_bit(const gpu_coder &c, uint32_t bit, cudaStream_t stream);

/* Load the kernels of these steps (gpu_load). */
cudaError_t gpu_load_parts(void);
cudaError_t gpu_load_blocks(void);
cudaError_t gpu_load_write(void);
cudaError_t gpu_load_check(void);
cudaError_t gpu_load_pack(void);

/* The size of struct gpu_check_tables. */
size_t gpu_check_tables_size(void);

/* The sequences of a chunk. */
struct gpu_sequences {
    const lz_sequence *list;
    uint32_t count;
};

/* Returns the first of ends[0..count), which are in order, that is greater than p. */
static __device__ __forceinline__ uint32_t gpu_first_after(const uint16_t *ends, uint32_t count,
                                                           uint32_t p)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        const uint32_t middle = (low + high) / 2;

        if (ends[middle] > p)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Calls literals(p, q) for runs of literals, and match(p, sequence) for matches, that start at
 * bytes [from, to) of a chunk of `length` bytes.  ends[i] is where sequence i ends. */
template <typename Literals, typename Match>
static __device__ __forceinline__ void gpu_walk(const gpu_sequences &s, const uint16_t *ends,
                                                uint32_t length, uint32_t from, uint32_t to,
                                                Literals literals, Match match)
{
    uint32_t i = gpu_first_after(ends, s.count, from);

    for (uint32_t p = from; p < to;) {
        const uint32_t end = i < s.count ? ends[i] : length;
        const uint32_t match_at = i < s.count ? end - s.list[i].length : length;

        if (p < match_at) {
            const uint32_t stop = match_at < to ? match_at : to;

            literals(p, stop);
            p = stop;
        } else {
            if (p == match_at)
                match(p, s.list[i]);
            p = end;
            i++;
        }
    }
}

/* The extra bits of entry i of a table by symbol. */
static __device__ __forceinline__ uint32_t gpu_extra_bits(uint32_t i)
{
    if (i >= GPU_DISTANCES)
        return i - GPU_DISTANCES < DEFLATE_DISTANCE_SYMBOLS
                   ? deflate_distance_extra_bits(i - GPU_DISTANCES)
                   : 0;
    return i >= DEFLATE_FIRST_LENGTH && i < DEFLATE_LITLEN_SYMBOLS ? deflate_length_extra_bits(i)
                                                                   : 0;
}

/* The length of the fixed code of entry i of a table by symbol. */
static __device__ __forceinline__ uint32_t gpu_fixed_length(uint32_t i)
{
    return i < GPU_DISTANCES ? deflate_fixed_length(i) : DEFLATE_FIXED_DISTANCE_LENGTH;
}

/* Where byte `offset` of a stored block is, in bits after the block's first byte.  Each further
 * stored block has a header of 5 bytes. */
static __device__ __forceinline__ uint32_t gpu_stored_place(uint32_t offset)
{
    return 8 * (offset + offset / DEFLATE_MAX_STORED * 5);
}

#endif
