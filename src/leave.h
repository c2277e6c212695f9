/*
 * leave.h - the end of a program that has used a GPU
 */
#ifndef GZLZSS_LEAVE_H
#define GZLZSS_LEAVE_H

#ifdef __linux__
#include <sys/syscall.h>
#endif

/* Defined where there may be a child, see below.  (ThreadSanitizer takes any clone for a fork, which
 * does not share memory.) */
#if defined(__linux__) && defined(SYS_pidfd_open) && defined(SYS_ppoll)
#define LEAVE_HAS_CHILD
#endif
#ifdef __SANITIZE_THREAD__
#undef LEAVE_HAS_CHILD
#endif
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#undef LEAVE_HAS_CHILD
#endif
#endif

/*
 * leave ends the process with this exit status, as _exit does, but does not make whoever waits for it
 * wait until the system has taken back the memory and the GPUs that it used, which takes the driver
 * 0.1 s or more.  A child that shares the memory and the descriptors keeps both alive until the
 * process has ended, and then ends, too; it does nothing else, and takes no signals.  Linkers with a
 * lot of memory to give back have a child for that, too (mold, by R. Ueyama).
 *
 * Descriptors that leave_prepare has seen are closed, and the working directory is left, so that the
 * child keeps nothing busy that others may wait for, but for what it was loaded from.
 *
 * There is no such child, and leave is no more than _exit, where the system does not allow it; and
 * where 16 of earlier runs are still there as zombies: then process 1 does not do its part, which is
 * to wait for orphans, as in a container whose program was not made to be process 1.
 */
_Noreturn void leave(int status);

/* Notes which descriptors below 256 are open: to be called before any is opened. */
void leave_prepare(void);

#endif
