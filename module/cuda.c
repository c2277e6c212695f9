/*
 * cuda.c - what the module cuda.so exports (gpu/module.h)
 */
#include "config.h"

#include "gpu/module.h"

#define MEMBER(type, name, parameters, arguments) .name = name,
static const struct gpu_module module = {
    .interface = GPU_MODULE_INTERFACE,
    .version = PACKAGE_VERSION,
    GPU_CALLS(MEMBER) /* each function of calls.h */
};
#undef MEMBER

/* Other functions are hidden: their calls are direct. */
gpu_module_entry GPU_MODULE_ENTRY __attribute__((visibility("default")));

const struct gpu_module *GPU_MODULE_ENTRY(void)
{
    return &module;
}
