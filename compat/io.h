/*
 * io.h - what a decompression reads from and writes to
 */
#ifndef GZLZSS_COMPAT_IO_H
#define GZLZSS_COMPAT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A place in a DEFLATE stream where a block starts, and what came before. */
struct gz_place {
    uint64_t bit;  /* of the whole input */
    uint32_t crc;  /* of the stream's data so far, */
    uint64_t len;  /* which is so many bytes, */
    uint8_t *end;  /* the last of which, INF_WINDOW at most, stand before this; run puts the last of
                      what it has written there */
    uint64_t made; /* bytes written by gz_ahead.run */
    bool ended;    /* there the stream has ended, and nothing of it follows */
};

/*
 * Somebody who decodes parts of the input ahead, side by side.  He must hand over exactly what
 * decoding from the start gives.
 */
struct gz_ahead {
    /* Whether something that starts at that bit was decoded, or is being decoded.  *from becomes the
     * bit from which on that is worth asking again: to ask at the start of each block takes longer than
     * a short block. */
    bool (*has)(void *ctx, uint64_t bit, uint64_t *from);
    /* Writes as much as was decoded from that place on, if anything, and goes on to where that
     * ends.  False if a write failed, with errno set. */
    bool (*run)(void *ctx, struct gz_place *place);
    /* What is read next is what stands at that byte of the input, which was not before what run
     * came to. */
    void (*seek)(void *ctx, uint64_t byte);
    void *ctx;
};

/* Where bytes come from and go to. */
struct gz_io {
    ssize_t (*read)(void *ctx, void *buf, size_t len); /* as read(2): 0 at the end, -1 and errno */
    int (*write)(void *ctx, const void *buf, size_t len); /* all of it: 0, or -1 and errno */
    bool (*waits)(
        void *ctx); /* whether `read` would wait, so that what was decoded is to be written
                                 before; NULL: it does not matter */
    void *ctx;
    bool copy_unknown; /* write data in an unknown format as it is, also after a member, zeros
                          included (zcat -f) */
    void (*extra)(void *ctx, unsigned bytes); /* a gzip header has an extra field of so many bytes,
                                                 which is ignored; may be NULL */
    const struct gz_ahead *ahead;             /* or NULL */
    bool is_small;                            /* the input is known to have less than INF_SMALL */
};

#endif
