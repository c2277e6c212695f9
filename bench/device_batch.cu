/*
 * device_batch.cu - measures gzlzss_cuda_decompress_batch: many small inputs in a GPU's memory
 *
 *   bench/device_batch [-n ROUNDS] [-c BYTES]... FILE...
 *
 * Cuts each FILE into chunks of BYTES (default: 65536, then 4096). zlib compresses each chunk at
 * level 6, in every format. One call decompresses all chunks of a FILE, with input and output in
 * the GPU's memory. Prints a line for each FILE, BYTES and format. The line has the file's name,
 * the format, the size of a chunk, the sizes of all inputs and of all outputs together, GB of
 * output for each second of wall time, and milliseconds. Sizes are in bytes. The first round is not
 * timed; then the fastest of ROUNDS rounds (default 5) counts. The program compares the output of
 * the last round with FILE.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"
#include "device.cuh"

typedef std::vector<uint8_t> bytes;

static bytes read_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    bytes b;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        die(name);
    b.resize((size_t)ftell(f));
    rewind(f);
    if (fread(b.data(), 1, b.size(), f) != b.size())
        die(name);
    fclose(f);
    return b;
}

static bytes pack(const uint8_t *in, size_t len, int window_bits)
{
    bytes out(compressBound((uLong)len) + 100);
    z_stream z = {};

    if (deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die("zlib");
    z.next_in = (Bytef *)in;
    z.avail_in = (uInt)len;
    z.next_out = out.data();
    z.avail_out = (uInt)out.size();
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        die("zlib");
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

/* Compresses each chunk; all cores work at it. */
static std::vector<bytes> pack_chunks(const bytes &file, size_t chunk, int window_bits)
{
    std::vector<bytes> packed((file.size() + chunk - 1) / chunk);
    std::vector<std::thread> threads;
    const size_t count = std::max(1u, std::thread::hardware_concurrency());

    for (size_t t = 0; t < count; t++)
        threads.emplace_back([&, t] {
            for (size_t i = t; i < packed.size(); i += count)
                packed[i] = pack(file.data() + i * chunk, std::min(chunk, file.size() - i * chunk),
                                 window_bits);
        });
    for (std::thread &t : threads)
        t.join();
    return packed;
}

static void measure(gzlzss *z, const char *name, const bytes &file, size_t chunk,
                    gzlzss_format format, int rounds)
{
    static const char *const names[] = {"gzip", "zlib", "raw"};
    static const int window_bits[] = {15 + 16, 15, -15};
    const std::vector<bytes> packed = pack_chunks(file, chunk, window_bits[format]);
    std::vector<gzlzss_item> items(packed.size());
    bytes copy(file.size());
    size_t total = 0, at = 0;
    uint8_t *in, *out;
    double fastest = 1e9;

    for (const bytes &p : packed)
        total += p.size();
    check(cudaMalloc(&in, total));
    check(cudaMalloc(&out, file.size()));
    for (size_t i = 0; i < packed.size(); at += packed[i++].size())
        check(cudaMemcpy(in + at, packed[i].data(), packed[i].size(), cudaMemcpyHostToDevice));
    for (int round = 0; round <= rounds; round++) {
        at = 0;
        for (size_t i = 0; i < items.size(); at += packed[i++].size())
            items[i] = {in + at, packed[i].size(), out + i * chunk,
                        std::min(chunk, file.size() - i * chunk), GZLZSS_OK};
        check(cudaMemset(out, 0, file.size()));
        check(cudaDeviceSynchronize());
        const double start = now();

        if (gzlzss_cuda_decompress_batch(z, items.data(), items.size(), format, 0, NULL) !=
            GZLZSS_OK)
            die("decompression failed");
        if (round > 0)
            fastest = std::min(fastest, now() - start);
    }
    check(cudaMemcpy(copy.data(), out, copy.size(), cudaMemcpyDeviceToHost));
    if (copy != file)
        die("the output is wrong");
    printf("%-24s %-4s %8zu %11zu %11zu %7.2f GB/s %7.2f ms\n", name, names[format], chunk, total,
           file.size(), (double)file.size() / fastest / 1e9, 1e3 * fastest);
    fflush(stdout);
    check(cudaFree(in));
    check(cudaFree(out));
}

int main(int argc, char **argv)
{
    std::vector<size_t> chunks;
    int rounds = 5, option;
    char why[256];
    gzlzss *z;

    while ((option = getopt(argc, argv, "n:c:")) != -1) {
        if (option == 'n')
            rounds = atoi(optarg);
        else if (option == 'c')
            chunks.push_back((size_t)atoll(optarg));
        else
            die("usage: bench/device_batch [-n ROUNDS] [-c BYTES]... FILE...");
    }
    if (chunks.empty())
        chunks = {65536, 4096};
    if (optind == argc || rounds < 1 || std::count(chunks.begin(), chunks.end(), 0) > 0)
        die("usage: bench/device_batch [-n ROUNDS] [-c BYTES]... FILE...");
    if (gzlzss_new(&z, NULL) != GZLZSS_OK)
        die("no object");
    for (; optind < argc; optind++) {
        const bytes file = read_file(argv[optind]);

        for (size_t chunk : chunks)
            for (int format = GZLZSS_GZIP; format <= GZLZSS_RAW; format++)
                measure(z, argv[optind], file, chunk, (gzlzss_format)format, rounds);
    }
    gzlzss_no_gpu(z, why, sizeof(why));
    if (why[0] != '\0')
        printf("no GPU: %s\n", why);
    gzlzss_free(z);
    return 0;
}
