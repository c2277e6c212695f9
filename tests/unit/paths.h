/*
 * paths.h - runs a unit test once for each path of base/cpu.h that this processor has
 *
 * A test program ends with `return unit_done_on_paths()` in place of `return unit_done()`.  The
 * program then starts itself again without AVX-512, and again without AVX2.  Its test names get the
 * path's name: "ok 7 - shortest (portable)".  All runs make one TAP stream with one plan.
 *
 * glibc leaves out a processor's features if GLIBC_TUNABLES names them (its manual: "Hardware
 * Capability Tunables"), and cpu_path() asks glibc.  So the tests run the objects of the library
 * as they are, and one program has all paths.  Where cpu_path() asks the compiler's library instead
 * (musl, glibc before 2.33), programs run only their highest path.
 */
#ifndef GZLZSS_UNIT_PATHS_H
#define GZLZSS_UNIT_PATHS_H

#include "base/cpu.h"
#include "tests/unit/unit.h"
#include <unistd.h>

#ifdef CPU_FEATURE_ACTIVE
#define UNIT_CHOOSES_PATHS true
#else
#define UNIT_CHOOSES_PATHS false
#endif

/* True in a run for a lower path than the processor's highest. */
static inline bool unit_on_lower_path(void)
{
    return getenv("UNIT_PATH") != NULL;
}

/* A test of its own: glibc has left out what the environment asks it to. */
static void unit_path_is_the_chosen_one(void)
{
    CHECK_EQ(cpu_path(), atoi(getenv("UNIT_PATH")));
}

/* Sets the environment for a run on `path`, and for its numbering of tests. */
static inline void unit_choose_path(enum cpu_path path)
{
    static const char *const without[CPU_PATHS] = {
        [CPU_PORTABLE] = "glibc.cpu.hwcaps=-AVX2,-AVX512F",
        [CPU_AVX2] = "glibc.cpu.hwcaps=-AVX512F",
    };
    static const char *const names[CPU_PATHS] = {
        [CPU_PORTABLE] = "portable",
        [CPU_AVX2] = "AVX2",
    };
    char text[64];

    setenv("GLIBC_TUNABLES", without[path], true);
    setenv("UNIT_SUFFIX", names[path], true);
    snprintf(text, sizeof(text), "%d", (int)path);
    setenv("UNIT_PATH", text, true);
    snprintf(text, sizeof(text), "%d %d", unit_state.tests, unit_state.failed_tests);
    setenv("UNIT_BEFORE", text, true);
}

/* Runs the tests again for each lower path, unless SKIP_LONG is in the environment, then prints the
 * plan.  Returns main()'s exit status. */
static inline int unit_done_on_paths(void)
{
    if (unit_on_lower_path())
        RUN(unit_path_is_the_chosen_one);
    if (UNIT_CHOOSES_PATHS && cpu_path() > CPU_PORTABLE && getenv("SKIP_LONG") == NULL) {
        unit_choose_path(cpu_path() - 1);
        execl("/proc/self/exe", "test", (char *)NULL);
        perror("# /proc/self/exe");
        return EXIT_FAILURE;
    }
    return unit_done();
}

#endif
