/*
 * notwins.c - empty GPU twins of the levels' match finders, for a build without CUDA
 *
 * The twins have a file of their own because a test that replaces none.c by an engine of its own
 * still needs them.
 */
#include "config.h"

#include "lzss/finders.h"

/* Without CUDA, no code looks into a twin. */
struct gpu_finder {
    char nothing;
};

#define NO_TWIN(name) const struct gpu_finder gpu_finder_##name;
LZ_FINDERS(NO_TWIN)
#undef NO_TWIN
