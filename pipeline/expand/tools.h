/*
 * tools.h - a thread's memory for decompression
 */
#ifndef GZLZSS_EXPAND_TOOLS_H
#define GZLZSS_EXPAND_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/raw.h"
#include "inflate/symbols.h"
#include "inflate/whole.h"
#include "pipeline/expand/engine.h"

/* The most bytes of input that a thread has in memory while it decodes.  A block can only be
 * decoded to symbols if it fits in.  With a lower number, more large blocks are left to the
 * consumer. */
#define VIEW_SIZE ((size_t)512 << 10)

/* Bytes after the input that decoders may load. */
#define VIEW_PAD ((size_t)16)

/* Bytes of input that a thread reads at a time while it looks for a start. */
#define SCAN_SIZE ((size_t)128 << 10)

_Static_assert(VIEW_PAD >= INF_SYMBOLS_PAD, "bytes behind the input");

/* The part of the input that a thread has in memory. */
struct view {
    uint8_t *in;     /* VIEW_SIZE bytes, with INF_BACK bytes before and VIEW_PAD bytes after them */
    uint64_t offset; /* in[0] is this byte of the input */
    size_t len;      /* number of bytes of the input that are in `in` */
    /* The last read gave too few bytes, because the input ends or no more of it has come yet. */
    bool ends;
};

/* The task that this thread has decoded last, if the task has paused. */
struct paused {
    const struct decode_task *task; /* the task; NULL if the last task has not paused */
    uint64_t bit;                   /* bit of the input at which the task has paused */
    bool is_in_bytes;               /* `raw` can continue at the end of the task's last run */
    size_t at;                      /* if is_in_bytes: index in the view of `raw`'s next byte */
};

struct expand_tools {
    struct inf_raw *raw;
    struct inf_symbols *symbols;
    struct inf_whole *whole;
    struct view view;
    struct paused paused;
    uint8_t *scan; /* SCAN_SIZE + VIEW_PAD bytes, in which find_start looks for a start */
};

/* Makes a thread's tools.  Returns NULL if memory is short. */
struct expand_tools *tools_make(void);

/* Gives the pages of the tools' buffers back to the system.  The buffers lose their contents, but
 * can be used again. */
void tools_give_back_pages(struct expand_tools *t);

#endif
