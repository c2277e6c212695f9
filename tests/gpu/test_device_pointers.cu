/*
 * test_device_pointers.cu - data in a GPU's memory is compressed to the same bytes as by
 * gzlzss_compress
 *
 *   tests/gpu/test_device_pointers [quick] [CHECK...]
 *
 * `make check-gpu` runs this program.  `quick`, for compute-sanitizer, uses fewer levels and small
 * inputs, and makes no deliberate errors.  CHECKs are names from the table at the end; if there are
 * any, only these checks run.  Like a user's program, this program has its own CUDA runtime,
 * besides the library's.  The program prints a line for each check: "ok - ..." or "not ok - ...".
 */
#include <algorithm>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/gzlzss.h"

#include "include/gzlzss_cuda.h"

#define SEGMENT ((size_t)64 << 10)

static bool is_quick;
static int failures; /* how many checks have failed */
static int problems; /* how many conditions of the current check have failed */

/* The size of inputs of a few segments; small under compute-sanitizer, whose racecheck is slow. */
static size_t some(void)
{
    return (is_quick ? 3 : 9) * SEGMENT + 5;
}

/* Notes a problem if the condition is false.  A check tests many conditions. */
#define HOLDS(condition) holds((condition), __LINE__, #condition)

static bool holds(bool condition, int line, const char *text)
{
    if (!condition && __atomic_fetch_add(&problems, 1, __ATOMIC_RELAXED) < 10)
        printf("# line %d: %s\n", line, text);
    return condition;
}

#define CUDA(call) cuda((call), __LINE__, #call)

static void cuda(cudaError_t status, int line, const char *text)
{
    if (status == cudaSuccess)
        return;
    printf("Bail out! line %d: %s: %s\n", line, text, cudaGetErrorString(status));
    exit(1);
}

static void verdict(const char *what)
{
    printf("%s - %s\n", problems == 0 ? "ok" : "not ok", what);
    fflush(stdout);
    failures += problems != 0;
    problems = 0;
}

static void *need(void *p)
{
    if (p == NULL) {
        printf("Bail out! out of memory\n");
        exit(1);
    }
    return p;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* --- The driver --- */

static CUresult (*ctx_get_current)(CUcontext *context);
static CUresult (*ctx_create)(CUcontext *context, unsigned flags, CUdevice device);
static CUresult (*ctx_destroy)(CUcontext context);

static void find_driver(void)
{
    void *library = need(dlopen("libcuda.so.1", RTLD_NOW));

    ctx_get_current = (CUresult(*)(CUcontext *))need(dlsym(library, "cuCtxGetCurrent"));
    ctx_create =
        (CUresult(*)(CUcontext *, unsigned, CUdevice))need(dlsym(library, "cuCtxCreate_v2"));
    ctx_destroy = (CUresult(*)(CUcontext))need(dlsym(library, "cuCtxDestroy_v2"));
}

static CUcontext current(void)
{
    CUcontext context = NULL;

    HOLDS(ctx_get_current(&context) == CUDA_SUCCESS);
    return context;
}

/* --- Inputs and expected outputs --- */

/* Fills out[0..len) with text that compresses, and with some bytes that do not. */
static void fill(uint8_t *out, size_t len, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;

    for (size_t i = 0; i < len; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        if (i >= 4000 && (state >> 60) < 13) {
            const size_t from = i - 1 - (state >> 33) % 4000;
            const size_t n = 4 + (state >> 50) % 40;

            for (size_t k = 0; k < n && i < len; k++, i++)
                out[i] = out[from + k];
            i--;
        } else {
            out[i] = (uint8_t)(i / 200000 % 3 == 2 ? state >> 40 : 'a' + (state >> 40) % 20);
        }
    }
}

static gzlzss *object(int level, gzlzss_backend backend, size_t segment_size)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z = NULL;
    char why[256];
    gzlzss_status status;

    o.level = level;
    o.backend = backend;
    o.segment_size = segment_size;
    status = gzlzss_new(&z, &o);
    if (status != GZLZSS_OK) {
        gzlzss_no_gpu(NULL, why, sizeof(why));
        printf("Bail out! %s: %s\n", gzlzss_status_text(status), why);
        exit(1);
    }
    return z;
}

/* Frees the object.  None of its GPUs may have failed. */
static void end(gzlzss *z)
{
    char why[256];

    gzlzss_no_gpu(z, why, sizeof(why));
    if (!HOLDS(why[0] == '\0'))
        printf("# %s\n", why);
    gzlzss_free(z);
}

/* An input, and the CPU engine's output for it at a level. */
struct sample {
    uint8_t *bytes;
    size_t len;
    uint8_t *packed;
    size_t packed_len;
};

static struct sample sample(gzlzss *cpu, size_t len, uint64_t seed)
{
    struct sample s;

    s.len = len;
    s.bytes = (uint8_t *)need(malloc(len + 1));
    fill(s.bytes, len, seed);
    s.packed_len = gzlzss_bound(cpu, len);
    s.packed = (uint8_t *)need(malloc(s.packed_len));
    HOLDS(gzlzss_compress(cpu, s.packed, &s.packed_len, s.bytes, len, NULL) == GZLZSS_OK);
    return s;
}

static void free_sample(struct sample *s)
{
    free(s->bytes);
    free(s->packed);
}

/* --- Memory of all kinds --- */

enum kind { PAGEABLE, PINNED, MANAGED, DEVICE, POOL, KINDS };

static const char *const kind_names[] = {"pageable", "pinned", "managed", "device", "pool"};

static uint8_t *get(enum kind kind, size_t len)
{
    void *p = NULL;

    switch (kind) {
    case PAGEABLE:
        p = malloc(len);
        break;
    case PINNED:
        CUDA(cudaMallocHost(&p, len));
        break;
    case MANAGED:
        CUDA(cudaMallocManaged(&p, len));
        break;
    case DEVICE:
        CUDA(cudaMalloc(&p, len));
        break;
    default:
        CUDA(cudaMallocAsync(&p, len, 0));
        CUDA(cudaStreamSynchronize(0));
        break;
    }
    return (uint8_t *)need(p);
}

