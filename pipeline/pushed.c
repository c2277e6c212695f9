/*
 * pushed.c - memory for segments that the caller pushes (pushed.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/hugepages.h"
#include "pipeline/pushed.h"

/* A segment begins with room for ROOM_FIRST bytes, and gets ROOM_GROWTH times as much when it is full.
 * Each time, its bytes are copied: with a growth of 4, less than a segment in all. */
#define ROOM_FIRST ((size_t)4 << 10)
#define ROOM_GROWTH 4

/* The pipeline keeps memory for so many bytes of whole segments, or for KEPT_LEAST segments if these
 * are more.  Getting 2 MiB from the system takes 0.1 ms, some 2 % of what level 1 takes to compress
 * them.  Keeping more helps only a caller that pushes more than this at a time, and then waits. */
#define PUSHED_KEPT ((size_t)8 << 20)
#define KEPT_LEAST 2

static void free_one(struct pushed *s)
{
    if (s == NULL)
        return;
    free(s->bytes);
    free(s);
}

/* NULL if memory is short. */
static struct pushed *make(size_t room)
{
    struct pushed *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->room = room;
    s->bytes = room % HUGE_PAGE == 0 ? hugepages_alloc(room) : malloc(room);
    if (s->bytes != NULL)
        return s;
    free(s);
    return NULL;
}

/* How much room to give a segment that needs `want` bytes now.  If others wait already, the caller is
 * ahead of the workers, and will soon fill it. */
static size_t room_for(const struct job *j, size_t want)
{
    const size_t size = j->pipeline->segment_size;
    size_t room = ROOM_FIRST;

    if (want > size / 2 || j->ahead_count > 0)
        return size;
    while (room < want)
        room *= ROOM_GROWTH;
    return room < size ? room : size;
}

bool pushed_make_room(struct job *j, size_t want)
{
    struct pipeline *p = j->pipeline;
    struct pushed *old = j->filling, *s = NULL;
    size_t room;

    if (old != NULL && old->room >= want)
        return true;
    room = room_for(j, want);
    if (room == p->segment_size && p->spare_pushed != NULL) {
        s = p->spare_pushed;
        p->spare_pushed = s->next;
        p->spare_pushed_count--;
        s->len = 0;
    }
    unlock(p);
    if (s == NULL)
        s = make(room);
    if (s != NULL && old != NULL) {
        memcpy(s->bytes, old->bytes, old->len);
        s->len = old->len;
    }
    if (s != NULL)
        free_one(old);
    lock(p);
    if (s == NULL)
        return false;
    j->filling = s;
    return true;
}

void pushed_publish(struct job *j, size_t before, size_t len, bool last)
{
    struct pushed *s = j->filling;

    j->filling = NULL;
    s->before = before;
    s->len = len;
    s->last = last;
    s->next = NULL;
    s->previous = j->last_pushed;
    if (s->previous != NULL)
        s->previous->next = s;
    else
        j->first_pushed = s;
    j->last_pushed = s;
    if (j->next_pushed == NULL)
        j->next_pushed = s;
    j->ahead_count++;
}

struct pushed *pushed_claim(struct job *j)
{
    struct pushed *s = j->next_pushed;

    j->next_pushed = s->next;
    return s;
}

/* Whether the pipeline is to keep one more. */
static bool is_kept(const struct pipeline *p, const struct pushed *s)
{
    return s->room == p->segment_size &&
           (p->spare_pushed_count < KEPT_LEAST ||
            (p->spare_pushed_count + 1) * p->segment_size <= PUSHED_KEPT);
}

void pushed_leave(struct job *j, struct pushed *s)
{
    struct pipeline *p = j->pipeline;

    if (s->previous != NULL)
        s->previous->next = s->next;
    else
        j->first_pushed = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    else
        j->last_pushed = s->previous;
    j->ahead_count--;
    if (is_kept(p, s)) {
        s->next = p->spare_pushed;
        p->spare_pushed = s;
        p->spare_pushed_count++;
        return;
    }
    unlock(p);
    free_one(s);
    lock(p);
}

void pushed_free(struct job *j)
{
    for (struct pushed *s = j->first_pushed, *next; s != NULL; s = next) {
        next = s->next;
        free_one(s);
    }
    free_one(j->filling);
}

void pushed_free_spare(struct pipeline *p)
{
    for (struct pushed *s = p->spare_pushed, *next; s != NULL; s = next) {
        next = s->next;
        free_one(s);
    }
}
