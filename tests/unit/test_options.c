/*
 * test_options.c - the options that the command line and the environment set, in which order, and
 * the messages about options that are refused
 */
#include "config.h"

#include <sched.h>
#include <string.h>

#include "src/options.h"
#include "src/peers.h"
#include "tests/unit/capture.h"
#include "tests/unit/unit.h"

enum { WORDS_MAX = 32 };

/* One command line. */
struct line {
    struct options o;
    struct messages m;
    bool ok;
    char words[512]; /* the command line's words */
    char *argv[WORDS_MAX + 1];
    int argc;
};

/* Parses a command line of words with blanks between them; the first is the program's name.
 * Afterwards, capture.text has the messages. */
static struct line *parse(const char *words)
{
    static struct line l;

    options_free(&l.o);
    memset(&l, 0, sizeof(l));
    snprintf(l.words, sizeof(l.words), "%s", words);
    for (char *word = strtok(l.words, " "); word != NULL; word = strtok(NULL, " "))
        if (l.argc < WORDS_MAX)
            l.argv[l.argc++] = word;
    l.m.program = l.argv[0];
    capture_begin();
    l.ok = options_parse(&l.o, l.argc, l.argv, &l.m);
    capture_end();
    return &l;
}

/* Parses a line that must be accepted without a message. */
static const struct options *good(const char *words)
{
    const struct line *l = parse(words);

    if (!CHECK(l->ok && capture.length == 0 && l->m.status == STATUS_OK))
        printf("# %s: %s\n", words, capture.text);
    return &l->o;
}

/* Parses a line that must be refused with this message. */
static void bad(const char *words, const char *message)
{
    const struct line *l = parse(words);

    if (!CHECK(!l->ok && l->m.status == STATUS_ERROR && strcmp(capture.text, message) == 0))
        printf("# %s: \"%s\", not \"%s\"\n", words, capture.text, message);
}

/* True if the operands, with blanks between them, are `want`. */
static bool operands_are(const struct options *o, const char *want)
{
    char all[512] = "";

    for (int i = 0; i < o->name_count; i++) {
        strcat(all, i > 0 ? " " : "");
        strcat(all, o->names[i]);
    }
    if (strcmp(all, want) == 0)
        return true;
    printf("# operands \"%s\", not \"%s\"\n", all, want);
    return false;
}

static void defaults(void)
{
    const struct options *o = good("gzlzss");

    CHECK_EQ(o->action, ACTION_COMPRESS);
    CHECK(!o->to_stdout && !o->keep && !o->force && !o->recursive && !o->synchronous && !o->atomic);
    CHECK(!o->no_name && !o->no_time && !o->progress && !o->presume_input_tty && o->verbose == 0);
    CHECK(strcmp(o->suffix, ".gz") == 0);
    CHECK_EQ(o->pipeline.level, 6);
    CHECK_EQ(o->pipeline.backend, BACKEND_AUTO);
    CHECK_EQ(o->pipeline.segment_size, 2 << 20);
    CHECK_EQ(o->pipeline.gpus.count, 0);
    CHECK(!o->pipeline.rsyncable && !o->threads_given);
    CHECK_EQ(o->name_count, 0);
}

/* Tests which of several actions is chosen, in any order of the options, and whether names and
 * times are then used. */
static void actions(void)
{
    static const struct {
        const char *words;
        enum action action;
        bool no_name, no_time;
    } cases[] = {
        {"p f", ACTION_COMPRESS, false, false},
        {"p -d f", ACTION_DECOMPRESS, true, true},
        {"p -t f", ACTION_TEST, true, true},
        {"p -l f", ACTION_LIST, true, true},
        {"p -dt f", ACTION_TEST, true, true},
        {"p -ltd f", ACTION_LIST, true, true},
        {"p -l -t f", ACTION_LIST, true, true},
        {"p -n f", ACTION_COMPRESS, true, true},
        {"p -nN f", ACTION_COMPRESS, false, false},
        {"p -Nn f", ACTION_COMPRESS, true, true},
        {"p -m f", ACTION_COMPRESS, false, true},
        {"p -mM f", ACTION_COMPRESS, false, false},
        {"p -dN f", ACTION_DECOMPRESS, false, false},
        {"p -dM f", ACTION_DECOMPRESS, true, false},
        {"p -dNm f", ACTION_DECOMPRESS, false, true},
        {"p -V -x", ACTION_VERSION, false, false}, /* acts at once, whatever follows */
        {"p -d -L", ACTION_LICENSE, false, false},
        {"p -H", ACTION_HELP, false, false},
        {"p --list-devices", ACTION_LIST_DEVICES, false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct options *o = good(cases[i].words);
        bool ok = CHECK_EQ(o->action, cases[i].action);

        ok = CHECK_EQ(o->no_name, cases[i].no_name) && ok;
        if (!(CHECK_EQ(o->no_time, cases[i].no_time) && ok))
            printf("# %s\n", cases[i].words);
    }
}

/* Tests --range and --lines, and what these options imply. */
static void ranges(void)
{
    static const struct {
        const char *words;
        struct range range;
    } cases[] = {
        {"p --range=5:7 f", {false, false, 5, 7}},
        {"p --range=-5:7 f", {false, true, 5, 7}},
        {"p --range=: f", {false, false, 0, UINT64_MAX}},
        {"p --range=2K:3m f", {false, false, 2048, 3 << 20}},
        {"p --range=-1G: f", {false, true, 1 << 30, UINT64_MAX}},
        {"p --lines=1:7 f", {true, false, 0, 7}},
        {"p --lines=5: f", {true, false, 4, UINT64_MAX}},
        {"p --lines=:5 f", {true, false, 0, 5}},
    };
    const struct options *o;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct range *expected = &cases[i].range;
        const struct range *r;

        o = good(cases[i].words);
        r = o->ranges;
        CHECK_EQ(o->action, ACTION_DECOMPRESS);
        CHECK(o->to_stdout);
        if (!CHECK_EQ(o->range_count, 1))
            continue;
        CHECK(r->is_lines == expected->is_lines && r->is_from_end == expected->is_from_end);
        CHECK_EQ(r->from, expected->from);
        CHECK_EQ(r->length, expected->length);
    }
    o = good("p --range=1:2 --lines=3:4 --range=5:6 f");
    CHECK(o->range_count == 3 && o->ranges[2].from == 5 && o->ranges[1].is_lines);
    o = good("p --index f");
    CHECK(o->makes_index && o->action == ACTION_COMPRESS);
    o = good("p -t --index-file=x f");
    CHECK(o->makes_index && o->action == ACTION_TEST);
    o = good("p --index-file=x --range=1:1 f");
    CHECK(!o->makes_index);
    bad("p --range=x f", "p: invalid range 'x': give OFFSET:LENGTH (bytes, or as 64K, 2M, 1G)\n");
    bad("p --index", "p: --index needs --index-file, since the compressed data has no name\n");
    bad("p -d --index --files-from=l -",
        "p: --index needs --index-file, since the compressed data has no name\n");
    CHECK(good("p --index -o out")->makes_index && good("p --index --files-from=l")->makes_index);
    bad("p --index -z f", "p: only a file in gzip's own format can have an index\n");
    o = good("p --reindex f");
    CHECK(o->makes_index && o->action == ACTION_TEST);
    o = good("p --range=1:2 -o out f");
    CHECK(!o->to_stdout && strcmp(o->output, "out") == 0 && o->keep);
    CHECK(good("p --range=1:2 --rm --output-dir=d f")->keep);
    CHECK_EQ(good("p --lines=1:2 -z f")->range_count, 1);
}

