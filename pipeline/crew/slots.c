/*
 * slots.c - keeps claimed segments, and bounds the memory that they hold (slots.h)
 */
#include "config.h"

#include <stdlib.h>

#include "base/bgzf.h"
#include "pipeline/crew/slots.h"

void slots_init(struct pipeline *p, uint64_t held_max, uint64_t held_by_workers)
{
    p->slots = (struct slots){.held_max = held_max, .held_by_workers = held_by_workers};
    if (crew_maps_freely(p))
        return;
    /* Make as many slots as full segments fit in held_by_workers.  If segments are small and more
     * slots are needed, slot_new makes these later. */
    for (uint64_t n = held_by_workers / p->segment_size; n > 0; n--) {
        struct slot *s = malloc(sizeof(*s));

        if (s == NULL)
            return;
        s->next = p->slots.free;
        p->slots.free = s;
    }
}

void slots_shrink(struct pipeline *p)
{
    p->slots.held_max = p->slots.held_by_workers;
}

void slots_grow(struct pipeline *p, uint64_t bytes)
{
    p->slots.held_max += bytes;
}

void slots_free(struct pipeline *p)
{
    for (struct spare *s = p->slots.spare, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
    for (struct slot *s = p->slots.free, *next; s != NULL; s = next) {
        next = s->next;
        free(s);
    }
}

bool slots_have_room(const struct pipeline *p, uint64_t bytes, uint64_t reserve)
{
    return p->slots.held + bytes + reserve <= p->slots.held_max;
}

uint64_t slots_most(const struct pipeline *p)
{
    return p->slots.held_max;
}

uint64_t slots_beyond_workers(const struct pipeline *p)
{
    return p->slots.held_max - p->slots.held_by_workers;
}

void slot_weigh(struct slot *s, size_t weight)
{
    s->job->pipeline->slots.held += weight - s->weight;
    s->weight = weight;
}

struct slot *slot_new(struct job *j, size_t weight)
{
    struct slots *slots = &j->pipeline->slots;
    struct slot *s = slots->free;

    if (s != NULL)
        slots->free = s->next;
    else
        s = malloc(sizeof(*s));
    if (s == NULL)
        return NULL;
    *s = (struct slot){.job = j};
    slot_weigh(s, weight);
    if (j->slots == NULL)
        j->slots = s;
    else
        j->last_slot->next_in_job = s;
    j->last_slot = s;
    return s;
}

uint8_t *slots_take_output(struct pipeline *p)
{
    struct spare *spare = p->slots.spare;

    if (spare == NULL)
        return malloc(huff_bound(p->segment_size) + BGZF_AROUND);
    p->slots.spare = spare->next;
    return (uint8_t *)spare;
}

void slot_free(struct slot *s)
{
    struct slots *slots = &s->job->pipeline->slots;
    struct spare *spare = (struct spare *)s->out;

    slot_weigh(s, 0);
    if (spare != NULL) {
        spare->next = slots->spare;
        slots->spare = spare;
    }
    s->next = slots->free;
    slots->free = s;
}

struct slot *slot_take_first(struct job *j)
{
    struct slot *s = j->slots;

    j->slots = s->next_in_job;
    return s;
}

void slot_free_first(struct job *j)
{
    slot_free(slot_take_first(j));
}

void slots_drop_done(struct job *j)
{
    struct slot **link = &j->slots;

    if (j->writing)
        return;
    j->last_slot = NULL;
    while (*link != NULL) {
        struct slot *s = *link;

        if (s->done) {
            *link = s->next_in_job;
            slot_free(s);
        } else {
            j->last_slot = s;
            link = &s->next_in_job;
        }
    }
    wake_crew(j->pipeline);
}

void slot_done(struct slot *s)
{
    s->done = true;
    if (s->job->failed)
        slots_drop_done(s->job);
}
