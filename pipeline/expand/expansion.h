/*
 * expansion.h - what the files of decompression by many threads share (api.h says how it works)
 *
 *   input       reads the input: a file, a pipe, memory, or pushed bytes
 *   engine      the interface to the engine that decodes tasks
 *   tools       a thread's memory for decoding
 *   decode      the CPU's engine
 *   buffers     output buffers, which all decompressions of a pipeline share
 *   find_start  looks for a place where decoding may start
 *   pushing     limits how far an input may be pushed ahead
 *   gpu_decoder lets a GPU decode for the consumer
 *   share       decides which calls of the library workers help
 *   regions     the list of regions
 *   in_order    accepts, resolves and writes the decoded runs
 *   direct      decodes from memory to memory
 *   helpers     the work of idle workers
 *   consumer    the work of the thread that decodes from the start, at each block
 *   give_up     frees memory while the caller is away for a long time
 *   expand      the functions that others call (api.h)
 *
 * A file may use the files before it.  If a member of struct expansion is named after a file, only
 * that file uses it (build-aux/layers.sh checks it).
 *
 * The pipeline's lock protects the structs in this file and the decoded runs, with two exceptions.
 * While a worker searches a region for a start, or decodes it, the region belongs to that worker,
 * except its `state` and is_cancelled.  A decoded run belongs to the thread that accepts, resolves
 * or writes it.  Functions are called with the lock held, unless their comments say otherwise.  A
 * function that "gives up the lock" releases it meanwhile, and returns with the lock held.
 */
#ifndef GZLZSS_EXPANSION_H
#define GZLZSS_EXPANSION_H

#include "compat/io.h"
#include "inflate/find.h"
#include "pipeline/crew/state.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/engine.h"
#include "pipeline/expand/input.h"

/* Bytes of output that a region should make.  With more, the first output comes later, and more
 * output waits in memory.  With less, the searches for starts cost more. */
#define REGION_OUT ((uint64_t)2 << 20)

/*
 * The state of a region.  It changes as follows:
 *
 *   NEW        -> SEARCHING  a worker begins to look for a start
 *   SEARCHING  -> FOUND      the region has a start
 *              -> BARREN     the region has no start
 *              -> NEW        not all of its input has come yet: a worker searches again later
 *   FOUND      -> DECODING   a worker has taken an output buffer for the region
 *   DECODING   -> DECODED    the worker is done
 *              -> ABANDONED  the consumer has passed the start: the worker should stop
 *   ABANDONED  -> DECODED    the worker has stopped
 *   DECODED    -> FOUND      the output was discarded: the region can be decoded again
 *
 * When a region's buffer is full, the rest of the region becomes a new region.  It begins as NEW.
 * But if its start is known, it is SEARCHING while it is cut at a mark, and then FOUND.
 */
enum region_state {
    REGION_NEW,
    REGION_SEARCHING,
    REGION_BARREN,
    REGION_FOUND,
    REGION_DECODING,
    REGION_ABANDONED,
    REGION_DECODED,
};

/* A part of the input that a worker decodes ahead. */
struct region {
    struct region *next;
    enum region_state state;
    uint64_t from, to;       /* the region is bytes [from, to) of the input */
    struct decode_task task; /* the start, once it is found, and the decoded runs */
    bool is_rest;            /* the rest of a region whose output buffer was full */
    bool owns_buffer;        /* the buffer no longer counts among the pipeline's (buffers.c) */
    size_t next_run;         /* index of the first run that the consumer has not passed */
    size_t runs_in_line;     /* number of runs that wait to be written, or are being written */
};

/* The list of regions (regions.c). */
struct region_list {
    struct region *first, *last;
    uint64_t next_from; /* byte of the input where the next region begins */
    unsigned misses;    /* regions added since the last accepted run, or since input was last
                         * left out */
    uint64_t skip;      /* bytes of input that were last left out, after too many misses; 0: none */
    uint64_t last_mark; /* byte of the input after the last mark that was found */
    bool has_marks;     /* a run of a region that starts at a mark was accepted */
    uint64_t in, out;   /* bytes of input and of output of all accepted runs */
    /* Bytes of input in which workers have looked for a block's header and found none. */
    _Atomic uint64_t searched;
    _Atomic uint64_t search_max; /* the limit on `searched` */
};

