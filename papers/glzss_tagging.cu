/*
 * glzss_tagging.cu - GLZSS-tagging on the GPU (glzss_tagging.c defines the method; glzss.cuh has
 * the walk)
 */
#include "papers/glzss.cuh"
#include "papers/papers.h"

static __global__ void __launch_bounds__(WARP) tag(gpu_view v, uint32_t bits, uint32_t packet)
{
    extern __shared__ uint4 shared[];

    glzss_tag<true>(v, shared, bits, packet);
}

/* Queues the walk. The table and the marks take up to 132 KiB of shared memory. If the device does
 * not allow a block that much, this fails, and the CPU does the work. */
static cudaError_t parse(const gpu_view &v, const struct lz_level *level, cudaStream_t stream)
{
    const glzss_launch launch = glzss_launch_for(v, level);
    const cudaError_t status = gpu_allow_shared(tag, v, launch.shared_size);

    if (status != cudaSuccess)
        return status;
    tag<<<launch.blocks, WARP, launch.shared_size, stream>>>(v, launch.bits, launch.packet);
    return cudaGetLastError();
}

const struct gpu_finder gpu_finder_glzss_tagging = {glzss_scratch, NULL, parse, GLZSS_MIN_MATCH};