/* Tests the meaning of the name by which the program is called. */
static void program_names(void)
{
    static const struct {
        const char *name;
        enum action action;
        bool to_stdout;
    } cases[] = {
        {"gzip", ACTION_COMPRESS, false},       {"gunzip", ACTION_DECOMPRESS, false},
        {"gunzlzss", ACTION_DECOMPRESS, false}, {"uncompress", ACTION_DECOMPRESS, false},
        {"zcat", ACTION_DECOMPRESS, true},      {"gzcat", ACTION_DECOMPRESS, true},
        {"gzlzsscat", ACTION_DECOMPRESS, true}, {"lcat", ACTION_DECOMPRESS, true},
        {"cat", ACTION_COMPRESS, false},        {"concat", ACTION_COMPRESS, false},
        {"gzip-un", ACTION_COMPRESS, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct options *o = good(cases[i].name);

        if (!(CHECK_EQ(o->action, cases[i].action) && CHECK_EQ(o->to_stdout, cases[i].to_stdout)))
            printf("# %s\n", cases[i].name);
    }
    /* An option can change the action that the name implies. */
    CHECK_EQ(good("zcat -l f")->action, ACTION_LIST);
}

/* The last level counts.  Two digits are one level only if they are adjacent and the level
 * exists. */
static void levels(void)
{
    static const struct {
        const char *words;
        int level;
    } cases[] = {
        {"p -1", 1},        {"p -9", 9},      {"p -10", 10},   {"p -11", 11},
        {"p -12", 12},      {"p -1 -2", 2},   {"p -21", 1},    {"p -112", 2},
        {"p -k12", 12},     {"p -12k", 12},   {"p -1k2", 2},   {"p -121", 1},
        {"p --fast -2", 2}, {"p --fast", 1},  {"p --best", 9}, {"p --level=12", 12},
        {"p --level 3", 3}, {"p -9 --fa", 1}, {"p -12 -6", 6}, {"p -0", 0},
        {"p --level=0", 0}, {"p -20", 0},     {"p -100", 0},   {"p -01", 1},
        {"p -010", 10},     {"p -1 -0", 0},   {"p -k0", 0},
    };
    static const char *const wrong[] = {"99", "-1", "1x", ""};
    char words[32], message[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (!CHECK_EQ(good(cases[i].words)->pipeline.level, cases[i].level))
            printf("# %s\n", cases[i].words);
    for (int second = 0; second <= 9; second++) {
        snprintf(words, sizeof(words), "p -1%d", second);
        CHECK_EQ(good(words)->pipeline.level, 10 + second <= LZ_LEVEL_MAX ? 10 + second : second);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        snprintf(words, sizeof(words), "p --level=%s", wrong[i]);
        snprintf(message, sizeof(message), "p: invalid level '%s': give 0 to %d\n", wrong[i],
                 LZ_LEVEL_MAX);
        bad(words, message);
    }
    snprintf(words, sizeof(words), "p --level=%d", LZ_LEVEL_MAX + 1);
    CHECK(!parse(words)->ok);
    bad("p -0 --matcher=culzss", "p: --matcher does not go with level 0, which finds no matches\n");
}

static void segment_sizes(void)
{
    static const struct {
        const char *words;
        size_t size;
    } cases[] = {
        {"p -b 32", 32 << 10},
        {"p -b32768", 32 << 20},
        {"p -b 512k", 512 << 10},
        {"p -b 512K", 512 << 10},
        {"p -b 1m", 1 << 20},
        {"p -b 32M", 32 << 20},
        {"p --blocksize=100", 102400},
        {"p -9", 2 << 20},
        {"p -10", 4 << 20},
        {"p -10 -b 64 -b 128", 128 << 10},
    };
    static const char *const wrong[] = {"31",
                                        "32769",
                                        "33M",
                                        "0",
                                        "-64",
                                        "64x",
                                        "64kk",
                                        "k",
                                        "4G",
                                        "1.5m",
                                        "99999999999999999999",
                                        "18014398509482016m"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (!CHECK_EQ(good(cases[i].words)->pipeline.segment_size, cases[i].size))
            printf("# %s\n", cases[i].words);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char words[64], message[128];

        snprintf(words, sizeof(words), "gzlzss -b %s", wrong[i]);
        snprintf(message, sizeof(message),
                 "gzlzss: invalid block size '%s': give 32 to 32768 (KiB)\n", wrong[i]);
        bad(words, message);
    }
    /* Under gzip's names, a wrong number for -b gives gzip's message. */
    bad("gzip -b 64x", "gzip: -b operand is not an integer\n"
                       "Try `gzip --help' for more information.\n");
    bad("gzip -b 31", "gzip: invalid block size '31': give 32 to 32768 (KiB)\n");
    CHECK_EQ(good("gzip --bits 12")->pipeline.segment_size, 2 << 20);
    bad("gzip --bits x", "gzip: -b operand is not an integer\n"
                         "Try `gzip --help' for more information.\n");
}

/* If no number of threads is given, or 0, the number of cores in the affinity mask counts. */
static void threads(void)
{
    cpu_set_t set, one;
    const struct options *o;

    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    o = good("p");
    CHECK_EQ(o->pipeline.threads, CPU_COUNT(&set));
    o = good("p -p 1024");
    CHECK_EQ(o->pipeline.threads, 1024);
    CHECK(o->threads_given);
    o = good("p -T 3 -p 0");
    CHECK_EQ(o->pipeline.threads, CPU_COUNT(&set));
    CHECK(!o->threads_given);

    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &set))
            CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK_EQ(good("p -p0")->pipeline.threads, 1);
    CHECK_EQ(good("p --processes=2")->pipeline.threads, 2);
    CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);

    bad("p -p 1025", "p: invalid number of threads '1025': give 0 to 1024 (0: all cores)\n");
    bad("p -p -1", "p: invalid number of threads '-1': give 0 to 1024 (0: all cores)\n");
    bad("p -p x", "p: invalid number of threads 'x': give 0 to 1024 (0: all cores)\n");
}

