/*
 * nvcomp_copies.cu - measures how fast nvCOMP's batched Deflate compresses data in a GPU's memory
 * and copies it to the host's
 *
 *   nvcc -O3 bench/nvcomp_copies.cu -I DIR/include -L DIR/lib64 -l:libnvcomp.so.6 -lz \
 *       -Xlinker -rpath,DIR/lib64 -o nvcomp_copies
 *   ./nvcomp_copies [-n MB] [-r RUNS] [-a ALGORITHM]... FILE
 *
 * DIR is nvCOMP's folder, for instance nvidia/libnvcomp of the Python package
 * nvidia-libnvcomp-cu13. FILE is repeated until there are MB megabytes (default 1000), and cut into
 * chunks of 64 KiB. Each chunk becomes a raw DEFLATE stream. For each ALGORITHM (default 1, 2 and
 * 4), measures these ways:
 *
 *   kernels     only compression, from the GPU's memory to the GPU's memory
 *   copied      compression as for "kernels"; then the GPU puts the streams one after another, and
 *               the streams and their sizes are copied to pinned memory. A program that needs the
 *               streams in the host's memory must do at least this.
 *
 * Prints a line ALGORITHM,WAY,BYTES,OUT_BYTES,SECONDS,GB/s for each algorithm and way. The first
 * run is not timed; SECONDS is the median of the next RUNS runs (default 5). zlib decompresses the
 * streams, and the program compares the result with the data.
 *
 * These streams are not a .gz file yet: to make one, a program would also have to compute the
 * CRC-32 of the data, and to join the streams.
 */
#include <algorithm>
#include <cuda_runtime.h>
#include <nvcomp/deflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include "device.cuh"

/* The size of a chunk in bytes. Each chunk becomes one stream. */
#define CHUNK ((size_t)65536)

static void check(nvcompStatus_t status)
{
    if (status != nvcompSuccess)
        die("nvCOMP failed");
}

/* Copies stream number i, which starts at from[i * step], to to[starts[i]]. There is one block of
 * threads for each stream. */
__global__ void gather(uint8_t *to, const size_t *starts, const uint8_t *from, size_t step,
                       const size_t *sizes)
{
    const uint8_t *in = from + blockIdx.x * step;
    uint8_t *out = to + starts[blockIdx.x];

    for (size_t i = threadIdx.x; i < sizes[blockIdx.x]; i += blockDim.x)
        out[i] = in[i];
}

struct setting {
    size_t len, chunks, step, temp_size;
    uint8_t *in, *out, *side_by_side, *host;
    void *temp;
    void **in_chunks, **out_chunks; /* these and the next three: on the GPU */
    size_t *in_sizes, *out_sizes, *starts;
    size_t *host_sizes, *host_starts; /* pinned memory */
    cudaStream_t stream;
    nvcompBatchedDeflateCompressOpts_t options;
};

static uint8_t *on_gpu(size_t size)
{
    void *p;

    check(cudaMalloc(&p, size));
    return (uint8_t *)p;
}

static size_t run(const struct setting *s, bool copies)
{
    size_t total = 0;

    check(nvcompBatchedDeflateCompressAsync(s->in_chunks, s->in_sizes, CHUNK, s->chunks, s->temp,
                                            s->temp_size, s->out_chunks, s->out_sizes, s->options,
                                            NULL, s->stream));
    if (!copies) {
        check(cudaStreamSynchronize(s->stream));
        return 0;
    }
    check(cudaMemcpyAsync(s->host_sizes, s->out_sizes, s->chunks * sizeof(size_t),
                          cudaMemcpyDeviceToHost, s->stream));
    check(cudaStreamSynchronize(s->stream));
    for (size_t i = 0; i < s->chunks; i++) {
        s->host_starts[i] = total;
        total += s->host_sizes[i];
    }
    check(cudaMemcpyAsync(s->starts, s->host_starts, s->chunks * sizeof(size_t),
                          cudaMemcpyHostToDevice, s->stream));
    gather<<<(unsigned)s->chunks, 256, 0, s->stream>>>(s->side_by_side, s->starts, s->out, s->step,
                                                       s->out_sizes);
    check(cudaGetLastError());
    check(cudaMemcpyAsync(s->host, s->side_by_side, total, cudaMemcpyDeviceToHost, s->stream));
    check(cudaStreamSynchronize(s->stream));
    return total;
}

/* Returns whether zlib decompresses the streams to the data. */
static bool is_right(const struct setting *s, const std::vector<uint8_t> &data)
{
    std::vector<uint8_t> back(CHUNK);

    for (size_t i = 0; i < s->chunks; i++) {
        const size_t len = std::min(CHUNK, s->len - i * CHUNK);
        z_stream z;

        memset(&z, 0, sizeof(z));
        z.next_in = s->host + s->host_starts[i];
        z.avail_in = (uInt)s->host_sizes[i];
        z.next_out = back.data();
        z.avail_out = (uInt)CHUNK;
        if (inflateInit2(&z, -15) != Z_OK)
            die("out of memory");
        const bool is = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == len &&
                        memcmp(back.data(), data.data() + i * CHUNK, len) == 0;
        inflateEnd(&z);
        if (!is)
            return false;
    }
    return true;
}

