/*
 * caller.cu - pointers and streams of the calling program, in the program's own threads (gpu.h)
 *
 * A program that has memory on a GPU has loaded the CUDA driver. This file therefore calls the
 * driver, if the process has it, and never the CUDA runtime, because the runtime would make a
 * context current in the program's thread. All runtimes of a process (the program's and this
 * library's) share the driver, its handles, and one primary context for each device. The driver is
 * looked up by dlopen with RTLD_NOLOAD, so that a process without CUDA never loads it.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gpu/cuda/internal.cuh"

/* How long a thread sleeps before it asks again whether a stream is done: 1/PAUSE_SHARE of the time
 * that it has waited, within these limits in nanoseconds. Longer sleeps notice the end, or a
 * cancellation, later; shorter ones wake a core more often. The thread cannot sleep inside the
 * driver instead, since it would not notice a cancellation there. */
#define PAUSE_SHARE 10
#define PAUSE_MIN_NS 5000L
#define PAUSE_MAX_NS 500000L

/* The functions of the CUDA driver that this file calls. */
struct driver {
    void *library;
    CUresult (*ctx_get_current)(CUcontext *context);
    CUresult (*ctx_get_device)(CUdevice *device);
    CUresult (*ctx_set_current)(CUcontext context);
    CUresult (*ctx_push)(CUcontext context);
    CUresult (*ctx_pop)(CUcontext *context);
    CUresult (*primary_retain)(CUcontext *context, CUdevice device);
    CUresult (*primary_release)(CUdevice device);
    CUresult (*primary_get_state)(CUdevice device, unsigned *flags, int *active);
    CUresult (*pointer_get_attributes)(unsigned count, CUpointer_attribute *attributes, void **data,
                                       CUdeviceptr pointer);
    CUresult (*stream_get_ctx)(CUstream stream, CUcontext *context);
    CUresult (*stream_is_capturing)(CUstream stream, CUstreamCaptureStatus *status);
    CUresult (*exchange_capture_mode)(CUstreamCaptureMode *mode);
    CUresult (*event_create)(CUevent *event, unsigned flags);
    CUresult (*event_record)(CUevent event, CUstream stream);
    CUresult (*event_query)(CUevent event);
    CUresult (*event_destroy)(CUevent event);
    CUresult (*get_error_string)(CUresult status, const char **text);
};

template <typename Function>
static bool find_symbol(const struct driver *d, Function **function, const char *name)
{
    *function = (Function *)dlsym(d->library, name);
    return *function != NULL;
}

static void leave_driver(const struct driver *d)
{
    if (d->library != NULL)
        dlclose(d->library);
}

/* Loads the functions of the driver that the process has. Returns false if the process has no
 * driver or the driver lacks a function. Call leave_driver afterwards in either case. */
static bool find_driver(struct driver *d)
{
    memset(d, 0, sizeof(*d));
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return d->library != NULL && find_symbol(d, &d->ctx_get_current, "cuCtxGetCurrent") &&
           find_symbol(d, &d->ctx_get_device, "cuCtxGetDevice") &&
           find_symbol(d, &d->ctx_set_current, "cuCtxSetCurrent") &&
           find_symbol(d, &d->ctx_push, "cuCtxPushCurrent_v2") &&
           find_symbol(d, &d->ctx_pop, "cuCtxPopCurrent_v2") &&
           find_symbol(d, &d->primary_retain, "cuDevicePrimaryCtxRetain") &&
           find_symbol(d, &d->primary_release, "cuDevicePrimaryCtxRelease_v2") &&
           find_symbol(d, &d->primary_get_state, "cuDevicePrimaryCtxGetState") &&
           find_symbol(d, &d->pointer_get_attributes, "cuPointerGetAttributes") &&
           find_symbol(d, &d->stream_get_ctx, "cuStreamGetCtx") &&
           find_symbol(d, &d->stream_is_capturing, "cuStreamIsCapturing") &&
           find_symbol(d, &d->exchange_capture_mode, "cuThreadExchangeStreamCaptureMode") &&
           find_symbol(d, &d->event_create, "cuEventCreate") &&
           find_symbol(d, &d->event_record, "cuEventRecord") &&
           find_symbol(d, &d->event_query, "cuEventQuery") &&
           find_symbol(d, &d->event_destroy, "cuEventDestroy_v2") &&
           find_symbol(d, &d->get_error_string, "cuGetErrorString");
}

