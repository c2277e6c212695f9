/*
 * segment.c - matches and encodes one segment; does all of a small job (segment.h)
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "compat/check.h"
#include "compat/container.h"
#include "pipeline/compress/claim.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/compress/parts.h"
#include "pipeline/compress/read_back.h"
#include "pipeline/compress/segment.h"
#include "pipeline/compress/store.h"
#include "pipeline/compress/verify.h"
#include "pipeline/compress/write.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/measures.h"
#include "pipeline/crew/slots.h"
#include "pipeline/crew/workers.h"

/* --- A segment --- */

/* The result of matching, encoding and verifying a segment. */
struct result {
    /* PIPELINE_OK, PIPELINE_WRONG or PIPELINE_NOT_VERIFIED.  If matches of the CPU do not pass the
     * encoder's check (PIPELINE_WRONG), that is a bug. */
    enum pipeline_status status;
    bool is_redone; /* the GPU's matches failed the encoder's check, so the CPU matched again */
    bool is_wrong;  /* the same, although the GPU had room for all sequences */
    double match, encode, verify;   /* seconds, summed over all threads */
    uint64_t counters[LZ_COUNTERS]; /* counts of the CPU's match finder */
};

/* How a segment's DEFLATE data ends.  The mark tells readers that they may start after it.  The
 * pieces of --rsyncable refer to bytes before them, so they do not end with the mark. */
static enum huff_end end_of(const struct slot *s)
{
    const struct pipeline_config *config = &s->job->pipeline->config;
    const bool is_last = s->last && s->job->request->extent != PIPELINE_RANGE;

    return is_last || config->container == CONTAINER_BGZF ? HUFF_LAST
           : config->rsyncable                            ? HUFF_SYNC
                                                          : HUFF_MARK;
}

/* Returns where a segment's DEFLATE data begins in its output buffer. */
static uint8_t *data_of(const struct slot *s)
{
    return s->out + gz_before_data(s->job->pipeline->config.container);
}

/* Encodes the segment.  If it was not matched in parts, matches it first.  Sets *matched to the
 * time when matching ended.  Returns false if the matches do not pass the encoder's check. */
static bool match_and_encode(struct worker *w, struct slot *s, bool in_parts, double *matched)
{
    const struct lz_level *level = job_level(s->job);
    const size_t len = s->before + s->len;
    const struct lz_chunk *chunks;

    if (s->before == 0) {
        if (in_parts)
            chunks = lz_chunks(w->tools->matcher);
        else
            chunks = lz_match_segment(w->tools->matcher, s->in, len);
        *matched = clock_seconds();
        return huff_encode_segment(w->tools->encoder, s->in, len, chunks, level->split, end_of(s),
                                   data_of(s), &s->out_len);
    }
    chunks = lz_match_after(w->tools->matcher, s->in, len);
    *matched = clock_seconds();
    return huff_encode_after(w->tools->encoder, s->in, len, s->before, chunks, level->split,
                             end_of(s), data_of(s), &s->out_len);
}

/* Whether the GPU had room for all sequences of the segment. */
static bool had_room(const struct slot *s)
{
    for (size_t c = 0; c < LZ_CHUNKS(s->len); c++)
        if (gpu_had_no_room(&s->chunks[c]))
            return false;
    return true;
}

/* At level 0, stores the segment.  At other levels, encodes it, after matching it unless a GPU has
 * matched it.  Called without the lock, by the slot's owner. */
static void encode_data(struct worker *w, struct slot *s, struct result *r)
{
    const enum gz_check check = gz_check_of(w->pipeline->config.container);
    const bool in_parts = w->split.matcher != NULL;
    const struct lz_level *level = job_level(s->job);
    double start = clock_seconds(), matched = start;
    bool ok = false;

    *r = (struct result){0};
    if (lz_is_stored(level)) {
        s->out_len =
            store_segment(s->in + s->before, s->len, end_of(s), check, data_of(s), &s->check);
        r->encode = clock_seconds() - start;
        return;
    }
    /* Call finish_parts before anything that can fail, since helpers still read the segment. */
    if (in_parts)
        finish_parts(w);
    if (s->chunks != NULL) {
        ok = huff_encode_segment(w->tools->encoder, s->in, s->len, s->chunks, level->split,
                                 end_of(s), data_of(s), &s->out_len);
        /* If the matches fail the check, the GPU was wrong, and the CPU matches the segment
         * again. */
        r->is_redone = !ok;
        r->is_wrong = !ok && had_room(s);
    }
    if (s->chunks == NULL || r->is_redone)
        ok = match_and_encode(w, s, in_parts, &matched);
    r->status = ok ? PIPELINE_OK : PIPELINE_WRONG;
    s->check = gz_check_more(check, gz_check_start(check), s->in + s->before, s->len);
    if (in_parts)
        memcpy(r->counters, w->split.counters, sizeof(r->counters));
    else
        lz_take_counters(w->tools->matcher, r->counters);
    r->match = in_parts ? w->split.seconds : matched - start;
    r->encode = clock_seconds() - matched;
}

/* Verifies the segment before it is written.  The worker's input buffer gets the decoded bytes,
 * since the segment's input is not needed any more.  Pieces have the bytes before them in this
 * buffer. */
