/*
 * ahead.c - keeps segments that wait in memory (ahead.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/hugepages.h"
#include "pipeline/compress/ahead.h"

/* A pushed segment begins with memory for 4 KiB.  When this memory is full, the segment gets 4
 * times as much, and its bytes are copied.  For a segment of 2 MiB, these copies together move at
 * most two thirds of its bytes; with a growth of 2, they would move nearly all. */
#define ROOM_FIRST ((size_t)4 << 10)
#define ROOM_GROWTH 4

/* ahead_empty keeps a segment's memory if it is at most this many bytes.  With a larger number,
 * larger pieces of a stream need no new memory, but each of many idle streams keeps more. */
#define EMPTY_ROOM ((size_t)16 << 10)

/* The pipeline keeps memory for 8 MiB of whole segments, or for 2 segments if these are more.
 * Getting 2 MiB from the system takes 0.1 ms, some 2 % of the time that level 1 takes to compress
 * as many bytes.  Keeping more helps only a caller that pushes more than KEPT_MAX at a time, and
 * then waits. */
#define KEPT_MAX ((size_t)8 << 20)
#define KEPT_LEAST 2

/* Memory of whole segments, kept for the next pushed segments. */
struct spare_segments {
    struct ahead *first;
    unsigned count;
};

static void free_one(struct ahead *a)
{
    if (a == NULL)
        return;
    free(a->bytes);
    free(a);
}

static void free_all(struct ahead *first)
{
    for (struct ahead *a = first, *next; a != NULL; a = next) {
        next = a->next;
        free_one(a);
    }
}

void ahead_init(struct ahead_list *l, struct pipeline *p, uint64_t most, bool may_read)
{
    l->pipeline = p;
    l->most = most;
    if (may_read)
        l->places = calloc(most, sizeof(*l->places));
}

void ahead_free(struct ahead_list *l)
{
    if (l->places == NULL)
        free_all(l->first);
    free_one(l->filling);
    free(l->places);
    free(l->block);
}

bool ahead_init_spare(struct pipeline *p)
{
    p->spare_segments = calloc(1, sizeof(*p->spare_segments));
    return p->spare_segments != NULL;
}

void ahead_free_spare(struct pipeline *p)
{
    if (p->spare_segments != NULL)
        free_all(p->spare_segments->first);
    free(p->spare_segments);
}

uint64_t ahead_count(const struct ahead_list *l)
{
    return l->count;
}

uint64_t ahead_most(const struct ahead_list *l)
{
    return l->most;
}

/* --- The list ------------------------------------------------------------------------------- */

static void append(struct ahead_list *l, struct ahead *a)
{
    a->next = NULL;
    a->previous = l->last;
    if (a->previous != NULL)
        a->previous->next = a;
    else
        l->first = a;
    l->last = a;
    if (l->unclaimed == NULL)
        l->unclaimed = a;
}

static void take_off(struct ahead_list *l, struct ahead *a)
{
    if (a->previous != NULL)
        a->previous->next = a->next;
    else
        l->first = a->next;
    if (a->next != NULL)
        a->next->previous = a->previous;
    else
        l->last = a->previous;
    l->count--;
}

struct ahead *ahead_claim(struct ahead_list *l)
{
    struct ahead *a = l->unclaimed;

    l->unclaimed = a->next;
    return a;
}

/* --- Pushed segments ------------------------------------------------------------------------ */

/* Makes a segment with memory for `room` bytes.  Returns NULL if memory is short. */
static struct ahead *make(size_t room)
{
    struct ahead *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return NULL;
    a->room = room;
    a->bytes = room % HUGE_PAGE == 0 ? hugepages_alloc(room) : malloc(room);
    if (a->bytes != NULL)
        return a;
    free(a);
    return NULL;
}

/* Returns how many bytes of memory to give a segment that needs `want` bytes now.  If other
 * segments wait already, the caller is faster than the workers and will soon fill this segment,
 * too.  So give the segment all its memory at once. */
static size_t room_for(const struct ahead_list *l, size_t want)
{
    const size_t size = l->pipeline->segment_size;
    size_t room = ROOM_FIRST;

    if (want > size / 2 || l->count > 0)
        return size;
    while (room < want)
        room *= ROOM_GROWTH;
    return room < size ? room : size;
}

