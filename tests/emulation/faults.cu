/*
 * faults.cu - faults of the emulated device, for tests (cuda_runtime.h)
 *
 * EMULATED_FAULT=KIND:N in the environment makes something go wrong at number N, from 0 on:
 *
 *     memory        call N, of any function of CUDA, returns cudaErrorMemoryAllocation
 *     short         so do call N and all later ones
 *     launch        from call N on, calls return cudaErrorLaunchFailure, and nothing runs any more
 *     ecc           the same with cudaErrorECCUncorrectable
 *     unavailable   the same with cudaErrorDevicesUnavailable
 *     hang          kernel N never ends, and so nothing after it begins; a call that would wait for
 *                   it stops the program
 *     truncated     copy N copies only the first half
 *     missing       copy N copies nothing
 *     wrong         a bit of copy N is wrong
 *     random        copy N copies random bytes
 *
 * The faults from `launch` to `hang` are those of the device that the thread uses which makes the
 * call; the other devices go on.  EMULATED_DEVICES=2 makes a second device.  When the fault has
 * come, the function's name is written to the file EMULATED_FAULT_FILE.
 *
 * Calls that report no error are not counted: cudaGetLastError, cudaGetErrorString and
 * cudaPointerGetAttributes.
 */
#include "cuda_runtime.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#define DEVICES_MAX 8

enum kind {
    NONE,
    MEMORY,
    SHORT,
    LAUNCH,
    ECC,
    UNAVAILABLE,
    HANG,
    TRUNCATED,
    MISSING,
    WRONG,
    RANDOM
};

struct fault {
    enum kind kind;
    long number;
};

static struct fault parse(const char *text)
{
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        {"memory", MEMORY},
        {"short", SHORT},
        {"launch", LAUNCH},
        {"ecc", ECC},
        {"unavailable", UNAVAILABLE},
        {"hang", HANG},
        {"truncated", TRUNCATED},
        {"missing", MISSING},
        {"wrong", WRONG},
        {"random", RANDOM},
    };
    const char *const colon = text != NULL ? strchr(text, ':') : NULL;

    if (text == NULL)
        return {NONE, 0};
    for (const auto &k : kinds)
        if (colon != NULL && strlen(k.name) == (size_t)(colon - text) &&
            strncmp(k.name, text, strlen(k.name)) == 0)
            return {k.kind, strtol(colon + 1, NULL, 10)};
    fprintf(stderr, "EMULATED_FAULT=%s: no such fault\n", text);
    abort();
}

static struct fault fault = parse(getenv("EMULATED_FAULT"));

static std::atomic<long> calls, copies, kernels;

/* A fault of a device that stays. */
static std::atomic<cudaError_t> broken[DEVICES_MAX];
static std::atomic<bool> hangs[DEVICES_MAX];

static thread_local int current;

bool emulated_has_fault(void)
{
    return fault.kind != NONE;
}

void emulated_set_fault(const char *text)
{
    fault = parse(text);
    calls = copies = kernels = 0;
    for (int i = 0; i < DEVICES_MAX; i++) {
        broken[i] = cudaSuccess;
        hangs[i] = false;
    }
    emulated_error = cudaSuccess;
}

void emulated_kernel_failed(void)
{
    broken[current] = emulated_error = cudaErrorLaunchFailure;
}

void emulated_use_device(int device)
{
    current = device;
}

int emulated_devices(void)
{
    const char *const count = getenv("EMULATED_DEVICES");

    return count != NULL ? atoi(count) : 1;
}

/* Tells the test that the fault has come. */
static void tell(const char *function)
{
    const char *const name = getenv("EMULATED_FAULT_FILE");
    const int fd = name != NULL ? open(name, O_WRONLY | O_APPEND) : -1;

    if (fd == -1)
        return;
    if (write(fd, function, strlen(function)) < 0 || write(fd, "\n", 1) < 0)
        abort();
    close(fd);
}

/* The error with which a device breaks, or cudaSuccess if the fault is another one. */
static cudaError_t error_of(enum kind kind)
{
    switch (kind) {
    case LAUNCH:
        return cudaErrorLaunchFailure;
    case ECC:
        return cudaErrorECCUncorrectable;
    case UNAVAILABLE:
        return cudaErrorDevicesUnavailable;
    default:
        return cudaSuccess;
    }
}

