/*
 * verify.c - decodes an encoded segment again, and compares the result (verify.h)
 */
#include "config.h"

#include <string.h>

#include "compat/check.h"
#include "compat/container.h"
#include "pipeline/compress/verify.h"

/* Bytes of output that are summed up at a time, if the blocks are shorter. */
#define SUM_MIN ((size_t)32 << 10)

/* The kind of value that is compared.  If the format has none, it is the CRC-32. */
static enum gz_check sum_of(enum container container)
{
    const enum gz_check check = gz_check_of(container);

    return check == GZ_CHECK_NONE ? GZ_CHECK_CRC32 : check;
}

void verify_note(struct slot *s, enum container container, const uint8_t *in)
{
    const enum gz_check sum = sum_of(container);

    s->sum = sum == gz_check_of(container) ? s->check
                                           : gz_check_more(sum, gz_check_start(sum), in, s->len);
}

/* The value of the bytes that are decoded so far. */
struct summed {
    enum gz_check kind;
    uint32_t value;
    const uint8_t *next; /* the first byte that is not summed up yet */
};

static void sum_up(struct summed *d, const uint8_t *to)
{
    d->value = gz_check_more(d->kind, d->value, d->next, (size_t)(to - d->next));
    d->next = to;
}

/* What the decoder calls after each slice and block: sums up while the bytes are in the processor's
 * cache. */
struct decoding {
    struct inf_stretch stretch;
    struct summed summed;
};

static bool goes_on(void *ctx, size_t made, bool at_block)
{
    struct decoding *d = ctx;
    const uint8_t *const to = d->stretch.out + made;

    (void)at_block;
    if ((size_t)(to - d->summed.next) >= SUM_MIN)
        sum_up(&d->summed, to);
    return true;
}

/* Whether a BGZF member has the right header and trailer. */
static bool is_member(const struct slot *s)
{
    uint8_t around[BGZF_AROUND];
    const uint8_t *const size = s->out + BGZF_START;

    /* Except for the size, a member without packed data has the same header and trailer. */
    gz_write_member(around, 0, s->sum, s->len);
    return s->out_len > BGZF_AROUND && memcmp(s->out, around, BGZF_START) == 0 &&
           (size_t)(size[0] | size[1] << 8) + 1 == s->out_len &&
           memcmp(s->out + s->out_len - BGZF_TRAILER_SIZE, around + BGZF_HEADER_SIZE,
                  BGZF_TRAILER_SIZE) == 0;
}

/* Whether the data ends where the input ends.  After the last block of a segment that is not the
 * data's end, the decoder finds no more input. */
static bool ends_well(const struct inf_stretch *s, enum inf_result result, bool is_final)
{
    return is_final ? result == INF_END && (s->place + 7) / 8 == s->len
                    : result == INF_CUT && s->place == 8 * s->len;
}

bool verify_segment(struct inf_whole *decoder, const struct slot *s, enum container container,
                    bool is_final, uint8_t *buf, size_t before)
{
    const bool in_member = container == CONTAINER_BGZF;
    const enum gz_check kind = sum_of(container);
    struct decoding d = {.stretch = {.in = s->out,
                                     .len = s->out_len,
                                     .out = buf,
                                     .room = before + s->len,
                                     .made = before,
                                     .goes_on = goes_on,
                                     .ctx = &d},
                         .summed = {kind, gz_check_start(kind), buf + before}};
    enum inf_result result;

    /* In BGZF, an input without bytes has no member. */
    if (in_member && s->len == 0)
        return s->out_len == 0;
    if (in_member && !is_member(s))
        return false;
    if (in_member) {
        d.stretch.in += BGZF_HEADER_SIZE;
        d.stretch.len -= BGZF_AROUND;
    }
    result = inf_whole_stretch(decoder, &d.stretch);
    if (!ends_well(&d.stretch, result, is_final) || d.stretch.made != before + s->len)
        return false;
    sum_up(&d.summed, buf + before + s->len);
    return d.summed.value == s->sum;
}
