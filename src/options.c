/*
 * options.c - reads the options (options.h)
 *
 * All options are in one table, `rows`.  The tables for getopt_long, the effects of options, and
 * --help (also that of gzlzss-mpi) are made from it.  To add an option, add a row; the row's
 * effects say which fields the option sets.  Only if no effect fits, add a case to apply_odd.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bgzf.h"
#include "base/limits.h"
#include "papers/papers.h"
#include "src/names.h"
#include "src/options.h"
#include "src/peers.h"

/* What getopt_long returns for options that have no letter. */
enum {
    OPTION_ATOMIC = 256,
    OPTION_BACKEND,
    OPTION_BITS,
    OPTION_COMPRESS,
    OPTION_DEVICE,
    OPTION_EXCLUDE_COMPRESSED,
    OPTION_FILES0,
    OPTION_FILES_FROM,
    OPTION_FORMAT,
    OPTION_HUFFMAN,
    OPTION_JSON,
    OPTION_LEVEL,
    OPTION_LIST_DEVICES,
    OPTION_MATCHER,
    OPTION_MEMORY,
    OPTION_MIRROR,
    OPTION_NO_PROGRESS,
    OPTION_NO_SPARSE,
    OPTION_NULL,
    OPTION_OUTPUT_DIR,
    OPTION_PRESUME_INPUT_TTY,
    OPTION_PROGRESS,
    OPTION_RM,
    OPTION_SPARSE,
    /* OPTION_OF_PEER + i: long option i of the program by whose name gzlzss is called (peers.h). */
    OPTION_OF_PEER = 1024,
};

/* What getopt_long returns for an operand. */
#define OPERAND 1

#define DEVICE_MAX 1023

/* How to find matches in place of the level's way, as the last of --huffman and --rle says. */
enum strategy { STRATEGY_OF_LEVEL, STRATEGY_HUFFMAN, STRATEGY_RLE };

/* Options seen so far whose meaning depends on other options; conclude combines them, as gzip
 * does. */
struct wishes {
    bool ascii, decompress, test, list;
    const char *suffix;         /* the argument of -S; NULL: the format's suffix */
    bool remove;                /* --rm */
    int no_name, no_time;       /* -1: the default of the action */
    const char *suffix_source;  /* the source of -S (`source` in struct messages) */
    const char *matcher_source; /* the source of --matcher */
    enum strategy strategy;
};

/* The structs whose members options can set.  The names end in the structs' names, since MEMBER
 * makes them from those. */
enum holder { HOLDER_options, HOLDER_wishes, HOLDER_messages, HOLDERS };

enum effect_kind {
    NOTHING,
    SET_BOOL, /* a bool becomes `value` */
    SET_INT,  /* an int, or an enumeration, becomes `value` */
    COUNT,    /* an int grows by one */
    NUMBER,   /* an int becomes the argument, which must be a number from `value` to `most` */
    WORD,     /* an enumeration becomes the index of the argument in `words` */
    TEXT,     /* a const char * becomes the argument, or "-" if there is none */
    SOURCE,   /* a const char * becomes the option's source, as `source` in struct messages */
    ODD,      /* apply_odd has a case for the option */
};

/* SET_INT and WORD set an enumeration as an int. */
_Static_assert(sizeof(enum action) == sizeof(int), "the same size");
_Static_assert(sizeof(enum backend) == sizeof(int), "the same size");
_Static_assert(sizeof(enum container) == sizeof(int), "the same size");
_Static_assert(sizeof(enum strategy) == sizeof(int), "the same size");
_Static_assert(sizeof(enum sparse) == sizeof(int), "the same size");

/* What an option does to one member of one struct. */
struct effect {
    enum effect_kind kind;
    enum holder holder;
    size_t offset;            /* the member's offset in that struct */
    int value,                /* see enum effect_kind */
        most;                 /* NUMBER: the largest number */
    const char *what;         /* NUMBER and WORD: the argument's name in messages */
    const char *unit;         /* NUMBER: text after the range in messages */
    const char *const *words; /* WORD: the words, ended by NULL */
};

/* Whether the environment variable GZIP may hold the option.  As in gzip, it may hold only options
 * that do not change what happens to files.  IN_GZIP_BY_NAME: only by the long name; gzip has no
 * option with this letter. */
enum in_gzip { NOT_IN_GZIP, IN_GZIP, IN_GZIP_BY_NAME };

struct option_row {
    /* The option's letter, or an OPTION_ number; 0: the row is a heading of --help. */
    int id;
    const char *name; /* the long name; NULL: there is only a letter */
    /* The argument's name in --help, in brackets if the argument may be missing; NULL: no
     * argument. */
    const char *argument;
    const char *help;         /* text in --help; NULL: not listed */
    struct effect effects[3]; /* if several rows have the same id, the first one's count */
    enum in_gzip in_gzip;     /* the same */
    const char *in_mpi;       /* text in gzlzss-mpi's --help, SAME for `help`; NULL: not listed */
};

#define SAME ""

/* clang-format off */

/* Sets `holder` and `offset` of an effect for a member.  Compiles only if the member has this
 * type. */
#define MEMBER(type, s, member) \
    .holder = HOLDER_##s, \
    .offset = _Generic(((struct s *)NULL)->member, type: offsetof(struct s, member))

/* Effects of a row: */
#define DOES(...) .effects = {__VA_ARGS__}
#define SETS(s, member) {.kind = SET_BOOL, MEMBER(bool, s, member), .value = true}
#define CLEARS(s, member) {.kind = SET_BOOL, MEMBER(bool, s, member), .value = false}
#define SETS_INT(s, member, to) {.kind = SET_INT, MEMBER(int, s, member), .value = (to)}
#define COUNTS(s, member) {.kind = COUNT, MEMBER(int, s, member)}
#define TAKES_NUMBER(s, member, min, max, called, after) \
    {.kind = NUMBER, MEMBER(int, s, member), .value = (min), .most = (max), \
     .what = (called), .unit = (after)}
#define TAKES_WORD(type, s, member, list, called) \
    {.kind = WORD, MEMBER(type, s, member), .words = (list), .what = (called)}
#define TAKES_TEXT(s, member) {.kind = TEXT, MEMBER(const char *, s, member)}
#define NOTES_SOURCE(s, member) {.kind = SOURCE, MEMBER(const char *, s, member)}
#define IS_IGNORED {.kind = NOTHING}
#define IS_ODD {.kind = ODD}

/* Effects of several rows: */
#define ACTS(as) {.kind = SET_INT, MEMBER(enum action, options, action), .value = (as)}
#define CONTAINS(as) \
    {.kind = SET_INT, MEMBER(enum container, options, pipeline.container), .value = (as)}
#define SPARSE(as) {.kind = SET_INT, MEMBER(enum sparse, options, sparse), .value = (as)}
#define LEVEL(n) SETS_INT(options, pipeline.level, n)
#define STRATEGY(as) {.kind = SET_INT, MEMBER(enum strategy, wishes, strategy), .value = (as)}
#define THREADS \
    TAKES_NUMBER(options, pipeline.threads, 0, PIPELINE_THREADS_MAX, "number of threads", \
                 " (0: all cores)")

