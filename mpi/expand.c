/*
 * expand.c - one .gz with marks, decompressed by some ranks
 *
 * The file is cut into waves, a wave into a region for each thread of each rank, and every thread
 * decodes the interval (interval.h) that begins in its region.  Where intervals begin is a guess until it is
 * known that the one before ends exactly there.  In every wave:
 *
 *     the threads      decode their intervals, and keep the output up to a limit
 *     the main thread  meets the other ranks; learns by MPI_Exscan what the intervals of the ranks
 *                      before come to: where they end, how much output there is, and the CRC-32 and
 *                      length of the member that this rank begins in; compares these with where its
 *                      own begin and with the trailers; lets the threads begin with the next wave, and
 *                      writes
 *
 * Of an interval that made more than may be kept, the rest is decoded once more while it is written.
 *
 * Whatever is not as it should be (a start that was a wrong guess, a wrong CRC, anything after the
 * last member) ends all of it: one rank then does the whole file with the command's own code, which
 * has the right words.  So a hint in the file can cost time, and never a byte.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "compat/crc.h"
#include "mpi/expand.h"
#include "mpi/interval.h"
#include "src/testing.h"

/* There are two sets of intervals: one is decoded while the other is written. */
#define SETS 2

/* All threads of a rank keep as much output as so many waves of compression take, but no more than
 * this: about what compression takes. */
#define KEPT_WAVES 8
#define KEPT_MAX ((uint64_t)192 << 20)

/* A thread keeps so much output of an interval, at least: a segment's, and half of the next one's.  With
 * less, more is decoded twice. */
#define KEEP_MIN ((size_t)8 << 20)

/* Bytes of input in a region, where the ratio is not known yet, and bounds.  A segment of gzlzss has
 * 0.3 to 1 MB; with regions shorter than that, some threads have nothing to do. */
#define REGION_FIRST ((uint64_t)2 << 20)
#define REGION_MIN ((uint64_t)1 << 20)
#define REGION_MAX ((uint64_t)32 << 20)

/* Marks are looked for in so much of the file. */
#define LOOK_MAX ((uint64_t)40 << 20)

/* What a thread has. */
struct lane {
    struct wave_expansion *e;
    struct interval_tools *tools;
    struct interval interval;
    enum interval_result result;
    pthread_t thread;
    bool is_running;
    uint8_t *kept; /* the first output of the interval: kept[0..len) */
    size_t len;
};

/* What some intervals in a row come to.  Of the identity all is 0. */
struct chain {
    uint64_t out;  /* bytes of output */
    uint64_t end;  /* where the last of them ends; 0: there is none */
    uint64_t ends; /* members that end there */
    /* If a member ends: bytes of data up to that; of the last one that ends, if it is another. */
    uint64_t head_len, last_len;
    /* What comes after, or all if no member ends. */
    uint64_t tail_len;
    uint64_t tail_crc;
};

struct wave_expansion {
    struct together *e;
    struct lane *lanes[SETS]; /* a lane for each thread of this rank */
    uint64_t first_lane; /* the number of the first of them, and how many all ranks have: ranks */
    uint64_t all_lanes;  /* may differ in their threads */
    size_t keep;         /* bytes that a lane keeps, the same on all ranks */
    uint64_t next;       /* where the next wave begins */
    uint64_t first;      /* where the first block begins */
    uint64_t region;     /* bytes of a region of the next wave */
    uint64_t test_region;
    MPI_Datatype type; /* struct chain, */
    MPI_Op op;         /* and join */
};

/* --- Chains --------------------------------------------------------------------------------- */

/* *b becomes what a and then b come to. */
static void join(const struct chain *a, struct chain *b)
{
    struct chain c = {.out = a->out + b->out, .end = b->end != 0 ? b->end : a->end};

    c.ends = a->ends + b->ends;
    if (b->ends == 0) {
        c.tail_len = a->tail_len + b->tail_len;
        c.tail_crc = gz_crc32_combine((uint32_t)a->tail_crc, (uint32_t)b->tail_crc, b->tail_len);
        c.head_len = a->head_len;
        c.last_len = a->last_len;
    } else {
        const uint64_t first = a->tail_len + b->head_len;

        c.tail_len = b->tail_len;
        c.tail_crc = b->tail_crc;
        c.head_len = a->ends > 0 ? a->head_len : first;
        c.last_len = b->ends > 1 ? b->last_len : first;
    }
    *b = c;
}

