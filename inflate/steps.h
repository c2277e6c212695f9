/*
 * steps.h - DEFLATE decoded between two buffers, a step at a time
 *
 * A call of inf_run (inflate/raw.h) decodes some input to some output.  A caller that has more
 * refills a buffer of input again and again, and empties a buffer of output.  This is its loop:
 *
 *     for (;;) {
 *         const enum inf_step step = inf_step(&b);
 *
 *         ... the step's b.made bytes of output end at b.out + b.out_len: sum them up ...
 *         switch (step) {
 *         case INF_STEP_INPUT:  read on, keeping b.in[b.at - INF_BACK..b.in_len)
 *         case INF_STEP_FULL:   write the output; then inf_slide(&b)
 *         case INF_STEP_BLOCK:  perhaps go elsewhere: change the fields, then inf_begin(&b, ...)
 *         case INF_STEP_END:    take the trailer from b.in + b.at on
 *         ...
 *         }
 *     }
 *
 * The caller owns both buffers, and may change any field between two steps.
 */
#ifndef GZLZSS_INFLATE_STEPS_H
#define GZLZSS_INFLATE_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inflate/raw.h"

/* Why a step has ended. */
enum inf_step {
    /* All input was decoded but INF_REST bytes at most, and more may follow. */
    INF_STEP_INPUT,
    /* The same, but in_ends is set: the data is cut off. */
    INF_STEP_CUT_OFF,
    /* The output is full. */
    INF_STEP_FULL,
    /* A block has ended that is not the data's last, at bit `bit` of the input.  The output may be
     * full, too.  Comes only with `stops`. */
    INF_STEP_BLOCK,
    /* The data has ended, before byte `at` of the input buffer.  The output may be full, too. */
    INF_STEP_END,
    INF_STEP_BAD,
    INF_STEP_NO_MEMORY,
};

struct inf_buffers {
    struct inf_raw *raw;

    /* The input.  A step decodes in[at..in_len) and moves `at`; at the data's end perhaps back, by
     * INF_BACK bytes at most.  The INF_BACK bytes before in[at] are those that came before.  As
     * many bytes behind the input may be loaded, but are not used. */
    const uint8_t *in;
    size_t at, in_len;
    /* The position of in[0] in the whole input, in bytes.  If there is padding before the input's
     * first byte, it may be below 0, modulo 2^64. */
    uint64_t in_base;
    /* Nothing follows in[in_len - 1]. */
    bool in_ends;

    /* The output: out_len of out_size bytes are filled.  A step adds to out_len.  Both buffers have
     * less than 4 GiB. */
    uint8_t *out;
    size_t out_len, out_size;
    /* Bytes before out + out_len that belong to the same data, INF_WINDOW at most.  They must stand
     * there, perhaps some of them before `out`.  A step adds what it has made. */
    size_t window;

    /* Whether a step ends at the end of a block, but not before bit stops_from of the input. */
    bool stops;
    uint64_t stops_from;

    /* Set by each step: the bytes of output that it has made. */
    size_t made;
    /* Set with INF_STEP_BLOCK: the bit of the whole input where the next block starts; with
     * INF_STEP_END: the bit behind the data's last byte. */
    uint64_t bit;
};

/*
 * Begins with other data, or somewhere else in the same: at in[at], behind its lowest `skip` bits,
 * 0 to 7.  With `skip`, in[at] must be there.  `window`, and the bytes that it counts, must be set.
 * False if memory is short.
 */
bool inf_begin(struct inf_buffers *b, unsigned skip);

/* Decodes until the caller has something to do. */
enum inf_step inf_step(struct inf_buffers *b);

/* Copies the window that ends at out + len to before `out`: what is decoded next may go to `out`.
 * There are INF_WINDOW bytes before `out`. */
static inline void inf_keep_window(uint8_t *out, size_t len)
{
    memmove(out - INF_WINDOW, out + len - INF_WINDOW, INF_WINDOW);
}

/* Makes the output empty, after it was written. */
static inline void inf_slide(struct inf_buffers *b)
{
    inf_keep_window(b->out, b->out_len);
    b->out_len = 0;
}

#endif
