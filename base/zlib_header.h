/*
 * zlib_header.h - the header of zlib's format (RFC 1950)
 */
#ifndef GZLZSS_BASE_ZLIB_HEADER_H
#define GZLZSS_BASE_ZLIB_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/both.h"

/* Bytes before and after the DEFLATE data.  The trailer is the Adler-32, highest byte first. */
#define ZLIB_HEADER_SIZE 2u
#define ZLIB_TRAILER_SIZE 4u

/* This flag says that the data was compressed with a dictionary.  The reader must have the
 * dictionary already, because the data does not contain it. */
#define ZLIB_DICTIONARY 32u

/* Whether `method` and `flags` are the two bytes of a header.  The flag ZLIB_DICTIONARY may be
 * set. */
BOTH_INLINE bool zlib_header_starts(uint32_t method, uint32_t flags)
{
    return (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0;
}

/* Whether `method` and `flags` are the two bytes of a good header that asks for no dictionary. */
BOTH_INLINE bool zlib_header_is_good(uint32_t method, uint32_t flags)
{
    return zlib_header_starts(method, flags) && (flags & ZLIB_DICTIONARY) == 0;
}

#endif