/* The same for MPI: b[0..*count). */
static void join_all(void *a, void *b, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        join((const struct chain *)a + i, (struct chain *)b + i);
}

static struct chain chain_of(const struct interval *p)
{
    struct chain c = {.out = p->out, .end = p->end, .ends = p->ends};

    c.head_len = p->head_len;
    c.last_len = p->ends > 1 ? p->last_len : p->head_len;
    c.tail_len = p->ends > 0 ? p->tail_len : p->head_len;
    c.tail_crc = p->ends > 0 ? p->tail_crc : p->head_crc;
    return c;
}

/* Whether the interval goes on where those before it end, and the member that ends in it is right. */
static bool follows(const struct interval *p, const struct chain *before)
{
    const uint64_t len = before->tail_len + p->head_len;

    if (p->start != before->end)
        return false;
    return p->ends == 0 || (p->stored_len == (uint32_t)len &&
                            p->stored_crc == gz_crc32_combine((uint32_t)before->tail_crc,
                                                              p->head_crc, p->head_len));
}

/* --- The threads ---------------------------------------------------------------------------- */

/* Keeps output, as far as there is room. */
static bool keep(void *ctx, const uint8_t *bytes, size_t len)
{
    struct lane *l = ctx;
    const size_t room = l->e->keep - l->len, n = len < room ? len : room;

    memcpy(l->kept + l->len, bytes, n);
    l->len += n;
    return true;
}

static void *lane_main(void *argument)
{
    struct lane *l = argument;

    l->result = interval_decode(l->tools, &l->interval);
    return NULL;
}

/* Lets the threads begin with the next wave; one that cannot be started does its work now. */
static void start_wave(struct wave_expansion *x, struct lane *lanes)
{
    const struct together *e = x->e;
    for (int i = 0; i < e->t->threads; i++) {
        const uint64_t from = x->next + (x->first_lane + (uint64_t)i) * x->region;
        struct lane *l = &lanes[i];

        l->interval = (struct interval){
            .fd = e->f->in_fd,
            .size = e->size,
            .from = from < e->size ? from : e->size,
            .to = from + x->region < e->size ? from + x->region : e->size,
            .begins_at_from = from == x->first,
            .take = e->out.is_open ? keep : NULL,
            .ctx = l,
        };
        l->len = 0;
        l->is_running = thread_start(&l->thread, lane_main, l);
        if (!l->is_running)
            lane_main(l);
    }
    x->next += x->all_lanes * x->region;
}

static void wait_for(struct wave_expansion *x, struct lane *lanes)
{
    for (int i = 0; i < x->e->t->threads; i++) {
        if (lanes[i].is_running)
            pthread_join(lanes[i].thread, NULL);
        lanes[i].is_running = false;
    }
}

/* Says what went wrong here, if a message is to be said at all. */
static enum expand_result judge(struct wave_expansion *x, enum interval_result result, int error)
{
    struct file *f = x->e->f;

    switch (result) {
    case INTERVAL_READ_ERROR:
        file_io_error(f, f->name, error);
        return EXPAND_FAILED;
    case INTERVAL_WRITE_ERROR:
        file_io_error(f, file_output_in_messages(f), error);
        return EXPAND_FAILED;
    case INTERVAL_NO_MEMORY:
        file_out_of_memory(f);
        return EXPAND_FAILED;
    case INTERVAL_ODD:
        return EXPAND_NOT_HERE;
    case INTERVAL_GOOD:
    case INTERVAL_NONE:
        break;
    }
    return EXPAND_DONE;
}

/* --- The main thread ------------------------------------------------------------------------ */

/* What all ranks have come to: the worst.  An error here goes before what is for one rank. */
static enum expand_result worst(const struct ranks *r, enum expand_result mine)
{
    int result = mine == EXPAND_FAILED ? 2 : mine == EXPAND_NOT_HERE ? 1 : 0, all;

    MPI_Allreduce(&result, &all, 1, MPI_INT, MPI_MAX, r->comm);
    return all == 2 ? EXPAND_FAILED : all == 1 ? EXPAND_NOT_HERE : EXPAND_DONE;
}

/* Checks that the intervals of this wave follow each other.  *before: what all intervals before this rank's
 * come to; *total: what all do, before this wave and then after it.  `mine` is what is known to be
 * wrong here. */
static enum expand_result check_wave(struct wave_expansion *x, struct lane *lanes,
                                     enum expand_result mine, struct chain *before,
                                     struct chain *total)
{
    const struct together *e = x->e;
    struct chain own = {0}, prefix = {0}, chain;

