/*
 * paper_codec_gpu.c - measures how a GPU codes and decodes a paper's format (paper_codec_gpu.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/paper_codec_gpu.h"
#include "bench/program.h"
#include "papers/codec/gpu.h"

/* What all runs share. The buffers are pinned memory of the host. */
struct bench {
    const struct paper_format *format;
    const struct lz_level *level;
    struct paper_gpu *gpu;
    uint8_t *plain; /* the input; LZ_INPUT_PAD bytes after it are readable */
    size_t len;
    uint8_t *coded; /* the file, as the CPU codes it */
    size_t size;
    uint8_t *out; /* what a run has made */
    uint16_t *tags;
};

/* What a run took, in seconds. */
struct run {
    double kernels, wall;
    struct paper_gpu_times times;
};

static void need_done(bool result, const char *error)
{
    if (!result)
        die(error);
}

static void need_same(const struct bench *b, const uint8_t *bytes, size_t size,
                      const uint8_t *expected, size_t expected_size, const char *what)
{
    if (size == expected_size && memcmp(bytes, expected, size) == 0)
        return;
    fprintf(stderr, "%s, %s: the device's bytes are wrong\n", b->format->method, what);
    exit(1);
}

/* --- Runs: each function does one --- */

/* Codes on the device. */
static void code(struct bench *b, enum paper_gpu_form form)
{
    char error[GPU_ERROR_SIZE];
    size_t size = 0;

    need_done(paper_gpu_put_plain(b->gpu, b->plain, b->len, error) &&
                  (form == PAPER_GPU_FUSED || paper_gpu_match(b->gpu, error)) &&
                  paper_gpu_code(b->gpu, form, &size, error),
              error);
    if (size != b->size)
        die("the device's file has a wrong size");
    need_done(paper_gpu_take_coded(b->gpu, b->out, error), error);
}

/* Finds matches on the device, and codes them on one core. Returns the file, which the caller
 * frees. */
static uint8_t *make_file(struct bench *b, size_t *size)
{
    char error[GPU_ERROR_SIZE];

    need_done(paper_gpu_put_plain(b->gpu, b->plain, b->len, error) &&
                  paper_gpu_match(b->gpu, error) && paper_gpu_take_tags(b->gpu, b->tags, error),
              error);
    return need(paper_encode(b->format, b->level, b->plain, b->len, b->tags, size));
}

static void decode(struct bench *b, enum paper_gpu_form form)
{
    char error[GPU_ERROR_SIZE];
    size_t len = 0;

    need_done(paper_gpu_put_coded(b->gpu, b->coded, b->size, error) &&
                  paper_gpu_decode(b->gpu, form, &len, error),
              error);
    if (len != b->len)
        die("the device's plain bytes have a wrong size");
    need_done(paper_gpu_take_plain(b->gpu, b->out, error), error);
}

/* --- Forms --- */

/* The forms of coding and decoding; the first ones are those of enum paper_gpu_form. */
enum { ON_CPU = PAPER_GPU_FORMS, FORMS };

/* Does a run, and checks its bytes. Returns the seconds that it took without the check. */
static double run_once(struct bench *b, int form, bool is_coding)
{
    const double begin = clock_seconds();
    uint8_t *file = NULL;
    size_t size = b->size;
    double seconds;

    if (form == ON_CPU)
        file = make_file(b, &size);
    else if (is_coding)
        code(b, (enum paper_gpu_form)form);
    else
        decode(b, (enum paper_gpu_form)form);
    seconds = clock_seconds() - begin;
    if (is_coding)
        need_same(b, file != NULL ? file : b->out, size, b->coded, b->size, "coding");
    else
        need_same(b, b->out, b->len, b->plain, b->len, "decoding");
    memset(b->out, 0, is_coding ? b->size : b->len);
    free(file);
    return seconds;
}

static double kernel_seconds(const struct paper_gpu_times *t)
{
    double sum = 0;

    for (unsigned i = 0; i < t->count; i++)
        if (!t->times[i].is_copy)
            sum += t->times[i].seconds;
    return sum;
}

