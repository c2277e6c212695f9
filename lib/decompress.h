/*
 * decompress.h - what decompression of memory, descriptors and streams shares
 */
#ifndef GZLZSS_LIB_DECOMPRESS_H
#define GZLZSS_LIB_DECOMPRESS_H

#include "compat/gunzip.h"
#include "compat/status.h"
#include "lib/object.h"

/* Decompresses, with the others' help if e is not NULL; *error is an errno. */
enum gz_status decompress_all(gzlzss *z, struct gz_io *io, struct expansion *e, int *error);

/* What came of a decompression, unless its `read` or `write` says more; error_number is of these. */
gzlzss_status decompress_judge(const struct operation *o, enum gz_status status, int error_number);

/* From one regular file to another. */
gzlzss_status decompress_regular(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
