/*
 * compress.h - what compression of memory, descriptors and streams shares
 */
#ifndef GZLZSS_LIB_COMPRESS_H
#define GZLZSS_LIB_COMPRESS_H

#include "compat/gzip.h"
#include "lib/object.h"

/* The header: `small`, or memory that the caller frees if there is a name; NULL if memory is
 * short. */
uint8_t *compress_header(const gzlzss *z, const gzlzss_call *call, uint8_t small[GZ_HEADER_SIZE],
                         size_t *len);

/* Tells the caller how far it is, and cancels the job if it is to end. */
void compress_tell(struct operation *o, uint64_t in, uint64_t out);

/* What became of the job. */
gzlzss_status compress_judge(const struct operation *o, const struct pipeline_job *job);

/* From one regular file to another: the object's threads read and write. */
gzlzss_status compress_file(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
