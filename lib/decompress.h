/*
 * decompress.h - what decompression of memory, of descriptors and by streams share
 */
#ifndef GZLZSS_LIB_DECOMPRESS_H
#define GZLZSS_LIB_DECOMPRESS_H

#include "compat/gunzip.h"
#include "compat/status.h"
#include "lib/object.h"

/* Decompresses, with the help of the object's threads if e is not NULL.  *used becomes the bytes of
 * input up to the end of the last member, or to where an error was found.  *error becomes errno. */
enum gz_status decompress_all(gzlzss *z, struct gz_io *io, struct expansion *e, uint64_t *used,
                              int *error);

/* The status of a call whose decompression has ended so.  error_number is the errno of `read` or
 * `write`. */
gzlzss_status decompress_judge(const struct operation *o, enum gz_status status, int error_number);

/* Decompresses one regular file to another. */
gzlzss_status decompress_regular(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
