/*
 * signatures.h - recognizes compressed data by its first bytes, for --exclude-compressed
 */
#ifndef GZLZSS_SIGNATURES_H
#define GZLZSS_SIGNATURES_H

/* Returns the name of the compressed format, such as "PNG", with whose first bytes the regular file
 * fd begins.  NULL if the table has no such format, or the file cannot be read.  Leaves the file's
 * position as it is. */
const char *signatures_find(int fd);

#endif
