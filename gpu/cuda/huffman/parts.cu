/*
 * parts.cu - divides chunks into parts and counts their symbols: the twin of huffman/count.c
 *
 * One block of threads counts one chunk.  A thread counts the symbols that start in its span.  The
 * CPU compares each match with the input at this point; here, only limits are checked, as check.cu
 * decodes and compares everything later.
 */
#include <cub/block/block_scan.cuh>

#include "gpu/cuda/huffman/coding.cuh"

#define THREADS GPU_SPANS

typedef cub::BlockScan<uint32_t, THREADS> Scan;

/* Whether the sequence is within DEFLATE's limits. */
static __device__ bool is_valid(const lz_sequence &s)
{
    return s.length >= LZ_MIN_MATCH && s.length <= LZ_MAX_MATCH && s.distance > 0 &&
           s.distance <= LZ_WINDOW_SIZE && s.literals <= LZ_CHUNK_SIZE;
}

/* Sets ends[] to where the chunk's sequences end, in shared and in global memory.  Returns whether
 * all matches lie in the chunk and refer to bytes of the segment, to all threads. */
static __device__ bool find_ends(const gpu_sequences &s, const gpu_span &span, uint16_t *ends,
                                 uint16_t *all_ends, Scan::TempStorage &storage)
{
    __shared__ uint32_t wrong;
    const uint32_t each = (s.count + THREADS - 1) / THREADS;
    const uint32_t first = min(threadIdx.x * each, s.count), last = min(first + each, s.count);
    uint32_t sum = 0, at, total;
    bool good = true;

    if (threadIdx.x == 0)
        wrong = 0;
    for (uint32_t i = first; i < last; i++) {
        good &= is_valid(s.list[i]);
        sum += (uint32_t)s.list[i].literals + s.list[i].length;
    }
    Scan(storage).ExclusiveSum(sum, at, total);
    good &= total <= span.end - span.start;
    for (uint32_t i = first; i < last; i++) {
        const uint32_t match_at = span.before * (uint32_t)LZ_CHUNK_SIZE + at + s.list[i].literals;

        good &= s.list[i].distance <= match_at;
        at += (uint32_t)s.list[i].literals + s.list[i].length;
        ends[i] = all_ends[i] = (uint16_t)at;
    }
    __syncthreads();
    if (!good)
        atomicOr(&wrong, 1u);
    __syncthreads();
    return wrong == 0;
}

/* Divides a chunk of `length` bytes into parts (huffman.h says where a block may end).  Sets
 * bounds[k] to the start of part k, and bounds[] of the number of parts to the chunk's end.
 * Returns the number. */
static __device__ uint32_t divide(const uint16_t *ends, uint32_t count, uint32_t length,
                                  uint32_t split, uint32_t *bounds)
{
    uint32_t parts = 0, start = 0, i = 0;

    bounds[0] = 0;
    while (start < length) {
        /* The sequence with which the part reaches `split` bytes. */
        i += gpu_first_after(ends + i, count - i, start + split - 1);
        if (i + 1 >= count || parts + 1 == GPU_PARTS)
            start = length;
        else
            start = ends[i++];
        bounds[++parts] = start;
    }
    return parts;
}

static __global__ void __launch_bounds__(THREADS) count_parts(gpu_view v, gpu_coder c)
{
    __shared__ uint16_t ends[LZ_CHUNK_MAX_SEQUENCES + 1];
    __shared__ uint32_t counts[GPU_PARTS][GPU_CODED_SYMBOLS];
    __shared__ uint32_t bounds[GPU_PARTS + 1], parts;
    __shared__ Scan::TempStorage storage;

    const uint32_t chunk = blockIdx.x;
    const gpu_span span = gpu_chunk_span(v, chunk);
    const uint32_t length = span.end - span.start;
    const uint8_t *const in = v.input + span.start;
    const gpu_result r = v.results[chunk];
    const bool has_room = r.count <= LZ_CHUNK_MAX_SEQUENCES && r.offset <= v.capacity &&
                          r.count <= v.capacity - r.offset;
    gpu_sequences s = {v.sequences + (has_room ? r.offset : 0), has_room ? r.count : 0};

    for (uint32_t i = threadIdx.x; i < GPU_PARTS * GPU_CODED_SYMBOLS; i += THREADS)
        (&counts[0][0])[i] = 0;
    const bool good = find_ends(s, span, ends, c.ends + (has_room ? r.offset : 0), storage);

    if (!has_room || !good) {
        if (threadIdx.x == 0)
            atomicOr(&c.coded[c.chunk_segment[chunk]].bad,
                     (uint32_t)(has_room ? GPU_BAD_MATCHES : GPU_BAD_ROOM));
        s.count = 0;
    }
    if (threadIdx.x == 0) {
        parts = divide(ends, s.count, length, c.split, bounds);
        c.parts[chunk] = (uint8_t)parts;
        for (uint32_t k = 0; k < parts; k++)
            c.part_ends[chunk * GPU_PARTS + k] = (uint16_t)bounds[k + 1];
    }
    __syncthreads();

    const uint32_t from = min(threadIdx.x * GPU_SPAN, length), to = min(from + GPU_SPAN, length);
    uint32_t k = 0;

    gpu_walk(
        s, ends, length, from, to,
        [&](uint32_t p, uint32_t stop) {
            while (p < stop) {
                while (p >= bounds[k + 1])
                    k++;
                for (const uint32_t end = min(stop, bounds[k + 1]); p < end; p++)
                    atomicAdd(&counts[k][in[p]], 1u);
            }
        },
        [&](uint32_t p, const lz_sequence &m) {
            while (p >= bounds[k + 1])
                k++;
            atomicAdd(&counts[k][deflate_length_symbol(m.length)], 1u);
            atomicAdd(&counts[k][GPU_DISTANCES + deflate_distance_symbol(m.distance)], 1u);
        });
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < parts * GPU_CODED_SYMBOLS; i += THREADS)
        c.part_counts[(size_t)chunk * GPU_PARTS * GPU_CODED_SYMBOLS + i] =
            (uint16_t)(i % GPU_CODED_SYMBOLS == DEFLATE_END_OF_BLOCK ? 1 : (&counts[0][0])[i]);
}

cudaError_t gpu_count_parts(const gpu_view &v, const gpu_coder &c, cudaStream_t stream)
{
    count_parts<<<v.chunks, THREADS, 0, stream>>>(v, c);
    return cudaGetLastError();
}

cudaError_t gpu_load_parts(void)
{
    const void *const kernels[] = {(const void *)count_parts};

    return gpu_load(kernels);
}
