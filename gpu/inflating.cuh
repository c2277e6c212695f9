/*
 * inflating.cuh - the state of decompression by a GPU, on the host; private to gpu/
 *
 *   whole.cu     opens an engine, and decompresses all of an input that is in memory (inflate.h)
 *   steps.cu     decompresses an input in steps, for the command (inflate.h)
 *   units.cu     a batch of compressed bytes: its candidates, their units, the chain of units
 *   groups.cu    decodes the units of the chain, a group at a time
 *
 * pieces.cuh has the kernels and what they share.
 */
#ifndef GZLZSS_GPU_INFLATING_CUH
#define GZLZSS_GPU_INFLATING_CUH

#include <cuda_runtime.h>

#include <stdio.h>

#include "gpu/inflate.h"
#include "gpu/pieces.cuh"

/* Blocks of threads that decode on each multiprocessor: its shared memory has room for so many. */
#define DECODE_BLOCKS 5

/* The most pieces of a group. */
#define PIECES_MAX ((uint32_t)1 << 18)

/* The most blocks of a batch with an outline.  More of them are cut by steps alone. */
#define OUTLINED_MAX 16384u

/* The most chunks of a group: a block of threads has each, so there should be two for each
 * multiprocessor. */
#define CHUNKS 264u

/* What earlier groups have of the member under way. */
struct member {
    uint32_t crc;
    uint64_t length;
};

/* Moments whose time is taken, before and after steps. */
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
    FORK, /* these two order `side` and `stream` */
    JOIN,
    EVENTS
};

struct gpu_inflate {
    gpu_inflate_options options;
    char name[256]; /* of the device */
    int device, multiprocessors;
    size_t batch, overlap, symbols_max;
    uint32_t candidates_max, list_max, map_room;
    bool lacks_memory;         /* a call of CUDA has failed for want of the device's memory */
    uint32_t piece_steps;      /* of this batch */
    long calls;                /* of CUDA, for tests */
    cudaStream_t stream, side; /* `side` is for kernels beside those in `stream` */
    cudaEvent_t events[EVENTS];
    struct gpu_inflate_times times;

    /* On the device: */
    uint32_t *words, *found, *list, *map;
    uint32_t *counters; /* COUNTERS of them */
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
    uint32_t *starts, *which;
    gpu_unit *units;
    uint32_t *outline;
    gpu_outlined *outlined;
    gpu_piece *pieces;
    gpu_range *ranges;
    gpu_crc_part *parts;
    struct member_part *member_parts; /* of the group */

    /* For steps.cu: */
    struct gpu_inflate_steps *steps; /* NULL: the engine was not opened for steps */
};

/* Counters on the device. */
enum {
    FOUND,
    LISTED,
    NEXT_COUNT,
    NEXT_RECOUNT = NEXT_COUNT + 2,
    NEXT_DECODE = NEXT_RECOUNT + 2,
    COUNTERS
};

/* How far an input is decoded. */
struct call {
    struct gpu_inflate *g;
    uint64_t in_len;     /* bytes of the input */
    uint64_t position;   /* the bit of the input where the next unit starts */
    uint32_t known;      /* bytes before it that belong to its member, at most GPU_WINDOW */
    uint32_t next_known; /* the same behind the group that was filled */
    bool has_ended;
    bool is_bgzf; /* as far as is known, each member says how long it is */

    /* The batch: */
    gpu_compressed batch;
    uint64_t batch_start; /* byte of the input */
    uint32_t count;       /* candidates */
    uint32_t chain;       /* units of the chain: units[which[0..chain)] */

    char *error;
};

/* --- Calls of CUDA ---------------------------------------------------------------------------- */

/* Whether a call was good; otherwise there is a message. */
bool gpu_is_good(struct gpu_inflate *g, cudaError_t result, char *error);

template <typename T> static bool to_device(struct call *c, T *to, const T *from, size_t count)
{
    return gpu_is_good(
        c->g, cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, c->g->stream),
        c->error);
}

/* The same from the device; waits for all that was queued. */
template <typename T> static bool from_device(struct call *c, T *to, const T *from, size_t count)
{
    return to_device(c, to, from, count) &&
           gpu_is_good(c->g, cudaStreamSynchronize(c->g->stream), c->error);
}

/* Records the time of an event. */
bool gpu_mark(struct call *c, int event);

/* Adds the time from one event to another to *sum.  Both are past. */
void gpu_add_time(const struct gpu_inflate *g, double *sum, int from, int to);

/* Waits for all that is queued, after a failure, and forgets errors. */
void gpu_drain(const struct gpu_inflate *g);

/* Takes and frees the memory of steps.cu. */
bool gpu_take_steps(struct gpu_inflate *g);
void gpu_free_steps(struct gpu_inflate *g);

/* Leaves the input to the CPU, for that reason. */
enum gpu_inflate_result gpu_leave(const struct call *c, const char *why);

/* --- A batch ---------------------------------------------------------------------------------- */

/* Bytes after a batch that are loaded, too: a unit that starts in the batch has to end in them. */
#define OVERLAP ((size_t)4 << 20)

/* Prepares c->batch, whose `len` bytes are at `words`, a multiple of 4, on the device.  They start
 * with byte `start` of the input.  Candidates are looked for in the first `find_len` of them. */
bool gpu_begin_batch(struct call *c, uint32_t *words, uint64_t start, size_t len, size_t find_len);

/* Finds the chain of units from c->position on: which[0..chain) are their numbers.  If the result
 * is GPU_INFLATE_LEFT, the chain ends before something that the GPU leaves to the CPU. */
enum gpu_inflate_result gpu_find_chain(struct call *c);

/* --- Groups ----------------------------------------------------------------------------------- */

/* Blocks of one member in a group. */
struct member_part {
    uint32_t parts; /* number of its last part and one */
    uint32_t end;   /* bit of the batch behind its last block; behind a final one, the byte's end */
    uint32_t next;  /* bit where the next block starts, of this member or of the next */
    uint64_t length;                    /* bytes of output */
    bool ends;                          /* the member ends with it */
    uint32_t trailer_crc, trailer_size; /* what its trailer says, if so */
    uint32_t crc;                       /* of its output */
};

/* A group that is being filled. */
struct group {
    uint32_t pieces, parts;
    uint64_t length;
    uint32_t first, units; /* which[first..first + units) of the chain */
    uint32_t members;      /* entries of g->member_parts */
};

/* Fills the next group from unit number `first` of the chain on.  False: that unit alone makes more
 * output than fits. */
bool gpu_fill_group(struct call *c, struct group *group, uint32_t first);

/* Decodes the group to out[], which has room for group->length bytes, and sets the CRCs of its
 * member parts.  Waits until all is there.  Sets c->position and c->known to the end of the group.
 * False, with a message, if the device fails. */
bool gpu_run_group(struct call *c, const struct group *group, uint8_t *out);

/* Whether no match of a decoded group reaches back before the start of its member. */
bool gpu_group_is_good(const struct call *c, const struct group *group);

#endif
