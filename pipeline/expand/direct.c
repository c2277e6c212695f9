/*
 * direct.c - the consumer decodes from memory to the caller's memory (direct.h)
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "compat/check.h"
#include "inflate/whole.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/direct.h"
#include "pipeline/expand/in_order.h"
#include "pipeline/expand/regions.h"

/* Bytes of output after which direct_decode returns at the end of a block.  With fewer, the
 * window's copy and the lock take more of the time.  With more, it takes longer until a call
 * notices that workers may help it. */
#define STRETCH ((size_t)1 << 20)

/* Bytes of output that are summed up at a time, if the blocks are shorter. */
#define SUM_MIN ((size_t)32 << 10)

/* --- Memory --------------------------------------------------------------------------------- */

bool expansion_set_memory(struct expansion *e, uint8_t *(*next)(void *ctx, size_t *room),
                          int (*wrote)(void *ctx, size_t len), bool (*goes_on)(void *ctx))
{
    if (input_memory(e->input) == NULL || input_size(e->input) > SIZE_MAX / 8)
        return true;
    expansion_avoid_gpu(e);
    e->direct = (struct direct){inf_whole_new(), next, wrote, goes_on};
    return e->direct.whole != NULL;
}

bool direct_is_possible(const struct expansion *e)
{
    return e->direct.whole != NULL;
}

void direct_free(struct expansion *e)
{
    inf_whole_free(e->direct.whole);
    e->direct.whole = NULL;
}

/* --- Decoding ------------------------------------------------------------------------------- */

/* What direct_decode keeps while the decoder runs. */
struct stretch {
    struct inf_stretch s;
    struct expansion *e;
    size_t until; /* bit of the input: stop before a block that starts here or later */
    size_t enough;
    /* The check value of out[0..summed) of the data, without the current block. */
    uint32_t check;
    size_t summed;
    /* The same with slices of the current block. */
    uint32_t part_check;
    size_t part_summed;
};

/* Sums up the output to `to`, as a part of a block that may still turn out to be bad. */
static void sum_up(struct stretch *d, size_t to)
{
    d->part_check =
        gz_check_more(d->e->check, d->part_check, d->s.out + d->part_summed, to - d->part_summed);
    d->part_summed = to;
}

/* The function that the decoder calls after each slice and block (whole.h). */
static bool goes_on(void *ctx, size_t made, bool at_block)
{
    struct stretch *d = ctx;

    if (made - d->part_summed >= SUM_MIN)
        sum_up(d, made);
    if (at_block) {
        d->check = d->part_check;
        d->summed = d->part_summed;
        if (d->s.place >= d->until || made >= d->enough)
            return false;
    }
    return d->e->direct.goes_on(d->e->write_ctx);
}

/* Prepares to decode from the consumer's place on.  Returns false if there is no room. */
static bool begin_stretch(struct stretch *d, struct expansion *e, uint64_t until)
{
    const struct gz_place *place = e->place;
    const size_t len = (size_t)place->len;
    size_t room;
    uint8_t *next = e->direct.next(e->write_ctx, &room);

    if (next == NULL || place->skip.left > 0)
        return false;
    *d = (struct stretch){.e = e,
                          .until = (size_t)until,
                          .enough = len + STRETCH,
                          .check = place->check,
                          .summed = len,
                          .part_check = place->check,
                          .part_summed = len};
    d->s = (struct inf_stretch){.in = input_memory(e->input),
                                .len = (size_t)input_size(e->input),
                                .place = (size_t)place->bit,
                                .out = next - len,
                                .room = len + room,
                                .made = len,
                                .goes_on = goes_on,
                                .ctx = d};
    return true;
}

/* Sums up the output of all whole blocks. */
static void sum_up_blocks(struct stretch *d)
{
    if (d->part_summed > d->s.made) { /* the last block was broken off: forget its slices */
        d->part_check = d->check;
        d->part_summed = d->summed;
    }
    sum_up(d, d->s.made);
}

/* Keeps the last bytes of the output as the window before the place. */
static void keep_window(struct expansion *e, const struct inf_stretch *s)
{
    const size_t n = s->made < INF_WINDOW ? s->made : INF_WINDOW;

    if (n > 0)
        memcpy(in_order_window(e) + INF_WINDOW - n, s->out + s->made - n, n);
}

/* Moves the place to the end of the last whole block. */
static void move_place(struct stretch *d, enum inf_result result)
{
    struct gz_place *place = d->e->place;

    place->check = d->part_check;
    place->bit = d->s.place;
    place->made += d->s.made - place->len;
    place->len = d->s.made;
    place->ended = result == INF_END;
    if (place->ended)
        place->bit = (place->bit + 7) / 8 * 8;
    if (place->bit / 8 > d->e->cursor)
        d->e->cursor = place->bit / 8;
}

bool direct_decode(struct expansion *e, uint64_t until, int *error)
{
    const uint64_t from = e->place->bit, len = e->place->len;
    struct stretch d;
    enum inf_result result;
    bool ok;

    if (!begin_stretch(&d, e, until))
        return false;
    in_order_hold(e);
    unlock(e->p);
    result = inf_whole_stretch(e->direct.whole, &d.s);
    sum_up_blocks(&d);
    if (result != INF_END)
        keep_window(e, &d.s);
    ok = d.s.made == len || e->direct.wrote(e->write_ctx, d.s.made - (size_t)len) == 0;
    *error = ok ? 0 : errno;
    lock(e->p);
    in_order_release(e);
    move_place(&d, result);
    regions_drop_past(e, e->place->bit);
    return ok && e->place->bit > from;
}
