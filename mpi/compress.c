/*
 * compress.c - compresses one file with several ranks (compress.h)
 *
 * The input is cut into waves, and each wave into runs of segments, one run for each rank.  In
 * every wave:
 *
 *     two producers    (threads) read this rank's run and let the library compress it.  While one
 *                      waits for the last threads of its run, the other has begun the next run.
 *     the main thread  waits for the run, meets the other ranks, adds up where the runs go in the
 *                      output (ranks_add_up), and writes this rank's run.
 *
 * Each rank has some buffers for output.  A rank may be ahead of the others by as many waves as it
 * has buffers, so no thread waits for the slowest rank of each wave.  If a rank fails, it tells the
 * others when the ranks meet next, and all give up.
 *
 * The ranks can compute the CRC-32 of the input in any order.  A rank moves each run's CRC over the
 * bytes that follow the run in the input: gzlzss_crc32_combine does this if the second CRC is 0.
 * The exclusive or of all moved CRCs is the CRC of the whole input.  So each rank takes the
 * exclusive or of its own runs, and MPI_Reduce that of all ranks.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hugepages.h"
#include "base/io.h"
#include "base/thread.h"
#include "compat/gzip.h"
#include "mpi/compress.h"

/* The number of producers.  With more producers, more of the input is in memory.  With a single
 * producer, the library's threads wait while it reads, and wait for each other at the end of every
 * run. */
#define PRODUCERS 2

/* The number of buffers for output, which is also the number of waves by which a rank may be ahead
 * of the slowest rank.  Each buffer takes the memory of a run, as far as it is filled.  With large
 * runs, there are fewer buffers, so that all together take about OUTPUTS_MEMORY. */
#define OUTPUTS_MIN (PRODUCERS + 1)
#define OUTPUTS_MAX 6
#define OUTPUTS_MEMORY ((size_t)145 << 20)

/* With fewer waves than this, reading, compressing and writing hardly overlap. */
#define WAVES_MIN ((uint64_t)4)

/* A run has at least this many segments for each thread.  If that is impossible with WAVES_MIN
 * waves, there are fewer waves. */
#define THREAD_SEGMENTS ((uint64_t)1)

/* A buffer for this rank's output of a wave. */
struct wave_output {
    uint8_t *bytes;
    size_t len;
    bool is_taken; /* a wave uses it, until the wave is written */
    bool is_done;  /* the output is complete, or the rank has failed */
};

struct wave_compression {
    struct together *c;
    size_t segment;           /* bytes of a segment */
    uint64_t segments, waves; /* numbers of segments and of waves */
    size_t run_max;           /* the most bytes of input in a run */

    pthread_mutex_t lock;   /* protects the fields below */
    pthread_cond_t changed; /* signalled when any of these fields changes */
    struct wave_output outputs[OUTPUTS_MAX];
    unsigned output_count;
    uint64_t next;        /* the wave whose run is produced next */
    bool stops;           /* the producers must end */
    gzlzss_status status; /* the first error on this rank */
    int error;            /* that error's errno, or SHORTER */
    uint32_t crc;         /* this rank's share of the input's CRC */
};

/* --- Waves ---------------------------------------------------------------------------------- */

/* Returns how many waves have one segment more than the others.  These waves come first. */
static uint64_t larger_waves(const struct wave_compression *k)
{
    return k->segments % k->waves;
}

/* Returns how many numbers in [from, from + count) are below `end`. */
static uint64_t numbers_below(uint64_t end, uint64_t from, uint64_t count)
{
    return end <= from ? 0 : end - from < count ? end - from : count;
}

/*
 * Returns the first segment of rank `rank`'s run in a wave.  For rank `count`, returns the end of
 * the wave.
 *
 * In a wave, some ranks may have one segment more than the others.  In the next wave, the ranks
 * that follow those ranks have one more; rank 0 follows the last rank.  So over all waves, the
 * ranks' numbers of segments differ by at most one.
 */
