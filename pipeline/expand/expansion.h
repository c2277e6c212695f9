/*
 * expansion.h - what the files of decompression by many threads share (api.h tells the story)
 *
 *   input       what is read: a file, a pipe, memory, or what is pushed
 *   engine      the seam behind which tasks are decoded; decode is the CPU's side, with tools
 *   buffers     output buffers, which all decompressions of a pipeline share
 *   find_start  where a region may start
 *   pushing     how far an input may be pushed ahead
 *   gpu_decoder a GPU that decodes for the consumer
 *   regions     the list of regions
 *   in_order    the decoded runs that the consumer takes over: accepted, resolved, written
 *   helpers     what workers do
 *   consumer    what the thread that decodes from the start does at each block
 *   give_up     while the caller is away for long
 *   expand      what others call (api.h)
 *
 * A file may use the files before it.  Members of struct expansion named after a file are that
 * file's alone (build-aux/layers.sh checks it).
 *
 * The pipeline's lock protects all of this, except for a region whose start is being looked for or
 * that is being decoded: it belongs to its worker then, but for its state and is_cancelled.  A
 * decoded run belongs to the thread that accepts, resolves or writes it.  Functions are called with
 * the lock held, unless they say otherwise.
 */
#ifndef GZLZSS_EXPANSION_H
#define GZLZSS_EXPANSION_H

#include "compat/io.h"
#include "inflate/find.h"
#include "pipeline/crew/state.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/engine.h"
#include "pipeline/expand/input.h"

/* A region of the input makes about this much output.  With more, the first output comes later, and
 * more of it waits in memory; with less, the search for starts costs more. */
#define REGION_OUT ((uint64_t)2 << 20)

/*
 * What is known of a region.  It goes from one state to another so:
 *
 *   NEW        -> SEARCHING  a worker begins to look for a start
 *   SEARCHING  -> FOUND      there is one
 *              -> BARREN     there is none
 *              -> NEW        a pipe gave nothing: it is looked for again later
 *   FOUND      -> DECODING   a worker has taken an output buffer for it
 *   DECODING   -> DECODED
 *              -> ABANDONED  the consumer is past it, before it was decoded
 *   ABANDONED  -> DECODED
 *   DECODED    -> FOUND      its buffer was given up: it can be decoded again
 *
 * A rest (of a region that was full) begins as NEW; or, if its start is known, as SEARCHING while
 * it is cut, and then FOUND.
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
    uint64_t from, to;       /* bytes of the input */
    struct decode_task task; /* its start, once that was found; and what was decoded */
    bool is_rest;            /* of a region that made more output than it should */
    bool owns_buffer;        /* the buffer no longer counts among the pipeline's (buffers.c) */
    size_t next_run;         /* the first run that the consumer is not past */
    size_t runs_in_line;     /* runs that wait to be written, or are being written */
};

/* The list of regions (regions.c). */
struct region_list {
    struct region *first, *last;
    uint64_t next_from; /* byte where the next region begins */
    unsigned misses;    /* regions since the last that was of use */
    uint64_t skip;      /* bytes that were left out after too many misses */
    uint64_t last_mark; /* byte behind the last mark that was found */
    bool has_marks;     /* something that was decoded from a mark was of use */
    uint64_t in, out;   /* bytes of accepted runs: input and output */
    /* Bytes of input in which workers have looked for a block's header and found none. */
    _Atomic uint64_t searched;
    _Atomic uint64_t search_max; /* and how many there may be */
};

/* The line of runs that were accepted (in_order.c). */
struct run_line {
    struct decoded_run *first, *last;
    struct decoded_run *written; /* the run that is being written; it is no longer in the line */
    bool is_accepting;           /* a thread accepts runs: `window` is that thread's */
    bool is_writing;             /* a thread writes: the place's CRC is that thread's */
    bool has_failed;             /* writing has failed; */
    int error;                   /* errno says why */
    uint8_t window[INF_WINDOW];  /* what comes before the place */
    uint8_t next_window[INF_WINDOW];
};

/* An input that is pushed (pushing.c). */
struct pushing {
    uint64_t pushed;   /* bytes pushed so far */
    uint64_t lead;     /* how far they may be ahead of what is written */
    uint64_t borrowed; /* this input's part of the lead that all share */
    bool is_slow;      /* its caller was away for long: few regions are decoded ahead */
    uint64_t taken;    /* bytes of output that the caller has taken since then */
};

/* What all decompressions of a pipeline share. */
struct expansions {
    struct expansion *first;     /* those that workers take part in */
    struct buffers *buffers;     /* buffers.c */
    uint64_t borrowed;           /* pushing.c: the sum of what all have borrowed */
    struct inf_finder *finder;   /* consumer.c; NULL before the first of them has begun */
    struct gpu_decoder *decoder; /* gpu_decoder.c; NULL: no GPU was wanted */
};

/* One decompression. */
struct expansion {
    struct pipeline *p;
    struct expansion *next;
    struct input *input;
    const struct decode_engine *engine;
    int (*write)(void *ctx, const void *buf, size_t len);
    void *write_ctx;
    size_t fixed_region; /* bytes of input in each region; for tests, else 0 */
    bool is_pushed;      /* only the consumer writes, since `write` may wait */
    bool discards;       /* `write` does not look at the bytes, so a GPU's stay there */

    struct region_list regions; /* regions.c */
    struct run_line in_order;   /* in_order.c */
    struct pushing pushing;     /* pushing.c */

    /* The consumer: */
    struct gz_ahead ahead;
    struct expand_tools *tools;
    uint64_t cursor;        /* the byte that the consumer reads next */
    uint64_t decoded;       /* the byte up to which it had decoded at its last has_ahead */
    uint64_t read_to;       /* the cursor when run_ahead was called last */
    uint64_t line_from;     /* byte where the first run starts that is in line or being written;
                               UINT64_MAX: there is none (in_order.c sets it) */
    struct gz_place *place; /* the consumer's place during run_ahead; else NULL */
    bool is_stalled;        /* the consumer waits for room in its output */

    /* gpu_decoder.c: */
    uint64_t gpu_from;  /* first bit at which the consumer may hand over; UINT64_MAX: never */
    uint64_t gpu_retry; /* bytes left to the CPU when the decoder last gave up; 0: it has not */

    bool may_begin;    /* workers or a GPU may decode ahead */
    bool has_begun;    /* they do */
    bool has_given_up; /* the caller is away: nothing is decoded ahead now */
    bool is_closing;
    int buffers;   /* output buffers that regions of this decompression have */
    unsigned busy; /* threads that work for this decompression */
    struct pipeline_expansion_stats stats;
};

#endif