static void engines(void)
{
    const struct options *o;

    CHECK_EQ(good("p --backend=cpu")->pipeline.backend, BACKEND_CPU);
    CHECK_EQ(good("p --backend=gpu --backend auto")->pipeline.backend, BACKEND_AUTO);
    o = good("p --device=2,0,1023");
    CHECK_EQ(o->pipeline.gpus.count, 3);
    CHECK_EQ(o->pipeline.gpus.numbers[0], 2);
    CHECK_EQ(o->pipeline.gpus.numbers[1], 0);
    CHECK_EQ(o->pipeline.gpus.numbers[2], 1023);
    o = good("p --device 1,2 --device 3"); /* the last list counts */
    CHECK_EQ(o->pipeline.gpus.count, 1);
    CHECK_EQ(o->pipeline.gpus.numbers[0], 3);
    o = good("p --device=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15");
    CHECK_EQ(o->pipeline.gpus.count, 16);

    bad("p --backend=GPU", "p: invalid backend 'GPU': give auto, cpu or gpu\n");
    static const char *const wrong[] = {
        "",
        "x",
        "-1",
        "1024",
        "0,",
        ",0",
        "0,0",
        "1,2,1",
        "0,,1",
        "0;1",
        "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
        "00000000000000000",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char words[128], message[256];

        snprintf(words, sizeof(words), "p --device=%s", wrong[i]);
        snprintf(message, sizeof(message),
                 "p: invalid devices '%s': give different numbers, at most 16, with commas between "
                 "them\n",
                 wrong[i]);
        bad(words, message);
    }
    /* Options that exclude each other, in any order. */
    CHECK(good("p --rsyncable --backend=cpu")->pipeline.rsyncable);
    bad("p -R --backend=gpu", "p: --rsyncable does not go with --backend=gpu\n");
    bad("p --backend=gpu -R", "p: --rsyncable does not go with --backend=gpu\n");
}

static void suffixes(void)
{
    CHECK(strcmp(good("p -S .z")->suffix, ".z") == 0);
    CHECK(strcmp(good("p -S.a --suffix=.b")->suffix, ".b") == 0);
    CHECK(strlen(good("p -S 123456789012345678901234567890")->suffix) == 30);
    bad("p -S 1234567890123456789012345678901",
        "p: invalid suffix '1234567890123456789012345678901'\n");
    bad("p --suffix=", "p: invalid suffix ''\n");
}

static void verbosity(void)
{
    CHECK_EQ(good("p -vv")->verbose, 2);
    CHECK_EQ(good("p -v -v -v")->verbose, 3);
    CHECK_EQ(good("p -vq")->verbose, 0);
    CHECK_EQ(good("p -qv")->verbose, 1);
    CHECK(parse("p -vq")->m.quiet);
    CHECK(!parse("p -qv")->m.quiet);
    /* A note, not an error; -q silences it. */
    CHECK(parse("p -a")->ok);
    CHECK(strcmp(capture.text, "p: option --ascii ignored on this system\n") == 0);
    CHECK(parse("p -a")->m.status == STATUS_OK);
    good("p -aq");
}

