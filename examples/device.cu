/*
 * device.cu - compress data that a kernel writes to a GPU's memory, to a file
 *
 *   nvcc device.cu $(pkg-config --cflags --libs gzlzss) -o device
 *   ./device NUMBERS.gz 10000000
 *
 * The second argument is the number of lines.  The lines are the numbers from 0 on, with eight
 * digits each.
 */
#include <cuda_runtime.h>
#include <gzlzss_cuda.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of a line: eight digits and a line feed. */
#define LINE 9

__global__ void write_lines(char *out, unsigned lines)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned rest = i;

    if (i >= lines)
        return;
    for (int digit = LINE - 2; digit >= 0; digit--, rest /= 10)
        out[(size_t)i * LINE + digit] = '0' + rest % 10;
    out[(size_t)i * LINE + LINE - 1] = '\n';
}

int main(int argc, char **argv)
{
    const unsigned lines = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    const size_t len = (size_t)lines * LINE;
    cudaStream_t stream;
    char *device_in, *out;
    gzlzss *z;

    if (lines == 0) {
        fprintf(stderr, "usage: device FILE.gz LINES\n");
        return 2;
    }
    gzlzss_status status = gzlzss_new(&z, NULL);
    if (status != GZLZSS_OK) {
        fprintf(stderr, "device: %s\n", gzlzss_status_text(status));
        return 1;
    }
    /* The output goes to pinned memory here.  Any other memory would do, also a GPU's. */
    size_t out_len = gzlzss_bound(z, len);
    if (cudaStreamCreate(&stream) != cudaSuccess || cudaMalloc(&device_in, len) != cudaSuccess ||
        cudaMallocHost(&out, out_len) != cudaSuccess) {
        fprintf(stderr, "device: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }

    /* gzlzss_cuda_compress waits for the kernel, because both get the same stream. */
    write_lines<<<(lines + 255) / 256, 256, 0, stream>>>(device_in, lines);
    status = gzlzss_cuda_compress(z, out, &out_len, device_in, len, stream, NULL);
    if (status != GZLZSS_OK) {
        fprintf(stderr, "device: %s\n", gzlzss_status_text(status));
        return 1;
    }

    FILE *file = fopen(argv[1], "wb");
    if (file == NULL || fwrite(out, 1, out_len, file) != out_len || fclose(file) != 0) {
        perror(argv[1]);
        return 1;
    }
    gzlzss_free(z);
    cudaFree(device_in);
    cudaFreeHost(out);
    cudaStreamDestroy(stream);
    return 0;
}
