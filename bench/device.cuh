/*
 * device.cuh - functions of the measuring programs in CUDA
 */
#ifndef GZLZSS_BENCH_DEVICE_CUH
#define GZLZSS_BENCH_DEVICE_CUH

#include <cuda_runtime.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the program with a message. */
static inline void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

/* Ends the program if a call of CUDA has failed, since no later call would work. */
static inline void check(cudaError_t status)
{
    if (status != cudaSuccess)
        die(cudaGetErrorString(status));
}

/* Returns the time in seconds, from an arbitrary start. */
static inline double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
