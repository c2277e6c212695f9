/*
 * object.h - an object, and the calls that are under way on it; all files of the library use them
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
#include "inflate/whole.h"
#include "lib/inflaters.h"
#include "pipeline/pipeline.h"

/* A call that is under way. */
struct operation {
    gzlzss *z;
    /* The program's struct for this call, or NULL. */
    gzlzss_call *call;
    /* The job of a compression, or NULL. */
    struct pipeline_job *job;
    /* If not NULL, this function is called when the call is cancelled, to end the call's waits. */
    void (*wake_up)(struct operation *o);
    atomic_bool is_cancelled;
    /* The numbers of bytes that an abandoned attempt has reported to the program.  From then on,
     * `progress` gets no smaller numbers. */
    uint64_t told_in, told_out;
    /* The list that has this operation, and the neighbours in it.  The list's lock protects
     * `previous` and `next`. */
    struct calls *list;
    struct operation *previous, *next;
};

/* The calls that began on one processor (object_cache_shard) and are under way.  Each processor has
 * a list, so that threads on different processors do not wait for each other. */
struct calls {
    pthread_mutex_t lock;
    struct operation *first;
    char apart[OBJECT_SHARD_APART];
};

/* The memory of a decompression, which is kept for the next one. */
struct decompressor {
    struct cached_object kept;
    /* `whole` and `stream` are NULL until a decompression needs them. */
    struct inf_whole *whole;
    struct gz_stream *stream;
    struct gz_info info;
};

struct gzlzss {
    /* The process that made the object. */
    pid_t owner;
    struct pipeline *pipeline;
    int level;
    size_t segment_size;
    enum container container;
    bool is_rsyncable;
    bool skips_zeros;
    /* If is_cpu_only is set, no GPU may decompress.  Otherwise only the GPUs in `gpus` may
     * decompress, or all GPUs if `gpus` lists none. */
    bool is_cpu_only;
    struct gpus_config gpus;

    /* All threads read the fields above, and no thread changes them.  This padding gives them cache
     * lines of their own. */
    char apart[OBJECT_SHARD_APART];
    struct calls calls[OBJECT_SHARDS];
    /* Every idle struct decompressor. */
    struct object_cache idle;
    /* The GPUs that decompress. */
    struct inflaters inflaters;
};

/* Whether another process made the object, so that this process is a child of that process by
 * fork().  The child does not have the object's threads.  But its copy of the object may show their
 * work half done: locked mutexes, conditions with waiters, and lists in the middle of a change.  Do
 * not lock or destroy these mutexes, do not wait for or destroy these conditions, and do not walk
 * these lists. */
bool object_is_foreign(const gzlzss *z);

/* Whether the program lets the object use this CUDA device to decompress. */
bool object_may_use(const gzlzss *z, int device);

/* Whether `call` is NULL or a struct that this version of the library understands. */
bool call_is_valid(const gzlzss_call *call);

/* Sets the results of a call that is done.  call may be NULL. */
void call_set_results(gzlzss_call *call, uint64_t in, uint64_t out);

/* Sets the message of a call, if the program's struct has one.  call may be NULL. */
void call_set_message(gzlzss_call *call, const char *message);

/* Returns the level that a valid call asks for: its own, or else the object's.  The number may be
 * out of range; call_takes_level checks it. */
int call_level(const gzlzss *z, const gzlzss_call *call);

/* Sets *level to the row of the level that a valid call asks for, or to NULL if that is the
 * object's level.  Returns false if the object cannot compress at this level. */
bool call_takes_level(const gzlzss *z, const gzlzss_call *call, const struct lz_level **level);

/* operation_begin begins a call on z.  If z is NULL, it returns an error.  Set o->job and
 * o->wake_up before you call it.  If it returns GZLZSS_OK, call operation_end afterwards. */
gzlzss_status operation_begin(struct operation *o, gzlzss *z, gzlzss_call *call);
void operation_end(struct operation *o);

/* Copies between memory of CUDA device `device` and other memory.  The calling thread's CUDA
 * context stays as it is.  Returns false, with errno set, if the copy fails. */
bool operation_copy(const struct operation *o, int device, void *to, const void *from, size_t len);

/* Whether the call goes on.  If it was cancelled, returns false and sets errno to ECANCELED. */
bool operation_goes_on(const struct operation *o);

/* Tells the program how many bytes of input were read and how many bytes of output were written.
 * Only one thread at a time may call this.  Returns whether the call goes on, like
 * operation_goes_on. */
bool operation_tell(struct operation *o, uint64_t in, uint64_t out);

/* If the status is an error of reading or writing, sets the program's error_number to
 * `error_number`.  Otherwise, sets it to 0.  Returns `status`. */
gzlzss_status operation_error(const struct operation *o, gzlzss_status status, int error_number);

#endif
