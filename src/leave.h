/*
 * leave.h - ends a program that has used a GPU, without making its parent wait for the driver
 */
#ifndef GZLZSS_LEAVE_H
#define GZLZSS_LEAVE_H

#ifdef __linux__
#include <sys/syscall.h>
#endif

/* Defined if leave may start a child process.  With ThreadSanitizer, leave may not: ThreadSanitizer
 * treats clone as fork, and so expects that the child does not share memory. */
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
 * Ends the process with this exit status, as _exit does, but sooner.
 *
 * When a process ends, the driver needs 0.1 s or more to release its GPU memory.  With _exit, the
 * parent waits for that.  So leave starts a child process that shares this process's memory and
 * descriptors, and keeps them in use until this process has ended.  The parent then goes on, while
 * the child ends and the driver releases everything.  The child does nothing else, and takes no
 * signals.  (The linker mold uses a child in the same way.)
 *
 * Other processes may wait for something that this process has in use: the reader of a pipe waits
 * until all its writers have closed it.  So leave closes the inherited descriptors (leave_prepare),
 * and changes the working directory to the root.  The child keeps only the program's own files in
 * use.
 *
 * In three cases, there is no child, and leave does what _exit does:
 *
 * - The system cannot start one.
 * - The process is part of a batch system's job (Slurm, PBS, LSF, Grid Engine, Flux, OAR, HTCondor,
 *   Kubernetes), as its environment says.  Such a system would count or kill a process left behind.
 * - The children of 16 earlier runs are still there as zombies, or leave cannot find out.  These
 *   children are orphans; the system gives them to process 1, or to an ancestor that has asked for
 *   orphans (PR_SET_CHILD_SUBREAPER).  Not every such process waits for its orphans: in a
 *   container, process 1 is often a program that was not made for that.
 */
_Noreturn void leave(int status);

/* Notes which descriptors below 256 are open.  Call this function before the program opens any
 * descriptor. */
void leave_prepare(void);

#endif