/* Tests where outputs go, and which inputs stay. */
static void outputs(void)
{
    const struct options *o = good("p -o out f");

    CHECK(strcmp(o->output, "out") == 0 && o->keep && !o->to_stdout && !o->no_name);
    o = good("p -d --output=out -N f");
    CHECK(strcmp(o->output, "out") == 0 && o->no_name);
    CHECK(good("p -o- f")->to_stdout);
    CHECK(good("p -o- f")->output == NULL);
    CHECK(good("p -o out -c f")->output == NULL); /* the last counts */
    CHECK(!good("p -c -o out f")->to_stdout);
    CHECK(!good("gzlzsscat -o out f")->to_stdout);
    CHECK(good("p -t -o out a b")->output == NULL);
    CHECK(good("p -l -o out a b")->output == NULL);
    o = good("p --output-dir=d a b");
    CHECK(strcmp(o->output_dir, "d") == 0 && !o->mirror && o->keep);
    CHECK(good("p --output-dir-mirror=d a b")->mirror);
    CHECK(!good("p --output-dir-mirror=d --output-dir-flat=e a b")->mirror);
    CHECK(good("p --output-dir=d -c a")->output_dir == NULL);
    bad("p -o out a b", "p: --output takes one input; for several, give --output-dir\n");
    bad("p -o out -r a", "p: --output takes one input; for several, give --output-dir\n");
    bad("p -f --rm --output-dir=d a b", "p: --output-dir with -f and --rm takes one input; for "
                                        "several, give --output-dir-mirror\n");
    CHECK(!good("p -f --rm --output-dir=d a")->keep);
    CHECK(!good("p -f --rm --output-dir-mirror=d a b")->keep);
    CHECK(!good("p --rm --output-dir=d a b")->keep);
    bad("p -zc a b",
        "p: --stdout takes one input with --format=zlib; for several, give --output-dir\n");
    bad("p -c -r --format=raw a",
        "p: --stdout takes one input with --format=raw; for several, give --output-dir\n");
    bad("p -K -o - --files-from=l",
        "p: --stdout takes one input with --format=zip; for several, give --output-dir\n");
    bad("p -o out --output-dir d", "p: --output does not go with --output-dir\n");

    CHECK(!good("p --rm f")->keep);
    CHECK(!good("p -k --rm f")->keep);
    CHECK(good("p --rm -k f")->keep);
    CHECK(!good("p -o out --rm f")->keep);
    CHECK(!good("p --rm --output-dir=d f")->keep);
    CHECK(good("p --rm -o out -k f")->keep);
    CHECK(!good("igzip --rm f")->keep);
}

static void lists_of_files(void)
{
    const struct options *o = good("p --files-from=l a");

    CHECK(strcmp(o->files_from, "l") == 0 && !o->null_names && !options_name_one(o));
    CHECK(!options_read_stdin(o));
    CHECK(good("p --null --files-from=l")->null_names);
    CHECK(strcmp(good("p --files")->files_from, "-") == 0);
    CHECK(strcmp(good("p --files=l")->files_from, "l") == 0);
    o = good("p --files0 a");
    CHECK(strcmp(o->files_from, "-") == 0 && o->null_names);
    CHECK(operands_are(o, "a"));
    CHECK(options_read_stdin(good("p")) && options_read_stdin(good("p a -")));
    CHECK(!options_read_stdin(good("p --files")) && !options_read_stdin(good("p a")));
    bad("p --files-from=- -", "p: standard input cannot be both a list of files and a file\n");
}

static void memory(void)
{
    CHECK_EQ(good("p")->memory, 0);
    CHECK_EQ(good("p --memory=1000")->memory, 1000);
    CHECK_EQ(good("p --memory=3k")->memory, 3 << 10);
    CHECK_EQ(good("p --memlimit=3KiB")->memory, 3 << 10);
    CHECK_EQ(good("p --memory 5MB")->memory, 5 << 20);
    CHECK_EQ(good("p --memory=100%")->memory_percent, 100);
    CHECK_EQ(good("p --memory=100% --memory=5")->memory_percent, 0);
    CHECK_EQ(good("p --memory=16777215T")->memory, (uint64_t)16777215 << 40);
    bad("p --memory=16777216T",
        "p: invalid limit on memory '16777216T': give bytes, or as 500M, 4GiB, 80%\n");
    bad("p --memory=0", "p: invalid limit on memory '0': give bytes, or as 500M, 4GiB, 80%\n");
    bad("gzlzss -M 2G f", "gzlzss: -M 2G: -M stores the time, as in gzip; for a limit on memory, "
                          "give --memory=2G\nTry `gzlzss --help' for more information.\n");
    CHECK(!good("gzlzss -M f 2G")->no_time);
    CHECK(operands_are(good("gzlzss -M -k 2G"), "2G"));
    CHECK(operands_are(good("gzip -M 2G"), "2G")); /* as in gzip */
    CHECK(operands_are(good("gzlzss -M -- 2G"), "2G"));
}

