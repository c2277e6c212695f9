/*
 * steps.h - decodes DEFLATE between two buffers, one step at a time
 *
 * A call of inf_run (inflate/raw.h) decodes from one piece of memory to another.  A caller with
 * more data than fits in memory has an input buffer, which it refills, and an output buffer, which
 * it empties.  Such a caller has this loop:
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
    /* All input was decoded, except for at most INF_REST bytes.  More input may follow. */
    INF_STEP_INPUT,
    /* Like INF_STEP_INPUT, but in_ends is set, so the data is cut off. */
    INF_STEP_CUT_OFF,
    /* The output is full. */
    INF_STEP_FULL,
    /* A block other than the data's last has ended, at bit `bit` of the input.  The output may be
     * full, too.  Happens only with `stops`. */
    INF_STEP_BLOCK,
    /* The data has ended, before byte `at` of the input buffer.  The output may be full, too. */
    INF_STEP_END,
    INF_STEP_BAD,
    INF_STEP_NO_MEMORY,
};

struct inf_buffers {
    struct inf_raw *raw;

    /* The input.  A step decodes in[at..in_len) and moves `at`; at the data's end, it may move `at`
     * back by up to INF_BACK bytes.  The INF_BACK bytes before in[at] must be the preceding bytes
     * of the whole input.  A decoder may also load up to INF_BACK bytes after in[in_len - 1], but
     * does not use them. */
    const uint8_t *in;
    size_t at, in_len;
    /* The position of in[0] in the whole input, in bytes.  It is negative, modulo 2^64, if there is
     * padding before the input's first byte. */
    uint64_t in_base;
    /* Whether the input ends after in[in_len - 1]. */
    bool in_ends;

    /* The output: out_len of out_size bytes are filled.  A step adds to out_len.  The input and the
     * output have less than 4 GiB each. */
    uint8_t *out;
    size_t out_len, out_size;
    /* How many bytes before out + out_len belong to the same data, INF_WINDOW at most.  Some of
     * them may be before `out`.  A step adds the bytes that it has made. */
    size_t window;

    /* Whether a step ends at the end of a block.  Blocks that end before bit stops_from of the
     * input are ignored. */
    bool stops;
    uint64_t stops_from;

    /* Set by each step: the bytes of output that it has made. */
    size_t made;
    /* Set with INF_STEP_BLOCK: the bit of the whole input where the next block starts.  Set with
     * INF_STEP_END: the bit after the data's last byte. */
    uint64_t bit;
};

/*
 * Begins to decode other data, or the same data at another place: at in[at], after its lowest
 * `skip` bits, 0 to 7.  If skip is not 0, in[at] must be in the buffer.  The caller has set
 * `window`, and has put that many bytes before out + out_len.  Returns false if memory is short.
 */
bool inf_begin(struct inf_buffers *b, unsigned skip);

/* Decodes until the caller has something to do. */
enum inf_step inf_step(struct inf_buffers *b);

/* Copies the last INF_WINDOW bytes before out + len to just before `out`, so that the next output
 * may go to `out`.  The caller has INF_WINDOW bytes of memory before `out`. */
static inline void inf_keep_window(uint8_t *out, size_t len)
{
    memmove(out - INF_WINDOW, out + len - INF_WINDOW, INF_WINDOW);
}

/* Empties the output after the caller has written it. */
static inline void inf_slide(struct inf_buffers *b)
{
    inf_keep_window(b->out, b->out_len);
    b->out_len = 0;
}

#endif
