/*
 * options.h - the command line
 */
#ifndef GZLZSS_OPTIONS_H
#define GZLZSS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/messages.h"
#include "src/pipeline.h"

enum action {
    ACTION_COMPRESS,
    ACTION_DECOMPRESS,
    ACTION_TEST,
    ACTION_LIST_DEVICES,
    ACTION_HELP,
    ACTION_VERSION,
};

struct options {
    enum action action;
    bool to_stdout; /* -c; what is read from standard input goes there anyway */
    bool keep;
    bool force;
    bool no_name;
    int verbose; /* times -v was given */
    struct pipeline_config pipeline;
    char **names; /* the operands */
    int name_count;
};

/*
 * Reads the command line.  Returns false, with a message printed, if it makes no sense.  argv may
 * be put into another order; names points into it.
 */
bool options_parse(struct options *o, int argc, char **argv, struct messages *m);

/* Prints what --help and --version print. */
void options_help(const char *program);
void options_version(void);

#endif
