/*
 * expansion.h - what the files of decompression by many threads share (api.h tells the story)
 *
 *   input       what is read
 *   find_start  where a stretch may start
 *   regions     the list of stretches, and memory for what comes of them
 *   give_up     while the caller is away for long
 *   decode      decoding one
 *   expand      what workers do, what the consumer does, and what others call
 *
 * All is under the pipeline's lock, except for a stretch that is being sought or decoded: that is
 * its worker's, but for `useless`; and a piece, which is the thread's that accepts, resolves or
 * writes it.  Functions are called with the lock held, unless they say otherwise.
 */
#ifndef GZLZSS_EXPANSION_H
#define GZLZSS_EXPANSION_H

#include "inflate/find.h"
#include "inflate/raw.h"
#include "inflate/symbols.h"
#include "pipeline/crew/state.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/input.h"

/* Room for what comes of a stretch; before it is the window, as symbols. */
#define ROOM_BEFORE (INF_WINDOW * sizeof(uint16_t))
#define ROOM_SIZE (EXPAND_ROOM - ROOM_BEFORE)

/* The most output of one stretch of a pushed input.  A piece of it may stay in memory while the caller is
 * away.  Less would cut segments of 4 MiB in two. */
#define PUSHED_OUT (((size_t)4 << 20) + ((size_t)64 << 10))

/* A worker's memory for input: a block has to fit in, if it is decoded to symbols. */
#define VIEW_SIZE ((size_t)512 << 10)
#define VIEW_PAD ((size_t)16)
#define SCAN_SIZE ((size_t)128 << 10)

/* A stretch of the input has what makes about so much output. */
#define STRETCH_OUT ((uint64_t)2 << 20)

/* Output of fewer bytes is decoded again rather than taken over. */
#define PIECE_MIN ((size_t)16 << 10)

/* A run of blocks that was decoded. */
struct piece {
    struct stretch *stretch;
    uint64_t start, end; /* bits of the input */
    bool ended;          /* with the final block of its stream */
    size_t symbols;      /* first so many symbols, from the room's start on, */
    uint8_t *bytes;      /* then bytes */
    size_t len;
    uint32_t crc;         /* of these */
    uint32_t symbols_crc; /* of the symbols, once they are bytes */
    enum { PIECE_READY, PIECE_UNRESOLVED, PIECE_RESOLVING } state;
    bool in_line;           /* accepted, and not written yet */
    struct piece *next_out; /* in the line of those to be written */
};

struct stretch {
    struct stretch *next;
    uint64_t from, to; /* bytes of the input */
    enum { NOT_SOUGHT, SEEKING, FOUND, NOT_FOUND } sought;
    enum { AT_MARK, AT_MEMBER, ANYWHERE } kind;
    uint64_t start; /* the bit, if found */
    enum { WAITING, DECODING, DECODED } state;
    _Atomic bool useless; /* the consumer is past it */
    bool is_rest;         /* of one that made more output than a stretch should */
    bool is_full;      /* decoding ended before `to`: it made enough, or there was no more room */
    bool ends_at_mark; /* is_full, and it ended at a mark */
    uint8_t *room;
    bool room_is_own; /* it is kept while the caller is away, and does not count in rooms_made */
    struct piece **pieces;
    size_t count, size;
    size_t passed;  /* the consumer is past so many of them */
    size_t waiting; /* pieces in line to be written */
};

/* Input that a worker looks at. */
struct view {
    uint8_t *in;     /* VIEW_SIZE bytes, with INF_BACK before and VIEW_PAD behind */
    uint64_t offset; /* of in[0] in the input */
    size_t len;
    bool ends; /* no more came: the input ends, or a pipe gave nothing for now */
};

struct expand_tools {
    struct inf_raw *raw;
    struct inf_symbols *symbols;
    struct view view;
    uint8_t *scan; /* SCAN_SIZE and VIEW_PAD */
};

/* What all decompressions of a pipeline share. */
struct expanding {
    struct expansion *expansions; /* files at it */
    struct room *rooms;           /* memory for output that is free */
    int rooms_made, rooms_max;
    uint64_t lead_lent;        /* the sum of the expansions' lead_lent */
    struct inf_finder *finder; /* NULL before the first of them has begun */
};

struct expansion {
    struct pipeline *p;
    struct expansion *next;
    struct gz_ahead ahead;
    struct input *input;
    uint64_t cursor;           /* the consumer's next read, */
    uint64_t passed;           /* and what it has decoded, when it last asked */
    bool may_begin, has_begun; /* workers may take part, and do */
    int (*write)(void *ctx, const void *buf, size_t len);
    void *write_ctx;
    size_t fixed_stretch; /* for tests */

