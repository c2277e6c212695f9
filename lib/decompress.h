/*
 * decompress.h - what decompression of memory, descriptors and streams shares
 */
#ifndef GZLZSS_LIB_DECOMPRESS_H
#define GZLZSS_LIB_DECOMPRESS_H

#include "compat/gunzip.h"
#include "compat/status.h"
#include "lib/object.h"

/* Decompresses, with the others' help if e is not NULL.  *used becomes the bytes of input up to where
 * the last member ends, or the error was found; *error is an errno. */
enum gz_status decompress_all(gzlzss *z, struct gz_io *io, struct expansion *e, uint64_t *used,
                              int *error);

/* What came of a decompression, unless its `read` or `write` says more; error_number is of these. */
gzlzss_status decompress_judge(const struct operation *o, enum gz_status status, int error_number);

/* From one regular file to another. */
gzlzss_status decompress_regular(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
