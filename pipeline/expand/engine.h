/*
 * engine.h - the seam between those who choose what is decoded ahead and those who decode it
 *
 * A task says where decoding begins, where it pauses, and which memory its output may fill.  An
 * engine decodes a batch of tasks and adds decoded runs to each.  An engine knows no lock, no list
 * and no consumer: it reads the input and writes to its tasks.  regions.c makes the tasks, and
 * decides whether one that has paused goes on; helpers.c hands them to the engine.
 *
 * decode.c is the CPU engine, the only one now; it takes one task at a time.  A GPU does not decode
 * regions: it decodes from the consumer's place on (gpu_decoder.h).
 *
 * What every engine must do:
 *
 * - A run begins where a block starts, has whole blocks of one DEFLATE stream, and ends before
 *   the first block that is not good.  Nothing behind that is looked at, whatever is wrong there.
 * - Its output is what an inflate from the start of the file would give there, if the run's start
 *   is the start of a block.  The symbols of a run stand for bytes as inflate/symbols.h says.
 * - Decoding again from the end of a paused task's last run gives what decoding on would have
 *   given.
 */
#ifndef GZLZSS_EXPAND_ENGINE_H
#define GZLZSS_EXPAND_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/raw.h"
#include "pipeline/expand/input.h"

struct expand_tools;
struct region;

/* Bytes in a task's output buffer: the window before the first symbol, as symbols, then output. */
#define BUFFER_BEFORE (INF_WINDOW * sizeof(uint16_t))

/* What stands before the start of a task. */
enum start_kind {
    START_AT_MARK,   /* a mark: no match reaches back across it */
    START_AT_MEMBER, /* a gzip header: likewise */
    START_IN_DATA,   /* data that is not known: decoding begins with symbols */
};

enum run_state {
    RUN_DECODED,    /* the consumer has not come to it */
    RUN_UNRESOLVED, /* accepted; its symbols are not bytes yet */
    RUN_RESOLVING,  /* a thread makes bytes of its symbols */
    RUN_READY,      /* accepted, and all bytes; it stays so while it is written */
    RUN_WRITTEN,
};

/* Blocks of one DEFLATE stream, one after another, that were decoded: first symbols, then bytes. */
struct decoded_run {
    uint64_t start;   /* bit of the input where its first block starts */
    uint64_t end;     /* bit behind its last block; behind a final block, that byte's end */
    bool ends_stream; /* its last block is the final one of the stream */
    size_t symbols;   /* how many symbols it has; they begin behind BUFFER_BEFORE in the buffer */
    uint8_t *bytes;   /* the bytes behind them: bytes[0..len) */
    size_t len;
    uint32_t crc; /* CRC-32 of bytes[0..len) */

    /* For in_order.c, which accepts, resolves and writes runs: */
    struct region *region;        /* whose task has decoded it */
    enum run_state state;         /* the engine leaves it RUN_DECODED */
    uint32_t symbols_crc;         /* CRC-32 of the symbols, once they are bytes */
    struct decoded_run *next_out; /* the next in the line of runs to be written */
};

/* How decoding a task has ended. */
enum decode_end {
    DECODE_GOES_ON,      /* it has not ended */
    DECODE_PAUSED,       /* at a block that starts at `until` or behind it: it can go on */
    DECODE_STOPPED,      /* before bad data, at the end of the input, or for want of memory; or
                            cancelled; or what came of it is too little to be worth it */
    DECODE_FULL,         /* there is no room for more output, or for more runs */
    DECODE_FULL_AT_MARK, /* at a mark before `to`, with `enough` bytes of output */
};

struct decode_task {
    /* What is to be done.  Only `until` changes between two calls for one task. */
    uint64_t start; /* bit of the input where the first block starts */
    enum start_kind kind;
    uint64_t until;            /* bit: a block that starts here or later is where decoding pauses */
    uint64_t to;               /* byte of the input: only marks before it end the task early */
    uint8_t *buffer;           /* BUFFER_BEFORE bytes, and `size` more for output */
    size_t size;               /* bytes for output */
    size_t bytes_limit;        /* at most this many bytes of output; symbols count as bytes */
    size_t enough;             /* with this much output, in bytes, the task ends at the next mark */
    bool takes_all;            /* runs that are not worth it are decoded all the same: for tests */
    _Atomic bool is_cancelled; /* any thread may set it: the engine stops at the next block */

    /* What came of it; at first all 0. */
    struct decoded_run **runs;
    size_t count;    /* of runs */
    size_t capacity; /* of `runs` */
    enum decode_end end;
    uint64_t at; /* if it has paused: the bit where the next block starts */
};

struct decode_engine {
    unsigned batch_max; /* tasks that one call of `decode` takes */

    /* Decodes tasks[0..count), each from its start or, if it has paused, from there on; `until`
     * lies behind `at` then.  Each task's `end` says why it ended; none goes on.  `tools` are the
     * calling thread's. */
    void (*decode)(struct expand_tools *tools, struct input *in, struct decode_task *const *tasks,
                   unsigned count);

    /* Makes next[0..INF_WINDOW) the window at the end of a run, where window[0..INF_WINDOW) is the
     * one at its start. */
    void (*next_window)(struct expand_tools *tools, const struct decode_task *task,
                        const struct decoded_run *run, const uint8_t *window, uint8_t *next);

    /* Makes bytes of the run's symbols, and sums them up in symbols_crc.  The bytes stand where the
     * symbols began.  window[0..INF_WINDOW) is the window at its start. */
    void (*resolve)(struct expand_tools *tools, const struct decode_task *task,
                    struct decoded_run *run, const uint8_t *window);
};

extern const struct decode_engine decode_engine_cpu;

/* Frees the runs of a task. */
void task_free_runs(struct decode_task *task);

/* Frees the last run of a task. */
void task_drop_run(struct decode_task *task);

#endif
