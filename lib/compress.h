/*
 * compress.h - functions that compression of memory, of descriptors and by streams share
 */
#ifndef GZLZSS_LIB_COMPRESS_H
#define GZLZSS_LIB_COMPRESS_H

#include "lib/grow.h"
#include "lib/object.h"

/* Most headers fit into this many bytes. */
#define SMALL_HEADER 64

/* Makes the header of a call, and sets *len to its size in bytes.  The header is in `small` if it
 * fits.  Otherwise it is in allocated memory, which the caller frees.  Returns NULL if memory is
 * short. */
uint8_t *compress_header(const gzlzss *z, const gzlzss_call *call, uint8_t small[SMALL_HEADER],
                         size_t *len);

/* Tells the program how many bytes were read and written.  Cancels the job if the call must not go
 * on. */
void compress_tell(struct operation *o, uint64_t in, uint64_t out);

/* Returns the status of a call whose job is over. */
gzlzss_status compress_judge(const struct operation *o, const struct pipeline_job *job);

/* A call that is one job of compression. */
struct compress_call {
    struct operation operation;
    struct pipeline_job job;
    /* If the output goes to memory, `out` has room for `room` bytes, of which `len` are written. */
    uint8_t *out;
    size_t room, len;
    /* If not NULL, the output goes to this memory, which grows, and not to `out`. */
    struct grow *grow;
    /* Whether the output did not fit into the room. */
    bool is_full;
    /* Whether `out` is memory of a CUDA device, and the device's number. */
    bool is_on_gpu;
    int device;
};

/* Makes *c ready.  The caller then sets the job's input and output, perhaps by compress_call_from
 * and compress_call_to, and begins the operation. */
void compress_call_init(struct compress_call *c);

/* compress_call_from makes memory the job's input.  compress_call_to makes memory the job's
 * output. */
void compress_call_from(struct compress_call *c, const void *in, size_t in_len);
void compress_call_to(struct compress_call *c, void *out, size_t room);

/* Compresses the call's input.  The caller ends the operation afterwards. */
gzlzss_status compress_call_run(struct compress_call *c);

/* Compresses one regular file to another.  The object's threads read and write. */
gzlzss_status compress_file(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

#endif
