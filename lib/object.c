/*
 * object.c - objects, options, and calls that are under way (object.h)
 *
 * An object's options become a pipeline's configuration here.  A program may have been compiled
 * with an older or a later header.  So gzlzss_options and gzlzss_call begin with their size, and
 * this file checks that size.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bgzf.h"
#include "compat/crc.h"
#include "gpu/loader.h"
#include "lib/object.h"
#include "lzss/lzss.h"
#include "papers/papers.h"

#define SEGMENT_UNIT 1024

_Static_assert(CONTAINER_GZIP == (int)GZLZSS_GZIP && CONTAINER_ZLIB == (int)GZLZSS_ZLIB &&
                   CONTAINER_RAW == (int)GZLZSS_RAW && CONTAINER_BGZF == (int)GZLZSS_BGZF &&
                   CONTAINER_ZIP == (int)GZLZSS_ZIP,
               "the formats");
_Static_assert(GZLZSS_LEVEL_MIN == LZ_LEVEL_MIN && GZLZSS_LEVEL_MAX == LZ_LEVEL_MAX, "the levels");

/* --- Version and texts of statuses ---------------------------------------------------------- */

const char *gzlzss_version(void)
{
    return PACKAGE_VERSION;
}

const char *gzlzss_status_text(gzlzss_status status)
{
    switch (status) {
    case GZLZSS_OK:
        return "no error";
    case GZLZSS_STREAM_END:
        return "end of the stream";
    case GZLZSS_NEEDS_DICTIONARY:
        return "a dictionary is needed";
    case GZLZSS_ERROR_ARGUMENT:
        return "invalid argument";
    case GZLZSS_ERROR_MEMORY:
        return "out of memory";
    case GZLZSS_ERROR_READ:
        return "read error";
    case GZLZSS_ERROR_WRITE:
        return "write error";
    case GZLZSS_ERROR_ROOM:
        return "output buffer too small";
    case GZLZSS_ERROR_FORMAT:
        return "not in gzip format";
    case GZLZSS_ERROR_DATA:
        return "invalid compressed data";
    case GZLZSS_ERROR_TRUNCATED:
        return "unexpected end of input";
    case GZLZSS_ERROR_TRAILING:
        return "trailing garbage";
    case GZLZSS_ERROR_GPU:
        return "no usable GPU";
    case GZLZSS_ERROR_CANCELLED:
        return "cancelled";
    case GZLZSS_ERROR_FORKED:
        return "the object belongs to another process";
    case GZLZSS_ERROR_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}

/* --- Objects -------------------------------------------------------------------------------- */

/* The sizes of the structs in version 0.1, which was the first version.  No program has smaller
 * structs. */
#define OPTIONS_SIZE_MIN (offsetof(gzlzss_options, device_count) + sizeof(size_t))
#define CALL_SIZE_MIN (offsetof(gzlzss_call, out_bytes) + sizeof(uint64_t))

/* The most bytes of a struct in any version.  If the size in a struct is larger, the program has
 * not set it. */
#define STRUCT_SIZE_MAX 4096

/* Whether this version understands a struct that the program gave.  The struct's size must be
 * possible.  This version knows the first `known` bytes; all bytes after them must be zero. */
static bool is_known(const void *given, size_t size, size_t least, size_t known)
{
    const uint8_t *bytes = given;

    if (size < least || size > STRUCT_SIZE_MAX)
        return false;
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Sets a caller's struct of `size` bytes to the first bytes of `initial`, which has `known` bytes,
 * and to zeros. */
static void initialize(void *to, size_t size, const void *initial, size_t known)
{
    if (to == NULL || size < sizeof(size))
        return;
    memset(to, 0, size);
    memcpy(to, initial, size < known ? size : known);
    memcpy(to, &size, sizeof(size));
}

void gzlzss_options_init(gzlzss_options *options, size_t size)
{
    const gzlzss_options initial = GZLZSS_OPTIONS_INIT;

    _Static_assert(offsetof(gzlzss_options, size) == 0, "initialize sets the size there");
    initialize(options, size, &initial, sizeof(initial));
}

void gzlzss_call_init(gzlzss_call *call, size_t size)
{
    const gzlzss_call initial = GZLZSS_CALL_INIT;

    _Static_assert(offsetof(gzlzss_call, size) == 0, "initialize sets the size there");
    initialize(call, size, &initial, sizeof(initial));
}

/* Returns the options that the program gave, with defaults for options that the program's header
 * did not have yet. */
static gzlzss_options known_options(const gzlzss_options *given)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;

    if (given != NULL)
        memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
    o.size = sizeof(o);
    return o;
}

static bool are_valid(const gzlzss_options *o)
{
    if (o->level < GZLZSS_LEVEL_STORED || o->level > GZLZSS_LEVEL_MAX || o->threads < 0 ||
        o->threads > PIPELINE_THREADS_MAX || o->device_count > GPUS_MAX ||
        (o->device_count > 0 && o->devices == NULL))
        return false;
    for (size_t i = 0; i < o->device_count; i++)
        if (o->devices[i] < 0)
            return false;
    if (o->segment_size != 0 &&
        (o->segment_size < LZ_SEGMENT_MIN || o->segment_size > LZ_SEGMENT_MAX ||
         o->segment_size % SEGMENT_UNIT != 0))
        return false;
    if (o->format < GZLZSS_GZIP || o->format > GZLZSS_ZIP)
        return false;
    if (o->format == GZLZSS_BGZF && (o->segment_size > BGZF_DATA_MAX || o->rsyncable))
        return false;
    return o->backend == GZLZSS_AUTO || o->backend == GZLZSS_CPU ||
           (o->backend == GZLZSS_GPU && !o->rsyncable);
}

/* Makes the pipeline's configuration from the options and the system's limits.  Returns false if
 * the matcher is unknown, or if there is a matcher although the level only stores. */
static bool configure(struct pipeline_config *config, const gzlzss_options *o)
{
    struct lz_level own_level = *lz_level(o->level);
    char error[PAPER_ERROR_SIZE];
    struct pipeline_config c = {
        .level = o->level,
        .threads = o->threads,
        .segment_size = o->segment_size,
        .container = (enum container)o->format,
        .backend = o->backend == GZLZSS_CPU   ? BACKEND_CPU
                   : o->backend == GZLZSS_GPU ? BACKEND_GPU
                                              : BACKEND_AUTO,
        .expand_backend = BACKEND_CPU, /* inflaters.c decompresses on GPUs, without the pipeline */
        .gpus.count = (int)o->device_count,
        .rsyncable = o->rsyncable != 0,
        .verify = o->verify != 0,
    };

    if (c.segment_size == 0)
        c.segment_size = pipeline_segment_default(&c);
    pipeline_limit(&c);
    for (size_t i = 0; i < o->device_count; i++)
        c.gpus.numbers[i] = o->devices[i];
    if (o->matcher != NULL) {
        if (o->level == GZLZSS_LEVEL_STORED || !paper_parse(o->matcher, &own_level, error))
            return false;
        c.own_level = own_level;
    }
    *config = c;
    return true;
}

/* The reason why this thread's last gzlzss_new has failed with GZLZSS_ERROR_GPU.  The text is empty
 * if there was no such failure. */
static _Thread_local char trouble[GPU_ERROR_SIZE];

gzlzss_status gzlzss_new(gzlzss **z, const gzlzss_options *options)
{
    char error[GPU_ERROR_SIZE];
    struct pipeline_config c;
    gzlzss_options o;
    gzlzss *made;

    if (z == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *z = NULL;
    trouble[0] = '\0';
    if (options != NULL && !is_known(options, options->size, OPTIONS_SIZE_MIN, sizeof(o)))
        return GZLZSS_ERROR_ARGUMENT;
    o = known_options(options);
    if (!are_valid(&o) || !configure(&c, &o))
        return GZLZSS_ERROR_ARGUMENT;
    if (c.memory < pipeline_least_memory(&c))
        return GZLZSS_ERROR_MEMORY;
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return GZLZSS_ERROR_MEMORY;
    /* Load ISA-L here.  Another thread must not load it, because the caller may hold the dynamic
     * loader's lock. */
    gz_crc32_prepare(UINT64_MAX);
    if (c.backend != BACKEND_CPU)
        gpu_module_locate();
    made->owner = getpid();
    made->level = o.level;
    made->segment_size = c.segment_size;
    made->container = c.container;
    made->is_rsyncable = c.rsyncable;
    made->skips_zeros = o.skip_zeros != 0;
    made->is_cpu_only = c.backend == BACKEND_CPU;
    made->gpus = c.gpus;
    made->pipeline = pipeline_new(&c, error);
    if (made->pipeline == NULL) {
        free(made);
        if (c.backend != BACKEND_GPU)
            return GZLZSS_ERROR_MEMORY;
        snprintf(trouble, sizeof(trouble), "%s", error);
        return GZLZSS_ERROR_GPU;
    }
    for (unsigned i = 0; i < OBJECT_SHARDS; i++)
        pthread_mutex_init(&made->calls[i].lock, NULL);
    object_cache_init(&made->idle);
    inflaters_init(&made->inflaters);
    *z = made;
    return GZLZSS_OK;
}

static void free_decompressor(struct cached_object *kept)
{
    struct decompressor *d = (struct decompressor *)kept;

    inf_whole_free(d->whole);
    gz_close(d->stream);
    free(d);
}

bool object_is_foreign(const gzlzss *z)
{
    return z->owner != getpid();
}

void gzlzss_free(gzlzss *z)
{
    if (z == NULL)
        return;
    if (object_is_foreign(z)) {
        free(z);
        return;
    }
    pipeline_free(z->pipeline);
    object_cache_free(&z->idle, free_decompressor);
    inflaters_free(&z->inflaters);
    for (unsigned i = 0; i < OBJECT_SHARDS; i++)
        pthread_mutex_destroy(&z->calls[i].lock);
    free(z);
}

bool object_may_use(const gzlzss *z, int device)
{
    for (int i = 0; i < z->gpus.count; i++)
        if (z->gpus.numbers[i] == device)
            return !z->is_cpu_only;
    return !z->is_cpu_only && z->gpus.count == 0;
}

/* Sets `why` to the reason why a GPU failed or could not be used for compression.  If there is no
 * such reason, sets `why` to the reason for decompression.  If there is none either, `why` becomes
 * empty. */
static void gpu_trouble(const gzlzss *z, char why[GPU_ERROR_SIZE])
{
    pipeline_gpu_trouble(z->pipeline, why);
    if (why[0] == '\0')
        inflaters_trouble((struct inflaters *)&z->inflaters, why);
    if (why[0] == '\0')
        gpu_module_trouble(why);
}

void gzlzss_no_gpu(const gzlzss *z, char *text, size_t size)
{
    char why[GPU_ERROR_SIZE];

    if (text == NULL || size == 0)
        return;
    if (z == NULL)
        snprintf(why, sizeof(why), "%s", trouble);
    else if (object_is_foreign(z))
        snprintf(why, sizeof(why), "%s", gzlzss_status_text(GZLZSS_ERROR_FORKED));
    else
        gpu_trouble(z, why);
    snprintf(text, size, "%s", why);
}

size_t gzlzss_segment_size(const gzlzss *z)
{
    return z == NULL ? 0 : z->segment_size;
}

/* --- Calls ---------------------------------------------------------------------------------- */

bool call_is_valid(const gzlzss_call *call)
{
    return call == NULL || is_known(call, call->size, CALL_SIZE_MIN, sizeof(*call));
}

void call_set_results(gzlzss_call *call, uint64_t in, uint64_t out)
{
    if (call == NULL)
        return;
    call->in_bytes = in;
    call->out_bytes = out;
}

void call_set_message(gzlzss_call *call, const char *message)
{
    if (call != NULL && call->size >= offsetof(gzlzss_call, message) + sizeof(call->message))
        call->message = message;
}

int call_level(const gzlzss *z, const gzlzss_call *call)
{
    const bool has_level =
        call != NULL && call->size >= offsetof(gzlzss_call, level) + sizeof(call->level);

    if (!has_level || call->level == 0)
        return z->level;
    return call->level == GZLZSS_CALL_STORED ? GZLZSS_LEVEL_STORED : call->level;
}

bool call_takes_level(const gzlzss *z, const gzlzss_call *call, const struct lz_level **level)
{
    const int number = call_level(z, call);

    *level = NULL;
    if (number == z->level)
        return true;
    if (number < GZLZSS_LEVEL_STORED || number > GZLZSS_LEVEL_MAX)
        return false;
    *level = pipeline_row(z->container, number);
    return pipeline_takes_level(z->pipeline, *level);
}

gzlzss_status operation_begin(struct operation *o, gzlzss *z, gzlzss_call *call)
{
    if (z == NULL || !call_is_valid(call))
        return GZLZSS_ERROR_ARGUMENT;
    if (object_is_foreign(z))
        return GZLZSS_ERROR_FORKED;
    o->z = z;
    o->call = call;
    o->is_cancelled = false;
    o->told_in = 0;
    o->told_out = 0;
    o->previous = NULL;
    if (call != NULL) {
        call->error_number = 0;
        call->in_bytes = 0;
        call->out_bytes = 0;
        call_set_message(call, NULL);
    }
    o->list = &z->calls[object_cache_shard()];
    pthread_mutex_lock(&o->list->lock);
    o->next = o->list->first;
    if (o->next != NULL)
        o->next->previous = o;
    o->list->first = o;
    pthread_mutex_unlock(&o->list->lock);
    return GZLZSS_OK;
}

void operation_end(struct operation *o)
{
    struct calls *list = o->list;

    pthread_mutex_lock(&list->lock);
    if (o->previous != NULL)
        o->previous->next = o->next;
    else
        list->first = o->next;
    if (o->next != NULL)
        o->next->previous = o->previous;
    pthread_mutex_unlock(&list->lock);
}

/* Cancels an operation.  The caller holds the lock of the operation's list. */
static void cancel(struct operation *o)
{
    atomic_store(&o->is_cancelled, true);
    if (o->job != NULL)
        pipeline_cancel_job(o->z->pipeline, o->job);
    if (o->wake_up != NULL)
        o->wake_up(o);
}

void gzlzss_cancel(gzlzss *z, const gzlzss_call *call)
{
    if (z == NULL || object_is_foreign(z))
        return;
    for (unsigned i = 0; i < OBJECT_SHARDS; i++) {
        struct calls *list = &z->calls[i];

        pthread_mutex_lock(&list->lock);
        for (struct operation *o = list->first; o != NULL; o = o->next)
            if (call == NULL || o->call == call)
                cancel(o);
        pthread_mutex_unlock(&list->lock);
    }
}

bool operation_goes_on(const struct operation *o)
{
    if (!atomic_load(&o->is_cancelled))
        return true;
    errno = ECANCELED;
    return false;
}

bool operation_tell(struct operation *o, uint64_t in, uint64_t out)
{
    gzlzss_call *call = o->call;

    if (call != NULL) {
        call->in_bytes = in;
        call->out_bytes = out;
        if (call->progress != NULL && call->progress(call->ctx, in > o->told_in ? in : o->told_in,
                                                     out > o->told_out ? out : o->told_out) != 0) {
            atomic_store(&o->is_cancelled, true);
            if (o->wake_up != NULL)
                o->wake_up(o);
        }
    }
    return operation_goes_on(o);
}

bool operation_copy(const struct operation *o, int device, void *to, const void *from, size_t len)
{
    struct gpu_thread program;
    bool ok;
    int error;

    gpu_save_thread(&program);
    ok = pipeline_copy(o->z->pipeline, device, to, from, len);
    error = errno;
    gpu_restore_thread(&program);
    errno = error;
    return ok;
}

gzlzss_status operation_error(const struct operation *o, gzlzss_status status, int error_number)
{
    if (o->call != NULL)
        o->call->error_number =
            status == GZLZSS_ERROR_READ || status == GZLZSS_ERROR_WRITE ? error_number : 0;
    return status;
}
