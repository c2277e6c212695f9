/*
 * resolve.cu - turns symbols into bytes on the GPU
 *
 * A symbol is a byte, or a name: the number of a byte in the window before the piece.  That window
 * is the end of the output of earlier pieces, whose symbols may be names, too, back to the group's
 * start.  With many pieces, it would take too long to find the windows one after another.  So the
 * pieces are divided into chunks of consecutive pieces, and a scan over the chunks finds the
 * windows, in three steps:
 *
 *   1. For each chunk, a block of threads goes through the chunk's pieces.  It does not know the
 *      window before the chunk.  So the window that it finds at the chunk's end consists of bytes,
 *      and of names of bytes of the window before the chunk.
 *   2. Each chunk joins its window with the window of the chunk before, then with the window of two
 *      chunks before, of four before, and so on.  In the end, all names are names of bytes of the
 *      window before the group, which is known.
 *   3. For each chunk, a block of threads goes through the chunk's pieces once more.  Now it knows
 *      the window before each piece, and turns all symbols into bytes.
 */
#include "gpu/cuda/inflate/pieces.cuh"
#include "gpu/cuda/internal.cuh"

/* Threads of a block.  A multiprocessor holds few blocks, as each has a window in shared memory, so
 * a block has many threads. */
#define THREADS 1024

/* Entries of a window that each thread moves. */
#define EACH (GPU_WINDOW / THREADS)

/* Returns the symbol if it is a byte, or else the entry of `window` that it names. */
template <typename T> static __device__ __forceinline__ T known_as(const T *window, uint32_t symbol)
{
    return symbol < GPU_UNKNOWN ? (T)symbol : window[symbol - GPU_UNKNOWN];
}

/* Appends symbols[0..length) to a window, and drops as many entries at its start.  Looks names up
 * in the old window.  The symbols may also be bytes, of type uint8_t. */
template <typename T, typename Symbol>
static __device__ void move_window(T *window, const Symbol *symbols, uint32_t length)
{
    const uint32_t kept = length < GPU_WINDOW ? GPU_WINDOW - length : 0;
    T moved[EACH];

#pragma unroll
    for (uint32_t i = 0; i < EACH; i++) {
        const uint32_t k = i * THREADS + threadIdx.x;

        moved[i] =
            k < kept ? window[k + length] : known_as(window, symbols[length - GPU_WINDOW + k]);
    }
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++)
        window[i * THREADS + threadIdx.x] = moved[i];
    __syncthreads();
}

/* Returns the number of pieces of the chunk. */
static __device__ __forceinline__ uint32_t pieces_of(const gpu_group &g, uint32_t chunk)
{
    return min(g.chunk, g.count - chunk * g.chunk);
}

/* Step 1: finds the window at the end of each chunk, with names. */
static __global__ void __launch_bounds__(THREADS) name_windows(gpu_group g)
{
    extern __shared__ uint4 shared[];
    uint16_t *const window = (uint16_t *)shared;
    const uint32_t first = blockIdx.x * g.chunk;

    for (uint32_t i = threadIdx.x; i < GPU_WINDOW; i += THREADS)
        window[i] = (uint16_t)(GPU_UNKNOWN + i);
    __syncthreads();
    for (uint32_t i = 0; i < pieces_of(g, blockIdx.x); i++) {
        const gpu_range range = g.ranges[first + i];

        move_window(window, g.symbols + range.start, range.length);
    }
    for (uint32_t i = threadIdx.x; i < GPU_WINDOW; i += THREADS)
        g.names[blockIdx.x * GPU_WINDOW + i] = window[i];
}

/* Step 2: joins the window at the end of each chunk with the window at the end of the chunk that is
 * `step` chunks before. */
static __global__ void __launch_bounds__(THREADS)
    join_windows(const uint16_t *names, uint16_t *joined, uint32_t step)
{
    const uint32_t chunk = blockIdx.x;
    const uint16_t *const own = names + (size_t)chunk * GPU_WINDOW;
    const uint16_t *const before = own - (size_t)step * GPU_WINDOW;

    for (uint32_t i = threadIdx.x; i < GPU_WINDOW; i += THREADS)
        joined[(size_t)chunk * GPU_WINDOW + i] = chunk < step ? own[i] : known_as(before, own[i]);
}

/* Turns the windows at the ends of chunks into bytes.  All names in them are names of bytes of the
 * window before the group. */
