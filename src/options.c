/*
 * options.c - the command line
 *
 * All options are in one table: the parser's arguments and --help are made from it.  To add an
 * option, add a row and a case in apply().
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isal.h"
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
    OPTION_DEVICE,
    OPTION_LEVEL,
    OPTION_LIST_DEVICES,
    OPTION_MATCHER,
    OPTION_PRESUME_INPUT_TTY,
    OPTION_PROGRESS,
    OPTION_SYNCHRONOUS,
    OPTION_OF_PEER =
        1024, /* and from here on: a long option of the program's by whose name this one is
                              called, by its number there */
};

/* What it returns for an operand. */
#define OPERAND 1

#define THREADS_MAX 1024
#define DEVICE_MAX 1023

struct option_row {
    int id;               /* the option's letter, or one of the above; 0 for a heading */
    const char *name;     /* NULL for a letter alone */
    const char *argument; /* what it is called in --help, NULL if there is none */
    const char *help;     /* NULL for what --help does not list */
};

static const struct option_row rows[] = {
    {'d', "decompress", NULL, "decompress"},
    {'l', "list", NULL, "list sizes and names of compressed files"},
    {'t', "test", NULL, "test the integrity of compressed files"},
    {'c', "stdout", NULL, "write to standard output, keep input files"},

    {0, NULL, NULL, "Which files:"},
    {'f', "force", NULL, "overwrite output; allow links and terminals"},
    {'k', "keep", NULL, "keep input files"},
    {'r', "recursive", NULL, "go through directories"},
    {'S', "suffix", "SUF", "use suffix SUF in place of .gz"},
    {'n', "no-name", NULL, "do not store or restore name and time"},
    {'N', "name", NULL, "store or restore name and time"},
    {OPTION_ATOMIC, "atomic", NULL, "let an output have its name only when it is whole"},
    {OPTION_SYNCHRONOUS, "synchronous", NULL, "sync output to disk before removing input"},

    {0, NULL, NULL, "How to compress:"},
    {'0', NULL, NULL, "store, do not compress"},
    {'1', "fast", NULL, "compress faster (-1 to -12; default: -6)"},
    {'9', "best", NULL, "compress better"},
    {OPTION_LEVEL, "level", "N", "compress at level 1 (fastest) to 12 (smallest), or 0"},
    {'p', "processes", "N", "use N threads, 1 to 1024; default, and 0: all cores"},
    {'T', "threads", "N", "the same"},
    {'b', "blocksize", "KiB",
     "segments of KiB, 32 to 32768 (or as 512k, 4M);\n"
     "                           default: 2048, and 4096 from level 10 on"},
    {'i', "independent", NULL, "ignored: segments are independent anyway"},
    {'R', "rsyncable", NULL, "make output that rsync can update in parts"},
    {OPTION_BACKEND, "backend", "NAME", "find matches by auto (default), cpu or gpu"},
    {OPTION_DEVICE, "device", "LIST", "use GPUs with these numbers, as 0,2; default: all"},
    {OPTION_LIST_DEVICES, "list-devices", NULL, "list the GPUs that can be used"},
    {OPTION_MATCHER, "matcher", "NAME",
#ifdef HAVE_PAPERS
     "find matches as a paper does; help: list the papers"
#else
     "find matches as a paper does: not in this build"
#endif
    },

    {0, NULL, NULL, "What to say:"},
    {'v', "verbose", NULL, "report each file; -vv also times and engine"},
    {'q', "quiet", NULL, "suppress all warnings"},
    {OPTION_PROGRESS, "progress", NULL, "show progress, even if not on a terminal"},
    {'h', "help", NULL, "give this help"},
    {'L', "license", NULL, "display the license"},
    {'V', "version", NULL, "display the version number"},

    {'a', "a", NULL, NULL},     /* as an abbreviation this has to go on meaning --ascii */
    {'a', "ascii", NULL, NULL}, /* means something where lines do not end in one character */
    {'c', "to-stdout", NULL, NULL},
    {'d', "uncompress", NULL, NULL},
    {'d', "d", NULL, NULL},   /* as abbreviations these have to go on meaning --decompress, */
    {'d', "de", NULL, NULL},  /* not perhaps --device, */
    {'l', "lis", NULL, NULL}, /* and this --list */
    {OPTION_BITS, "bits", "N", NULL}, /* compress's, which gzip takes and ignores */
    {'q', "silent", NULL, NULL},
    {'Z', "lzw", NULL, NULL},
    {OPTION_PRESUME_INPUT_TTY, "-presume-input-tty", NULL, NULL},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Letters of options without a long name: gzip's -H is -h, -m and -M are the time's part of -n and
 * -N; levels; and digits that are part of a level of two. */
static const char other_letters[] = "HmM2345678";

/* A source of options: the command line, or an environment variable. */
struct source_of_options {
    const char *variable;    /* NULL: the command line */
    const struct peer *peer; /* of the program's name, or NULL */
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

static bool try_help(struct messages *m)
{
    msg_print(m, "Try `%s --help' for more information.\n", m->program);
    m->status = STATUS_ERROR;
    return false;
}

static bool apply_number(const char *argument, long min, long max, const char *what,
                         const char *unit, long *number, struct messages *m)
{
    if (parse_number(argument, min, max, number))
        return true;
    msg_error(m, "invalid %s '%s': give %ld to %ld%s", what, argument, min, max, unit);
    return false;
}

/* Reads a list of different device numbers. */
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

/* Reads a number of KiB from min to max, which may also be given in MiB. */
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

/* Whether the program goes by a name of its own, and not by one of gzip's, whose users may know its
 * messages even where an option means something else here. */
static bool has_own_name(const struct messages *m)
{
    return strstr(m->program, PACKAGE_NAME) != NULL;
}

/* What gzip wants of the argument of its own -b. */
static bool want_digits(const char *argument, struct messages *m)
{
    if (argument[strspn(argument, "0123456789")] == '\0')
        return true;
    msg_error(m, "-b operand is not an integer");
    return try_help(m);
}

/* Applies an option of our own; false, with a message printed, if its argument makes no sense. */
static bool apply_own(struct options *o, int id, const char *argument, struct messages *m)
{
    long number = 0;

    switch (id) {
    case 'p':
    case 'T':
        if (!apply_number(argument, 0, THREADS_MAX, "number of threads", " (0: all cores)", &number,
                          m))
            return false;
        o->pipeline.threads = (int)number;
        o->threads_given = number > 0;
        break;
    case 'b':
        if (!parse_kib(argument, LZ_SEGMENT_MIN >> 10, LZ_SEGMENT_MAX >> 10, &number)) {
            if (has_own_name(m) || want_digits(argument, m))
                msg_error(m, "invalid block size '%s': give %ld to %ld (KiB)", argument,
                          (long)LZ_SEGMENT_MIN >> 10, (long)LZ_SEGMENT_MAX >> 10);
            return false;
        }
        o->pipeline.segment_size = (size_t)number << 10;
        break;
    case OPTION_LEVEL:
        if (!apply_number(argument, LZ_LEVEL_STORED, LZ_LEVEL_MAX, "level", "", &number, m))
            return false;
        o->pipeline.level = (int)number;
        break;
    case OPTION_DEVICE:
        if (!parse_devices(argument, &o->pipeline.gpus)) {
            msg_error(m,
                      "invalid devices '%s': give different numbers, at most %d, with commas "
                      "between them",
                      argument, GPUS_MAX);
            return false;
        }
        break;
    case OPTION_BACKEND:
        if (!parse_backend(argument, &o->pipeline.backend)) {
            msg_error(m, "invalid backend '%s': give auto, cpu or gpu", argument);
            return false;
        }
        break;
    case OPTION_LIST_DEVICES:
        o->action = ACTION_LIST_DEVICES;
        break;
    case OPTION_MATCHER:
        if (strcmp(argument, "help") == 0)
            o->action = ACTION_LIST_MATCHERS;
        else
            o->matcher = argument;
        break;
    case OPTION_PROGRESS:
        o->progress = true;
        break;
    default: /* '0' to '9' */
        o->pipeline.level = id - '0';
        break;
    }
    return true;
}

/* What the options seen so far say about what to do; gzip lets one imply another. */
struct wishes {
    bool ascii, decompress, test, list;
    int no_name, no_time;       /* -1: as is usual for what is done */
    const char *suffix_source;  /* where -S came from, as in struct messages, */
    const char *matcher_source; /* and --matcher */
};

/* Applies one option; false, with a message printed, if it or its argument makes no sense. */
static bool apply(struct options *o, struct wishes *w, int id, const char *argument,
                  struct messages *m)
{
    switch (id) {
    case 'a':
        w->ascii = true;
        break;
    case 'c':
        o->to_stdout = true;
        break;
    case 'd':
        w->decompress = true;
        break;
    case 'f':
        o->force = true;
        break;
    case 'h':
    case 'H':
        o->action = ACTION_HELP;
        break;
    case 'i':
        break;
    case 'k':
        o->keep = true;
        break;
    case 'l':
        w->list = true;
        break;
    case 'L':
        o->action = ACTION_LICENSE;
        break;
    case 'm':
        w->no_time = true;
        break;
    case 'M':
        w->no_time = false;
        break;
    case 'n':
        w->no_name = w->no_time = true;
        break;
    case 'N':
        w->no_name = w->no_time = false;
        break;
    case 'q':
        m->quiet = true;
        o->verbose = 0;
        break;
    case 'r':
        o->recursive = true;
        break;
    case 'R':
        o->pipeline.rsyncable = true;
        break;
    case 'S':
        o->suffix = argument;
        w->suffix_source = m->source;
        break;
    case 't':
        w->test = true;
        break;
    case 'v':
        m->quiet = false;
        o->verbose++;
        break;
    case 'V':
        o->action = ACTION_VERSION;
        break;
    case 'Z':
        msg_error(m, "-Z not supported in this version");
        return try_help(m);
    case OPTION_ATOMIC:
        o->atomic = true;
        break;
    case OPTION_BITS:
        return want_digits(argument, m);
    case OPTION_PRESUME_INPUT_TTY:
        o->presume_input_tty = true;
        break;
    case OPTION_SYNCHRONOUS:
    case PEER_SYNCHRONOUS:
        o->synchronous = true;
        break;
    case PEER_COMPRESS:
        w->decompress = false;
        break;
    case PEER_REMOVE:
        o->keep = false;
        break;
    case OPTION_MATCHER:
        w->matcher_source = m->source;
        return apply_own(o, id, argument, m);
    default:
        return apply_own(o, id, argument, m);
    }
    return true;
}

/* Options that GZIP may hold: those of gzip's that do not change what happens to files; -R is not
 * gzip's name for --rsyncable. */
static bool may_be_in_gzip(int id, const char *name)
{
    return (id >= '1' && id <= '9') || id == 'n' || id == 'N' || id == 'q' || id == 'v' ||
           (id == 'R' && name != NULL);
}

/* A thread for every core that this process may run on. */
static int default_threads(void)
{
    const int n = limits_processors();

    return n > THREADS_MAX ? THREADS_MAX : n;
}

#define LONG_OPTIONS (ROWS + PEER_OPTIONS_MAX)
#define LETTERS (3 * ROWS + PEER_OPTIONS_MAX + 32)

/* Makes getopt_long's tables from the peer's options, which may be NULL, and from rows. */
static void make_tables(const struct peer *peer, struct option long_options[LONG_OPTIONS + 1],
                        char letters[LETTERS])
{
    char *end = letters;
    int n = 0;

    /* Operands are to be returned in their places, so that while one argument's letters are gone
     * through, optind stays (parse needs that for -12). */
    *end++ = '-';
    /* Of a letter that comes twice, the first counts. */
    for (size_t i = 0; peer != NULL && i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->letter != 0)
            *end++ = p->letter;
        if (p->name == NULL)
            continue;
        long_options[n].name = p->name;
        /* What is refused may have one. */
        long_options[n].has_arg = p->means == PEER_REFUSED ? optional_argument : no_argument;
        long_options[n++].val = OPTION_OF_PEER + (int)i;
    }
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].id == 0)
            continue;
        if (rows[i].name != NULL) {
            long_options[n].name = rows[i].name;
            long_options[n].has_arg = rows[i].argument != NULL ? required_argument : no_argument;
            long_options[n++].val = rows[i].id;
        }
        if (rows[i].id < 256) {
            *end++ = (char)rows[i].id;
            if (rows[i].argument != NULL)
                *end++ = ':';
        }
    }
    strcpy(end, other_letters);
}

