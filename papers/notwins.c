/*
 * notwins.c - empty GPU twins of the methods, for a build without CUDA
 */
#include "config.h"

#include "papers/papers.h"

/* Without CUDA, no code uses the contents of a twin. */
struct gpu_finder {
    char nothing;
};

#define NO_TWIN(name) const struct gpu_finder gpu_finder_##name;
PAPER_METHODS(NO_TWIN)
#undef NO_TWIN
