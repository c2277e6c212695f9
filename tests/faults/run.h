/*
 * run.h - runs a scenario once, with a fault or without
 */
#ifndef GZLZSS_TESTS_FAULTS_RUN_H
#define GZLZSS_TESTS_FAULTS_RUN_H

#include <stdio.h>

#include "tests/faults/contents.h"
#include "tests/faults/scenarios.h"
#include "tests/faults/tree.h"

/* A run that takes longer than this many seconds counts as one that never ends. */
#define RUN_SECONDS 60

struct tools {
    const char *programs[PROGRAM_COUNT]; /* NULL: not there */
    const char *mpirun;
    const char *shim;
    const char *work; /* a directory for everything */
    struct contents contents;
};

/* Where a process makes its runs. */
struct place {
    char *home;  /* the directory that has all of the following */
    char *files; /* the files of the scenario; the command works here */
    char *in, *out, *err;
    char *other;           /* a file that replaces another one, or the new name of a directory */
    char *counts;          /* a file with a struct shared */
    struct shared *shared; /* that file, mapped */
};

struct result {
    int status; /* as waitpid tells */
    bool has_hung;
    struct tree tree;
    struct bytes out, err;
    struct shared shared;
};

void place_make(struct place *p, const struct tools *t, int number);

/* Makes the files of the scenario. */
void run_prepare(const struct tools *t, const struct place *p, const struct scenario *s);

/* Runs the scenario.  `what`: the value of FAULT, or NULL; the caller frees the result. */
void run_once(const struct tools *t, const struct place *p, const struct scenario *s,
              const char *what, struct result *r);

void result_free(struct result *r);

/* Prints the command that repeats a run in p->files, for a shell. */
void run_print(FILE *to, const struct tools *t, const struct place *p, const struct scenario *s,
               const char *what);

#endif
