/*
 * test_caller.c - how gpu/cuda/caller.cu asks a driver about pointers, streams and contexts
 *
 * The driver here is a fake that follows CUDA's documentation, and checks that each call comes in
 * the right context.  The tests check that the thread has the same context after a call as before.
 * tests/gpu/test_device_pointers.cu tests the real driver.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "gpu/gpu.h"
#include "tests/emulation/cuda.h"
#include "tests/unit/unit.h"

/* --- The driver --- */

enum { DEVICES = 3 };

struct CUctx_st {
    int device;
};

struct CUstream_st {
    CUcontext context;
    CUstreamCaptureStatus capture;
    int left;        /* an event on the stream is "not ready" this many times */
    CUresult result; /* the event's result after that */
};

struct CUevent_st {
    CUcontext context;
    struct CUstream_st *stream; /* the stream that the event was recorded on, or NULL */
};

static struct {
    bool is_there;     /* the process has loaded the driver */
    bool is_ready;     /* the process has initialized the driver */
    const char *lacks; /* the name of a function that this driver lacks */
    CUresult pointers; /* the result of questions about pointers */
    /* How on_device was allocated. */
    enum { WHOLE, POOL, RESERVED } allocation;
    bool knows_no_pools;
    /* How many libraries are not closed, contexts not released, and events not destroyed. */
    int opened, retained[DEVICES], events;
    int most_retained;
} driver;

static struct CUctx_st primary[DEVICES] = {{0}, {1}, {2}}, another = {1};
static struct CUstream_st legacy[DEVICES], per_thread;
static CUstreamCaptureMode capture_mode;

/* The thread's contexts, the current one last. */
static _Thread_local struct {
    CUcontext contexts[8];
    int count;
} stack;

static CUcontext top(void)
{
    return stack.count > 0 ? stack.contexts[stack.count - 1] : NULL;
}

