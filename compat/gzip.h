/*
 * gzip.h - the gzip member format (RFC 1952): its header and its trailer
 */
#ifndef GZLZSS_GZIP_H
#define GZLZSS_GZIP_H

#include <stddef.h>
#include <stdint.h>

/* The compression method, deflate, and the flag that says a name is there. */
#define GZ_METHOD_DEFLATE 8
#define GZ_FLAG_NAME 8

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

/*
 * For who looks for members in the middle of data: bytes of the header that in[0..len) starts with,
 * where a good block follows; 0 if it does not seem to be one, or not all of it is there.  Its CRC
 * is not looked at.  Up to 8 bytes after in + len are read, and not used.
 */
size_t gz_member_header(const uint8_t *in, size_t len);

#endif
