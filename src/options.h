/*
 * options.h - reads the options of the command line and of environment variables
 */
#ifndef GZLZSS_OPTIONS_H
#define GZLZSS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Where -d makes holes in place of zeros (base/sparse.h). */
enum sparse {
    SPARSE_FILES,  /* in files, but not in standard output */
    SPARSE_ALWAYS, /* in standard output, too, if it is a file that can be made longer */
    SPARSE_NEVER,
};

/* At most this many environment variables hold options: GZIP, GZLZSS, and perhaps the variable of
 * the program by whose name gzlzss is called (peers.h). */
#define OPTIONS_VARIABLES 3

struct options {
    enum action action;
    /* The option -c was given, or the program is called as zcat or the like.  Even if this is
     * false, the output of standard input goes to standard output. */
    bool to_stdout;
    bool keep;
    bool force;
    bool recursive;
    bool no_name; /* do not store the name, or do not restore the stored name */
    bool no_time; /* do not store the time, or do not restore the stored time */
    bool recover; /* decompress what is left of a damaged file */
    int fill;     /* with `recover`: the byte that takes the place of each unknown or lost byte */
    bool exact;   /* -l decompresses all members, and prints the sums of their sizes */
    bool synchronous;
    bool atomic;             /* name each output only once it is complete */
    bool progress;           /* show the progress line even if standard error is no terminal */
    bool no_progress;        /* never show the progress line */
    bool stdin_is_closed;    /* standard input was closed when the program started */
    bool presume_input_tty;  /* gzip's option for its tests: treat standard input as a terminal */
    int verbose;             /* how often -v was given */
    bool exclude_compressed; /* do not compress a file that starts as compressed data does */
    bool json;               /* print a JSON object about each file (json.h) */
    enum sparse sparse;
    bool makes_index;       /* write an index of each compressed file */
    const char *index_file; /* the name of the index to read or write, or NULL */
    struct range *ranges;   /* ranges[0..range_count): the parts of the data to write; if none, all
                             * data */
    size_t range_count;
    const char *suffix;  /* 1 to NAMES_SUFFIX_MAX bytes */
    const char *matcher; /* the argument of --matcher (papers/papers.h), or NULL */
    const char *alias;   /* the name that the header has for standard input, or NULL */
    const char *comment; /* the comment in the header, or NULL */
    /* The output's name, if there is only one input.  NULL: each output's name is made from its
     * input's name. */
    const char *output;
    const char *output_dir; /* a directory for all outputs; NULL: outputs are beside the inputs */
    bool mirror;            /* in output_dir, make directories like those of the inputs */
    /* A file with names of inputs, in addition to `names`; "-": standard input; NULL: none. */
    const char *files_from;
    bool null_names; /* names in files_from end with zero bytes, not with newlines */
    uint64_t memory; /* bytes of memory that the user allows; 0: as many as the system allows */
    unsigned memory_percent; /* the percentage of the system's limit that the user allows; 0: see
                              * `memory` */
    struct pipeline_config pipeline; /* the limits on memory are not set yet (run.h) */
    /* An option gave the number of threads.  If no option did, there is one thread for each core in
     * the affinity mask. */
    bool threads_given;
    char **names; /* the operands; "-", or an empty list, means standard input */
    int name_count;
    /* Copies of the environment variables that hold options, or NULL.  Other fields may point into
     * them. */
    char *variables[OPTIONS_VARIABLES];
};

/*
 * Reads the environment variables GZIP and GZLZSS, then the command line.  The name by which the
 * program was called (m->program) counts, too.  If this is the name of another program, options
 * mean what they mean to that program, and its variable is read, too (peers.h).
 *
 * -q and -v set m->quiet.  False, with a message printed, if an option is wrong or memory is
 * short.  The order of argv may change; argv must stay valid as long as *o.  Call options_free
 * afterwards, also after a failure.
 */
bool options_parse(struct options *o, int argc, char **argv, struct messages *m);

/* Frees what options_parse has allocated. */
void options_free(struct options *o);

/* Whether there is only one input.  This is so without --files-from if there is one operand and no
 * --recursive, or if there is no operand (the input is standard input). */
bool options_name_one(const struct options *o);

/* Whether standard input is an input: there is no operand at all, or one is "-". */
bool options_read_stdin(const struct options *o);

/* Prints what --help prints, for a program called by this name. */
void options_help(const char *program);

/* Prints what --matcher=help prints. */
void options_matchers(void);

/* Prints what --license prints. */
void options_license(void);

/* Prints the options as gzlzss-mpi's --help lists them. */
void options_list_for_mpi(void);

#endif
