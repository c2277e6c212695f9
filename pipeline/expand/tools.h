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
#include "pipeline/expand/engine.h"

/* Bytes of input that a thread looks at while it decodes.  A block that is decoded to symbols has
 * to fit in: with less, large blocks are left to the consumer. */
#define VIEW_SIZE ((size_t)512 << 10)

/* Bytes behind the input that decoders may load. */
#define VIEW_PAD ((size_t)16)

/* Bytes of input in which a thread looks for a start at a time. */
#define SCAN_SIZE ((size_t)128 << 10)

_Static_assert(VIEW_PAD >= INF_SYMBOLS_PAD, "bytes behind the input");

/* The part of the input that a thread looks at. */
struct view {
    uint8_t *in;     /* VIEW_SIZE bytes, with INF_BACK before and VIEW_PAD behind */
    uint64_t offset; /* of in[0] in the input */
    size_t len;
    bool ends; /* no more came: the input ends, or a pipe gave nothing for now */
};

/* The task that the CPU engine has decoded last, if that has paused. */
struct paused {
    const struct decode_task *task; /* NULL: it has not */
    uint64_t bit;                   /* of the input, where it has */
    bool is_in_bytes;               /* `raw` stands behind the task's last run */
    size_t at;                      /* the next byte of the view that `raw` takes, if so */
};

struct expand_tools {
    struct inf_raw *raw;
    struct inf_symbols *symbols;
    struct view view;
    struct paused paused;
    uint8_t *scan; /* SCAN_SIZE and VIEW_PAD bytes */
};

/* NULL if memory is short. */
struct expand_tools *tools_make(void);

/* Gives the pages of the buffers back to the system until they are used again. */
void tools_give_back_pages(struct expand_tools *t);

#endif
