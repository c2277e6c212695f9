/*
 * limits.h - what the system lets this process have: processors and memory
 */
#ifndef GZLZSS_LIMITS_H
#define GZLZSS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* A set of processors, a bit for each: Linux has no more than 8192.  (C libraries' cpu_set_t has 1024,
 * and the system refuses to fill in a set that is smaller than its own.) */
struct limits_set {
    unsigned long bits[8192 / (8 * sizeof(unsigned long))];
};

/* Finds the processors that the calling thread may run on.  False if the system does not say: then the
 * set is empty. */
bool limits_affinity(struct limits_set *set);

/* How many these are, or else how many the machine has; 1 or more. */
int limits_processors(void);

struct limits {
    int threads;            /* processors, 1 or more: as many threads can run at a time */
    uint64_t memory;        /* bytes that the process may fill; UINT64_MAX: nobody says */
    uint64_t address_space; /* bytes that it may have mapped, filled or not; likewise */
};

/* The bytes that the process may have mapped: the less of RLIMIT_AS and RLIMIT_DATA, of which the latter is
 * about what only this process can write to, and so about nearly all that it asks for; UINT64_MAX if there
 * is no limit. */
uint64_t limits_mapped(void);

/*
 * Finds out.  Processors are those of the affinity mask, but no more than the CPU quotas of the
 * process's control groups allow, rounded up.  Memory is the machine's, or the least limit of the
 * control groups; address space is limits_mapped().  Control groups of versions 1 and 2 count, and those
 * above them as far as they can be seen.  What cannot be read limits nothing.
 *
 * `root` is put before the names of all files that are read: "" but in tests.
 */
void limits_read(struct limits *l, const char *root);

#endif
