/*
 * emulation.cu - emulated blocks of threads (cuda_runtime.h)
 *
 * A block's threads are coroutines, for x86-64.  Each thread runs until it must meet other threads,
 * and then lets the next thread run.  The threads of a warp go on when all of them have come to the
 * meeting.  Each warp runs up to its next meeting, and then lets the next warp run.  Every second
 * turn, the threads run in reverse order, which finds code that relies on an order without a
 * barrier.
 */
#include "cuda.h"
#include "cuda_runtime.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#endif

#define THREADS_MAX 1024
#define LANES 32
#define STACK_SIZE ((size_t)64 << 10)
/* The distance between two stacks, an odd number of cache lines.  With a power of two, the tops of
 * all stacks would compete for a few places in the processor's caches. */
#define STACK_STEP (STACK_SIZE + 5 * 64)

emulated_index threadIdx, blockIdx, blockDim, gridDim;

/* The kernels' dynamic shared memory.  Between blocks, all of it has the value FILLER. */
thread_local uint4 shared[EMULATED_SHARED_SIZE / sizeof(uint4)];

/* --- Coroutines --- */

/* Where a coroutine will go on: its stack, which holds the registers that a call preserves. */
struct place {
    void *stack;
};

/* Saves this coroutine in *from and continues the one in *to.  Returns when another coroutine goes
 * to *from. */
extern "C" void emulated_go(struct place *from, const struct place *to);

/* (swapcontext() would take twenty times as long, since it makes a system call.) */
__asm__(".text\n"
        ".type emulated_go, @function\n"
        "emulated_go:\n"
        "    push %rbp\n"
        "    push %rbx\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov (%rsi), %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbx\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size emulated_go, . - emulated_go\n");

/* Sets *place such that going there starts `function`, which must never return. */
static void begin_at(struct place *place, char *stack, void (*function)(void))
{
    void **top = (void **)(stack + STACK_SIZE);

    /* Align the stack as a call does, which leaves the return address 8 bytes from a multiple of
     * 16. */
    top[-2] = (void *)function;
    place->stack = top - 8;
}

/* --- Blocks --- */

/* The shared memory that a block may use without emulated_allow_shared. */
#define SHARED_ALLOWED ((size_t)48 << 10)
#define FILLER 0xa5

enum state { RUNNING, AT_WARP, AT_BLOCK, ENDED };

static struct {
    struct place scheduler, threads[THREADS_MAX];
    char *stacks;
    enum state states[THREADS_MAX];
    enum emulated_meeting meetings[THREADS_MAX]; /* for a thread at a meeting: the meeting's kind */
    uint32_t step; /* what to add to a lane's number to get the next lane: 1 or -1 */
    /* Values that lanes pass to other lanes, alternately in the first and the second row.  When a
     * lane writes to a row, all lanes have read the row's old values, since the lanes have met in
     * between. */
    uint64_t values[2][THREADS_MAX];
    int turns[THREADS_MAX];
    void (*thread)(void *);
    void *argument;
    bool has_failed; /* stop_kernel */
} block;

/* Held while a kernel runs, because there is one `block`. */
static std::mutex lock;

/* Kernels that may use more shared memory (emulated_allow_shared). */
static struct {
    const void *kernel;
    size_t size;
} allowed[16];

/* A kernel has read or written memory that does not exist, in the thread that runs it.  A real
 * device stops the kernel. */
static void stop_kernel(int)
{
    struct place unused;

    block.has_failed = true;
    emulated_go(&unused, &block.scheduler);
}

/* Catches what stop_kernel handles while a kernel runs.  Without a fault that a test has asked for,
 * the program ends, so that an error in a kernel is found. */
struct catcher {
    struct sigaction segv, bus;

    catcher()
    {
        struct sigaction action = {};

        action.sa_handler = stop_kernel;
        action.sa_flags = SA_NODEFER;
        if (emulated_has_fault())
            (void)(sigaction(SIGSEGV, &action, &segv), sigaction(SIGBUS, &action, &bus));
    }
    ~catcher()
    {
        if (emulated_has_fault())
            (void)(sigaction(SIGSEGV, &segv, NULL), sigaction(SIGBUS, &bus, NULL));
    }
};

static void fail(const char *what)
{
    fprintf(stderr, "emulated block %u, %u: %s\n", blockIdx.x, blockIdx.y, what);
    abort();
}

/* Stops this thread.  If the warp's next lane can run, goes directly to that lane, otherwise to the
 * scheduler.  Going directly is faster, because the next lane mostly waits at the same place in the
 * code as this lane, so the processor can predict where the switch returns to. */