static CUresult ctx_get_current(CUcontext *context)
{
    if (!driver.is_ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    *context = top();
    return CUDA_SUCCESS;
}

static CUresult ctx_get_device(CUdevice *device)
{
    if (!driver.is_ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (top() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = top()->device;
    return CUDA_SUCCESS;
}

static CUresult ctx_set_current(CUcontext context)
{
    if (!driver.is_ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (stack.count > 0)
        stack.count--;
    if (context != NULL)
        stack.contexts[stack.count++] = context;
    return CUDA_SUCCESS;
}

static CUresult ctx_push(CUcontext context)
{
    CHECK(context != NULL && stack.count < 8);
    stack.contexts[stack.count++] = context;
    return CUDA_SUCCESS;
}

static CUresult ctx_pop(CUcontext *context)
{
    CHECK(stack.count > 0);
    *context = stack.contexts[--stack.count];
    return CUDA_SUCCESS;
}

static CUresult primary_retain(CUcontext *context, CUdevice device)
{
    if (device < 0 || device >= DEVICES)
        return CUDA_ERROR_INVALID_VALUE;
    driver.retained[device]++;
    driver.most_retained++;
    *context = &primary[device];
    return CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice device)
{
    driver.retained[device]--;
    return CUDA_SUCCESS;
}

static CUresult primary_get_state(CUdevice device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = device > 0;
    if (device >= DEVICES)
        return CUDA_ERROR_INVALID_VALUE;
    return driver.is_ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* Memory of a device, managed memory, host memory that the device sees at another address
 * (mapped_at), and ordinary memory. */
static uint8_t on_device[100], managed[100], mapped[100], mapped_at[100], plain[100];

static bool is_in(CUdeviceptr p, const uint8_t *memory)
{
    return p >= (uintptr_t)memory && p < (uintptr_t)memory + 100;
}

static CUresult pointer_get_attributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                       CUdeviceptr p)
{
    if (!driver.is_ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (driver.pointers != CUDA_SUCCESS)
        return driver.pointers;
    for (unsigned i = 0; i < count; i++)
        switch (attributes[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)data[i] = is_in(p, on_device) || is_in(p, managed) ? CU_MEMORYTYPE_DEVICE
                                   : is_in(p, mapped_at)                    ? CU_MEMORYTYPE_HOST
                                                                            : 0;
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *(unsigned *)data[i] = is_in(p, managed);
            break;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **)data[i] = is_in(p, mapped_at) ? mapped + (p - (uintptr_t)mapped_at)
                                : is_in(p, managed) ? (void *)p
                                                    : NULL;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            /* Memory that the driver does not know belongs to no device (-2). */
            *(int *)data[i] = is_in(p, on_device) ? 2 : is_in(p, managed) ? 1 : -2;
            break;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            *(unsigned *)data[i] = is_in(p, on_device) && driver.allocation == WHOLE;
            break;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            if (driver.knows_no_pools)
                return CUDA_ERROR_INVALID_VALUE;
            *(void **)data[i] = is_in(p, on_device) && driver.allocation == POOL ? on_device : NULL;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *)data[i] = is_in(p, on_device) ? (uintptr_t)on_device : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *)data[i] = is_in(p, on_device) ? sizeof(on_device) : 0;
            break;
        }
    return CUDA_SUCCESS;
}

static bool is_handle(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* Checks that the stream belongs to the current context, and returns it. */
static struct CUstream_st *in_context(CUstream stream)
{
    const CUcontext context = top();

    if (!CHECK(context != NULL))
        abort();
    if (stream == NULL || stream == CU_STREAM_LEGACY)
        return &legacy[context->device];
    if (stream == CU_STREAM_PER_THREAD)
        return &per_thread;
    CHECK(stream->context == context);
    return stream;
}

static CUresult stream_get_ctx(CUstream stream, CUcontext *context)
{
    if (!driver.is_ready)
        return CUDA_ERROR_NOT_INITIALIZED;
    CHECK(!is_handle(stream));
    *context = stream->context;
    return CUDA_SUCCESS;
}

static CUresult stream_is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    const struct CUstream_st *s = in_context(stream);

    if (s->result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return s->result;
    *status = s->capture;
    return CUDA_SUCCESS;
}

static CUresult exchange_capture_mode(CUstreamCaptureMode *mode)
{
    const CUstreamCaptureMode before = capture_mode;

    capture_mode = *mode;
    *mode = before;
    return driver.is_ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult event_create(CUevent *event, unsigned flags)
{
    CHECK_EQ(flags, CU_EVENT_DISABLE_TIMING);
    *event = unit_need(calloc(1, sizeof(**event)));
    (*event)->context = top();
    driver.events++;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
    event->stream = in_context(stream);
    CHECK(event->context == top());
    CHECK_EQ(event->stream->capture, CU_STREAM_CAPTURE_STATUS_NONE);
    return CUDA_SUCCESS;
}

static CUresult event_query(CUevent event)
{
    CHECK(event->stream != NULL);
    CHECK_EQ(capture_mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    return event->stream->left-- > 0 ? CUDA_ERROR_NOT_READY : event->stream->result;
}

static CUresult event_destroy(CUevent event)
{
    free(event);
    driver.events--;
    return CUDA_SUCCESS;
}

static CUresult get_error_string(CUresult status, const char **text)
{
    *text = status == CUDA_ERROR_LAUNCH_FAILED ? "launch failed" : NULL;
    return CUDA_SUCCESS;
}

void *emulated_dlopen(const char *name, int flags)
{
    CHECK(strcmp(name, "libcuda.so.1") == 0);
    CHECK((flags & RTLD_NOLOAD) != 0);
    if (!driver.is_there)
        return NULL;
    driver.opened++;
    return &driver;
}

void *emulated_dlsym(void *library, const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } functions[] = {{"cuCtxGetCurrent", (void *)ctx_get_current},
                     {"cuCtxGetDevice", (void *)ctx_get_device},
                     {"cuCtxSetCurrent", (void *)ctx_set_current},
                     {"cuCtxPushCurrent_v2", (void *)ctx_push},
                     {"cuCtxPopCurrent_v2", (void *)ctx_pop},
                     {"cuDevicePrimaryCtxRetain", (void *)primary_retain},
                     {"cuDevicePrimaryCtxRelease_v2", (void *)primary_release},
                     {"cuDevicePrimaryCtxGetState", (void *)primary_get_state},
                     {"cuPointerGetAttributes", (void *)pointer_get_attributes},
                     {"cuStreamGetCtx", (void *)stream_get_ctx},
                     {"cuStreamIsCapturing", (void *)stream_is_capturing},
                     {"cuThreadExchangeStreamCaptureMode", (void *)exchange_capture_mode},
                     {"cuEventCreate", (void *)event_create},
                     {"cuEventRecord", (void *)event_record},
                     {"cuEventQuery", (void *)event_query},
                     {"cuEventDestroy_v2", (void *)event_destroy},
                     {"cuGetErrorString", (void *)get_error_string}};

    CHECK(library == &driver);
    if (driver.lacks != NULL && strcmp(name, driver.lacks) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(name, functions[i].name) == 0)
            return functions[i].function;
    return NULL;
}

int emulated_dlclose(void *library)
{
    CHECK(library == &driver);
    driver.opened--;
    return 0;
}

/* --- The tests --- */

static void be_ready(void)
{
    memset(&driver, 0, sizeof(driver));
    driver.is_there = driver.is_ready = true;
    memset(legacy, 0, sizeof(legacy));
    memset(&per_thread, 0, sizeof(per_thread));
    stack.count = 0;
    capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* Checks that a call has left nothing behind. */
static void check_tidy(void)
{
    CHECK_EQ(driver.opened, 0);
    CHECK_EQ(driver.events, 0);
    for (int i = 0; i < DEVICES; i++)
        CHECK_EQ(driver.retained[i], 0);
    CHECK_EQ(capture_mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void check_host(const void *p, const void *host)
{
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_memory m;

    CHECK(gpu_find_memory(p, &m, error));
    CHECK(!m.is_on_gpu && m.host == host);
    check_tidy();
}

static void check_device(const void *p, int device, bool has_block)
{
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_memory m;

    CHECK(gpu_find_memory(p, &m, error));
    CHECK(m.is_on_gpu);
    CHECK_EQ(m.device, device);
    CHECK(m.block == (has_block ? on_device : NULL));
    CHECK_EQ(m.block_size, has_block ? sizeof(on_device) : 0);
    check_tidy();
}

static void test_pointers(void)
{
    char error[GPU_ERROR_SIZE] = "";
    struct gpu_memory m;

    be_ready();
    check_host(plain + 7, plain + 7);
    check_host(mapped_at + 7, mapped + 7);
    check_host(NULL, NULL);
    check_device(on_device + 99, 2, true);
    check_device(managed, 1, false);
    driver.allocation = POOL;
    check_device(on_device + 99, 2, true);
    driver.knows_no_pools = true;
    check_device(on_device + 99, 2, false);
    /* Other parts of a reserved range may belong to another device. */
    be_ready();
    driver.allocation = RESERVED;
    check_device(on_device + 99, 2, false);
    CHECK_EQ(stack.count, 0);
    driver.pointers = CUDA_ERROR_LAUNCH_FAILED;
    CHECK(!gpu_find_memory(on_device, &m, error));
    CHECK(strstr(error, "launch failed") != NULL);
    check_tidy();
    /* Without a driver, or before it is initialized, all memory counts as the host's. */
    driver.is_ready = false;
    check_host(on_device, on_device);
    driver.is_there = false;
    check_host(on_device, on_device);
    /* A driver that lacks a function is too old to ask. */
    be_ready();
    driver.lacks = "cuStreamIsCapturing";
    CHECK(!gpu_find_memory(on_device, &m, error));
    CHECK(strstr(error, "too old") != NULL);
    check_tidy();
}

static void test_active(void)
{
    be_ready();
    CHECK(gpu_context_is_active(1));
    CHECK(!gpu_context_is_active(0));
    check_tidy();
    driver.is_ready = false;
    CHECK(!gpu_context_is_active(1));
    driver.is_there = false;
    CHECK(!gpu_context_is_active(1));
    check_tidy();
}

/* asked: how often a call has asked whether to go on.  stops_at: the number of the first question
 * that is answered with "no". */
static int asked, stops_at;

static bool goes_on(void *ctx)
{
    CHECK(ctx == &asked);
    return ++asked != stops_at;
}

static enum gpu_wait wait_for(CUstream stream, int device, char error[GPU_ERROR_SIZE])
{
    const CUcontext before = top();
    const int count = stack.count;
    enum gpu_wait result;

    error[0] = '\0';
    asked = 0;
    result = gpu_wait_stream(stream, device, goes_on, &asked, error);
    CHECK(top() == before);
    CHECK_EQ(stack.count, count);
    CHECK((result == GPU_WAIT_FAILED) == (error[0] != '\0'));
    check_tidy();
    return result;
}

/* Tests a stream that the program made.  Any context may be current. */
static void test_stream(void)
{
    struct CUstream_st stream = {.context = &another};
    const CUcontext currents[] = {NULL, &primary[0], &another};
    char error[GPU_ERROR_SIZE];

    for (int i = 0; i < 3; i++) {
        be_ready();
        if (currents[i] != NULL)
            CHECK_EQ(ctx_push(currents[i]), CUDA_SUCCESS);
        stream = (struct CUstream_st){.context = &another};
        CHECK_EQ(wait_for(&stream, 0, error), GPU_WAIT_DONE);
        CHECK_EQ(asked, 0);
        stream.left = 20;
        CHECK_EQ(wait_for(&stream, -1, error), GPU_WAIT_DONE);
        CHECK_EQ(asked, 20);
        stream.left = 100000;
        stops_at = 5;
        CHECK_EQ(wait_for(&stream, 0, error), GPU_WAIT_STOPPED);
        stops_at = 0;
        stream.left = 1;
        stream.result = CUDA_ERROR_LAUNCH_FAILED;
        CHECK_EQ(wait_for(&stream, 0, error), GPU_WAIT_FAILED);
        CHECK(strstr(error, "launch failed") != NULL);
        stream.result = CUDA_SUCCESS;
        stream.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
        CHECK_EQ(wait_for(&stream, 0, error), GPU_WAIT_CAPTURED);
        CHECK_EQ(driver.most_retained, 0);
        driver.is_ready = false;
        CHECK_EQ(wait_for(&stream, 0, error), GPU_WAIT_FAILED);
        driver.is_there = false;
        CHECK_EQ(wait_for(&stream, 0, error), GPU_WAIT_FAILED);
    }
}

/* If a context is current, the default streams belong to that context.  Otherwise, they belong to
 * the device that has the memory. */
static void test_default_streams(void)
{
    char error[GPU_ERROR_SIZE];

    for (int i = 0; i < 2; i++) {
        const CUstream stream = i == 0 ? NULL : CU_STREAM_LEGACY;

        be_ready();
        legacy[1].left = 3;
        CHECK_EQ(wait_for(stream, 1, error), GPU_WAIT_DONE);
        CHECK_EQ(asked, 3);
        CHECK_EQ(driver.most_retained, 1);
        legacy[0].left = 4;
        CHECK_EQ(ctx_push(&primary[0]), CUDA_SUCCESS);
        CHECK_EQ(wait_for(stream, 1, error), GPU_WAIT_DONE);
        CHECK_EQ(asked, 4);
        CHECK_EQ(driver.most_retained, 1);
        legacy[0].result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        CHECK_EQ(wait_for(stream, 1, error), GPU_WAIT_CAPTURED);
    }
    be_ready();
    per_thread.left = 2;
    CHECK_EQ(wait_for(CU_STREAM_PER_THREAD, 2, error), GPU_WAIT_DONE);
    CHECK_EQ(asked, 2);
    CHECK_EQ(wait_for(NULL, DEVICES, error), GPU_WAIT_FAILED);
    /* A device without a context has no streams.  The call must not give the device a context. */
    be_ready();
    CHECK_EQ(wait_for(NULL, 0, error), GPU_WAIT_DONE);
    CHECK_EQ(asked, 0);
    CHECK_EQ(driver.most_retained, 0);
    /* If no memory is on a device and no context is current, no work can have been queued. */
    CHECK_EQ(wait_for(NULL, -1, error), GPU_WAIT_DONE);
    driver.is_ready = false;
    CHECK_EQ(wait_for(NULL, -1, error), GPU_WAIT_DONE);
    driver.is_there = false;
    CHECK_EQ(wait_for(CU_STREAM_PER_THREAD, -1, error), GPU_WAIT_DONE);
    CHECK_EQ(asked, 0);
}

static void test_thread(void)
{
    struct gpu_thread t;
    CUcontext context = NULL;

    for (int has_one = 0; has_one < 2; has_one++) {
        be_ready();
        if (has_one != 0)
            CHECK_EQ(ctx_push(&another), CUDA_SUCCESS);
        gpu_save_thread(&t);
        CHECK_EQ(capture_mode, CU_STREAM_CAPTURE_MODE_RELAXED);
        CHECK(top() == (has_one != 0 ? &another : NULL));
        CHECK_EQ(gpu_current_device(), has_one != 0 ? another.device : 0);
        /* Make a context current, as CUDA's runtime does. */
        CHECK_EQ(ctx_set_current(&primary[0]), CUDA_SUCCESS);
        gpu_restore_thread(&t);
        CHECK_EQ(stack.count, has_one);
        CHECK_EQ(ctx_get_current(&context), CUDA_SUCCESS);
        CHECK(context == (has_one != 0 ? &another : NULL));
        check_tidy();
    }
    /* Even if CUDA is initialized between save and restore, no context stays behind. */
    be_ready();
    driver.is_ready = driver.is_there = false;
    gpu_save_thread(&t);
    driver.is_ready = driver.is_there = true;
    CHECK_EQ(ctx_set_current(&primary[0]), CUDA_SUCCESS);
    gpu_restore_thread(&t);
    CHECK_EQ(stack.count, 0);
    check_tidy();
    driver.is_there = false;
    CHECK_EQ(gpu_current_device(), 0);
    gpu_save_thread(&t);
    gpu_restore_thread(&t);
    check_tidy();
}

int main(void)
{
    RUN(test_pointers);
    RUN(test_active);
    RUN(test_stream);
    RUN(test_default_streams);
    RUN(test_thread);
    return unit_done();
}
