/*
 * isal.c - ISA-L, opened when there is enough for it to do
 */
#include "config.h"

#include "base/isal.h"

#ifndef HAVE_ISAL

typedef int isal_is_not_used; /* C wants a declaration in each file */

#elif !defined(ISAL_SONAME)

static const struct isal linked = {crc32_gzip_refl, isal_inflate_init, isal_inflate};

const struct isal *isal_open(void)
{
    return &linked;
}

const struct isal *isal_for(size_t len)
{
    (void)len;
    return &linked;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Opening ISA-L takes as long as zlib's CRC of some 100 KB. */
#define ENOUGH ((size_t)64 << 10)

/* What is found out once for the process, as the C library's own loader does.  It is never closed. */
static struct isal found;
static _Atomic(const struct isal *) opened;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_size_t asked; /* bytes, by isal_for */

static bool find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    return *(void **)function != NULL;
}

static void open_library(void)
{
    void *library = dlopen(ISAL_SONAME, RTLD_LAZY | RTLD_LOCAL);

    if (library != NULL && find(library, "crc32_gzip_refl", &found.crc32_gzip_refl) &&
        find(library, "isal_inflate_init", &found.inflate_init) &&
        find(library, "isal_inflate", &found.inflate))
        atomic_store(&opened, &found);
}

const struct isal *isal_open(void)
{
    pthread_once(&once, open_library);
    return atomic_load(&opened);
}

const struct isal *isal_for(size_t len)
{
    const struct isal *isal = atomic_load_explicit(&opened, memory_order_acquire);

    if (isal != NULL)
        return isal;
    return atomic_fetch_add(&asked, len) + len < ENOUGH ? NULL : isal_open();
}

#endif
