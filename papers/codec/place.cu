/*
 * place.cu - makes a file from the coded chunks: copies them to their places, and writes the rest
 *
 * gpuLZ's paper calls this step "deflating" (section 3.3.4, kernel III). A slot starts at a
 * multiple of 16 bytes, but a place may be anywhere. So a thread makes each word of the file from
 * two words of the slot.
 */
#include "gpu/cuda/warp.cuh"
#include "papers/codec/kernels.cuh"

#define THREADS 128

/* Bytes that a block of threads copies. With fewer, large chunks are copied by more blocks, but
 * blocks do less work in relation to the time of their start. */
#define SLICE (16u << 10)

/* Copies from[begin..end) to to[begin..end). `from` is a multiple of 4. */
static __device__ __forceinline__ void copy_slice(uint8_t *to, const uint8_t *from, uint32_t begin,
                                                  uint32_t end)
{
    const uint32_t first = min(begin + (uint32_t)(-(uintptr_t)(to + begin) & 3), end);
    const uint32_t words = (end - first) / 4, rest = first + 4 * words;

    for (uint32_t i = threadIdx.x; i < words; i += THREADS)
        ((uint32_t *)(to + first))[i] = load32((const uint32_t *)from, first + 4 * i);
    if (threadIdx.x < first - begin)
        to[begin + threadIdx.x] = from[begin + threadIdx.x];
    if (threadIdx.x < end - rest)
        to[rest + threadIdx.x] = from[rest + threadIdx.x];
}

/* Block (x, y) copies slice y of chunk x. at: where the first part of the first chunk begins in the
 * file, or the chunk's head if it has one. head: bytes of a chunk's head. */
static __global__ void __launch_bounds__(THREADS)
    place_part(codec_view v, uint32_t part, uint64_t at, uint32_t head)
{
    const uint32_t c = blockIdx.x, begin = blockIdx.y * SLICE;
    const size_t i = (size_t)part * (v.chunks + 1) + c;
    const uint32_t size = (uint32_t)v.sizes[i];

    /* gpuLZ's data comes after all flags. */
    if (part > 0)
        at += v.sums[v.chunks];
    if (begin < size)
        copy_slice(v.coded + at + v.sums[i] + (uint64_t)(c + 1) * head,
                   v.slots + (size_t)c * v.slot + part * v.second, begin, min(size, begin + SLICE));
}

static cudaError_t queue_part(const codec_view &v, uint32_t part, uint64_t at, uint32_t head,
                              cudaStream_t stream)
{
    const uint32_t room = part == 0 && v.parts > 1 ? v.second : v.slot - part * v.second;
    const dim3 blocks(v.chunks, (room + SLICE - 1) / SLICE);

    if (v.chunks == 0)
        return cudaSuccess;
    place_part<<<blocks, THREADS, 0, stream>>>(v, part, at, head);
    return cudaGetLastError();
}

/* --- Fronts ----------------------------------------------------------------------------------- */

/* Writes the lowest `count` bytes of a number, the lowest first. */
static __device__ __forceinline__ void put_number(uint8_t *to, uint32_t number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, number >>= 8)
        to[i] = (uint8_t)number;
}

/* Writes what comes before the table of sizes. One thread calls this function. */
static __device__ void put_first_numbers(const codec_view &v, const codec_layout &layout)
{
    uint8_t *to = v.coded;

    if (layout.has_plain) {
        put_number(to, v.plain_len, 4);
        to += 4;
    }
    if (layout.has_count)
        put_number(to, v.chunks, 4);
    if (layout.has_model) {
        put_number(to, v.shape.chunk, 4);
        to += 4;
        for (uint32_t b = 0; b < 256; b++)
            put_number(to + 2 * b, v.model->sums[b + 1] - v.model->sums[b], 2);
    }
}

static __global__ void __launch_bounds__(THREADS) put_front(codec_view v, codec_layout layout)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;

    if (c == 0)
        put_first_numbers(v, layout);
    if (c >= v.chunks)
        return;
    const uint32_t size = (uint32_t)v.sizes[c];

    put_number(v.coded + codec_table_at(&layout) + (uint64_t)c * layout.size_bytes, size,
               layout.size_bytes);
    if (layout.has_heads) {
        uint8_t *head = v.coded + codec_front_size(&layout, 1, v.chunks) + v.sums[c] +
                        (uint64_t)c * CODEC_HEAD_SIZE;

        put_number(head, codec_plain(v, c), 4);
        put_number(head + 4, size, 4);
    }
}

/* --- gpuLZ ------------------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS) put_gpulz_front(codec_view v)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x, n = v.chunks;
    const uint64_t *flags = v.sums, *data = v.sums + n + 1;
    uint32_t *words = (uint32_t *)v.coded, *arrays = words + CODEC_GPULZ_FRONT / 4;

    if (c == 0) {
        words[0] = v.plain_len;
        words[1] = n;
        words[2] = (uint32_t)flags[n];
        words[3] = (uint32_t)data[n];
    }
    if (c > n)
        return;
    arrays[c] = (uint32_t)flags[c];
    arrays[n + 1 + c] = (uint32_t)data[c];
    if (c < n && v.width == 0)
        v.coded[codec_front_size(NULL, 2, n) + flags[n] + data[n] + c] = (uint8_t)codec_width(v, c);
}

/* --- Both ------------------------------------------------------------------------------------- */

cudaError_t codec_place_chunks(const codec_view &v, const codec_layout &layout, cudaStream_t stream)
{
    const uint64_t front = codec_front_size(&layout, v.parts, v.chunks);
    const uint32_t blocks = v.chunks / THREADS + 1;
    cudaError_t status = cudaSuccess;

    for (uint32_t part = 0; part < v.parts && status == cudaSuccess; part++)
        status = queue_part(v, part, front, layout.has_heads ? CODEC_HEAD_SIZE : 0, stream);
    if (status != cudaSuccess)
        return status;
    if (v.parts == 2)
        put_gpulz_front<<<blocks, THREADS, 0, stream>>>(v);
    else
        put_front<<<blocks, THREADS, 0, stream>>>(v, layout);
    return cudaGetLastError();
}
