/*
 * expand.c - decompresses one .gz with marks with several ranks (expand.h)
 *
 * The file is cut into waves, and each wave into regions, one for each thread of each rank.  Every
 * thread decodes the interval (interval.h) that begins in its region.  The start of an interval is
 * a guess, until it is known that the interval before it ends exactly there.  In every wave:
 *
 *     the threads      decode their intervals, and keep the output up to a limit.
 *     the main thread  waits for the threads, and starts them on the next wave.  Then it meets the
 *                      other ranks.  MPI_Exscan adds up the intervals of the ranks before this one.
 *                      The sum tells where they end, how much output there is, and the CRC-32 and
 *                      length of the member in which this rank begins.  The main thread compares
 *                      these with the starts of its own intervals, and with the trailers.  Then it
 *                      writes.
 *
 * If an interval has more output than may be kept, the rest is decoded once more while it is
 * written.
 *
 * All ranks give up if anything is not as expected, for example if a guess of a start was wrong, if
 * a CRC is wrong, or if bytes follow the last member.  Then one rank does the whole file with the
 * command's own code, which has the right messages.  So a hint in the file can cost time, but never
 * change a byte.
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

/* The number of sets of intervals.  One set is decoded while the other is written. */
#define SETS 2

/* All threads of a rank together keep this much output: KEPT_WAVES times the input of a wave of
 * compression, but at most KEPT_MAX bytes.  That takes about as much memory as compression. */
#define KEPT_WAVES 8
#define KEPT_MAX ((uint64_t)192 << 20)

/* A thread keeps at least this many bytes of an interval's output, or the whole output if that is
 * shorter.  With a smaller number, more output is decoded twice. */
#define KEEP_MIN ((size_t)8 << 20)

/* Bytes of input in a region: REGION_FIRST while the compression ratio is not known yet, later
 * between REGION_MIN and REGION_MAX.  A compressed segment of gzlzss has 0.3 to 1 MB.  With regions
 * shorter than that, some threads find no start, and have nothing to do. */
#define REGION_FIRST ((uint64_t)2 << 20)
#define REGION_MIN ((uint64_t)1 << 20)
#define REGION_MAX ((uint64_t)32 << 20)

/* Bytes of the file that are searched for a mark. */
#define LOOK_MAX ((uint64_t)40 << 20)

/* One thread's data for one set. */
struct lane {
    struct wave_expansion *e;
    struct interval_tools *tools;
    struct interval interval;
    enum interval_result result;
    pthread_t thread;
    bool is_running;
    uint8_t *kept; /* kept[0..len): the beginning of the interval's output */
    size_t len;
};

/* The sum of several successive intervals.  An empty sum has 0 in all fields. */
struct chain {
    uint64_t out;  /* bytes of output */
    uint64_t end;  /* where the last interval ends, in bytes of input; 0: there is no interval */
    uint64_t ends; /* members that end in these intervals */
    /* Set if a member ends in these intervals.  head_len: bytes of data up to the first end of a
     * member.  last_len: bytes of data in the last member that ends in them. */
    uint64_t head_len, last_len;
    /* The data after the last end of a member, or all data if no member ends: its bytes and its
     * CRC-32. */
    uint64_t tail_len;
    uint64_t tail_crc;
};

struct wave_expansion {
    struct together *e;
    struct lane *lanes[SETS]; /* lanes[set][0..threads): a lane for each thread of this rank */
    uint64_t first_lane;      /* the number of this rank's first lane among all ranks' lanes */
    uint64_t all_lanes;       /* lanes of all ranks; ranks may have different numbers of threads */
    size_t keep;              /* bytes of output that a lane keeps; the same on all ranks */
    uint64_t next;            /* where the next wave begins in the input */
    uint64_t first;           /* where the first block begins in the input */
    uint64_t region;          /* bytes of a region of the next wave */
    uint64_t test_region;     /* for tests: bytes of each region; 0: not set */
    MPI_Datatype type;        /* MPI's type for a struct chain */
    MPI_Op op;                /* MPI's operation that calls join_all */
};

