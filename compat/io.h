/*
 * io.h - what a decompression reads from and writes to
 *
 * The caller of compat/gunzip.h gives functions to read and to write.  It may also give an "ahead":
 * threads that decode parts of the input before the decompression gets there (pipeline/expand/).
 */
#ifndef GZLZSS_COMPAT_IO_H
#define GZLZSS_COMPAT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A place in DEFLATE data where a block starts, and the data before it. */
struct gz_place {
    /* The bit of the whole input. */
    uint64_t bit;
    /* The CRC of the member's data so far, and its bytes. */
    uint32_t crc;
    uint64_t len;
    /* The last of these bytes, INF_WINDOW at most, stand before `end`.  gz_ahead.run puts the last
     * bytes that it has written there. */
    uint8_t *end;
    /* Bytes that gz_ahead.run has written. */
    uint64_t made;
    /* The data ends here, and no block starts. */
    bool ended;
};

/* Decodes parts of the input ahead, in other threads.  It must hand over exactly the bytes that
 * decoding from the start gives. */
struct gz_ahead {
    /* Returns whether somebody has decoded from that bit on, or is decoding.  *from becomes the
     * first bit for which to ask again: asking at the start of each block would take longer than to
     * decode a short one. */
    bool (*has)(void *ctx, uint64_t bit, uint64_t *from);
    /* Writes all bytes that were decoded from *place on, if any, and moves *place behind them.
     * False, with errno set, if a write failed. */
    bool (*run)(void *ctx, struct gz_place *place);
    /* Makes gz_io.read go on at that byte of the input.  It is not before the place to which `run`
     * came last. */
    void (*seek)(void *ctx, uint64_t byte);
    void *ctx;
};

/* Where bytes come from and go to. */
struct gz_io {
    /* As read(2): returns 0 at the end, -1 with errno set after an error. */
    ssize_t (*read)(void *ctx, void *buf, size_t len);
    /* Writes all bytes: returns 0, or -1 with errno set. */
    int (*write)(void *ctx, const void *buf, size_t len);
    /* Whether `read` would wait.  If so, all decoded bytes are written before it is called.  May be
     * NULL: they wait until the buffer is full. */
    bool (*waits)(void *ctx);
    void *ctx;
    /* Data in an unknown format is copied to the output, also after a member, zeros included (zcat
     * -f). */
    bool copy_unknown;
    /* Called for a gzip header with an extra field, which is ignored, with its size in bytes.  May
     * be NULL. */
    void (*extra)(void *ctx, unsigned bytes);
    /* May be NULL. */
    const struct gz_ahead *ahead;
    /* The input is known to have less than INF_SMALL bytes. */
    bool is_small;
};

#endif
