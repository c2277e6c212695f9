/*
 * judge.h - the rules that every run must obey
 */
#ifndef GZLZSS_TESTS_FAULTS_JUDGE_H
#define GZLZSS_TESTS_FAULTS_JUDGE_H

#include "tests/faults/run.h"

enum outcome {
    WENT_ON, /* status 0, and everything is as without the fault */
    SAID,    /* an error (status 1); the input is kept, unless its output was complete already */
    WARNED,  /* a warning (status 2); the output is complete */
    ENDED,   /* by the signal that was sent */
    WINDOW,  /* the input changed just before the call that removes it, and is gone (judge.c) */
    LOST,    /* a rule was broken */
    OUTCOMES
};

/* What a scenario does without faults. */
struct normal {
    struct tree before, after;
    struct bytes out, err;
    long counts[CALL_COUNT]; /* the most of several runs */
    struct bytes small;      /* what replaces a file */
};

/* Returns the outcome of a run in which the fault happened.  If it is LOST, *why says which rule
 * was broken; the text is static. */
enum outcome judge(const struct scenario *s, const struct normal *n, const struct fault *f,
                   const struct result *r, const char **why);

/* Whether a run without faults is as it should be: each input that is gone has an output. */
bool judge_normal(const struct normal *n);

#endif
