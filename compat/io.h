/*
 * io.h - what a decompression reads from and writes to
 */
#ifndef GZLZSS_COMPAT_IO_H
#define GZLZSS_COMPAT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where bytes come from and go to. */
struct gz_io {
    ssize_t (*read)(void *ctx, void *buf, size_t len); /* as read(2): 0 at the end, -1 and errno */
    int (*write)(void *ctx, const void *buf, size_t len); /* all of it: 0, or -1 and errno */
    void *ctx;
    bool copy_unknown; /* write data in an unknown format as it is, also after a member, zeros
                          included (zcat -f) */
    void (*extra)(void *ctx, unsigned bytes); /* a gzip header has an extra field of so many bytes,
                                                 which is ignored; may be NULL */
};

#endif
