/*
 * queues.c - says how many hardware queues of a GPU a level wants
 *
 * The program decides this before it loads the engine (gpu_queues in gpu.h).
 */
#include "config.h"

#include "gpu/gpu.h"

/*
 * The value of CUDA_DEVICE_MAX_CONNECTIONS for levels with a fast finder. The driver's own choice
 * is 8 hardware queues, and each takes 12 ms to create and destroy: with 4 queues, 200 MB at level
 * 1 take 0.46 s instead of 0.52 s (H100).
 *
 * With fewer queues, fewer kernels overlap. From 8 to 4 queues, the GPU stage falls from 29 to 26
 * GB/s at level 1, from 9.5 to 9.3 GB/s at level 6, and not at all at level 9 (H200). The command
 * is no slower, since encoding takes longer than matching. Slow finders keep the driver's 8 queues:
 * with 4, level 12 fell from 0.59 to 0.34 GB/s. If you change this, measure both the start of the
 * command and bench/gpu_stage.
 */
#define FEW_QUEUES 4

/* The value of CUDA_DEVICE_MAX_CONNECTIONS for match finders that have no `find` (struct
 * gpu_finder). They use PARSERS_MAX streams for parsing (engine.cu). With 8 queues, copies wait
 * behind the long walks, and the GPU stage does 11.5 GB/s instead of 17.0 (glzss-tagging, H100).
 * With 16 queues, the command starts 0.15 s later. A faster stage is more important here, since the
 * papers' methods are compared by its speed. */
#define MANY_QUEUES 16

int gpu_queues(const struct lz_level *level)
{
    if (!lz_has_twin(level))
        return 0;
    if (level->finder->twin == LZ_TWIN_WALKS)
        return MANY_QUEUES;
    return level->finder->is_slow ? 0 : FEW_QUEUES;
}