static void reports(void)
{
    CHECK(good("p --json")->json);
    CHECK(good("p --json --list-devices")->json);
    CHECK(good("p --list-devices --json")->json);
    CHECK_EQ(good("p --list-devices --json")->action, ACTION_LIST_DEVICES);
    CHECK(good("p --progress --no-progress")->no_progress);
    CHECK(!good("p --progress --no-progress")->progress);
    CHECK(!good("p --no-progress --progress")->no_progress);
    CHECK_EQ(good("p -d")->sparse, SPARSE_FILES);
    CHECK_EQ(good("p -d --no-sparse --sparse")->sparse, SPARSE_ALWAYS);
    CHECK_EQ(good("p -d --sparse --no-sparse")->sparse, SPARSE_NEVER);
    CHECK(good("p --exclude-compressed")->exclude_compressed);
}

static void recovery(void)
{
    CHECK(good("p --recover f")->recover && good("p --recover --rm f")->keep);
    CHECK_EQ(good("p --recover f")->action, ACTION_DECOMPRESS);
    CHECK_EQ(good("p -t --recover f")->action, ACTION_TEST);
    CHECK_EQ(good("p --recover --fill=255 f")->fill, 255);
    CHECK(good("p --rec f")->recursive);
    CHECK_EQ(good("p --exact f")->action, ACTION_LIST);
    bad("p --recover -l f", "p: --recover does not go with --list\n");
    bad("p --recover --format=raw f", "p: --recover reads only gzip's own format\n");
    bad("p --recover --index f", "p: --recover does not go with --index\n");
    bad("p --recover --lines=1: f", "p: --recover does not go with --range and --lines\n");
}

/* Operands keep their order, with options anywhere between them. */
static void operands(void)
{
    CHECK(operands_are(good("p a -k b -d c"), "a b c"));
    CHECK(operands_are(good("p a -- -k b"), "a -k b"));
    CHECK(operands_are(good("p -- --"), "--"));
    CHECK(operands_are(good("p - -k -"), "- -"));
    CHECK(operands_are(good("p -p 2 a"), "a"));
    CHECK(good("p a -- -k")->keep == false);
    /* With POSIXLY_CORRECT, options end at the first operand. */
    CHECK(setenv("POSIXLY_CORRECT", "1", 1) == 0);
    CHECK(operands_are(good("p -k a -d b"), "a -d b"));
    CHECK_EQ(good("p -k a -d b")->action, ACTION_COMPRESS);
    CHECK(good("p -k a -d b")->keep);
    CHECK(unsetenv("POSIXLY_CORRECT") == 0);
}

static void wrong_options(void)
{
    bad("p -x", "p: invalid option -- 'x'\nTry `p --help' for more information.\n");
    bad("p -k --foo f", "p: unrecognized option '--foo'\nTry `p --help' for more information.\n");
    bad("p -S", "p: option requires an argument -- 'S'\nTry `p --help' for more information.\n");
    bad("p --keep=1",
        "p: option '--keep' doesn't allow an argument\nTry `p --help' for more information.\n");
    bad("p --suf",
        "p: option '--suffix' requires an argument\nTry `p --help' for more information.\n");
    bad("p --n=1", "p: option '--n=1' is ambiguous; possibilities: '--no-name' '--name' "
                   "'--no-time' '--null' '--no-verify' "
                   "'--no-sparse' '--no-progress'\nTry `p --help' for more information.\n");
    bad("p --li",
        "p: option '--li' is ambiguous; possibilities: '--list' '--list-devices' '--lines' "
        "'--license'\n"
        "Try `p --help' for more information.\n");
    bad("p -k-", "p: invalid option -- '-'\nTry `p --help' for more information.\n");
    bad("p -Z f", "p: -Z not supported in this version\nTry `p --help' for more information.\n");
    bad("p -?", "Try `p --help' for more information.\n");
    /* An abbreviation that means one option to gzip keeps that meaning, even though other long
     * names begin with it. */
    CHECK_EQ(good("p --d")->action, ACTION_DECOMPRESS);
    CHECK_EQ(good("p --de")->action, ACTION_DECOMPRESS);
    CHECK_EQ(good("p --lis")->action, ACTION_LIST);
    CHECK(good("p --rec")->recursive);
    CHECK(good("p --no")->no_name);
    CHECK(good("p --no-")->no_name);
}

/* The variable GZLZSS is read before the command line, and may hold all options but no operands. */
static void own_variable(void)
{
    const struct options *o;

    CHECK(setenv("GZLZSS", " -k  --level=9\t-p 3\n-S .own ", 1) == 0);
    o = good("p f");
    CHECK(o->keep && o->threads_given && strcmp(o->suffix, ".own") == 0);
    CHECK_EQ(o->pipeline.level, 9);
    CHECK_EQ(o->pipeline.threads, 3);
    CHECK(operands_are(o, "f"));
    o = good("p -2 -S .mine");
    CHECK_EQ(o->pipeline.level, 2);
    CHECK(strcmp(o->suffix, ".mine") == 0);

    CHECK(setenv("GZLZSS", "", 1) == 0);
    good("p");
    CHECK(setenv("GZLZSS", "--version", 1) == 0);
    CHECK_EQ(good("p -d")->action, ACTION_VERSION);

    CHECK(setenv("GZLZSS", "-k f", 1) == 0);
    bad("p", "p: f: non-option in GZLZSS environment variable\n"
             "Try `p --help' for more information.\n");
    CHECK(setenv("GZLZSS", "-k -- f", 1) == 0);
    bad("p", "p: f: non-option in GZLZSS environment variable\n"
             "Try `p --help' for more information.\n");
    /* Messages about GZLZSS name the variable, even if the error is found only after all options
     * were read. */
    CHECK(setenv("GZLZSS", "-p x", 1) == 0);
    bad("p", "p: GZLZSS: invalid number of threads 'x': give 0 to 1024 (0: all cores)\n");
    CHECK(setenv("GZLZSS", "--foo", 1) == 0);
    bad("p", "p: GZLZSS: unrecognized option '--foo'\nTry `p --help' for more information.\n");
    CHECK(setenv("GZLZSS", "--suffix=", 1) == 0);
    bad("p", "p: GZLZSS: invalid suffix ''\n");
    bad("p --suffix=", "p: invalid suffix ''\n");
    good("p -S .z");
    CHECK(unsetenv("GZLZSS") == 0);
}

