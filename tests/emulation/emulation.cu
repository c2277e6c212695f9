/*
 * emulation.cu - emulated blocks of threads (cuda_runtime.h)
 *
 * A block's threads are coroutines.  Each runs until it has to meet others, and then lets the next one
 * run; those of a warp go on once all have come.
 */
#include "cuda_runtime.h"

#define THREADS_MAX 1024
#define LANES 32
#define STACK_SIZE ((size_t)64 << 10)

emulated_index threadIdx, blockIdx;

/* What kernels call their dynamic shared memory. */
thread_local uint4 shared[EMULATED_SHARED_SIZE / sizeof(uint4)];

enum state { RUNNING, AT_WARP, AT_BLOCK, ENDED };

/* --- Coroutines --- */

#ifdef __x86_64__

/* Where one goes on: its stack, with the registers on it that are kept across a call. */
struct place {
    void *stack;
};

/* Goes on at *to; returns once somebody goes back to *from. */
extern "C" void emulated_go(struct place *from, const struct place *to);

/* swapcontext takes twenty times as long, since it makes a system call. */
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

/* Makes *place the start of a function that never returns. */
static void begin_at(struct place *place, char *stack, void (*function)(void))
{
    void **top = (void **)(stack + STACK_SIZE);

    /* As after a call of it: the address to return to is 8 bytes off a multiple of 16. */
    top[-2] = (void *)function;
    place->stack = top - 8;
}

#else

#include <ucontext.h>

struct place {
    ucontext_t context;
};

static void emulated_go(struct place *from, const struct place *to)
{
    swapcontext(&from->context, &to->context);
}

static void begin_at(struct place *place, char *stack, void (*function)(void))
{
    getcontext(&place->context);
    place->context.uc_stack.ss_sp = stack;
    place->context.uc_stack.ss_size = STACK_SIZE;
    place->context.uc_link = NULL;
    makecontext(&place->context, function, 0);
}

#endif

/* --- Blocks --- */

static struct {
    struct place scheduler, threads[THREADS_MAX];
    char *stacks;
    enum state states[THREADS_MAX];
    /* What lanes have left for others, by turns in one of the two: when a lane leaves a value in the
     * one, all have read what was there before, for they have met since. */
    uint64_t values[2][THREADS_MAX];
    int turns[THREADS_MAX];
    void (*thread)(void *);
    void *argument;
} block;

static void fail(const char *what)
{
    fprintf(stderr, "emulated block %u: %s\n", blockIdx.x, what);
    abort();
}

static void stop(enum state state)
{
    const uint32_t i = threadIdx.x;

    block.states[i] = state;
    emulated_go(&block.threads[i], &block.scheduler);
}

static void run_thread(void)
{
    block.thread(block.argument);
    stop(ENDED);
}

void emulated_meet_warp(void)
{
    stop(AT_WARP);
}

void emulated_meet_block(void)
{
    stop(AT_BLOCK);
}

const uint64_t *emulated_exchange(uint64_t value)
{
    uint64_t *values = block.values[block.turns[threadIdx.x]++ % 2];

    values[threadIdx.x] = value;
    stop(AT_WARP);
    return values + threadIdx.x / LANES * LANES;
}

/* How many of these threads are in that state. */
static uint32_t count(uint32_t first, uint32_t threads, enum state state)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < first + threads; i++)
        n += block.states[i] == state;
    return n;
}

/* Runs a warp until its lanes wait for the rest of the block, or have ended. */
static void run_warp(uint32_t first)
{
    for (;;) {
        uint32_t waiting;

        for (uint32_t i = first; i < first + LANES; i++) {
            if (block.states[i] != RUNNING)
                continue;
            threadIdx.x = i;
            emulated_go(&block.scheduler, &block.threads[i]);
        }
        waiting = count(first, LANES, AT_WARP);
        if (waiting == 0)
            return;
        if (waiting < LANES)
            fail("some lanes meet, and others do not");
        for (uint32_t i = first; i < first + LANES; i++)
            block.states[i] = RUNNING;
    }
}

static void run_block(uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        begin_at(&block.threads[i], block.stacks + i * STACK_SIZE, run_thread);
        block.states[i] = RUNNING;
        block.turns[i] = 0;
    }
    for (;;) {
        uint32_t waiting;

        for (uint32_t first = 0; first < threads; first += LANES)
            run_warp(first);
        waiting = count(0, threads, AT_BLOCK);
        if (waiting == 0)
            return;
        if (waiting < threads)
            fail("some threads wait for the others, and others do not");
        for (uint32_t i = 0; i < threads; i++)
            block.states[i] = RUNNING;
    }
}

void emulated_launch(uint32_t blocks, uint32_t threads, size_t shared_size,
                     void (*thread)(void *argument), void *argument)
{
    if (threads % LANES != 0 || threads > THREADS_MAX || shared_size > sizeof(shared))
        fail("there are no such blocks");
    if (block.stacks == NULL)
        block.stacks = (char *)malloc(THREADS_MAX * STACK_SIZE);
    if (block.stacks == NULL)
        fail("out of memory");
    block.thread = thread;
    block.argument = argument;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        memset(shared, 0xa5, sizeof(shared));
        run_block(threads);
    }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    memset(properties, 0, sizeof(*properties));
    strcpy(properties->name, "emulated device");
    properties->major = 9;
    properties->multiProcessorCount = 1;
    properties->totalGlobalMem = EMULATED_MEMORY_SIZE;
    properties->sharedMemPerBlockOptin = EMULATED_SHARED_SIZE;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = EMULATED_MEMORY_SIZE;
    return cudaSuccess;
}

cudaError_t emulated_malloc(void **p, size_t size)
{
    /* As aligned as CUDA's. */
    *p = aligned_alloc(256, (size + 255) / 256 * 256);
    if (*p == NULL)
        return cudaErrorMemoryAllocation;
    memset(*p, 0xa5, size);
    return cudaSuccess;
}
