/*
 * cpu.h - what the processor at hand can do
 *
 * HAVE_AVX2_PATH is defined where functions are compiled a second time, with AVX2_PATH, for
 * processors that have vectors of 32 bytes (AVX2) and shifts by any register (BMI2).
 * HAVE_AVX512_PATH is defined where there are functions, compiled with AVX512_PATH, for those that
 * have vectors of 64 bytes as well (AVX-512 F, BW, CD and VBMI): Intel's servers since Ice Lake,
 * and AMD's processors since Zen 4.  The tests build such files with PORTABLE, too, as for other
 * processors, and with WITHOUT_AVX512.
 */
#ifndef GZLZSS_BASE_CPU_H
#define GZLZSS_BASE_CPU_H

/* Keeps a function out of its caller, so that it has all registers. */
#define NOINLINE __attribute__((noinline))

#if defined(__x86_64__) && !defined(PORTABLE)
#define HAVE_AVX2_PATH
#define AVX2_PATH __attribute__((target("avx2,bmi2")))

#ifndef WITHOUT_AVX512
#define HAVE_AVX512_PATH
#define AVX512_PATH __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512cd,avx512vbmi")))
#endif

#include <stdbool.h>

/*
 * The compiler's __builtin_cpu_supports() asks the processor some ten times when the program
 * starts, and in a virtual machine each of these instructions (CPUID) goes to the hypervisor: 5 us
 * where this was measured.  The C library has asked already, and glibc 2.34 and later tell.
 */
#ifdef HAVE_SYS_PLATFORM_X86_H
#include <sys/platform/x86.h>
#endif

static inline bool cpu_has_avx2_path(void)
{
#ifdef CPU_FEATURE_ACTIVE
    return CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI2);
#else
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#endif
}

#ifdef HAVE_AVX512_PATH
static inline bool cpu_has_avx512_path(void)
{
    if (!cpu_has_avx2_path())
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
#endif

#endif