/* --- Chains --------------------------------------------------------------------------------- */

/* Appends the chain *b to the chain *a, and stores the sum in *b. */
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

/* The form of `join` that MPI calls.  b[i] becomes the sum of a[i] and b[i], for 0 <= i <
 * *count. */
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

/* Whether the interval begins where the intervals before it end.  If a member ends in the interval,
 * the first such member must also have the right CRC and length. */
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

/* Keeps output of an interval, as much as there is room for. */
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

/* Starts the threads on the next wave.  If a thread cannot be started, this thread does its work
 * now. */
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

/* Returns what an interval's result means for the whole file.  Prints a message about an error. */
static enum expand_result judge(struct wave_expansion *x, enum interval_result result, int error)
{
    struct file *f = x->e->f;

    switch (result) {
    case INTERVAL_READ_ERROR:
        file_read_error(f, error);
        return EXPAND_FAILED;
    case INTERVAL_WRITE_ERROR:
        file_write_error(f, error);
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

/* Returns the worst result of all ranks, so that all ranks go on in the same way.  EXPAND_FAILED is
 * worse than EXPAND_NOT_HERE. */
static enum expand_result worst(const struct ranks *r, enum expand_result mine)
{
    int result = mine == EXPAND_FAILED ? 2 : mine == EXPAND_NOT_HERE ? 1 : 0, all;

    MPI_Allreduce(&result, &all, 1, MPI_INT, MPI_MAX, r->comm);
    return all == 2 ? EXPAND_FAILED : all == 1 ? EXPAND_NOT_HERE : EXPAND_DONE;
}

/* Checks, on all ranks, that the intervals of this wave follow each other.  `mine` is this rank's
 * result so far.  *before becomes the sum of all intervals before this rank's first interval in
 * this wave.  Before the call, *total must be the sum of all intervals before this wave; the call
 * adds this wave's intervals to *total.  Returns the worst result of all ranks. */
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

/* The context of write_rest. */
struct rest {
    struct together *e;
    uint64_t at;   /* where the next byte goes in the output */
    uint64_t skip; /* bytes at the start that were kept and so are already written */
};

/* Writes output of an interval that was not kept. */
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

/* Decodes an interval again, and writes the output that was not kept.  The interval's output begins
 * at byte `at` of the file's output. */
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
    /* If any of these fields differs, the file has changed meanwhile. */
    if (again.end != l->interval.end || again.out != l->interval.out ||
        again.ends != l->interval.ends || again.head_crc != l->interval.head_crc ||
        again.tail_crc != l->interval.tail_crc)
        return EXPAND_NOT_HERE;
    return EXPAND_DONE;
}

/* Writes this rank's intervals of a wave, from byte `at` of the output on. */
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

/* Chooses the size of the next wave's regions, REGION_MIN to REGION_MAX.  By the ratio so far, the
 * output of a region should fill three quarters of the memory that keeps it.  All ranks choose the
 * same size. */
static void choose_region(struct wave_expansion *x, const struct chain *total)
{
    const size_t output = x->keep - x->keep / 4;
    uint64_t region = REGION_FIRST;

    if (total->out > 0)
        region = (uint64_t)((double)output * (double)total->end / (double)total->out);
    if (region < REGION_MIN)
        region = REGION_MIN;
    x->region = region < REGION_MAX ? region : REGION_MAX;
    if (x->test_region > 0)
        x->region = x->test_region;
}

/* Decodes, checks and writes all waves. */
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
        /* Start the next wave before the ranks meet, so that threads do not wait for the slowest
         * rank. */
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

/* Numbers the lanes of all ranks, and chooses how many bytes of output each lane keeps.  A rank
 * with more threads can keep fewer bytes in each lane.  All ranks use the smallest of the ranks'
 * numbers. */
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

/* Makes the lanes.  Returns false if memory is short. */
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