/* Complete rows: */
#define SYNONYM(of, also) {.id = (of), .name = (also)}
#define SYNONYM_WITH(of, also, takes) {.id = (of), .name = (also), .argument = (takes)}
#define DIGIT(n) {.id = '0' + (n), DOES(LEVEL(n)), .in_gzip = IN_GZIP}

/* The value of a macro that is a number, as a string. */
#define DIGITS(number) DIGITS_OF(number)
#define DIGITS_OF(number) #number

static const char *const backends[] = {
    [BACKEND_AUTO] = "auto", [BACKEND_CPU] = "cpu", [BACKEND_GPU] = "gpu", NULL};

static const char *const formats[] = {
    [CONTAINER_GZIP] = "gzip", [CONTAINER_ZLIB] = "zlib", [CONTAINER_RAW] = "raw",
    [CONTAINER_BGZF] = "bgzf", [CONTAINER_ZIP] = "zip",   NULL};

static const struct option_row rows[] = {
    {'d', "decompress", NULL, "decompress", DOES(SETS(wishes, decompress)), .in_mpi = SAME},
    {OPTION_COMPRESS, "compress", NULL, "compress: undo -d", DOES(CLEARS(wishes, decompress))},
    {'l', "list", NULL, "list sizes and names of compressed files", DOES(SETS(wishes, list))},
    {'t', "test", NULL, "test the integrity of compressed files",
     DOES(SETS(wishes, test)), .in_mpi = SAME},
    {'c', "stdout", NULL, "write to standard output, keep input files",
     DOES(SETS(options, to_stdout))},
    {'o', "output", "FILE", "write to FILE, keep input file",
     DOES(TAKES_TEXT(options, output), CLEARS(options, to_stdout))},
    {OPTION_OUTPUT_DIR, "output-dir", "DIR", "put all outputs into DIR, keep input files",
     DOES(TAKES_TEXT(options, output_dir), CLEARS(options, mirror), CLEARS(options, to_stdout))},
    {OPTION_MIRROR, "output-dir-mirror", "DIR", "the same, in directories like the inputs'",
     DOES(TAKES_TEXT(options, output_dir), SETS(options, mirror), CLEARS(options, to_stdout))},

    {.help = "Which files:"},
    {'f', "force", NULL, "overwrite output; allow links and terminals", DOES(SETS(options, force)),
     .in_mpi = "overwrite output; allow links"},
    {'k', "keep", NULL, "keep input files", DOES(SETS(options, keep), CLEARS(wishes, remove)),
     .in_mpi = SAME},
    {OPTION_RM, "rm", NULL, "remove input files, also with --output...",
     DOES(CLEARS(options, keep), SETS(wishes, remove))},
    {'r', "recursive", NULL, "go through directories", DOES(SETS(options, recursive))},
    {'S', "suffix", "SUF", "use suffix SUF in place of .gz",
     DOES(TAKES_TEXT(wishes, suffix), NOTES_SOURCE(wishes, suffix_source)), .in_mpi = SAME},
    {'n', "no-name", NULL, "do not store or restore name and time",
     DOES(SETS_INT(wishes, no_name, 1), SETS_INT(wishes, no_time, 1)),
     .in_gzip = IN_GZIP, .in_mpi = SAME},
    {'N', "name", NULL, "store or restore name and time",
     DOES(SETS_INT(wishes, no_name, 0), SETS_INT(wishes, no_time, 0)),
     .in_gzip = IN_GZIP, .in_mpi = SAME},
    {'m', "no-time", NULL, "do not store or restore the time", DOES(SETS_INT(wishes, no_time, 1))},
    {'M', "time", NULL, "store or restore the time", DOES(SETS_INT(wishes, no_time, 0))},
    {'A', "alias", "NAME", "store NAME for standard input", DOES(TAKES_TEXT(options, alias))},
    {'C', "comment", "TEXT", "store TEXT as a comment", DOES(TAKES_TEXT(options, comment))},
    {OPTION_FILES_FROM, "files-from", "FILE", "take more names from FILE, one a line; -: stdin",
     DOES(TAKES_TEXT(options, files_from))},
    {OPTION_NULL, "null", NULL, "names in that FILE end with zero bytes",
     DOES(SETS(options, null_names))},
    {OPTION_EXCLUDE_COMPRESSED, "exclude-compressed", NULL,
     "skip files that start as compressed data", DOES(SETS(options, exclude_compressed))},
    {OPTION_ATOMIC, "atomic", NULL, "let an output have its name only when it is whole",
     DOES(SETS(options, atomic))},
    {'Y', "synchronous", NULL, "sync output to disk before removing input",
     DOES(SETS(options, synchronous)), .in_mpi = "sync output to disk, also with -k"},
    {OPTION_SPARSE, "sparse", NULL, "with -d, make holes of zeros in stdout, too",
     DOES(SPARSE(SPARSE_ALWAYS))},
    {OPTION_NO_SPARSE, "no-sparse", NULL, "with -d, write zeros, make no holes",
     DOES(SPARSE(SPARSE_NEVER))},

    {.help = "How to compress:"},
    {'0', NULL, NULL, "store, do not compress", DOES(LEVEL(0)), .in_mpi = SAME},
    {'1', "fast", NULL,
     "compress faster (-1 to -" DIGITS(LZ_LEVEL_MAX) "; default: -" DIGITS(LZ_LEVEL_DEFAULT) ")",
     DOES(LEVEL(1)), .in_gzip = IN_GZIP, .in_mpi = SAME},
    {'9', "best", NULL, "compress better", DOES(LEVEL(9)), .in_gzip = IN_GZIP, .in_mpi = SAME},
    {OPTION_LEVEL, "level", "N",
     "compress at level 1 (fastest) to " DIGITS(LZ_LEVEL_MAX) " (smallest), or 0",
     DOES(TAKES_NUMBER(options, pipeline.level, LZ_LEVEL_STORED, LZ_LEVEL_MAX, "level", "")),
     .in_mpi = SAME},
    {'p', "processes", "N", "use N threads, 1 to 1024; default, and 0: all cores", DOES(THREADS),
     .in_mpi = "threads of a rank; default: its share of the machine"},
    {'T', "threads", "N", "the same", DOES(THREADS)},
    {OPTION_MEMORY, "memory", "LIMIT", "use at most LIMIT bytes, as 500M, 4GiB, 80%", DOES(IS_ODD)},
    {'b', "blocksize", "KiB",
     "segments of KiB, 32 to 32768 (or as 512k, 4M);\n"
     "                           default: 2048, and 4096 from level 10 on",
     DOES(IS_ODD), .in_mpi = SAME},
    {OPTION_FORMAT, "format", "NAME",
     "write gzip (default), bgzf, zlib, raw or zip;\n"
     "                           -d: read zlib or raw, or what gunzip reads",
     DOES(TAKES_WORD(enum container, options, pipeline.container, formats, "format"))},
    {'z', "zlib", NULL, "the same as --format=zlib", DOES(CONTAINS(CONTAINER_ZLIB))},
    {'K', "zip", NULL, "the same as --format=zip", DOES(CONTAINS(CONTAINER_ZIP))},
    {'i', "independent", NULL, "ignored: segments are independent anyway", DOES(IS_IGNORED)},
    {'R', "rsyncable", NULL, "make output that rsync can update in parts",
     DOES(SETS(options, pipeline.rsyncable)), .in_gzip = IN_GZIP_BY_NAME},
    {OPTION_HUFFMAN, "huffman", NULL, "find no repetitions, only code bytes",
     DOES(STRATEGY(STRATEGY_HUFFMAN))},
    {'U', "rle", NULL, "find only runs of one byte", DOES(STRATEGY(STRATEGY_RLE))},
    {OPTION_BACKEND, "backend", "NAME", "use the engine auto (default), cpu or gpu",
     DOES(TAKES_WORD(enum backend, options, pipeline.backend, backends, "backend")),
     .in_mpi = SAME},
    {OPTION_DEVICE, "device", "LIST", "use GPUs with these numbers, as 0,2; default: all",
     DOES(IS_ODD), .in_mpi = "GPUs of a machine, dealt to its ranks; default: all"},
    {OPTION_LIST_DEVICES, "list-devices", NULL, "list the GPUs that can be used",
     DOES(ACTS(ACTION_LIST_DEVICES))},
#ifdef HAVE_PAPERS
    {OPTION_MATCHER, "matcher", "NAME", "find matches as a paper does; help: list the papers",
     DOES(IS_ODD), .in_mpi = "find matches as a paper does"},
#else
    {OPTION_MATCHER, "matcher", "NAME", "find matches as a paper does: not in this build",
     DOES(IS_ODD), .in_mpi = SAME},
#endif

    {.help = "What to say:"},
    {'v', "verbose", NULL, "report each file; -vv also times and engine",
     DOES(COUNTS(options, verbose), CLEARS(messages, quiet)),
     .in_gzip = IN_GZIP, .in_mpi = "report each file; -vv also the ranks"},
    {'q', "quiet", NULL, "suppress all warnings",
     DOES(SETS_INT(options, verbose, 0), SETS(messages, quiet)),
     .in_gzip = IN_GZIP, .in_mpi = SAME},
    {OPTION_PROGRESS, "progress", NULL, "show progress, even if not on a terminal",
     DOES(SETS(options, progress), CLEARS(options, no_progress))},
    {OPTION_NO_PROGRESS, "no-progress", NULL, "show no progress, even with -v on a terminal",
     DOES(SETS(options, no_progress), CLEARS(options, progress))},
    {OPTION_JSON, "json", NULL, "report, list and test as JSON, one object a line",
     DOES(SETS(options, json))},
    {'h', "help", NULL, "give this help", DOES(ACTS(ACTION_HELP)), .in_mpi = SAME},
    {'L', "license", NULL, "display the license", DOES(ACTS(ACTION_LICENSE))},
    {'V', "version", NULL, "display the version number", DOES(ACTS(ACTION_VERSION)),
     .in_mpi = SAME},

    /* --help does not list the rows from here on.  First, gzip's other long names, and
     * abbreviations that would otherwise be ambiguous: */
    {'a', "a", NULL, NULL, DOES(SETS(wishes, ascii))}, /* not --atomic */
    SYNONYM('a', "ascii"), /* for systems whose lines do not end in "\n" */
    SYNONYM('f', "fo"), /* not --format */
    SYNONYM('f', "for"),
    SYNONYM('c', "to-stdout"),
    SYNONYM('d', "uncompress"),
    SYNONYM('d', "d"), /* not --device */
    SYNONYM('d', "de"),
    SYNONYM('h', "h"),   /* not --huffman */
    SYNONYM('l', "lis"), /* not --list-devices */
    SYNONYM('n', "no"),  /* not --no-time */
    SYNONYM('n', "no-"),
    /* An option of compress, which gzip accepts and ignores. */
    {OPTION_BITS, "bits", "N", NULL, DOES(IS_ODD)},
    SYNONYM('q', "silent"),
    {'Z', "lzw", NULL, NULL, DOES(IS_ODD)},
    {OPTION_PRESUME_INPUT_TTY, "-presume-input-tty", NULL, NULL,
     DOES(SETS(options, presume_input_tty))},
    /* A letter of gzip without a long name: */
    {'H', NULL, NULL, NULL, DOES(ACTS(ACTION_HELP))},
    /* Digits: levels, or the second digit of a level from 10 on: */
    DIGIT(2),
    DIGIT(3),
    DIGIT(4),
    DIGIT(5),
    DIGIT(6),
    DIGIT(7),
    DIGIT(8),
    /* Names that xz and zstd have: */
    SYNONYM_WITH(OPTION_FILES_FROM, "files", "[FILE]"),
    {OPTION_FILES0, "files0", "[FILE]", NULL,
     DOES(TAKES_TEXT(options, files_from), SETS(options, null_names))},
    SYNONYM_WITH(OPTION_MEMORY, "memlimit", "LIMIT"),
    SYNONYM_WITH(OPTION_OUTPUT_DIR, "output-dir-flat", "DIR"),
};

