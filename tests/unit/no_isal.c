/*
 * no_isal.c - replaces base/isal.c in tests: ISA-L can never be loaded
 */
#include "config.h"

#include "base/isal.h"

#include <stddef.h>

#ifdef HAVE_ISAL

const struct isal *isal_open(void)
{
    return NULL;
}

const struct isal *isal_open_inflate(enum isal_verdict (*try)(const struct isal *isal, void *ctx),
                                     void *ctx)
{
    (void)try;
    (void)ctx;
    return NULL;
}

const struct isal *isal_if_tried(void)
{
    return NULL;
}

const struct isal *isal_for(uint64_t bytes)
{
    (void)bytes;
    return NULL;
}

#else

typedef int isal_is_not_used; /* C requires a declaration in each file */

#endif
