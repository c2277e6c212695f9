/*
 * inflaters.h - the GPUs on which an object decompresses
 *
 * An inflater is one device: an engine (gpu/inflate.h), and the calls that wait for it.  An engine
 * does one call at a time.  So calls on one device take turns, in the order in which they came.
 * Waiting for a turn and using the GPU usually takes less time than using the CPU at once.  Calls
 * on different devices do not wait for each other.
 *
 * An engine takes much of the device's memory.  It is opened for the first call that needs it, and
 * kept until the object is freed.  If the engine cannot be opened, the device's memory may be short
 * now.  Each attempt takes time, so the device is not tried again for a while (INFLATERS_PAUSE).
 * If the device fails, it is not used again.
 */
#ifndef GZLZSS_LIB_INFLATERS_H
#define GZLZSS_LIB_INFLATERS_H

#include <pthread.h>
#include <stdbool.h>

#include "gpu/inflate.h"

struct inflater;

struct inflaters {
    /* Protects the fields below.  A thread holds this lock only briefly, not while a device works,
     * and takes no other lock meanwhile. */
    pthread_mutex_t lock;
    /* Signalled when an engine has become idle or a call was cancelled. */
    pthread_cond_t changed;
    /* The inflaters of all devices that calls have asked for so far. */
    struct inflater *first;
    /* The latest reason why a device failed or its engine could not be opened; empty if there was
     * none. */
    char trouble[GPU_ERROR_SIZE];
};

void inflaters_init(struct inflaters *s);

/* Closes all engines.  No call may be under way.  The calling thread's CUDA context and capture
 * mode stay as they are. */
void inflaters_free(struct inflaters *s);

/* Waits for a turn on this device, and opens the device's engine if it is not open.  Returns NULL
 * if the device cannot be used or goes_on(ctx) has returned false.  goes_on is called with the lock
 * held, at first and after each inflaters_wake.
 *
 * A thread of the calling program calls this and inflaters_release between gpu_save_thread and
 * gpu_restore_thread. */
struct inflater *inflaters_take(struct inflaters *s, int device, bool (*goes_on)(void *ctx),
                                void *ctx);

/* Returns the inflater's engine. */
struct gpu_inflate *inflater_engine(const struct inflater *i);

/* Lets the next call use the device.  `failure` is NULL, or the reason why the device has
 * failed. */
void inflaters_release(struct inflaters *s, struct inflater *i, const char *failure);

/* Makes all waiting calls call goes_on again. */
void inflaters_wake(struct inflaters *s);

/* Copies `trouble` to `why`. */
void inflaters_trouble(struct inflaters *s, char why[GPU_ERROR_SIZE]);

#endif
