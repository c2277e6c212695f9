/*
 * signatures.h - recognizes compressed data by its first bytes, for --exclude-compressed, and to
 * say what a file is that gzlzss does not decompress
 */
#ifndef GZLZSS_SIGNATURES_H
#define GZLZSS_SIGNATURES_H

#include <stdbool.h>
#include <stddef.h>

/* The first bytes of a file that tell its format. */
#define SIGNATURE_MAX 16

/* Returns the name of a compressed format, such as "PNG", if the regular file fd begins like data
 * in that format.  NULL if no format of the table fits, or the file cannot be read.  Leaves the
 * file's position as it is. */
const char *signatures_find(int fd);

/* Returns the name of the format that data begins with: bytes[0..len), where more than
 * SIGNATURE_MAX are of no use.  NULL if no format of the table fits.  Sets *is_read to whether
 * gzlzss decompresses that format. */
const char *signatures_match(const char *bytes, size_t len, bool *is_read);

#endif
