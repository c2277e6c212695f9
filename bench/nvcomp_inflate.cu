/*
 * nvcomp_inflate.cu - measures how fast nvCOMP decompresses, with input and output in the GPU's
 * memory
 *
 *   nvcc -O3 bench/nvcomp_inflate.cu -I DIR/include -L DIR/lib64 -l:libnvcomp.so.6 -lz \
 *       -Xlinker -rpath,DIR/lib64 -o bench/nvcomp_inflate
 *   bench/nvcomp_inflate [-n ROUNDS] -c BYTES [-c BYTES]... FILE...
 *   bench/nvcomp_inflate [-n ROUNDS] FILE.gz...
 *
 * DIR is nvCOMP's folder, for instance nvidia/libnvcomp of the Python package
 * nvidia-libnvcomp-cu13. The version of nvCOMP must be 6.
 *
 * With -c, the program cuts each FILE into chunks of BYTES. zlib makes a raw DEFLATE stream of each
 * chunk, at level 6. nvCOMP's batched Deflate decompresses all chunks. Give -c several times for
 * several sizes.
 *
 * Without -c, nvCOMP's batched Gzip decompresses each FILE.gz, by its two algorithms: "naive" and
 * "lookahead". If FILE.gz is in the BGZF format, each member is one chunk of the batch, because the
 * members' headers contain their sizes. Any other FILE.gz is a batch of one chunk. nvCOMP can
 * decompress such a file only if the file has one member, and this program only if the output is
 * smaller than 4 GiB.
 *
 * Prints a line for each file and way, in the format of bench/gpu_inflate: name, compressed and
 * uncompressed bytes, GB of output for each second of wall time, milliseconds, and the way. If the
 * first round takes more than 5 s, it is the only round, and counts. Otherwise, the first round is
 * not timed, and the fastest of the next ROUNDS rounds (default 5) counts. The program compares the
 * CRC-32 of each chunk's output with that of FILE or with the trailer, after the timed rounds.
 * "failed" in a line means that nvCOMP refused the file, or that its output is wrong; the exit
 * status is then 2.
 *
 * Before the clock starts, nvCOMP gets the size of each chunk's output, and its temporary memory.
 * bench/gpu_inflate is timed differently: its time includes finding the sizes and comparing the
 * CRC-32.
 */
#include <algorithm>
#include <atomic>
#include <cuda_runtime.h>
#include <nvcomp/deflate.h>
#include <nvcomp/gzip.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include "device.cuh"

/* Each chunk's input and output start at a multiple of this number of bytes. nvCOMP needs a
 * multiple of 8 at most. */
#define ALIGNMENT ((size_t)256)
/* If the first round of a way takes more seconds than this, it is the only round. */
#define LONG_ROUND 5.0

typedef std::vector<uint8_t> bytes;

/* A chunk of the batch: the places of its input and output in the buffers of struct batch. */
struct chunk {
    size_t in, in_len, out, out_len;
    uint32_t crc; /* of the output */
};

struct batch {
    bytes in; /* the compressed chunks, with gaps */
    std::vector<struct chunk> chunks;
    size_t in_total, out_total, out_size; /* out_size: the output's buffer, gaps included */
};

/* The arrays that nvCOMP takes, and the buffers, all in the GPU's memory. */
struct arrays {
    uint8_t *in, *out;
    void **in_chunks, **out_chunks;
    size_t *in_lens, *out_lens, *made;
    nvcompStatus_t *statuses;
    void *temp;
    size_t temp_len;
};

enum way { DEFLATE, GZIP_NAIVE, GZIP_LOOKAHEAD };

static bool failed;

static size_t aligned(size_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bytes read_file(const char *name)
{
    FILE *f = fopen(name, "rb");

    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        die(name);
    bytes data((size_t)ftell(f));
    rewind(f);
    if (fread(data.data(), 1, data.size(), f) != data.size() || data.empty())
        die(name);
    fclose(f);
    return data;
}

static bytes deflate_chunk(const uint8_t *data, size_t len)
{
    z_stream z = {};

    if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die("out of memory");
    bytes out(deflateBound(&z, (uLong)len));
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    z.next_out = out.data();
    z.avail_out = (uInt)out.size();
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        die("zlib failed");
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

/* Adds a chunk to the batch. */
static void add(struct batch *b, const uint8_t *in, size_t in_len, size_t out_len, uint32_t crc)
{
    b->chunks.push_back({b->in.size(), in_len, b->out_size, out_len, crc});
    b->in.insert(b->in.end(), in, in + in_len);
    b->in.resize(aligned(b->in.size()));
    b->out_size += aligned(out_len);
    b->in_total += in_len;
    b->out_total += out_len;
}

/* Cuts the data into chunks of `step` bytes, and compresses each chunk; all cores work at it. */
static struct batch cut(const bytes &data, size_t step)
{
    const size_t n = (data.size() + step - 1) / step;
    std::vector<bytes> streams(n);
    std::vector<uint32_t> crcs(n);
    std::vector<std::thread> threads;
    std::atomic<size_t> next(0);
    struct batch b = {};

    const auto work = [&]() {
        for (size_t i; (i = next++) < n;) {
            const size_t len = std::min(step, data.size() - i * step);

            streams[i] = deflate_chunk(data.data() + i * step, len);
            crcs[i] = (uint32_t)crc32_z(0, data.data() + i * step, len);
        }
    };
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); i++)
        threads.emplace_back(work);
    for (std::thread &t : threads)
        t.join();
    for (size_t i = 0; i < n; i++)
        add(&b, streams[i].data(), streams[i].size(), std::min(step, data.size() - i * step),
            crcs[i]);
    return b;
}

