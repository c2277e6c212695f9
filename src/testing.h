/*
 * testing.h - what tests ask of the command through the environment (docs/testing.md lists the
 * variables)
 */
#ifndef GZLZSS_TESTING_H
#define GZLZSS_TESTING_H

#include "pipeline/pipeline.h"

/* Sets in *config what the variables GZLZSS_TEST_GPU_MIN, _MEMORY, _SHARED and _FAULT say, and that
 * nothing is asked where they are not set. */
void testing_configure(struct pipeline_config *config);

/* The bytes of input in each part of what is decompressed; 0: nothing is asked for. */
size_t testing_region(void);

#endif