static void explain(const struct driver *d, CUresult status, const char *what,
                    char error[GPU_ERROR_SIZE])
{
    const char *text = NULL;

    if (d->get_error_string(status, &text) != CUDA_SUCCESS || text == NULL)
        text = "unknown error";
    snprintf(error, GPU_ERROR_SIZE, "%.100s: %.100s", what, text);
}

bool gpu_context_is_active(int device)
{
    struct driver d;
    unsigned flags;
    int active = 0;

    if (!find_driver(&d) || d.primary_get_state(device, &flags, &active) != CUDA_SUCCESS)
        active = 0;
    leave_driver(&d);
    return active != 0;
}

int gpu_current_device(void)
{
    struct driver d;
    CUdevice device = 0;

    if (!find_driver(&d) || d.ctx_get_device(&device) != CUDA_SUCCESS)
        device = 0;
    leave_driver(&d);
    return device;
}

/* --- Threads --- */

void gpu_save_thread(struct gpu_thread *t)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext context = NULL;
    struct driver d;

    *t = {};
    if (find_driver(&d)) {
        if (d.ctx_get_current(&context) == CUDA_SUCCESS)
            t->context = context;
        /* If this call fails, CUDA is not initialized. Then 0 stands for the default mode. */
        if (d.exchange_capture_mode(&mode) == CUDA_SUCCESS)
            t->capture = mode;
    }
    leave_driver(&d);
}

void gpu_restore_thread(const struct gpu_thread *t)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)t->capture;
    CUcontext current = NULL;
    struct driver d;

    if (find_driver(&d)) {
        if (d.ctx_get_current(&current) == CUDA_SUCCESS && current != t->context)
            (void)d.ctx_set_current((CUcontext)t->context);
        (void)d.exchange_capture_mode(&mode);
    }
    leave_driver(&d);
}

/* --- Pointers --- */

/* Whether the range that the driver reports for p is one allocation. Memory of cuMemMap fails this
 * test, because its range is that of cuMemAddressReserve, whose parts may be on different devices.
 * Managed memory passes. So does memory of cudaMalloc, which other processes can use through legacy
 * IPC (is_shareable), and memory of cudaMallocAsync, which belongs to a pool. Drivers before CUDA
 * 11.3 do not know pools; the query then fails. */
static bool is_range_one(const struct driver *d, CUdeviceptr p, bool is_managed, bool is_shareable)
{
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
    void *pool = NULL, *data = &pool;

    return is_managed || is_shareable ||
           (d->pointer_get_attributes(1, &attribute, &data, p) == CUDA_SUCCESS && pool != NULL);
}

bool gpu_find_memory(const void *p, struct gpu_memory *m, char error[GPU_ERROR_SIZE])
{
    struct driver d;
    unsigned type = 0, is_managed = 0, is_shareable = 0;
    int device = 0;
    void *host = NULL;
    CUdeviceptr block = 0;
    size_t block_size = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    void *data[] = {&type, &is_managed, &device, &host, &block, &block_size, &is_shareable};
    CUresult status = CUDA_ERROR_NOT_INITIALIZED;

    *m = {false, 0, (void *)p, NULL, 0};
    if (p == NULL)
        return true;
    if (find_driver(&d)) {
        status = d.pointer_get_attributes(7, attributes, data, (CUdeviceptr)p);
    } else if (d.library != NULL) {
        snprintf(error, GPU_ERROR_SIZE, "the NVIDIA driver is too old");
        leave_driver(&d);
        return false;
    }
    if (status == CUDA_SUCCESS && (type == CU_MEMORYTYPE_DEVICE || is_managed)) {
        *m = {true, device >= 0 ? device : 0, NULL, (const uint8_t *)block, block_size};
        if (!is_range_one(&d, (CUdeviceptr)p, is_managed != 0, is_shareable != 0)) {
            m->block = NULL;
            m->block_size = 0;
        }
    } else if (status == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST && host != NULL) {
        /* Host memory that was passed by its device address. */
        m->host = host;
    } else if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_INITIALIZED) {
        explain(&d, status, "cuPointerGetAttributes", error);
        leave_driver(&d);
        return false;
    }
    leave_driver(&d);
    return true;
}

/* --- Streams --- */