/* The line of runs that were accepted (in_order.c). */
struct run_line {
    struct decoded_run *first, *last;
    struct decoded_run *written; /* the run that is being written, which has left the line */
    bool is_accepting;           /* a thread is accepting runs, and owns `window` */
    bool is_writing;             /* a thread is writing, and owns the check value of the place */
    uint64_t out;                /* where the next run to be written starts in the output */
    bool has_failed;             /* writing has failed */
    int error;                   /* the errno of that failure */
    uint8_t window[INF_WINDOW];  /* the last INF_WINDOW bytes of output before the place */
    uint8_t next_window[INF_WINDOW]; /* the window at the end of the run that is being accepted */
};

/* An input that is pushed (pushing.c). */
struct pushing {
    uint64_t pushed; /* bytes pushed so far */
    /* The most bytes of pushed input that may come after the place up to which the output is
     * written. */
    uint64_t lead;
    uint64_t borrowed; /* bytes that this input has borrowed from the shared lead */
    bool is_slow;      /* the caller was away for a long time, so few regions are decoded ahead */
    uint64_t taken;    /* bytes of output that the caller has taken since it was last away */
};

/* Decoding from memory to memory (direct.c). */
struct direct {
    struct inf_whole *whole; /* the decoder; NULL: not possible */
    /* The caller's functions (expansion_set_memory). */
    uint8_t *(*next)(void *ctx, size_t *room);
    int (*wrote)(void *ctx, size_t len);
    bool (*goes_on)(void *ctx);
};

/* Whether workers help (share.c). */
struct share {
    bool is_counted; /* the consumer counts in expansions.consumers */
    bool is_helped;  /* workers may help; counts in expansions.shared */
};

/* What all decompressions of a pipeline share. */
struct expansions {
    struct expansion *first; /* list of the decompressions in which workers take part */
    struct buffers *buffers; /* buffers.c */
    /* share.c: the consumers that are threads of the program, and how many of them may be helped.
     * helpers.c: the workers that help now. */
    int consumers, shared, helpers;
    uint64_t borrowed;           /* pushing.c: sum of pushing.borrowed over all decompressions */
    struct inf_finder *finder;   /* consumer.c; NULL until a decompression lets workers help */
    struct gpu_decoder *decoder; /* gpu_decoder.c; NULL if no GPU was wanted so far */
};

/* One decompression. */
struct expansion {
    struct pipeline *p;
    struct expansion *next;
    struct input *input;
    const struct decode_engine *engine;
    int (*write)(void *ctx, const void *buf, size_t len);
    void *write_ctx;
    size_t fixed_region; /* for tests: bytes of input in each region; else 0 */
    bool is_pushed;      /* the input is pushed; only the consumer calls `write`, as it may wait */
    enum gz_check check; /* the kind of check value that the input's format has */
    bool discards;       /* `write` ignores the bytes; a GPU's output is not copied to the host */

    struct expansion_watch watch; /* watch.at is NULL if nobody watches */

    struct region_list regions; /* regions.c */
    struct run_line in_order;   /* in_order.c */
    struct pushing pushing;     /* pushing.c */
    struct share share;         /* share.c */
    struct direct direct;       /* direct.c */

    /* The consumer: */
    struct gz_ahead ahead;
    struct expand_tools *tools;
    uint64_t cursor;        /* byte of the input that the consumer reads next */
    uint64_t decoded;       /* byte that the consumer had reached when has_ahead was last called */
    uint64_t read_to;       /* value of `cursor` when run_ahead was last called */
    uint64_t line_from;     /* byte where the first accepted run that is not yet written starts;
                               UINT64_MAX: there is none (in_order.c sets it) */
    struct gz_place *place; /* the consumer's place while it is in run_ahead; else NULL */
    bool is_stalled;        /* `write` is waiting for room */

    /* gpu_decoder.c: */
    uint64_t gpu_from;  /* first bit from which a GPU may decode; UINT64_MAX: no GPU may */
    uint64_t gpu_retry; /* bytes left to the CPU when the GPU last gave up; 0: it never gave up */

    bool may_begin;    /* workers or a GPU may decode ahead */
    bool has_begun;    /* workers take part */
    bool has_given_up; /* the caller is away, so workers decode nothing ahead now */
    bool is_closing;   /* expansion_close was called */
    int buffers;       /* number of output buffers that regions of this decompression have */
    unsigned busy;     /* number of threads that work for this decompression now */
    struct pipeline_expansion_stats stats;
};

#endif