static uint64_t first_of_run(const struct wave_compression *k, uint64_t wave, int rank)
{
    const uint64_t ranks = (uint64_t)k->c->r->count, least = k->segments / k->waves;
    const uint64_t larger = wave < larger_waves(k) ? wave : larger_waves(k);
    const uint64_t segments = least + (wave < larger_waves(k));
    const uint64_t more = segments % ranks;
    /* The first rank that has one segment more in this wave.  It comes after the last rank that had
     * one more in the wave before. */
    const uint64_t turn =
        (larger * ((least + 1) % ranks) + (wave - larger) * (least % ranks)) % ranks;
    const uint64_t before = (uint64_t)rank;
    /* `more` ranks have one segment more, from rank `turn` on.  If fewer ranks than that are left,
     * the remaining ones are ranks 0 to wrapped - 1. */
    const uint64_t wrapped = turn + more > ranks ? turn + more - ranks : 0;

    return least * wave + larger + segments / ranks * before +
           numbers_below(before, turn, more - wrapped) + numbers_below(before, 0, wrapped);
}

/* The most segments in a run. */
static uint64_t run_segments(const struct wave_compression *k)
{
    const uint64_t ranks = (uint64_t)k->c->r->count;
    const uint64_t wave = (k->segments + k->waves - 1) / k->waves;

    return (wave + ranks - 1) / ranks;
}

/* The fewest waves in which each rank gets at most `run` segments. */
static uint64_t waves_of(const struct wave_compression *k, uint64_t run)
{
    const uint64_t wave = run * (uint64_t)k->c->r->count;

    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a run has segments, and a group has ranks */
    return (k->segments + wave - 1) / wave;
}

/* Chooses the number of waves: as few as the memory allows, but at least WAVES_MIN.  For a small
 * input, chooses fewer waves, so that each thread of the rank with the most threads gets enough
 * segments. */
static void plan_waves(struct wave_compression *k)
{
    const uint64_t most = k->c->t->wave / k->segment > 0 ? k->c->t->wave / k->segment : 1;
    uint64_t least = THREAD_SEGMENTS * (uint64_t)k->c->t->most_threads, more;

    k->segments = k->c->size == 0 ? 1 : (k->c->size + k->segment - 1) / k->segment;
    k->waves = waves_of(k, most);
    if (least < most / WAVES_MIN)
        least = most / WAVES_MIN; /* a GPU is fast only with much input at a time */
    more = waves_of(k, least < most ? least : most);
    if (k->waves < WAVES_MIN)
        k->waves = more < WAVES_MIN ? more : WAVES_MIN;
    k->run_max = (size_t)run_segments(k) * k->segment;
    if (k->run_max > k->c->size)
        k->run_max = (size_t)k->c->size;
}

/* --- Producing ------------------------------------------------------------------------------ */

static void fail(struct wave_compression *k, gzlzss_status status, int error)
{
    pthread_mutex_lock(&k->lock);
    if (k->status == GZLZSS_OK) {
        k->status = status;
        k->error = error;
    }
    pthread_mutex_unlock(&k->lock);
}

/* Takes the place of an errno if the file has become shorter. */
#define SHORTER (-1)

/* Reads `len` bytes of the input from `offset` on.  Returns 0, an errno or SHORTER. */
static int read_run(const struct wave_compression *k, uint8_t *bytes, uint64_t offset, size_t len)
{
    const ssize_t n = io_read_at(k->c->f->in_fd, bytes, len, offset);

    return n < 0 ? errno : (size_t)n < len ? SHORTER : 0;
}

/* The number of bytes that this rank writes before its run of this wave.  Before the file's first
 * run, these are the bytes of the header; before any other run, 0. */
static size_t header_before(const struct wave_compression *k, uint64_t wave)
{
    return wave == 0 && k->c->r->rank == 0 ? k->c->f->header_len : 0;
}