static __global__ void __launch_bounds__(THREADS) know_windows(gpu_group g, const uint16_t *names)
{
    const size_t first = (size_t)blockIdx.x * GPU_WINDOW;

    for (uint32_t i = threadIdx.x; i < GPU_WINDOW; i += THREADS)
        g.windows[first + GPU_WINDOW + i] = known_as(g.windows, names[first + i]);
}

/* Turns symbols[0..length) into bytes.  Returns true if a symbol of this thread names one of the
 * first `unknown` bytes of the window. */
static __device__ bool make_bytes(const uint8_t *window, const uint16_t *symbols, uint8_t *out,
                                  uint32_t length, uint32_t unknown)
{
    /* Store four bytes at a time, at multiples of 4 bytes. */
    const uint32_t lead = min((uint32_t)(-(uintptr_t)out & 3), length);
    const uint32_t fours = (length - lead) / 4;
    bool is_bad = false;

    for (uint32_t i = threadIdx.x; i < fours; i += THREADS) {
        const uint16_t *const s = symbols + lead + 4 * i;
        uint32_t bytes = 0;

#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t symbol = s[k];

            is_bad |= symbol >= GPU_UNKNOWN && symbol - GPU_UNKNOWN < unknown;
            bytes |= (uint32_t)known_as(window, symbol) << (8 * k);
        }
        *(uint32_t *)(out + lead + 4 * i) = bytes;
    }
    /* Store the rest: up to three bytes before these groups of four, and up to three bytes after
     * them. */
    for (uint32_t i = threadIdx.x; i < length - 4 * fours; i += THREADS) {
        const uint32_t k = i < lead ? i : i + 4 * fours, symbol = symbols[k];

        is_bad |= symbol >= GPU_UNKNOWN && symbol - GPU_UNKNOWN < unknown;
        out[k] = known_as(window, symbol);
    }
    return is_bad;
}

/* Step 3: turns the symbols of each chunk's pieces into bytes. */
static __global__ void __launch_bounds__(THREADS) resolve_pieces(gpu_group g, uint8_t *out)
{
    extern __shared__ uint4 shared[];
    uint8_t *const window = (uint8_t *)shared;
    const uint32_t first = blockIdx.x * g.chunk;

    for (uint32_t i = threadIdx.x; i < GPU_WINDOW; i += THREADS)
        window[i] = g.windows[blockIdx.x * GPU_WINDOW + i];
    __syncthreads();
    for (uint32_t i = 0; i < pieces_of(g, blockIdx.x); i++) {
        const gpu_range range = g.ranges[first + i];
        const gpu_piece &p = g.pieces[first + i];
        const uint64_t known = p.known + (range.start - p.block_out);
        const uint32_t unknown = known < GPU_WINDOW ? GPU_WINDOW - (uint32_t)known : 0;
        const uint16_t *const symbols = g.symbols + range.start;
        uint8_t *const to = out + p.to + (range.start - p.block_out);
        const bool is_bad = make_bytes(window, symbols, to, range.length, unknown);

        if (is_bad)
            atomicOr(&g.ranges[first + i].is_bad, 1u);
        __syncthreads();
        move_window(window, to, range.length);
    }
}

cudaError_t gpu_find_windows(const gpu_group &g, cudaStream_t stream)
{
    const size_t size = GPU_WINDOW * sizeof(uint16_t);
    const cudaError_t error = gpu_allow_shared(name_windows, size);

    if (error != cudaSuccess)
        return error;
    const uint32_t chunks = gpu_chunks(g);
    uint16_t *names = g.names, *joined = g.names + (size_t)chunks * GPU_WINDOW;

    name_windows<<<chunks, THREADS, size, stream>>>(g);
    for (uint32_t step = 1; step < chunks; step *= 2) {
        uint16_t *const swap = names;

        join_windows<<<chunks, THREADS, 0, stream>>>(names, joined, step);
        names = joined;
        joined = swap;
    }
    know_windows<<<chunks, THREADS, 0, stream>>>(g, names);
    return cudaGetLastError();
}

cudaError_t gpu_resolve(const gpu_group &g, uint8_t *out, cudaStream_t stream)
{
    resolve_pieces<<<gpu_chunks(g), THREADS, GPU_WINDOW, stream>>>(g, out);
    return cudaGetLastError();
}

cudaError_t gpu_load_resolve(void)
{
    const void *const kernels[] = {(const void *)name_windows, (const void *)join_windows,
                                   (const void *)know_windows, (const void *)resolve_pieces};

    return gpu_load(kernels);
}
