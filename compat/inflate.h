/*
 * inflate.h - decompression of whole .gz streams, by ISA-L where configure found it, else by zlib
 *
 * A stream is one or more members back to back.  After a member, zero bytes to the end are padding
 * and are ignored (tapes pad so); anything else that does not start a member is trailing garbage,
 * which is reported but does not make the data wrong.  This is what GNU gzip 1.12 does, with its
 * corners: one lone byte that is not zero is not garbage but a truncated member; a member after
 * padding is garbage; an empty input is truncated.
 */
#ifndef GZLZSS_INFLATE_H
#define GZLZSS_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum gz_status {
    GZ_OK,
    GZ_TRAILING_GARBAGE, /* all data is there and right; something follows it */
    GZ_NOT_GZIP,         /* the first bytes are no gzip magic number */
    GZ_UNKNOWN_METHOD,   /* a member's compression method is not 8, deflate */
    GZ_RESERVED_FLAGS,   /* a member has a reserved header flag set */
    GZ_TRUNCATED,        /* the input ended inside a member */
    GZ_BAD_DATA,         /* the DEFLATE stream is not valid */
    GZ_BAD_HEADER_CRC,   /* the header's own CRC-16 does not match */
    GZ_BAD_CRC,          /* the data does not have the trailer's CRC */
    GZ_BAD_LENGTH,       /* the data does not have the trailer's length */
    GZ_READ_ERROR,       /* read() failed, with errno set */
    GZ_WRITE_ERROR,      /* write() failed, with errno set */
    GZ_NO_MEMORY,
};

/* Where bytes come from and go to. */
struct gz_io {
    ssize_t (*read)(void *ctx, void *buf, size_t len); /* as read(2): 0 at the end, -1 and errno */
    int (*write)(void *ctx, const void *buf, size_t len); /* all of it: 0, or -1 and errno */
    void *ctx;
    bool copy_unknown; /* write what is not compressed, or follows what is, as it is (zcat -f) */
};

/* What was found; valid whatever the status. */
struct gz_info {
    uint64_t in_bytes;  /* compressed bytes used, trailing zeros and garbage not counted; after an
                           error, about where it was found */
    uint64_t out_bytes; /* bytes written */
    uint64_t members;   /* whole ones, their trailers checked */
    uint64_t deflate_bytes; /* of in_bytes, those of DEFLATE streams: no headers, no trailers */
    uint32_t mtime;         /* the first member's time stamp, 0 if it has none */
    bool zeros_follow;      /* zero bytes follow the last member */
    uint8_t unknown;        /* with GZ_UNKNOWN_METHOD, the method */
};

/* Decompresses everything io->read gives.  Data is written as it is decoded, before its CRC is
 * known, and up to where an error was found: the caller throws it away on an error.  After the end
 * or an error, read is not called again.  Uses about 0.5 MB of memory. */
enum gz_status gz_decompress(const struct gz_io *io, struct gz_info *info);

/* What happened, as GNU gzip words it where it has words for it ("unexpected end of file").  After
 * GZ_READ_ERROR and GZ_WRITE_ERROR, strerror(errno) says more. */
const char *gz_status_message(enum gz_status status);

#endif
