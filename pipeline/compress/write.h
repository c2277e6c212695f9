/*
 * write.h - writes a job's output, in order
 */
#ifndef GZLZSS_WRITE_H
#define GZLZSS_WRITE_H

#include "pipeline/crew/state.h"

/* The most segments written at a time.  Many threads want the lock, so taking it after each segment
 * would take longer than writing one.  Header, trailer and WRITE_MOST segments make 16 parts, the
 * least number that POSIX requires writev() to accept (IOV_MAX).  A larger number may fail. */
#define WRITE_MOST 14

/* The results of write_segments. */
struct written {
    uint64_t in_bytes, /* bytes of input in these segments */
        out_bytes;     /* bytes written, with header and trailer */
    double seconds;
    bool ok;
    int error; /* an errno if `ok` is false */
};

/* Writes `count` parts to a job's output.  Returns false with errno set after an error.  Only one
 * thread at a time may write a job's output. */
bool write_parts(struct pipeline_job *request, struct iovec *parts, int count);

/* Writes `count` segments, 1 to WRITE_MOST, which must be next in the job's output.  Writes the
 * header before the job's first segment and the trailer after its last segment.  Then calls the
 * request's `wrote`, with `engine` as an argument.  Called without the lock, by the writer. */
void write_segments(struct job *j, struct slot *const found[], unsigned count, const char *engine,
                    struct written *w);

/* Counts `count` segments that write_segments wrote without an error. */
void count_written(struct job *j, unsigned count, const struct written *w);

/* Writes all finished segments that are next in the job's output, unless another thread is the
 * job's writer.  Releases the lock meanwhile.  If writing fails, the job fails. */
void write_finished(struct job *j);

#endif
