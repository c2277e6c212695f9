/*
 * cuda_runtime.h - the part of CUDA that gpu/cuda/ uses, on the CPU, for tests without a GPU
 *
 * The sources in gpu/cuda/, compiled as C++ with this header in place of CUDA's, form an engine on
 * an emulated device.  Kernels run one block after another.  A block's threads are coroutines.  The
 * coroutines switch where threads wait for each other, which is called "to meet" here: at a
 * barrier, or where a warp's lanes exchange values (emulation.cu).  If some threads never come to
 * such a place, the program stops.  Queued work is done at once, so streams and events do nothing.
 * Device memory is memory of the process, so a sanitizer finds wrong accesses.
 *
 * Tests can make calls fail, copies go wrong and kernels never end (faults.cu).
 *
 * The emulation does not show, and so cannot test: blocks and batches that run side by side; most
 * races between threads that do not meet; uninitialized static shared memory; the code for devices
 * before compute capability 8.0; and speed.
 */
#ifndef GZLZSS_EMULATED_CUDA_RUNTIME_H
#define GZLZSS_EMULATED_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The compute capability that the sources are compiled for. */
#define __CUDA_ARCH__ 900

/* --- Kernels --- */

#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
/* One block runs at a time, on one thread, so thread_local variables can serve as shared memory.
 * (`static` would not do, since it cannot follow `extern`.)  The TLS model avoids an error in gcc
 * 12.  If the compiler knew the memory's address as a constant, gcc's null-pointer sanitizer would
 * test flags that were never set. */
#define __shared__ thread_local __attribute__((tls_model("global-dynamic")))

struct emulated_index {
    uint32_t x, y;
};

/* The number of blocks in each direction. */
struct dim3 {
    uint32_t x, y;

    dim3(uint32_t across, uint32_t down = 1) : x(across), y(down)
    {
    }
};

extern emulated_index threadIdx, blockIdx, blockDim, gridDim;

/* Runs a kernel: each thread of each block calls thread(argument). */
void emulated_launch(const void *kernel, dim3 blocks, uint32_t threads, size_t shared_size,
                     void (*thread)(void *argument), void *argument);

/* kernel<<<blocks, threads, shared_size, stream>>>(argument...) is compiled as
 * emulated_kernel(kernel, blocks, threads, shared_size, stream)(argument...). */
template <typename Kernel> struct emulated_call {
    Kernel kernel;
    dim3 blocks;
    uint32_t threads;
    size_t shared_size;

    template <typename... Arguments> void operator()(Arguments... arguments) const
    {
        auto thread = [=, *this] { kernel(arguments...); };

        emulated_launch((const void *)kernel, blocks, threads, shared_size,
                        [](void *argument) { (*static_cast<decltype(thread) *>(argument))(); },
                        &thread);
    }
};

template <typename Kernel>
static inline emulated_call<Kernel> emulated_kernel(Kernel kernel, dim3 blocks, uint32_t threads,
                                                    size_t shared_size, void *)
{
    return {kernel, blocks, threads, shared_size};
}

/* --- Functions for kernels --- */

/* Waits until all threads of the block have come here (__syncthreads). */
void emulated_meet_block(void);

/* Why lanes meet.  All lanes of a warp must meet for the same reason. */
enum emulated_meeting { SYNC, BALLOT, MATCH, SHUFFLE, REDUCE };

/* Passes a value to the warp's other lanes, meets them, and returns the values of all 32 lanes. */
const uint64_t *emulated_exchange(enum emulated_meeting meeting, uint32_t lanes, uint64_t value);

static inline void __syncthreads(void)
{
    emulated_meet_block();
}

static inline void __syncwarp(void)
{
    emulated_exchange(SYNC, UINT32_MAX, 0);
}

static inline uint32_t __ballot_sync(uint32_t lanes, bool predicate)
{
    const uint64_t *all = emulated_exchange(BALLOT, lanes, predicate);
    uint32_t result = 0;

    for (int i = 0; i < 32; i++)
        result |= (uint32_t)all[i] << i;
    return result;
}

static inline bool __all_sync(uint32_t lanes, bool predicate)
{
    return __ballot_sync(lanes, predicate) == lanes;
}

static inline uint32_t __match_any_sync(uint32_t lanes, uint32_t value)
{
    const uint64_t *all = emulated_exchange(MATCH, lanes, value);
    uint32_t result = 0;

    for (int i = 0; i < 32; i++)
        result |= (uint32_t)(all[i] == value) << i;
    return result;
}

template <typename T> static inline T __shfl_sync(uint32_t lanes, T value, int lane)
{
    return (T)emulated_exchange(SHUFFLE, lanes, (uint64_t)value)[lane & 31];
}

template <typename T> static inline T __shfl_xor_sync(uint32_t lanes, T value, int mask)
{
    return __shfl_sync(lanes, value, (int)(threadIdx.x & 31) ^ mask);
}