/* The variable GZIP is read before GZLZSS, and may hold only options that cannot do harm. */
static void gzip_variable(void)
{
    static const char warning[] =
        "gzip: warning: GZIP environment variable is deprecated; use an alias or script\n";
    static const struct {
        const char *value, *message;
    } cases[] = {
        {"-d", "gzip: -d: option not valid in GZIP environment variable\n"},
        {"-9 -c", "gzip: -c: option not valid in GZIP environment variable\n"},
        {"--keep", "gzip: --keep: option not valid in GZIP environment variable\n"},
        {"-R", "gzip: -R: option not valid in GZIP environment variable\n"},
        {"-S .z", "gzip: -S: option not valid in GZIP environment variable\n"},
        {"-1 f", "gzip: f: non-option in GZIP environment variable\n"},
        {"--", "gzip: --: option not valid in GZIP environment variable\n"},
        {"-9 -- f", "gzip: --: option not valid in GZIP environment variable\n"},
        {"-0", "gzip: invalid option -- '0'\n"},
    };
    struct line *l;

    CHECK(setenv("GZIP", "-9 -n -v --rsyncable", 1) == 0);
    l = parse("gzip -N f");
    CHECK(l->ok && l->m.status == STATUS_OK && strcmp(capture.text, warning) == 0);
    CHECK_EQ(l->o.pipeline.level, 9);
    CHECK(l->o.pipeline.rsyncable && l->o.verbose == 1 && !l->o.no_name);
    CHECK(setenv("GZIP", "-9 -q", 1) == 0);
    CHECK_EQ(good("gzip f")->pipeline.level, 9);
    CHECK(setenv("GZLZSS", "-3", 1) == 0);
    CHECK_EQ(good("gzip f")->pipeline.level, 3);
    CHECK_EQ(good("gzip -4 f")->pipeline.level, 4);
    CHECK(unsetenv("GZLZSS") == 0);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char message[256];

        snprintf(message, sizeof(message), "%sTry `gzip --help' for more information.\n",
                 cases[i].message);
        CHECK(setenv("GZIP", cases[i].value, 1) == 0);
        bad("gzip f", message);
    }
    CHECK(unsetenv("GZIP") == 0);
}

/* --matcher stays in force if a level follows it.  tests/matcher.bats has more tests. */
static void matchers(void)
{
#ifdef HAVE_PAPERS
    const struct options *o = good("p --matcher=culzss,window=99 -12 f");

    CHECK_EQ(o->pipeline.level, 12);
    CHECK(strcmp(o->matcher, "culzss,window=99") == 0);
    CHECK(strcmp(pipeline_level(&o->pipeline)->finder->name, "culzss") == 0);
    CHECK_EQ(pipeline_level(&o->pipeline)->param[0], 99);
    CHECK_EQ(pipeline_level(&o->pipeline)->split, lz_level(12)->split);
    CHECK_EQ(o->pipeline.segment_size, 4 << 20);
    bad("p --matcher=x f", "p: invalid matcher 'x': there is no match finder 'x'\n");
    bad("p --matcher=culzss,x=1 f", "p: invalid matcher 'culzss,x=1': culzss has no key 'x'\n");
    CHECK(setenv("GZLZSS", "--matcher=x", 1) == 0);
    bad("p f", "p: GZLZSS: invalid matcher 'x': there is no match finder 'x'\n");
    CHECK(strcmp(good("p --matcher=culzss f")->matcher, "culzss") == 0);
    CHECK(unsetenv("GZLZSS") == 0);
#else
    bad("p --matcher=culzss f", "p: invalid matcher 'culzss': "
                                "this gzlzss was built without the papers' match finders\n");
#endif
    CHECK(pipeline_level(&good("p -3 f")->pipeline) == lz_level(3));
    CHECK_EQ(good("p --matcher=help --matcher=x f")->action, ACTION_LIST_MATCHERS);
}

/* Under another program's name, options have that program's meaning or are refused, in any spelling
 * and at any place. */
