/*
 * notwins.c - the twins of the levels' match finders in a build without CUDA: nothing is in them
 *
 * They are not in none.c, so that a test with an engine of its own need not have its own twins, too.
 */
#include "config.h"

#include "lzss/finders.h"

/* Nothing looks into it. */
struct gpu_finder {
    char nothing;
};

#define NO_TWIN(name) const struct gpu_finder gpu_finder_##name;
LZ_FINDERS(NO_TWIN)
#undef NO_TWIN
