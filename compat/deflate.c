/*
 * deflate.c - decodes DEFLATE from and to the buffers of compat/stream.h (deflate.h)
 *
 * inflate/steps.h does the decoding.  This file adds the check value.  If other threads decode
 * parts of the input ahead (gz_io.ahead), it also skips the parts that they have decoded.  To find
 * these parts, it asks at the start of a block whether another thread has decoded from there.
 */
#include "config.h"

#include "compat/deflate.h"

#include "compat/check.h"
#include "inflate/steps.h"

_Static_assert(GZ_IN_SIZE <= UINT32_MAX && GZ_OUT_SIZE <= UINT32_MAX, "less than 4 GiB");

/* Bytes of the window after `len` bytes of data. */
static size_t window_of(uint64_t len)
{
    return len < GZ_OUT_BACK ? (size_t)len : GZ_OUT_BACK;
}

/* Sets the input and output of `b` to the stream's buffers in their current state. */
static void lend(const struct gz_stream *s, struct inf_buffers *b)
{
    b->in = s->in;
    b->at = s->in_pos;
    b->in_len = s->in_end;
    b->in_base = s->info->read_bytes - s->in_end;
    b->out_len = s->out_len;
}

/* Call this at the start of a block, which is at bit `bit` of the input.  If another thread has
 * decoded ahead from that bit, go_ahead writes the thread's output, and decoding goes on after it.
 * *ended becomes true if the data ends with that output. */
static enum gz_status go_ahead(struct gz_stream *s, struct inf_buffers *b, uint64_t bit,
                               uint32_t *check, uint64_t *len, bool *ended)
{
    const struct gz_ahead *ahead = s->io.ahead;
    struct gz_place place = {.bit = bit, .check = *check, .len = *len, .end = s->out};
    unsigned skip;

    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only with `ahead` do steps stop */
    if (bit < s->ahead_from || !ahead->has(ahead->ctx, bit, &s->ahead_from))
        return GZ_OK;
    s->ahead_from = 0;
    if (!gz_flush_window(s))
        return GZ_WRITE_ERROR;
    place.before = s->info->out_bytes - *len;
    place.skip = s->out_skip;
    if (!ahead->run(ahead->ctx, &place))
        return GZ_WRITE_ERROR;
    s->out_skip = place.skip;
    if (place.bit == bit)
        return GZ_OK;
    *check = place.check;
    *len = place.len;
    *ended = place.ended;
    s->has_jumped |= place.is_jump;
    s->info->out_bytes += place.made;
    gz_seek(s, place.bit / 8);
    if (place.ended)
        return GZ_OK;
    skip = (unsigned)(place.bit % 8);
    if (skip > 0 && s->in_pos == s->in_end && !gz_refill(s))
        return s->in_stop;
    lend(s, b);
    b->window = window_of(*len);
    if (!inf_begin(b, skip))
        return GZ_NO_MEMORY;
    s->in_pos = b->at;
    return GZ_OK;
}

/* Does one step of decoding, and adds its output to the check value and the length. */
static enum inf_step step(struct gz_stream *s, struct inf_buffers *b, uint32_t *check,
                          uint64_t *len)
{
    enum inf_step step;

    lend(s, b);
    b->stops_from = s->ahead_from;
    step = inf_step(b);
    s->in_pos = b->at;
    s->out_len = b->out_len;
    *check =
        gz_check_more(gz_check_of(s->io.container), *check, s->out + s->out_len - b->made, b->made);
    *len += b->made;
    return step;
}

/* Decodes up to the data's end. */
static enum gz_status run(struct gz_stream *s, uint32_t *check, uint64_t *len)
{
    struct inf_buffers b = {
        .raw = s->raw, .out = s->out, .out_size = GZ_OUT_SIZE, .stops = s->io.ahead != NULL};
    enum gz_status status;
    bool ended = false;

    if (s->io.ahead != NULL) {
        status = go_ahead(s, &b, 8 * gz_in_offset(s), check, len, &ended);
        if (status != GZ_OK || ended)
            return status;
    }
    for (;;) {
        const enum inf_step result = step(s, &b, check, len);

        if (s->out_len == GZ_OUT_SIZE && !gz_flush_window(s))
            return GZ_WRITE_ERROR;
        switch (result) {
        case INF_STEP_FULL:
            break;
        case INF_STEP_INPUT:
            b.in_ends = !gz_refill(s);
            break;
        case INF_STEP_CUT_OFF:
            s->in_pos = s->in_end;
            return s->in_stop;
        case INF_STEP_BLOCK:
            status = go_ahead(s, &b, b.bit, check, len, &ended);
            if (status != GZ_OK || ended)
                return status;
            /* go_ahead may have moved to a place with more input after it. */
            b.in_ends = b.in_ends && s->in_stop != GZ_OK;
            break;
        case INF_STEP_END:
            return GZ_OK;
        case INF_STEP_BAD:
            return GZ_BAD_DATA;
        case INF_STEP_NO_MEMORY:
            return GZ_NO_MEMORY;
        }
    }
}

enum gz_status gz_read_deflate(struct gz_stream *s, uint32_t *check, uint64_t *len)
{
    const uint64_t start = gz_in_offset(s);
    enum gz_status status = GZ_NO_MEMORY;

    *check = gz_check_start(gz_check_of(s->io.container));
    *len = 0;
    if (s->raw != NULL && s->raw_is_small && !s->io.is_small)
        gz_free_deflate(s);
    if (s->raw != NULL) {
        inf_reset(s->raw);
    } else {
        s->raw = inf_open(s->io.is_small);
        s->raw_is_small = s->io.is_small;
    }
    if (s->raw != NULL)
        status = run(s, check, len);
    s->info->deflate_bytes += gz_in_offset(s) - start;
    return status;
}

void gz_free_deflate(struct gz_stream *s)
{
    inf_close(s->raw);
    s->raw = NULL;
}