static void peers(void)
{
    const struct options *o = good("pigz -9 -n -T -R f");
    struct line *l;

    CHECK_EQ(o->pipeline.level, 9);
    CHECK(o->no_name && o->no_time && o->pipeline.rsyncable && !o->threads_given && !o->keep);
    CHECK(operands_are(o, "f"));
    o = good("pigz -9nTR f");
    CHECK(o->pipeline.level == 9 && o->no_name && o->no_time && o->pipeline.rsyncable);
    o = good("pigz -T4 f"); /* pigz's -T: no time stamp, not a number of threads */
    CHECK(o->pipeline.level == 4 && o->no_time && !o->no_name && !o->threads_given);
    CHECK_EQ(good("pigz --threads 3 f")->pipeline.threads, 3);
    CHECK(good("pigz --no-time f")->no_time && !good("pigz -n --time f")->no_time);
    CHECK(good("pigz -Y f")->synchronous && good("pigz --synchronous f")->synchronous);
    CHECK_EQ(good("pigz -0 f")->pipeline.level, 0);
    CHECK_EQ(good("unpigz f")->action, ACTION_DECOMPRESS);
    CHECK_EQ(good("gzlzss-as-pigz -H")->action, ACTION_HELP);
    CHECK_EQ(good("pigzy -H")->action, ACTION_HELP);
    CHECK(good("pigz -H f")->pipeline.own_level.finder == lz_huffman_only.finder);
    CHECK(good("pigz -k9H f")->pipeline.own_level.finder == lz_huffman_only.finder);
    CHECK(good("pigz --huff f")->pipeline.own_level.finder == lz_huffman_only.finder);
    CHECK(strcmp(good("pigz -kC hi f")->comment, "hi") == 0);
    CHECK(strcmp(good("pigz --alias hi")->alias, "hi") == 0);
    for (size_t i = 0; i < 4; i++) {
        static const char *const ignored[] = {"-F", "-I 5", "-J5", "-O"};
        char line[64], said[128];

        snprintf(line, sizeof(line), "pigz %s f", ignored[i]);
        l = parse(line);
        CHECK(l->ok && operands_are(&l->o, "f"));
        snprintf(said, sizeof(said), "pigz: option %.2s ignored by gzlzss, which this is (zopfli's",
                 ignored[i]);
        CHECK(strncmp(capture.text, said, strlen(said)) == 0);
        snprintf(line, sizeof(line), "pigz -q %s f", ignored[i]);
        CHECK(parse(line)->ok);
        CHECK_EQ(capture.text[0], '\0');
    }
    CHECK(parse("pigz --maxsplits 9 f")->ok);
    CHECK(strcmp(capture.text, "pigz: option --maxsplits ignored by gzlzss, which this is "
                               "(zopfli's blocks)\n") == 0);
    bad("pigz -I", "pigz: option requires an argument -- 'I'\n"
                   "Try `pigz --help' for more information.\n");
    CHECK_EQ(good("pigz -K f")->pipeline.container, CONTAINER_ZIP);
    CHECK_EQ(good("pigz -k9z f")->pipeline.container, CONTAINER_ZLIB);
    CHECK_EQ(good("pigz --zlib f")->pipeline.container, CONTAINER_ZLIB);
#define NOT_BGZIP(word, what)                                   \
    ": " word ": not supported by gzlzss, which this is (" what \
    ")\nTry `bgzip --help' for more information.\n"
    bad("bgzip -g f", "bgzip" NOT_BGZIP("-g", "cut as an index says"));
    bad("bgzip -k9g f", "bgzip" NOT_BGZIP("-g", "cut as an index says"));
    bad("bgzip --rebg f", "bgzip" NOT_BGZIP("--rebgzip", "cut as an index says"));
    bad("bgzip --rebgzip=x f", "bgzip" NOT_BGZIP("--rebgzip", "cut as an index says"));
    bad("bgzip.real -g f",
        "bgzip.real: -g: not supported by gzlzss, which this is (cut as an index "
        "says)\nTry `bgzip.real --help' for more information.\n");
    CHECK(setenv("PIGZ", "-9 -k", 1) == 0);
    o = good("pigz f");
    CHECK(o->pipeline.level == 9 && o->keep);
    CHECK_EQ(good("gzip f")->pipeline.level, 6);
    CHECK_EQ(good("gzlzss f")->pipeline.level, 6);
    CHECK_EQ(good("igzip f")->pipeline.level, 6);
    CHECK(setenv("GZIP", "-1 -T -p2", 1) == 0);
    l = parse("pigz f"); /* without the warning that gzip prints about GZIP */
    CHECK(l->ok && l->o.pipeline.level == 9 && l->o.no_time && l->o.pipeline.threads == 2);
    CHECK_EQ(capture.text[0], '\0');
    CHECK_EQ(good("igzip f")->pipeline.level, 6);
    CHECK(setenv("PIGZ", "-z", 1) == 0);
    CHECK_EQ(good("pigz f")->pipeline.container, CONTAINER_ZLIB);
    CHECK(setenv("PIGZ", "-9 f", 1) == 0);
    bad("pigz", "pigz: f: non-option in PIGZ environment variable\n"
                "Try `pigz --help' for more information.\n");
    CHECK(unsetenv("PIGZ") == 0 && unsetenv("GZIP") == 0);
    CHECK(setenv("GZLZSS", "-k --rebg", 1) == 0);
    bad("bgzip f", "bgzip: GZLZSS" NOT_BGZIP("--rebgzip", "cut as an index says"));
    CHECK(unsetenv("GZLZSS") == 0);

    CHECK(good("igzip f")->keep && good("igzip -d f")->keep && good("igzip --rm -k f")->keep);
    CHECK(!good("igzip --rm f")->keep && !good("igzip -k --rm f")->keep);
    CHECK_EQ(good("igzip -0 f")->pipeline.level, 1);
    CHECK_EQ(good("igzip -d -z f")->action, ACTION_COMPRESS);
    CHECK_EQ(good("igzip --compress f")->action, ACTION_COMPRESS);
    CHECK_EQ(good("igzip -T 3 f")->pipeline.threads, 3);

    bad("gzip -0 f", "gzip: invalid option -- '0'\nTry `gzip --help' for more information.\n");
    bad("gzip -o g f", "gzip: invalid option -- 'o'\nTry `gzip --help' for more information.\n");
    CHECK_EQ(good("gzip -10 f")->pipeline.level, 10);
    bad("gzip -A x f", "gzip: invalid option -- 'A'\nTry `gzip --help' for more information.\n");
    CHECK_EQ(good("bgzip -d -@ 3 -l 4 f")->pipeline.threads, 3);
    CHECK_EQ(good("bgzip -t --compress-level=4 f")->pipeline.level, 4);
    CHECK(!good("bgzip -d f")->keep);
    CHECK(setenv("GZIP", "-9", 1) == 0);
    CHECK_EQ(good("bgzip -d f")->pipeline.level, 6);
    CHECK(unsetenv("GZIP") == 0);
    CHECK_EQ(good("bgzip f")->pipeline.container, CONTAINER_BGZF);
    o = good("bgzip -b5 f");
    CHECK(o->action == ACTION_DECOMPRESS && o->to_stdout && o->keep && o->range_count == 1 &&
          o->ranges[0].from == 5 && o->ranges[0].length == UINT64_MAX);
    o = good("bgzip -d -s 7 -I i f");
    CHECK(o->range_count == 1 && o->ranges[0].from == 0 && o->ranges[0].length == 7 &&
          strcmp(o->index_file, "i") == 0 && !o->makes_index);
    o = good("bgzip -s 7 -I i f");
    CHECK(o->action == ACTION_COMPRESS && o->to_stdout && o->range_count == 0 &&
          o->index_file == NULL && !o->makes_index);
    bad("bgzip -b 5k f", "bgzip: invalid offset or size '5k': give a number of bytes\n");
    bad("pbgzip -d f", "pbgzip: gzlzss does not stand in for this program, whose format is BGZF\n");
    bad("zstd --help", "zstd: gzlzss does not stand in for this program, whose format is zstd\n");
}