/* Reads this rank's run of a wave and compresses it to *output.  `in` has room for the run. */
static void produce(struct wave_compression *k, uint64_t wave, struct wave_output *output,
                    uint8_t *in)
{
    const int rank = k->c->r->rank;
    const uint64_t first = first_of_run(k, wave, rank), end = first_of_run(k, wave, rank + 1);
    const uint64_t from = first * k->segment;
    const uint64_t to = end == k->segments ? k->c->size : end * k->segment;
    const size_t header = header_before(k, wave), len = (size_t)(to - from);
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_status status;
    uint32_t crc;
    int error;

    output->len = header;
    if (header > 0)
        memcpy(output->bytes, k->c->f->header, header);
    if (first == end)
        return;
    error = read_run(k, in, from, len);
    if (error != 0) {
        fail(k, GZLZSS_ERROR_READ, error);
        return;
    }
    output->len = gzlzss_bound(k->c->t->z, k->run_max);
    status = gzlzss_compress_range(k->c->t->z, output->bytes + header, &output->len, in, len,
                                   end == k->segments, &crc, &call);
    output->len += header;
    if (status != GZLZSS_OK) {
        fail(k, status, call.error_number);
        return;
    }
    crc = gzlzss_crc32_combine(crc, 0, k->c->size - to);
    pthread_mutex_lock(&k->lock);
    k->crc ^= crc;
    pthread_mutex_unlock(&k->lock);
}

static void *producer_main(void *argument)
{
    struct wave_compression *k = argument;
    uint8_t *in = hugepages_alloc(k->run_max + 1);

    if (in == NULL)
        fail(k, GZLZSS_ERROR_MEMORY, 0);
    pthread_mutex_lock(&k->lock);
    for (;;) {
        struct wave_output *output = &k->outputs[k->next % k->output_count];
        uint64_t wave;

        if (k->stops || k->next == k->waves)
            break;
        if (output->is_taken) {
            pthread_cond_wait(&k->changed, &k->lock);
            continue;
        }
        wave = k->next++;
        output->is_taken = true;
        output->is_done = false;
        output->len = 0;
        if (k->status == GZLZSS_OK) {
            pthread_mutex_unlock(&k->lock);
            produce(k, wave, output, in);
            pthread_mutex_lock(&k->lock);
        }
        output->is_done = true;
        pthread_cond_broadcast(&k->changed);
    }
    pthread_mutex_unlock(&k->lock);
    free(in);
    return NULL;
}

/* --- The main thread ------------------------------------------------------------------------ */

/* Makes the buffers for output.  Returns false if memory is short. */
static bool make_slots(struct wave_compression *k)
{
    const size_t room = gzlzss_bound(k->c->t->z, k->run_max) + k->c->f->header_len;

    k->output_count = (unsigned)(OUTPUTS_MEMORY / (k->run_max + 1));
    if (k->output_count > OUTPUTS_MAX)
        k->output_count = OUTPUTS_MAX;
    if (k->output_count < OUTPUTS_MIN)
        k->output_count = OUTPUTS_MIN;
    for (uint64_t i = 0; i < k->output_count && i < k->waves; i++) {
        k->outputs[i].bytes = hugepages_alloc(room);
        if (k->outputs[i].bytes == NULL)
            return false;
    }
    return true;
}

/* Waits until this rank's output of a wave is complete, or the rank has failed. */
static struct wave_output *wait_for(struct wave_compression *k, uint64_t wave)
{
    struct wave_output *output = &k->outputs[wave % k->output_count];

    pthread_mutex_lock(&k->lock);
    while (!output->is_taken || !output->is_done)
        pthread_cond_wait(&k->changed, &k->lock);
    pthread_mutex_unlock(&k->lock);
    return output;
}