/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* A source of options: the command line, or an environment variable. */
struct source_of_options {
    const char *variable;    /* the environment variable; NULL: the command line */
    const struct peer *peer; /* the program by whose name this one is called, or NULL */
    int argc;
    char **argv;
};

/* Reads a decimal number from min to max. */
static bool parse_number(const char *text, long min, long max, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *value >= min && *value <= max;
}

static bool try_help(struct messages *m)
{
    msg_print(m, "Try `%s --help' for more information.\n", m->program);
    m->status = STATUS_ERROR;
    return false;
}

/* Reads device numbers with commas between them.  False if two are equal. */
static bool parse_devices(const char *text, struct gpus_config *gpus)
{
    char number[16];

    gpus->count = 0;
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        long value;

        if (gpus->count == GPUS_MAX || length >= sizeof(number))
            return false;
        memcpy(number, text, length);
        number[length] = '\0';
        if (!parse_number(number, 0, DEVICE_MAX, &value))
            return false;
        for (int i = 0; i < gpus->count; i++)
            if (gpus->numbers[i] == (int)value)
                return false;
        gpus->numbers[gpus->count++] = (int)value;
        text += length;
        if (*text == '\0')
            return true;
    }
}

/* Reads a size from min to max KiB.  The text may also give it in MiB. */
static bool parse_kib(const char *text, long min, long max, long *kib)
{
    char *end;
    long scale = 1;

    errno = 0;
    *kib = strtol(text, &end, 10);
    if (*end == 'k' || *end == 'K') {
        end++;
    } else if (*end == 'm' || *end == 'M') {
        scale = 1024;
        end++;
    }
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || *kib > max)
        return false;
    *kib *= scale;
    return *kib >= min && *kib <= max;
}