static void drop(enum kind kind, void *p)
{
    switch (kind) {
    case PAGEABLE:
        free(p);
        break;
    case PINNED:
        CUDA(cudaFreeHost(p));
        break;
    case POOL:
        CUDA(cudaFreeAsync(p, 0));
        break;
    default:
        CUDA(cudaFree(p));
        break;
    }
}

static void put(void *to, const void *from, size_t len)
{
    CUDA(cudaMemcpy(to, from, len, cudaMemcpyDefault));
}

/* True if out[0..len), in memory of any kind, is the expected output. */
static bool is_packed(const struct sample *s, const uint8_t *out, size_t len)
{
    uint8_t *copy = (uint8_t *)need(malloc(s->packed_len + 1));
    bool is = len == s->packed_len;

    if (is) {
        put(copy, out, len);
        is = memcmp(copy, s->packed, len) == 0;
    }
    free(copy);
    return is;
}

/* --- The checks --- */

/* Tests every level, with sizes around those of segments and chunks, at unaligned addresses. */
static void check_levels(void)
{
    static const size_t sizes[] = {
        0, 1, 3, 32768, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 5 * SEGMENT + 777};
    static const size_t offsets[] = {0, 1, 3, 8};
    const size_t most = 5 * SEGMENT + 777;

    for (int level = 0; level <= GZLZSS_LEVEL_MAX; level += !is_quick || level == 0 ? 1
                                                            : level == 1            ? 5
                                                                                    : 6) {
        gzlzss *cpu = object(level, GZLZSS_CPU, SEGMENT);
        gzlzss *gpu = object(level, GZLZSS_GPU, SEGMENT);
        uint8_t *in = get(DEVICE, most + 8);
        char what[100];

        for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i += is_quick ? 2 : 1) {
            struct sample s = sample(cpu, sizes[i], (uint64_t)level);
            uint8_t *out = (uint8_t *)need(malloc(s.packed_len));

            for (unsigned k = is_quick ? i / 2 % 4 : 0; k < 4; k += is_quick ? 4 : 1) {
                size_t len = s.packed_len;

                if (s.len > 0)
                    put(in + offsets[k], s.bytes, s.len);
                HOLDS(gzlzss_cuda_compress(gpu, out, &len, in + offsets[k], s.len, 0, NULL) ==
                      GZLZSS_OK);
                HOLDS(is_packed(&s, out, len));
            }
            free(out);
            free_sample(&s);
        }
        drop(DEVICE, in);
        end(gpu);
        gzlzss_free(cpu);
        snprintf(what, sizeof(what), "level %d, sizes and addresses", level);
        verdict(what);
    }
}

/* Tests each engine with segments of the default size.  One object serves all calls. */
static void check_backends(void)
{
    static const gzlzss_backend backends[] = {GZLZSS_CPU, GZLZSS_AUTO, GZLZSS_GPU};
    const size_t most = is_quick ? (size_t)1 << 20 : (size_t)300 << 20;
    gzlzss *cpu = object(6, GZLZSS_CPU, 0);
    uint8_t *in = get(DEVICE, most);

    for (unsigned b = 0; b < 3; b++) {
        gzlzss *z = object(6, backends[b], 0);
        char what[100];

        for (size_t len = 100000; len <= most;
             len = len < most && len * 7 > most ? most : len * 7) {
            struct sample s = sample(cpu, len, len);
            uint8_t *out = (uint8_t *)need(malloc(s.packed_len));

            put(in, s.bytes, len);
            for (int again = 0; again < 2; again++) {
                size_t packed = s.packed_len;

                HOLDS(gzlzss_cuda_compress(z, out, &packed, in, len, 0, NULL) == GZLZSS_OK);
                HOLDS(is_packed(&s, out, packed));
            }
            free(out);
            free_sample(&s);
        }
        end(z);
        snprintf(what, sizeof(what), "backend %s, up to %zu MB",
                 b == 0   ? "cpu"
                 : b == 1 ? "auto"
                          : "gpu",
                 most / 1000000);
        verdict(what);
    }
    drop(DEVICE, in);
    gzlzss_free(cpu);
}

/* Tests input and output in memory of every kind, with and without --rsyncable.  Also tests an
 * output buffer that is too small, after whose end no byte may be written. */
static void check_kinds(void)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *cpu = object(6, GZLZSS_CPU, SEGMENT);
    gzlzss *gpu = object(6, GZLZSS_GPU, SEGMENT);
    gzlzss *pieces = NULL;
    struct sample s = sample(cpu, some(), 1), in_pieces;
    size_t room;

    o.rsyncable = 1;
    HOLDS(gzlzss_new(&pieces, &o) == GZLZSS_OK);
    in_pieces = sample(pieces, some(), 1);
    room = std::max(s.packed_len, in_pieces.packed_len);
    for (int i = 0; i < KINDS; i++)
        for (int after = 0; after < (is_quick ? 2 : KINDS); after++) {
            const int k = (i + after) % KINDS;
            uint8_t *in = get((enum kind)i, s.len + 1) + 1;
            uint8_t *out = get((enum kind)k, room + 16) + 1;
            uint8_t behind[15];
            size_t len = s.packed_len;
            char what[100];

            put(in, s.bytes, s.len);
            HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, s.len, 0, NULL) == GZLZSS_OK);
            HOLDS(is_packed(&s, out, len));
            len = s.packed_len;
            HOLDS(gzlzss_cuda_compress(cpu, out, &len, in, s.len, 0, NULL) == GZLZSS_OK);
            HOLDS(is_packed(&s, out, len));
            len = in_pieces.packed_len;
            HOLDS(gzlzss_cuda_compress(pieces, out, &len, in, s.len, 0, NULL) == GZLZSS_OK);
            HOLDS(is_packed(&in_pieces, out, len));
            for (size_t less = 1; less < s.packed_len; less = less * (is_quick ? 99 : 9) + 1) {
                memset(behind, 0x77, sizeof(behind));
                put(out + s.packed_len - less, behind, sizeof(behind));
                len = s.packed_len - less;
                HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, s.len, 0, NULL) ==
                      GZLZSS_ERROR_ROOM);
                HOLDS(len == 0);
                memset(behind, 0, sizeof(behind));
                put(behind, out + s.packed_len - less, sizeof(behind));
                for (unsigned b = 0; b < sizeof(behind); b++)
                    HOLDS(behind[b] == 0x77);
            }
            drop((enum kind)i, in - 1);
            drop((enum kind)k, out - 1);
            snprintf(what, sizeof(what), "from %s to %s memory", kind_names[i], kind_names[k]);
            verdict(what);
        }
    free_sample(&s);
    free_sample(&in_pieces);
    end(gpu);
    gzlzss_free(pieces);
    gzlzss_free(cpu);
}

