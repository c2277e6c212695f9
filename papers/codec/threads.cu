/*
 * threads.cu - codes and decodes the papers' formats on a GPU, with a thread for each chunk
 *
 * The threads call the functions that the CPU calls. The authors' code of CULZSS and of gpuLZ
 * decodes in this way, and the thesis's LZSS and LZ4 (section 10) and DKLZSS (section 6) code in
 * this way. It is slow, because the threads of a warp touch bytes that lie far apart.
 */
#include "papers/codec/kernels.cuh"

#include "papers/codec/culzss.h"
#include "papers/codec/dklzss.h"
#include "papers/codec/glzss.h"
#include "papers/codec/gpulz.h"
#include "papers/codec/lz4.h"
#include "papers/codec/lzss.h"

/* Threads of a block. Small blocks spread few chunks over more multiprocessors. */
#define THREADS 32

/* A family's functions, as types that a kernel can have as a parameter. */
#define CODE(name)                                                                           \
    struct name##_code {                                                                     \
        static __device__ uint32_t encode(const codec_shape *s, const uint8_t *in,           \
                                          const uint16_t *tags, uint32_t len, uint8_t *out)  \
        {                                                                                    \
            return name##_encode(s, in, tags, len, out);                                     \
        }                                                                                    \
        static __device__ bool decode(const codec_shape *s, const uint8_t *in, uint32_t len, \
                                      uint8_t *out, uint32_t plain)                          \
        {                                                                                    \
            return name##_decode(s, in, len, out, plain);                                    \
        }                                                                                    \
    };
CODE(culzss)
CODE(glzss)
CODE(lzss)
CODE(lz4)
CODE(dklzss)

template <typename Code>
static __global__ void __launch_bounds__(THREADS) encode_chunks(codec_view v)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;
    const size_t begin = (size_t)c * v.shape.chunk;

    if (c < v.chunks)
        v.sizes[c] = Code::encode(&v.shape, v.plain + begin, v.tags + begin, codec_plain(v, c),
                                  v.slots + (size_t)c * v.slot);
}

template <typename Code>
static __global__ void __launch_bounds__(THREADS) decode_chunks(codec_view v)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c >= v.chunks)
        return;
    const codec_place place = v.places[c];

    if (!Code::decode(&v.shape, v.coded + place.at, place.size, v.plain + (size_t)c * v.shape.chunk,
                      codec_plain(v, c)))
        *v.is_damaged = 1;
}

static __global__ void __launch_bounds__(THREADS) encode_gpulz(codec_view v)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;
    const size_t begin = (size_t)c * v.shape.chunk;

    if (c >= v.chunks)
        return;
    uint8_t *slot = v.slots + (size_t)c * v.slot;
    const gpulz_sizes sizes = gpulz_encode(v.plain + begin, v.tags + begin, codec_plain(v, c),
                                           codec_width(v, c), slot, slot + v.second);

    v.sizes[c] = sizes.flags;
    v.sizes[v.chunks + 1 + c] = sizes.data;
}

static __global__ void __launch_bounds__(THREADS) decode_gpulz(codec_view v)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c >= v.chunks)
        return;
    const codec_place flags = v.places[2 * c], data = v.places[2 * c + 1];

    if (!gpulz_decode(v.coded + flags.at, v.coded + data.at, {flags.size, data.size},
                      v.chunk_widths[c], v.plain + (size_t)c * v.shape.chunk, codec_plain(v, c)))
        *v.is_damaged = 1;
}

template <typename Code> static cudaError_t encode(const codec_view &v, cudaStream_t stream)
{
    encode_chunks<Code><<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

template <typename Code> static cudaError_t decode(const codec_view &v, cudaStream_t stream)
{
    decode_chunks<Code><<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

static cudaError_t queue_encode_gpulz(const codec_view &v, cudaStream_t stream)
{
    encode_gpulz<<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

static cudaError_t queue_decode_gpulz(const codec_view &v, cudaStream_t stream)
{
    decode_gpulz<<<(v.chunks + THREADS - 1) / THREADS, THREADS, 0, stream>>>(v);
    return cudaGetLastError();
}

cudaError_t codec_encode_threads(const codec_view &v, enum codec_family family, cudaStream_t stream)
{
    switch (family) {
    case CODEC_CULZSS:
        return encode<culzss_code>(v, stream);
    case CODEC_GLZSS:
        return encode<glzss_code>(v, stream);
    case CODEC_LZSS:
        return encode<lzss_code>(v, stream);
    case CODEC_LZ4:
        return encode<lz4_code>(v, stream);
    case CODEC_DKLZSS:
        return encode<dklzss_code>(v, stream);
    case CODEC_GPULZ:
        return queue_encode_gpulz(v, stream);
    case CODEC_POSITION_LISTS:
        return codec_encode_lists(v, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t codec_decode_threads(const codec_view &v, enum codec_family family, cudaStream_t stream)
{
    switch (family) {
    case CODEC_CULZSS:
        return decode<culzss_code>(v, stream);
    case CODEC_GLZSS:
        return decode<glzss_code>(v, stream);
    case CODEC_LZSS:
        return decode<lzss_code>(v, stream);
    case CODEC_LZ4:
        return decode<lz4_code>(v, stream);
    case CODEC_DKLZSS:
        return decode<dklzss_code>(v, stream);
    case CODEC_GPULZ:
        return queue_decode_gpulz(v, stream);
    case CODEC_POSITION_LISTS:
        return codec_decode_lists(v, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
