/*
 * resolve.cu - symbols become bytes, on the GPU
 *
 * The window before a piece is the end of the output before it.  That output has names of bytes of
 * the window before, and so on back to the group's start.  Finding the windows one after the other
 * would take too long if there are many pieces.  A scan finds them, in three steps:
 *
 *   1. For each chunk, a block of threads goes through its pieces.  It does not know the window
 *      before the chunk.  So the window that it finds for the chunk's end has bytes, and names of
 *      bytes of the window before the chunk.
 *   2. All chunks join their windows with that of the chunk before, then with that of two chunks
 *      before, of four before, and so on.  In the end, all names are of bytes of the window before
 *      the group, which is known.
 *   3. For each chunk, a block of threads goes through its pieces once more.  Now it knows the
 *      window before each piece, and turns all symbols into bytes.
 */
#include "gpu/pieces.cuh"
#include "gpu/internal.cuh"

/* Threads of a block.  There are few blocks, as each has a window in shared memory. */
#define THREADS 1024

/* Symbols of a window that a thread moves on at a time. */
#define EACH (GPU_WINDOW / THREADS)

/* Returns the symbol if it is a byte; if it is a name, the entry of `window` that it names. */
template <typename T> static __device__ __forceinline__ T known_as(const T *window, uint32_t symbol)
{
    return symbol < GPU_UNKNOWN ? (T)symbol : window[symbol - GPU_UNKNOWN];
}

/* Moves a window on: afterwards it ends with symbols[0..length), which may be bytes.  Names among
 * them are looked up in the window as it was. */
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

/* How many pieces the chunk has. */
static __device__ __forceinline__ uint32_t pieces_of(const gpu_group &g, uint32_t chunk)
{
    return min(g.chunk, g.count - chunk * g.chunk);
}

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

/* Joins the window at each chunk's end with that of `step` chunks before. */
static __global__ void __launch_bounds__(THREADS)
    join_windows(const uint16_t *names, uint16_t *joined, uint32_t step)
{
    const uint32_t chunk = blockIdx.x;
    const uint16_t *const own = names + (size_t)chunk * GPU_WINDOW;
    const uint16_t *const before = own - (size_t)step * GPU_WINDOW;

    for (uint32_t i = threadIdx.x; i < GPU_WINDOW; i += THREADS)
        joined[(size_t)chunk * GPU_WINDOW + i] = chunk < step ? own[i] : known_as(before, own[i]);
}

/* Turns the windows at the ends of chunks into bytes.  Their names are of bytes of the window
 * before the group. */
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
    /* Four bytes at a time where they can be stored at once. */
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
    /* The rest: up to three bytes before, and three behind. */
    for (uint32_t i = threadIdx.x; i < length - 4 * fours; i += THREADS) {
        const uint32_t k = i < lead ? i : i + 4 * fours, symbol = symbols[k];

        is_bad |= symbol >= GPU_UNKNOWN && symbol - GPU_UNKNOWN < unknown;
        out[k] = known_as(window, symbol);
    }
    return is_bad;
}

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
        const bool is_bad = make_bytes(window, symbols, out + range.start, range.length, unknown);

        if (is_bad)
            atomicOr(&g.ranges[first + i].is_bad, 1u);
        __syncthreads();
        move_window(window, out + range.start, range.length);
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
