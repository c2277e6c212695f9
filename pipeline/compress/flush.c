/*
 * flush.c - compresses the pieces of a stream that is flushed, in the calling thread (flush.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/compress/flush.h"
#include "pipeline/compress/store.h"
#include "pipeline/compress/verify.h"

/* The most sets of tools that a pipeline keeps while no thread uses them.  With a larger number,
 * more streams find their tables unchanged at their next flush.  A stream that does not must fill
 * its tables again, which takes some 0.1 ms.  But with a larger number, the pipeline also keeps
 * more memory.  With 256 sets and 1000 flushed streams, it takes half as much memory as zlib. */
#define TOOLS_MOST 256

/* If memory is limited, all sets of tools together take at most 1 / MEMORY_SHARE of it. */
#define MEMORY_SHARE 8

/* The most bytes that one set of tools takes. */
#define TOOLS_SIZE ((uint64_t)1 << 20)

/* The most bytes that a stream holds: the chunk with the piece's start, the chunk before that one,
 * and a piece. */
#define HELD_MOST (2 * (size_t)LZ_CHUNK_SIZE + FLUSH_PIECE_MAX)

/* Bytes of memory that a stream's buffer `held` gets first.  Whenever the buffer is too small, its
 * size is doubled. */
#define HELD_FIRST ((size_t)4 << 10)

/* A set of tools: the tables and the memory with which a thread compresses a piece. */
struct flush_tools {
    const struct lz_level *level;
    struct lz_matcher *matcher; /* this and `encoder` are NULL at level 0 */
    struct huff_encoder *encoder;
    struct inf_whole *decoder;           /* NULL without config.verify */
    uint8_t *out;                        /* room for a compressed piece */
    struct flush *owner;                 /* the stream whose window is in the tables, or NULL */
    struct flush_tools *previous, *next; /* in the list of idle tools */
};

/* The list of the pipeline's idle sets of tools.  Sets without an owner come first.  Then come the
 * sets with an owner, in the order of their last use, the oldest first. */
struct flushes {
    struct flush_tools *first, *last;
    unsigned count; /* number of all sets, idle or not */
};

/* --- Tools ---------------------------------------------------------------------------------- */

static void free_tools(struct flush_tools *t)
{
    if (t == NULL)
        return;
    lz_matcher_free(t->matcher);
    huff_encoder_free(t->encoder);
    inf_whole_free(t->decoder);
    free(t->out);
    free(t);
}

static struct flush_tools *make_tools(const struct lz_level *level, bool verifies)
{
    struct flush_tools *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->level = level;
    t->out = malloc(huff_bound(FLUSH_PIECE_MAX));
    if (!lz_is_stored(level)) {
        t->matcher = lz_matcher_new(lz_level_for_more(level), HELD_MOST);
        t->encoder = huff_encoder_new();
    }
    if (verifies)
        t->decoder = inf_whole_new();
    if (t->out != NULL && (lz_is_stored(level) || (t->matcher != NULL && t->encoder != NULL)) &&
        (!verifies || t->decoder != NULL))
        return t;
    free_tools(t);
    return NULL;
}

bool flush_init(struct pipeline *p)
{
    p->flushes = calloc(1, sizeof(*p->flushes));
    return p->flushes != NULL;
}

void flush_exit(struct pipeline *p)
{
    if (p->flushes == NULL)
        return;
    for (struct flush_tools *t = p->flushes->first, *next; t != NULL; t = next) {
        next = t->next;
        free_tools(t);
    }
    free(p->flushes);
}

bool flush_is_possible(const struct pipeline *p, const struct lz_level *level)
{
    /* In BGZF, each segment is a member, and no member may refer to another.  So each piece must be
     * a segment. */
    if (p->config.container == CONTAINER_BGZF)
        return false;
    return lz_is_stored(level) || lz_level_for_more(level) != NULL;
}

/* Takes a set of tools off the list. */
static void take_off(struct flushes *all, struct flush_tools *t)
{
    if (t->previous != NULL)
        t->previous->next = t->next;
    else
        all->first = t->next;
    if (t->next != NULL)
        t->next->previous = t->previous;
    else
        all->last = t->previous;
}

static void put_first(struct flushes *all, struct flush_tools *t)
{
    t->previous = NULL;
    t->next = all->first;
    if (t->next != NULL)
        t->next->previous = t;
    else
        all->last = t;
    all->first = t;
}

static void put_last(struct flushes *all, struct flush_tools *t)
{
    t->next = NULL;
    t->previous = all->last;
    if (t->previous != NULL)
        t->previous->next = t;
    else
        all->first = t;
    all->last = t;
}

/* Takes the first set of tools off the list, and away from its owner if it has one.  Returns NULL
 * if the list is empty. */
static struct flush_tools *take_first(struct flushes *all)
{
    struct flush_tools *t = all->first;

    if (t == NULL)
        return NULL;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): tools are off the list before they are freed */
    take_off(all, t);
    if (t->owner != NULL)
        t->owner->tools = NULL;
    t->owner = NULL;
    return t;
}

/* Returns the most sets of tools that this pipeline keeps. */
static unsigned tools_most(const struct pipeline *p)
{
    const uint64_t share = p->config.memory / MEMORY_SHARE / TOOLS_SIZE;

    return p->config.memory == 0 || share > TOOLS_MOST ? TOOLS_MOST : (unsigned)share;
}

