/*
 * unit.h - a small harness for the unit tests
 *
 * A test is a function without arguments that calls CHECK and CHECK_EQ.  main() calls RUN for each
 * test and returns unit_done().  The output is TAP: "ok 1 - name" or "not ok 1 - name" for each
 * test, preceded by lines "# file:line: ..." for its failed checks, and the plan at the end.
 *
 *     static void test_sum(void)
 *     {
 *         CHECK_EQ(1 + 1, 2);
 *     }
 *
 *     int main(void)
 *     {
 *         RUN(test_sum);
 *         return unit_done();
 *     }
 */
#ifndef GZLZSS_UNIT_H
#define GZLZSS_UNIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allow large stack frames in tests, since tests run on a stack of the usual size.  configure.ac
 * sets the limit for gzlzss. */
#pragma GCC diagnostic ignored "-Wframe-larger-than="

/* Sanitizers are slow.  In a build with a sanitizer, a test may leave out rounds that only combine
 * cases of other rounds in a new way. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_SANITIZED true
#elif defined(__has_feature)
/* clang does not define the macros above. */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNIT_SANITIZED true
#endif
#endif
#ifndef UNIT_SANITIZED
#define UNIT_SANITIZED false
#endif

/* A test prints at most this many failed checks, so that a loop that goes wrong does not bury its
 * first failure. */
#define UNIT_MAX_PRINTED 20

static struct {
    int tests, failed_tests;
    int failed_checks; /* how many checks of the current test have failed */
} unit_state;

/* CHECK and CHECK_EQ return true if the check holds, so that a test can stop: if (!CHECK(p !=
 * NULL)) return; */
#define CHECK(cond) unit_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_EQ(a, b) \
    unit_check_eq((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)

#define RUN(test) unit_run(test, #test)

static inline bool unit_check(bool ok, const char *file, int line, const char *what)
{
    if (!ok && unit_state.failed_checks++ < UNIT_MAX_PRINTED)
        printf("# %s:%d: failed: %s\n", file, line, what);
    return ok;
}

/* Compares integers of any type up to 64 bits, by value modulo 2^64. */
static inline bool unit_check_eq(long long a, long long b, const char *file, int line,
                                 const char *what)
{
    if (a != b && unit_state.failed_checks++ < UNIT_MAX_PRINTED)
        printf("# %s:%d: failed: %s: %lld (%#llx) != %lld (%#llx)\n", file, line, what, a,
               (unsigned long long)a, b, (unsigned long long)b);
    return a == b;
}

/* Continues the numbers of an earlier run of the same program (tests/unit/paths.h). */
static inline void unit_resume(void)
{
    const char *before = getenv("UNIT_BEFORE");

    if (before == NULL || unit_state.tests > 0)
        return;
    if (sscanf(before, "%d %d", &unit_state.tests, &unit_state.failed_tests) != 2)
        abort();
}

/* Runs the test, unless UNIT_ONLY in the environment names another one. */
static inline void unit_run(void (*test)(void), const char *name)
{
    const char *only = getenv("UNIT_ONLY"), *suffix = getenv("UNIT_SUFFIX");

    unit_resume();
    if (only != NULL && strcmp(only, name) != 0)
        return;
    unit_state.failed_checks = 0;
    test();
    unit_state.tests++;
    unit_state.failed_tests += unit_state.failed_checks != 0;
    printf("%s %d - %s", unit_state.failed_checks == 0 ? "ok" : "not ok", unit_state.tests, name);
    if (suffix != NULL)
        printf(" (%s)", suffix);
    puts("");
    fflush(stdout); /* the results so far must be visible if the next test crashes */
}

/* Prints the plan and returns main()'s exit status. */
static inline int unit_done(void)
{
    unit_resume();
    printf("1..%d\n", unit_state.tests);
    return unit_state.failed_tests == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns 64 pseudo-random bits (splitmix64, Vigna 2015).  Every seed in *state is good, including
 * 0, and gives the same numbers everywhere. */
static inline uint64_t unit_rand(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Returns a pseudo-random number from 0 to n - 1, n > 0.  For small n, the numbers are nearly
 * uniform. */
static inline uint64_t unit_below(uint64_t *state, uint64_t n)
{
    return unit_rand(state) % n;
}

/* Returns `memory`, or ends the program if `memory` is NULL. */
static inline void *unit_need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* Reads up to `size` bytes of a file.  Returns how many; 0 if the file cannot be read. */
static inline size_t unit_read_file(const char *name, uint8_t *out, size_t size)
{
    FILE *file = fopen(name, "rb");
    size_t n;

    if (file == NULL)
        return 0;
    n = fread(out, 1, size, file);
    fclose(file);
    return n;
}

#endif