    /* For a pushed input.  Only the consumer writes, since `write` may wait: */
    bool is_pushed;
    uint64_t pushed;    /* bytes pushed so far */
    uint64_t lead;      /* how far they may be ahead of what is written (find_lead) */
    uint64_t lead_lent; /* this expansion's part of the lead that all share */
    bool is_stalled;    /* the consumer waits for room in its output */
    bool has_given_up; /* it has waited long, for room or for input: nothing is decoded ahead now */
    bool is_slow;      /* its caller was away: has_free_room goes by `taken` */
    uint64_t taken;    /* bytes of output since then */
    int rooms;         /* rooms that its stretches have */

    struct stretch *first, *last;
    uint64_t next_from;
    unsigned vain;      /* stretches since the last that was of use, */
    uint64_t pause;     /* and then so much is left out */
    uint64_t last_mark; /* the last that was found */
    bool has_marks;     /* one of these was good */
    uint64_t in, out;   /* bytes of accepted pieces */
    /* Bytes of input in which workers have looked for a block's header in vain, and in which they may. */
    _Atomic uint64_t searched, search_max;
    struct gz_place *place; /* the consumer's, while it is at pieces, else NULL */
    bool accepting;         /* somebody is (then `window` is that thread's), */
    bool writing;           /* or writes (then place->crc is) */
    bool failed;            /* writing did; */
    int error;              /* errno says why */
    struct piece *first_out, *last_out;
    struct piece *written; /* the piece that is being written; it is no longer in this list */
    uint64_t read_to;      /* `cursor` when the consumer came to pieces */
    unsigned busy;         /* workers */
    bool closing;
    struct expand_tools *tools; /* the consumer's */
    uint8_t window[INF_WINDOW], next_window[INF_WINDOW];
    struct pipeline_expansion_stats stats;
};

/* --- find_start.c --- */

/* Looks for a start in the stretch: a mark or member, else another unless `marks_only`.  Without the
 * lock. */
bool find_start(struct expansion *e, struct expand_tools *t, struct stretch *k, bool marks_only);

/* --- regions.c --- */

/* Frees what the pipeline keeps of that and nobody uses now. */
void expand_free_rooms(struct pipeline *p);

/* Whether there is room for one more stretch's output; take_room takes it, or returns NULL. */
bool has_free_room(const struct expansion *e);
uint8_t *take_room(struct expansion *e);

/* Frees what was decoded of a stretch that is in no line; it can be decoded again. */
void decode_later(struct expansion *e, struct stretch *k);

/* The same for all stretches of it.  Rooms that must stay no longer count in rooms_made. */
void give_up_rooms(struct expansion *e);

/* Takes all rooms that are free; free_rooms frees them, without the lock. */
struct room *take_free_rooms(struct pipeline *p);
void free_rooms(struct room *rooms);

/* The byte of the input up to which all is written, or nearly: where the piece that is being written
 * starts. */
uint64_t written_to(const struct expansion *e);

/* How far an input may be pushed ahead of that byte.  Each may have PUSH_LEAD.  All inputs share
 * PUSH_LEAD_MORE, and PUSH_LEAD_THREAD for each thread, as they share the threads: what is pushed cannot
 * be given back, so that streams whose callers are away must not have much. */
#define PUSH_LEAD ((uint64_t)5 << 19)
#define PUSH_LEAD_MORE ((uint64_t)3 << 19)
#define PUSH_LEAD_THREAD ((uint64_t)1 << 20)

/* Sets lead_lent, after `pushed` or written_to has changed. */
void count_lead(struct expansion *e);

/* Adds the next stretch; NULL if there is none now, or memory is short. */
struct stretch *add_stretch(struct expansion *e);

/* Looks for the stretch's start; the lock is given up meanwhile. */
void seek_start(struct expansion *e, struct expand_tools *t, struct stretch *k);

/* Frees a stretch that nobody works on and that is in no list. */
void free_stretch(struct expansion *e, struct stretch *k);

/* Takes off the list what the consumer, which is at that bit, cannot use any more. */
void drop_past(struct expansion *e, uint64_t bit);

/* Makes a stretch of what stretch k, which is full, leaves; the lock is given up meanwhile, and *k may
 * be gone afterwards. */
void add_rest(struct expansion *e, struct expand_tools *t, struct stretch *k);

/* --- decode.c --- */

/* NULL if memory is short. */
struct expand_tools *new_tools(void);

/* Decodes a stretch whose start was found, into its room; without the lock. */
void decode_stretch(struct expansion *e, struct expand_tools *t, struct stretch *k);

#endif
