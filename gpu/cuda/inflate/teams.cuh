/*
 * teams.cuh - groups of threads that count a unit together (count.cu); private to gpu/
 *
 * A group is a warp, or a team: a whole block of threads.  All threads of a group must call each of
 * its functions.
 */
#ifndef GZLZSS_GPU_TEAMS_CUH
#define GZLZSS_GPU_TEAMS_CUH

#include "gpu/cuda/inflate/codes.cuh"
#include "gpu/cuda/inflate/phases.cuh"
#include "gpu/cuda/inflate/pieces.cuh"

/* A group of 32 threads.  `rank` is this thread's number. */
struct warp_group {
    static constexpr uint32_t size = WARP;
    static constexpr bool is_team = false;
    uint32_t rank;

    __device__ void sync() const
    {
        __syncwarp();
    }

    /* Returns the value of the thread before; the first thread must not use the result. */
    __device__ uint32_t before(uint32_t value) const
    {
        return __shfl_up_sync(ALL_LANES, value, 1);
    }

    /* Returns the first thread's number for which is_so is true; `size` if there is none. */
    __device__ uint32_t first(bool is_so) const
    {
        const uint32_t lanes = __ballot_sync(ALL_LANES, is_so);

        return lanes != 0 ? (uint32_t)__ffs((int)lanes) - 1 : size;
    }

    /* Returns the value of thread number `other`. */
    __device__ uint32_t from(uint32_t value, uint32_t other) const
    {
        return __shfl_sync(ALL_LANES, value, (int)other);
    }

    /* Returns the sum of the values of this thread and of all threads before. */
    __device__ uint32_t sum(uint32_t value) const
    {
        for (uint32_t i = 1; i < WARP; i <<= 1) {
            const uint32_t other = __shfl_up_sync(ALL_LANES, value, i);

            if (rank >= i)
                value += other;
        }
        return value;
    }
};

template <uint32_t SIZE> struct team_memory {
    uint32_t values[SIZE], sums[SIZE / WARP], first, value;
    code_sizes sizes;
    team_exits<SIZE / WARP> exits;
};

/* A block of SIZE threads. */
template <uint32_t SIZE> struct team_group {
    static constexpr uint32_t size = SIZE;
    static constexpr bool is_team = true;
    uint32_t rank;
    team_memory<SIZE> &m;

    __device__ void sync() const
    {
        __syncthreads();
    }

    __device__ uint32_t before(uint32_t value) const
    {
        m.values[rank] = value;
        __syncthreads();
        value = rank > 0 ? m.values[rank - 1] : 0;
        __syncthreads();
        return value;
    }

    __device__ uint32_t first(bool is_so) const
    {
        uint32_t found;

        if (rank == 0)
            m.first = size;
        __syncthreads();
        if (is_so)
            atomicMin(&m.first, rank);
        __syncthreads();
        found = m.first;
        __syncthreads();
        return found;
    }

    __device__ uint32_t from(uint32_t value, uint32_t other) const
    {
        if (rank == other)
            m.value = value;
        __syncthreads();
        value = m.value;
        __syncthreads();
        return value;
    }

    __device__ uint32_t sum(uint32_t value) const
    {
        const warp_group warp = {rank % WARP};

        value = warp.sum(value);
        if (rank % WARP == WARP - 1)
            m.sums[rank / WARP] = value;
        __syncthreads();
        for (uint32_t i = 0; i < rank / WARP; i++)
            value += m.sums[i];
        __syncthreads();
        return value;
    }

    /* Prepares find_start for a block whose tables are t. */
    __device__ void make_sizes(const tables &t) const
    {
        make_code_sizes(t, m.sizes, rank, size, [] { __syncthreads(); });
    }

    /* Returns the bit where this thread's first code starts, given that the first thread's starts
     * at `place`.  Returns `other` if the block, or valid data, ends before this thread's span. */
    __device__ uint32_t find_start(const gpu_compressed &in, const tables &t, uint32_t place,
                                   uint32_t cut, uint32_t other) const
    {
        const uint32_t first = place - (cut - rank * SPAN);
        const uint32_t phase =
            find_phase(in, t, m.sizes, first, cut, rank, m.exits, [] { __syncthreads(); });

        return phase < PHASES ? cut + phase : other;
    }
};

#endif