/* Whether the source is GZIP, and so may hold few options. */
static bool is_gzip_variable(const struct source_of_options *from)
{
    return from->variable != NULL && strcmp(from->variable, "GZIP") == 0 &&
           (from->peer == NULL || from->peer->variable == NULL);
}

/* Says what is wrong with the option in this argument, after getopt_long has set optopt.  The words are
 * those of glibc's getopt_long, and so gzip's; musl's has others. */
static void say_wrong_option(const char *word, const char *letters,
                             const struct option *long_options, struct messages *m)
{
    const size_t length = strcspn(word + 2, "=");
    const char *letter = strchr(letters, optopt), *found = NULL;
    const struct option *first = NULL;
    char possible[32 * ROWS] = "";

    if (optopt == '?')
        return; /* -? is wrong, but not worth a message */
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
            continue; /* another name of it */
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

/* The option of the peer's that getopt_long has found, by its long name or, if that is NULL, by its
 * letter; NULL if it is one of ours. */
static const struct peer_option *found_of_peer(const struct source_of_options *from, int id,
                                               const char *name)
{
    if (name == NULL)
        return peers_letter(from->peer, id);
    return id >= OPTION_OF_PEER ? &from->peer->options[id - OPTION_OF_PEER] : NULL;
}

/* Says that an option means to the program by whose name this one is called what this one does not do. */
static bool refuse_of_peer(const struct peer_option *p, const char *name, struct messages *m)
{
    if (name != NULL)
        msg_error(m, "--%s: not supported by gzlzss, which this is (%s)", name, p->what);
    else
        msg_error(m, "-%c: not supported by gzlzss, which this is (%s)", p->letter, p->what);
    return try_help(m);
}

/* Applies what getopt_long has found, by its long name or, if that is NULL, by its letter; false,
 * with a message printed, if it is no option, or not one for this source. */
static bool apply_found(struct options *o, struct wishes *w, const struct source_of_options *from,
                        int id, const char *name, struct messages *m)
{
    const struct peer_option *p = found_of_peer(from, id, name);

    if (p != NULL && p->means == PEER_REFUSED)
        return refuse_of_peer(p, name, m);
    if (p != NULL && p->means == PEER_NONE) {
        msg_error(m, "invalid option -- '%c'", p->letter);
        return try_help(m);
    }
    if (p != NULL)
        id = p->means;
    if (!is_gzip_variable(from) || may_be_in_gzip(id, name))
        return apply(o, w, id, optarg, m);
    if (id == '0')
        msg_error(m, "invalid option -- '0'"); /* gzip has no level 0 */
    else if (name != NULL)
        msg_error(m, "--%s: option not valid in GZIP environment variable", name);
    else
        msg_error(m, "-%c: option not valid in GZIP environment variable", id);
    return try_help(m);
}

/* Goes through one source of options; the operands go to the front of its argv, after argv[0], and
 * argc becomes their number and 1.  False, with a message printed, if something makes no sense. */
static bool parse(struct options *o, struct wishes *w, struct source_of_options *from,
                  struct messages *m)
{
    const bool operands_last = getenv("POSIXLY_CORRECT") != NULL;
    struct option long_options[LONG_OPTIONS + 1] = {{0}};
    char letters[LETTERS];
    bool after_one = false;     /* within one argument, after the letter 1 */
    const char *operand = NULL; /* where there may be none */
    int names = 0;

    make_tables(from->peer, long_options, letters);
    opterr = 0; /* say_wrong_option has the words */
    optind = 0; /* start anew */
    for (;;) {
        const int argument = optind > 0 ? optind : 1;
        int row = -1;
        int id = getopt_long(from->argc, from->argv, letters, long_options, &row);

        if (id == -1 && optind == argument && optind < from->argc) {
            /* To musl, an operand "-" is the end of the options, as "--" is. */
            optarg = from->argv[optind++];
            id = OPERAND;
        }
        if (id == -1)
            break;
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
        if (after_one && id >= '0' && id <= '2') {
            /* -10, -11, -12 */
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
        if (o->action != ACTION_COMPRESS)
            return true; /* help and the like: at once, whatever follows */
    }
    /* Operands can stand behind "--", which GZIP must not hold at all. */
    if (operand == NULL && from->variable != NULL && !is_gzip_variable(from) && optind < from->argc)
        operand = from->argv[optind];
    if (operand != NULL) {
        m->source = NULL; /* the message has it */
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

/* Splits what an environment variable holds into words, which stay in *copy, to be freed as argv
 * is.  argv[0] is none of them, as on a command line.  False if memory is short. */
static bool split_variable(struct source_of_options *from, char **copy)
{
    const char *value = getenv(from->variable);
    /* gzip does not take a line's end for a blank. */
    const char *blanks = is_gzip_variable(from) ? " \t" : " \t\n";

    from->argc = 1;
    if (value == NULL)
        return true;
    /* There are at most half as many words as bytes, rounded up, and a null pointer ends them. */
    from->argv = calloc(strlen(value) / 2 + 3, sizeof(*from->argv));
    *copy = strdup(value);
    if (from->argv == NULL || *copy == NULL)
        return false;
    from->argv[0] = (char *)from->variable;
    for (char *word = strtok(*copy, blanks); word != NULL; word = strtok(NULL, blanks))
        from->argv[from->argc++] = word;
    return true;
}

/* Whether the program's name is zcat, gzcat, gzlzsscat or the like: decompression to standard output. */
static bool is_cat(const char *program)
{
    return strcmp(program, "gzcat") == 0 || strcmp(program, "gzlzsscat") == 0 ||
           (program[0] != '\0' && strcmp(program + 1, "cat") == 0);
}

/* Whether it is one of these, gunzip, gunzlzss or the like. */
static bool decompresses(const char *program)
{
    return is_cat(program) || strncmp(program, "un", 2) == 0 || strncmp(program, "gun", 3) == 0;
}

/* Applies what the program's name says; false, with a message printed, if by this name it does nothing. */
static bool apply_program_name(struct options *o, struct wishes *w, const struct peer *peer,
                               struct messages *m)
{
    o->to_stdout = is_cat(m->program);
    w->decompress = decompresses(m->program);
    if (peer == NULL)
        return true;
    o->keep = peer->keeps;
    if (peer->differs != NULL)
        msg_error(m, "gzlzss does not stand in for this program, whose %s", peer->differs);
    return peer->differs == NULL;
}

/* Puts what --matcher asks for in the place of the level's match finder; false, with a message
 * printed, if there is no such thing. */
static bool choose_matcher(struct options *o, const char *source, struct messages *m)
{
    struct lz_level level = *lz_level(o->pipeline.level);
    char error[PAPER_ERROR_SIZE];

    if (o->matcher == NULL)
        return true;
    if (lz_is_stored(&level)) {
        msg_error(m, "--matcher does not go with level 0, which finds no matches");
        return false;
    }
    if (!paper_parse(o->matcher, &level, error)) {
        m->source = source;
        msg_error(m, "invalid matcher '%s': %s", o->matcher, error);
        return false;
    }
    o->pipeline.own_level = level;
    return true;
}

/* Draws the conclusions once all options are known. */
static bool conclude(struct options *o, const struct wishes *w, struct messages *m)
{
    size_t suffix = strlen(o->suffix);

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
    if (!choose_matcher(o, w->matcher_source, m))
        return false;
    if (w->ascii && !m->quiet)
        msg_note(m, "option --ascii ignored on this system");
    if (o->pipeline.threads == 0)
        o->pipeline.threads = default_threads();
    if (o->pipeline.segment_size == 0)
        o->pipeline.segment_size = pipeline_level(&o->pipeline)->segment_default;
    return true;
}

/* Goes through the environment variables that hold options.  False, with a message printed, as parse. */
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
        .suffix = NAMES_SUFFIX_DEFAULT,
        .pipeline = {.level = LZ_LEVEL_DEFAULT, .backend = BACKEND_AUTO},
    };
    if (!apply_program_name(o, &w, peer, m) || !parse_variables(o, &w, peer, m) ||
        (o->action == ACTION_COMPRESS && !parse(o, &w, &command, m)))
        return false;
    o->names = argv + 1;
    o->name_count = command.argc - 1;
    if (o->action > ACTION_LIST)
        return true;
    return conclude(o, &w, m);
}

void options_free(struct options *o)
{
    for (int i = 0; i < OPTIONS_VARIABLES; i++)
        free(o->variables[i]);
}

/* Prints an option's line of --help; letter 0 or name NULL: it has none. */
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

/* Prints what the program does by this name. */
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
            peer != NULL && peer->keeps ? "keep" : "remove");
}

/* Prints those options that have the peer's meaning, and those that are refused. */
static void print_options_of_peer(const struct peer *peer)
{
    bool has_any = false;

    for (size_t i = 0; i < peer->count; i++) {
        const struct peer_option *p = &peer->options[i];

        if (p->means == PEER_REFUSED || p->means == PEER_NONE)
            continue;
        if (!has_any)
            printf("\nAs in %s:\n", peer->names[0]);
        has_any = true;
        print_option(p->letter, p->name, NULL, p->what);
    }
    if (!has_any)
        return;
    printf("  not supported:          ");
    for (size_t i = 0; i < peer->count; i++)
        if (peer->options[i].means == PEER_REFUSED)
            printf(" -%c", peer->options[i].letter);
    putchar('\n');
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

/* Prints what values a method's parameter may have. */
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

void options_version(void)
{
    const char *inflate = "zlib";

#ifdef HAVE_ISAL
    inflate = isal_open() != NULL ? "ISA-L" : "zlib (ISA-L could not be loaded)";
#endif
    printf("%s\n"
           "CUDA: %s.  CRC-32 and inflate: %s.\n",
           PACKAGE_STRING,
#ifdef HAVE_CUDA
           "yes",
#else
           "no",
#endif
           inflate);
}
