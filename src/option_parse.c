/*
 * option_parse.c - reads the options (options.h)
 *
 * option_rows.c has the table of all options.  This file reads the command line and environment
 * variables by that table, and option_conclude.c decides what the options mean together.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/names.h"
#include "src/option_rows.h"
#include "src/peers.h"

/* What getopt_long returns for an operand. */
#define OPERAND 1

#define DEVICE_MAX 1023

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

/* Reads device numbers with commas between them.  False if two numbers are equal. */
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

/* Reads a size from min to max, which are in KiB.  The text may give the size in KiB or in MiB. */
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

/* Reads a limit on memory.  The limit is a number from 1 to 100 with a percent sign after it, or a
 * number of bytes, 1 or more.  Units from KiB to TiB may follow the number of bytes, in all forms
 * that xz and zstd know: k, K, Ki, KiB, kB, KB.  Sets *bytes or *percent, and sets the other of the
 * two to 0. */
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

/* Checks the argument of -b as gzip does; false, with gzip's message, if gzip would refuse it. */
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

/* Reads a number of bytes, as bgzip does: without a unit. */
static bool take_bytes(const char *argument, bool *is_there, uint64_t *bytes, struct messages *m)
{
    errno = 0;
    *is_there = true;
    *bytes = strtoull(argument, NULL, 10);
    if (argument[0] != '\0' && argument[strspn(argument, "0123456789")] == '\0' && errno == 0 &&
        *bytes <= INT64_MAX)
        return true;
    msg_error(m, "invalid offset or size '%s': give a number of bytes", argument);
    return false;
}

/* Adds the range that the argument gives. */
static bool add_range(struct options *o, const char *argument, bool is_lines, struct messages *m)
{
    struct range *ranges, range;

    if (!range_parse(argument, is_lines, &range)) {
        if (is_lines)
            msg_error(m, "invalid lines '%s': give FIRST:COUNT, from 1 on", argument);
        else
            msg_error(m, "invalid range '%s': give OFFSET:LENGTH (bytes, or as 64K, 2M, 1G)",
                      argument);
        return false;
    }
    ranges = realloc(o->ranges, (o->range_count + 1) * sizeof(*ranges));
    if (ranges == NULL) {
        msg_error(m, "memory exhausted");
        return false;
    }
    o->ranges = ranges;
    ranges[o->range_count++] = range;
    return true;
}

/* Applies an option of kind ODD. */
static bool apply_odd(struct options *o, struct wishes *w, int id, const char *argument,
                      struct messages *m)
{
    long kib;