cudaError_t emulated_fault(const char *function)
{
    const long number = calls++;
    cudaError_t error = broken[current];

    if (error == cudaSuccess && number == fault.number) {
        broken[current] = error = error_of(fault.kind);
        if (error != cudaSuccess)
            tell(function);
    }
    if (error == cudaSuccess && ((fault.kind == MEMORY && number == fault.number) ||
                                 (fault.kind == SHORT && number >= fault.number))) {
        error = cudaErrorMemoryAllocation;
        if (number == fault.number)
            tell(function);
    }
    if (error != cudaSuccess)
        emulated_error = error;
    return error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = emulated_error;

    /* Only errors that do not stay can be cleared. */
    emulated_error = broken[current];
    return error;
}

static void fail_to_end(const char *function)
{
    fprintf(stderr, "%s would wait for a kernel that never ends\n", function);
    abort();
}

void emulated_load(const void *kernel)
{
    static std::mutex lock;
    static std::set<const void *> loaded[DEVICES_MAX];
    const std::lock_guard<std::mutex> guard(lock);

    if (loaded[current].insert(kernel).second && hangs[current])
        fail_to_end("the loading of a kernel");
}

bool emulated_starts_kernel(const void *kernel)
{
    const cudaError_t error = emulated_fault("a kernel");

    if (error == cudaSuccess)
        emulated_load(kernel);

    if (fault.kind == HANG && error == cudaSuccess && kernels++ == fault.number) {
        hangs[current] = true;
        tell("a kernel");
    }
    return error == cudaSuccess && !hangs[current];
}

cudaError_t emulated_query(const char *function)
{
    const cudaError_t error = emulated_fault(function);

    if (error == cudaSuccess && hangs[current])
        emulated_error = cudaErrorNotReady;
    return error == cudaSuccess && hangs[current] ? cudaErrorNotReady : error;
}

cudaError_t emulated_wait(const char *function)
{
    if (hangs[current])
        fail_to_end(function);
    return emulated_fault(function);
}

/* --- Memory --- */

static std::mutex lock;
static std::map<const uint8_t *, size_t> known;

void emulated_note_memory(const void *start, size_t size)
{
    const std::lock_guard<std::mutex> guard(lock);

    known[(const uint8_t *)start] = size;
}

void emulated_forget_memory(const void *start)
{
    const std::lock_guard<std::mutex> guard(lock);

    known.erase((const uint8_t *)start);
}

/* Whether the memory is a device's, or pinned. */
static bool is_known(const void *p)
{
    const std::lock_guard<std::mutex> guard(lock);
    auto after = known.upper_bound((const uint8_t *)p);

    return after != known.begin() &&
           (size_t)((const uint8_t *)p - std::prev(after)->first) < std::prev(after)->second;
}

/* Does copy number fault.number, wrongly. */
static void copy_wrongly(uint8_t *to, const uint8_t *from, size_t size)
{
    uint64_t seed = (uint64_t)fault.number;

    if (fault.kind == TRUNCATED)
        size /= 2;
    if (fault.kind == TRUNCATED || fault.kind == WRONG)
        memcpy(to, from, size);
    if (fault.kind == WRONG && size > 0)
        to[(size_t)fault.number * 997 % size] ^= (uint8_t)(1 << fault.number % 8);
    for (size_t i = 0; fault.kind == RANDOM && i < size; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        to[i] = (uint8_t)(seed >> 56);
    }
}

cudaError_t emulated_copy(void *to, const void *from, size_t size, bool is_to_host)
{
    const cudaError_t error = emulated_fault("cudaMemcpyAsync");

    if (error != cudaSuccess)
        return error;
    if (hangs[current]) {
        if (!is_known(to) || !is_known(from))
            fail_to_end("a copy of memory that is not pinned");
        return cudaSuccess;
    }
    if (fault.kind < TRUNCATED || copies++ != fault.number) {
        memcpy(to, from, size);
    } else {
        copy_wrongly((uint8_t *)to, (const uint8_t *)from, size);
        tell(is_to_host ? "a copy to the host" : "a copy");
    }
    return cudaSuccess;
}
