/*
 * scenarios.h - the work during which calls fail, and the faults
 */
#ifndef GZLZSS_TESTS_FAULTS_SCENARIOS_H
#define GZLZSS_TESTS_FAULTS_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/faults/faults.h"

/* The program to run: the command; the command on an emulated GPU; tests/library, a program that
 * uses the library; the command for many machines, with two ranks. */
enum program { PROGRAM_COMMAND, PROGRAM_EMULATED, PROGRAM_LIBRARY, PROGRAM_RANKS, PROGRAM_COUNT };

/* Flags of a scenario. */
enum {
    IN_PIPE = 1,   /* standard input is a pipe */
    OUT_PIPE = 2,  /* standard output is a pipe */
    ATOMIC = 4,    /* an output has its name only when it is complete */
    SYNCED = 8,    /* a failure of fsync must be told */
    SLOW = 16,     /* a run takes long: only some of the calls fail */
    LIBRARY = 32,  /* messages are those of tests/library, which names no file */
    FEW_CALLS = 64 /* only the calls for room fail, since the file is large */
};

struct scenario {
    const char *name;
    enum program program;
    const char *arguments;   /* separated by blanks */
    const char *files;       /* "NAME=CONTENTS ...", see contents.c */
    const char *in;          /* the contents of standard input; NULL: /dev/null */
    const char *environment; /* "NAME=VALUE ...", or NULL */
    const char *changing;    /* the file that other processes change, or NULL */
    const char *output;      /* the name that another process may take, or NULL */
    unsigned flags;
};

/* The end of the table has no name. */
extern const struct scenario scenarios[];

/* What is allowed to come of a fault. */
enum expectation {
    MAY_SAY, /* it goes on, or it prints why not */
    GOES_ON, /* nobody notices */
    MUST_SAY /* it must not go on */
};

struct fault {
    enum call call;
    char mode;        /* 0, '+' or '/', see faults.h */
    const char *what; /* see faults.h */
    bool is_change, is_signal;
};

/* Returns fault number `number` of a scenario, with .what == NULL after the last. */
struct fault fault_at(size_t number);

/* Whether the fault is of use in the scenario. */
bool fault_suits(const struct fault *f, const struct scenario *s);

/* is_output: the call was on a regular file that is open for writing. */
enum expectation fault_expectation(const struct fault *f, const struct scenario *s, bool is_output);

#endif
