/*
 * mutate_gpu.c - damages .gz files of many kinds for fuzz_gpu.c, without clang
 *
 * zlib makes the files.  Each is damaged once, in one way.  By default, every run damages the same
 * places, and takes a few seconds.
 *
 *     mutate_gpu flips=20000 cuts=2000   damages only in these ways (names[]), this many files each
 *     mutate_gpu flips=100 seed=2        damages other places of the files
 *     FUZZ_CORPUS=DIR                    in the environment: writes inputs to DIR, for libFuzzer
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "tests/fuzz/fuzz_gpu.h"
#include "tests/unit/blocks.h"
#include "tests/unit/inputs.h"

/* --- Files ------------------------------------------------------------------------------------ */

static const struct input_kind words = {"words", WORDS, 0}, tokens = {"tokens", TOKENS, 200},
                               noise = {"noise", RANDOM, 0}, zeros = {"zeros", ZEROS, 0},
                               few = {"few", FEW_VALUES, 4}, many = {"many", FEW_VALUES, 200};

enum { INNER = 3 };

/* How zlib makes a file.  With little memory, zlib makes short blocks, so that a small file has
 * many blocks. */
static const struct recipe {
    const char *name;
    const struct input_kind *kind; /* NULL: the data is a .gz, made from recipes[INNER] */
    size_t len;                    /* of the data; if the data is a .gz, of the data inside */
    int level, strategy, memory;   /* as for deflateInit2 */
    int flush;                     /* zlib's flush after every flush_every bytes; 0: none */
    size_t flush_every;            /* bytes */
    unsigned members;
    bool is_bgzf;
} recipes[] = {
    {"level 1", &tokens, 40000, 1, Z_DEFAULT_STRATEGY, 8, 0, 0, 1, false},
    {"level 6", &words, 90000, 6, Z_DEFAULT_STRATEGY, 8, 0, 0, 1, false},
    {"level 9", &words, 60000, 9, Z_DEFAULT_STRATEGY, 5, 0, 0, 1, false},
    [INNER] = {"short blocks", &words, 40000, 6, Z_DEFAULT_STRATEGY, 4, 0, 0, 1, false},
    {"as pigz", &words, 60000, 6, Z_DEFAULT_STRATEGY, 8, Z_SYNC_FLUSH, 9000, 1, false},
    {"as pigz -i", &words, 50000, 6, Z_DEFAULT_STRATEGY, 8, Z_FULL_FLUSH, 7000, 1, false},
    {"partial flushes", &words, 30000, 6, Z_DEFAULT_STRATEGY, 8, Z_PARTIAL_FLUSH, 4000, 1, false},
    {"stored", &words, 30000, 0, Z_DEFAULT_STRATEGY, 8, Z_BLOCK, 4000, 1, false},
    {"stored with flushes", &noise, 20000, 6, Z_DEFAULT_STRATEGY, 8, Z_SYNC_FLUSH, 3000, 1, false},
    {"fixed", &few, 30000, 6, Z_FIXED, 8, Z_BLOCK, 5000, 1, false},
    {"literals", &many, 30000, 6, Z_HUFFMAN_ONLY, 5, 0, 0, 1, false},
    {"long matches", &zeros, 1500000, 9, Z_DEFAULT_STRATEGY, 8, 0, 0, 1, false},
    {"runs", &few, 40000, 6, Z_RLE, 4, 0, 0, 1, false},
    {"BGZF", &words, 60000, 6, Z_DEFAULT_STRATEGY, 8, 0, 0, 5, true},
    {"members", &tokens, 30000, 6, Z_DEFAULT_STRATEGY, 5, Z_SYNC_FLUSH, 3000, 7, false},
    /* A batch begins with each member's first block, and ends exactly where the member ends. */
    {"members that end with a batch", &noise, 5 * (3 * FUZZ_GPU_SMALL_BATCH + 10 - 23), 0,
     Z_DEFAULT_STRATEGY, 8, 0, 0, 5, false},
    /* The stored data contains blocks of the inner file.  The search finds them by mistake. */
    {"stored .gz", NULL, 60000, 0, Z_DEFAULT_STRATEGY, 8, Z_BLOCK, 5000, 1, false},
};

