/*
 * options.h - the command line, and the environment's part of it
 */
#ifndef GZLZSS_OPTIONS_H
#define GZLZSS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/messages.h"
#include "pipeline/pipeline.h"

enum action {
    ACTION_COMPRESS,
    ACTION_DECOMPRESS,
    ACTION_TEST,
    ACTION_LIST,
    /* From here on, something is printed and no operand is looked at. */
    ACTION_LIST_DEVICES,
    ACTION_LIST_MATCHERS,
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_LICENSE,
};

/* Environment variables that may hold options: GZIP, one of the program's by whose name this one is
 * called (peers.h), and GZLZSS. */
#define OPTIONS_VARIABLES 3

struct options {
    enum action action;
    bool to_stdout; /* -c, or a name like zcat; standard input's output goes there in any case */
    bool keep;
    bool force;
    bool recursive;
    bool no_name; /* do not store the name, or restore the one stored */
    bool no_time; /* nor the time */
    bool synchronous;
    bool atomic;            /* an output has its name only when it is whole */
    bool progress;          /* show it even if standard error is no terminal */
    bool stdin_is_closed;   /* it was when the program started */
    bool presume_input_tty; /* gzip's, for its tests: standard input is taken for a terminal */
    int verbose;            /* times -v was given */
    const char *suffix;     /* 1 to NAMES_SUFFIX_MAX bytes */
    const char *matcher;    /* what --matcher asks for (papers/papers.h), or NULL */
    struct pipeline_config pipeline; /* its memory is not known yet (limits.h) */
    bool threads_given;              /* by an option; else as many as the affinity mask allows */
    char **names; /* the operands, in argv; "-" is standard input, which none at all means too */
    int name_count;
    /* Copies of the environment variables that hold options, which the above may point into, or
     * NULL. */
    char *variables[OPTIONS_VARIABLES];
};

/*
 * Reads the environment variables GZIP and GZLZSS, then the command line; what the program is
 * called by (m->program) counts too: there may be another variable, and options may mean what they
 * mean to another program (peers.h).  -q and -v set m->quiet.  Returns false, with a message
 * printed, if something makes no sense or memory is short.  argv may be put into another order, and
 * has to stay.  options_free has to follow, whatever this returns.
 */
bool options_parse(struct options *o, int argc, char **argv, struct messages *m);
void options_free(struct options *o);

/* Whether the command line names one file, or none: standard input. */
bool options_name_one(const struct options *o);

/* Prints what --help, --matcher=help, --version and --license print. */
void options_help(const char *program);
void options_matchers(void);
void options_version(void);
void options_license(void);

/* Prints the options as gzlzss-mpi's --help lists them. */
void options_list_for_mpi(void);

#endif
