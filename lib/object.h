/*
 * object.h - what the files of the library share: an object, and the calls that are under way
 *
 * An object is a pipeline (pipeline/pipeline.h), which any thread may use, and lists of the calls
 * that are under way on it, for those who cancel them.  A call is a struct operation on the stack of
 * the thread that made it, or in a stream.
 */
#ifndef GZLZSS_LIB_OBJECT_H
#define GZLZSS_LIB_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/object_cache.h"
#include "compat/gunzip.h"
#include "include/gzlzss.h"
#include "pipeline/pipeline.h"

/* A call that is under way. */
struct operation {
    gzlzss *z;
    gzlzss_call *call;                    /* the caller's, or NULL */
    struct pipeline_job *job;             /* of compression, or NULL */
    void (*wake_up)(struct operation *o); /* it was cancelled: ends waiting for it; or NULL */
    atomic_bool is_cancelled;
    struct calls *list;                /* where it is, */
    struct operation *previous, *next; /* under the list's lock */
};

/* Some of the calls that are under way: those that began on one processor, as threads on different
 * ones are not to wait for each other. */
struct calls {
    pthread_mutex_t lock;
    struct operation *first;
    char apart[OBJECT_SHARD_APART];
};

/* What a decompression needs, kept for the next. */
struct decompressor {
    struct cached_object kept;
    struct gz_stream *stream; /* NULL at first */
    struct gz_info info;
};

struct gzlzss {
    pid_t owner; /* the process that made it */
    struct pipeline *pipeline;
    int level;
    size_t segment_size;
    bool is_rsyncable;

    char apart[OBJECT_SHARD_APART]; /* what is above is read by all and changed by nobody */
    struct calls calls[OBJECT_SHARDS];
    struct object_cache idle; /* struct decompressor, that nobody uses */
};

/* Whether another process made the object: this one is a child of it.  None of the object's threads
 * is here.  Its locks may be held, its conditions waited for and its lists half changed, by threads
 * that are not there: nobody may take, wait for, destroy or go through them. */
bool object_is_foreign(const gzlzss *z);

/* Whether `call`, which may be NULL, is a struct that this library can read. */
bool call_is_valid(const gzlzss_call *call);

/* Begins a call on z, which may be NULL; o->job and o->wake_up are set by the caller before.
 * operation_end has to follow if this is GZLZSS_OK. */
gzlzss_status operation_begin(struct operation *o, gzlzss *z, gzlzss_call *call);
void operation_end(struct operation *o);

/* Copies between memory of CUDA device `device` and other memory, in the calling thread, for whom its
 * context stays as it is.  False with errno set. */
bool operation_copy(const struct operation *o, int device, void *to, const void *from, size_t len);

/* Whether the call is to go on; otherwise errno is set. */
bool operation_goes_on(const struct operation *o);

/* Tells the caller how far it is: so many bytes of input and output.  One thread at a time.  Returns
 * what operation_goes_on does then. */
bool operation_tell(struct operation *o, uint64_t in, uint64_t out);

/* Sets the caller's error_number; returns `status`. */
gzlzss_status operation_error(const struct operation *o, gzlzss_status status, int error_number);

#endif
