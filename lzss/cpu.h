/*
 * cpu.h - what the processor at hand can do
 *
 * HAVE_AVX2_PATH is defined where functions are compiled a second time for processors that have
 * vectors of 32 bytes (AVX2) and shifts by any register (BMI2).  The tests build such files with
 * PORTABLE, too: as for other processors.
 */
#ifndef GZLZSS_LZSS_CPU_H
#define GZLZSS_LZSS_CPU_H

#if defined(__x86_64__) && !defined(PORTABLE)
#define HAVE_AVX2_PATH

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
#endif

#endif
