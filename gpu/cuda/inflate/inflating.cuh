/*
 * inflating.cuh - the state of decompression by a GPU, on the host; private to gpu/
 *
 *   whole.cu     opens an engine, and decompresses all of an input that is in memory (inflate.h)
 *   steps.cu     decompresses an input in steps, for the command (inflate.h)
 *   many.cu      decompresses many small inputs in one call (inflate.h)
 *   units.cu     a batch of compressed bytes: its candidates, their units, the chain of units
 *   groups.cu    decodes the units of the chain, a group at a time
 *
 * pieces.cuh has the kernels, and says what units, the chain, pieces, groups and chunks are.
 */
#ifndef GZLZSS_GPU_INFLATING_CUH
#define GZLZSS_GPU_INFLATING_CUH

#include <cuda_runtime.h>

#include <stdio.h>

#include "gpu/inflate.h"
#include "gpu/cuda/internal.cuh"
#include "gpu/cuda/inflate/pieces.cuh"

/* Blocks of threads that decode on each multiprocessor; its shared memory has no room for more. */
#define DECODE_BLOCKS 5

/* The most pieces of a group. */
#define PIECES_MAX ((uint32_t)1 << 18)

/* The most blocks of a batch that get an outline (gpu_outlined).  Other blocks are cut into pieces
 * of equally many steps, whatever their output. */
#define OUTLINED_MAX 16384u

/* The most chunks of a group.  A block of threads works on each chunk.  This number is two for each
 * multiprocessor of an H100. */
#define CHUNKS 264u

/* Checksum and length of the output that earlier groups have made of the current member. */
struct member {
    uint32_t crc;
    uint64_t length;
};

/* Events in `stream`, except JOIN.  The time between two of them is that of a kernel or a copy. */
enum {
    BEFORE_COPY,
    AFTER_COPY,
    AFTER_FIND,
    BEFORE_COUNT,
    AFTER_COUNT,
    BEFORE_DECODE,
    AFTER_DECODE,
    AFTER_WINDOWS,
    AFTER_RESOLVE,
    AFTER_SUM,
    FORK, /* recorded in `stream`; `side` waits for it */
    JOIN, /* recorded in `side`; `stream` waits for it */
    EVENTS
};

struct gpu_inflate {
    gpu_inflate_options options;
    char name[256]; /* the device's name */
    int device, multiprocessors;
    size_t batch, overlap, symbols_max;
    uint32_t candidates_max, list_max, map_room;
    struct gpu_watch watch;
    bool lacks_memory;         /* a CUDA call has failed because the device's memory is short */
    uint32_t piece_steps;      /* the most steps of a piece in this batch */
    long calls;                /* CUDA calls so far, counted only for tests */
    cudaStream_t stream, side; /* `side` is for kernels beside those in `stream` */
    cudaEvent_t events[EVENTS];
    struct gpu_inflate_times times;

    /* On the device: */
    uint32_t *words, *found, *list, *map;
    uint32_t *counters; /* [COUNTERS] */
    uint32_t *starts_device, *which_device;
    gpu_unit *units_device;
    uint32_t *outline_device;
    gpu_outlined *outlined_device;
    gpu_piece *pieces_device;
    gpu_range *ranges_device;
    gpu_crc_part *parts_device;
    uint16_t *symbols, *names;
    uint8_t *windows;

    /* On the host: */
    uint32_t *counts; /* copied from `counters` */
    uint32_t *starts, *which;
    gpu_unit *units;
    uint32_t *outline;
    gpu_outlined *outlined;
    gpu_piece *pieces;
    gpu_range *ranges;
    gpu_crc_part *parts;
    struct member_part *member_parts; /* the parts of members in the group */

    /* For steps.cu: */
    struct gpu_inflate_steps *steps; /* NULL: the engine was not opened for steps */

    /* For many.cu: */
    struct gpu_inflate_many *many; /* NULL until the first call of gpu_inflate_many */
};

/* Indexes of `counters`. */
enum {
    FOUND,
    LISTED,
    NEXT_COUNT,
    NEXT_RECOUNT = NEXT_COUNT + GPU_COUNTERS,
    NEXT_DECODE = NEXT_RECOUNT + GPU_COUNTERS,
    COUNTERS
};