/* Memory for gzlzss_cuda_decompress_new. */
struct allocation {
    enum kind kind;
    void *memory;
    size_t size;
    CUcontext expected;
};

static void *allocate(void *ctx, size_t size)
{
    struct allocation *a = (struct allocation *)ctx;

    HOLDS(current() == a->expected);
    if (a->memory != NULL)
        drop(a->kind, a->memory);
    a->size = size;
    a->memory = get(a->kind, size + 1);
    return a->memory;
}

static bool is_same(const uint8_t *device, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = (uint8_t *)need(malloc(len + 1));
    bool is;

    put(copy, device, len);
    is = memcmp(copy, bytes, len) == 0;
    free(copy);
    return is;
}

/* Decompression to memory that is allocated when the size is known. */
static void decompress_new(gzlzss *z, const struct sample *s, const uint8_t *in, enum kind kind)
{
    struct allocation a = {kind, NULL, 0, current()};
    uint64_t size = 77;
    void *out = NULL;
    size_t len = 77;

    HOLDS(gzlzss_cuda_decompressed_size(z, &size, in, s->packed_len, 0, NULL) == GZLZSS_OK);
    HOLDS(size == s->len);
    HOLDS(gzlzss_cuda_decompress_new(z, &out, &len, allocate, &a, in, s->packed_len, 0, NULL) ==
          GZLZSS_OK);
    HOLDS(out == a.memory && len == s->len && a.size == s->len);
    HOLDS(is_same((const uint8_t *)out, s->bytes, s->len));
    HOLDS(current() == a.expected);
    drop(kind, a.memory);
}

/* Decompresses many items.  Each item is a .gz of the sample's first bytes, with a number of bytes
 * of its own.  One item is cut off. */
static void decompress_items(gzlzss *z, const struct sample *s, enum kind from, enum kind to)
{
    enum { ITEMS = 50, BAD = 20 };
    const size_t room = gzlzss_bound(z, 100 * ITEMS);
    uint8_t *in = get(from, ITEMS * room), *out = get(to, 100 * ITEMS * ITEMS);
    uint8_t *packed = (uint8_t *)need(malloc(room));
    const CUcontext before = current();
    gzlzss_item items[ITEMS];

    for (size_t i = 0; i < ITEMS; i++) {
        size_t len = room;

        HOLDS(gzlzss_compress(z, packed, &len, s->bytes, 100 * i, NULL) == GZLZSS_OK);
        put(in + i * room, packed, len);
        items[i] = {in + i * room, len - (i == BAD), out + i * 100 * ITEMS, 100 * i, GZLZSS_OK};
    }
    HOLDS(gzlzss_cuda_decompress_batch(z, items, ITEMS, GZLZSS_GZIP, 0, NULL) ==
          GZLZSS_ERROR_TRUNCATED);
    for (size_t i = 0; i < ITEMS; i++) {
        HOLDS(items[i].status == (i == BAD ? GZLZSS_ERROR_TRUNCATED : GZLZSS_OK));
        HOLDS(items[i].out_len == 100 * i);
        HOLDS(is_same((const uint8_t *)items[i].out, s->bytes, 100 * i));
    }
    HOLDS(current() == before);
    drop(from, in);
    drop(to, out);
    free(packed);
}

/* Decompresses from and to memory of every kind, and also into a buffer that is too small. */
static void decompress_by(gzlzss_backend backend)
{
    gzlzss *cpu = object(6, GZLZSS_CPU, SEGMENT), *z = object(6, backend, SEGMENT);
    struct sample s = sample(cpu, (is_quick ? 3 : 90) * SEGMENT + 5, 7);
    const CUcontext before = current();

    for (int i = 0; i < KINDS; i++)
        for (int k = 0; k < KINDS; k++) {
            uint8_t *in = get((enum kind)i, s.packed_len + 1) + 1;
            uint8_t *out = get((enum kind)k, s.len + 2) + 1;
            uint8_t *copy = (uint8_t *)need(malloc(s.len));
            uint8_t behind = 0x77;
            size_t len = s.len;
            char what[100];

            put(in, s.packed, s.packed_len);
            put(out + s.len, &behind, 1);
            HOLDS(gzlzss_cuda_decompress(z, out, &len, in, s.packed_len, 0, NULL) == GZLZSS_OK);
            HOLDS(len == s.len);
            put(copy, out, s.len);
            HOLDS(memcmp(copy, s.bytes, s.len) == 0);
            len = s.len - 1;
            HOLDS(gzlzss_cuda_decompress(z, out, &len, in, s.packed_len, 0, NULL) ==
                  GZLZSS_ERROR_ROOM);
            HOLDS(len == s.len - 1);
            len = s.len;
            HOLDS(gzlzss_cuda_decompress(z, out, &len, in, s.packed_len - 1, 0, NULL) ==
                  GZLZSS_ERROR_TRUNCATED);
            behind = 0;
            put(&behind, out + s.len, 1);
            HOLDS(behind == 0x77);
            decompress_new(z, &s, in, (enum kind)k);
            decompress_items(z, &s, (enum kind)i, (enum kind)k);
            HOLDS(current() == before);
            free(copy);
            drop((enum kind)i, in - 1);
            drop((enum kind)k, out - 1);
            snprintf(what, sizeof(what), "decompression from %s to %s memory, backend %s",
                     kind_names[i], kind_names[k], backend == GZLZSS_CPU ? "cpu" : "auto");
            verdict(what);
        }
    free_sample(&s);
    end(z);
    gzlzss_free(cpu);
}

