/*
 * gpu_inflate.cu - measures decompression by a GPU, with input and output in the GPU's memory
 *
 *   bench/gpu_inflate [-n ROUNDS] FILE.gz...
 *
 * Prints a line for each file: compressed and uncompressed bytes, GB of output for each second of
 * wall time, and the milliseconds of each step by the device's clock.  The first round is not
 * timed; then the fastest of ROUNDS rounds (default 5) counts.  Each round includes comparing the
 * CRC-32 of the output with the trailer.  "left" in a line means that the GPU leaves this file to
 * the CPU.
 */
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/inflate.h"
#include "device.cuh"

static uint8_t *read_file(const char *name, size_t *len)
{
    FILE *f = fopen(name, "rb");
    uint8_t *bytes;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        die(name);
    *len = (size_t)ftell(f);
    rewind(f);
    bytes = (uint8_t *)malloc(*len + 1);
    if (bytes == NULL || fread(bytes, 1, *len, f) != *len)
        die(name);
    fclose(f);
    return bytes;
}

static void measure(struct gpu_inflate *g, const char *name, int rounds)
{
    size_t len, room = (size_t)12 << 30, available, total, made = 0;
    uint8_t *const bytes = read_file(name, &len);
    uint8_t *in, *out;
    char error[GPU_ERROR_SIZE] = "";
    enum gpu_inflate_result result = GPU_INFLATE_DONE;
    struct gpu_inflate_times best = {};
    double fastest = 1e9;

    cudaMemGetInfo(&available, &total);
    if (room > available / 2)
        room = available / 2;
    if (cudaMalloc(&in, len) != cudaSuccess || cudaMalloc(&out, room) != cudaSuccess ||
        cudaMemcpy(in, bytes, len, cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaDeviceSynchronize() != cudaSuccess) /* cudaMemcpy may return before it is done */
        die("no memory on the device");
    for (int i = 0; i <= rounds && result == GPU_INFLATE_DONE; i++) {
        const double start = now();

        result = gpu_inflate(g, in, len, out, room, &made, NULL, NULL, error);
        const double wall = now() - start;

        if (i > 0 && wall < fastest) {
            fastest = wall;
            best = gpu_inflate_times(g);
        }
    }
    if (result != GPU_INFLATE_DONE)
        printf("%-28s %11zu  %s %s\n", name, len,
               result == GPU_INFLATE_LEFT ? "left" : "failed:", error);
    else
        printf("%-28s %11zu %11zu %7.2f GB/s %7.2f ms: copy %.2f find %.2f count %.2f decode %.2f "
               "windows %.2f resolve %.2f crc %.2f\n",
               name, len, made, (double)made / fastest / 1e9, 1e3 * fastest, 1e3 * best.copy,
               1e3 * best.find, 1e3 * best.count, 1e3 * best.decode, 1e3 * best.windows,
               1e3 * best.resolve, 1e3 * best.sum_up);
    fflush(stdout);
    cudaFree(in);
    cudaFree(out);
    free(bytes);
}

int main(int argc, char **argv)
{
    const struct gpu_inflate_options options = {};
    char error[GPU_ERROR_SIZE];
    int rounds = 5, first = 1;
    struct gpu_inflate *g;

    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        rounds = atoi(argv[2]);
        first = 3;
    }
    if (first >= argc || rounds < 1)
        die("usage: bench/gpu_inflate [-n ROUNDS] FILE.gz...");
    g = gpu_inflate_open(0, &options, error);
    if (g == NULL)
        die(error);
    for (int i = first; i < argc; i++)
        measure(g, argv[i], rounds);
    gpu_inflate_close(g);
    return 0;
}
