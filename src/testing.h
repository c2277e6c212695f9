/*
 * testing.h - what tests ask of the command through the environment (HACKING.md lists the
 * variables)
 */
#ifndef GZLZSS_TESTING_H
#define GZLZSS_TESTING_H

#include "gpu/gpu.h"

/* Sets *options to what GZLZSS_TEST_GPU_MEMORY, _SHARED and _FAULT say; all 0 where they are not
 * set. */
void testing_gpu_options(struct gpu_options *options);

#endif