static void stop(enum state state)
{
    const uint32_t i = threadIdx.x, next = i + block.step;

    block.states[i] = state;
    if (next / LANES != i / LANES || block.states[next] != RUNNING) {
        emulated_go(&block.threads[i], &block.scheduler);
    } else {
        threadIdx.x = next;
        emulated_go(&block.threads[i], &block.threads[next]);
    }
}

static void run_thread(void)
{
    block.thread(block.argument);
    stop(ENDED);
}

void emulated_meet_block(void)
{
    stop(AT_BLOCK);
}

const uint64_t *emulated_exchange(enum emulated_meeting meeting, uint32_t lanes, uint64_t value)
{
    uint64_t *values = block.values[block.turns[threadIdx.x]++ % 2];

    if (lanes != UINT32_MAX)
        fail("only some lanes are to meet");
    values[threadIdx.x] = value;
    block.meetings[threadIdx.x] = meeting;
    stop(AT_WARP);
    return values + threadIdx.x / LANES * LANES;
}

/* Returns how many of the threads [first, first + threads) are in this state. */
static uint32_t count(uint32_t first, uint32_t threads, enum state state)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < first + threads; i++)
        n += block.states[i] == state;
    return n;
}

/* Runs the lanes of a warp until all of them meet, or wait for the rest of the block, or have
 * ended. */
static void run_warp(uint32_t first, bool backward)
{
    uint32_t waiting;

    if (block.has_failed)
        return;
    block.step = backward ? UINT32_MAX : 1;
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t thread = first + (backward ? LANES - 1 - i : i);

        if (block.states[thread] != RUNNING)
            continue;
        threadIdx.x = thread;
        emulated_go(&block.scheduler, &block.threads[thread]);
        if (block.has_failed)
            return;
    }
    waiting = count(first, LANES, AT_WARP);
    if (waiting == 0)
        return;
    if (waiting < LANES)
        fail("some lanes meet, and others do not");
    for (uint32_t i = first; i < first + LANES; i++) {
        if (block.meetings[i] != block.meetings[first])
            fail("lanes do not meet for the same");
        block.states[i] = RUNNING;
    }
}

static void run_block(uint32_t threads)
{
    bool backward = (blockIdx.x + blockIdx.y) % 2 != 0;

    for (uint32_t i = 0; i < threads; i++) {
        begin_at(&block.threads[i], block.stacks + i * STACK_STEP, run_thread);
        block.states[i] = RUNNING;
        block.turns[i] = 0;
    }
    for (;; backward = !backward) {
        uint32_t waiting;

        for (uint32_t i = 0; i < threads; i += LANES)
            run_warp(backward ? threads - LANES - i : i, backward);
        if (block.has_failed)
            return;
        if (count(0, threads, RUNNING) > 0)
            continue;
        waiting = count(0, threads, AT_BLOCK);
        if (waiting == 0)
            return;
        if (waiting < threads)
            fail("some threads wait for the others, and others have ended");
        for (uint32_t i = 0; i < threads; i++)
            block.states[i] = RUNNING;
    }
}

static size_t shared_allowed(const void *kernel)
{
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (allowed[i].kernel == kernel && allowed[i].size > SHARED_ALLOWED)
            return allowed[i].size;
    return SHARED_ALLOWED;
}

cudaError_t emulated_allow_shared(const void *kernel, size_t size)
{
    const std::lock_guard<std::mutex> guard(lock);
    const cudaError_t error = emulated_fault("cudaFuncSetAttribute");
    size_t i = 0;

    if (error != cudaSuccess)
        return error;
    emulated_load(kernel);
    while (allowed[i].kernel != NULL && allowed[i].kernel != kernel)
        if (++i == sizeof(allowed) / sizeof(allowed[0]))
            fail("there are more kernels than are thought of");
    allowed[i].kernel = kernel;
    allowed[i].size = size;
    return size <= EMULATED_SHARED_SIZE ? cudaSuccess : cudaErrorInvalidValue;
}

/* True if these bytes have the value FILLER. */
static bool is_filled(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == FILLER && memcmp(bytes, bytes + 1, len - 1) == 0);
}

