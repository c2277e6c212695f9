/*
 * object.h - what the files of the library share: an object, and the calls that are under way
 *
 * An object is a pipeline (pipeline/pipeline.h), which any thread may use, and a list of the calls
 * that are under way on it, for those who cancel them.  A call is a struct operation on the stack of
 * the thread that made it, or in a stream.
 */
#ifndef GZLZSS_LIB_OBJECT_H
#define GZLZSS_LIB_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "include/gzlzss.h"
#include "pipeline/pipeline.h"

/* A call that is under way. */
struct operation {
    gzlzss *z;
    gzlzss_call *call;        /* the caller's, or NULL */
    struct pipeline_job *job; /* of compression; NULL if it is done by the calling thread alone */
    atomic_bool is_cancelled;

    /* Under the object's lock: */
    int wake[2];                          /* a pipe that ends waiting for input, or -1 */
    struct expansion *expansion;          /* or NULL; likewise */
    void (*wake_up)(struct operation *o); /* or NULL; likewise */
    struct operation *previous, *next;
};

struct gzlzss {
    pid_t owner; /* the process that made it */
    struct pipeline *pipeline;
    int level;
    size_t segment_size;
    bool is_rsyncable;

    pthread_mutex_t lock; /* of the list */
    struct operation *first;
};

/* Begins a call on z, which may be NULL; operation_end has to follow if this is GZLZSS_OK. */
gzlzss_status operation_begin(struct operation *o, gzlzss *z, gzlzss_call *call,
                              struct pipeline_job *job);
void operation_end(struct operation *o);

/* Whether the call is to go on; otherwise errno is set. */
bool operation_goes_on(const struct operation *o);

/* Tells the caller how far it is: so many bytes of input and output.  One thread at a time.  Returns
 * what operation_goes_on does then. */
bool operation_tell(struct operation *o, uint64_t in, uint64_t out);

/* Sets the caller's error_number; returns `status`. */
gzlzss_status operation_error(const struct operation *o, gzlzss_status status, int error_number);

#endif
