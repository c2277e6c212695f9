/*
 * faults.h - what the library that makes calls fail (shim.c) and the program that uses it share
 *
 * The environment tells the library what to do:
 *
 *   FAULT="CALL N WHAT"   call number N of CALL fails, or something happens at it
 *   FAULT="CALL N+ WHAT"  so do all later calls
 *   FAULT="CALL N/ WHAT"  so do calls N, 2N, 3N, ...
 *
 * CALL is a name from the list below.  `any` counts all calls of the list but those for memory.
 * WHAT is one of these:
 *
 *   EIO, ENOSPC, ...      the call fails with this errno
 *   short                 the call transfers half of the bytes (read, pread, write, writev, tee,
 *                         splice)
 *   before-TERM, after-KILL, ...   the process gets the signal before or after the call
 *   grow, shrink, rewrite, replace, remove, move, appear   before the call, another process seems
 *                         to change the file FAULT_FILE (enum change)
 *
 * More variables:
 *
 *   FAULT_FILE=PATH       the file that changes
 *   FAULT_OTHER=PATH      the file that replaces it
 *   FAULT_MIN=BYTES       smaller allocations do not count and do not fail (default 1)
 *   FAULT_OWN=1           only calls of the program itself count, not those of its libraries
 *   FAULT_RANK=N          do nothing except in rank N of MPI
 *   FAULT_EXT4=1          fstatfs says that each file is on ext4
 *   FAULT_SHARED=PATH     a file of sizeof(struct shared) bytes for the counts
 *   FAULT_COUNT=1         at the end, print "COUNT CALL NUMBER" for each call that was made
 */
#ifndef GZLZSS_TESTS_FAULTS_FAULTS_H
#define GZLZSS_TESTS_FAULTS_FAULTS_H

#include <stdatomic.h>

/* The calls.  `memory` is malloc, calloc, realloc, aligned_alloc, posix_memalign and mmap without
 * a file; `mmap` is mmap of a file. */
#define CALLS(X)         \
    X(read)              \
    X(pread)             \
    X(write)             \
    X(writev)            \
    X(pwrite)            \
    X(tee)               \
    X(splice)            \
    X(close)             \
    X(fsync)             \
    X(fchmod)            \
    X(fchown)            \
    X(futimens)          \
    X(fallocate)         \
    X(ftruncate)         \
    X(lseek)             \
    X(fstat)             \
    X(fstatfs)           \
    X(dup)               \
    X(fcntl)             \
    X(ioctl)             \
    X(open)              \
    X(openat)            \
    X(linkat)            \
    X(renameat)          \
    X(renameat2)         \
    X(unlinkat)          \
    X(mkdir)             \
    X(mkdirat)           \
    X(fstatat)           \
    X(stat)              \
    X(readlink)          \
    X(realpath)          \
    X(access)            \
    X(name_to_handle_at) \
    X(fdopendir)         \
    X(readdir)           \
    X(fopen)             \
    X(fdopen)            \
    X(fwrite)            \
    X(fflush)            \
    X(fclose)            \
    X(pipe2)             \
    X(poll)              \
    X(getrandom)         \
    X(dlopen)            \
    X(madvise)           \
    X(mmap)              \
    X(pthread_create)    \
    X(memory)            \
    X(any)

enum call {
#define CALL_ID(name) CALL_##name,
    CALLS(CALL_ID)
#undef CALL_ID
        CALL_COUNT
};

static const char *const call_names[] = {
#define CALL_NAME(name) #name,
    CALLS(CALL_NAME)
#undef CALL_NAME
};

/* What happens to FAULT_FILE: five bytes are added; its second half is cut off; its first byte
 * changes, but neither its size nor its time; FAULT_OTHER is renamed to it; it is removed; it is
 * renamed to FAULT_OTHER; it appears, with the five bytes. */
#define CHANGES(X) X(grow) X(shrink) X(rewrite) X(replace) X(remove) X(move) X(appear)
#define CHANGE_TEXT "more\n"

/* What the library tells the program. */
struct shared {
    atomic_long counts[CALL_COUNT];
    atomic_int fired;    /* how often a fault happened */
    atomic_int at;       /* the call (enum call) at which the first one happened */
    atomic_int writable; /* it was a call on a regular file that was open for writing */
    atomic_int changed;  /* FAULT_FILE has changed; 0 also if the change failed */
    /* FAULT_FILE has changed in a call of another thread while the main thread was about to call
     * unlinkat, or was in it. */
    atomic_int beside;
};

#endif
