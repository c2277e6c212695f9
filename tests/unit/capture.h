/*
 * capture.h - catches what is written to standard error
 *
 *     capture_begin();
 *     msg_error(&m, "no");
 *     CHECK(captured("gzlzss: no\n"));
 */
#ifndef GZLZSS_CAPTURE_H
#define GZLZSS_CAPTURE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum { CAPTURE_MAX = 100000 };

static struct {
    int saved; /* a copy of the original standard error */
    char text[CAPTURE_MAX + 1];
    size_t length;
} capture;

/* Lets standard error go to an unnamed file, until capture_end. */
static inline void capture_begin(void)
{
    FILE *file = unit_need(tmpfile());

    fflush(stderr);
    capture.saved = dup(STDERR_FILENO);
    if (capture.saved < 0 || dup2(fileno(file), STDERR_FILENO) < 0)
        abort();
    fclose(file);
}

/* Restores standard error.  capture.text[0..capture.length) is what was written. */
static inline void capture_end(void)
{
    ssize_t n;

    fflush(stderr);
    n = pread(STDERR_FILENO, capture.text, CAPTURE_MAX, 0);
    if (n < 0 || dup2(capture.saved, STDERR_FILENO) < 0)
        abort();
    close(capture.saved);
    capture.length = (size_t)n;
    capture.text[n] = '\0';
}

/* Restores standard error.  True if exactly `want` was written; otherwise prints what was
 * written. */
static inline bool captured(const char *want)
{
    capture_end();
    if (strcmp(capture.text, want) == 0)
        return true;
    printf("# written: \"%.400s\"\n# wanted: \"%.400s\"\n", capture.text, want);
    return false;
}

#endif
