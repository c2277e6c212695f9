/*
 * coverage.c - lets gcov count programs that end without exit handlers (build-aux/coverage.sh)
 *
 * gcov writes its counts in an exit handler.  _exit runs no such handlers, and neither does a
 * process that a signal ends.  In the build for coverage, the linker's option --wrap makes calls of
 * these functions calls of the functions below, which write the counts first.
 *
 * COVERAGE_CPU_PATH in the environment is the highest path that base/cpu.h chooses; by default, the
 * processor decides.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cpu.h"

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_raise(int signal_number);
int __wrap_raise(int signal_number);
int __real_kill(pid_t pid, int signal_number);
int __wrap_kill(pid_t pid, int signal_number);

enum cpu_path coverage_cpu_path = CPU_PATHS;

__attribute__((constructor)) static void choose_path(void)
{
    const char *path = getenv("COVERAGE_CPU_PATH");

    if (path != NULL)
        coverage_cpu_path = (enum cpu_path)atoi(path);
}

void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int __wrap_raise(int signal_number)
{
    __gcov_dump();
    return __real_raise(signal_number);
}

int __wrap_kill(pid_t pid, int signal_number)
{
    if (pid == getpid())
        __gcov_dump();
    return __real_kill(pid, signal_number);
}