/* Takes memory for a whole segment from the memory that the pipeline keeps.  Returns NULL if the
 * pipeline keeps none. */
static struct ahead *take_spare(struct pipeline *p)
{
    struct ahead *a = p->spare_segments->first;

    if (a == NULL)
        return NULL;
    p->spare_segments->first = a->next;
    p->spare_segments->count--;
    a->len = 0;
    return a;
}

bool ahead_make_room(struct ahead_list *l, size_t want)
{
    struct pipeline *p = l->pipeline;
    struct ahead *old = l->filling, *a = NULL;
    size_t room;

    if (old != NULL && old->room >= want)
        return true;
    room = room_for(l, want);
    if (room == p->segment_size)
        a = take_spare(p);
    unlock(p);
    if (a == NULL)
        a = make(room);
    if (a != NULL && old != NULL) {
        memcpy(a->bytes, old->bytes, old->len);
        a->len = old->len;
    }
    if (a != NULL)
        free_one(old);
    lock(p);
    if (a == NULL)
        return false;
    l->filling = a;
    return true;
}

size_t ahead_filled(const struct ahead_list *l)
{
    const struct ahead *a = l->filling;

    return a != NULL ? a->len : 0;
}

const uint8_t *ahead_begin(const struct ahead_list *l)
{
    return l->filling->bytes;
}

uint8_t *ahead_end(const struct ahead_list *l)
{
    const struct ahead *a = l->filling;

    return a->bytes + a->len;
}

void ahead_fill(struct ahead_list *l, size_t len)
{
    l->filling->len += len;
}

void ahead_empty(struct ahead_list *l)
{
    struct ahead *a = l->filling;

    if (a == NULL)
        return;
    a->len = 0;
    if (a->room <= EMPTY_ROOM)
        return;
    free_one(a);
    l->filling = NULL;
}

void ahead_publish(struct ahead_list *l, size_t before, size_t len, bool last)
{
    struct ahead *a = l->filling;

    l->filling = NULL;
    a->before = before;
    a->len = len;
    a->last = last;
    append(l, a);
    l->count++;
}

/* Whether to keep this segment's memory for a later pushed segment. */
static bool is_kept(const struct pipeline *p, const struct ahead *a)
{
    const unsigned count = p->spare_segments->count;

    return a->room == p->segment_size &&
           (count < KEPT_LEAST || (count + 1) * p->segment_size <= KEPT_MAX);
}

/* --- Segments read ahead -------------------------------------------------------------------- */

bool ahead_reads(const struct ahead_list *l)
{
    return l->places != NULL;
}

bool ahead_may_read(const struct ahead_list *l, uint64_t index)
{
    return l->places != NULL && !l->lacks_memory && !l->places[index % l->most].is_used;
}

struct ahead *ahead_take_place(struct ahead_list *l, uint64_t index)
{
    const uint64_t place = index % l->most;
    const size_t size = l->pipeline->segment_size;
    struct ahead *a = &l->places[place];

    if (l->block == NULL)
        l->block = hugepages_alloc_many(l->most, size);
    l->lacks_memory = l->block == NULL;
    if (l->lacks_memory)
        return NULL;
    *a = (struct ahead){.is_used = true, .room = size, .bytes = l->block + place * size};
    l->count++;
    return a;
}

void ahead_was_read(struct ahead_list *l, struct ahead *a)
{
    append(l, a);
}

uint8_t *ahead_take_block(struct ahead_list *l)
{
    uint8_t *block = l->block;

    if (l->count > 0)
        return NULL;
    l->block = NULL;
    return block;
}

/* --- Both kinds of segments ----------------------------------------------------------------- */

void ahead_leave(struct ahead_list *l, struct ahead *a)
{
    struct pipeline *p = l->pipeline;

    take_off(l, a);
    if (a->is_used) {
        a->is_used = false;
        return;
    }
    if (is_kept(p, a)) {
        a->next = p->spare_segments->first;
        p->spare_segments->first = a;
        p->spare_segments->count++;
        return;
    }
    unlock(p);
    free_one(a);
    lock(p);
}