/* Reads a limit on memory: 1 to 100 with a percent sign after it, or a number of bytes, 1 or more.
 * A unit may follow the number, KiB to TiB, in all ways in which xz and zstd write it: k, K, Ki,
 * KiB, kB, KB.  Sets one of *bytes and *percent, and the other to 0. */
static bool parse_limit(const char *text, uint64_t *bytes, unsigned *percent)
{
    static const char units[] = "kmgt";
    const char *unit;
    char *end;

    errno = 0;
    *percent = 0;
    *bytes = strtoull(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *bytes == 0)
        return false;
    if (strcmp(end, "%") == 0 && *bytes <= 100) {
        *percent = (unsigned)*bytes;
        *bytes = 0;
        return true;
    }
    unit = *end != '\0' ? strchr(units, tolower((unsigned char)*end)) : NULL;
    if (unit != NULL) {
        const int shift = 10 * (int)(unit - units + 1);

        if (*bytes > UINT64_MAX >> shift)
            return false;
        *bytes <<= shift;
        end += end[1] == 'i' ? 2 : 1;
    }
    end += *end == 'B';
    return *end == '\0';
}

/* Whether the program is called by its own name.  Under one of gzip's names, it prints gzip's
 * messages, even for an option that means something else to gzlzss. */
static bool has_own_name(const struct messages *m)
{
    return strstr(m->program, PACKAGE_NAME) != NULL;
}

/* Checks the argument of gzip's own -b; false, with gzip's message, if gzip would refuse it. */
static bool want_digits(const char *argument, struct messages *m)
{
    if (argument[strspn(argument, "0123456789")] == '\0')
        return true;
    msg_error(m, "-b operand is not an integer");
    return try_help(m);
}

/* Parses the argument, which must be a number in the range [e->value, e->most]. */
static bool apply_number(const struct effect *e, const char *argument, int *to, struct messages *m)
{
    long number;

    if (!parse_number(argument, e->value, e->most, &number)) {
        msg_error(m, "invalid %s '%s': give %d to %d%s", e->what, argument, e->value, e->most,
                  e->unit);
        return false;
    }
    *to = (int)number;
    return true;
}

/* Sets *to to the index of the argument in e->words, which must have at least two words. */
static bool apply_word(const struct effect *e, const char *argument, int *to, struct messages *m)
{
    char all[64] = "";

    for (int i = 0; e->words[i] != NULL; i++) {
        const char *const before = i == 0 ? "" : e->words[i + 1] != NULL ? ", " : " or ";

        if (strcmp(argument, e->words[i]) == 0) {
            *to = i;
            return true;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", before, e->words[i]);
    }
    msg_error(m, "invalid %s '%s': give %s", e->what, argument, all);
    return false;
}

/* Applies an option of kind ODD. */
static bool apply_odd(struct options *o, struct wishes *w, int id, const char *argument,
                      struct messages *m)
{
    long kib;

    switch (id) {
    case 'b':
        if (!parse_kib(argument, LZ_SEGMENT_MIN >> 10, LZ_SEGMENT_MAX >> 10, &kib)) {
            if (has_own_name(m) || want_digits(argument, m))
                msg_error(m, "invalid block size '%s': give %ld to %ld (KiB)", argument,
                          (long)LZ_SEGMENT_MIN >> 10, (long)LZ_SEGMENT_MAX >> 10);
            return false;
        }
        o->pipeline.segment_size = (size_t)kib << 10;
        return true;
    case OPTION_BITS:
        return want_digits(argument, m);
    case OPTION_DEVICE:
        if (parse_devices(argument, &o->pipeline.gpus))
            return true;
        msg_error(m,
                  "invalid devices '%s': give different numbers, at most %d, with commas "
                  "between them",
                  argument, GPUS_MAX);
        return false;
    case OPTION_MATCHER:
        w->matcher_source = m->source;
        if (strcmp(argument, "help") == 0)
            o->action = ACTION_LIST_MATCHERS;
        else
            o->matcher = argument;
        return true;
    case OPTION_MEMORY:
        if (parse_limit(argument, &o->memory, &o->memory_percent))
            return true;
        msg_error(m, "invalid limit on memory '%s': give bytes, or as 500M, 4GiB, 80%%", argument);
        return false;
    default: /* 'Z' */
        msg_error(m, "-Z not supported in this version");
        return try_help(m);
    }
}

/* Applies one option.  False, with a message printed, if it or its argument makes no sense. */
static bool apply(struct options *o, struct wishes *w, const struct option_row *row,
                  const char *argument, struct messages *m)
{
    char *const holders[HOLDERS] = {(char *)o, (char *)w, (char *)m};
    bool ok = true;

    for (size_t i = 0; ok && i < sizeof(row->effects) / sizeof(row->effects[0]); i++) {
        const struct effect *const e = &row->effects[i];
        void *const to = holders[e->holder] + e->offset;

        switch (e->kind) {
        case NOTHING:
            break;
        case SET_BOOL:
            *(bool *)to = e->value;
            break;
        case SET_INT:
            *(int *)to = e->value;
            break;
        case COUNT:
            ++*(int *)to;
            break;
        case NUMBER:
            ok = apply_number(e, argument, to, m);
            break;
        case WORD:
            ok = apply_word(e, argument, to, m);
            break;
        case TEXT:
            *(const char **)to = argument != NULL ? argument : "-";
            break;
        case SOURCE:
            *(const char **)to = m->source;
            break;
        case ODD:
            ok = apply_odd(o, w, row->id, argument, m);
            break;
        }
    }
    return ok;
}

/* Finds the row that says what an option does: the first with this id.  There must be one. */
static const struct option_row *find_row(int id)
{
    const struct option_row *row = rows;

    while (row->id != id)
        row++;
    return row;
}

/* Finds the row of the long option that `text` starts with.  There must be one.  Sets *argument to
 * what follows "=" in the text, or leaves it as it is. */
static const struct option_row *find_named(const char *text, const char **argument)
{
    const size_t length = strcspn(text, "=");
    const struct option_row *row = rows;

    while (row->name == NULL || strncmp(row->name, text, length) != 0 || row->name[length] != '\0')
        row++;
    if (text[length] == '=')
        *argument = text + length + 1;
    return find_row(row->id);
}

/* The default number of threads: one for each core that this process may run on. */
static int default_threads(void)
{
    const int n = limits_processors();

    return n > PIPELINE_THREADS_MAX ? PIPELINE_THREADS_MAX : n;
}

_Static_assert(LZ_LEVEL_MAX >= 10 && LZ_LEVEL_MAX < 20, "parse knows a 1 and one more digit");

/* Whether an option has an argument, as getopt_long wants to know it. */
static int argument_of(const struct option_row *row)
{
    if (row->argument == NULL)
        return no_argument;
    return row->argument[0] == '[' ? optional_argument : required_argument;
}

#define LONG_OPTIONS (ROWS + PEER_OPTIONS_MAX)
#define LETTERS (3 * ROWS + 2 * PEER_OPTIONS_MAX + 32)

/* Whether getopt_long should ask for the option's argument.  An option that is refused is refused
 * without one, too. */
static bool needs_argument(const struct peer_option *p)
{
    return p->argument != NULL && p->kind != PEER_REFUSED;
}

/* getopt_long's tables. */
struct tables {
    struct option long_options[LONG_OPTIONS + 1];
    char letters[LETTERS];
};

/* Makes the tables, which are all zeros, from the peer's options and from `rows`.  peer may be
 * NULL. */
static void make_tables(const struct peer *peer, struct tables *t)
{
    struct option *const long_options = t->long_options;
    char *end = t->letters;
    int n = 0;

    /* With '-', getopt_long returns operands where they stand, and does not reorder argv.  Then
     * optind is the same for all letters of one argument; parse needs that to read -12 as a
     * level. */
    *end++ = '-';
    /* If a letter is there twice, getopt_long uses the first, so put the peer's options first. */
    for (size_t i = 0; peer != NULL && i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->letter != 0) {
            *end++ = p->letter;
            if (needs_argument(p))
                *end++ = ':';
        }
        if (p->name == NULL)
            continue;
        long_options[n].name = p->name;
        long_options[n].has_arg = needs_argument(p)         ? required_argument
                                  : p->kind == PEER_REFUSED ? optional_argument
                                                            : no_argument;
        long_options[n++].val = OPTION_OF_PEER + (int)i;
    }
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].id == 0)
            continue;
        if (rows[i].name != NULL) {
            long_options[n].name = rows[i].name;
            long_options[n].has_arg = argument_of(&rows[i]);
            long_options[n++].val = rows[i].id;
        }
        if (rows[i].id < 256) {
            *end++ = (char)rows[i].id;
            if (rows[i].argument != NULL)
                *end++ = ':';
        }
    }
    *end = '\0';
}