static uint32_t little_endian(const uint8_t *p, int n)
{
    uint32_t v = 0;

    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

/* Returns the size of the BGZF member at p, or 0 if there is none. */
static size_t bgzf_member(const uint8_t *p, size_t len)
{
    static const uint8_t start[4] = {0x1f, 0x8b, 8, 4}, field[4] = {'B', 'C', 2, 0};

    if (len < 28 || memcmp(p, start, 4) != 0 || memcmp(p + 12, field, 4) != 0)
        return 0;
    const size_t size = little_endian(p + 16, 2) + 1;
    return size >= 28 && size <= len ? size : 0;
}

/* Makes a batch of a file in gzip's format. */
static struct batch members_of(const bytes &file)
{
    const uint8_t *p = file.data(), *const end = p + file.size();
    struct batch b = {};
    size_t size;

    for (; p < end && (size = bgzf_member(p, (size_t)(end - p))) > 0; p += size) {
        const uint32_t out_len = little_endian(p + size - 4, 4);

        if (out_len > 0) /* leave out empty members, as at the end */
            add(&b, p, size, out_len, little_endian(p + size - 8, 4));
    }
    if (p == end && !b.chunks.empty())
        return b;
    b = {};
    if (file.size() >= 18)
        add(&b, file.data(), file.size(), little_endian(end - 4, 4), little_endian(end - 8, 4));
    return b;
}

template <typename T> static T *on_gpu(size_t n)
{
    T *p;

    check(cudaMalloc((void **)&p, (n + 1) * sizeof(T)));
    return p;
}

template <typename T> static T *copied(const std::vector<T> &from)
{
    T *const p = on_gpu<T>(from.size());

    check(cudaMemcpy(p, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

static struct arrays put(const struct batch *b)
{
    const size_t n = b->chunks.size();
    std::vector<void *> ins, outs;
    std::vector<size_t> in_lens, out_lens;
    struct arrays a = {};

    a.in = copied(b->in);
    a.out = on_gpu<uint8_t>(b->out_size);
    for (const struct chunk &c : b->chunks) {
        ins.push_back(a.in + c.in);
        outs.push_back(a.out + c.out);
        in_lens.push_back(c.in_len);
        out_lens.push_back(c.out_len);
    }
    a.in_chunks = copied(ins);
    a.out_chunks = copied(outs);
    a.in_lens = copied(in_lens);
    a.out_lens = copied(out_lens);
    a.made = on_gpu<size_t>(n);
    a.statuses = on_gpu<nvcompStatus_t>(n);
    check(cudaDeviceSynchronize());
    return a;
}

static void drop(struct arrays *a)
{
    void *const all[] = {a->in,       a->out,  a->in_chunks, a->out_chunks, a->in_lens,
                         a->out_lens, a->made, a->statuses,  a->temp};

    for (void *p : all)
        cudaFree(p);
}

static nvcompBatchedGzipDecompressOpts_t gzip_options(enum way way)
{
    nvcompBatchedGzipDecompressOpts_t options = nvcompBatchedGzipDecompressDefaultOpts;

    options.algorithm = way == GZIP_NAIVE ? NVCOMP_GZIP_DECOMPRESS_ALGORITHM_NAIVE
                                          : NVCOMP_GZIP_DECOMPRESS_ALGORITHM_LOOKAHEAD;
    return options;
}

static nvcompStatus_t temp_size(enum way way, const struct batch *b, size_t *size,
                                cudaStream_t stream)
{
    size_t longest = 0;

    for (const struct chunk &c : b->chunks)
        longest = std::max(longest, c.out_len);
    if (way == DEFLATE)
        return nvcompBatchedDeflateDecompressGetTempSize(b->chunks.size(), longest,
                                                         nvcompBatchedDeflateDecompressDefaultOpts,
                                                         size, b->out_total, stream);
    return nvcompBatchedGzipDecompressGetTempSize(b->chunks.size(), longest, gzip_options(way),
                                                  size, b->out_total, stream);
}

static nvcompStatus_t decompress(enum way way, const struct arrays *a, size_t n,
                                 cudaStream_t stream)
{
    if (way == DEFLATE)
        return nvcompBatchedDeflateDecompressAsync(
            a->in_chunks, a->in_lens, a->out_lens, a->made, n, a->temp, a->temp_len, a->out_chunks,
            nvcompBatchedDeflateDecompressDefaultOpts, a->statuses, stream);
    return nvcompBatchedGzipDecompressAsync(a->in_chunks, a->in_lens, a->out_lens, a->made, n,
                                            a->temp, a->temp_len, a->out_chunks, gzip_options(way),
                                            a->statuses, stream);
}

/* Returns NULL if the output is right; otherwise returns a text that says what is wrong. */
static const char *wrong(const struct batch *b, const struct arrays *a)
{
    const size_t n = b->chunks.size();
    std::vector<size_t> made(n);
    std::vector<nvcompStatus_t> statuses(n);
    bytes out(b->out_size);

    check(cudaMemcpy(made.data(), a->made, n * sizeof(size_t), cudaMemcpyDeviceToHost));
    check(cudaMemcpy(statuses.data(), a->statuses, n * sizeof(nvcompStatus_t),
                     cudaMemcpyDeviceToHost));
    check(cudaMemcpy(out.data(), a->out, out.size(), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) {
        const struct chunk *const c = &b->chunks[i];

        if (statuses[i] != nvcompSuccess)
            return nvcompGetStatusString(statuses[i]);
        if (made[i] != c->out_len)
            return "the output has a wrong size";
        if (crc32_z(0, out.data() + c->out, c->out_len) != c->crc)
            return "the output is wrong";
    }
    return NULL;
}

/* Runs the rounds, and sets *fastest to the time of the fastest one in seconds. Returns NULL on
 * success, and a text that says what went wrong on an error. */
static const char *time_rounds(enum way way, const struct batch *b, struct arrays *a, int rounds,
                               double *fastest, cudaStream_t stream)
{
    nvcompStatus_t status = temp_size(way, b, &a->temp_len, stream);

    *fastest = 1e9;
    if (status != nvcompSuccess)
        return nvcompGetStatusString(status);
    if (cudaMalloc(&a->temp, a->temp_len + 1) != cudaSuccess) {
        static char text[80];

        cudaGetLastError(); /* clears CUDA's error */
        snprintf(text, sizeof(text), "nvCOMP wants %zu bytes more of memory", a->temp_len);
        return text;
    }
    check(cudaMemset(a->out, 0, b->out_size));
    check(cudaDeviceSynchronize());
    for (int i = 0; i <= rounds; i++) {
        const double start = now();

        status = decompress(way, a, b->chunks.size(), stream);
        if (status != nvcompSuccess)
            return nvcompGetStatusString(status);
        check(cudaStreamSynchronize(stream));
        const double wall = now() - start;
        if (i > 0 || wall > LONG_ROUND)
            *fastest = std::min(*fastest, wall);
        if (i == 0 && wall > LONG_ROUND)
            break;
    }
    return wrong(b, a);
}

static void measure(enum way way, const char *name, const char *way_name, const struct batch *b,
                    int rounds, cudaStream_t stream)
{
    double fastest;
    const char *error = "it is no .gz file";

    if (!b->chunks.empty()) {
        struct arrays a = put(b);

        error = time_rounds(way, b, &a, rounds, &fastest, stream);
        drop(&a);
    }
    if (error != NULL)
        printf("%-28s %11zu  failed: %s (%s)\n", name, b->in_total, error, way_name);
    else
        printf("%-28s %11zu %11zu %7.2f GB/s %7.2f ms: %s\n", name, b->in_total, b->out_total,
               (double)b->out_total / fastest / 1e9, 1e3 * fastest, way_name);
    fflush(stdout);
    failed |= error != NULL;
}

int main(int argc, char **argv)
{
    static const char usage[] = "usage: bench/nvcomp_inflate [-n ROUNDS] [-c BYTES]... FILE...";
    std::vector<size_t> steps;
    int rounds = 5, option;
    cudaStream_t stream;
    char way_name[80];

    while ((option = getopt(argc, argv, "n:c:")) != -1) {
        if (option == 'n')
            rounds = atoi(optarg);
        else if (option == 'c')
            steps.push_back(strtoul(optarg, NULL, 10));
        else
            die(usage);
    }
    if (optind >= argc || rounds < 1)
        die(usage);
    for (size_t step : steps)
        if (step < 1024 || step > (size_t)1 << 30)
            die("chunks must have 1024 bytes to 1 GiB");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = optind; i < argc; i++) {
        const bytes data = read_file(argv[i]);

        for (size_t step : steps) {
            const struct batch b = cut(data, step);

            snprintf(way_name, sizeof(way_name), "deflate, chunks of %zu", step);
            measure(DEFLATE, argv[i], way_name, &b, rounds, stream);
        }
        if (steps.empty()) {
            const struct batch b = members_of(data);

            snprintf(way_name, sizeof(way_name), "gzip lookahead, %zu chunks", b.chunks.size());
            measure(GZIP_LOOKAHEAD, argv[i], way_name, &b, rounds, stream);
            snprintf(way_name, sizeof(way_name), "gzip naive, %zu chunks", b.chunks.size());
            measure(GZIP_NAIVE, argv[i], way_name, &b, rounds, stream);
        }
    }
    return failed ? 2 : 0;
}
