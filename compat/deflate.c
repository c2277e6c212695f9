/*
 * deflate.c - DEFLATE between the buffers of compat/stream.h
 */
#include "config.h"

#include "compat/deflate.h"

#include "compat/crc.h"
#include "inflate/raw.h"

#include <string.h>

_Static_assert(GZ_IN_SIZE <= UINT32_MAX && GZ_OUT_SIZE <= UINT32_MAX, "less than 4 GiB");

/* How much of the data, which has `len` bytes so far, is in the window. */
static size_t window_of(uint64_t len)
{
    return len < GZ_OUT_BACK ? (size_t)len : GZ_OUT_BACK;
}

/* At the start of a block, at that bit of the input: goes on behind what was decoded ahead, if
 * anything was.  *ended: no more of the data follows. */
static enum gz_status go_ahead(struct gz_stream *s, uint64_t bit, uint32_t *crc, uint64_t *len,
                               bool *ended)
{
    const struct gz_ahead *ahead = s->io.ahead;
    struct gz_place place = {.bit = bit, .crc = *crc, .len = *len, .end = s->out};
    const size_t waiting = s->out_len;
    unsigned skip;
    int byte = 0;

    if (bit < s->ahead_from || !ahead->has(ahead->ctx, bit, &s->ahead_from))
        return GZ_OK;
    s->ahead_from = 0;
    if (!gz_flush(s))
        return GZ_WRITE_ERROR;
    memmove(s->out - GZ_OUT_BACK, s->out + waiting - GZ_OUT_BACK, GZ_OUT_BACK);
    if (!ahead->run(ahead->ctx, &place))
        return GZ_WRITE_ERROR;
    if (place.bit == bit)
        return GZ_OK;
    *crc = place.crc;
    *len = place.len;
    *ended = place.ended;
    s->info->out_bytes += place.made;
    gz_seek(s, place.bit / 8);
    if (place.ended)
        return GZ_OK;
    skip = (unsigned)(place.bit % 8);
    if (skip > 0) {
        byte = gz_next_byte(s);
        if (byte < 0)
            return s->in_stop;
    }
    inf_reset(s->raw);
    return inf_start(s->raw, (uint8_t)byte, skip, s->out - window_of(*len), window_of(*len))
               ? GZ_OK
               : GZ_NO_MEMORY;
}

/* Where io.ahead may have something next, in bits from that bit of the input on. */
static size_t ahead_from(const struct gz_stream *s, uint64_t bit)
{
    const uint64_t from = s->ahead_from > bit ? s->ahead_from - bit : 0;

    return from < SIZE_MAX ? (size_t)from : SIZE_MAX;
}

static enum gz_status run(struct gz_stream *s, uint32_t *crc, uint64_t *len)
{
    enum gz_status status;
    bool ended = false;

    if (s->io.ahead != NULL) {
        status = go_ahead(s, 8 * gz_in_offset(s), crc, len, &ended);
        if (status != GZ_OK || ended)
            return status;
    }
    for (bool last = false;;) {
        const uint64_t in_bit = 8 * (gz_in_offset(s) - INF_BACK);
        struct inf_io io = {.in = s->in + s->in_pos,
                            .in_len = s->in_end - s->in_pos,
                            .in_ends = last,
                            .out = s->out + s->out_len,
                            .out_len = GZ_OUT_SIZE - s->out_len,
                            .window = window_of(*len),
                            .stops = s->io.ahead != NULL,
                            .stops_from = ahead_from(s, in_bit)};
        const enum inf_result result = inf_run(s->raw, &io);

        s->in_pos = (size_t)((ptrdiff_t)s->in_pos + io.used);
        *crc = gz_crc32(*crc, io.out, io.made);
        *len += io.made;
        s->out_len += io.made;
        if (s->out_len == GZ_OUT_SIZE) {
            memmove(s->out - GZ_OUT_BACK, s->out + GZ_OUT_SIZE - GZ_OUT_BACK, GZ_OUT_BACK);
            if (!gz_flush(s))
                return GZ_WRITE_ERROR;
        }
        if (result == INF_END)
            return GZ_OK;
        if (result == INF_NO_MEMORY)
            return GZ_NO_MEMORY;
        if (result == INF_BAD)
            return GZ_BAD_DATA;
        if (result == INF_BLOCK) {
            status = go_ahead(s, in_bit + io.place, crc, len, &ended);
            if (status != GZ_OK || ended)
                return status;
            last = last && s->in_stop != GZ_OK;
            continue;
        }
        /* Output that filled its room may have more behind it, without any more input. */
        if (io.made == io.out_len)
            continue;
        if (s->in_pos == s->in_end || result == INF_CUT) {
            if (gz_refill(s))
                continue;
            if (last) {
                s->in_pos = s->in_end;
                return s->in_stop;
            }
            last = true;
        } else if (io.used == 0 && io.made == 0) {
            return GZ_BAD_DATA; /* A back end that is stuck, which none should be: don't hang. */
        }
    }
}

enum gz_status gz_read_deflate(struct gz_stream *s, uint32_t *crc, uint64_t *len)
{
    const uint64_t start = gz_in_offset(s);
    enum gz_status status = GZ_NO_MEMORY;

    *crc = 0;
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
        status = run(s, crc, len);
    s->info->deflate_bytes += gz_in_offset(s) - start;
    return status;
}

void gz_free_deflate(struct gz_stream *s)
{
    inf_close(s->raw);
    s->raw = NULL;
}