/* A call that decodes an input: how far it is, and its current batch. */
struct call {
    struct gpu_inflate *g;
    uint64_t in_len;     /* bytes of the input */
    uint64_t position;   /* the bit of the input where the next unit starts */
    uint32_t known;      /* bytes of output before that unit in its member, at most GPU_WINDOW */
    uint32_t next_known; /* what `known` becomes after the group that was filled last */
    bool has_ended;
    bool is_bgzf; /* members are expected to be BGZF: candidates only follow gzip headers */

    /* The batch: */
    gpu_compressed batch;
    uint64_t batch_start; /* byte of the input where the batch starts */
    uint32_t count;       /* number of candidates */
    uint32_t chain;       /* units of the chain: units[which[0..chain)] */
    /* Where the output of each unit of the chain goes, counted in bytes from the argument `out` of
     * gpu_run_group.  NULL: the outputs follow each other. */
    const uint64_t *places;

    char *error;
};

/* --- Calls of CUDA ---------------------------------------------------------------------------- */

/* Whether a CUDA call has succeeded.  If not, puts a message into error. */
bool gpu_is_good(struct gpu_inflate *g, cudaError_t result, char *error);

template <typename T> static bool to_device(struct call *c, T *to, const T *from, size_t count)
{
    return gpu_is_good(
        c->g, cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, c->g->stream),
        c->error);
}

/* Queues a copy of `count` words.  The host's memory must be pinned. */
cudaError_t gpu_copy_words(uint32_t *to, const uint32_t *from, size_t count, cudaStream_t stream);

/* As to_device, but for an array of whole words in pinned memory.  This begins at once: on machines
 * with an H100 or H200, copies by cudaMemcpyAsync waited up to 1 ms. */
template <typename T> static bool put_words(struct call *c, T *to, const T *from, size_t count)
{
    static_assert(sizeof(T) % sizeof(uint32_t) == 0, "whole words");
    return gpu_is_good(c->g,
                       gpu_copy_words((uint32_t *)to, (const uint32_t *)from,
                                      count * sizeof(T) / sizeof(uint32_t), c->g->stream),
                       c->error);
}

/* Waits for everything that was queued in the stream. */
static bool await_stream(struct call *c)
{
    return gpu_is_good(c->g, gpu_await_stream(&c->g->watch, c->g->stream), c->error);
}

/* Copies from the device to pinned memory, and waits for everything queued before.  (A copy to
 * other memory would make the thread wait inside the driver, without an end.) */
template <typename T> static bool from_device(struct call *c, T *to, const T *from, size_t count)
{
    return to_device(c, to, from, count) && await_stream(c);
}

/* Records the event in c->g->stream, after everything queued before. */
bool gpu_mark(struct call *c, int event);

/* Adds the seconds between two events to *sum.  Both events must have happened. */
void gpu_add_time(const struct gpu_inflate *g, double *sum, int from, int to);

/* After a failure: waits for everything queued, unless the device does not answer, and clears
 * CUDA's error. */
void gpu_drain(struct gpu_inflate *g);

/* Free memory of the device, and pinned memory of the host, unless the device may still use it. */
static inline void free_device(const struct gpu_inflate *g, void *p)
{
    if (!gpu_is_lost(&g->watch))
        (void)cudaFree(p);
}

static inline void free_pinned(const struct gpu_inflate *g, void *p)
{
    if (!gpu_is_lost(&g->watch))
        (void)cudaFreeHost(p);
}

/* Allocate and free the memory of steps.cu. */
bool gpu_take_steps(struct gpu_inflate *g);
void gpu_free_steps(struct gpu_inflate *g);

/* Frees the memory of many.cu. */
void gpu_free_many(struct gpu_inflate *g);

/* Leaves the input to the CPU; `why` becomes the message. */
enum gpu_inflate_result gpu_leave(const struct call *c, const char *why);

/* --- A call ----------------------------------------------------------------------------------- */

/* Begins a call: sets the current device, and c->g and c->error.  The caller sets the other members
 * of *c.  Returns GPU_INFLATE_DONE or GPU_INFLATE_FAILED. */
enum gpu_inflate_result gpu_open_call(struct call *c, struct gpu_inflate *g, char *error);

/* Calls goes_on with the bytes of input and output so far.  Returns GPU_INFLATE_DONE if the call
 * goes on. */
