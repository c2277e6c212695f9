/*
 * grow.h - an output in memory that grows as it is written
 */
#ifndef GZLZSS_LIB_GROW_H
#define GZLZSS_LIB_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory.  All fields but the first three are 0 at first. */
struct grow {
    /* Makes the memory larger or smaller (gzlzss_compress_new). */
    void *(*resize)(void *ctx, void *memory, size_t size);
    void *ctx;
    size_t first; /* bytes to ask for first */
    uint8_t *bytes;
    size_t room, len; /* bytes of memory, and bytes that were put there */
};

/* Puts more bytes after those that are there.  False, with errno set, if there is no memory. */
bool grow_put(struct grow *g, const void *bytes, size_t len);

/* Gives back memory that is not needed. */
void grow_fit(struct grow *g);

#endif
