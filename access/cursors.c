/*
 * cursors.c - a few cursors that wait where reads have ended (cursors.h)
 */
#include "config.h"

#include <string.h>

#include "access/cursors.h"

void access_cursors_clear(struct access_cursors *s)
{
    for (int i = 0; i < ACCESS_CURSORS; i++)
        access_cursor_free(s->idle[i]);
    *s = (struct access_cursors){0};
}

void access_cursors_drop_hints(struct access_cursors *s)
{
    int kept = 0;

    for (int i = 0; i < ACCESS_CURSORS; i++) {
        struct access_cursor *c = s->idle[i];

        s->idle[i] = NULL;
        if (c != NULL && c->is_hint)
            access_cursor_free(c);
        else if (c != NULL)
            s->idle[kept++] = c;
    }
}

/* Returns the index of the cursor with the highest place from `from` to `to`, or ACCESS_CURSORS if
 * there is none. */
static int find(const struct access_cursors *s, uint64_t to, uint64_t from)
{
    int best = ACCESS_CURSORS;

    for (int i = 0; i < ACCESS_CURSORS; i++) {
        const uint64_t place = s->idle[i] != NULL ? access_cursor_place(s->idle[i]) : UINT64_MAX;

        if (s->idle[i] != NULL && place >= from && place <= to &&
            (best == ACCESS_CURSORS || place > access_cursor_place(s->idle[best])))
            best = i;
    }
    return best;
}

bool access_cursors_have(const struct access_cursors *s, uint64_t to, uint64_t from)
{
    return find(s, to, from) < ACCESS_CURSORS;
}

/* Takes cursor i out of s, and returns it.  Returns NULL if i is ACCESS_CURSORS. */
static struct access_cursor *take_out(struct access_cursors *s, int i)
{
    struct access_cursor *c;

    if (i == ACCESS_CURSORS)
        return NULL;
    c = s->idle[i];
    memmove(s->idle + i, s->idle + i + 1, (size_t)(ACCESS_CURSORS - 1 - i) * sizeof(c));
    s->idle[ACCESS_CURSORS - 1] = NULL;
    return c;
}

struct access_cursor *access_cursors_take(struct access_cursors *s, uint64_t to, uint64_t from)
{
    return take_out(s, find(s, to, from));
}

struct access_cursor *access_cursors_make(struct access_cursors *s,
                                          const struct access_source *source)
{
    struct access_cursor *c = NULL;

    if (s->idle[ACCESS_CURSORS - 1] == NULL)
        c = access_cursor_new(source);
    for (int i = ACCESS_CURSORS - 1; c == NULL && i >= 0; i--)
        c = take_out(s, i);
    return c;
}

void access_cursors_put(struct access_cursors *s, struct access_cursor *c)
{
    access_cursor_free(s->idle[ACCESS_CURSORS - 1]);
    memmove(s->idle + 1, s->idle, (ACCESS_CURSORS - 1) * sizeof(c));
    s->idle[0] = c;
}
