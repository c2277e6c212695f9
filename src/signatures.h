/*
 * signatures.h - recognizes compressed data by its first bytes, for --exclude-compressed
 */
#ifndef GZLZSS_SIGNATURES_H
#define GZLZSS_SIGNATURES_H

/* Returns the name of the compressed format that the regular file fd begins like, as "PNG"; NULL if
 * it is none that is known here, or cannot be read.  Leaves the file's position as it is. */
const char *signatures_find(int fd);

#endif
