/*
 * crc.h - gzip's CRC-32 (RFC 1952, section 8), by ISA-L where it can be loaded, else by zlib
 */
#ifndef GZLZSS_CRC_H
#define GZLZSS_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC of A followed by buf[0..len).  `crc` is the CRC of A, or 0 if A has no bytes.
 * len may have any value; buf may be NULL if len is 0. */
uint32_t gz_crc32(uint32_t crc, const void *buf, size_t len);

/* Loads ISA-L if that saves time for the CRC of `bytes` bytes in all (UINT64_MAX if unknown).  Call
 * this before several calls of gz_crc32, with the number of their bytes in all.  Otherwise each
 * call of gz_crc32 decides by its own number of bytes. */
void gz_crc32_prepare(uint64_t bytes);

/* Returns the CRC of A followed by B, from crc_a = CRC(A), crc_b = CRC(B) and B's length in
 * bytes. */
uint32_t gz_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

#endif