/* Whether the source is the variable GZIP, which may hold only some options. */
static bool is_gzip_variable(const struct source_of_options *from)
{
    return from->variable != NULL && strcmp(from->variable, "GZIP") == 0 &&
           (from->peer == NULL || from->peer->variable == NULL);
}

/* Prints what is wrong with the option in the argument `word`; getopt_long has set optopt.  The
 * messages are those of glibc's getopt_long, as gzip prints them; musl's are different. */
static void say_wrong_option(const char *word, const char *letters,
                             const struct option *long_options, struct messages *m)
{
    const size_t length = strcspn(word + 2, "=");
    const char *letter = strchr(letters, optopt), *found = NULL;
    const struct option *first = NULL;
    char possible[16 * ROWS] = ""; /* about twice the length of all names together */

    if (optopt == '?')
        return; /* gzip, too, prints no message for -? */
    if (strncmp(word, "--", 2) != 0) {
        msg_error(m,
                  letter != NULL && letter[1] == ':' ? "option requires an argument -- '%c'"
                                                     : "invalid option -- '%c'",
                  optopt);
        return;
    }
    for (const struct option *o = long_options; o->name != NULL; o++) {
        if (strncmp(o->name, word + 2, length) != 0)
            continue;
        if (first == NULL)
            first = o;
        else if (o->name[length] != '\0' && o->val == first->val && o->has_arg == first->has_arg)
            continue; /* another name of the same option */
        if (o == first || o->name[length] == '\0')
            found = o->name;
        snprintf(possible + strlen(possible), sizeof(possible) - strlen(possible), " '--%s'",
                 o->name);
    }
    if (found == NULL)
        msg_error(m, "unrecognized option '%s'", word);
    else if (optopt == 0)
        msg_error(m, "option '%s' is ambiguous; possibilities:%s", word, possible);
    else if (word[2 + length] == '=')
        msg_error(m, "option '--%s' doesn't allow an argument", found);
    else
        msg_error(m, "option '--%s' requires an argument", found);
}

/* The peer's option that getopt_long has found: by its long name `name`, or, if that is NULL, by
 * its letter `id`.  NULL if it is an option of gzlzss. */
static const struct peer_option *found_of_peer(const struct source_of_options *from, int id,
                                               const char *name)
{
    if (name == NULL)
        return peers_letter(from->peer, id);
    return id >= OPTION_OF_PEER ? &from->peer->options[id - OPTION_OF_PEER] : NULL;
}

/* Prints that gzlzss does not support this option of the program by whose name it is called. */
static bool refuse_of_peer(const struct peer_option *p, const char *name, struct messages *m)
{
    if (name != NULL)
        msg_error(m, "--%s: not supported by gzlzss, which this is (%s)", name, p->what);
    else
        msg_error(m, "-%c: not supported by gzlzss, which this is (%s)", p->letter, p->what);
    return try_help(m);
}

/* Prints that an option of the peer has no effect, as conclude does for gzip's --ascii. */
static void ignore_of_peer(const struct peer_option *p, const char *name, struct messages *m)
{
    if (m->quiet)
        return;
    if (name != NULL)
        msg_note(m, "option --%s ignored by gzlzss, which this is (%s)", name, p->what);
    else
        msg_note(m, "option -%c ignored by gzlzss, which this is (%s)", p->letter, p->what);
}

/* Applies the option of a row, which getopt_long has found by its long name or, if `name` is NULL,
 * by a letter.  False, with a message printed, if this source may not hold it, or if its argument
 * makes no sense. */
static bool apply_row(struct options *o, struct wishes *w, const struct source_of_options *from,
                      const struct option_row *row, const char *name, const char *argument,
                      struct messages *m)
{
    if (!is_gzip_variable(from) || row->in_gzip == IN_GZIP ||
        (row->in_gzip == IN_GZIP_BY_NAME && name != NULL))
        return apply(o, w, row, argument, m);
    if (row->id == '0')
        msg_error(m, "invalid option -- '0'"); /* gzip has no level 0 */
    else if (name != NULL)
        msg_error(m, "--%s: option not valid in GZIP environment variable", name);
    else
        msg_error(m, "-%c: option not valid in GZIP environment variable", row->id);
    return try_help(m);
}

/* Applies the option that getopt_long has found, by its long name or, if `name` is NULL, by its
 * letter.  False, with a message printed, if it is no option, or not allowed in this source. */
static bool apply_found(struct options *o, struct wishes *w, const struct source_of_options *from,
                        int id, const char *name, struct messages *m)
{
    const struct peer_option *p = found_of_peer(from, id, name);
    const struct option_row *row;
    const char *argument = optarg;

    if (p == NULL)
        return apply_row(o, w, from, find_row(id), name, argument, m);
    switch (p->kind) {
    case PEER_MEANS:
        row = find_named(p->means, &argument);
        return apply_row(o, w, from, row, name, argument, m);
    case PEER_IGNORED:
        ignore_of_peer(p, name, m);
        return true;
    case PEER_REFUSED:
        return refuse_of_peer(p, name, m);
    default: /* PEER_NONE */
        msg_error(m, "invalid option -- '%c'", p->letter);
        return try_help(m);
    }
}

