/*
 * expansion.h - what the files of decompression by many threads share (api.h tells the story)
 *
 *   input       what is read
 *   starts      where a stretch may start
 *   stretches   the list of stretches, and memory for what comes of them
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
#include "pipeline/expand/input.h"
#include "pipeline/crew/state.h"
#include "pipeline/expand/api.h"

/* Room for what comes of a stretch; before it is the window, as symbols. */
#define ROOM_BEFORE (INF_WINDOW * sizeof(uint16_t))
#define ROOM_SIZE (EXPAND_ROOM - ROOM_BEFORE)

/* A worker's memory for input: a block has to fit in, if it is decoded to symbols. */
#define VIEW_SIZE ((size_t)512 << 10)
#define VIEW_PAD ((size_t)16)
#define SCAN_SIZE ((size_t)128 << 10)

/* A stretch of the input has what makes about so much output. */
#define STRETCH_OUT ((uint64_t)2 << 20)

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
    int rooms_lent;            /* more than that, while expansions have stalled */
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
    bool is_pushed;       /* then the consumer alone writes, */
    double stalled_at;    /* and since then it waits for room, or 0 */
    size_t fixed_stretch; /* for tests */

    struct stretch *first, *last;
    uint64_t next_from;
    unsigned vain;          /* stretches since the last that was of use, */
    uint64_t pause;         /* and then so much is left out */
    uint64_t last_mark;     /* the last that was found */
    bool has_marks;         /* one of these was good */
    uint64_t in, out;       /* bytes of accepted pieces */
    struct gz_place *place; /* the consumer's, while it is at pieces, else NULL */
    bool accepting;         /* somebody is (then `window` is that thread's), */
    bool writing;           /* or writes (then place->crc is) */
    bool failed;            /* writing did; */
    int error;              /* errno says why */
    struct piece *first_out, *last_out;
    unsigned busy; /* workers */
    bool closing;
    struct expand_tools *tools; /* the consumer's */
    uint8_t window[INF_WINDOW], next_window[INF_WINDOW];
    struct pipeline_expansion_stats stats;
};

/* --- starts.c --- */

/* Looks for a start in the stretch: a mark or member, else another unless `marks_only`.  Without the
 * lock. */
bool find_start(const struct expansion *e, struct expand_tools *t, struct stretch *k,
                bool marks_only);

/* --- stretches.c --- */

/* Frees what the pipeline keeps of that and nobody uses now. */
void expand_free_rooms(struct pipeline *p);

/* Whether there is room for one more stretch's output; take_room takes it, or returns NULL. */
bool has_free_room(const struct pipeline *p);
uint8_t *take_room(struct pipeline *p);

/* Finds room where there is none: gives up what was decoded for another expansion that has stalled;
 * or else there may be more rooms, for as long as that keeps its own.  False: no. */
bool take_back_room(const struct expansion *e);

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
