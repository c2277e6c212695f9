/*
 * options.c - the command line
 *
 * All options are in one table: the parser's arguments and --help are made from it.  To add an
 * option, add a row and a case in apply().
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/options.h"

/* What getopt_long returns for options that have no letter. */
enum { OPTION_BACKEND = 256, OPTION_LEVEL, OPTION_LIST_DEVICES };

/* What it returns for an operand. */
#define OPERAND 1

#define THREADS_MAX 1024

struct option_row {
    int id; /* the option's letter, or one of the above */
    const char *name;
    const char *argument; /* what it is called in --help, NULL if there is none */
    const char *help;     /* NULL for what --help does not list */
};

static const struct option_row rows[] = {
    {'c', "stdout", NULL, "write to standard output, keep input files"},
    {'c', "to-stdout", NULL, NULL},
    {'d', "decompress", NULL, "decompress"},
    {'d', "uncompress", NULL, NULL},
    {'f', "force", NULL, "overwrite output; allow links and terminals"},
    {'h', "help", NULL, "give this help"},
    {'k', "keep", NULL, "keep input files"},
    {'n', "no-name", NULL, "do not store the file's name and time"},
    {'q', "quiet", NULL, "suppress all warnings"},
    {'q', "silent", NULL, NULL},
    {'t', "test", NULL, "test the integrity of compressed files"},
    {'v', "verbose", NULL, "report what was done; twice: and how long it took"},
    {'V', "version", NULL, "display the version number"},
    {'1', "fast", NULL, "compress faster (-1 to -12; default: -6)"},
    {'9', "best", NULL, "compress better"},
    {OPTION_LEVEL, "level", "N", "compress at level 1 (fastest) to 12 (smallest)"},
    {'p', "processes", "N", "use N threads, 1 to 1024; default: all cores"},
    {'b', "blocksize", "KiB",
     "segment size, 32 to 32768; default: 2048,\n"
     "                           and 4096 from level 10 on"},
    {OPTION_BACKEND, "backend", "NAME", "find matches by auto (default), cpu or gpu"},
    {OPTION_LIST_DEVICES, "list-devices", NULL, "list the GPUs that can be used"},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Reads a decimal number from min to max. */
static bool parse_number(const char *text, long min, long max, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *value >= min && *value <= max;
}

static bool parse_backend(const char *text, enum backend *backend)
{
    static const struct {
        const char *name;
        enum backend backend;
    } names[] = {{"auto", BACKEND_AUTO}, {"cpu", BACKEND_CPU}, {"gpu", BACKEND_GPU}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i].name) == 0) {
            *backend = names[i].backend;
            return true;
        }
    }
    return false;
}

/* Applies one option; false, with a message printed, if its argument makes no sense. */
static bool apply(struct options *o, int id, const char *argument, struct messages *m)
{
    long number;

    switch (id) {
    case 'c':
        o->to_stdout = true;
        break;
    case 'd':
        o->action = ACTION_DECOMPRESS;
        break;
    case 'f':
        o->force = true;
        break;
    case 'h':
        o->action = ACTION_HELP;
        break;
    case 'k':
        o->keep = true;
        break;
    case 'n':
        o->no_name = true;
        break;
    case 'q':
        m->quiet = true;
        o->verbose = 0;
        break;
    case 't':
        o->action = ACTION_TEST;
        break;
    case 'v':
        m->quiet = false;
        o->verbose++;
        break;
    case 'V':
        o->action = ACTION_VERSION;
        break;
    case 'p':
        if (!parse_number(argument, 1, THREADS_MAX, &number)) {
            msg_error(m, NULL, "invalid number of threads '%s': give 1 to %d", argument,
                      THREADS_MAX);
            return false;
        }
        o->pipeline.threads = (int)number;
        break;
    case 'b':
        if (!parse_number(argument, LZ_SEGMENT_MIN >> 10, LZ_SEGMENT_MAX >> 10, &number)) {
            msg_error(m, NULL, "invalid block size '%s': give %zu to %zu (KiB)", argument,
                      LZ_SEGMENT_MIN >> 10, LZ_SEGMENT_MAX >> 10);
            return false;
        }
        o->pipeline.segment_size = (size_t)number << 10;
        break;
    case OPTION_BACKEND:
        if (!parse_backend(argument, &o->pipeline.backend)) {
            msg_error(m, NULL, "invalid backend '%s': give auto, cpu or gpu", argument);
            return false;
        }
        break;
    case OPTION_LIST_DEVICES:
        o->action = ACTION_LIST_DEVICES;
        break;
    case OPTION_LEVEL:
        if (!parse_number(argument, LZ_LEVEL_MIN, LZ_LEVEL_MAX, &number)) {
            msg_error(m, NULL, "invalid level '%s': give %d to %d", argument, LZ_LEVEL_MIN,
                      LZ_LEVEL_MAX);
            return false;
        }
        o->pipeline.level = (int)number;
        break;
    default: /* '1' to '9' */
        o->pipeline.level = id - '0';
        break;
    }
    return true;
}