/* In gzip, -M stores the time and takes no operand; in xz and zstd, it limits the memory.  Whether
 * `operand`, which follows -M, is such a limit, and not a file.  Then prints what to write instead:
 * without the error, the command would look for a file of that name, and then work on the other
 * files without a limit.  Called by one of gzip's names, the command does what gzip does. */
static bool is_limit(const char *operand, struct messages *m)
{
    uint64_t bytes;
    unsigned percent;

    if (!has_own_name(m) || !parse_limit(operand, &bytes, &percent) || access(operand, F_OK) == 0)
        return false;
    msg_error(m, "-M %s: -M stores the time, as in gzip; for a limit on memory, give --memory=%s",
              operand, operand);
    return true;
}

/* Reads one source of options, by these tables (see parse). */
static bool parse_by(const struct tables *t, struct options *o, struct wishes *w,
                     struct source_of_options *from, struct messages *m)
{
    const bool operands_last = getenv("POSIXLY_CORRECT") != NULL;
    const struct option *const long_options = t->long_options;
    const char *const letters = t->letters;
    bool after_one = false; /* the last letter of this argument was 1 */
    /* The first operand in an environment variable, where an operand is an error. */
    const char *operand = NULL;
    int names = 0, before = 0; /* the id of the argument before this one */

    opterr = 0; /* say_wrong_option prints errors */
    optind = 0; /* makes getopt_long start from the beginning */
    for (;;) {
        const int argument = optind > 0 ? optind : 1;
        int row = -1;
        int id = getopt_long(from->argc, from->argv, letters, long_options, &row);

        if (id == -1 && optind == argument && optind < from->argc) {
            /* musl's getopt_long treats an operand "-" like "--", as the end of the options. */
            optarg = from->argv[optind++];
            id = OPERAND;
        }
        if (id == -1)
            break;
        if (id == OPERAND && before == 'M' && is_limit(optarg, m))
            return try_help(m);
        before = id;
        if (id == OPERAND && from->variable == NULL) {
            from->argv[++names] = optarg;
            if (operands_last)
                break;
            continue;
        }
        if (id == OPERAND) {
            operand = operand == NULL ? optarg : operand;
            continue;
        }
        if (after_one && id >= '0' && id <= '0' + LZ_LEVEL_MAX - 10) {
            o->pipeline.level = 10 + id - '0';
            after_one = false;
            continue;
        }
        if (id == '?') {
            say_wrong_option(from->argv[argument], letters, long_options, m);
            return try_help(m);
        }
        after_one = id == '1' && row < 0 && optind == argument;
        if (!apply_found(o, w, from, id, row >= 0 ? long_options[row].name : NULL, m))
            return false;
        if (o->action > ACTION_LIST_DEVICES)
            return true; /* --help and similar options act at once, whatever follows */
    }
    /* Arguments after "--" are operands, too.  (GZIP must not contain "--"; see below.) */
    if (operand == NULL && from->variable != NULL && !is_gzip_variable(from) && optind < from->argc)
        operand = from->argv[optind];
    if (operand != NULL) {
        m->source = NULL; /* the message names the variable itself */
        msg_error(m, "%s: non-option in %s environment variable", operand, from->variable);
        return try_help(m);
    }
    if (is_gzip_variable(from) && strcmp(from->argv[optind - 1], "--") == 0) {
        msg_error(m, "--: option not valid in GZIP environment variable");
        return try_help(m);
    }
    while (optind < from->argc)
        from->argv[++names] = from->argv[optind++];
    from->argc = 1 + names;
    return true;
}

/* Reads one source of options.  Moves its operands to argv[1] and after, and sets argc to their
 * number plus 1.  False, with a message printed, if an argument is wrong or memory is short. */
static bool parse(struct options *o, struct wishes *w, struct source_of_options *from,
                  struct messages *m)
{
    struct tables *t = calloc(1, sizeof(*t)); /* the stack may be small */
    bool ok = t != NULL;

    if (ok) {
        make_tables(from->peer, t);
        ok = parse_by(t, o, w, from, m);
    } else {
        msg_error(m, "memory exhausted");
    }
    free(t);
    return ok;
}

/* Splits the text of an environment variable into words, as argv[1] and so on.  The words are in
 * *copy.  The caller frees *copy and from->argv.  False if memory is short. */
static bool split_variable(struct source_of_options *from, char **copy)
{
    const char *value = getenv(from->variable);
    /* gzip does not count a newline as a blank. */
    const char *blanks = is_gzip_variable(from) ? " \t" : " \t\n";

    from->argc = 1;
    if (value == NULL)
        return true;
    /* There are at most half as many words as bytes, rounded up.  Two more are argv[0] and the
     * final NULL. */
    from->argv = calloc(strlen(value) / 2 + 3, sizeof(*from->argv));
    *copy = strdup(value);
    if (from->argv == NULL || *copy == NULL)
        return false;
    from->argv[0] = (char *)from->variable;
    for (char *word = strtok(*copy, blanks); word != NULL; word = strtok(NULL, blanks))
        from->argv[from->argc++] = word;
    return true;
}

/* Whether the program is called as zcat, gzcat, gzlzsscat or the like: decompression to standard
 * output. */
static bool is_cat(const char *program)
{
    return strcmp(program, "gzcat") == 0 || strcmp(program, "gzlzsscat") == 0 ||
           (program[0] != '\0' && strcmp(program + 1, "cat") == 0);
}

/* Whether the program is called by a name for decompression: gunzip, gunzlzss or the like, or one
 * for which is_cat is true. */
static bool decompresses(const char *program)
{
    return is_cat(program) || strncmp(program, "un", 2) == 0 || strncmp(program, "gun", 3) == 0;
}

/* Applies what the program's name means.  False, with a message printed, if gzlzss does nothing
 * when called by this name. */
static bool apply_program_name(struct options *o, struct wishes *w, const struct peer *peer,
                               struct messages *m)
{
    const struct option_row *implied;
    const char *argument = NULL;

    o->to_stdout = is_cat(m->program);
    w->decompress = decompresses(m->program);
    if (peer == NULL)
        return true;
    if (peer->implies != NULL) {
        implied = find_named(peer->implies, &argument);
        apply(o, w, implied, argument, m);
    }
    if (peer->differs != NULL)
        msg_error(m, "gzlzss does not stand in for this program, whose %s", peer->differs);
    return peer->differs == NULL;
}

/* Replaces the level's match finder by the one that --matcher names.  False, with a message
 * printed, if the name or its parameters are wrong. */
static bool choose_matcher(struct options *o, const struct wishes *w, struct messages *m)
{
    struct lz_level level = *lz_level(o->pipeline.level);
    char error[PAPER_ERROR_SIZE];

    if (o->matcher == NULL)
        return true;
    if (w->strategy != STRATEGY_OF_LEVEL) {
        msg_error(m, "--matcher does not go with --huffman and --rle");
        return false;
    }
    if (lz_is_stored(&level)) {
        msg_error(m, "--matcher does not go with level 0, which finds no matches");
        return false;
    }
    if (!paper_parse(o->matcher, &level, error)) {
        m->source = w->matcher_source;
        msg_error(m, "invalid matcher '%s': %s", o->matcher, error);
        return false;
    }
    o->pipeline.own_level = level;
    return true;
}