    for (int i = 0; i < e->t->threads && mine == EXPAND_DONE; i++)
        if (lanes[i].result != INTERVAL_NONE) {
            chain = chain_of(&lanes[i].interval);
            join(&own, &chain);
            own = chain;
        }
    ranks_meet(e->r);
    MPI_Exscan(&own, &prefix, 1, x->type, x->op, e->r->comm);
    if (e->r->rank == 0)
        memset(&prefix, 0, sizeof(prefix));
    *before = prefix;
    join(total, before);
    chain = *before;
    for (int i = 0; i < e->t->threads && mine == EXPAND_DONE; i++) {
        struct chain next;

        if (lanes[i].result == INTERVAL_NONE)
            continue;
        if (!follows(&lanes[i].interval, &chain))
            mine = EXPAND_NOT_HERE;
        next = chain_of(&lanes[i].interval);
        join(&chain, &next);
        chain = next;
    }
    mine = worst(e->r, mine);
    *total = chain;
    MPI_Bcast(total, 1, x->type, e->r->count - 1, e->r->comm);
    return mine;
}

/* Writes what was not kept of an interval. */
struct rest {
    struct together *e;
    uint64_t at;   /* in the output */
    uint64_t skip; /* bytes that were kept */
};

static bool write_rest(void *ctx, const uint8_t *bytes, size_t len)
{
    struct rest *w = ctx;
    const size_t skipped = len < w->skip ? len : (size_t)w->skip;
    const int error = sharedfile_write(&w->e->out, w->at, bytes + skipped, len - skipped);

    w->skip -= skipped;
    w->at += len - skipped;
    errno = error;
    return error == 0;
}

/* Decodes the interval again and writes what was not kept. */
static enum expand_result decode_again(struct wave_expansion *x, struct lane *l, uint64_t at,
                                       struct interval_tools *tools)
{
    struct rest rest = {x->e, at + l->len, l->len};
    struct interval again = l->interval;
    enum interval_result result;

    again.was_decoded = true;
    again.take = write_rest;
    again.ctx = &rest;
    result = interval_decode(tools, &again);
    if (result != INTERVAL_GOOD)
        return judge(x, result, again.error);
    /* The file has changed. */
    if (again.end != l->interval.end || again.out != l->interval.out ||
        again.ends != l->interval.ends || again.head_crc != l->interval.head_crc ||
        again.tail_crc != l->interval.tail_crc)
        return EXPAND_NOT_HERE;
    return EXPAND_DONE;
}

/* Writes a wave, the first byte at byte `at` of the output. */
static enum expand_result write_wave(struct wave_expansion *x, struct lane *lanes, uint64_t at,
                                     struct interval_tools *tools)
{
    enum expand_result result = EXPAND_DONE;

    if (!x->e->out.is_open)
        return result;
    for (int i = 0; i < x->e->t->threads && result == EXPAND_DONE; i++) {
        struct lane *l = &lanes[i];
        int error;

        if (l->result == INTERVAL_NONE)
            continue;
        error = sharedfile_write(&x->e->out, at, l->kept, l->len);
        if (error != 0)
            result = judge(x, INTERVAL_WRITE_ERROR, error);
        else if (l->len < l->interval.out)
            result = decode_again(x, l, at, tools);
        at += l->interval.out;
    }
    return result;
}

/* Chooses how much of the input the next wave's regions have: about what makes as much output as is
 * kept, or half of it where intervals are long beside it.  All ranks come to the same. */
static void choose_region(struct wave_expansion *x, const struct chain *total)
{
    uint64_t region = REGION_FIRST;

    if (total->out > 0)
        region =
            (uint64_t)((double)(x->keep - x->keep / 4) * (double)total->end / (double)total->out);
    if (region < REGION_MIN)
        region = REGION_MIN;
    x->region = region < REGION_MAX ? region : REGION_MAX;
    if (x->test_region > 0)
        x->region = x->test_region;
}

/* All waves. */
static enum expand_result run(struct wave_expansion *x, struct interval_tools *tools,
                              struct chain *total)
{
    enum expand_result mine = EXPAND_DONE, all = EXPAND_DONE;

