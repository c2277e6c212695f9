/*
 * view.h - a buffer that moves along an input that can be read at any place
 */
#ifndef GZLZSS_RECOVER_VIEW_H
#define GZLZSS_RECOVER_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The most bytes that gz_view_at can give at a time. */
#define GZ_VIEW_MOST ((size_t)512 << 10)

/* The caller may also read this many bytes before and after the bytes that gz_view_at returns.  The
 * bytes before are the input's, or zero before the input's start.  The bytes after may have any
 * values. */
#define GZ_VIEW_BACK ((size_t)32)
#define GZ_VIEW_PAD ((size_t)16)

struct gz_view {
    /* The caller's function, as in struct gz_recover_io. */
    ssize_t (*read_at)(void *ctx, void *buf, size_t len, uint64_t offset);
    void *ctx;
    uint64_t size; /* bytes of the input */

    uint8_t *memory; /* GZ_VIEW_BACK bytes, then the buffer */
    uint64_t base;   /* the buffer's first byte is this byte of the input */
    size_t len;      /* bytes in the buffer */
};

/* Allocates the buffer of a view whose first three members the caller has set.  Returns false if
 * memory is short. */
bool gz_view_open(struct gz_view *v);

/* Frees the buffer. */
void gz_view_close(struct gz_view *v);

/*
 * Returns the bytes of the input from `offset` on, which is at most v->size.  *got becomes their
 * number: `want`, at most GZ_VIEW_MOST, or less at the input's end.  The bytes stay until the next
 * call.  Bytes that cannot be read are zeros, as if the disk had lost them.
 */
const uint8_t *gz_view_at(struct gz_view *v, uint64_t offset, size_t want, size_t *got);

#endif