/* Returns the usual suffix of a format's files. */
static const char *suffix_of(enum container container)
{
    switch (container) {
    case CONTAINER_ZLIB:
        return NAMES_SUFFIX_ZLIB;
    case CONTAINER_RAW:
        return NAMES_SUFFIX_RAW;
    case CONTAINER_ZIP:
        return NAMES_SUFFIX_ZIP;
    case CONTAINER_GZIP:
    case CONTAINER_BGZF:
        break;
    }
    return NAMES_SUFFIX_DEFAULT;
}

/* Whether the options about segments fit BGZF, whose members are small.  If not, prints why. */
static bool suit_bgzf(const struct options *o, struct messages *m)
{
    if (o->pipeline.rsyncable) {
        msg_error(m, "--rsyncable does not go with --format=bgzf, whose members are short anyway");
        return false;
    }
    if (o->pipeline.segment_size > BGZF_DATA_MAX) {
        msg_error(m, "invalid block size for --format=bgzf: give at most %zu (KiB)",
                  BGZF_DATA_MAX >> 10);
        return false;
    }
    return true;
}

/* Whether standard output would get data of several inputs in a format whose readers stop after the
 * first, or find only the last (.zip). */
static bool joins_outputs(const struct options *o)
{
    const enum container c = o->pipeline.container;

    return o->to_stdout && o->action == ACTION_COMPRESS && !options_name_one(o) &&
           c != CONTAINER_GZIP && c != CONTAINER_BGZF;
}

/* Concludes where outputs go, and which inputs stay.  False, with a message printed, if the options
 * contradict each other. */
static bool conclude_files(struct options *o, const struct wishes *w, struct messages *m)
{
    if (o->to_stdout || o->action == ACTION_TEST || o->action == ACTION_LIST)
        o->output = o->output_dir = NULL;
    if (o->output != NULL && o->output_dir != NULL) {
        msg_error(m, "--output does not go with --output-dir");
        return false;
    }
    if (o->files_from != NULL && strcmp(o->files_from, "-") == 0 && options_read_stdin(o)) {
        msg_error(m, "standard input cannot be both a list of files and a file");
        return false;
    }
    if (o->output != NULL && strcmp(o->output, "-") == 0) {
        o->to_stdout = true;
        o->output = NULL;
    }
    if (o->output != NULL && !options_name_one(o)) {
        msg_error(m, "--output takes one input; for several, give --output-dir");
        return false;
    }
    /* Inputs in different directories may have the same name.  The last one's output would then
     * replace the others', whose inputs would be gone. */
    if (o->output_dir != NULL && !o->mirror && o->force && w->remove && !options_name_one(o)) {
        msg_error(m, "--output-dir with -f and --rm takes one input; for several, give "
                     "--output-dir-mirror");
        return false;
    }
    if (joins_outputs(o)) {
        msg_error(m, "--stdout takes one input with --format=%s; for several, give --output-dir",
                  formats[o->pipeline.container]);
        return false;
    }
    /* The user has said what to make, and not that it replaces the input. */
    if ((o->output != NULL || o->output_dir != NULL) && !w->remove)
        o->keep = true;
    if (o->output != NULL && o->action == ACTION_DECOMPRESS)
        o->no_name = true;
    return true;
}

/* Sets the fields that depend on several options.  False, with a message printed, if the options
 * contradict each other. */
static bool conclude(struct options *o, const struct wishes *w, struct messages *m)
{
    size_t suffix;

    o->suffix = w->suffix != NULL ? w->suffix : suffix_of(o->pipeline.container);
    suffix = strlen(o->suffix);
    if (o->action == ACTION_COMPRESS && (w->decompress || w->test || w->list))
        o->action = w->list ? ACTION_LIST : w->test ? ACTION_TEST : ACTION_DECOMPRESS;
    o->no_name = w->no_name < 0 ? o->action != ACTION_COMPRESS : w->no_name;
    o->no_time = w->no_time < 0 ? o->action != ACTION_COMPRESS : w->no_time;
    if (suffix == 0 || suffix > NAMES_SUFFIX_MAX) {
        m->source = w->suffix_source;
        msg_error(m, "invalid suffix '%s'", o->suffix);
        return false;
    }
    if (o->pipeline.rsyncable && o->pipeline.backend == BACKEND_GPU) {
        msg_error(m, "--rsyncable does not go with --backend=gpu");
        return false;
    }
    if (o->pipeline.container == CONTAINER_BGZF && !suit_bgzf(o, m))
        return false;
    if (!choose_matcher(o, w, m) || !conclude_files(o, w, m))
        return false;
    if (!choose_matcher(o, w, m))
        return false;
    /* Level 0 stores with any strategy, as in zlib. */
    if (w->strategy != STRATEGY_OF_LEVEL && o->pipeline.level != LZ_LEVEL_STORED)
        o->pipeline.own_level = w->strategy == STRATEGY_HUFFMAN ? lz_huffman_only : lz_run_length;
    if (w->ascii && !m->quiet)
        msg_note(m, "option --ascii ignored on this system");
    o->threads_given = o->pipeline.threads > 0;
    if (!o->threads_given)
        o->pipeline.threads = default_threads();
    if (o->pipeline.segment_size == 0)
        o->pipeline.segment_size = pipeline_segment_default(&o->pipeline);
    return true;
}

/* Reads the environment variables that hold options.  False, with a message printed, if an option
 * is wrong or memory is short. */
static bool parse_variables(struct options *o, struct wishes *w, const struct peer *peer,
                            struct messages *m)
{
    const char *const variables[] = {
        peer != NULL && peer->ignores_gzip ? NULL : "GZIP",
        peer != NULL ? peer->variable : NULL,
        "GZLZSS",
    };
    bool ok = true;

    _Static_assert(sizeof(variables) / sizeof(variables[0]) == OPTIONS_VARIABLES, "room for all");
    for (int i = 0; ok && i < OPTIONS_VARIABLES; i++) {
        struct source_of_options from = {.variable = variables[i], .peer = peer};
        const bool is_gzip = is_gzip_variable(&from);

        if (from.variable == NULL)
            continue;
        ok = split_variable(&from, &o->variables[i]);
        if (!ok)
            msg_error(m, "memory exhausted");
        if (ok && from.argc > 1) {
            m->source = is_gzip ? NULL : from.variable;
            ok = parse(o, w, &from, m);
            m->source = NULL;
            if (ok && is_gzip && !m->quiet)
                msg_note(
                    m, "warning: GZIP environment variable is deprecated; use an alias or script");
        }
        free(from.argv);
    }
    return ok;
}