/* A thread for every core that this process may run on. */
static int default_threads(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                          : sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (int)n;
}

bool options_parse(struct options *o, int argc, char **argv, struct messages *m)
{
    struct option long_options[ROWS + 1] = {{0}};
    char letters[3 * ROWS + 16] = "-";
    char *end = letters + 1;
    bool after_one = false; /* within one argument, after the letter 1 */
    int names = 0;
    int id;

    *o = (struct options){
        .pipeline = {.level = LZ_LEVEL_DEFAULT,
                     .threads = default_threads(),
                     .backend = BACKEND_AUTO},
    };
    for (int i = 0; i < ROWS; i++) {
        long_options[i].name = rows[i].name;
        long_options[i].has_arg = rows[i].argument != NULL ? required_argument : no_argument;
        long_options[i].val = rows[i].id;
        if (rows[i].id < 256) {
            *end++ = (char)rows[i].id;
            if (rows[i].argument != NULL)
                *end++ = ':';
        }
    }
    strcpy(end, "02345678");

    /* getopt_long starts its messages with this. */
    argv[0] = (char *)m->program;
    for (;;) {
        /* Operands are returned in their places (by the '-'), so that while one argument's letters
         * are gone through, optind stays. */
        int argument = optind;

        id = getopt_long(argc, argv, letters, long_options, NULL);
        if (id == -1)
            break;
        if (id == OPERAND) {
            argv[++names] = optarg;
            continue;
        }
        if (after_one && id >= '0' && id <= '2') {
            /* -10, -11, -12 */
            o->pipeline.level = 10 + id - '0';
            after_one = false;
            continue;
        }
        after_one = id == '1' && optind == argument;
        if (id == '0') {
            fprintf(stderr, "%s: invalid option -- '0'\n", m->program);
            id = '?';
        }
        if (id == '?') {
            fprintf(stderr, "Try '%s --help' for more information.\n", m->program);
            m->status = STATUS_ERROR;
            return false;
        }
        if (!apply(o, id, optarg, m))
            return false;
    }
    while (optind < argc)
        argv[++names] = argv[optind++];
    o->names = argv + 1;
    o->name_count = names;
    if (o->pipeline.segment_size == 0)
        o->pipeline.segment_size = o->pipeline.level < LZ_LEVEL_LARGE_SEGMENTS
                                       ? LZ_SEGMENT_DEFAULT
                                       : LZ_SEGMENT_DEFAULT_LARGE;
    return true;
}

void options_help(const char *program)
{
    printf("Usage: %s [OPTION]... [FILE]...\n"
           "Compress or decompress FILEs (by default, compress FILEs in place) in gzip's\n"
           "format, finding matches on an NVIDIA GPU where there is one and it helps.\n\n",
           program);
    for (int i = 0; i < ROWS; i++) {
        const struct option_row *r = &rows[i];
        char name[64];

        if (r->help == NULL)
            continue;
        snprintf(name, sizeof(name), "--%s%s%s", r->name, r->argument != NULL ? "=" : "",
                 r->argument != NULL ? r->argument : "");
        if (r->id < 256)
            printf("  -%c, %-20s %s\n", r->id, name, r->help);
        else
            printf("      %-20s %s\n", name, r->help);
    }
    printf("\nWith no FILE, or when FILE is -, read standard input.\n");
}

void options_version(void)
{
    printf("%s\n"
           "CUDA: %s.  CRC-32 and inflate: %s.\n",
           PACKAGE_STRING,
#ifdef HAVE_CUDA
           "yes",
#else
           "no",
#endif
#ifdef HAVE_ISAL
           "ISA-L"
#else
           "zlib"
#endif
    );
}