static void give_back(struct wave_compression *k, struct wave_output *output)
{
    pthread_mutex_lock(&k->lock);
    output->is_taken = output->is_done = false;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

static bool is_well(struct wave_compression *k)
{
    bool well;

    pthread_mutex_lock(&k->lock);
    well = k->status == GZLZSS_OK;
    pthread_mutex_unlock(&k->lock);
    return well;
}

/* Writes this rank's runs of all waves.  Returns false if a rank has failed. */
static bool write_waves(struct wave_compression *k)
{
    const struct ranks *r = k->c->r;
    uint64_t base = 0;

    for (uint64_t wave = 0; wave < k->waves; wave++) {
        struct wave_output *output = wait_for(k, wave);
        /* The bytes of this rank's run, and whether this rank has failed. */
        const uint64_t mine[2] = {output->len, !is_well(k)};
        uint64_t all[2], before;
        int error;

        ranks_add_up(r, mine, 2, &before, all);
        if (all[1] > 0)
            return false;
        error = sharedfile_write(&k->c->out, base + before, output->bytes, output->len);
        give_back(k, output);
        if (error != 0)
            fail(k, GZLZSS_ERROR_WRITE, error);
        base += all[0];
    }
    k->c->out_bytes = base;
    return true;
}

/* Combines the CRCs of all ranks.  The last rank writes the trailer. */
static void write_trailer(struct wave_compression *k)
{
    const struct ranks *r = k->c->r;
    uint8_t trailer[GZ_TRAILER_SIZE];
    uint32_t crc = 0;
    int error = 0;

    ranks_meet(r);
    MPI_Reduce(&k->crc, &crc, 1, MPI_UINT32_T, MPI_BXOR, r->count - 1, r->comm);
    gzlzss_trailer(trailer, crc, k->c->size);
    if (r->rank == r->count - 1)
        error = sharedfile_write(&k->c->out, k->c->out_bytes, trailer, sizeof(trailer));
    k->c->out_bytes += sizeof(trailer);
    if (error != 0)
        fail(k, GZLZSS_ERROR_WRITE, error);
}

/* Prints this rank's error, if there is one. */
static void report(const struct wave_compression *k)
{
    struct file *f = k->c->f;

    switch (k->status) {
    case GZLZSS_OK:
    case GZLZSS_ERROR_CANCELLED:
        break;
    case GZLZSS_ERROR_READ:
        if (k->error == SHORTER)
            file_became_shorter(f);
        else
            file_read_error(f, k->error);
        break;
    case GZLZSS_ERROR_WRITE:
        file_write_error(f, k->error);
        break;
    case GZLZSS_ERROR_MEMORY:
        file_out_of_memory(f);
        break;
    default:
        msg_data_error(&f->m, "%s: %s", f->name, gzlzss_status_text(k->status));
    }
}

bool compress_together(struct together *c)
{
    struct wave_compression k = {.c = c, .segment = gzlzss_segment_size(c->t->z)};
    pthread_t producers[PRODUCERS];
    int count = 0;
    bool ok;

    pthread_mutex_init(&k.lock, NULL);
    pthread_cond_init(&k.changed, NULL);
    plan_waves(&k);
    ok = make_slots(&k);
    while (ok && count < PRODUCERS && (uint64_t)count < k.waves &&
           thread_start(&producers[count], producer_main, &k))
        count++;
    /* If no thread could be started, report EAGAIN, as pthread_create does. */
    if (count == 0)
        fail(&k, ok ? GZLZSS_ERROR_READ : GZLZSS_ERROR_MEMORY, EAGAIN);
    ok = ranks_agree(c->r, count > 0) && write_waves(&k);
    pthread_mutex_lock(&k.lock);
    k.stops = true;
    pthread_cond_broadcast(&k.changed);
    pthread_mutex_unlock(&k.lock);
    /* If a rank has failed, all further work is useless, so cancel it. */
    if (!ok)
        gzlzss_cancel(c->t->z, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(producers[i], NULL);
    if (ok)
        write_trailer(&k);
    report(&k);
    for (int i = 0; i < OUTPUTS_MAX; i++)
        free(k.outputs[i].bytes);
    pthread_cond_destroy(&k.changed);
    pthread_mutex_destroy(&k.lock);
    return ok && k.status == GZLZSS_OK;
}