void emulated_launch(const void *kernel, dim3 blocks, uint32_t threads, size_t shared_size,
                     void (*thread)(void *argument), void *argument)
{
    const std::lock_guard<std::mutex> guard(lock);
    static thread_local bool has_filler;

    if (!emulated_starts_kernel(kernel))
        return;
    if (blocks.x == 0 || blocks.y == 0 || threads == 0 || threads % LANES != 0 ||
        threads > THREADS_MAX || shared_size > shared_allowed(kernel))
        fail("there are no such blocks");
    if (block.stacks == NULL) {
        block.stacks = (char *)malloc(THREADS_MAX * STACK_STEP);
        if (block.stacks == NULL)
            fail("out of memory");
    }
    if (!has_filler)
        memset(shared, FILLER, sizeof(shared));
    has_filler = true;
    block.thread = thread;
    block.argument = argument;
    blockDim.x = threads;
    gridDim = {blocks.x, blocks.y};
    block.has_failed = false;
    const catcher catcher;

    for (uint32_t i = 0; i < blocks.x * blocks.y && !block.has_failed; i++) {
        blockIdx = {i % blocks.x, i / blocks.x};
        memset(shared, FILLER, shared_size);
        run_block(threads);
        if (!block.has_failed &&
            !is_filled((const uint8_t *)shared + shared_size, sizeof(shared) - shared_size))
            fail("wrote to more shared memory than was asked for");
    }
    memset(shared, FILLER, shared_size);
    if (block.has_failed)
        emulated_kernel_failed();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    memset(properties, 0, sizeof(*properties));
    strcpy(properties->name, "emulated device");
    properties->major = 9;
    properties->multiProcessorCount = 1;
    properties->totalGlobalMem = EMULATED_MEMORY_SIZE;
    properties->sharedMemPerBlockOptin = EMULATED_SHARED_SIZE;
    return emulated_fault("cudaGetDeviceProperties");
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = EMULATED_MEMORY_SIZE;
    return emulated_fault("cudaMemGetInfo");
}

/* --- Memory ---
 *
 * An allocation is a header, in a page of its own; the bytes, from the start of a page on; and a
 * page that cannot be touched.  All pages with bytes are the same pages of one file that has FILLER
 * in it, until they are written to: filling hundreds of MiB for each engine would take most of a
 * test's time.  A sanitizer is told which bytes may be used. */

/* The size of the file that make_filled makes. */
#define FILLED_SIZE ((size_t)1 << 20)

struct header {
    size_t mapped; /* bytes of all pages */
};

/* Makes a file of FILLED_SIZE bytes with the value FILLER.  Returns its descriptor, or -1 on an
 * error. */
static int make_filled()
{
    const std::vector<uint8_t> filler(FILLED_SIZE, FILLER);
    const int fd = memfd_create("filler", MFD_CLOEXEC);

    if (fd != -1 && write(fd, filler.data(), FILLED_SIZE) != (ssize_t)FILLED_SIZE) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Maps the file's pages over the `size` bytes from `start` on. */
static bool map_filled(uint8_t *start, size_t size)
{
    static const int fd = make_filled();

    for (size_t at = 0, n; at < size; at += n) {
        n = std::min(size - at, FILLED_SIZE);
        if (mmap(start + at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
            MAP_FAILED)
            return false;
    }
    return true;
}

struct emulated_memory emulated_unknown;
thread_local cudaError_t emulated_error;

cudaError_t emulated_malloc(void **p, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (size + page - 1) / page * page;
    const size_t mapped = pages + 2 * page;
    uint8_t *all = (uint8_t *)mmap(NULL, mapped, PROT_NONE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (all == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    if (mprotect(all, page, PROT_READ | PROT_WRITE) != 0 || !map_filled(all + page, pages)) {
        munmap(all, mapped);
        return cudaErrorMemoryAllocation;
    }
    ((struct header *)all)->mapped = mapped;
    ASAN_POISON_MEMORY_REGION(all, page);
    ASAN_POISON_MEMORY_REGION(all + page + size, pages - size);
    *p = all + page;
    emulated_note_memory(*p, size);
    return cudaSuccess;
}

void emulated_free(void *p)
{
    if (p == NULL)
        return;

    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *const all = (uint8_t *)p - page;

    emulated_forget_memory(p);
    ASAN_UNPOISON_MEMORY_REGION(all, page);
    const size_t mapped = ((struct header *)all)->mapped;

    ASAN_UNPOISON_MEMORY_REGION(all, mapped);
    munmap(all, mapped);
}

/* --- There is no driver --- */

__attribute__((weak)) void *emulated_dlopen(const char *, int)
{
    return NULL;
}

__attribute__((weak)) void *emulated_dlsym(void *, const char *)
{
    return NULL;
}

__attribute__((weak)) int emulated_dlclose(void *)
{
    return 0;
}