    *total = (struct chain){.end = x->first};
    choose_region(x, total);
    start_wave(x, x->lanes[0]);
    for (int set = 0; all == EXPAND_DONE; set = 1 - set) {
        struct lane *lanes = x->lanes[set];
        const bool is_last = x->next >= x->e->size;
        struct chain before;

        wait_for(x, lanes);
        for (int i = 0; i < x->e->t->threads && mine == EXPAND_DONE; i++)
            mine = judge(x, lanes[i].result, lanes[i].interval.error);
        /* The next wave begins before it is known how long this one's slowest rank takes. */
        choose_region(x, total);
        if (!is_last)
            start_wave(x, x->lanes[1 - set]);
        all = check_wave(x, lanes, mine, &before, total);
        if (all == EXPAND_DONE)
            mine = write_wave(x, lanes, before.out, tools);
        if (is_last)
            break;
    }
    wait_for(x, x->lanes[0]);
    wait_for(x, x->lanes[1]);
    ranks_meet(x->e->r);
    all = worst(x->e->r, all != EXPAND_DONE ? all : mine);
    if (all == EXPAND_DONE &&
        (total->end != x->e->size || total->tail_len != 0 || total->ends == 0))
        all = EXPAND_NOT_HERE;
    x->e->out_bytes = total->out;
    return all;
}

/* Numbers the lanes of all ranks, and chooses how much each keeps.  Ranks with more threads would
 * keep less in each: the least counts for all. */
static void number_lanes(struct wave_expansion *x)
{
    const struct ranks *r = x->e->r;
    const uint64_t mine = (uint64_t)x->e->t->threads;
    const uint64_t all = KEPT_WAVES * (uint64_t)x->e->t->wave;
    uint64_t kept = (all < KEPT_MAX ? all : KEPT_MAX) / (SETS * mine), least;

    if (kept < KEEP_MIN && x->test_region == 0)
        kept = KEEP_MIN;
    ranks_meet(r);
    MPI_Exscan(&mine, &x->first_lane, 1, MPI_UINT64_T, MPI_SUM, r->comm);
    if (r->rank == 0)
        x->first_lane = 0;
    MPI_Allreduce(&mine, &x->all_lanes, 1, MPI_UINT64_T, MPI_SUM, r->comm);
    MPI_Allreduce(&kept, &least, 1, MPI_UINT64_T, MPI_MIN, r->comm);
    x->keep = (size_t)least;
}

/* Makes what the threads need; false if memory is short. */
static bool make_lanes(struct wave_expansion *x)
{
    const int threads = x->e->t->threads;

    for (int set = 0; set < SETS; set++) {
        x->lanes[set] = calloc((size_t)threads, sizeof(*x->lanes[set]));
        if (x->lanes[set] == NULL)
            return false;
        for (int i = 0; i < threads; i++) {
            struct lane *l = &x->lanes[set][i];

            l->e = x;
            l->tools = interval_tools_new();
            l->kept = malloc(x->keep);
            if (l->tools == NULL || l->kept == NULL)
                return false;
        }
    }
    return true;
}

static void free_lanes(struct wave_expansion *x)
{
    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < x->e->t->threads && x->lanes[set] != NULL; i++) {
            interval_tools_free(x->lanes[set][i].tools);
            free(x->lanes[set][i].kept);
        }
        free(x->lanes[set]);
    }
}

bool expand_has_marks(const struct together *e, uint64_t header_len)
{
    struct interval_tools *tools = interval_tools_new();
    const uint64_t to = header_len + LOOK_MAX < e->size ? header_len + LOOK_MAX : e->size;
    const bool has_marks = tools != NULL && interval_has_mark(tools, e->f->in_fd, header_len, to);

    interval_tools_free(tools);
    return has_marks;
}

enum expand_result expand_together(struct together *e, uint64_t header_len, uint64_t *members,
                                   uint64_t *member_bytes)
{
    struct wave_expansion x = {.e = e, .first = header_len, .next = header_len};
    struct interval_tools *tools = interval_tools_new();
    enum expand_result result = EXPAND_FAILED;
    struct chain total;
    bool ok;

    x.test_region = testing_region();
    number_lanes(&x);
    ok = make_lanes(&x) && tools != NULL;
    if (!ok)
        file_out_of_memory(e->f);
    if (ranks_agree(e->r, ok)) {
        MPI_Type_contiguous((int)sizeof(struct chain), MPI_BYTE, &x.type);
        MPI_Type_commit(&x.type);
        MPI_Op_create(join_all, 0, &x.op);
        result = run(&x, tools, &total);
        *members = total.ends;
        *member_bytes = total.last_len;
        MPI_Op_free(&x.op);
        MPI_Type_free(&x.type);
    }
    free_lanes(&x);
    interval_tools_free(tools);
    return result;
}
