/*
 * paper_codec.c - measures a method in the format of its paper: matching, coding and decoding on
 * one core, and the compression ratio
 *
 *   bench/paper_codec FILE METHOD[,KEY=VALUE]... [MIB [cpu|gpu|both [RUNS]]]
 *
 * Uses at most MIB (default 128) of FILE.  METHOD and its keys are those of --matcher.  The key
 * `form` chooses the format if a method has several: form=25 (default) or form=17 for the GLZSS
 * methods, whose paper does not give the widths of its fields (papers/codec/glzss.h).
 *
 * Prints MB of plain bytes for each second of a core's processor time: of matching, once; of coding
 * from tags to the file, and of decoding, the best of three runs each.  Coding includes what the
 * whole file has in common: for gpulz with symbol=auto the choice of widths, for position lists the
 * frequencies.  Then prints the plain size, the size of the file, and their ratio.  The decoded
 * bytes must equal the input.
 *
 * With `gpu`, measures the GPU instead, RUNS times (default 5) in each form of coding and decoding
 * (bench/paper_codec_gpu.h).  With `both`, measures both.  The GPU's file must equal the CPU's.
 * With `gpu`, the CPU makes its file from the GPU's matches, since its own take long to find.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/level.h"
#include "bench/paper_codec_gpu.h"
#include "bench/program.h"
#include "papers/codec/codec.h"

enum { RUNS = 3, GPU_RUNS = 5 };

/* What is measured: a format with a level's keys, and the input. */
struct task {
    const struct paper_format *format;
    struct lz_level level;
    uint8_t *in; /* LZ_INPUT_PAD bytes after it are readable */
    size_t len;
};

/* What the CPU makes of it. */
struct result {
    uint16_t *tags;
    uint8_t *coded;
    size_t size;
    double match_seconds, code_seconds, decode_seconds;
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Cuts the key `form` out of the text, and returns its value, or NULL if the text has no such
 * key. */
static char *take_form(char *text)
{
    static const char key[] = ",form=";
    char *const start = strstr(text, key);
    char *form, *rest;

    if (start == NULL)
        return NULL;
    form = start + sizeof(key) - 1;
    rest = form + strcspn(form, ",");
    form = need(strndup(form, (size_t)(rest - form)));
    memmove(start, rest, strlen(rest) + 1);
    return form;
}

/* Sets the format and the level from METHOD and its keys. */
static void choose(struct task *task, const char *method)
{
    char *const text = need(strdup(method)), *const form = take_form(text);
    char error[PAPER_ERROR_SIZE];

    task->level = level_of(text);
    task->format = paper_format_of(task->level.finder->name, form);
    if (task->format == NULL)
        die("the method has no such format");
    if (!paper_fits(task->format, &task->level, error))
        die(error);
    free(form);
    free(text);
}

static void read_input(struct task *task, const char *name, size_t most)
{
    FILE *const f = fopen(name, "rb");

    if (f == NULL)
        die("cannot open the input");
    task->in = need(malloc(most + LZ_INPUT_PAD));
    task->len = fread(task->in, 1, most, f);
    if (ferror(f))
        die("cannot read the input");
    if (task->len == 0)
        die("the input is empty");
    fclose(f);
    memset(task->in + task->len, 0, LZ_INPUT_PAD);
}

static void match(const struct task *task, struct result *r)
{
    double begin;

    r->tags = need(malloc(task->len * sizeof(*r->tags)));
    memset(r->tags, 0, task->len * sizeof(*r->tags));
    begin = cpu_seconds();
    if (!paper_match(task->format, &task->level, task->in, task->len, r->tags))
        die("out of memory");
    r->match_seconds = cpu_seconds() - begin;
}

/* Sets *best to the seconds since `begin`, if they are fewer or this is the first run. */
static void keep_best(double *best, double begin, int run)
{
    const double seconds = cpu_seconds() - begin;

    if (run == 0 || seconds < *best)
        *best = seconds;
}

static void code(const struct task *task, struct result *r)
{
    for (int run = 0; run < RUNS; run++) {
        const double begin = cpu_seconds();
        uint8_t *const coded =
            need(paper_encode(task->format, &task->level, task->in, task->len, r->tags, &r->size));

        keep_best(&r->code_seconds, begin, run);
        free(r->coded);
        r->coded = coded;
    }
}

static void decode(const struct task *task, struct result *r)
{
    for (int run = 0; run < RUNS; run++) {
        const double begin = cpu_seconds();
        size_t len = 0;
        uint8_t *const out = paper_decode(task->format, &task->level, r->coded, r->size, &len);

        keep_best(&r->decode_seconds, begin, run);
        if (out == NULL || len != task->len || memcmp(out, task->in, len) != 0)
            die("the decoded bytes differ from the input");
        free(out);
    }
}

static void print_result(const struct task *task, const struct result *r)
{
    const double mb = (double)task->len * 1e-6;

    printf("core: %.1f MB/s matching, %.1f coding, %.1f decoding; %zu bytes become %zu, ratio "
           "%.4f\n",
           mb / r->match_seconds, mb / r->code_seconds, mb / r->decode_seconds, task->len, r->size,
           (double)task->len / (double)r->size);
}

/* Measures the CPU. The caller frees the result's pointers. */
static struct result measure_cpu(const struct task *task)
{
    struct result r = {0};

    match(task, &r);
    code(task, &r);
    decode(task, &r);
    print_result(task, &r);
    return r;
}

int main(int argc, char **argv)
{
    const char *const engine = argc > 4 ? argv[4] : "cpu";
    const bool is_both = strcmp(engine, "both") == 0;
    const int runs = argc > 5 ? atoi(argv[5]) : GPU_RUNS;
    struct result cpu = {0};
    struct task task;

    if (argc < 3 || runs < 1 ||
        (!is_both && strcmp(engine, "cpu") != 0 && strcmp(engine, "gpu") != 0))
        die("usage: paper_codec FILE METHOD[,KEY=VALUE]... [MIB [cpu|gpu|both [RUNS]]]");
    choose(&task, argv[2]);
    read_input(&task, argv[1], (size_t)(argc > 3 ? atoi(argv[3]) : 128) << 20);
    if (is_both || strcmp(engine, "cpu") == 0)
        cpu = measure_cpu(&task);
    if (is_both || strcmp(engine, "gpu") == 0)
        paper_codec_gpu(0, (unsigned)runs, task.format, &task.level, task.in, task.len, cpu.coded,
                        cpu.size);
    free(cpu.tags);
    free(cpu.coded);
    free(task.in);
    return 0;
}