#define RECIPES (sizeof(recipes) / sizeof(*recipes))

/* A file, and its raw streams, one after another. */
struct file {
    struct bytes gz, streams;
};

static void add_stream(struct bytes *to, const uint8_t *data, size_t len, const struct recipe *r)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data};
    uint8_t out[1 << 16];
    size_t done = 0;
    int result = Z_OK;

    if (deflateInit2(&z, r->level, Z_DEFLATED, -MAX_WBITS, r->memory, r->strategy) != Z_OK)
        abort();
    do {
        const size_t n = r->flush == 0 || len - done < r->flush_every ? len - done : r->flush_every;

        z.avail_in = (uInt)n;
        done += n;
        do {
            z.next_out = out;
            z.avail_out = sizeof(out);
            result = deflate(&z, done == len ? Z_FINISH : r->flush);
            add(to, out, sizeof(out) - z.avail_out);
        } while (z.avail_out == 0);
    } while (result != Z_STREAM_END);
    (void)deflateEnd(&z);
}

static void drop_file(struct file *f)
{
    drop(&f->gz);
    drop(&f->streams);
}

static struct file make_file(const struct recipe *r, size_t len, uint64_t seed)
{
    static const uint8_t usual[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    static const uint8_t bgzf[] = {0x1f, 0x8b, 8, 4,   0,   0, 0, 0, 0,
                                   0xff, 6,    0, 'B', 'C', 2, 0, 0, 0};
    struct file f = {0}, inner = {0};
    uint8_t *data;

    if (r->kind == NULL) {
        inner = make_file(&recipes[INNER], len, seed);
        len = inner.gz.len;
    }
    data = unit_need(malloc(len + 1));
    if (r->kind == NULL)
        memcpy(data, inner.gz.data, len);
    else
        fill_kind(data, len, r->kind, LONGEST_TOKEN, seed);
    drop_file(&inner);
    for (unsigned i = 0; i < r->members; i++) {
        const size_t from = len * i / r->members, n = len * (i + 1) / r->members - from;
        const size_t start = f.gz.len, stream = f.streams.len;

        add_stream(&f.streams, data + from, n, r);
        add(&f.gz, r->is_bgzf ? bgzf : usual, r->is_bgzf ? sizeof(bgzf) : sizeof(usual));
        add(&f.gz, f.streams.data + stream, f.streams.len - stream);
        add_le(&f.gz, crc32(0, data + from, (uInt)n), 4);
        add_le(&f.gz, n, 4);
        if (r->is_bgzf) {
            f.gz.data[start + 16] = (uint8_t)(f.gz.len - start - 1);
            f.gz.data[start + 17] = (uint8_t)((f.gz.len - start - 1) >> 8);
        }
    }
    free(data);
    return f;
}

/* Each file is made in three sizes.  In short files, damage hits headers more often.  Files of the
 * smaller sizes go through engines with small batches. */
enum size { TINY, SHORT, LONG, SIZES };
static struct file files[SIZES][RECIPES];
static const size_t divisors[SIZES] = {100, 12, 1}; /* of a recipe's length */

/* --- Damage ----------------------------------------------------------------------------------- */

enum kind { FLIPS, CUTS, INSERTIONS, SPLICES, NOISE, STREAMS, LENGTHS, BLOCKS, KINDS };

/* How many files are damaged in each way, by default. */
static unsigned long counts[KINDS] = {51, 9, 12, 12, 12, 51, 17, 60};
static const char *const names[KINDS] = {"flips", "cuts",    "insertions", "splices",
                                         "noise", "streams", "lengths",    "blocks"};
static uint64_t seed = 1;

/* Returns a place to damage: one in four is in the first header or the last trailer. */
static size_t place_in(const struct bytes *b, uint64_t *random)
{
    const size_t near = b->len < 18 ? b->len : 18;

    switch (unit_below(random, 8)) {
    case 0:
        return (size_t)unit_below(random, near);
    case 1:
        return b->len - 1 - (size_t)unit_below(random, near / 2);
    default:
        return (size_t)unit_below(random, b->len);
    }
}

static void overwrite(struct bytes *b, size_t at, size_t n, uint64_t *random)
{
    for (; n > 0 && at < b->len; n--)
        b->data[at++] = (uint8_t)unit_rand(random);
}

static void insert(struct bytes *b, size_t at, size_t n, uint64_t *random)
{
    static const uint8_t none[64];
    const size_t from = (size_t)unit_below(random, b->len);

    add(b, none, n);
    memmove(b->data + at + n, b->data + at, b->len - n - at);
    if (unit_below(random, 2) == 0)
        overwrite(b, at, n, random);
    else
        memmove(b->data + at, b->data + from, n < b->len - from ? n : b->len - from);
}

/* Damages b in the way `kind`.  A splice takes the end of `other`. */
static void damage_as(enum kind kind, struct bytes *b, const struct bytes *other, uint64_t *random)
{
    const size_t at = place_in(b, random), from = place_in(other, random);

    switch (kind) {
    case FLIPS:
        b->data[at] ^= (uint8_t)(1u << unit_below(random, 8));
        break;
    case CUTS:
        b->len = at;
        break;
    case INSERTIONS:
        insert(b, at, 1 + (size_t)unit_below(random, 64), random);
        break;
    case SPLICES:
        b->len = at;
        add(b, other->data + from, other->len - from);
        break;
    default:
        overwrite(b, at, 1 + (size_t)unit_below(random, 40), random);
    }
}

/* --- Runs ------------------------------------------------------------------------------------- */

struct totals {
    unsigned long files, good;
    /* The numbers of files given to gpu_inflate, files that it has decompressed, and its
     * batches. */
    unsigned long whole, done, batches;
    /* The numbers of files decompressed in steps, files of which the end was reached, and output
     * buffers. */
    unsigned long steps, stepped, outputs;
    /* The numbers of files given to gpu_inflate_new, files that were counted, and files that were
     * decompressed. */
    unsigned long news, counted, is_new;
    /* The numbers of good inputs of gpu_inflate_many, and inputs that it has decompressed. */
    unsigned long inputs, made;
};

static struct fuzz_gpu_result run_one(const struct fuzz_gpu_choice *choice, const struct bytes *b,
                                      struct totals *t)
{
    struct fuzz_gpu_result result;

