/*
 * gzip.h - the gzip member format (RFC 1952): its header and its trailer
 *
 * Only gz_header_parse knows the layout of a header.  It takes the header in parts of any size, as
 * they are read.  gz_member_header calls it for a header in memory.
 */
#ifndef GZLZSS_GZIP_H
#define GZLZSS_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/status.h"

/* The compression method: deflate. */
#define GZ_METHOD_DEFLATE 8

/* The flags (RFC 1952, section 2.3.1), which are byte GZ_FLAGS_AT of the header.  GNU gzip's
 * documentation once gave some of these flags other meanings.  For example, it had a flag
 * "encrypted", which is reserved today. */
#define GZ_FLAGS_AT 3
enum {
    GZ_FLAG_HEADER_CRC = 1 << 1,
    GZ_FLAG_EXTRA = 1 << 2,
    GZ_FLAG_NAME = 1 << 3,
    GZ_FLAG_COMMENT = 1 << 4,
    GZ_FLAG_ENCRYPTED = 1 << 5,
    GZ_FLAGS_RESERVED = 0xc0,
};

/* Bytes of the trailer, and of a header without a name. */
#define GZ_TRAILER_SIZE 8
#define GZ_HEADER_SIZE 10

/*
 * Writes a member header to `out`, which must have room for GZ_HEADER_SIZE + strlen(name) + 1
 * bytes.  Returns the number of bytes written.
 *
 *   - mtime: the modification time in seconds, or 0 if unknown; the caller passes 0 for times
 *     outside 1..2^32-1.
 *   - level: sets the header's byte XFL, which is 2 for levels 9 and above and 4 for level 1, as in
 *     gzip; 4 for level 0, as in zlib; else 0.
 *   - name: the file's base name; NULL for a header without a name.
 */
size_t gz_write_header(uint8_t *out, const char *name, uint32_t mtime, int level);

/* Appends a comment to the header out[0..size), which gz_write_header has written and which has no
 * comment yet.  `out` must have room for strlen(comment) + 1 more bytes.  RFC 1952 wants comments
 * in ISO 8859-1, with line feeds between lines; this function writes any bytes.  Returns the new
 * size. */
size_t gz_add_comment(uint8_t *out, size_t size, const char *comment);

/* Writes the trailer: CRC-32 and length modulo 2^32 of the uncompressed data. */
void gz_write_trailer(uint8_t out[GZ_TRAILER_SIZE], uint32_t crc, uint64_t len);

/* A header that is being parsed.  gz_header_begin sets all members.  Then the caller may set the
 * first four: name, name_room, extra and ctx. */
struct gz_header {
    /* Memory for the name, which is cut after name_room - 1 bytes and ends with a zero byte.  If
     * NULL, the name is not kept. */
    char *name;
    size_t name_room;
    /* Called with the size of the extra field once that is known; may be NULL. */
    void (*extra)(void *ctx, unsigned bytes);
    void *ctx;

    /* The values in the header, as far as it was parsed. */
    uint8_t method, flags;
    uint32_t mtime;
    /* Whether the whole name was parsed. */
    bool has_name;
    /* Whether the name was cut, because it has name_room bytes or more. */
    bool name_cut;
    /* With GZ_FLAG_HEADER_CRC: the CRC-16 in the header, and the correct one. */
    uint16_t stored_crc, right_crc;

    /* Only gz_header_parse uses the members from here on. */
    uint8_t magic[2];
    /* The current field, which is parsed next (enum field in gzip.c). */
    unsigned field;
    /* Bytes of the current field still to come; not used for a field that ends with a zero byte. */
    size_t left;
    /* The bytes of the current field, if its size is fixed. */
    uint8_t bytes[6];
    /* Bytes of the name that were stored. */
    size_t name_len;
    /* With GZ_FLAG_HEADER_CRC: the CRC-32 of the bytes so far. */
    uint32_t crc;
};

/* Begins to parse a header, after the two bytes of its magic number. */
void gz_header_begin(struct gz_header *h, const uint8_t magic[2]);

/*
 * Parses the next bytes of a header, in[0..len).  *used becomes the number of bytes parsed, which
 * end with the header or with the first wrong field.  Returns:
 *
 *   - GZ_OK: the header is complete and correct;
 *   - GZ_TRUNCATED: all bytes were parsed, and the header goes on in the next call;
 *   - GZ_UNKNOWN_METHOD, GZ_ENCRYPTED, GZ_RESERVED_FLAGS or GZ_BAD_HEADER_CRC: the header is wrong.
 */
enum gz_status gz_header_parse(struct gz_header *h, const uint8_t *in, size_t len, size_t *used);

/*
 * Returns the size in bytes of the member header at in[0], or 0 if no member seems to start there.
 * The header must be complete and correct.  A DEFLATE block's header must follow, which must be
 * correct as far as it lies in in[0..len).  Searches for members in the middle of data use this
 * function.  May read up to 8 bytes after in + len, but the result does not depend on them.
 */
size_t gz_member_header(const uint8_t *in, size_t len);

#endif
