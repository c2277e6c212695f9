/*
 * wait.cu - waits for the device, but not for ever (struct gpu_watch)
 *
 * A kernel that never ends, or a device that does not answer any more, must not hang the program.
 * So no thread waits inside the driver for work: it asks whether the work is done, and sleeps in
 * between.
 *
 * When a wait has taken too long, the device counts as lost. Then its kernels may still write to
 * all memory that was given to them, on the device and on the host. So the memory is neither freed
 * nor used again: it stays with the process until the process ends. The driver would also make the
 * thread that frees it wait for the kernel. All later waits fail at once.
 *
 * Other engines of the process for this device would wait inside the driver, too, since they share
 * the device's context. So the work that has taken too long is noted for the process, as CUDA's
 * contexts are the process's. While it has not ended, the device is lost for all of them.
 */
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "gpu/cuda/internal.cuh"

/* How long a wait may take: WAIT_SECONDS, and a second for each MiB that the device works on. The
 * slowest level needs 2 ms for a MiB. With less, a device that is shared with other programs would
 * seem to be lost; with more, a hung device keeps the program for longer. */
#define WAIT_SECONDS 60.0

/* A thread sleeps for 1/PAUSE_SHARE of the time that it has waited so far, within these limits in
 * seconds. With longer pauses, it notices the end later; with shorter ones, it takes more of a core
 * from the threads that encode. */
#define PAUSE_SHARE 16
#define PAUSE_MIN 20e-6
#define PAUSE_MAX 1e-3

/* A process that has more devices notes only what each engine has found itself. */
#define DEVICES 64

/* The work for which a wait has taken too long: an event, or all work in a stream. */
struct hung {
    bool is_lost;
    cudaEvent_t event; /* NULL: the stream */
    cudaStream_t stream;
};

static struct hung hung[DEVICES];
static pthread_mutex_t hung_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the device's place in the list; NULL if it has none. */
static struct hung *hung_on(int device)
{
    return device >= 0 && device < DEVICES ? &hung[device] : NULL;
}

static void note_hung(int device, cudaEvent_t event, cudaStream_t stream)
{
    struct hung *const h = hung_on(device);

    if (h == NULL)
        return;
    pthread_mutex_lock(&hung_lock);
    h->event = event;
    h->stream = stream;
    __atomic_store_n(&h->is_lost, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&hung_lock);
}

bool gpu_device_is_lost(int device)
{
    struct hung *const h = hung_on(device);
    bool is_lost;

    if (h == NULL || !__atomic_load_n(&h->is_lost, __ATOMIC_ACQUIRE))
        return false;
    pthread_mutex_lock(&hung_lock);
    if (h->is_lost) {
        const cudaError_t status =
            h->event != NULL ? cudaEventQuery(h->event) : cudaStreamQuery(h->stream);

        __atomic_store_n(&h->is_lost, status == cudaErrorNotReady, __ATOMIC_RELEASE);
        (void)cudaGetLastError();
    }
    is_lost = h->is_lost;
    pthread_mutex_unlock(&hung_lock);
    return is_lost;
}

void gpu_watch_init(struct gpu_watch *w, int device, uint64_t bytes, double seconds, double spin)
{
    w->device = device;
    w->seconds = seconds > 0 ? seconds : WAIT_SECONDS + (double)(bytes >> 20);
    w->spin = spin;
    w->is_lost = false;
}

bool gpu_is_lost(const struct gpu_watch *w)
{
    return __atomic_load_n(&w->is_lost, __ATOMIC_ACQUIRE) || gpu_device_is_lost(w->device);
}

/* Sleeps, after a wait of this many seconds. */
static void pause_after(double waited)
{
    const double share = waited / PAUSE_SHARE;
    const double seconds = share < PAUSE_MIN ? PAUSE_MIN : share > PAUSE_MAX ? PAUSE_MAX : share;
    const struct timespec pause = {0, (long)(seconds * 1e9)};

    nanosleep(&pause, NULL);
}

/* Waits for the event; if it is NULL, for the stream. */
static cudaError_t await(struct gpu_watch *w, cudaEvent_t event, cudaStream_t stream)
{
    const double start = clock_seconds();

    for (;;) {
        const cudaError_t status = gpu_is_lost(w)  ? cudaErrorLaunchTimeout
                                   : event != NULL ? cudaEventQuery(event)
                                                   : cudaStreamQuery(stream);
        double waited;

        if (status != cudaErrorNotReady)
            return status;
        /* Another call in this thread must not take "not ready" for its own error. */
        (void)cudaGetLastError();
        waited = clock_seconds() - start;
        if (waited > w->seconds) {
            __atomic_store_n(&w->is_lost, true, __ATOMIC_RELEASE);
            note_hung(w->device, event, stream);
        } else if (waited > w->spin) {
            pause_after(waited);
        }
    }
}

cudaError_t gpu_await_event(struct gpu_watch *w, cudaEvent_t event)
{
    return await(w, event, NULL);
}

cudaError_t gpu_await_stream(struct gpu_watch *w, cudaStream_t stream)
{
    return await(w, NULL, stream);
}

/* The device's clock makes 1 to 2 of these ticks in a nanosecond. */
#define BUSY_TICKS 40000000000LL

static __global__ void stay_busy(long long ticks)
{
    const long long start = clock64();

    while (clock64() - start < ticks)
        ;
}

cudaError_t gpu_stay_busy(cudaStream_t stream)
{
    stay_busy<<<1, WARP, 0, stream>>>(BUSY_TICKS);
    return cudaGetLastError();
}

const char *gpu_error_text(cudaError_t status)
{
    return status == cudaErrorLaunchTimeout ? "the device does not answer"
                                            : cudaGetErrorString(status);
}
