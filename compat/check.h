/*
 * check.h - the check values of the formats that contain DEFLATE data
 */
#ifndef GZLZSS_COMPAT_CHECK_H
#define GZLZSS_COMPAT_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/container.h"

enum gz_check {
    GZ_CHECK_CRC32,   /* CRC-32 (compat/crc.h) */
    GZ_CHECK_ADLER32, /* Adler-32 (RFC 1950, section 8.2) */
    GZ_CHECK_NONE,    /* no check value: the functions below return 0 for it */
};

/* Returns the kind of check value that a format has. */
enum gz_check gz_check_of(enum container container);

/* Returns the check value of no data. */
uint32_t gz_check_start(enum gz_check check);

/* Returns the check value of A followed by buf[0..len); `value` is the check value of A.  buf may
 * be NULL if len is 0. */
uint32_t gz_check_more(enum gz_check check, uint32_t value, const void *buf, size_t len);

/* Returns the check value of A followed by B, from the check values of A and of B, and B's length
 * in bytes. */
uint32_t gz_check_combine(enum gz_check check, uint32_t a, uint32_t b, uint64_t len_b);

#endif
