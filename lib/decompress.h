/*
 * decompress.h - functions that decompression of memory, of descriptors and by streams share
 */
#ifndef GZLZSS_LIB_DECOMPRESS_H
#define GZLZSS_LIB_DECOMPRESS_H

#include "compat/gunzip.h"
#include "compat/status.h"
#include "lib/object.h"

/* Decompresses the whole input, with the help of the object's threads if e is not NULL.  Then, if
 * io->ahead is NULL, sets it to expansion_ahead(e).  Sets *used to the number of bytes of input up
 * to the end of the last member, or up to the place of an error.  Sets *error to errno. */
enum gz_status decompress_all(gzlzss *z, struct gz_io *io, struct expansion *e, uint64_t *used,
                              int *error);

/* Does the work of gzlzss_decompress, for input in the format `container`. */
gzlzss_status decompress_memory(gzlzss *z, enum container container, void *out, size_t *out_len,
                                const void *in, size_t in_len, gzlzss_call *call);

/* Returns the status of a call whose decompression has ended with `status`.  If `read` or `write`
 * has failed, error_number is its errno. */
gzlzss_status decompress_judge(const struct operation *o, enum gz_status status, int error_number);

/* Decompresses one regular file to another. */
gzlzss_status decompress_regular(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