static void check_decompression(void)
{
    decompress_by(GZLZSS_CPU);
    decompress_by(GZLZSS_AUTO);
}

/* The last numbers that the progress callback got. */
struct progress {
    uint64_t in, out;
    int calls;
    CUcontext expected;
};

static int count_progress(void *ctx, uint64_t in, uint64_t out)
{
    struct progress *p = (struct progress *)ctx;

    HOLDS(in >= p->in && out >= p->out);
    HOLDS(current() == p->expected);
    p->in = in;
    p->out = out;
    p->calls++;
    return 0;
}

static size_t free_memory(void)
{
    size_t available = 0, total;

    CUDA(cudaMemGetInfo(&available, &total));
    return available;
}

/* Decompresses larger members, from the host's memory and from the device's, again and again. */
static void check_inflating(void)
{
    const size_t most = (size_t)(is_quick ? 16 : 150) << 20;
    gzlzss *cpu = object(6, GZLZSS_CPU, 0), *z = object(6, GZLZSS_AUTO, 0);
    uint8_t *out = get(DEVICE, 2 * most);
    const size_t before = free_memory();

    for (size_t len = most / 8; len <= most; len *= 2) {
        struct sample s = sample(cpu, len, len);
        uint8_t *in = get(DEVICE, 2 * s.packed_len), *twice;

        /* Less than this would be the CPU's work. */
        HOLDS(s.packed_len >= 64 << 10);
        put(in, s.packed, s.packed_len);
        put(in + s.packed_len, s.packed, s.packed_len);
        twice = (uint8_t *)need(malloc(2 * s.packed_len));
        memcpy(twice, s.packed, s.packed_len);
        memcpy(twice + s.packed_len, s.packed, s.packed_len);
        for (int way = 0; way < 4; way++) {
            const size_t count = 1 + way / 2;
            struct progress p = {0, 0, 0, current()};
            gzlzss_call call = GZLZSS_CALL_INIT;
            size_t made = count * len;

            call.progress = count_progress;
            call.ctx = &p;
            CUDA(cudaMemset(out, 0, 2 * len));
            HOLDS(gzlzss_cuda_decompress(z, out, &made, way % 2 == 0 ? in : twice,
                                         count * s.packed_len, 0, &call) == GZLZSS_OK);
            HOLDS(made == count * len && call.out_bytes == made);
            HOLDS(call.in_bytes == count * s.packed_len);
            HOLDS(p.calls > 0 && p.out == made);
            HOLDS(is_same(out, s.bytes, len));
            HOLDS(count == 1 || is_same(out + len, s.bytes, len));
            /* A wrong bit in a CRC, and a buffer that is one byte too small. */
            made = len - 1;
            HOLDS(gzlzss_cuda_decompress(z, out, &made, in, s.packed_len, 0, NULL) ==
                  GZLZSS_ERROR_ROOM);
            HOLDS(made == len - 1);
            HOLDS(is_same(out, s.bytes, len - 1));
            twice[s.packed_len - 5] ^= 8;
            made = len;
            HOLDS(gzlzss_cuda_decompress(z, out, &made, twice, s.packed_len, 0, NULL) ==
                  GZLZSS_ERROR_DATA);
            twice[s.packed_len - 5] ^= 8;
        }
        drop(DEVICE, in);
        free(twice);
        free_sample(&s);
    }
    /* The decompression engine uses device memory, so the GPU did the work.  Freeing the object
     * frees that memory. */
    HOLDS(free_memory() + ((size_t)256 << 20) < before);
    end(z);
    HOLDS(free_memory() + ((size_t)64 << 20) > before);
    drop(DEVICE, out);
    gzlzss_free(cpu);
    verdict("a GPU decompresses larger data");
}

/* Makes an object for a format. */
static gzlzss *object_of(gzlzss_format format, gzlzss_backend backend)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *z = NULL;

    o.format = format;
    o.backend = backend;
    HOLDS(gzlzss_new(&z, &o) == GZLZSS_OK);
    return (gzlzss *)need(z);
}

/* In every format, compression with a GPU must give the same bytes as with the CPU, and
 * decompression must give the input. */
static void check_formats(void)
{
    static const gzlzss_format formats[] = {GZLZSS_ZLIB, GZLZSS_RAW, GZLZSS_BGZF, GZLZSS_ZIP};

    for (gzlzss_format format : formats) {
        gzlzss *cpu = object_of(format, GZLZSS_CPU), *gpu = object_of(format, GZLZSS_GPU);
        struct sample s = sample(cpu, (size_t)(is_quick ? 1 : 30) << 20, format);
        uint8_t *in = get(DEVICE, s.len), *packed = get(DEVICE, s.packed_len);
        uint8_t *out = get(DEVICE, s.len + 1);
        size_t len = s.packed_len, made = s.len;

        put(in, s.bytes, s.len);
        HOLDS(gzlzss_cuda_compress(gpu, packed, &len, in, s.len, 0, NULL) == GZLZSS_OK);
        HOLDS(is_packed(&s, packed, len));
        HOLDS(gzlzss_cuda_decompress(gpu, out, &made, packed, len, 0, NULL) == GZLZSS_OK);
        HOLDS(made == s.len && is_same(out, s.bytes, s.len));
        /* Damage, bytes behind the data, and a buffer that is too small. */
        for (int way = 0; way < 3; way++) {
            uint8_t *copy = (uint8_t *)need(malloc(len + 1));
            size_t expected_made = s.len - (way == 2), copy_len = len + (way == 1);
            uint8_t *expected = (uint8_t *)need(malloc(s.len));
            gzlzss_status status;

            memcpy(copy, s.packed, len);
            copy[len] = 'x';
            copy[way == 0 ? len / 2 : len] ^= 16;
            status = gzlzss_decompress(cpu, expected, &expected_made, copy, copy_len, NULL);
            made = s.len - (way == 2);
            HOLDS(gzlzss_cuda_decompress(gpu, out, &made, copy, copy_len, 0, NULL) == status);
            HOLDS(way == 0 || (made == expected_made && is_same(out, expected, made)));
            free(expected);
            free(copy);
        }
        free_sample(&s);
        drop(DEVICE, in);
        drop(DEVICE, packed);
        drop(DEVICE, out);
        end(gpu);
        gzlzss_free(cpu);
    }
    verdict("zlib's format, raw DEFLATE, BGZF and zip");
}