    fuzz_gpu_one(choice, b->data, b->len, &result);
    t->files++;
    t->good += result.is_good;
    t->whole += (choice->calls & FUZZ_GPU_WHOLE) != 0;
    t->done += result.is_done;
    t->batches += result.batches;
    t->steps += (choice->calls & FUZZ_GPU_STEPS) != 0;
    t->stepped += result.is_stepped;
    t->outputs += result.outputs;
    t->news += (choice->calls & FUZZ_GPU_NEW) != 0;
    t->counted += result.is_counted;
    t->is_new += result.is_new;
    t->inputs += result.inputs;
    t->made += result.made;
    return result;
}

static void print_totals(const char *name, const struct totals *t)
{
    printf("# %s: %lu files; %lu are good for zlib.  The GPU has decompressed\n"
           "#   %lu of %lu whole, in %lu batches\n"
           "#   %lu of %lu in steps, with %lu outputs\n"
           "#   %lu of %lu after counting %lu\n"
           "#   %lu of many inputs, of which %lu are good\n",
           name, t->files, t->good, t->done, t->whole, t->batches, t->stepped, t->steps, t->outputs,
           t->is_new, t->news, t->counted, t->made, t->inputs);
}

/* True if the GPU has decompressed more than one n-th of all files and inputs. */
static bool is_often_done(const struct totals *t, unsigned long n)
{
    return t->done + t->is_new + t->made > (t->whole + t->news + t->inputs) / n;
}

/* Returns the functions to call for one of many files: few, since each call takes time. */
static uint8_t random_calls(uint64_t *random)
{
    static const uint8_t calls[] = {FUZZ_GPU_WHOLE, FUZZ_GPU_STEPS, FUZZ_GPU_NEW, FUZZ_GPU_MANY};

    return calls[unit_below(random, sizeof(calls))];
}

/* Returns a choice for files of the given size.  Long files do not get the smallest batches,
 * because their blocks do not fit. */
static struct fuzz_gpu_choice random_choice(enum fuzz_gpu_form form, enum size size,
                                            uint64_t *random)
{
    const unsigned settings = size == LONG ? FUZZ_GPU_SETTINGS - 2 : FUZZ_GPU_SETTINGS;

    return (struct fuzz_gpu_choice){
        .form = form,
        .calls = random_calls(random),
        .setting = (uint8_t)unit_below(random, settings),
        .room = (uint8_t)unit_below(random, 8),
        .stop = unit_below(random, 4) == 0 ? (uint8_t)(1 + unit_below(random, 5)) : 0,
        .shift = (uint8_t)unit_rand(random),
        .first = unit_below(random, 2) == 0 ? (uint8_t)unit_below(random, 16) : 0,
        .is_bgzf = unit_below(random, 4) == 0,
        .format = (uint8_t)unit_below(random, 3),
        .inputs = (uint8_t)unit_rand(random)};
}

static void run_kind(enum kind kind)
{
    uint64_t random = seed * KINDS + kind;
    struct totals totals = {0};

    for (unsigned long i = 0; i < counts[kind]; i++) {
        const enum size size = i % SIZES;
        const struct file *f = &files[size][i / SIZES % RECIPES];
        const struct file *other = &files[size][unit_below(&random, RECIPES)];
        const enum fuzz_gpu_form form =
            kind == STREAMS ? FUZZ_GPU_STREAMS + unit_below(&random, 3) : FUZZ_GPU_FILE;
        const struct fuzz_gpu_choice choice = random_choice(form, size, &random);
        struct bytes b = {0};

        if (kind == STREAMS) {
            add(&b, f->streams.data, f->streams.len);
            damage_as((enum kind)unit_below(&random, STREAMS), &b, &other->streams, &random);
        } else {
            add(&b, f->gz.data, f->gz.len);
            damage_as(kind, &b, &other->gz, &random);
        }
        (void)run_one(&choice, &b, &totals);
        drop(&b);
    }
    print_totals(names[kind], &totals);
    CHECK_EQ(totals.files, counts[kind]);
    /* STREAMS must make enough good files, which the GPU decompresses. */
    CHECK(kind != STREAMS || is_often_done(&totals, 4));
}

#define DAMAGE(name, kind) \
    static void name(void) \
    {                      \
        run_kind(kind);    \
    }

DAMAGE(flips, FLIPS)
DAMAGE(cuts, CUTS)
DAMAGE(insertions, INSERTIONS)
DAMAGE(splices, SPLICES)
DAMAGE(overwritten, NOISE)
DAMAGE(streams, STREAMS)

/* Checks that an engine with large batches decompresses a good file. */
static void check_good(const struct recipe *r, const struct bytes *gz, struct totals *t)
{
    const struct fuzz_gpu_choice choice = {
        .form = FUZZ_GPU_FILE, .calls = FUZZ_GPU_CALLS, .room = 1};
    const struct fuzz_gpu_result result = run_one(&choice, gz, t);

    if (!CHECK(result.is_good && result.is_done && result.is_stepped && result.is_counted &&
               result.is_new))
        printf("# %s, %zu bytes\n", r->name, gz->len);
}

/* Tries undamaged files of random lengths. */
static void lengths(void)
{
    uint64_t random = seed * KINDS + LENGTHS;
    struct totals totals = {0};

    for (unsigned long i = 0; i < counts[LENGTHS]; i++) {
        const struct recipe *r = &recipes[i % RECIPES];
        const size_t len = (size_t)unit_below(&random, 1 + unit_below(&random, r->len));
        struct file f = make_file(r, len, unit_rand(&random));

        check_good(r, &f.gz, &totals);
        drop_file(&f);
    }
    print_totals(names[LENGTHS], &totals);
}

/* Makes one to three streams of random blocks, most of which no compressor writes.  If `spoil` is
 * true, a block of each stream may have errors. */
static struct bytes make_streams(bool spoil, uint64_t *random)
{
    struct bytes b = {0};

