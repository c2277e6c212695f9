/*
 * leave.h - the end of a program that has used a GPU
 */
#ifndef GZLZSS_LEAVE_H
#define GZLZSS_LEAVE_H

#ifdef __linux__
#include <sys/syscall.h>
#endif

/* Defined where there may be a child, see below.  (ThreadSanitizer takes any clone for a fork,
 * which does not share memory.) */
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
 * Ends the process with this exit status, as _exit does, but sooner.  The system has to take back
 * the memory and the GPUs that a process used, for which the driver takes 0.1 s or more; with
 * _exit, the parent waits for that.  leave starts a child that shares the memory and the
 * descriptors.  It keeps both in use until the process has ended; then the child ends, and the
 * system takes them back.  The child does nothing else, and takes no signals.  (The linker mold, by
 * R. Ueyama, has a child for the same purpose.)
 *
 * The child closes the descriptors that leave_prepare saw and leaves the working directory, so that
 * it keeps no file or directory in use that others may wait for, except what the program was loaded
 * from.
 *
 * In two cases there is no child, and leave does what _exit does: where the system does not allow
 * one, and where the children of 16 earlier runs are still there as zombies, or it cannot be seen
 * whether they are.  In the latter case, the process that gets orphans does not wait for them: process 1,
 * as in a container whose program was not made to be process 1, or an ancestor that asked for orphans
 * (PR_SET_CHILD_SUBREAPER).
 */
_Noreturn void leave(int status);

/* Notes which descriptors below 256 are open: to be called before any is opened. */
void leave_prepare(void);

#endif