/* Whether the handle means a default stream of the current context. */
static bool is_default(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* Finds the stream's context; NULL if the stream is a default stream and there is no context. If
 * this function retains the device's primary context, it sets *is_retained, and the caller must
 * release the context. */
static CUresult find_context(const struct driver *d, CUstream stream, int device,
                             CUcontext *context, bool *is_retained)
{
    unsigned flags;
    int is_active = 0;
    CUresult status;

    *is_retained = false;
    *context = NULL;
    if (!is_default(stream))
        return d->stream_get_ctx(stream, context);
    status = d->ctx_get_current(context);
    if (status == CUDA_ERROR_NOT_INITIALIZED)
        return CUDA_SUCCESS;
    if (status != CUDA_SUCCESS || *context != NULL || device < 0)
        return status;
    /* Without a context, there is no work to wait for. This function must not create a context, so
     * first find out whether the device has a primary context. */
    status = d->primary_get_state(device, &flags, &is_active);
    if (status != CUDA_SUCCESS || !is_active)
        return status;
    status = d->primary_retain(context, device);
    *is_retained = status == CUDA_SUCCESS;
    return status;
}

/* Waits until the event has happened. If goes_on returns false before the event, sets *is_stopped
 * and returns. */
static CUresult wait_for_event(const struct driver *d, CUevent event, bool (*goes_on)(void *ctx),
                               void *ctx, bool *is_stopped)
{
    long waited = 0;
    CUresult status;

    *is_stopped = false;
    while ((status = d->event_query(event)) == CUDA_ERROR_NOT_READY) {
        const long share = waited / PAUSE_SHARE;
        const struct timespec pause = {0, share < PAUSE_MIN_NS   ? PAUSE_MIN_NS
                                          : share > PAUSE_MAX_NS ? PAUSE_MAX_NS
                                                                 : share};

        if (!goes_on(ctx)) {
            *is_stopped = true;
            break;
        }
        nanosleep(&pause, NULL);
        if (waited < PAUSE_SHARE * PAUSE_MAX_NS)
            waited += pause.tv_nsec;
    }
    return status;
}

/* Waits for the work that was queued on the stream. The caller has made the stream's context
 * current, and the thread's capture mode relaxed. */
static enum gpu_wait wait_for_stream(const struct driver *d, CUstream stream,
                                     bool (*goes_on)(void *ctx), void *ctx,
                                     char error[GPU_ERROR_SIZE])
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUevent event = NULL;
    bool is_stopped = false;
    CUresult status = d->stream_is_capturing(stream, &capture);

    if (status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
        (status == CUDA_SUCCESS && capture != CU_STREAM_CAPTURE_STATUS_NONE))
        return GPU_WAIT_CAPTURED;
    if (status == CUDA_SUCCESS)
        status = d->event_create(&event, CU_EVENT_DISABLE_TIMING);
    if (status == CUDA_SUCCESS)
        status = d->event_record(event, stream);
    if (status == CUDA_SUCCESS)
        status = wait_for_event(d, event, goes_on, ctx, &is_stopped);
    if (event != NULL)
        (void)d->event_destroy(event);
    if (is_stopped)
        return GPU_WAIT_STOPPED;
    if (status == CUDA_SUCCESS)
        return GPU_WAIT_DONE;
    explain(d, status, "the stream", error);
    return GPU_WAIT_FAILED;
}

enum gpu_wait gpu_wait_stream(void *stream, int device, bool (*goes_on)(void *ctx), void *ctx,
                              char error[GPU_ERROR_SIZE])
{
    struct driver d;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext context, popped;
    bool is_retained = false;
    enum gpu_wait result = GPU_WAIT_FAILED;
    CUresult status;

    if (!find_driver(&d)) {
        leave_driver(&d);
        if (is_default((CUstream)stream))
            return GPU_WAIT_DONE;
        snprintf(error, GPU_ERROR_SIZE, "no NVIDIA driver is loaded");
        return GPU_WAIT_FAILED;
    }
    status = find_context(&d, (CUstream)stream, device, &context, &is_retained);
    if (status == CUDA_SUCCESS && context != NULL)
        status = d.ctx_push(context);
    if (status != CUDA_SUCCESS) {
        explain(&d, status, "the stream", error);
    } else if (context == NULL) {
        result = GPU_WAIT_DONE;
    } else {
        (void)d.exchange_capture_mode(&mode);
        result = wait_for_stream(&d, (CUstream)stream, goes_on, ctx, error);
        (void)d.exchange_capture_mode(&mode);
        (void)d.ctx_pop(&popped);
    }
    if (is_retained)
        (void)d.primary_release(device);
    leave_driver(&d);
    return result;
}