/* Threads that decompress with one object. */
struct inflating {
    gzlzss *z;
    const struct sample *s;
    uint8_t *in, *out;
    bool uses_cuda;
    pthread_t thread;
};

static void *inflate_often(void *argument)
{
    const struct inflating *c = (const struct inflating *)argument;
    CUcontext before;

    if (c->uses_cuda)
        CUDA(cudaSetDevice(0));
    before = current();
    HOLDS(c->uses_cuda == (before != NULL));
    for (int i = 0; i < (is_quick ? 2 : 10); i++) {
        size_t len = c->s->len;

        HOLDS(gzlzss_cuda_decompress(c->z, c->out, &len, c->in, c->s->packed_len, 0, NULL) ==
              GZLZSS_OK);
        HOLDS(len == c->s->len);
        HOLDS(current() == before);
    }
    return NULL;
}

static void check_inflating_threads(void)
{
    enum { CALLERS = 6 };
    gzlzss *cpu = object(6, GZLZSS_CPU, 0), *z = object(6, GZLZSS_AUTO, 0);
    struct inflating callers[CALLERS];
    struct sample samples[CALLERS];

    for (int i = 0; i < CALLERS; i++) {
        struct inflating *c = &callers[i];

        samples[i] = sample(cpu, (is_quick ? 200000 : 3000000) * (size_t)(i + 1), (uint64_t)i);
        c->z = z;
        c->s = &samples[i];
        c->in = get(DEVICE, samples[i].packed_len);
        c->out = get(DEVICE, samples[i].len);
        c->uses_cuda = i % 2 == 0;
        put(c->in, samples[i].packed, samples[i].packed_len);
    }
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < CALLERS; i++)
        HOLDS(pthread_create(&callers[i].thread, NULL, inflate_often, &callers[i]) == 0);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        HOLDS(is_same(callers[i].out, samples[i].bytes, samples[i].len));
        drop(DEVICE, callers[i].in);
        drop(DEVICE, callers[i].out);
        free_sample(&samples[i]);
    }
    end(z);
    gzlzss_free(cpu);
    verdict("six threads decompress with one object; half of them have no context");
}

/* Tests input and output in a CUDA context that the program has made itself. */
static void check_own_context(void)
{
    gzlzss *cpu = object(6, GZLZSS_CPU, 0), *z = object(6, GZLZSS_AUTO, 0);
    struct sample s = sample(cpu, (is_quick ? 1 : 20) * (size_t)1000000, 4);
    uint8_t *in, *out, *primary = get(DEVICE, s.len);
    CUcontext own = NULL;

    HOLDS(ctx_create(&own, 0, 0) == CUDA_SUCCESS);
    in = get(DEVICE, s.packed_len);
    out = get(DEVICE, s.len);
    put(in, s.packed, s.packed_len);
    CUDA(cudaDeviceSynchronize());
    for (int way = 0; way < 4; way++) {
        uint8_t *const to = way % 2 == 0 ? out : primary;
        size_t len = s.len;

        HOLDS(current() == own);
        HOLDS(gzlzss_cuda_decompress(z, to, &len, way < 2 ? in : s.packed, s.packed_len, 0, NULL) ==
              GZLZSS_OK);
        HOLDS(len == s.len && current() == own);
        HOLDS(is_same(to, s.bytes, len));
    }
    decompress_new(z, &s, in, DEVICE);
    decompress_items(z, &s, DEVICE, DEVICE);
    drop(DEVICE, in);
    drop(DEVICE, out);
    end(z);
    HOLDS(ctx_destroy(own) == CUDA_SUCCESS);
    CUDA(cudaSetDevice(0));
    drop(DEVICE, primary);
    free_sample(&s);
    gzlzss_free(cpu);
    verdict("decompression in a context of the program's own");
}

/* --- Descriptors --- */

struct drain {
    int fd;
    uint8_t *bytes;
    size_t room, len;
};

static void *drain(void *argument)
{
    struct drain *d = (struct drain *)argument;
    ssize_t n;

    while ((n = read(d->fd, d->bytes + d->len, d->room - d->len)) > 0)
        d->len += (size_t)n;
    return NULL;
}

static void check_descriptors(void)
{
    const size_t len = is_quick ? some() : (size_t)40 << 20;
    gzlzss *cpu = object(6, GZLZSS_CPU, SEGMENT);
    gzlzss *gpu = object(6, GZLZSS_GPU, SEGMENT);
    struct sample s = sample(cpu, len, 2);
    uint8_t *in = get(DEVICE, len), *out = (uint8_t *)need(malloc(s.packed_len));
    FILE *file = (FILE *)need(tmpfile());
    gzlzss_call call = GZLZSS_CALL_INIT;
    struct drain d = {-1, out, s.packed_len, 0};
    const CUcontext before = current();
    pthread_t thread;
    int ends[2];

    put(in, s.bytes, len);
    HOLDS(gzlzss_cuda_compress_fd(gpu, fileno(file), in, len, 0, &call) == GZLZSS_OK);
    HOLDS(call.in_bytes == len && call.out_bytes == s.packed_len);
    HOLDS(pread(fileno(file), out, s.packed_len, 0) == (ssize_t)s.packed_len);
    HOLDS(lseek(fileno(file), 0, SEEK_END) == (off_t)s.packed_len);
    HOLDS(is_packed(&s, out, s.packed_len));
    verdict("to a file");

    HOLDS(pipe(ends) == 0);
    d.fd = ends[0];
    memset(out, 0, s.packed_len);
    HOLDS(pthread_create(&thread, NULL, drain, &d) == 0);
    HOLDS(gzlzss_cuda_compress_fd(gpu, ends[1], in, len, 0, &call) == GZLZSS_OK);
    close(ends[1]);
    pthread_join(thread, NULL);
    HOLDS(is_packed(&s, out, d.len));
    HOLDS(call.out_bytes == s.packed_len);
    HOLDS(current() == before);
    close(ends[0]);
    verdict("to a pipe");

    HOLDS(pipe(ends) == 0);
    close(ends[0]);
    HOLDS(gzlzss_cuda_compress_fd(gpu, ends[1], in, len, 0, &call) == GZLZSS_ERROR_WRITE);
    HOLDS(call.error_number == EPIPE);
    HOLDS(current() == before);
    close(ends[1]);
    verdict("to a pipe that nobody reads");

    fclose(file);
    free(out);
    drop(DEVICE, in);
    free_sample(&s);
    end(gpu);
    gzlzss_free(cpu);
}

