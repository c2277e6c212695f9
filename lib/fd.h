/*
 * fd.h - functions of fd.c that other files of the library call
 */
#ifndef GZLZSS_LIB_FD_H
#define GZLZSS_LIB_FD_H

#include "gpu/gpu.h"
#include "lib/object.h"

/* Whether the descriptor is a regular file.  If it is not, the object's threads must not read or
 * write it, because they might have to wait. */
bool fd_is_file(int fd);

/* Compresses in[0..in_len), which lies in memory `m`, to a descriptor that is no regular file.
 * `outer` is the operation that the caller has begun for the same call. */
gzlzss_status fd_compress_memory(gzlzss *z, int out_fd, const struct gpu_memory *m, const void *in,
                                 size_t in_len, const struct operation *outer, gzlzss_call *call);

#endif
