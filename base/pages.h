/*
 * pages.h - returns memory to the system, but keeps its addresses for later use
 */
#ifndef GZLZSS_BASE_PAGES_H
#define GZLZSS_BASE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Gives all whole pages between `from` and `to` back to the system.  Both addresses lie in memory
 * from malloc().  The caller may use the memory again; each byte of it is then zero, or
 * unchanged. */
static inline void pages_give_back(void *from, const void *to)
{
#ifdef MADV_DONTNEED
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)from + page - 1) / page * page;
    const uintptr_t end = (uintptr_t)to / page * page;

    if (first < end)
        (void)madvise((uint8_t *)from + (first - (uintptr_t)from), end - first, MADV_DONTNEED);
#else
    (void)from;
    (void)to;
#endif
}

#endif