/* Allocates and fills the memory for an algorithm. */
static void make(struct setting *s, int algorithm)
{
    std::vector<void *> in(s->chunks), out(s->chunks);
    std::vector<size_t> sizes(s->chunks, CHUNK);

    s->options = nvcompBatchedDeflateCompressDefaultOpts;
    s->options.algorithm = algorithm;
    check(nvcompBatchedDeflateCompressGetMaxOutputChunkSize(CHUNK, s->options, &s->step));
    s->step = (s->step + 255) / 256 * 256;
    check(nvcompBatchedDeflateCompressGetTempSize(s->chunks, CHUNK, s->options, &s->temp_size,
                                                  s->chunks * CHUNK, s->stream));
    s->temp = on_gpu(s->temp_size + 1);
    s->out = on_gpu(s->chunks * s->step);
    s->side_by_side = on_gpu(s->chunks * s->step);
    check(cudaMallocHost((void **)&s->host, s->chunks * s->step));
    for (size_t i = 0; i < s->chunks; i++) {
        in[i] = s->in + i * CHUNK;
        out[i] = s->out + i * s->step;
    }
    sizes[s->chunks - 1] = s->len - (s->chunks - 1) * CHUNK;
    check(cudaMemcpy(s->in_chunks, in.data(), s->chunks * sizeof(void *), cudaMemcpyHostToDevice));
    check(
        cudaMemcpy(s->out_chunks, out.data(), s->chunks * sizeof(void *), cudaMemcpyHostToDevice));
    check(
        cudaMemcpy(s->in_sizes, sizes.data(), s->chunks * sizeof(size_t), cudaMemcpyHostToDevice));
}

static void measure(const struct setting *s, int algorithm, int runs,
                    const std::vector<uint8_t> &data)
{
    size_t total = 0;

    for (int copies = 1; copies >= 0; copies--) {
        std::vector<double> seconds;

        for (int i = -1; i < runs; i++) {
            const double began = now();
            const size_t bytes = run(s, copies != 0);

            if (i >= 0)
                seconds.push_back(now() - began);
            if (copies != 0)
                total = bytes;
        }
        if (copies != 0 && !is_right(s, data))
            die("what came out is wrong");
        std::sort(seconds.begin(), seconds.end());
        printf("%d,%s,%zu,%zu,%.6f,%.3f\n", algorithm, copies != 0 ? "copied" : "kernels", s->len,
               total, seconds[seconds.size() / 2],
               (double)s->len / 1e9 / seconds[seconds.size() / 2]);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const char usage[] = "usage: nvcomp_copies [-n MB] [-r RUNS] [-a ALGORITHM]... FILE";
    std::vector<int> algorithms;
    struct setting s;
    int runs = 5, option;

    memset(&s, 0, sizeof(s));
    s.len = 1000000000;
    while ((option = getopt(argc, argv, "n:r:a:")) != -1) {
        if (option == 'n')
            s.len = strtoul(optarg, NULL, 10) * 1000000;
        else if (option == 'r')
            runs = atoi(optarg);
        else if (option == 'a')
            algorithms.push_back(atoi(optarg));
        else
            die(usage);
    }
    if (optind != argc - 1 || s.len == 0 || runs < 1)
        die(usage);
    if (algorithms.empty())
        algorithms = {1, 2, 4};
    std::vector<uint8_t> data(s.len);
    FILE *file = fopen(argv[optind], "rb");
    if (file == NULL)
        die("the file cannot be opened");
    const size_t have = fread(data.data(), 1, s.len, file);
    fclose(file);
    if (have == 0)
        die("the file is empty");
    for (size_t i = have; i < s.len; i++)
        data[i] = data[i - have];
    s.chunks = (s.len + CHUNK - 1) / CHUNK;
    check(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    s.in = on_gpu(s.chunks * CHUNK);
    check(cudaMemcpy(s.in, data.data(), s.len, cudaMemcpyHostToDevice));
    s.in_chunks = (void **)on_gpu(s.chunks * sizeof(void *));
    s.out_chunks = (void **)on_gpu(s.chunks * sizeof(void *));
    s.in_sizes = (size_t *)on_gpu(s.chunks * sizeof(size_t));
    s.out_sizes = (size_t *)on_gpu(s.chunks * sizeof(size_t));
    s.starts = (size_t *)on_gpu(s.chunks * sizeof(size_t));
    check(cudaMallocHost((void **)&s.host_sizes, s.chunks * sizeof(size_t)));
    check(cudaMallocHost((void **)&s.host_starts, s.chunks * sizeof(size_t)));
    for (int algorithm : algorithms) {
        make(&s, algorithm);
        measure(&s, algorithm, runs, data);
        cudaFree(s.temp);
        cudaFree(s.out);
        cudaFree(s.side_by_side);
        cudaFreeHost(s.host);
    }
    return 0;
}
