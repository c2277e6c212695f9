/*
 * cpu.h - chooses the version of a function that this processor can run
 *
 * A few loops are compiled in up to three versions, called paths:
 *
 *   - CPU_PORTABLE, in plain C, for every processor;
 *   - CPU_AVX2, with AVX2_PATH, for x86-64 processors with vectors of 32 bytes (AVX2) and shifts by
 *     any register (BMI2);
 *   - CPU_AVX512, with AVX512_PATH, for processors that have vectors of 64 bytes as well (AVX-512
 *     F, BW, CD and VBMI): Intel's servers since Ice Lake, and AMD's processors since Zen 4.
 *
 * All versions give the same results.  Every module chooses its version in the same way: it has a
 * struct of function pointers, and a constant array of CPU_PATHS such structs, indexed by path.
 * When the module makes an object, it stores in the object a pointer to the array's entry for
 * cpu_path().  An entry may repeat the function of a lower path; the entry of a path that is not
 * compiled stays empty, as cpu_path() never returns that path.  Each function processes many bytes
 * (a block of positions, a chunk's sequences), so calls through the pointer are rare, and cost
 * hardly any time.
 *
 * HAVE_AVX2_PATH and HAVE_AVX512_PATH are defined if CPU_AVX2 and CPU_AVX512 are compiled.  Tests
 * run each path that the processor has (tests/unit/paths.h).  In fuzz programs, CPU_PATH_MOST is
 * the name of a variable: the highest path that cpu_path() returns.
 */
#ifndef GZLZSS_BASE_CPU_H
#define GZLZSS_BASE_CPU_H

enum cpu_path { CPU_PORTABLE, CPU_AVX2, CPU_AVX512, CPU_PATHS };

/* Prevents inlining, so that the function has all registers to itself. */
#define NOINLINE __attribute__((noinline))

#ifdef __x86_64__
#define HAVE_AVX2_PATH
#define AVX2_PATH __attribute__((target("avx2,bmi2")))
#define HAVE_AVX512_PATH
#define AVX512_PATH __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512cd,avx512vbmi")))

#include <stdbool.h>

/*
 * __builtin_cpu_supports() makes the program execute the CPUID instruction about ten times at its
 * start.  In a virtual machine, each CPUID goes to the hypervisor; on the machine where that was
 * measured, the ten CPUIDs took 5 us.  The C library executes CPUID in any case, and glibc 2.34 and
 * later give its results to programs through the header below.
 */
#ifdef HAVE_SYS_PLATFORM_X86_H
#include <sys/platform/x86.h>
#endif

static inline bool cpu_has_avx2(void)
{
#ifdef CPU_FEATURE_ACTIVE
    return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI2);
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
}

static inline bool cpu_has_avx512(void)
{
    if (!cpu_has_avx2())
        return false;
#ifdef CPU_FEATURE_ACTIVE
    return CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) &&
           CPU_FEATURE_ACTIVE(AVX512CD) && CPU_FEATURE_ACTIVE(AVX512_VBMI);
#else
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi");
#endif
}
#endif

#ifdef CPU_PATH_MOST
extern enum cpu_path CPU_PATH_MOST;
#endif

/* The fastest compiled path that this processor can run. */
static inline enum cpu_path cpu_path(void)
{
#ifdef CPU_PATH_MOST
    if (CPU_PATH_MOST == CPU_PORTABLE)
        return CPU_PORTABLE;
#endif
#ifdef HAVE_AVX512_PATH
#ifdef CPU_PATH_MOST
    if (CPU_PATH_MOST >= CPU_AVX512)
#endif
        if (cpu_has_avx512())
            return CPU_AVX512;
#endif
#ifdef HAVE_AVX2_PATH
    if (cpu_has_avx2())
        return CPU_AVX2;
#endif
    return CPU_PORTABLE;
}

#endif
