/*
 * kernels.cuh - shared by the kernels of the papers' formats (gpu.h)
 *
 * Coding has these steps, which stages.cu queues:
 *
 *     find, parse   the method's match finder writes a tag for each plain byte
 *     code          each chunk's coded form is written to a slot of its own, and its size noted
 *     sum           exclusive sums of the sizes (CUB's DeviceScan)
 *     place         the coded forms are copied to their places in the file, and the file's front
 *                   and the chunks' heads are written (codec.h)
 *
 * For decoding, the host takes the front apart (paper_open), because some formats have the chunks'
 * sizes in heads between the chunks, a chain that only one thread can follow. Then a kernel decodes
 * all chunks.
 */
#ifndef GZLZSS_PAPERS_CODEC_KERNELS_CUH
#define GZLZSS_PAPERS_CODEC_KERNELS_CUH

#include "gpu/cuda/internal.cuh"
#include "papers/codec/codec.h"

/* Bytes after the slots, and after a file, that kernels may read. (After the plain bytes, there are
 * GPU_INPUT_PAD such bytes.) */
#define CODEC_PAD 256

/* Slots start at multiples of this number of bytes, as loads of whole words need. */
#define CODEC_ALIGNMENT 16

/* One input, as kernels see it. All pointers are device addresses. "Chunk" is a chunk of the paper,
 * unless it is called a chunk of LZ_CHUNK_SIZE bytes. */
struct codec_view {
    struct codec_shape shape;
    uint32_t parts;
    uint32_t plain_len;
    uint32_t chunks; /* of the paper */
    /* 16-byte aligned; GPU_INPUT_PAD bytes after the last byte are readable. */
    uint8_t *plain;
    const uint16_t *tags; /* one for each plain byte */
    /* gpuLZ: bytes of a symbol. 0, with symbol=auto: the match finder sets `widths` for each chunk
     * of LZ_CHUNK_SIZE bytes. */
    uint32_t width;
    const uint32_t *widths;

    /* Coding: the slots of all chunks. Part p of chunk i is at i * slot + p * second. */
    uint8_t *slots;
    uint32_t slot, second;
    /* Sizes of the parts, and for each, the sum of the sizes before it. Part p of chunk i is
     * element p * (chunks + 1) + i: the sizes of one part follow each other, and end with a 0. So
     * the part's last sum is the sum of all its sizes. */
    uint64_t *sizes, *sums;

    uint8_t *coded;                   /* a file; CODEC_PAD bytes after it are readable */
    const struct codec_place *places; /* decoding: part p of chunk i is places[i * parts + p] */
    const uint8_t *chunk_widths;      /* decoding gpuLZ: bytes of a symbol, for each chunk */
    /* Position lists: room for each chunk's packed form, its size, how often each byte occurs in
     * all packed forms, and the model. */
    uint8_t *packed;
    uint32_t packed_slot; /* bytes of the room for one chunk */
    uint32_t *packed_sizes;
    unsigned long long *counts;
    range_model *model;

    uint32_t *is_damaged; /* kernels set it to 1 if the coded bytes are damaged */
};

/* The plain bytes of chunk c. */
static __device__ __forceinline__ uint32_t codec_plain(const codec_view &v, uint32_t c)
{
    return min(v.shape.chunk, v.plain_len - c * v.shape.chunk);
}

/* gpuLZ: the bytes of a symbol in chunk c, while it is coded. */
static __device__ __forceinline__ uint32_t codec_width(const codec_view &v, uint32_t c)
{
    return v.width != 0 ? v.width : v.widths[(size_t)c * v.shape.chunk / LZ_CHUNK_SIZE];
}

/* --- Kernels: each function queues some ------------------------------------------------------- */

/* threads.cu: code or decode with a thread for each chunk. */
cudaError_t codec_encode_threads(const codec_view &v, enum codec_family family,
                                 cudaStream_t stream);
cudaError_t codec_decode_threads(const codec_view &v, enum codec_family family,
                                 cudaStream_t stream);

/* warps.cu: decodes with a warp for each chunk. codec_has_warps tells whether a family has this
 * form. */
bool codec_has_warps(enum codec_family family);
cudaError_t codec_decode_warps(const codec_view &v, enum codec_family family, cudaStream_t stream);

/* encode_warps.cu: codes with a warp for each chunk. */
bool codec_has_warps_to_encode(enum codec_family family);
cudaError_t codec_encode_warps(const codec_view &v, enum codec_family family, cudaStream_t stream);

/* fused.cu: gpuLZ's kernel that matches and codes. The widths of symbols must be known. */
cudaError_t codec_encode_fused(const codec_view &v, const struct lz_level *level,
                               cudaStream_t stream);

/* lists.cu: the steps of coding position lists, and decoding. The host sets the model between the
 * counting and the encoding. */
cudaError_t codec_pack_lists(const codec_view &v, cudaStream_t stream);
cudaError_t codec_count_lists(const codec_view &v, cudaStream_t stream);
cudaError_t codec_encode_lists(const codec_view &v, cudaStream_t stream);
cudaError_t codec_decode_lists(const codec_view &v, cudaStream_t stream);

/* place.cu: makes a file from the slots, the sizes and their sums. */
cudaError_t codec_place_chunks(const codec_view &v, const codec_layout &layout,
                               cudaStream_t stream);

#endif