/* --- Streams --- */

static void CUDART_CB sleep_there(void *ms)
{
    pause_ms(*(const long *)ms);
}

__global__ void copy_slowly(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < len;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* A call waits for the work that is queued on its stream, and work queued later finds the output.
 * The check covers each kind of stream.  Just before the call, work is queued that writes the real
 * input. */
static void check_streams(void)
{
    static const char *const names[] = {
        "a blocking stream",     "a non-blocking stream", "stream 0",
        "cudaStreamLegacy",      "cudaStreamPerThread",   "stream 0, for a blocking stream",
        "stream 0, per thread's"};
    static long delay = 60;
    gzlzss *cpu = object(1, GZLZSS_CPU, SEGMENT);
    gzlzss *gpu = object(1, GZLZSS_GPU, SEGMENT);
    cudaStream_t blocking, other, filler, streams[7];
    struct sample s = sample(cpu, some(), 3);
    uint8_t *source = get(DEVICE, s.len), *in = get(DEVICE, s.len);
    uint8_t *out = get(DEVICE, s.packed_len), *copy = get(PINNED, s.packed_len);

    CUDA(cudaStreamCreate(&blocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    streams[0] = blocking;
    streams[1] = other;
    streams[2] = 0;
    streams[3] = cudaStreamLegacy;
    streams[4] = cudaStreamPerThread;
    streams[5] = streams[6] = 0;
    put(source, s.bytes, s.len);
    for (int i = 0; i < 7; i++) {
        for (int way = 0; way < 2; way++) {
            size_t len = s.packed_len;

            CUDA(cudaMemset(in, 0, s.len));
            CUDA(cudaMemset(out, 0, s.packed_len));
            CUDA(cudaDeviceSynchronize());
            filler = i == 5 ? blocking : i == 6 ? cudaStreamPerThread : streams[i];
            CUDA(cudaLaunchHostFunc(filler, sleep_there, &delay));
            if (way == 0)
                copy_slowly<<<2, 64, 0, filler>>>(in, source, s.len);
            else
                CUDA(cudaMemcpyAsync(in, source, s.len, cudaMemcpyDeviceToDevice, filler));
            CUDA(cudaGetLastError());
            HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, s.len, streams[i], NULL) == GZLZSS_OK);
            memset(copy, 0, s.packed_len);
            CUDA(cudaMemcpyAsync(copy, out, s.packed_len, cudaMemcpyDeviceToHost,
                                 i == 1 ? blocking : other));
            CUDA(cudaStreamSynchronize(i == 1 ? blocking : other));
            HOLDS(len == s.packed_len && memcmp(copy, s.packed, len) == 0);
        }
        verdict(names[i]);
    }
    CUDA(cudaStreamDestroy(blocking));
    CUDA(cudaStreamDestroy(other));
    drop(DEVICE, source);
    drop(DEVICE, in);
    drop(DEVICE, out);
    drop(PINNED, copy);
    free_sample(&s);
    end(gpu);
    gzlzss_free(cpu);
}

/* A thread that compresses again and again. */
struct caller {
    gzlzss *z;
    const struct sample *s;
    uint8_t *in;
    cudaStream_t stream;
    int rounds;
    bool uses_cuda; /* the thread also calls CUDA itself */
    pthread_t thread;
};

static void *make_and_free(void *argument);
static void *call_often(void *argument);

/* A stream is captured in the global mode, in which unsafe CUDA calls by any thread break the
 * capture.  Meanwhile, other threads make objects, use them and free them. */
static void check_beside_capture(void)
{
    gzlzss *cpu = object(6, GZLZSS_CPU, SEGMENT);
    gzlzss *gpu = object(6, GZLZSS_GPU, SEGMENT);
    struct sample s = sample(cpu, some(), 8);
    cudaStream_t captured;
    cudaGraph_t graph;
    struct caller c;

    memset(&c, 0, sizeof(c));
    c.s = &s;
    c.in = get(DEVICE, s.len);
    c.rounds = 3;
    c.z = gpu;
    put(c.in, s.bytes, s.len);
    CUDA(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreate(&captured));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    HOLDS(pthread_create(&c.thread, NULL, call_often, &c) == 0);
    pthread_join(c.thread, NULL);
    HOLDS(pthread_create(&c.thread, NULL, make_and_free, &c) == 0);
    pthread_join(c.thread, NULL);
    HOLDS(cudaStreamEndCapture(captured, &graph) == cudaSuccess);
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(captured));
    CUDA(cudaStreamDestroy(c.stream));
    drop(DEVICE, c.in);
    free_sample(&s);
    end(gpu);
    gzlzss_free(cpu);
    verdict("while another thread captures a stream");
}

