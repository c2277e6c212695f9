/*
 * grow.h - an output in memory that grows as it is written
 */
#ifndef GZLZSS_LIB_GROW_H
#define GZLZSS_LIB_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory.  Set the first three fields, and zero the rest. */
struct grow {
    /* Makes the memory larger or smaller (gzlzss_compress_new).  If NULL, realloc() does that. */
    void *(*resize)(void *ctx, void *memory, size_t size);
    void *ctx;
    size_t first; /* bytes to ask for first */
    uint8_t *bytes;
    size_t room, len; /* bytes of memory, and bytes that were put there */
};

/* Appends bytes to the output.  Returns false, with errno set, if memory is short. */
bool grow_put(struct grow *g, const void *bytes, size_t len);

/* Returns where the next byte goes, and sets *room to the bytes that there are from there on.
 * Returns NULL if there are none, as before the first grow_put.  To add bytes that were written
 * there, raise `len`. */
uint8_t *grow_next(const struct grow *g, size_t *room);

/* Makes the memory as small as the output, if that is possible. */
void grow_fit(struct grow *g);

#endif
