/*
 * view.c - a buffer that moves along an input that can be read at any place (view.h)
 */
#include "config.h"

#include "compat/recover/view.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the buffer.  The buffer is larger than any request (GZ_VIEW_MOST), so that small steps
 * back and forth need no reads. */
#define BUFFER (2 * GZ_VIEW_MOST)

/* If a read fails, the bytes are read again, UNIT bytes at a time, so that few bytes are lost. */
#define UNIT ((size_t)4096)

bool gz_view_open(struct gz_view *v)
{
    v->base = 0;
    v->len = 0;
    v->memory = calloc(1, GZ_VIEW_BACK + BUFFER + GZ_VIEW_PAD);
    return v->memory != NULL;
}

void gz_view_close(struct gz_view *v)
{
    free(v->memory);
    v->memory = NULL;
}

/* Reads len bytes from `offset` on; the input must have that many.  Bytes that cannot be read
 * become zeros. */
static void read_bytes(struct gz_view *v, uint8_t *to, size_t len, uint64_t offset)
{
    ssize_t n = v->read_at(v->ctx, to, len, offset);

    if (n == (ssize_t)len)
        return;
    for (size_t at = n > 0 ? (size_t)n : 0; at < len;) {
        const size_t rest = UNIT - (size_t)((offset + at) % UNIT);
        const size_t some = rest < len - at ? rest : len - at;

        n = v->read_at(v->ctx, to + at, some, offset + at);
        if (n < (ssize_t)some)
            memset(to + at + (n > 0 ? n : 0), 0, some - (n > 0 ? (size_t)n : 0));
        at += some;
    }
}

/* Moves the buffer to begin at byte `base` of the input. */
static void move_to(struct gz_view *v, uint64_t base)
{
    uint8_t *const buffer = v->memory + GZ_VIEW_BACK;
    const uint64_t left = v->size - base;

    v->base = base;
    v->len = left < BUFFER ? (size_t)left : BUFFER;
    read_bytes(v, buffer, v->len, base);
    memset(v->memory, 0, GZ_VIEW_BACK);
    if (base > 0) {
        const size_t back = base < GZ_VIEW_BACK ? (size_t)base : GZ_VIEW_BACK;

        read_bytes(v, buffer - back, back, base - back);
    }
}

const uint8_t *gz_view_at(struct gz_view *v, uint64_t offset, size_t want, size_t *got)
{
    const uint64_t left = v->size - offset;

    *got = left < want ? (size_t)left : want;
    if (v->len == 0 || offset < v->base || offset + *got > v->base + v->len)
        move_to(v, offset);
    return v->memory + GZ_VIEW_BACK + (offset - v->base);
}
