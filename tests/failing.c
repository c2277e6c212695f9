/*
 * failing.c - a library for LD_PRELOAD that makes allocations fail, as if memory were short
 *
 * The library counts the allocations of at least FAIL_MIN bytes (default 4096) of all threads
 * together.  Allocations are calls of malloc and similar functions, and mappings, including thread
 * stacks.  Allocation number FAIL_N and all later allocations fail.  If FAIL_ONE is set, only
 * number FAIL_N fails.  If FAIL_COUNT is set, the library prints the number of allocations when the
 * program ends.
 *
 * The library calls glibc's malloc by names that exist only in glibc.  With another C library, it
 * does nothing.
 */
#include "config.h"

#include <features.h>

#ifdef __GLIBC__

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long counted;

static long number(const char *name, long otherwise)
{
    const char *value = getenv(name);

    return value != NULL ? atol(value) : otherwise;
}

/* If this allocation of `size` bytes must fail, sets errno and returns true. */
static bool fails(size_t size)
{
    const long first = number("FAIL_N", 0);
    long n;

    if (size < (size_t)number("FAIL_MIN", 4096))
        return false;
    n = atomic_fetch_add(&counted, 1) + 1;
    if (first == 0 || n < first || (n > first && getenv("FAIL_ONE") != NULL))
        return false;
    errno = ENOMEM;
    return true;
}

VISIBLE void *malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

VISIBLE void *calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __libc_calloc(count, size);
}

VISIBLE void *realloc(void *memory, size_t size)
{
    return fails(size) ? NULL : __libc_realloc(memory, size);
}

VISIBLE void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(size) ? NULL : __libc_memalign(alignment, size);
}

VISIBLE void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    return (flags & MAP_ANONYMOUS) != 0 && fails(size)
               ? MAP_FAILED
               : next(at, size, protection, flags, fd, offset);
}

static __attribute__((destructor)) void tell(void)
{
    char text[32];
    int length;

    if (getenv("FAIL_COUNT") == NULL)
        return;
    length = snprintf(text, sizeof(text), "COUNT %ld\n", atomic_load(&counted));
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(1);
}

#endif
