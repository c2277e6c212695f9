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

/* A call that is one job of compression. */
struct compress_call {
    struct operation operation;
    struct pipeline_job job;
    /* Its output, unless that is job.out_fd: memory, */
    uint8_t *out;
    size_t room, len;
    bool is_full;
    bool is_on_gpu; /* which is CUDA device `device`'s */
    int device;
};

/* Readies it: the caller sets the job's input and output, also by one or both of these two, and then
 * begins the operation. */
void compress_call_init(struct compress_call *c);
void compress_call_from(struct compress_call *c, const void *in, size_t in_len);
void compress_call_to(struct compress_call *c, void *out, size_t room);

/* Compresses; the caller ends the operation afterwards. */
gzlzss_status compress_call_run(struct compress_call *c);

/* From one regular file to another: the object's threads read and write. */
gzlzss_status compress_file(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