bool options_parse(struct options *o, int argc, char **argv, struct messages *m)
{
    const struct peer *peer = peers_find(m->program);
    struct source_of_options command = {.peer = peer, .argc = argc, .argv = argv};
    struct wishes w = {.no_name = -1, .no_time = -1};

    *o = (struct options){
        .pipeline = {.level = LZ_LEVEL_DEFAULT, .backend = BACKEND_AUTO},
    };
    if (!apply_program_name(o, &w, peer, m) || !parse_variables(o, &w, peer, m) ||
        (o->action <= ACTION_LIST_DEVICES && !parse(o, &w, &command, m)))
        return false;
    o->names = argv + 1;
    o->name_count = command.argc - 1;
    if (o->action > ACTION_LIST)
        return true;
    return conclude(o, &w, m);
}

bool options_name_one(const struct options *o)
{
    return o->name_count <= 1 && !o->recursive && o->files_from == NULL;
}

bool options_read_stdin(const struct options *o)
{
    for (int i = 0; i < o->name_count; i++)
        if (strcmp(o->names[i], "-") == 0)
            return true;
    return o->name_count == 0 && o->files_from == NULL;
}

void options_free(struct options *o)
{
    for (int i = 0; i < OPTIONS_VARIABLES; i++)
        free(o->variables[i]);
}

/* Prints an option's line of --help.  letter 0, or name NULL: the option has none. */
static void print_option(int letter, const char *name, const char *argument, const char *help)
{
    char both[64] = "";

    if (name != NULL)
        snprintf(both, sizeof(both), "--%s%s%s", name, argument != NULL ? "=" : "",
                 argument != NULL ? argument : "");
    if (letter != 0)
        printf("  -%c%c %-20s %s\n", letter, name != NULL ? ',' : ' ', both, help);
    else
        printf("      %-20s %s\n", both, help);
}

/* Prints what the program does when called by this name. */
static void print_purpose(const char *program, const struct peer *peer)
{
    if (is_cat(program))
        printf(
            "Decompress FILEs in gzip's format to standard output, on all cores.\n"
            "\nWhat to do (by default, decompress each FILE to standard output, and keep it):\n");
    else if (decompresses(program))
        printf("Decompress FILEs in gzip's format on all cores.\n"
               "\nWhat to do (by default, decompress each FILE.gz to FILE and remove FILE.gz):\n");
    else
        printf(
#ifdef HAVE_CUDA
            "Compress FILEs to gzip's format on all cores, and on NVIDIA GPUs where they\n"
            "help, or decompress them.\n"
#else
            "Compress FILEs to gzip's format on all cores, or decompress them.\n"
#endif
            "\nWhat to do (by default, compress each FILE to FILE.gz and %s FILE):\n",
            peer != NULL && peer->implies != NULL && strcmp(peer->implies, "keep") == 0 ? "keep"
                                                                                        : "remove");
}

/* Prints the peer's options of one kind after a heading, by letter if they have one.  Prints
 * nothing if there are none. */
static void print_kind_of_peer(const struct peer *peer, enum peer_kind kind, const char *heading)
{
    bool has_any = false;

    for (size_t i = 0; i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->kind != kind)
            continue;
        if (!has_any)
            printf("  %-24s", heading);
        has_any = true;
        if (p->letter != 0)
            printf(" -%c", p->letter);
        else
            printf(" --%s", p->name);
    }
    if (has_any)
        putchar('\n');
}

/* Prints the options that mean what they mean to the peer, and those that gzlzss ignores or
 * refuses. */
static void print_options_of_peer(const struct peer *peer)
{
    bool has_any = false;

    for (size_t i = 0; i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->kind != PEER_MEANS)
            continue;
        if (!has_any)
            printf("\nAs in %s:\n", peer->names[0]);
        has_any = true;
        print_option(p->letter, p->name, p->argument, p->what);
    }
    print_kind_of_peer(peer, PEER_IGNORED, "ignored:");
    print_kind_of_peer(peer, PEER_REFUSED, "not supported:");
}

void options_list_for_mpi(void)
{
    for (int i = 0; i < ROWS; i++) {
        const struct option_row *r = &rows[i];

        if (r->in_mpi != NULL)
            print_option(r->id < 256 ? r->id : 0, r->name, r->argument,
                         r->in_mpi[0] != '\0' ? r->in_mpi : r->help);
    }
}

void options_help(const char *program)
{
    const struct peer *peer = peers_find(program);
    const bool has_variable = peer != NULL && peer->variable != NULL;

    printf("Usage: %s [OPTION]... [FILE]...\n", program);
    print_purpose(program, peer);
    for (int i = 0; i < ROWS; i++) {
        const struct option_row *r = &rows[i];
        const bool has_letter = r->id < 256 && peers_letter(peer, r->id) == NULL;

        if (r->help == NULL || (r->id != 0 && r->name == NULL && !has_letter))
            continue;
        if (r->id == 0)
            printf("\n%s\n", r->help);
        else
            print_option(has_letter ? r->id : 0, r->name, r->argument, r->help);
    }
    if (peer != NULL)
        print_options_of_peer(peer);
    printf("\nWith no FILE, or when FILE is -, read standard input.  The environment variable%s\n"
           "%s%sGZLZSS may hold options.\n",
           has_variable ? "s" : "", has_variable ? peer->variable : "",
           has_variable ? " and " : "");
}

/* Prints the values that a method's parameter may have. */
static void print_values(const struct paper_key *key)
{
    if (key->words == NULL) {
        printf("%s%u to %u", key->is_power ? "powers of two from " : "", key->least, key->most);
        return;
    }
    for (size_t i = 0; key->words[i] != NULL; i++)
        printf("%s%s", i > 0 ? " or " : "", key->words[i]);
}

void options_matchers(void)
{
    if (paper_methods[0] == NULL) {
        printf("This gzlzss was built without the papers' match finders.\n");
        return;
    }
    printf("--matcher=NAME[,KEY=VALUE]... finds matches as a paper does, in place of the level's\n"
           "way.  Keys are shown with the values that they have by default, the papers'.\n");
    for (size_t i = 0; paper_methods[i] != NULL; i++) {
        const struct paper_method *p = paper_methods[i];

        printf("\n%s: %s\n  (%s)\n", p->name, p->summary, p->source);
        for (const struct paper_key *key = p->keys; key->name != NULL; key++) {
            char usual[64];

            if (key->words == NULL)
                snprintf(usual, sizeof(usual), "%s=%u", key->name, key->usual);
            else
                snprintf(usual, sizeof(usual), "%s=%s", key->name, key->words[key->usual]);
            printf("    %-18s %s; ", usual, key->help);
            print_values(key);
            putchar('\n');
        }
    }
}

void options_license(void)
{
    printf("%s\n"
           "Copyright (C) 2026 the gzlzss authors\n"
           "This is free software under the MIT License: you may use, copy, modify and\n"
           "redistribute it.  There is NO WARRANTY, to the extent permitted by law.\n",
           PACKAGE_STRING);
}
