/*
 * gzip.h - the gzip member format (RFC 1952): its header and its trailer
 *
 * gz_header_parse alone knows how a header is laid out.  It takes the header in parts of any size,
 * as a reader gets them; gz_member_header uses it for a header in memory.
 */
#ifndef GZLZSS_GZIP_H
#define GZLZSS_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/status.h"

/* The compression method: deflate. */
#define GZ_METHOD_DEFLATE 8

/* The flags (RFC 1952, section 2.3.1), in the header's byte GZ_FLAGS_AT.  GNU gzip's documentation
 * once gave other meanings to some of them: "encrypted" then is reserved now. */
#define GZ_FLAGS_AT 3
enum {
    GZ_FLAG_HEADER_CRC = 1 << 1,
    GZ_FLAG_EXTRA = 1 << 2,
    GZ_FLAG_NAME = 1 << 3,
    GZ_FLAG_COMMENT = 1 << 4,
    GZ_FLAG_ENCRYPTED = 1 << 5,
    GZ_FLAGS_RESERVED = 0xc0,
};

/* Bytes of the trailer, and of the header without a name. */
#define GZ_TRAILER_SIZE 8
#define GZ_HEADER_SIZE 10

/*
 * Writes a member header into out, which has room for GZ_HEADER_SIZE + strlen(name) + 1 bytes:
 * the modification time (0: unknown; the caller maps times outside 1..2^32-1 to 0), XFL 2 for
 * levels 9 and above and 4 for level 1 as gzip does, 4 for level 0 as zlib does, OS Unix, and the
 * name if it is not NULL.  `name` is the file's base name.  Returns the bytes written.
 */
size_t gz_write_header(uint8_t *out, const char *name, uint32_t mtime, int level);

/* Writes the trailer: CRC-32 and length modulo 2^32 of the uncompressed data. */
void gz_write_trailer(uint8_t out[GZ_TRAILER_SIZE], uint32_t crc, uint64_t len);

/* A header that is parsed.  gz_header_begin sets all fields; then the caller may set the first
 * group. */
struct gz_header {
    /* Where the name goes, cut after name_room - 1 bytes, with a zero byte behind it.  NULL:
     * nowhere. */
    char *name;
    size_t name_room;
    /* Called with the size of the extra field once that is known; may be NULL. */
    void (*extra)(void *ctx, unsigned bytes);
    void *ctx;

    /* What the header says, as far as it was parsed. */
    uint8_t method, flags;
    uint32_t mtime;
    /* All of the name was parsed. */
    bool has_name;
    /* The name has name_room bytes or more. */
    bool name_cut;
    /* With GZ_FLAG_HEADER_CRC: the CRC-16 that the header holds, and the right one. */
    uint16_t stored_crc, right_crc;

    /* For gz_header_parse alone: */
    uint8_t magic[2];
    /* The field that is parsed next (enum field in gzip.c). */
    unsigned field;
    /* Bytes of that field still to come, unless a zero byte ends it. */
    size_t left;
    /* The bytes of that field, if its size is fixed. */
    uint8_t bytes[6];
    /* Bytes of the name that were kept. */
    size_t name_len;
    /* With GZ_FLAG_HEADER_CRC: the CRC-32 of the bytes so far. */
    uint32_t crc;
};

/* Begins a header, behind the two bytes of its magic number. */
void gz_header_begin(struct gz_header *h, const uint8_t magic[2]);

/*
 * Parses the next bytes of a header, in[0..len).  *used becomes the number of bytes taken, which
 * ends with the header, or with the first field that is wrong.  Returns:
 *
 *   - GZ_OK: the header is whole and right;
 *   - GZ_TRUNCATED: all bytes were taken, and the header goes on in the next call;
 *   - GZ_UNKNOWN_METHOD, GZ_ENCRYPTED, GZ_RESERVED_FLAGS or GZ_BAD_HEADER_CRC: the header is wrong.
 */
enum gz_status gz_header_parse(struct gz_header *h, const uint8_t *in, size_t len, size_t *used);

/*
 * For a search for members in the middle of data: the bytes of the header that in[0..len) starts
 * with, if it is right and a good block follows it.  0 if not, or if some of the header lies behind
 * the input.  Reads up to 8 bytes after in + len, but does not use them.
 */
size_t gz_member_header(const uint8_t *in, size_t len);

#endif
