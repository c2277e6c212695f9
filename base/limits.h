/*
 * limits.h - how many processors and how much memory this process may use
 */
#ifndef GZLZSS_LIMITS_H
#define GZLZSS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* A set of processors, one bit for each.  Linux supports up to 8192 processors.  (The cpu_set_t of
 * C libraries has only 1024 bits, and the system refuses to fill in a set that is smaller than its
 * own.) */
struct limits_set {
    unsigned long bits[8192 / (8 * sizeof(unsigned long))];
};

/* Finds the processors on which the calling thread may run.  Returns false, and an empty set, if
 * the system does not tell which these are. */
bool limits_affinity(struct limits_set *set);

/* Returns the number of processors on which the calling thread may run, 1 or more.  If the system
 * does not tell that number, returns the number of all processors that are online. */
int limits_processors(void);

struct limits {
    /* Threads that can run at the same time, 1 or more. */
    int threads;
    /* Bytes of memory that the process may use; UINT64_MAX if unknown. */
    uint64_t memory;
    /* Bytes of memory that the process may map, whether used or not; UINT64_MAX if there is no
     * limit. */
    uint64_t address_space;
};

/* Returns the bytes of memory that the process may map: the lower of RLIMIT_AS and RLIMIT_DATA, or
 * UINT64_MAX if there is no limit.  RLIMIT_DATA counts private writable memory, which is nearly all
 * that this process maps. */
uint64_t limits_mapped(void);

/*
 * Finds all limits:
 *
 *   - threads: limits_processors(), but no more than the CPU quotas of the process's control groups
 *     allow, rounded up;
 *   - memory: the machine's, or the lowest limit of the control groups if that is lower;
 *   - address_space: limits_mapped().
 *
 * limits_read reads control groups of versions 1 and 2: the process's own groups, and those groups
 * above them that the process can see.  If a file cannot be read, its limit counts as no limit.
 *
 * `root` is put in front of the names of all files that are read.  It is "" except in tests.
 */
void limits_read(struct limits *l, const char *root);

#endif
