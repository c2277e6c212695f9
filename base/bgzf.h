/*
 * bgzf.h - BGZF (SAM specification, 4.1): gzip members of at most 64 KiB, whose headers give their
 * sizes
 */
#ifndef GZLZSS_BASE_BGZF_H
#define GZLZSS_BASE_BGZF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a header before the field of two bytes that gives the member's size. */
#define BGZF_START 16

/* Bytes of a header that has no other extra field. */
#define BGZF_HEADER_SIZE 18

/* Bytes of a trailer, which is the same as gzip's. */
#define BGZF_TRAILER_SIZE 8

/* Bytes of a member's header and trailer together. */
#define BGZF_AROUND (BGZF_HEADER_SIZE + BGZF_TRAILER_SIZE)

/* The most bytes of a member. */
#define BGZF_SIZE_MAX ((size_t)65536)

/* The most uncompressed bytes of a member; bgzip has the same limit.  A member with this many bytes
 * that cannot be compressed still fits into BGZF_SIZE_MAX bytes (pipeline.c asserts that). */
#define BGZF_DATA_MAX ((size_t)65280)

/* Whether h is the start of a BGZF header, which is a gzip header whose first extra field is called
 * "BC" and has two bytes.  (The field holds the member's size, less 1.) */
static inline bool bgzf_starts(const uint8_t h[BGZF_START])
{
    return h[0] == 0x1f && h[1] == 0x8b && h[2] == 8 && (h[3] & 4) != 0 && h[12] == 'B' &&
           h[13] == 'C' && h[14] == 2 && h[15] == 0;
}

#endif
