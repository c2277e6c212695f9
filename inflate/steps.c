/*
 * steps.c - decodes DEFLATE between two buffers, one step at a time (steps.h)
 */
#include "config.h"

#include "inflate/steps.h"

bool inf_begin(struct inf_buffers *b, unsigned skip)
{
    const uint8_t byte = skip > 0 ? b->in[b->at] : 0;

    inf_reset(b->raw);
    b->at += skip > 0;
    return inf_start(b->raw, byte, skip, b->out + b->out_len - b->window, b->window);
}

/* The bit of the whole input from which the next call of inf_run counts inf_io.place. */
static uint64_t first_bit(const struct inf_buffers *b)
{
    return 8 * (b->in_base + b->at - INF_BACK);
}

/* Returns b->stops_from as inf_run needs it: counted from bit `first` of the input on. */
static size_t stops_from(const struct inf_buffers *b, uint64_t first)
{
    const uint64_t from = b->stops_from > first ? b->stops_from - first : 0;

    return from < SIZE_MAX ? (size_t)from : SIZE_MAX;
}

/* Whether the caller has something to do after inf_run has returned INF_MORE or INF_CUT.  If so,
 * sets *step to the reason. */
static bool needs_caller(const struct inf_buffers *b, enum inf_result result, enum inf_step *step)
{
    /* Check the output first, because if it is full, the decoder may have more output without more
     * input. */
    if (b->out_len == b->out_size)
        *step = INF_STEP_FULL;
    else if (result == INF_CUT || b->at == b->in_len)
        *step = b->in_ends ? INF_STEP_CUT_OFF : INF_STEP_INPUT;
    else
        return false;
    return true;
}

enum inf_step inf_step(struct inf_buffers *b)
{
    enum inf_step step;

    b->made = 0;
    if (b->out_len == b->out_size)
        return INF_STEP_FULL;
    for (;;) {
        const uint64_t first = first_bit(b);
        struct inf_io io = {.in = b->in + b->at,
                            .in_len = b->in_len - b->at,
                            .in_ends = b->in_ends,
                            .out = b->out + b->out_len,
                            .out_len = b->out_size - b->out_len,
                            .window = b->window,
                            .stops = b->stops,
                            .stops_from = stops_from(b, first)};
        const enum inf_result result = inf_run(b->raw, &io);

        b->at = (size_t)((ptrdiff_t)b->at + io.used);
        b->out_len += io.made;
        b->made += io.made;
        b->window = b->window + io.made < INF_WINDOW ? b->window + io.made : INF_WINDOW;
        switch (result) {
        case INF_BLOCK:
            b->bit = first + io.place;
            return INF_STEP_BLOCK;
        case INF_END:
            b->bit = 8 * (b->in_base + b->at);
            return INF_STEP_END;
        case INF_BAD:
            return INF_STEP_BAD;
        case INF_NO_MEMORY:
            return INF_STEP_NO_MEMORY;
        case INF_MORE:
        case INF_CUT:
            if (needs_caller(b, result, &step))
                return step;
            /* The decoder is stuck, which should never happen.  Don't hang. */
            if (io.used == 0 && io.made == 0)
                return INF_STEP_BAD;
        }
    }
}