enum gpu_inflate_result gpu_tell(struct call *c, gpu_inflate_goes_on *goes_on, void *ctx,
                                 uint64_t in, uint64_t out);

/* Ends a call whose steps gave `result`.  Returns the result for the program: GPU_INFLATE_LEFT
 * instead of GPU_INFLATE_FAILED if memory was short. */
enum gpu_inflate_result gpu_close_call(struct call *c, enum gpu_inflate_result result);

/* Whether the device's kernels can use the memory at p without a copy.  They cannot if the program
 * allocated it in a context of its own. */
bool gpu_is_in_reach(const struct gpu_inflate *g, const void *p);

/* --- A batch ---------------------------------------------------------------------------------- */

/* Bytes after a batch that are loaded with it.  A unit that starts in the batch must end in it or
 * in these bytes.  steps.cu loads twice as many. */
#define OVERLAP ((size_t)4 << 20)

/* Prepares c->batch, whose `len` bytes are on the device at `words`.  The first of these bytes is
 * byte `start` of the input.  The device searches for candidates in the first `find_len` bytes, or
 * in all bytes if the input ends with the batch. */
bool gpu_begin_batch(struct call *c, uint32_t *words, uint64_t start, size_t len, size_t find_len);

/* Finds the chain of units from c->position on.  Sets which[0..chain) to the numbers of these
 * units.  If the result is GPU_INFLATE_LEFT, the chain ends before data that the GPU leaves to the
 * CPU. */
enum gpu_inflate_result gpu_find_chain(struct call *c);

/* One of many inputs. */
struct many_input {
    uint64_t to;    /* where its output goes, in bytes after `out` of gpu_run_group */
    uint64_t room;  /* the most bytes of output */
    uint32_t units; /* units of its chain (gpu_find_chains); 0: the input is left to the CPU */
};

/* Finds the chain of each input in the batch, and joins the chains into one.  Sets places[] to
 * where the output of each unit goes.  If `searches` is true, the device also searches for
 * candidates inside of the inputs.  GPU_INFLATE_LEFT means that all inputs are left to the CPU. */
enum gpu_inflate_result gpu_find_chains(struct call *c, const gpu_input *inputs,
                                        struct many_input *many, uint32_t count, bool searches,
                                        uint64_t *places);

/* --- Groups ----------------------------------------------------------------------------------- */

/* The blocks of one member in a group. */
struct member_part {
    uint32_t pieces; /* number of the first piece after those of this part */
    uint32_t parts;  /* number of the first gpu_crc_part after those of this part */
    uint32_t end;    /* bit of the batch after its last block; rounded up to a byte if `ends` */
    uint32_t next;   /* bit where the next block starts, of this member or of the next */
    uint64_t length; /* bytes of output */
    bool ends;       /* the member ends here */
    uint32_t trailer_crc, trailer_size; /* if `ends`: the values in its trailer */
    uint32_t crc;                       /* checksum of these blocks' output */
};

/* A group that is being filled. */
struct group {
    uint32_t pieces, parts;
    uint64_t length;
    uint32_t first, units; /* the group has which[first..first + units) of the chain */
    uint32_t members;      /* number of entries in g->member_parts */
};

/* Fills a group with units of the chain, from number `first` on.  Returns false if the output of
 * that unit alone does not fit. */
bool gpu_fill_group(struct call *c, struct group *group, uint32_t first);

/* Decodes the group.  If c->places is NULL, the output goes to out[], which has room for
 * group->length bytes.  Otherwise, the output of each unit goes to its place in c->places, counted
 * from `out` on.  Returns when all output is in memory.  Sets the checksums of the group's member
 * parts, and moves c->position and c->known to the group's end.  Returns false, with a message, if
 * the device fails. */
bool gpu_run_group(struct call *c, const struct group *group, uint8_t *out);

/* Adds `part`, the next part of a member's output, to the member's checksum and length. */
void gpu_add_part(const struct call *c, struct member *m, const struct member_part *part);

/* Whether a member's checksum and length are those in its trailer; true if its format has no
 * trailer.  `last` is the member's last part. */
bool gpu_member_is_right(const struct call *c, const struct member *m,
                         const struct member_part *last);

/* Whether all of a decoded group is good: no match reaches back before the start of its member. */
bool gpu_group_is_good(const struct call *c, const struct group *group);

#endif