template <typename T> static inline T __shfl_up_sync(uint32_t lanes, T value, uint32_t by)
{
    const uint32_t lane = threadIdx.x & 31;

    return __shfl_sync(lanes, value, (int)(lane >= by ? lane - by : lane));
}

static inline uint32_t __reduce_min_sync(uint32_t lanes, uint32_t value)
{
    const uint64_t *all = emulated_exchange(REDUCE, lanes, value);

    for (int i = 0; i < 32; i++)
        value = all[i] < value ? (uint32_t)all[i] : value;
    return value;
}

template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}

template <typename T, typename U> static inline T atomicAdd(T *p, U value)
{
    const T before = *p;

    *p += value;
    return before;
}

template <typename T, typename U> static inline T atomicMin(T *p, U value)
{
    const T before = *p;

    *p = value < before ? value : before;
    return before;
}

template <typename T, typename U> static inline T atomicOr(T *p, U value)
{
    const T before = *p;

    *p |= value;
    return before;
}

/* Returns four bytes chosen from a and b.  The bytes of a have the numbers 0 to 3, from the lowest
 * on; those of b have 4 to 7.  The four lowest hexadecimal digits of `selector` are the numbers of
 * the result's bytes. */
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t result = 0;

    for (uint32_t i = 0; i < 4; i++)
        result |= (uint32_t)(both >> (8 * (selector >> (4 * i) & 7)) & 255) << (8 * i);
    return result;
}

static inline uint32_t __brev(uint32_t x)
{
    uint32_t reversed = 0;

    for (int i = 0; i < 32; i++)
        reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}

/* The device's clock.  It goes so fast that no kernel waits for long. */
static inline long long clock64(void)
{
    static thread_local long long ticks;

    return ticks += 1LL << 36;
}

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> shift % 32);
}

template <typename A, typename B> static inline auto min(A a, B b) -> decltype(a + b)
{
    return (decltype(a + b))a < (decltype(a + b))b ? a : b;
}

template <typename A, typename B> static inline auto max(A a, B b) -> decltype(a + b)
{
    return (decltype(a + b))a < (decltype(a + b))b ? b : a;
}

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}

/* --- Faults --- */

enum cudaError_t {
    cudaSuccess,
    cudaErrorMemoryAllocation,
    cudaErrorDevicesUnavailable,
    cudaErrorInvalidValue,
    cudaErrorNotReady,
    cudaErrorLaunchTimeout,
    cudaErrorLaunchFailure,
    cudaErrorECCUncorrectable
};

/* Counts a call of a function of the host.  Returns the error that a test has asked for at this
 * call, else cudaSuccess (faults.cu). */
cudaError_t emulated_fault(const char *function);

/* Whether a test has asked for a fault. */
bool emulated_has_fault(void);

/* Asks for a fault, in the words of EMULATED_FAULT; NULL: for none.  Devices are whole again. */
extern "C" void emulated_set_fault(const char *text);

/* The same for a copy, which it also does, unless the fault is that it goes wrong.
 * is_to_host: the copy's kind is cudaMemcpyDeviceToHost. */
cudaError_t emulated_copy(void *to, const void *from, size_t size, bool is_to_host);

/* The same for the launch of a kernel, which is also loaded.  Returns whether the kernel runs. */
bool emulated_starts_kernel(const void *kernel);

/* Loads a kernel onto the current device at its first use.  A real device may have to finish its
 * running kernels first. */
void emulated_load(const void *kernel);

/* Notes that a kernel has used memory that does not exist: from now on, the device is broken. */
void emulated_kernel_failed(void);

/* The same as emulated_fault for a query.  A kernel that never ends makes the result
 * cudaErrorNotReady. */
cudaError_t emulated_query(const char *function);

/* The same for a function that waits for all work on the device: it must not be called while a
 * kernel runs that never ends. */
cudaError_t emulated_wait(const char *function);

/* The device of the calling thread, and the number of devices. */
void emulated_use_device(int device);
int emulated_devices(void);

/* Notes memory to which a real device copies without making the calling thread wait. */
void emulated_note_memory(const void *start, size_t size);
void emulated_forget_memory(const void *start);

/* --- Functions for the host --- */

enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDefault };
enum { cudaStreamNonBlocking = 1, cudaHostRegisterPortable = 1 };
enum { cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaDeviceScheduleBlockingSync, cudaFuncAttributeMaxDynamicSharedMemorySize };

typedef void *cudaStream_t;
typedef void *cudaEvent_t;

struct cudaFuncAttributes {
    int binaryVersion;
};

struct cudaDeviceProp {
    char name[256];
    int major, minor, multiProcessorCount;
    size_t totalGlobalMem, sharedMemPerBlockOptin;
};

/* The shared memory of a block, as on an H100, and the device's memory, in bytes. */
#define EMULATED_SHARED_SIZE ((size_t)227 << 10)
#define EMULATED_MEMORY_SIZE ((size_t)2 << 30)

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);

/* Allocates memory, and fills it with bytes that are not zero.  emulated_free frees it. */
cudaError_t emulated_malloc(void **p, size_t size);
void emulated_free(void *p);

