/*
 * options.h - reads the options of the command line and of environment variables
 */
#ifndef GZLZSS_OPTIONS_H
#define GZLZSS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/messages.h"
#include "src/range.h"
#include "pipeline/pipeline.h"

enum action {
    ACTION_COMPRESS,
    ACTION_DECOMPRESS,
    ACTION_TEST,
    ACTION_LIST,
    /* The actions from here on only print something; operands are ignored. */
    ACTION_LIST_DEVICES,
    ACTION_LIST_MATCHERS,
    ACTION_HELP,
    ACTION_VERSION,
    ACTION_LICENSE,
};

/* At most this many environment variables hold options: GZIP, GZLZSS, and perhaps that of the
 * program by whose name gzlzss is called (peers.h). */
#define OPTIONS_VARIABLES 3

struct options {
    enum action action;
    /* -c, or the program is called as zcat or the like.  (If the input is standard input, the
     * output goes to standard output in any case.) */
    bool to_stdout;
    bool keep;
    bool force;
    bool recursive;
    bool no_name; /* do not store the name, or do not restore the stored name */
    bool no_time; /* do not store the time, or do not restore the stored time */
    bool synchronous;
    bool atomic;            /* name each output only once it is complete */
    bool progress;          /* show the progress line even if standard error is no terminal */
    bool stdin_is_closed;   /* standard input was closed when the program started */
    bool presume_input_tty; /* gzip's option for its tests: treat standard input as a terminal */
    int verbose;            /* how often -v was given */
    bool makes_index;       /* write an index of each compressed file */
    const char *index_file; /* the name of the index to read or write, or NULL */
    struct range *ranges;   /* ranges[0..range_count): what to write of the data; all if none */
    size_t range_count;
    const char *suffix;              /* 1 to NAMES_SUFFIX_MAX bytes */
    const char *matcher;             /* the argument of --matcher (papers/papers.h), or NULL */
    struct pipeline_config pipeline; /* the limits on memory are not set yet (run.h) */
    /* An option gave the number of threads; if not, it is the number of cores in the affinity
     * mask. */
    bool threads_given;
    char **names; /* the operands; "-", or an empty list, means standard input */
    int name_count;
    /* Copies of the environment variables that hold options, or NULL.  Other fields may point into
     * them. */
    char *variables[OPTIONS_VARIABLES];
};

/*
 * Reads the environment variables GZIP and GZLZSS, then the command line.  The name by which the
 * program was called (m->program) counts, too: if it is another program's, options mean what they
 * mean to that program, and that program's variable is read (peers.h).
 *
 * -q and -v set m->quiet.  False, with a message printed, if an option is wrong or memory is short.
 * This may reorder argv; argv must stay valid as long as *o.  Call options_free afterwards,
 * whatever this returns.
 */
bool options_parse(struct options *o, int argc, char **argv, struct messages *m);

/* Frees what options_parse has allocated. */
void options_free(struct options *o);

/* Whether there is one input: one operand and no --recursive, or no operand (standard input). */
bool options_name_one(const struct options *o);

/* Prints what --help prints, for a program called by this name. */
void options_help(const char *program);

/* Prints what --matcher=help prints. */
void options_matchers(void);

/* Prints what --version prints. */
void options_version(void);

/* Prints what --license prints. */
void options_license(void);

/* Prints the options as gzlzss-mpi's --help lists them. */
void options_list_for_mpi(void);

#endif
