/*
 * buffers.c - memory for the output of regions (buffers.h)
 */
#include "config.h"

#include <stdlib.h>

#include "base/pages.h"
#include "pipeline/expand/buffers.h"

/* The start of an idle buffer. */
struct buffer {
    struct buffer *next;
};

struct buffers {
    struct buffer *idle;
    int made; /* buffers idle or in use, without those that a region owns (owns_buffer) */
    int max;  /* the limit on `made` */
};

struct buffers *buffers_new(int max)
{
    struct buffers *b = calloc(1, sizeof(*b));

    if (b != NULL)
        b->max = max;
    return b;
}

void buffers_free(struct buffers *b)
{
    if (b == NULL)
        return;
    buffers_release(b->idle);
    free(b);
}

bool buffers_has(const struct expansion *e)
{
    const struct buffers *b = e->p->expansions->buffers;

    return b->idle != NULL || b->made < b->max;
}

void buffers_take(struct expansion *e, struct region *r)
{
    struct buffers *b = e->p->expansions->buffers;
    struct buffer *buffer = b->idle;

    if (buffer != NULL) {
        b->idle = buffer->next;
    } else if (b->made < b->max) {
        buffer = malloc(EXPAND_BUFFER);
        if (buffer == NULL)
            b->max = b->made; /* try no more allocations */
        else
            b->made++;
    }
    if (buffer == NULL)
        return;
    e->buffers++;
    r->task.buffer = (uint8_t *)buffer;
    r->task.size = BUFFER_SIZE;
}

void buffers_give(struct expansion *e, struct region *r)
{
    struct buffers *b = e->p->expansions->buffers;
    struct buffer *buffer = (struct buffer *)(void *)r->task.buffer;

    if (buffer == NULL)
        return;
    e->buffers--;
    r->task.buffer = NULL;
    if (r->owns_buffer) {
        free(buffer);
    } else {
        buffer->next = b->idle;
        b->idle = buffer;
    }
    r->owns_buffer = false;
}

void buffers_disown(struct expansion *e, struct region *r)
{
    if (r->task.buffer == NULL || r->owns_buffer)
        return;
    r->owns_buffer = true;
    e->p->expansions->buffers->made--;
}

uint64_t buffers_output(const struct pipeline *p)
{
    return (uint64_t)p->expansions->buffers->max * REGION_OUT;
}

struct buffer *buffers_take_idle(struct pipeline *p)
{
    struct buffers *b = p->expansions->buffers;
    struct buffer *list = b->idle;

    for (const struct buffer *i = list; i != NULL; i = i->next)
        b->made--;
    b->idle = NULL;
    return list;
}

void buffers_release(struct buffer *list)
{
    for (struct buffer *next; list != NULL; list = next) {
        next = list->next;
        /* free() may keep the memory for later calls of malloc, so give the pages back first. */
        pages_give_back(list, (const uint8_t *)list + EXPAND_BUFFER);
        free(list);
    }
}
