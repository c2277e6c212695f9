/*
 * points.c - places in a .gz from which decoding may begin (points.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "access/points.h"

static uint64_t memory_of(const struct access_points *points)
{
    return points->bytes + points->count * sizeof(struct access_point);
}

/* Frees the point's window, and subtracts its size from points->bytes. */
static void drop(struct access_points *points, struct access_point *p)
{
    if (p->bytes == NULL)
        return;
    points->bytes -= p->stored;
    free(p->bytes);
}

/* Drops every second point.  Keeps the first. */
static void halve(struct access_points *points)
{
    size_t kept = 0;

    for (size_t i = 0; i < points->count; i++) {
        if (i % 2 == 0)
            points->list[kept++] = points->list[i];
        else
            drop(points, &points->list[i]);
    }
    points->count = kept;
    points->halvings++;
}

static bool make_room(struct access_points *points)
{
    const size_t room = points->room > 0 ? 2 * points->room : 64;
    struct access_point *list;

    if (points->count < points->room)
        return true;
    list = realloc(points->list, room * sizeof(*list));
    if (list == NULL)
        return false;
    points->list = list;
    points->room = room;
    return true;
}

bool access_points_add(struct access_points *points, const struct access_point *p)
{
    size_t i = points->count;

    if (!make_room(points)) {
        free(p->bytes);
        return false;
    }
    while (i > 0 && (points->list[i - 1].out > p->out ||
                     (points->list[i - 1].out == p->out && points->list[i - 1].bit > p->bit)))
        i--;
    memmove(points->list + i + 1, points->list + i, (points->count - i) * sizeof(*p));
    points->list[i] = *p;
    points->count++;
    if (p->bytes != NULL)
        points->bytes += p->stored;
    if (points->most > 0 && points->count > 1 && memory_of(points) > points->most)
        halve(points);
    return true;
}

size_t access_points_until(const struct access_points *points, uint64_t out)
{
    size_t from = 0, to = points->count;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (points->list[middle].out <= out)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void access_points_drop_hints(struct access_points *points)
{
    size_t kept = 0;

    for (size_t i = 0; i < points->count; i++) {
        if (points->list[i].is_hint)
            drop(points, &points->list[i]);
        else
            points->list[kept++] = points->list[i];
    }
    points->count = kept;
}

void access_points_clear(struct access_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        drop(points, &points->list[i]);
    free(points->list);
    points->list = NULL;
    points->count = points->room = 0;
    points->halvings = 0;
}