/* Returns a set of tools for this level that has no owner.  If an idle set without an owner exists,
 * takes that set.  If all idle sets have owners, takes the oldest set from its owner if the
 * pipeline keeps enough sets already; otherwise makes a set.  If the taken set is for another
 * level, frees it and makes a set.  If there is no memory to make a set, takes the first idle set
 * if it is for this level; otherwise returns NULL.  May release the lock meanwhile. */
static struct flush_tools *take_tools(struct pipeline *p, const struct lz_level *level)
{
    struct flushes *all = p->flushes;
    struct flush_tools *t = NULL;

    if (all->first != NULL && (all->first->owner == NULL || all->count >= tools_most(p)))
        t = take_first(all);
    else
        all->count++;
    if (t != NULL && t->level == level)
        return t;
    unlock(p);
    free_tools(t);
    t = make_tools(level, p->config.verify);
    lock(p);
    if (t != NULL)
        return t;
    all->count--;
    t = take_first(all);
    if (t == NULL || t->level == level)
        return t;
    put_first(all, t);
    return NULL;
}

bool flush_begin(struct flush *f, struct pipeline *p, const struct lz_level *level)
{
    if (f->tools != NULL) {
        take_off(p->flushes, f->tools);
        return true;
    }
    f->goes_on = false;
    f->tools = take_tools(p, level);
    if (f->tools != NULL)
        f->tools->owner = f;
    return f->tools != NULL;
}

void flush_end(struct flush *f, struct pipeline *p)
{
    put_last(p->flushes, f->tools);
}

/* --- Pieces --------------------------------------------------------------------------------- */

/* Appends a piece to f->held, after cutting off whole chunks to which no match can refer.  Returns
 * false if memory is short. */
static bool hold(struct flush *f, const uint8_t *bytes, size_t len)
{
    size_t room = f->room > 0 ? f->room : HELD_FIRST;

    if (f->filled >= 2 * LZ_CHUNK_SIZE) {
        const size_t cut = (f->filled / LZ_CHUNK_SIZE - 1) * LZ_CHUNK_SIZE;

        memmove(f->held, f->held + cut, f->filled - cut);
        f->filled -= cut;
    }
    while (room < f->filled + len)
        room *= 2;
    if (room > f->room) {
        uint8_t *held = realloc(f->held, room + LZ_INPUT_PAD);

        if (held == NULL)
            return false;
        f->held = held;
        f->room = room;
    }
    memcpy(f->held + f->filled, bytes, len);
    f->filled += len;
    memset(f->held + f->filled, 0, LZ_INPUT_PAD);
    return true;
}

/* Finds the matches of the piece held[begin..filled). */
static const struct lz_chunk *match(struct flush *f, size_t begin, enum huff_end end)
{
    const bool goes_on = f->goes_on && begin > 0;

    /* A piece that is a whole segment needs no tables of earlier pieces, and leaves none for later
     * pieces.  So lz_match_segment, which is faster, can match it. */
    if (begin == 0 && end == HUFF_MARK) {
        f->goes_on = false;
        return lz_match_segment(f->tools->matcher, f->held, f->filled);
    }
    f->goes_on = true;
    return lz_match_more(f->tools->matcher, f->held, f->filled, begin, goes_on);
}

/* Verifies a piece, if the pipeline does that: decodes it after f->held[0..begin).  The decoded
 * bytes take the place of the piece in f->held, which are the same bytes if the output is right. */
static enum pipeline_status verify(struct flush *f, size_t begin, const uint8_t *bytes,
                                   struct slot *s, enum huff_end end)
{
    const enum container container = s->job->pipeline->config.container;

    verify_spoil(&s->job->pipeline->config, s);
    if (!s->job->pipeline->config.verify)
        return PIPELINE_OK;
    /* At level 0, pieces do not refer to each other, so f->held has no bytes of earlier pieces. */
    if (lz_is_stored(f->tools->level)) {
        f->filled = 0;
        if (!hold(f, bytes, s->len))
            return PIPELINE_NO_MEMORY;
    }
    verify_note(s, container, bytes);
    return verify_segment(f->tools->decoder, s, container, end == HUFF_LAST, f->held, begin)
               ? PIPELINE_OK
               : PIPELINE_NOT_VERIFIED;
}

enum pipeline_status flush_encode(struct flush *f, const uint8_t *bytes, struct slot *s,
                                  enum huff_end end, enum gz_check check)
{
    const struct lz_level *level = f->tools->level;
    enum pipeline_status status;
    size_t begin = 0;

    s->out = f->tools->out;
    if (lz_is_stored(level)) {
        s->out_len = store_segment(bytes, s->len, end, check, s->out, &s->check);
    } else {
        if (!hold(f, bytes, s->len))
            return PIPELINE_NO_MEMORY;
        begin = f->filled - s->len;
        if (!huff_encode_after(f->tools->encoder, f->held, f->filled, begin, match(f, begin, end),
                               lz_level_for_more(level)->split, end, s->out, &s->out_len))
            return PIPELINE_WRONG;
        s->check = gz_check_more(check, gz_check_start(check), bytes, s->len);
    }
    status = verify(f, begin, bytes, s, end);
    if (status != PIPELINE_OK)
        return status;
    f->since_mark += s->len;
    if (end == HUFF_MARK)
        flush_forget(f);
    return PIPELINE_OK;
}

void flush_forget(struct flush *f)
{
    f->filled = 0;
    f->since_mark = 0;
}

void flush_close(struct flush *f, struct pipeline *p)
{
    lock(p);
    if (f->tools != NULL) {
        take_off(p->flushes, f->tools);
        f->tools->owner = NULL;
        put_first(p->flushes, f->tools);
    }
    unlock(p);
    free(f->held);
}