/* Returns the fastest of `runs` runs, after one that is not measured. The wall time and the
 * kernels' times may be those of different runs. */
static struct run measure(struct bench *b, int form, bool is_coding, unsigned runs)
{
    struct run best = {0};

    (void)run_once(b, form, is_coding);
    for (unsigned i = 0; i < runs; i++) {
        double wall, kernels;

        paper_gpu_forget_times(b->gpu);
        wall = run_once(b, form, is_coding);
        kernels = kernel_seconds(paper_gpu_get_times(b->gpu));
        if (i == 0 || wall < best.wall)
            best.wall = wall;
        if (i == 0 || kernels < best.kernels) {
            best.kernels = kernels;
            best.times = *paper_gpu_get_times(b->gpu);
        }
    }
    return best;
}

/* Prints a form's line: what is done and how, GB/s of plain bytes, and milliseconds. */
static void print(const struct bench *b, const char *what, const char *form, const struct run *r)
{
    printf("gpu %s %s: kernels %.2f GB/s, end to end %.2f GB/s; ms:", what, form,
           (double)b->len / r->kernels * 1e-9, (double)b->len / r->wall * 1e-9);
    for (unsigned i = 0; i < r->times.count; i++)
        printf(" %s %.3f,", r->times.times[i].name, r->times.times[i].seconds * 1e3);
    printf(" wall %.3f\n", r->wall * 1e3);
    fflush(stdout);
}

static void measure_forms(struct bench *b, unsigned runs)
{
    for (int form = 0; form < FORMS; form++) {
        const char *name = form == ON_CPU ? "cpu" : paper_gpu_form_name((enum paper_gpu_form)form);

        if (form == ON_CPU || paper_gpu_can_code(b->gpu, (enum paper_gpu_form)form)) {
            const struct run r = measure(b, form, true, runs);

            print(b, "coding", name, &r);
        }
    }
    for (int form = 0; form < PAPER_GPU_FORMS; form++)
        if (paper_gpu_can_decode(b->gpu, (enum paper_gpu_form)form)) {
            const struct run r = measure(b, form, false, runs);

            print(b, "decoding", paper_gpu_form_name((enum paper_gpu_form)form), &r);
        }
}

/* Sets b->coded: to coded[0..size), or if that is NULL, to what the CPU codes from the device's
 * matches. */
static void set_coded(struct bench *b, const uint8_t *coded, size_t size)
{
    uint8_t *file = NULL;

    if (coded == NULL)
        coded = file = make_file(b, &size);
    b->size = size;
    b->coded = need(paper_gpu_pinned(size));
    memcpy(b->coded, coded, size);
    free(file);
}

void paper_codec_gpu(int device, unsigned runs, const struct paper_format *format,
                     const struct lz_level *level, const uint8_t *in, size_t len,
                     const uint8_t *coded, size_t size)
{
    struct bench b = {.format = format, .level = level, .len = len};
    char error[GPU_ERROR_SIZE];

    b.gpu = paper_gpu_open(device, format, level, len, error);
    if (b.gpu == NULL)
        die(error);
    b.plain = need(paper_gpu_pinned(len + LZ_INPUT_PAD));
    b.tags = need(paper_gpu_pinned(len * sizeof(*b.tags)));
    memcpy(b.plain, in, len);
    memset(b.plain + len, 0, LZ_INPUT_PAD);
    set_coded(&b, coded, size);
    b.out = need(paper_gpu_pinned(len > b.size ? len : b.size));
    printf("gpu: %zu bytes become %zu, ratio %.4f\n", len, b.size, (double)len / (double)b.size);
    measure_forms(&b, runs);
    paper_gpu_free_pinned(b.plain);
    paper_gpu_free_pinned(b.tags);
    paper_gpu_free_pinned(b.coded);
    paper_gpu_free_pinned(b.out);
    paper_gpu_close(b.gpu);
}
