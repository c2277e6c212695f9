/*
 * engine.h - the interface between the choice of tasks to decode ahead and their decoding
 *
 * A task says where decoding begins, where it pauses, and which memory its output may fill.  An
 * engine decodes a batch of tasks, and adds decoded runs to each task.  An engine uses no lock, no
 * list of regions and no consumer: it reads the input and writes to its tasks.  regions.c makes the
 * tasks, and decides whether a paused task continues.  helpers.c passes the tasks to the engine.
 *
 * decode.c has the only engine now, the CPU engine.  It takes one task at a time.  A GPU does not
 * decode regions: it decodes from the consumer's place on (gpu_decoder.h).
 *
 * What every engine must do:
 *
 * - A run begins at the start of a block, consists of whole blocks of one DEFLATE stream, and ends
 *   before the first bad block.  The engine reports no error, and decodes nothing after a bad
 *   block.
 * - If a block really starts at the run's start, the run's output equals the output of an inflate
 *   from the start of the file.  The symbols of a run stand for bytes as inflate/symbols.h says.
 * - A thread may resume a paused task that another thread has decoded so far.  It resumes at the
 *   end of the task's last run, and gets the result that the first thread would have got.
 */
#ifndef GZLZSS_EXPAND_ENGINE_H
#define GZLZSS_EXPAND_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/check.h"
#include "inflate/raw.h"
#include "pipeline/expand/input.h"

struct expand_tools;
struct region;

/* Bytes at the start of a task's buffer.  They hold the window before the output, as symbols. */
#define BUFFER_BEFORE (INF_WINDOW * sizeof(uint16_t))

/* What precedes the start of a task. */
enum start_kind {
    START_AT_MARK,   /* a mark: no match reaches back across it */
    START_AT_MEMBER, /* a gzip header: no match reaches back across it */
    START_IN_DATA,   /* unknown data: decoding begins with symbols */
};

enum run_state {
    RUN_DECODED,    /* decoded, and not accepted */
    RUN_UNRESOLVED, /* accepted; its symbols are not bytes yet */
    RUN_RESOLVING,  /* accepted; a thread is turning its symbols into bytes */
    RUN_READY,   /* accepted, and all of its output is bytes; stays so while the run is written */
    RUN_WRITTEN, /* written to the output */
};

/* Consecutive blocks of one DEFLATE stream, decoded.  The output is symbols first, then bytes.
 * Either part may be empty. */
struct decoded_run {
    uint64_t start;   /* bit of the input where the first block starts */
    uint64_t end;     /* bit after the last block; after a final block, rounded up to a byte */
    bool ends_stream; /* the last block is the final one of its stream */
    size_t symbols;   /* number of symbols; they start at byte BUFFER_BEFORE of the task's buffer */
    uint8_t *bytes;   /* the output after the symbols: bytes[0..len) */
    size_t len;       /* number of these bytes */
    uint32_t check;   /* check value of bytes[0..len) */

    /* For in_order.c, which accepts, resolves and writes runs: */
    struct region *region;        /* the region whose task has decoded the run */
    enum run_state state;         /* RUN_DECODED when the engine is done with the run */
    uint32_t symbols_check;       /* check value of the bytes that the symbols have become */
    struct decoded_run *next_out; /* the run to write after this one */
};

/* How the decoding of a task has ended. */
enum decode_end {
    DECODE_GOES_ON,      /* the task has not ended */
    DECODE_PAUSED,       /* paused before a block that starts at or after `until`; can continue */
    DECODE_STOPPED,      /* stopped by bad data, the input's end, lack of memory, cancellation, or
                            too little output for its input */
    DECODE_FULL,         /* no room for more output, or for more runs */
    DECODE_FULL_AT_MARK, /* ended at a mark before `to`, with `enough` bytes of output */
};

struct decode_task {
    /* The request.  Between two calls for one task, only `until` changes. */
    uint64_t start;       /* bit of the input where the first block starts */
    enum start_kind kind; /* what precedes `start` */
    uint64_t until;       /* bit of the input: pause before a block that starts here or later */
    uint64_t to;          /* byte of the input: only a mark before this byte can end the task
                           * early */
    uint8_t *buffer;      /* BUFFER_BEFORE bytes, then `size` bytes for output */
    size_t size;          /* bytes for output; a symbol takes two */
    size_t bytes_limit;   /* the most bytes of output; a symbol counts as one */
    size_t enough;        /* once this many bytes of `size` are used, the next mark ends the task */
    enum gz_check check;  /* the kind of check value that is computed */
    bool takes_all;       /* for tests: decode even many members with little output */
    _Atomic bool is_cancelled; /* any thread may set it; the engine then stops at the next block */

    /* The result, which the caller sets to all 0 at first. */
    struct decoded_run **runs; /* runs[0..count), in the order of the input */
    size_t count;              /* number of runs */
    size_t capacity;           /* number of runs that the array `runs` has room for */
    enum decode_end end;       /* why decoding has ended */
    uint64_t at;               /* after a pause: the bit where the next block starts */
};

struct decode_engine {
    unsigned batch_max; /* the most tasks that one call of `decode` takes */

    /* Decodes tasks[0..count).  A new task begins at `start`.  A paused task continues at `at`,
     * which must be less than `until`.  Sets each task's `end`, never to DECODE_GOES_ON.  `tools`
     * belong to the calling thread. */
    void (*decode)(struct expand_tools *tools, struct input *in, struct decode_task *const *tasks,
                   unsigned count);

    /* Sets next[0..INF_WINDOW) to the window at the end of a run.  window[0..INF_WINDOW) is the
     * window at the run's start. */
    void (*next_window)(struct expand_tools *tools, const struct decode_task *task,
                        const struct decoded_run *run, const uint8_t *window, uint8_t *next);

    /* Turns the run's symbols into bytes, and sets the run's symbols_check.  The bytes replace the
     * symbols, from the first symbol's place on.  window[0..INF_WINDOW) is the window at the run's
     * start. */
    void (*resolve)(struct expand_tools *tools, const struct decode_task *task,
                    struct decoded_run *run, const uint8_t *window);
};

extern const struct decode_engine decode_engine_cpu;

/* Frees the runs of a task. */
void task_free_runs(struct decode_task *task);

/* Frees the last run of a task. */
void task_drop_run(struct decode_task *task);

#endif