static void verify(struct worker *w, struct slot *s, struct result *r)
{
    r->verify = -clock_seconds();
    if (!verify_segment(w->tools->decoder, s, w->pipeline->config.container, end_of(s) == HUFF_LAST,
                        w->tools->in, s->before))
        r->status = PIPELINE_NOT_VERIFIED;
    r->verify += clock_seconds();
}

/* Calls encode_data.  In BGZF, then makes a member of the data.  At the end, verifies the result,
 * unless it will be read back. */
static void encode(struct worker *w, struct slot *s, struct result *r)
{
    const struct pipeline_config *config = &w->pipeline->config;

    encode_data(w, s, r);
    if (r->status != PIPELINE_OK)
        return;
    if (config->container == CONTAINER_BGZF)
        s->out_len = gz_write_member(s->out, s->out_len, s->check, s->len);
    verify_spoil(config, s);
    if (config->verify)
        verify_note(s, config->container, s->in + s->before);
    if (verify_is_in_memory(s->job))
        verify(w, s, r);
}

/* Adds a segment's result to the measurements. */
static void measure(struct pipeline *p, const struct slot *s, const struct result *r)
{
    struct pipeline_stats *stats = &s->job->stats;
    const bool by_gpu = s->chunks != NULL;
    const bool is_usual = s->job->request->level == NULL;

    stats->gpu_segments += by_gpu;
    stats->cpu_segments += !by_gpu;
    stats->redone_segments += r->is_redone;
    /* The GPU's feeders may wait for work that they do not get any more. */
    if (r->is_wrong && gpus_wrong(p->gpus, s->feeder->gpu))
        wake_all(p, CAN_FEED);
    if (!by_gpu && is_usual)
        measure_matched(p, (double)s->len, r->match);
    for (size_t i = 0; i < LZ_COUNTERS; i++)
        stats->counters[i] += r->counters[i];
    stats->match += r->match;
    stats->encode += r->encode;
    stats->verify += r->verify;
    if (is_usual)
        measure_encoded(p, (double)s->len, r->encode, by_gpu);
}

void finish_segment(struct worker *w, struct slot *s)
{
    struct pipeline *p = w->pipeline;
    struct job *j = s->job;
    const bool is_own = s->feeder == NULL;
    struct result r;

    if (!j->failed || w->split.matcher != NULL) {
        s->out = w->tools->out;
        w->tools->out = NULL;
        unlock(p);
        encode(w, s, &r);
        lock(p);
        if (r.status == PIPELINE_OK)
            measure(p, s, &r);
        else
            job_fail(j, r.status, 0);
    }
    if (is_own)
        crew_end_matching(p);
    if (!is_own)
        feeder_release(s->feeder);
    slot_done(s);
    write_finished(j);
    job_settle(j);
}

/* --- Small jobs --- */

/* Bytes of the largest small job.  A larger job is worth several workers, or takes so long that the
 * cost of the lock does not matter. */
#define SMALL ((uint64_t)LZ_CHUNK_SIZE)

bool is_small(const struct job *j)
{
    return j->request->begin != NULL && j->request->size > 0 && j->request->size <= SMALL &&
           !j->pipeline->config.rsyncable;
}

/* Verifies the whole output, which was written. */
static bool read_back(struct worker *w, struct slot *s, struct result *r)
{
    bool ok;

    r->verify = -clock_seconds();
    ok = read_back_small(w, s);
    r->verify += clock_seconds();
    return ok;
}

void do_small(struct worker *w, struct job *j)
{
    struct pipeline *p = w->pipeline;
    struct slot *s = slot_new(j, p->segment_size);
    bool is_prepared, is_one, was_read = false, is_right = true;
    struct written written = {0};
    struct result r = {0};
    double read = 0;
    int error = 0;

    if (s == NULL) {
        job_begin(j);
        return;
    }
    s->in = w->tools->in;
    s->out = w->tools->out;
    crew_begin_matching(p);
    is_prepared = job_prepare(j);
    /* The file may have grown to several segments since its size was given. */
    is_one = is_prepared && !job_next_is_any(j);
    if (is_one) {
        read = -clock_seconds();
        was_read = read_in_order(s);
        error = errno;
        read += clock_seconds();
    }
    /* The file may also have grown while it was read.  Then this segment is not its last one. */
    if (was_read && s->last) {
        encode(w, s, &r);
        if (r.status == PIPELINE_OK)
            write_segments(j, &s, 1, "cpu", &written);
        if (written.ok && verify_is_in_file(j)) {
            is_right = read_back(w, s, &r);
            error = errno;
        }
    }
    lock(p);
    crew_end_matching(p);
    s->out = NULL;
    if (!is_one) {
        slot_free_first(j);
        job_begin_prepared(j, is_prepared);
        return;
    }
    job_open(j);
    count_read(j, read, s->len, was_read, error);
    if (!j->failed)
        claim_read(s);
    if (!j->failed && !s->last) {
        crew_begin_matching(p);
        finish_segment(w, s);
        return;
    }
    if (!j->failed && r.status != PIPELINE_OK)
        job_fail(j, r.status, 0);
    if (!j->failed && !written.ok)
        job_fail(j, PIPELINE_WRITE_ERROR, written.error);
    if (!j->failed && !is_right)
        job_fail(j, PIPELINE_NOT_VERIFIED, error);
    if (!j->failed) {
        measure(p, s, &r);
        count_written(j, 1, &written);
    }
    slot_free_first(j);
    job_settle(j);
}
