/*
 * whole.c - decodes DEFLATE from memory to memory (whole.h)
 *
 * The loop of fast.h decodes most of the data.  Near the end of the input or the room, careful
 * steps check everything.
 *
 * The loop decodes a slice of output at a time.  Between two slices, the caller's function sums the
 * slice up while it is in the processor's cache, and may stop the decoder.
 */
#include "config.h"

#include "inflate/whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "inflate/fast.h"

/* The input and the output of a call: in[0..len), and out[0..room), of which out[0..made) is
 * written so far.  The current slice of output ends at out[slice_end], or before. */
struct buffers {
    const uint8_t *in;
    size_t len;
    uint8_t *out;
    size_t room, made, slice_end;
    const struct inf_stretch *stretch; /* has the function to call between slices; NULL: none */
    bool is_stopped;                   /* that function has stopped decoding within a block */
};

/* The functions that are compiled for each path of base/cpu.h. */
struct whole_functions {
    enum inf_result (*decode_most)(const struct inf_codes *c, struct reader *reader,
                                   struct buffers *b);
};

struct inf_whole {
    struct inf_codes codes;
    const struct whole_functions *functions;
};

/* Decodes most of a block's codes for the current slice (fast.h). */
FAST_INLINE enum inf_result decode_most(const struct inf_codes *c, struct reader *r,
                                        struct buffers *b)
{
    uint8_t *out = b->out + b->made;
    const enum inf_result result =
        decode_fast(c, r, b->len, &out, b->out, b->out + b->slice_end, 1, NULL);

    b->made = (size_t)(out - b->out);
    return result;
}

static NOINLINE enum inf_result decode_most_portable(const struct inf_codes *c, struct reader *r,
                                                     struct buffers *b)
{
    return decode_most(c, r, b);
}

#ifdef HAVE_AVX2_PATH
static AVX2_PATH NOINLINE enum inf_result decode_most_avx2(const struct inf_codes *c,
                                                           struct reader *r, struct buffers *b)
{
    return decode_most(c, r, b);
}
#endif

static const struct whole_functions functions[CPU_PATHS] = {
    [CPU_PORTABLE] = {decode_most_portable},
#ifdef HAVE_AVX2_PATH
    [CPU_AVX2] = {decode_most_avx2},
#endif
#ifdef HAVE_AVX512_PATH
    [CPU_AVX512] = {decode_most_avx2},
#endif
};

struct inf_whole *inf_whole_new(void)
{
    struct inf_whole *w = calloc(1, sizeof(*w));

    if (w != NULL)
        w->functions = &functions[cpu_path()];
    return w;
}

void inf_whole_free(struct inf_whole *w)
{
    free(w);
}

/* --- Careful steps -------------------------------------------------------------------------- */

/* Decodes a match.  `entry` is the entry of the match's length.  MATCH_BITS bits are valid, or as
 * many as the input still has.  Returns INF_END if that went well. */
static enum inf_result take_match(const struct inf_codes *c, struct reader *r, struct buffers *b,
                                  uint32_t entry)
{
    const size_t length = take_value(r, entry);
    enum inf_result result = INF_END;
    size_t distance;

    entry = next_entry(r, c->distance, DISTANCE_ROOT, &result);
    if (result != INF_END)
        return result;
    distance = take_value(r, entry);
    if (distance > b->made)
        return INF_BAD;
    if (length > b->room - b->made)
        return INF_MORE;
    if (length + BEHIND <= b->room - b->made)
        copy_match(b->out + b->made, distance, length);
    else
        for (size_t i = b->made; i < b->made + length; i++)
            b->out[i] = b->out[i - distance];
    b->made += length;
    return INF_END;
}

/* Decodes the rest of a block with careful steps.  Returns INF_BLOCK at its end. */
static enum inf_result decode_careful(const struct inf_codes *c, struct reader *reader,
                                      struct buffers *b)
{
    enum inf_result result = INF_END;
    struct reader r = *reader;

