/*
 * device.h - device memory for tests of kernels; on the emulated device, memory of the heap
 */
#ifndef GZLZSS_TESTS_UNIT_DEVICE_H
#define GZLZSS_TESTS_UNIT_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#ifdef REAL_DEVICE
void *device_alloc(size_t size);
void device_free(void *p);
void device_get(void *to, const void *from, size_t size);
void device_put(void *to, const void *from, size_t size);

/* Hides host memory from the emulated device.  A real device does not know host memory anyway. */
static inline void device_hide(const void *p, size_t size)
{
    (void)p;
    (void)size;
}
#else
extern struct emulated_memory {
    const void *start;
    size_t size;
} emulated_unknown;

static inline void device_hide(const void *p, size_t size)
{
    emulated_unknown = (struct emulated_memory){p, size};
}

static inline void *device_alloc(size_t size)
{
    return unit_need(malloc(size > 0 ? size : 1));
}

static inline void device_free(void *p)
{
    free(p);
}

static inline void device_get(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}

static inline void device_put(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}
#endif

#endif
