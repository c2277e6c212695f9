/*
 * leave.h - ends a program that has used a GPU, without making its parent wait for the driver
 */
#ifndef GZLZSS_LEAVE_H
#define GZLZSS_LEAVE_H

#ifdef __linux__
#include <sys/syscall.h>
#endif

/* Defined if leave may start a child process.  (Not with ThreadSanitizer: it takes any clone for a
 * fork, which does not share memory.) */
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
 * The system takes back the memory and the GPUs that a process has used, for which the driver needs
 * 0.1 s or more.  With _exit, the parent waits for that.  So leave starts a child process that
 * shares the memory and the descriptors.  The child keeps both in use until the process has ended.
 * Then the child ends, too, and the system takes everything back.  The child does nothing else, and
 * takes no signals.  (The linker mold, by R.  Ueyama, has a child for the same purpose.)
 *
 * The child must keep nothing in use that others may wait for.  So leave closes the descriptors
 * that leave_prepare saw, and leaves the working directory.  Only the files that the program was
 * loaded from stay in use.
 *
 * In three cases, there is no child, and leave does what _exit does:
 *
 * - The system does not allow one.
 * - The process is part of a batch system's job (Slurm, PBS, LSF, Grid Engine, Flux, OAR, HTCondor,
 *   Kubernetes), as its environment says: such a system must not find a process left behind.
 * - The children of 16 earlier runs are still there as zombies, or leave cannot see whether they
 *   are.  Zombies mean that the process that gets orphans does not wait for them.  That is process
 *   1, as in a container whose program was not made to be process 1; or an ancestor that asked for
 *   orphans (PR_SET_CHILD_SUBREAPER).
 */
_Noreturn void leave(int status);

/* Notes which descriptors below 256 are open.  Call it before the program opens any. */
void leave_prepare(void);

#endif