    for (unsigned members = 1 + below(random, 3); members > 0; members--) {
        struct stream s = {.bits = {.to = &b}, .random = random};
        const unsigned count = 1 + below(random, 10), bad = below(random, count);

        for (unsigned i = 0; i < count; i++) {
            s.spoil = spoil && i == bad;
            put_block(&s, i == count - 1, 300);
        }
        end_bits(&s.bits);
    }
    return b;
}

static void blocks(void)
{
    uint64_t random = seed * KINDS + BLOCKS;
    struct totals totals = {0};

    for (unsigned long i = 0; i < counts[BLOCKS]; i++) {
        const bool spoil = one_in(&random, 2);
        const enum fuzz_gpu_form form = FUZZ_GPU_STREAMS + (spoil ? 0 : unit_below(&random, 3));
        const struct fuzz_gpu_choice choice = random_choice(form, SHORT, &random);
        struct bytes b = make_streams(spoil, &random);

        (void)run_one(&choice, &b, &totals);
        drop(&b);
    }
    print_totals(names[BLOCKS], &totals);
    CHECK(is_often_done(&totals, 8));
}

/* Decompresses the recipes' raw streams as inputs of gpu_inflate_many.  The engine has large
 * batches, so it must decompress all inputs that zlib accepts. */
static void inputs(void)
{
    struct totals totals = {0};

    for (size_t i = 0; i < RECIPES * 3; i++) {
        const struct fuzz_gpu_choice choice = {.form = FUZZ_GPU_STREAMS,
                                               .calls = FUZZ_GPU_MANY,
                                               .shift = (uint8_t)i,
                                               .format = (uint8_t)(i / RECIPES),
                                               .inputs = i % 4 == 0};

        (void)run_one(&choice, &files[i % 2 == 0 ? SHORT : TINY][i % RECIPES].streams, &totals);
    }
    print_totals("inputs", &totals);
    CHECK(totals.inputs >= totals.files && totals.made == totals.inputs);
}

static void undamaged(void)
{
    static const struct {
        enum size size;
        uint8_t setting;
    } small[] = {{LONG, 1}, {LONG, 2}, {SHORT, 3}, {TINY, 4}};
    struct totals totals = {0};

    for (size_t i = 0; i < RECIPES; i++) {
        check_good(&recipes[i], &files[LONG][i].gz, &totals);
        for (size_t k = 0; k < sizeof(small) / sizeof(*small); k++) {
            const struct fuzz_gpu_choice choice = {.calls = FUZZ_GPU_CALLS,
                                                   .setting = small[k].setting};

            CHECK(run_one(&choice, &files[small[k].size][i].gz, &totals).is_good);
        }
    }
    print_totals("undamaged", &totals);
    /* Some files are left to the CPU, because a block is larger than a small batch.  But most files
     * pass through many batches and groups. */
    CHECK(totals.done > 2 * RECIPES && totals.batches > 4 * RECIPES);
    CHECK(totals.stepped > 2 * RECIPES && totals.outputs > 4 * RECIPES);
}

/* --- For libFuzzer ---------------------------------------------------------------------------- */

/* Writes an input that is not too long for a fuzzer. */
static void write_input(const char *name, size_t number, const struct fuzz_gpu_choice *choice,
                        const struct bytes *b)
{
    char path[512];
    FILE *out;

    if (b->len > 3000)
        return;
    snprintf(path, sizeof(path), "%s/gpu-%s-%zu", getenv("FUZZ_CORPUS"), name, number);
    out = fopen(path, "wb");
    if (!CHECK(out != NULL))
        return;
    CHECK_EQ(fwrite(choice, 1, sizeof(*choice), out), sizeof(*choice));
    CHECK_EQ(fwrite(b->data, 1, b->len, out), b->len);
    CHECK_EQ(fclose(out), 0);
}

/* Writes the files in all forms, and streams of random blocks. */
static void write_corpus(void)
{
    uint64_t random = seed;

    for (size_t i = 0; i < SIZES * RECIPES * FUZZ_GPU_FORMS; i++) {
        const struct file *f = &files[i % SIZES][i / SIZES / FUZZ_GPU_FORMS];
        const uint8_t form = i / SIZES % FUZZ_GPU_FORMS;
        const struct fuzz_gpu_choice choice = {.form = form,
                                               .setting = i % SIZES == LONG ? 0 : (uint8_t)(i % 7),
                                               .format = (uint8_t)(i % 5),
                                               .inputs = (uint8_t)(i % 11)};

        write_input("file", i, &choice, form == FUZZ_GPU_FILE ? &f->gz : &f->streams);
    }
    for (size_t i = 0; i < 100; i++) {
        const struct fuzz_gpu_choice choice = random_choice(FUZZ_GPU_STREAMS, SHORT, &random);
        struct bytes b = make_streams(i % 2 == 0, &random);

        write_input("blocks", i, &choice, &b);
        drop(&b);
    }
}

/* --- The command line ------------------------------------------------------------------------- */

/* Takes an argument NAME=N.  Returns false if there is no such name. */
static bool take_argument(const char *argument)
{
    const char *const equals = strchr(argument, '=');
    const size_t len = equals != NULL ? (size_t)(equals - argument) : 0;

    if (equals == NULL)
        return false;
    if (len == 4 && strncmp(argument, "seed", len) == 0) {
        seed = strtoull(equals + 1, NULL, 10);
        return true;
    }
    for (unsigned k = 0; k < KINDS; k++)
        if (strlen(names[k]) == len && strncmp(argument, names[k], len) == 0) {
            counts[k] = strtoul(equals + 1, NULL, 10);
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    static void (*const tests[KINDS])(void) = {flips,       cuts,    insertions, splices,
                                               overwritten, streams, lengths,    blocks};

    for (unsigned k = 0; k < KINDS; k++)
        counts[k] = argc > 1 ? 0 : UNIT_SANITIZED ? counts[k] / 4 : counts[k];
    for (int i = 1; i < argc; i++)
        if (!take_argument(argv[i])) {
            fprintf(stderr, "mutate_gpu: no such argument: %s\n", argv[i]);
            return EXIT_FAILURE;
        }
    for (size_t i = 0; i < SIZES * RECIPES; i++) {
        const enum size size = i / RECIPES;
        const struct recipe *r = &recipes[i % RECIPES];

        files[size][i % RECIPES] = make_file(r, r->len / divisors[size], i);
    }
    if (getenv("FUZZ_CORPUS") != NULL)
        RUN(write_corpus);
    RUN(undamaged);
    RUN(inputs);
    for (unsigned k = 0; k < KINDS; k++)
        if (counts[k] > 0)
            unit_run(tests[k], names[k]);
    for (size_t i = 0; i < SIZES * RECIPES; i++)
        drop_file(&files[i / RECIPES][i % RECIPES]);
    return unit_done();
}