    while (result == INF_END) {
        uint32_t entry;

        if (r.count < MATCH_BITS)
            fill_to_end(&r, b->len);
        entry = next_entry(&r, c->litlen, LITLEN_ROOT, &result);
        if (result != INF_END)
            break;
        if ((entry & ENTRY_END) != 0) {
            skip(&r, entry_bits(entry));
            result = INF_BLOCK;
        } else if ((entry & ENTRY_LITERAL) == 0) {
            result = take_match(c, &r, b, entry);
        } else if (b->made == b->room) {
            result = INF_MORE;
        } else {
            skip(&r, entry_bits(entry));
            b->out[b->made++] = (uint8_t)entry_value(entry);
        }
    }
    *reader = r;
    return result;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* Chooses the end of the next slice.  A rest that is not much longer than a slice is part of it. */
static void begin_slice(struct buffers *b)
{
    const size_t left = b->room - b->made;

    b->slice_end = b->stretch != NULL && left > 2 * INF_SLICE ? b->made + INF_SLICE : b->room;
}

/* Whether decode_most has ended for want of room in a slice that is not the last one. */
static bool is_slice_full(const struct buffers *b)
{
    return b->slice_end < b->room && b->slice_end - b->made < FAST_ROOM;
}

/* Decodes most of a block's codes, slice by slice.  If the caller's function stops it, sets
 * b->is_stopped, and returns INF_BLOCK. */
static enum inf_result decode_slices(const struct inf_whole *whole, struct reader *r,
                                     struct buffers *b)
{
    for (;;) {
        enum inf_result result;

        begin_slice(b);
        result = whole->functions->decode_most(&whole->codes, r, b);
        if (result != INF_MORE || !is_slice_full(b))
            return result;
        if (!b->stretch->goes_on(b->stretch->ctx, b->made, false)) {
            b->is_stopped = true;
            return INF_BLOCK;
        }
    }
}

/* Decodes the codes of a block, from bit *place on.  Returns INF_BLOCK at the block's end, and sets
 * *place to the bit after it. */
static enum inf_result decode_codes(const struct inf_whole *whole, struct buffers *b, size_t *place)
{
    const struct inf_codes *c = &whole->codes;
    struct reader r = {.in = b->in, .at = *place / 8};
    enum inf_result result;

    fill_to_end(&r, b->len);
    if (r.count < *place % 8)
        return INF_CUT;
    skip(&r, *place % 8);
    result = decode_slices(whole, &r, b);
    if (result == INF_MORE)
        result = decode_careful(c, &r, b);
    *place = 8 * r.at - r.count;
    return result;
}

/* Copies a stored block of `stored` bytes, which start at bit *place.  Returns INF_BLOCK, and sets
 * *place to the bit after them; or returns INF_CUT or INF_MORE (whole.h). */
static enum inf_result copy_stored(struct buffers *b, size_t stored, size_t *place)
{
    if (stored > b->len - *place / 8)
        return INF_CUT;
    if (stored > b->room - b->made)
        return INF_MORE;
    if (stored > 0)
        memcpy(b->out + b->made, b->in + *place / 8, stored);
    b->made += stored;
    *place += 8 * stored;
    return INF_BLOCK;
}

/* Decodes the block whose header is at bit *place.  Returns INF_BLOCK at the block's end, and sets
 * *place to the bit after it. */
static enum inf_result decode_block(struct inf_whole *whole, struct buffers *b, size_t *place,
                                    bool *is_final)
{
    struct inf_block block;
    const enum inf_result result = inf_begin_block(&whole->codes, b->in, b->len, *place, &block);

    if (result != INF_MORE)
        return result;
    *is_final = block.final;
    *place += block.header_bits;
    if (block.type == INF_BLOCK_STORED)
        return copy_stored(b, block.stored_len, place);
    return decode_codes(whole, b, place);
}

enum inf_result inf_whole(struct inf_whole *whole, const uint8_t *in, size_t len, uint8_t *out,
                          size_t room, size_t *used, size_t *made)
{
    struct buffers b = {.in = in, .len = len, .out = out, .room = room};
    enum inf_result result;
    bool is_final = false;
    size_t place = 0;

    do {
        result = decode_block(whole, &b, &place, &is_final);
        if (result != INF_BLOCK)
            return result;
    } while (!is_final);
    *used = (place + 7) / 8;
    *made = b.made;
    return INF_END;
}

enum inf_result inf_whole_stretch(struct inf_whole *whole, struct inf_stretch *s)
{
    struct buffers b = {
        .in = s->in, .len = s->len, .out = s->out, .room = s->room, .made = s->made, .stretch = s};
    bool is_final = false;

    for (;;) {
        size_t place = s->place;
        const enum inf_result result = decode_block(whole, &b, &place, &is_final);

        if (result != INF_BLOCK || b.is_stopped)
            return result;
        s->place = place;
        s->made = b.made;
        if (!s->goes_on(s->ctx, b.made, true) && !is_final)
            return INF_BLOCK;
        if (is_final)
            return INF_END;
    }
}
