/*
 * object.h - what the files of the library share: an object, and the calls that are under way
 *
 * An object is a pipeline (pipeline/pipeline.h), which any thread may use, and lists of the calls
 * that are under way on it, by which gzlzss_cancel finds them.  Each call has a struct operation:
 * on the stack of the thread that made the call, or in a stream.
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
#include "lib/inflaters.h"
#include "pipeline/pipeline.h"

/* A call that is under way. */
struct operation {
    gzlzss *z;
    /* The program's, or NULL. */
    gzlzss_call *call;
    /* The job of a compression, or NULL. */
    struct pipeline_job *job;
    /* Called when the call is cancelled, to end its waits; or NULL. */
    void (*wake_up)(struct operation *o);
    atomic_bool is_cancelled;
    /* An attempt that was given up has told the program these numbers of bytes.  `progress` gets no
     * smaller ones. */
    uint64_t told_in, told_out;
    /* The list that it is in, and its neighbours there, which change under the list's lock. */
    struct calls *list;
    struct operation *previous, *next;
};

/* The calls that began on one processor (object_cache_shard) and are under way.  There is a list
 * for each, so that threads on different processors do not wait for each other. */
struct calls {
    pthread_mutex_t lock;
    struct operation *first;
    char apart[OBJECT_SHARD_APART];
};

/* The memory of a decompression, kept for the next. */
struct decompressor {
    struct cached_object kept;
    /* NULL at first. */
    struct gz_stream *stream;
    struct gz_info info;
};

struct gzlzss {
    /* The process that made the object. */
    pid_t owner;
    struct pipeline *pipeline;
    int level;
    size_t segment_size;
    bool is_rsyncable;
    /* No GPU may decompress; or those of `gpus` alone. */
    bool is_cpu_only;
    struct gpus_config gpus;

    /* All threads read the fields above, and nobody changes them: they have cache lines of their
     * own. */
    char apart[OBJECT_SHARD_APART];
    struct calls calls[OBJECT_SHARDS];
    /* Every struct decompressor that nobody uses. */
    struct object_cache idle;
    /* The GPUs that decompress. */
    struct inflaters inflaters;
};

/* Whether another process made the object, and this one is a child of it, by fork().  The object's
 * threads are not here, but the child's copy may show their work half done: locks that they hold,
 * conditions for which they wait, lists that they change.  Do not take or destroy these locks, wait
 * for or destroy these conditions, or walk these lists. */
bool object_is_foreign(const gzlzss *z);

/* Whether the program lets the object use this CUDA device to decompress. */
bool object_may_use(const gzlzss *z, int device);

/* Whether `call`, which may be NULL, is a struct that this library can read. */
bool call_is_valid(const gzlzss_call *call);

/* Begins a call on z, which may be NULL.  The caller sets o->job and o->wake_up before, and calls
 * operation_end afterwards if this returns GZLZSS_OK. */
gzlzss_status operation_begin(struct operation *o, gzlzss *z, gzlzss_call *call);
void operation_end(struct operation *o);

/* Copies between memory of CUDA device `device` and other memory, in the calling thread, whose CUDA
 * context stays as it is.  False, with errno set, if that fails. */
bool operation_copy(const struct operation *o, int device, void *to, const void *from, size_t len);

/* Whether the call goes on: it was not cancelled.  If not, errno becomes ECANCELED. */
bool operation_goes_on(const struct operation *o);

/* Tells the program how many bytes of input were read and of output written.  One thread at a time
 * calls it.  Returns what operation_goes_on returns then. */
bool operation_tell(struct operation *o, uint64_t in, uint64_t out);

/* Sets the program's error_number if the status is an error of reading or writing, else 0.  Returns
 * `status`. */
gzlzss_status operation_error(const struct operation *o, gzlzss_status status, int error_number);

#endif