/* A call on a stream that is being captured fails, and the capture goes on. */
static void check_capture(void)
{
    gzlzss *gpu = object(1, GZLZSS_GPU, SEGMENT);
    uint8_t *in = get(DEVICE, 1000), out[2000];
    size_t len = sizeof(out);
    cudaStream_t stream;
    cudaGraph_t graph;

    CUDA(cudaMemset(in, 1, 1000));
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CUDA(cudaMemsetAsync(in, 2, 1000, stream));
    HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, 1000, stream, NULL) == GZLZSS_ERROR_ARGUMENT);
    HOLDS(len == 0);
    HOLDS(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    len = sizeof(out);
    HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, 1000, stream, NULL) == GZLZSS_OK);
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    drop(DEVICE, in);
    end(gpu);
    verdict("a stream that is being captured");
}

struct to_cancel {
    gzlzss *z;
    gzlzss_call call;
};

static void *cancel_soon(void *argument)
{
    struct to_cancel *c = (struct to_cancel *)argument;

    pause_ms(50);
    gzlzss_cancel(c->z, &c->call);
    return NULL;
}

/* A call that waits for its stream can be cancelled. */
static void check_cancelling(void)
{
    static long delay = 1500;
    struct to_cancel c = {object(1, GZLZSS_GPU, SEGMENT), GZLZSS_CALL_INIT};
    uint8_t *in = get(DEVICE, 1000), out[2000];
    size_t len = sizeof(out);
    struct timespec began, ended;
    cudaStream_t stream;
    pthread_t thread;

    CUDA(cudaMemset(in, 1, 1000));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaLaunchHostFunc(stream, sleep_there, &delay));
    clock_gettime(CLOCK_MONOTONIC, &began);
    HOLDS(pthread_create(&thread, NULL, cancel_soon, &c) == 0);
    HOLDS(gzlzss_cuda_compress(c.z, out, &len, in, 1000, stream, &c.call) ==
          GZLZSS_ERROR_CANCELLED);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    HOLDS((ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000 < 1000);
    pthread_join(thread, NULL);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    drop(DEVICE, in);
    end(c.z);
    verdict("cancelled while it waits for a stream");
}

/* --- Threads and their current contexts --- */

static void *call_often(void *argument)
{
    const struct caller *c = (const struct caller *)argument;
    uint8_t *out = (uint8_t *)need(malloc(c->s->packed_len));
    CUcontext before;

    if (c->uses_cuda)
        CUDA(cudaSetDevice(0));
    before = current();
    HOLDS(c->uses_cuda == (before != NULL));
    for (int i = 0; i < c->rounds; i++) {
        size_t len = c->s->packed_len;

        HOLDS(gzlzss_cuda_compress(c->z, out, &len, c->in, c->s->len, c->stream, NULL) ==
              GZLZSS_OK);
        HOLDS(len == c->s->packed_len && memcmp(out, c->s->packed, len) == 0);
        HOLDS(current() == before);
    }
    free(out);
    return NULL;
}

/* Makes an object, uses it and frees it, on a thread that does not use CUDA otherwise. */
static void *make_and_free(void *argument)
{
    struct caller c = *(const struct caller *)argument;

    HOLDS(current() == NULL);
    c.z = object(6, GZLZSS_GPU, SEGMENT);
    HOLDS(current() == NULL);
    call_often(&c);
    end(c.z);
    HOLDS(current() == NULL);
    return NULL;
}

static void check_threads(void)
{
    enum { CALLERS = 8 };
    gzlzss *cpu = object(6, GZLZSS_CPU, SEGMENT);
    gzlzss *gpu = object(6, GZLZSS_GPU, SEGMENT);
    struct caller callers[CALLERS];
    struct sample samples[CALLERS];

    for (int i = 0; i < CALLERS; i++) {
        struct caller *c = &callers[i];

        samples[i] = sample(cpu, SEGMENT * (1 + 2 * (size_t)i) + 77, (uint64_t)i);
        memset(c, 0, sizeof(*c));
        c->z = gpu;
        c->s = &samples[i];
        c->in = get(DEVICE, samples[i].len);
        c->rounds = is_quick ? 2 : 30;
        c->uses_cuda = i % 2 == 0;
        put(c->in, samples[i].bytes, samples[i].len);
        if (i % 3 != 0)
            CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    }
    for (int i = 0; i < CALLERS; i++)
        HOLDS(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]) == 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    verdict("eight threads with one object; half of them have no context");

    callers[1].rounds = 2;
    HOLDS(pthread_create(&callers[1].thread, NULL, make_and_free, &callers[1]) == 0);
    pthread_join(callers[1].thread, NULL);
    callers[3].rounds = 2;
    HOLDS(pthread_create(&callers[3].thread, NULL, make_and_free, &callers[3]) == 0);
    pthread_join(callers[3].thread, NULL);
    verdict("an object made and freed by a thread without a context, with a stream and with 0");

    for (int i = 0; i < CALLERS; i++) {
        if (callers[i].stream != 0)
            CUDA(cudaStreamDestroy(callers[i].stream));
        drop(DEVICE, callers[i].in);
        free_sample(&samples[i]);
    }
    end(gpu);
    gzlzss_free(cpu);
}

/* Objects of all kinds leave the program's current device, its context, and the context's way of
 * waiting as they are. */
static void check_contexts(void)
{
    const CUcontext before = current();
    gzlzss *cpu = object(6, GZLZSS_CPU, SEGMENT), *z;
    struct sample s = sample(cpu, 3 * SEGMENT, 5);
    uint8_t *out = (uint8_t *)need(malloc(s.packed_len));
    unsigned flags = 0, flags_after = 1;
    int devices = 0, device = -1;

    CUDA(cudaGetDeviceFlags(&flags));
    CUDA(cudaGetDeviceCount(&devices));
    HOLDS(before != NULL);
    for (int d = 0; d < devices && d < 4; d++) {
        uint8_t *in;

        CUDA(cudaSetDevice(d));
        in = get(DEVICE, s.len);
        put(in, s.bytes, s.len);
        /* Also test while another device is current. */
        for (int now = 0; now < devices && now < 4; now++)
            for (int backend = GZLZSS_AUTO; backend <= GZLZSS_GPU; backend++) {
                CUcontext mine;
                size_t len = s.packed_len;

                CUDA(cudaSetDevice(now));
                mine = current();
                z = object(6, (gzlzss_backend)backend, SEGMENT);
                HOLDS(gzlzss_cuda_compress(z, out, &len, in, s.len, 0, NULL) == GZLZSS_OK);
                HOLDS(is_packed(&s, out, len));
                end(z);
                CUDA(cudaGetDevice(&device));
                HOLDS(device == now);
                HOLDS(current() == mine);
            }
        drop(DEVICE, in);
    }
    CUDA(cudaSetDevice(0));
    CUDA(cudaGetDeviceFlags(&flags_after));
    HOLDS(flags == flags_after);
    HOLDS(current() == before);
    verdict("the current device and context, and its flags");
    free(out);
    free_sample(&s);
    gzlzss_free(cpu);
}

