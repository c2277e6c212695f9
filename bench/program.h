/*
 * program.h - functions of the measuring programs in C, which end at the first error
 */
#ifndef GZLZSS_BENCH_PROGRAM_H
#define GZLZSS_BENCH_PROGRAM_H

#include <err.h>
#include <stddef.h>

/* Ends the program with a message. */
static inline __attribute__((noreturn)) void die(const char *what)
{
    errx(1, "%s", what);
}

/* Ends the program if p is NULL; otherwise returns p. p is the result of a function such as
 * malloc(). */
static inline void *need(void *p)
{
    if (p == NULL)
        die("out of memory");
    return p;
}

#endif
