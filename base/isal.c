/*
 * isal.c - loads ISA-L when there is enough work for it (isal.h)
 */
#include "config.h"

#include "base/isal.h"

#include <stddef.h>

#ifndef HAVE_ISAL

const char *isal_why_not(void)
{
    return "this gzlzss was built without it";
}

#else

#include <isa-l.h>
#include <stdatomic.h>
#include <stdio.h>

/* The version of ISA-L's headers, as a string. */
#define DIGITS(number) DIGITS_OF(number)
#define DIGITS_OF(number) #number
#define HEADERS                \
    DIGITS(ISAL_MAJOR_VERSION) \
    "." DIGITS(ISAL_MINOR_VERSION) "." DIGITS(ISAL_PATCH_VERSION)

/* Whether ISA-L's inflate is right; determined once per process. */
static _Atomic(enum isal_verdict) verdict;

const struct isal *isal_open_inflate(enum isal_verdict (*try)(const struct isal *isal, void *ctx),
                                     void *ctx)
{
    const struct isal *isal = isal_open();
    enum isal_verdict known = atomic_load(&verdict);

    if (isal != NULL && known == ISAL_UNKNOWN) {
        known = try(isal, ctx);
        if (known != ISAL_UNKNOWN)
            atomic_store(&verdict, known);
    }
    return known == ISAL_RIGHT ? isal : NULL;
}

const struct isal *isal_if_tried(void)
{
    return atomic_load(&verdict) == ISAL_RIGHT ? isal_open() : NULL;
}

#ifndef ISAL_SONAME

static const struct isal linked = {crc32_gzip_refl, isal_adler32, isal_inflate_init, isal_inflate};

const struct isal *isal_open(void)
{
    return &linked;
}

void isal_version(char text[ISAL_VERSION_SIZE])
{
    snprintf(text, ISAL_VERSION_SIZE, HEADERS ", linked");
}

const char *isal_why_not(void)
{
    return atomic_load(&verdict) == ISAL_WRONG ? "it does not decompress as expected" : NULL;
}

const struct isal *isal_for(uint64_t bytes)
{
    (void)bytes;
    return &linked;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A CRC of this many bytes or more is worth loading ISA-L.  Loading takes 70 us on an EPYC, where
 * zlib 1.2.13 computes the CRC of 500 KB in that time; on a slower machine, zlib computes less.  If
 * you lower this number, small files take longer; if you raise it, larger files take longer. */
#define ENOUGH ((uint64_t)256 << 10)

/* ISA-L's functions.  They are found once for the process; ISA-L is never unloaded. */
static struct isal found;

/* &found once ISA-L is loaded.  NULL before that, and also if ISA-L cannot be loaded. */
static _Atomic(const struct isal *) loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_symbol(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    return *(void **)function != NULL;
}

static void load(void)
{
    void *library = dlopen(ISAL_SONAME, RTLD_LAZY | RTLD_LOCAL);

    if (library != NULL && find_symbol(library, "crc32_gzip_refl", &found.crc32_gzip_refl) &&
        find_symbol(library, "isal_inflate_init", &found.inflate_init) &&
        find_symbol(library, "isal_inflate", &found.inflate)) {
        /* Older versions of ISA-L have no isal_adler32. */
        (void)find_symbol(library, "isal_adler32", &found.adler32);
        atomic_store(&loaded, &found);
    }
}

const struct isal *isal_open(void)
{
    pthread_once(&once, load);
    return atomic_load_explicit(&loaded, memory_order_acquire);
}

void isal_version(char text[ISAL_VERSION_SIZE])
{
    Dl_info info;
    char *path = NULL;

    /* The soname is a symbolic link.  The name of the file to which it points has the complete
     * version. */
    if (dladdr(*(void **)&found.inflate, &info) != 0)
        path = realpath(info.dli_fname, NULL);
    snprintf(text, ISAL_VERSION_SIZE, "%.60s, built with " HEADERS,
             path != NULL ? strrchr(path, '/') + 1 : ISAL_SONAME);
    free(path);
}

const char *isal_why_not(void)
{
    if (isal_open() == NULL)
        return ISAL_SONAME " could not be loaded";
    return atomic_load(&verdict) == ISAL_WRONG ? ISAL_SONAME " does not decompress as expected"
                                               : NULL;
}

const struct isal *isal_for(uint64_t bytes)
{
    /* The bytes of all calls so far, up to about ENOUGH. */
    static atomic_uint_least64_t together;
    const struct isal *isal = atomic_load_explicit(&loaded, memory_order_acquire);

    if (isal != NULL)
        return isal;
    if (bytes < ENOUGH && atomic_load_explicit(&together, memory_order_relaxed) < ENOUGH &&
        atomic_fetch_add_explicit(&together, bytes, memory_order_relaxed) + bytes < ENOUGH)
        return NULL;
    return isal_open();
}

#endif

#endif
