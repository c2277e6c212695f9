/*
 * loader.h - finds and loads a GPU engine's module (module.h)
 */
#ifndef GZLZSS_GPU_LOADER_H
#define GZLZSS_GPU_LOADER_H

#include "gpu/module.h"

/*
 * Returns the module, and loads it at the first call. Returns NULL, with the reason in error, if
 * there is none that this program can use. Loading is tried only once in a process, and a module is
 * never unloaded. Any thread may call this.
 *
 * Loading takes 0.3 ms (--version with and without the module, on an EPYC). It starts no GPU.
 */
const struct gpu_module *gpu_module(char error[GPU_ERROR_SIZE]);

/* Looks for the module's file, without loading it. This takes the dynamic
 * loader's lock. So the library calls it in the program's thread, which may hold that lock. */
void gpu_module_locate(void);

/* Returns the module if it is loaded, else NULL. Any thread may call this. */
const struct gpu_module *gpu_module_if_loaded(void);

/* Says why the module could not be loaded. `error` becomes empty if it was, or if nobody has asked
 * for it yet. */
void gpu_module_trouble(char error[GPU_ERROR_SIZE]);

/* Returns the path of the module, which is loaded. */
const char *gpu_module_path(void);

/* Defines a function of calls.h that calls the module's. The module must be loaded. */
#define GPU_FORWARD(type, name, parameters, arguments) \
    type name parameters                               \
    {                                                  \
        return gpu_module_if_loaded()->name arguments; \
    }

/* For tests: the path of the module to load. Call it before any other function of gpu/; `path` must
 * stay as it is. */
void gpu_module_use(const char *path);

#endif
