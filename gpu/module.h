/*
 * module.h - what a GPU engine's module gives to the program
 *
 * The GPU engine is a shared object, LIBDIR/gzlzss/cuda.so. The command and the library load it
 * when a GPU may be worth using (loader.c). So they are the same with and without an engine, and
 * start as fast. module/ is the module's own side.
 *
 * A module exports one function, gzlzss_gpu_module. The program uses the module only if `interface`
 * and `version` are its own. A module of another version could find other matches, and then the
 * output would depend on the engine.
 */
#ifndef GZLZSS_GPU_MODULE_H
#define GZLZSS_GPU_MODULE_H

#include <stdint.h>

#include "gpu/calls.h"

/* Number of the interface. Raise it with each change of struct gpu_module, of the functions in
 * calls.h, or of the structs that they use. */
#define GPU_MODULE_INTERFACE 2

struct gpu_module {
    uint32_t interface;  /* GPU_MODULE_INTERFACE */
    const char *version; /* the version of gzlzss, as PACKAGE_VERSION */

    /* The functions: a member of this name for each. */
#define GPU_MEMBER(type, name, parameters, arguments) type(*name) parameters;
    GPU_CALLS(GPU_MEMBER)
#undef GPU_MEMBER
};

/* The function that a module exports, and its name for dlsym. */
typedef const struct gpu_module *gpu_module_entry(void);
#define GPU_MODULE_ENTRY gzlzss_gpu_module
#define GPU_MODULE_ENTRY_NAME "gzlzss_gpu_module"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the GPU's match finder for the level: the twin of the level's finder. Returns NULL if the
 * module has none. The module's own side calls this; module/twins.c defines it. */
const struct gpu_finder *gpu_twin(const struct lz_level *level);

#ifdef __cplusplus
}
#endif

#endif