    switch (id) {
    case 'b':
        if (!parse_kib(argument, LZ_SEGMENT_MIN >> 10, LZ_SEGMENT_MAX >> 10, &kib)) {
            if (msg_has_own_name(m) || want_digits(argument, m))
                msg_error(m, "invalid block size '%s': give %ld to %ld (KiB)", argument,
                          (long)LZ_SEGMENT_MIN >> 10, (long)LZ_SEGMENT_MAX >> 10);
            return false;
        }
        o->pipeline.segment_size = (size_t)kib << 10;
        return true;
    case OPTION_BITS:
        return want_digits(argument, m);
    case OPTION_BGZIP_OFFSET:
        return take_bytes(argument, &w->has_offset, &w->offset, m);
    case OPTION_BGZIP_SIZE:
        return take_bytes(argument, &w->has_size, &w->size, m);
    case OPTION_DEVICE:
        if (parse_devices(argument, &o->pipeline.gpus))
            return true;
        msg_error(m,
                  "invalid devices '%s': give different numbers, at most %d, with commas "
                  "between them",
                  argument, GPUS_MAX);
        return false;
    case OPTION_RANGE:
    case OPTION_LINES:
        return add_range(o, argument, id == OPTION_LINES, m);
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

/* Finds the row that says what an option does: the first with this id.  There must be such a
 * row. */
static const struct option_row *find_row(int id)
{
    const struct option_row *row = option_rows;

    while (row->id != id)
        row++;
    return row;
}

/* Finds the row of the long option that `text` starts with.  There must be such a row.  If the text
 * contains "=", sets *argument to what follows it. */
static const struct option_row *find_named(const char *text, const char **argument)
{
    const size_t length = strcspn(text, "=");
    const struct option_row *row = option_rows;

    while (row->name == NULL || strncmp(row->name, text, length) != 0 || row->name[length] != '\0')
        row++;
    if (text[length] == '=')
        *argument = text + length + 1;
    return find_row(row->id);
}

_Static_assert(LZ_LEVEL_MAX >= 10 && LZ_LEVEL_MAX < 20, "parse knows a 1 and one more digit");

/* Whether an option has an argument, as getopt_long wants to know it. */
static int argument_of(const struct option_row *row)
{
    if (row->argument == NULL)
        return no_argument;
    return row->argument[0] == '[' ? optional_argument : required_argument;
}

#define LONG_OPTIONS (OPTION_ROWS_MAX + PEER_OPTIONS_MAX)
#define LETTERS (3 * OPTION_ROWS_MAX + 2 * PEER_OPTIONS_MAX + 32)

/* Whether getopt_long should demand the option's argument.  An option that is refused needs
 * none. */
static bool needs_argument(const struct peer_option *p)
{
    return p->argument != NULL && p->kind != PEER_REFUSED;
}

/* getopt_long's tables. */
struct tables {
    struct option long_options[LONG_OPTIONS + 1];
    char letters[LETTERS];
};

/* Makes the tables, which are all zeros, from the peer's options and from option_rows.  peer may be
 * NULL. */
static void make_tables(const struct peer *peer, struct tables *t)
{
    struct option *const long_options = t->long_options;
    char *end = t->letters;
    int n = 0;

    /* With '-', getopt_long returns operands where they stand, and does not reorder argv.  Then
     * optind is the same for all letters of one argument, which lets `parse` read -12 as a
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
    for (int i = 0; i < option_row_count; i++) {
        if (option_rows[i].id == 0)
            continue;
        if (option_rows[i].name != NULL) {
            long_options[n].name = option_rows[i].name;
            long_options[n].has_arg = argument_of(&option_rows[i]);
            long_options[n++].val = option_rows[i].id;
        }
        if (option_rows[i].id < 256) {
            *end++ = (char)option_rows[i].id;
            if (option_rows[i].argument != NULL)
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
    char possible[16 * OPTION_ROWS_MAX] = ""; /* about twice the length of all names together */

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

/* Prints that an option of the peer has no effect, as options_conclude does for gzip's --ascii. */
static void ignore_of_peer(const struct peer_option *p, const char *name, struct messages *m)
{
    if (m->quiet)
        return;
    if (name != NULL)
        msg_note(m, "option --%s ignored by gzlzss, which this is (%s)", name, p->what);
    else
        msg_note(m, "option -%c ignored by gzlzss, which this is (%s)", p->letter, p->what);
}

/* Applies the option of a row.  getopt_long has found the option by its long name or, if `name` is
 * NULL, by a letter.  False, with a message printed, if this source may not hold the option, or if
 * the argument makes no sense. */
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

/* Applies the option that getopt_long has found by its long name or, if `name` is NULL, by its
 * letter.  False, with a message printed, if there is no such option, or if this source may not
 * hold it. */
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

/* Whether `operand`, which follows -M, is a limit on memory, and not a file.  In xz and zstd, -M
 * limits the memory; in gzip, it stores the time and takes no argument.  So if the operand is a
 * limit, prints an error that gives the right option.  Without the error, the command would look
 * for a file of that name, and then work on the other files without a limit.  Under one of gzip's
 * names, the command does what gzip does, and prints no error here. */
static bool is_limit(const char *operand, struct messages *m)
{
    uint64_t bytes;
    unsigned percent;

    if (!msg_has_own_name(m) || !parse_limit(operand, &bytes, &percent) ||
        access(operand, F_OK) == 0)
        return false;
    msg_error(m, "-M %s: -M stores the time, as in gzip; for a limit on memory, give --memory=%s",
              operand, operand);
    return true;
}

/* Whether the text after -M, in the same argument, is a limit on memory, as xz and zstd take it,
 * and not letters of gzip: -M9 and -M9k mean -M -9 -k. */
static bool is_attached_limit(const char *text)
{
    uint64_t bytes;
    unsigned percent;
    char *end;

    return parse_limit(text, &bytes, &percent) &&
           (strtoul(text, &end, 10) > LZ_LEVEL_MAX || end[strspn(end, "kt")] != '\0');
}

/* Finds -M with a limit on memory after it in an argument of letters.  Returns where the M is, or
 * NULL. */
static char *find_attached_limit(char *word, const char *letters)
{
    if (word[0] != '-' || word[1] == '-')
        return NULL;
    for (char *c = word + 1; *c != '\0'; c++) {
        const char *letter = strchr(letters + 1, *c);

        if (*c == 'M' && is_attached_limit(c + 1))
            return c;
        if (letter == NULL || letter[1] == ':')
            return NULL; /* the rest of the argument belongs to this letter */
    }
    return NULL;
}

/* If the argument *word has -M with a limit on memory after it, replaces both by --memory, or
 * applies the limit and cuts them off.  Under other programs' names, the letters are theirs.
 * False, with a message printed, if this source may not hold the limit. */
static bool take_attached_limit(char **word, const char *letters, struct options *o,
                                struct wishes *w, const struct source_of_options *from,
                                struct messages *m)
{
    static char replacement[64]; /* getopt_long reads it after this function */
    char *const found = msg_has_own_name(m) ? find_attached_limit(*word, letters) : NULL;

    if (found == NULL)
        return true;
    if (found == *word + 1 && snprintf(replacement, sizeof(replacement), "--memory=%s", found + 1) <
                                  (int)sizeof(replacement)) {
        *word = replacement;
        return true;
    }
    *found = '\0';
    return apply_row(o, w, from, find_row(OPTION_MEMORY), "memory", found + 1, m);
}

/* Reads one source of options, by the tables *t, which `parse` has made. */
static bool parse_by(const struct tables *t, struct options *o, struct wishes *w,
                     struct source_of_options *from, struct messages *m)
{
    const bool operands_last = getenv("POSIXLY_CORRECT") != NULL;
    const struct option *const long_options = t->long_options;
    const char *const letters = t->letters;
    bool after_one = false; /* the last letter of this argument was 1 */
    /* The first operand in an environment variable, where an operand is an error. */
    const char *operand = NULL;
    /* names: the operands so far.  before: the id of the argument before this one. */
    int names = 0, before = 0, looked_at = 0;

    opterr = 0; /* say_wrong_option prints errors */
    optind = 0; /* makes getopt_long start from the beginning */
    for (;;) {
        const int argument = optind > 0 ? optind : 1;
        int id, row = -1;

        if (argument != looked_at && argument < from->argc &&
            !take_attached_limit(&from->argv[argument], letters, o, w, from, m))
            return false;
        looked_at = argument;
        id = getopt_long(from->argc, from->argv, letters, long_options, &row);
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
    /* Arguments after "--" are operands, too.  The variable GZIP must not contain "--" at all,
     * which is checked below. */
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
 * number plus 1.  False, with a message printed, if an argument is wrong. */
static bool parse(struct options *o, struct wishes *w, struct source_of_options *from,
                  struct messages *m)
{
    /* The tables are static, because they are too large for a small stack, and because options must
     * be read even if no memory can be allocated.  Only one thread reads options. */
    static struct tables tables;

    memset(&tables, 0, sizeof(tables));
    make_tables(from->peer, &tables);
    return parse_by(&tables, o, w, from, m);
}

/* Splits the text of an environment variable into words, as argv[1] and so on.  The words are in
 * *copy.  The caller frees *copy and from->argv.  False if memory is short. */
static bool split_variable(struct source_of_options *from, char **copy)
{
    const char *value = getenv(from->variable);
    /* In the variable GZIP, a newline does not separate words, as in gzip. */
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

/* Applies what the program's name means.  False, with a message printed, if gzlzss does nothing
 * when called by this name. */
static bool apply_program_name(struct options *o, struct wishes *w, const struct peer *peer,
                               struct messages *m)
{
    const struct option_row *implied;
    const char *argument = "";

    o->to_stdout = peers_is_cat(m->program);
    w->decompress = peers_decompresses(m->program);
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
    return options_conclude(o, &w, m);
}