template <typename T> static inline cudaError_t cudaMalloc(T **p, size_t size)
{
    const cudaError_t error = emulated_fault("cudaMalloc");

    return error == cudaSuccess ? emulated_malloc((void **)p, size) : error;
}

template <typename T> static inline cudaError_t cudaMallocHost(T **p, size_t size)
{
    const cudaError_t error = emulated_fault("cudaMallocHost");

    return error == cudaSuccess ? emulated_malloc((void **)p, size) : error;
}

static inline cudaError_t cudaFree(void *p)
{
    emulated_free(p);
    return emulated_wait("cudaFree");
}

static inline cudaError_t cudaFreeHost(void *p)
{
    emulated_free(p);
    return emulated_wait("cudaFreeHost");
}

/* Makes a stream or an event. */
static inline cudaError_t emulated_make(const char *function, void **p)
{
    const cudaError_t error = emulated_fault(function);

    return error == cudaSuccess ? emulated_malloc(p, 1) : error;
}

static inline cudaError_t cudaHostRegister(void *p, size_t size, int)
{
    const cudaError_t error = emulated_fault("cudaHostRegister");

    if (error == cudaSuccess)
        emulated_note_memory(p, size);
    return error;
}

static inline cudaError_t cudaHostUnregister(void *p)
{
    emulated_forget_memory(p);
    return emulated_wait("cudaHostUnregister");
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int kind,
                                          cudaStream_t)
{
    return emulated_copy(to, from, size, kind == cudaMemcpyDeviceToHost);
}

static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t size, cudaStream_t)
{
    const cudaError_t error = emulated_fault("cudaMemsetAsync");

    if (error == cudaSuccess)
        memset(p, value, size);
    return error;
}

/* Lets a kernel use more shared memory than the default allows. */
cudaError_t emulated_allow_shared(const void *kernel, size_t size);

template <typename Kernel>
static inline cudaError_t cudaFuncSetAttribute(Kernel kernel, int, int shared_size)
{
    return emulated_allow_shared((const void *)kernel, (size_t)shared_size);
}

template <typename Kernel>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, Kernel kernel)
{
    const cudaError_t error = emulated_fault("cudaFuncGetAttributes");

    attributes->binaryVersion = 90;
    if (error == cudaSuccess)
        emulated_load((const void *)kernel);
    return error;
}

static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
    *lowest = *highest = 0;
    return emulated_fault("cudaDeviceGetStreamPriorityRange");
}

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, int, int)
{
    return emulated_make("cudaStreamCreateWithPriority", stream);
}

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, int)
{
    return emulated_make("cudaStreamCreateWithFlags", stream);
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return emulated_wait("cudaStreamSynchronize");
}

static inline cudaError_t cudaStreamQuery(cudaStream_t)
{
    return emulated_query("cudaStreamQuery");
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    emulated_free(stream);
    return emulated_fault("cudaStreamDestroy");
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
{
    return emulated_fault("cudaStreamWaitEvent");
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, int)
{
    return emulated_make("cudaEventCreateWithFlags", event);
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    emulated_free(event);
    return emulated_fault("cudaEventDestroy");
}

static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
    return emulated_fault("cudaEventRecord");
}

static inline cudaError_t cudaEventQuery(cudaEvent_t)
{
    return emulated_query("cudaEventQuery");
}

static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
    *ms = 0;
    return emulated_fault("cudaEventElapsedTime");
}

#define CUDART_VERSION 12000

static inline cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 12000;
    return emulated_fault("cudaDriverGetVersion");
}

static inline cudaError_t cudaGetDeviceCount(int *count)
{
    *count = emulated_devices();
    return emulated_fault("cudaGetDeviceCount");
}

enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };

static inline cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *)
{
    return emulated_fault("cudaThreadExchangeStreamCaptureMode");
}

static inline cudaError_t cudaSetDevice(int device)
{
    emulated_use_device(device);
    return emulated_fault("cudaSetDevice");
}

static inline cudaError_t cudaSetDeviceFlags(int)
{
    return emulated_fault("cudaSetDeviceFlags");
}

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeDevice = 2 };

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer;
};

/* Memory that the device does not know.  (A real device does not know its host's heap.)  Tests set
 * this variable (tests/unit/device.h). */
extern "C" struct emulated_memory {
    const void *start;
    size_t size;
} emulated_unknown;

/* The error that cudaGetLastError returns. */
extern thread_local cudaError_t emulated_error;

static inline cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                                   const void *p)
{
    if ((uintptr_t)p - (uintptr_t)emulated_unknown.start < emulated_unknown.size)
        return emulated_error = cudaErrorInvalidValue;
    attributes->devicePointer = (void *)(uintptr_t)p;
    attributes->device = 0;
    attributes->type = cudaMemoryTypeDevice;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void);

static inline const char *cudaGetErrorString(cudaError_t)
{
    return "an emulated error";
}

#endif