/* Repeated calls must not use more and more memory.  (Memory that other programs use on the device
 * counts, too.) */
static void check_memory(void)
{
    gzlzss *cpu = object(1, GZLZSS_CPU, SEGMENT);
    gzlzss *gpu = object(1, GZLZSS_GPU, SEGMENT);
    struct sample s = sample(cpu, some(), 6);
    uint8_t *in = get(DEVICE, s.len), *out = get(DEVICE, s.packed_len);
    size_t before = 0, after = 0, total;

    put(in, s.bytes, s.len);
    for (int i = 0; i < (is_quick ? 20 : 400); i++) {
        size_t len = s.packed_len;

        HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, s.len, 0, NULL) == GZLZSS_OK);
        if (i == 9)
            CUDA(cudaMemGetInfo(&before, &total));
    }
    CUDA(cudaMemGetInfo(&after, &total));
    HOLDS(is_packed(&s, out, s.packed_len));
    /* Allow for other programs on the device. */
    if (!HOLDS(before <= after + ((size_t)64 << 20)))
        printf("# %zu bytes were free, then %zu\n", before, after);
    drop(DEVICE, in);
    drop(DEVICE, out);
    free_sample(&s);
    end(gpu);
    gzlzss_free(cpu);
    verdict("memory stays the same");
}

/* After fork, a child cannot use its parent's objects. */
static void check_fork(void)
{
    gzlzss *gpu = object(1, GZLZSS_GPU, SEGMENT);
    uint8_t *in = get(DEVICE, 1000), out[2000];
    int status = 0;
    pid_t child;

    CUDA(cudaMemset(in, 1, 1000));
    child = fork();
    if (child == 0) {
        size_t len = sizeof(out);

        _exit(gzlzss_cuda_compress(gpu, out, &len, in, 1000, 0, NULL) == GZLZSS_ERROR_FORKED ? 0
                                                                                             : 1);
    }
    HOLDS(child > 0 && waitpid(child, &status, 0) == child);
    HOLDS(status == 0);
    drop(DEVICE, in);
    end(gpu);
    verdict("after fork");
}

__global__ void trap(void)
{
    asm volatile("trap;");
}

/* If work on the stream fails, the call returns an error and no output, and the object can be
 * freed.  After that, the context is unusable, so this check comes last. */
static void check_failure(void)
{
    gzlzss *gpu = object(1, GZLZSS_GPU, SEGMENT);
    gzlzss_call call = GZLZSS_CALL_INIT;
    uint8_t *in = get(DEVICE, 9 * SEGMENT), *out = (uint8_t *)need(malloc(10 * SEGMENT));
    size_t len = 10 * SEGMENT;

    CUDA(cudaMemset(in, 1, 9 * SEGMENT));
    HOLDS(gzlzss_cuda_compress(gpu, out, &len, in, 9 * SEGMENT, 0, &call) == GZLZSS_OK);
    trap<<<1, 1>>>();
    for (int i = 0; i < 2; i++) {
        gzlzss_status status;

        len = 10 * SEGMENT;
        status = gzlzss_cuda_compress(gpu, out, &len, in, 9 * SEGMENT, 0, &call);
        HOLDS(status == GZLZSS_ERROR_READ || status == GZLZSS_ERROR_GPU);
        HOLDS(status != GZLZSS_ERROR_READ || call.error_number == EIO);
        HOLDS(len == 0);
    }
    /* Data in the host's memory can still be compressed, by the CPU. */
    len = 10 * SEGMENT;
    HOLDS(gzlzss_compress(gpu, out, &len, "some words", 10, NULL) == GZLZSS_OK);
    gzlzss_free(gpu);
    free(out);
    verdict("a kernel that fails on the stream");
}

static const struct check {
    const char *name;
    void (*run)(void);
    bool is_rough; /* left out of quick runs */
} checks[] = {
    {"levels", check_levels, false},
    {"kinds", check_kinds, false},
    {"decompression", check_decompression, false},
    {"inflating", check_inflating, false},
    {"formats", check_formats, false},
    {"inflating_threads", check_inflating_threads, false},
    {"own_context", check_own_context, false},
    {"descriptors", check_descriptors, false},
    {"streams", check_streams, false},
    {"capture", check_capture, false},
    {"beside_capture", check_beside_capture, false},
    {"cancelling", check_cancelling, false},
    {"threads", check_threads, false},
    {"contexts", check_contexts, false},
    {"memory", check_memory, true},
    {"backends", check_backends, false},
    {"fork", check_fork, true},
    {"failure", check_failure, true},
};

/* True if this check should run.  If the command line names checks, only these run.  Otherwise,
 * quick runs leave out rough checks, and other runs leave out none. */
static bool is_chosen(const struct check *c, char **names, int count)
{
    bool is_named = false;

    for (int i = 0; i < count; i++)
        is_named |= strcmp(names[i], c->name) == 0;
    return count > 0 ? is_named : !is_quick || !c->is_rough;
}

int main(int argc, char **argv)
{
    is_quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    find_driver();
    CUDA(cudaSetDevice(0));
    CUDA(cudaFree(0));
    for (const struct check &c : checks)
        if (is_chosen(&c, argv + 1 + is_quick, argc - 1 - is_quick))
            c.run();
    printf("%s: %d checks failed\n", failures == 0 ? "done" : "FAILED", failures);
    return failures != 0;
}
