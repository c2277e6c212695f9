/*
 * signatures.h - recognizes compressed data by its first bytes, for --exclude-compressed
 */
#ifndef GZLZSS_SIGNATURES_H
#define GZLZSS_SIGNATURES_H

/* Returns the name of a compressed format, such as "PNG", if the regular file fd begins like data
 * in that format.  NULL if no format of the table fits, or the file cannot be read.  Leaves the
 * file's position as it is. */
const char *signatures_find(int fd);

#endif
