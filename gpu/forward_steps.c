/*
 * forward_steps.c - decompression in steps (inflate.h) by a GPU engine's module (module.h)
 */
#include "config.h"

#include "gpu/loader.h"

GPU_STEPS_CALLS(GPU_FORWARD)