/* Every option in another program's list is accepted with its argument, or refused.  Without its
 * argument, an option that needs one is refused. */
static void every_option_of_peers(void)
{
    static const char *const programs[] = {"gzip", "pigz", "igzip", "bgzip -d"};
    char name[16], words[64], option[32];

    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(programs[i], " "), programs[i]);
        const struct peer *const peer = peers_find(name);

        for (size_t k = 0; k < peer->count; k++) {
            const struct peer_option *const p = &peer->options[k];
            const bool is_taken = p->kind == PEER_MEANS || p->kind == PEER_IGNORED;

            if (p->name != NULL)
                snprintf(option, sizeof(option), "--%s", p->name);
            else
                snprintf(option, sizeof(option), "-%c", p->letter);
            snprintf(words, sizeof(words), "%s %s %s f", programs[i], option,
                     p->argument != NULL ? "1" : "");
            if (!CHECK_EQ(parse(words)->ok, is_taken))
                printf("# %s\n", words);
            snprintf(words, sizeof(words), "%s%s %s", programs[i], p->argument == NULL ? " f" : "",
                     option);
            if (!CHECK_EQ(parse(words)->ok, is_taken && p->argument == NULL))
                printf("# %s\n", words);
        }
    }
}

/* --- Options that other programs had first --- */

static void habits(void)
{
    const struct options *o = good("p --comment=x --alias y -Y f");

    CHECK(strcmp(o->comment, "x") == 0 && strcmp(o->alias, "y") == 0 && o->synchronous);
    o = good("p -C x -A y f");
    CHECK(strcmp(o->comment, "x") == 0 && strcmp(o->alias, "y") == 0);
    CHECK(good("p f")->comment == NULL && good("p f")->alias == NULL);
    CHECK(!good("p -k --rm f")->keep && good("p --rm -k f")->keep);
    CHECK_EQ(good("p -d --compress f")->action, ACTION_COMPRESS);
    CHECK_EQ(good("p --compress -d f")->action, ACTION_DECOMPRESS);
    CHECK(good("p --no-time f")->no_time && !good("p --no-time f")->no_name);
    CHECK(!good("p -n --time f")->no_time && good("p -n --time f")->no_name);
    CHECK(good("p --no-progress f")->no_progress && !good("p --progress f")->no_progress);
    CHECK(!good("p --no-progress --progress f")->no_progress);
    CHECK(!good("p --progress --no-progress f")->progress);

    CHECK(good("p f")->pipeline.own_level.finder == NULL);
    CHECK(good("p --huffman f")->pipeline.own_level.finder == lz_huffman_only.finder);
    CHECK(good("p -U --huffman f")->pipeline.own_level.finder == lz_huffman_only.finder);
    CHECK(good("p --huffman --rle -12 f")->pipeline.own_level.finder == lz_run_length.finder);
    CHECK_EQ(good("p --rle -12 f")->pipeline.segment_size, lz_run_length.segment_default);
    CHECK(pipeline_level(&good("p -0 --huffman f")->pipeline) == lz_level(0));
    bad("p --huffman --matcher=culzss f", "p: --matcher does not go with --huffman and --rle\n");
}

int main(void)
{
    if (unsetenv("GZIP") != 0 || unsetenv("PIGZ") != 0 || unsetenv("GZLZSS") != 0 ||
        unsetenv("POSIXLY_CORRECT") != 0)
        abort();
    RUN(defaults);
    RUN(actions);
    RUN(ranges);
    RUN(program_names);
    RUN(levels);
    RUN(segment_sizes);
    RUN(threads);
    RUN(engines);
    RUN(suffixes);
    RUN(verbosity);
    RUN(operands);
    RUN(outputs);
    RUN(lists_of_files);
    RUN(memory);
    RUN(reports);
    RUN(recovery);
    RUN(wrong_options);
    RUN(own_variable);
    RUN(gzip_variable);
    RUN(matchers);
    RUN(peers);
    RUN(every_option_of_peers);
    RUN(habits);
    options_free(&parse("p")->o);
    return unit_done();
}
