/*
 * write.h - a job's output, written in order
 */
#ifndef GZLZSS_WRITE_H
#define GZLZSS_WRITE_H

#include "pipeline/crew/state.h"

/* Segments written at a time.  Many threads want the lock: to take it again after each segment
 * would take longer than to write it.  With what goes before and behind them, these are as many
 * parts as any system's writev() takes. */
#define WRITE_MOST 14

/* What was written, in so many seconds; `error` is an errno, unless ok. */
struct written {
    uint64_t in_bytes, out_bytes;
    double seconds;
    bool ok;
    int error;
};

/* Writes all of these to a job's output; false if that fails, with errno set.  Any thread that has
 * the output to itself. */
bool write_parts(struct pipeline_job *request, struct iovec *parts, int count);

/* Writes these segments, 1 to WRITE_MOST, which are next in the job's output; with the header
 * before the first of all and the trailer after the last.  Tells the caller who has been at work.
 * Called without the lock, by the writer. */
void write_segments(struct job *j, struct slot *const found[], unsigned count, const char *engine,
                    struct written *w);

/* Counts what was written without an error. */
void count_written(struct job *j, unsigned count, const struct written *w);

/* Writes all finished segments that are next in the job's output, unless another thread does so.
 * Gives up the lock meanwhile.  If writing fails, the job does. */
void write_finished(struct job *j);

#endif
