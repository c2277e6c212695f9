/*
 * testing.h - reads the environment variables by which tests change what the command does
 * (docs/testing.md lists them)
 */
#ifndef GZLZSS_TESTING_H
#define GZLZSS_TESTING_H

#include "pipeline/pipeline.h"

/* Makes GZLZSS_TEST_GPU_MODULE, if it is set, the module of the GPU engine.  Call it before
 * anything that may use a GPU. */
void testing_choose_engine(void);

/* Sets the fields of *config that belong to the variables GZLZSS_TEST_GPU_MIN, _BATCH, _MEMORY,
 * _SHARED, _MS and _FAULT, and GZLZSS_TEST_BAD_SEGMENT; 0 for a variable that is not set. */
void testing_configure(struct pipeline_config *config);

/* The bytes of input in each region of a decompression (GZLZSS_TEST_REGION); 0: not set. */
size_t testing_region(void);

#endif
