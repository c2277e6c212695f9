/*
 * notwins.c - the methods' GPU twins in a build without CUDA: nothing is in them
 */
#include "config.h"

#include "papers/papers.h"

/* Nothing looks into it. */
struct gpu_finder {
    char nothing;
};

#define NO_TWIN(name) const struct gpu_finder gpu_finder_##name;
PAPER_METHODS(NO_TWIN)
#undef NO_TWIN
