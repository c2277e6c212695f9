/*
 * option_rows.c - the table of all options (option_rows.h)
 *
 * The tables for getopt_long, the effects of options, and --help (also that of gzlzss-mpi) are made
 * from this table.  To add an option, add a row; the row's effects say which fields the option
 * sets.  Only if no effect fits, add a case to apply_odd in option_parse.c.
 */
#include "config.h"

#include "lzss/lzss.h"
#include "src/option_rows.h"

/* SET_INT and WORD set an enumeration as an int. */
_Static_assert(sizeof(enum action) == sizeof(int), "the same size");
_Static_assert(sizeof(enum backend) == sizeof(int), "the same size");
_Static_assert(sizeof(enum container) == sizeof(int), "the same size");
_Static_assert(sizeof(enum strategy) == sizeof(int), "the same size");
_Static_assert(sizeof(enum sparse) == sizeof(int), "the same size");

/* clang-format off */

/* Sets `holder` and `offset` of an effect for a member.  Compiles only if the member has the type
 * `type`. */
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

/* Effects that several rows have: */
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

const char *const option_formats[] = {
    [CONTAINER_GZIP] = "gzip", [CONTAINER_ZLIB] = "zlib", [CONTAINER_RAW] = "raw",
    [CONTAINER_BGZF] = "bgzf", [CONTAINER_ZIP] = "zip",   NULL};

const struct option_row option_rows[] = {
    {'d', "decompress", NULL, "decompress", DOES(SETS(wishes, decompress)), .in_mpi = SAME},
    {OPTION_COMPRESS, "compress", NULL, "compress: undo -d", DOES(CLEARS(wishes, decompress))},
    {'l', "list", NULL, "list sizes and names of compressed files", DOES(SETS(wishes, list))},
    {OPTION_EXACT, "exact", NULL, "list, with the sizes of all members together",
     DOES(SETS(options, exact), SETS(wishes, list))},
    {'t', "test", NULL, "test the integrity of compressed files",
     DOES(SETS(wishes, test)), .in_mpi = SAME},
    {OPTION_RECOVER, "recover", NULL, "decompress what is left of damaged files, keep them",
     DOES(SETS(options, recover))},
    {OPTION_FILL, "fill", "N", "with --recover: byte for lost ones, by default 0",
     DOES(TAKES_NUMBER(options, fill, 0, 255, "byte", ""))},
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
    {OPTION_ATOMIC, "atomic", NULL, "name each output only once it is complete",
     DOES(SETS(options, atomic))},
    {'Y', "synchronous", NULL, "sync output to disk before removing input",
     DOES(SETS(options, synchronous)), .in_mpi = "sync output to disk, also with -k"},
    {OPTION_VERIFY, "verify", NULL, "decode output again, compare, before removing input",
     DOES(SETS(options, pipeline.verify)),
     .in_mpi = "decode what was compressed again, compare, before writing"},
    {OPTION_NO_VERIFY, "no-verify", NULL, "undo --verify",
     DOES(CLEARS(options, pipeline.verify))},
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
     DOES(TAKES_WORD(enum container, options, pipeline.container, option_formats, "format"))},
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

    {.help = "Parts of a file:"},
    {OPTION_RANGE, "range", "RANGE", "write only bytes OFFSET:LENGTH, as 64K:1M or -1K:",
     DOES(IS_ODD)},
    {OPTION_LINES, "lines", "RANGE", "write only lines FIRST:COUNT, counted from 1",
     DOES(IS_ODD)},
    {OPTION_INDEX, "index", NULL,
     "write an index of the .gz to FILE.gz.gzi;\n"
     "                           -t --index: of a .gz that exists",
     DOES(SETS(options, makes_index))},
    {OPTION_INDEX_FILE, "index-file", "NAME", "use or write this index",
     DOES(TAKES_TEXT(options, index_file))},

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
    {'a', "a", NULL, NULL, DOES(SETS(wishes, ascii))}, /* --a means --ascii, not --atomic */
    SYNONYM('a', "ascii"), /* for systems whose lines do not end in "\n" */
    SYNONYM('f', "fo"), /* --fo means --force, not --format */
    SYNONYM('f', "for"),
    SYNONYM('c', "to-stdout"),
    SYNONYM('d', "uncompress"),
    SYNONYM('d', "d"), /* --d means --decompress, not --device */
    SYNONYM('d', "de"),
    SYNONYM('h', "h"),   /* --h means --help, not --huffman */
    SYNONYM('l', "lis"), /* --lis means --list, not --list-devices */
    SYNONYM('n', "no"),  /* --no means --no-name, not --no-time */
    SYNONYM('n', "no-"),
    SYNONYM('r', "re"),  /* --re means --recursive, not --recover */
    SYNONYM('r', "rec"),
    /* An option of the program compress, which gzip accepts and ignores. */
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
    /* Names that xz, zstd and bgzip have: */
    SYNONYM_WITH(OPTION_FILES_FROM, "files", "[FILE]"),
    {OPTION_FILES0, "files0", "[FILE]", NULL,
     DOES(TAKES_TEXT(options, files_from), SETS(options, null_names))},
    SYNONYM_WITH(OPTION_MEMORY, "memlimit", "LIMIT"),
    SYNONYM_WITH(OPTION_OUTPUT_DIR, "output-dir-flat", "DIR"),
    {OPTION_REINDEX, "reindex", NULL, NULL,
     DOES(SETS(wishes, test), SETS(options, makes_index))},
    /* What bgzip's letters mean (peers.c).  No abbreviation of gzip's starts with a colon: --si is
     * --silent, and --- is ---presume-input-tty. */
    {OPTION_BGZIP_OFFSET, ":bgzip-offset", "N", NULL, DOES(IS_ODD)},
    {OPTION_BGZIP_SIZE, ":bgzip-size", "N", NULL, DOES(IS_ODD)},
    {OPTION_BGZIP_INDEX, ":bgzip-index", "FILE", NULL,
     DOES(TAKES_TEXT(options, index_file), SETS(wishes, only_names_index))},
};

/* clang-format on */

const int option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX, "the limit");
