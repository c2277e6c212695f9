/*
 * warps.cu - decodes the papers' formats on a GPU, with a warp for each chunk
 *
 * CULZSS and gpuLZ (warps_flags.cuh). A token is a literal or a match, and has a flag. A warp takes
 * 32 tokens at a time, one for each lane. All flags together tell where each token's bytes are,
 * because a literal has as many bytes as any other literal, and a match has two. The sum of the
 * lengths before a token tells where its output begins. The lanes write all literals at once. Then
 * all lanes copy one match after the other, since a match may copy bytes of the match before it.
 *
 * Mathur's LZSS and DKLZSS (warps_bits.cuh). The same, but a token begins at the bit where the
 * token before it ends, so all lanes walk from token to token first.
 *
 * GLZSS and Mathur's LZ4 (warps_bytes.cuh). All lanes decode one token at a time alike, and share
 * the copying of its bytes. GLZSS's paper gives each chunk to a warp, too (section 6.5), but lets
 * one lane work.
 *
 * The chunks of CULZSS, gpuLZ and DKLZSS have at most 32 KiB. They are decoded in shared memory,
 * the others in place.
 *
 * gpuLZ's paper measures a decoder, but does not describe it (4.4). The thesis and the papers of
 * DKLZSS and position lists have none on the GPU.
 *
 * The lanes of the last tokens may read past a chunk's coded bytes, by fewer than CODEC_PAD bytes,
 * before the warp knows that there are no such tokens.
 */
#include "papers/codec/warps_bits.cuh"
#include "papers/codec/warps_bytes.cuh"
#include "papers/codec/warps_flags.cuh"

/* Warps of a block. With more, a block needs more shared memory. Whole blocks then fill the memory
 * of a multiprocessor less well, so fewer warps may run on it. */
#define WARPS 4
#define THREADS (WARPS * WARP)

/* Copies a whole chunk from shared memory. Both addresses are multiples of 16. */
static __device__ __forceinline__ void copy_chunk(uint8_t *to, const uint8_t *from, uint32_t len)
{
    __syncwarp();
    for (uint32_t i = threadIdx.x % WARP; i < len / 16; i += WARP)
        ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    copy_bytes(to + len / 16 * 16, from + len / 16 * 16, len % 16);
}

/* Returns this warp's room for a chunk in shared memory. */
static __device__ __forceinline__ uint8_t *room_of_warp(const codec_view &v)
{
    extern __shared__ uint4 shared[];

    return (uint8_t *)shared + (size_t)(threadIdx.x / WARP) * v.shape.chunk;
}

/* Makes the output in shared memory. */
template <typename Warp>
static __global__ void __launch_bounds__(THREADS) decode_in_shared(codec_view v)
{
    const uint32_t c = blockIdx.x * WARPS + threadIdx.x / WARP;

    if (c >= v.chunks)
        return;
    uint8_t *out = room_of_warp(v);
    const uint32_t plain = codec_plain(v, c);

    if (Warp::decode(v, c, out, plain))
        copy_chunk(v.plain + (size_t)c * v.shape.chunk, out, plain);
    else
        *v.is_damaged = 1;
}

/* Makes the output in place. */
template <typename Warp>
static __global__ void __launch_bounds__(THREADS) decode_in_place(codec_view v)
{
    const uint32_t c = blockIdx.x * WARPS + threadIdx.x / WARP;

    if (c < v.chunks && !Warp::decode(v, c, v.plain + (size_t)c * v.shape.chunk, codec_plain(v, c)))
        *v.is_damaged = 1;
}

template <typename Warp>
static cudaError_t queue_in_shared(const codec_view &v, cudaStream_t stream)
{
    const uint32_t blocks = (v.chunks + WARPS - 1) / WARPS;
    const size_t size = (size_t)WARPS * v.shape.chunk;
    const cudaError_t status = gpu_allow_shared(decode_in_shared<Warp>, size);

    if (status != cudaSuccess)
        return status;
    decode_in_shared<Warp><<<blocks, THREADS, size, stream>>>(v);
    return cudaGetLastError();
}

template <typename Warp> static cudaError_t queue_in_place(const codec_view &v, cudaStream_t stream)
{
    decode_in_place<Warp><<<(v.chunks + WARPS - 1) / WARPS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

bool codec_has_warps(enum codec_family family)
{
    return family != CODEC_POSITION_LISTS;
}

cudaError_t codec_decode_warps(const codec_view &v, enum codec_family family, cudaStream_t stream)
{
    switch (family) {
    case CODEC_CULZSS:
        return queue_in_shared<culzss_warp>(v, stream);
    case CODEC_GLZSS:
        return queue_in_place<glzss_warp>(v, stream);
    case CODEC_GPULZ:
        return queue_in_shared<gpulz_warp>(v, stream);
    case CODEC_LZ4:
        return queue_in_place<lz4_warp>(v, stream);
    case CODEC_LZSS:
        return queue_in_place<lzss_warp>(v, stream);
    case CODEC_DKLZSS:
        return queue_in_shared<dklzss_warp>(v, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
