/*
 * push.c - makes segments from input that the caller gives (push.h)
 *
 * The caller's thread copies its input to the segment that is being filled (ahead.h).  A full
 * segment waits there for one more byte, or for the end, because only then is it known whether the
 * segment is the last.
 *
 * A flush waits until all segments are written.  Then the caller's thread compresses the bytes in
 * the segment that is being filled, and writes them (flush.h).  If these are more than
 * FLUSH_PIECE_MAX bytes, they become a segment instead, which the crew compresses.  Once a stream
 * was flushed, the input's end is handled like a flush (end_input).
 */
#include "config.h"

#include <string.h>

#include "pipeline/compress/compression.h"
#include "pipeline/compress/feeding.h"
#include "pipeline/compress/push.h"
#include "pipeline/compress/write.h"
#include "pipeline/crew/jobs.h"
#include "pipeline/crew/workers.h"

/* The number of segments that may wait: enough to keep all workers and GPUs busy.  While a GPU is
 * brought up, as many segments may wait as the list can have (ahead_most). */
static uint64_t most_waiting(const struct job *j)
{
    const struct pipeline *p = j->pipeline;
    const uint64_t places = ahead_most(&j->compression->ahead);
    uint64_t most = (uint64_t)crew_claimers(p) + PUSH_SPARE;

    if (feeding_gpu_comes(p))
        return places;
    most += (uint64_t)feeders_at_work(p) * (p->batch_size / p->segment_size);
    return most < places ? most : places;
}

/* Whether the caller may fill one more segment now. */
static bool has_place(const struct job *j)
{
    return ahead_count(&j->compression->ahead) < most_waiting(j);
}

/* Whether a flush must make a segment of bytes that were pushed, so that the crew compresses
 * them. */
static bool has_to_publish(const struct job *j)
{
    const struct compression *c = j->compression;
    const size_t filled = ahead_filled(&c->ahead);

    if (c->source.held != NULL)
        return source_has_piece(&c->source);
    return filled > FLUSH_PIECE_MAX ||
           (filled > 0 && !flush_is_possible(j->pipeline, job_level(j)));
}

/* Whether all segments were written, and no thread works on any of them. */
static bool is_written(const struct job *j)
{
    return j->next_claim == j->any_order && j->slots == NULL && !j->writing;
}

bool job_can_be_pushed(const struct job *j)
{
    if (j->state != JOB_OPEN || j->failed)
        return false;
    if (j->compression->flush.waits)
        return has_to_publish(j) ? has_place(j) : is_written(j);
    return has_place(j) ||
           (j->compression->source.held != NULL && source_has_room(&j->compression->source));
}

/* Publishes the segment that was being filled, so that it can be claimed from now on. */
static void publish(struct job *j, size_t before, size_t len, bool last)
{
    struct pipeline *p = j->pipeline;

    ahead_publish(&j->compression->ahead, before, len, last);
    if (p->config.rsyncable)
        j->compression->flush.since_mark += len;
    else
        flush_forget(&j->compression->flush);
    j->any_order++;
    if (last) {
        j->total = j->any_order;
        j->request->has_ended = true;
    }
    job_count_left(j, len, 0);
    crew_call(p);
    feeders_call(p);
}

/* Gives the segment that is being filled memory for `want` bytes in all.  If memory is short, the
 * job fails. */
static bool make_room(struct job *j, size_t want)
{
    if (!ahead_make_room(&j->compression->ahead, want))
        job_fail(j, PIPELINE_NO_MEMORY, 0);
    return !j->failed;
}

/* Copies bytes to the segment that is being filled, which has room for them.  Releases the lock
 * meanwhile. */
static void copy(struct job *j, const uint8_t *bytes, size_t len)
{
    struct pipeline *p = j->pipeline;
    struct ahead_list *ahead = &j->compression->ahead;
    uint8_t *const to = ahead_end(ahead);

    if (len == 0)
        return;
    unlock(p);
    memcpy(to, bytes, len);
    lock(p);
    ahead_fill(ahead, len);
}

/* --- Pieces that end at flushes ------------------------------------------------------------- */

/* Writes an encoded piece as the job's next segment.  Call this without the lock; it returns with
 * the lock held. */
static void write_piece(struct job *j, struct slot *s)
{
    struct written w;

    write_segments(j, &s, 1, "cpu", &w);
    lock(j->pipeline);
    if (!w.ok) {
        job_fail(j, PIPELINE_WRITE_ERROR, w.error);
        return;
    }
    count_written(j, 1, &w);
    j->any_order++;
    j->next_claim++;
}

/* Compresses the bytes in the segment that is being filled, and writes them.  Releases the lock
 * meanwhile. */
static void push_filled(struct job *j, enum huff_end end)
{
    struct pipeline *p = j->pipeline;
    struct compression *c = j->compression;
    struct slot s = {
        .job = j, .index = j->any_order, .len = ahead_filled(&c->ahead), .last = end == HUFF_LAST};
    const enum gz_check check = gz_check_of(p->config.container);
    enum pipeline_status status;

    if (!flush_begin(&c->flush, p, job_level(j))) {
        job_fail(j, PIPELINE_NO_MEMORY, 0);
        return;
    }
    unlock(p);
    status = flush_encode(&c->flush, ahead_begin(&c->ahead), &s, end, check);
    if (status == PIPELINE_OK) {
        write_piece(j, &s);
    } else {
        lock(p);
        job_fail(j, status, 0);
    }
    flush_end(&c->flush, p);
    ahead_empty(&c->ahead);
}

/* Writes empty blocks.  For HUFF_LAST, this is a final block with fixed codes.  For HUFF_MARK, it
 * is a stored block, which completes the mark if a flush ended with a stored block before.  For
 * HUFF_SYNC, it is a block with fixed codes and a stored block.  The former keeps the latter from
 * completing a mark, which later matches could cross.  In BGZF, writes nothing, since a member
 * without data would end the file.  Releases the lock meanwhile. */
static void push_empty(struct job *j, enum huff_end end)
{
    static const struct {
        uint8_t bytes[6];
        uint8_t len;
    } blocks[] = {
        [HUFF_SYNC] = {{DEFLATE_FIXED << 1, 0, 0, 0, 0xff, 0xff}, 6},
        [HUFF_MARK] = {{DEFLATE_STORED << 1, 0, 0, 0xff, 0xff}, 5},
        [HUFF_LAST] = {{1 | DEFLATE_FIXED << 1, 0}, 2},
    };
    const enum container container = j->pipeline->config.container;
    /* The cast drops `const`, but `out` is only read. */
    struct slot s = {.job = j,
                     .index = j->any_order,
                     .out = (uint8_t *)blocks[end].bytes,
                     .out_len = blocks[end].len,
                     .check = gz_check_start(gz_check_of(container)),
                     .last = end == HUFF_LAST};

    if (container == CONTAINER_BGZF)
        s.out_len = 0;
    unlock(j->pipeline);
    write_piece(j, &s);
}

/* Ends the input of a job, whose last bytes are in the segment that is being filled.  If pieces
 * were written since the last mark, and the last bytes fit into a piece, this thread compresses
 * them as the last piece.  Otherwise they become the last segment. */
static void end_input(struct job *j)
{
    struct compression *c = j->compression;
    const size_t filled = ahead_filled(&c->ahead);

    if (c->flush.since_mark == 0 || filled > FLUSH_PIECE_MAX) {
        publish(j, 0, filled, true);
        return;
    }
    if (filled > 0)
        push_filled(j, HUFF_LAST);
    else
        push_empty(j, HUFF_LAST);
    j->total = j->any_order;
    j->request->has_ended = true;
}

/* --- Segments ------------------------------------------------------------------------------- */

static size_t push_segments(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    const size_t size = j->pipeline->segment_size;
    size_t taken = 0;

    while (!j->failed && has_place(j) && (taken < len || ends)) {
        const size_t filled = ahead_filled(&j->compression->ahead);
        const size_t n = len - taken < size - filled ? len - taken : size - filled;

        if (filled == size && taken < len) {
            publish(j, 0, size, false);
            continue;
        }
        if (!make_room(j, filled + n))
            break;
        copy(j, bytes + taken, n);
        taken += n;
        if (taken < len)
            continue;
        if (ends && !j->failed)
            end_input(j);
        break;
    }
    return taken;
}

/* Cuts the next piece off the source's bytes.  Releases the lock meanwhile. */
static void push_piece(struct job *j)
{
    struct pipeline *p = j->pipeline;
    size_t before, len;
    bool last;

    if (!make_room(j, p->segment_size))
        return;
    unlock(p);
    /* For pushed input, source_next_piece reads nothing, so it cannot fail. */
    (void)source_next_piece(&j->compression->source, ahead_end(&j->compression->ahead), &before,
                            &len, &last);
    lock(p);
    if (!j->failed)
        publish(j, before, len, last);
}

static size_t push_pieces(struct job *j, const uint8_t *bytes, size_t len, bool ends)
{
    struct pipeline *p = j->pipeline;
    struct source *source = &j->compression->source;
    size_t taken = 0;

    while (!j->failed && !j->request->has_ended) {
        size_t n = 0;
        bool ok;

        while (!j->failed && !j->request->has_ended && source_has_piece(source) && has_place(j))
            push_piece(j);
        if (j->request->has_ended || !source_has_room(source) || (taken == len && !ends))
            break;
        unlock(p);
        ok = source_push(source, bytes + taken, len - taken, ends, &n);
        lock(p);
        if (!ok)
            job_fail(j, PIPELINE_NO_MEMORY, 0);
        taken += n;
        if (n == 0 && !(has_place(j) && source_has_piece(source)))
            break;
    }
    return taken;
}

/* --- Flushes -------------------------------------------------------------------------------- */

/* Makes segments of the flushed bytes that this thread must not compress (has_to_publish).  Returns
 * false if there is no place for one of these segments yet. */
static bool publish_flushed(struct job *j)
{
    struct compression *c = j->compression;

    if (c->source.held != NULL)
        source_flush(&c->source);
    while (!j->failed && has_to_publish(j)) {
        if (!has_place(j))
            return false;
        if (c->source.held != NULL)
            push_piece(j);
        else
            publish(j, 0, ahead_filled(&c->ahead), false);
    }
    return true;
}

/* Goes on with a flush, and completes it if all segments were written.  Releases the lock
 * meanwhile. */
static void push_flush(struct job *j, bool is_full)
{
    struct compression *c = j->compression;
    const enum flushed wanted = is_full ? FLUSHED_FULLY : FLUSHED;
    size_t filled;

    c->flush.waits = true;
    if (!publish_flushed(j) || j->failed || !is_written(j))
        return;
    filled = ahead_filled(&c->ahead);
    if (filled > 0) {
        const bool is_whole = c->flush.since_mark + filled >= j->pipeline->segment_size;

        push_filled(j, is_full || is_whole ? HUFF_MARK : HUFF_SYNC);
    } else if (is_full && c->flush.since_mark > 0) {
        push_empty(j, HUFF_MARK);
    } else if (!c->flush.has_new && wanted > c->flush.flushed) {
        /* zlib gives an empty block here, and programs count on it: in a WebSocket, it is a message
         * without bytes.  After a mark, and at the start, there is nothing that a match could
         * reach, so another mark is true. */
        push_empty(j, c->flush.since_mark > 0 ? HUFF_SYNC : HUFF_MARK);
    }
    if (j->failed)
        return;
    if (is_full) {
        flush_forget(&c->flush);
        source_forget(&c->source);
    }
    c->flush.waits = false;
    c->flush.has_new = false;
    c->flush.flushed = wanted;
    j->request->is_flushed = true;
}

/* Notes that a call gave `taken` bytes. */
static void note_call(struct flush *f, size_t taken, enum pipeline_push then)
{
    if (taken > 0)
        f->has_new = true;
    if (taken > 0 || then == PIPELINE_PUSH_MORE)
        f->flushed = FLUSHED_NOT;
}

size_t job_push(struct job *j, const uint8_t *bytes, size_t len, enum pipeline_push then)
{
    struct pipeline *p = j->pipeline;
    const bool ends = then == PIPELINE_PUSH_END;
    size_t taken = 0;

    j->request->is_flushed = false;
    if (j->state != JOB_OPEN)
        return 0;
    j->pushing = true;
    /* A call that continues the last flush goes through push_flush, which sets `waits` again.  Any
     * other call ends that flush here. */
    j->compression->flush.waits = false;
    if (!j->failed && p->config.rsyncable)
        taken = push_pieces(j, bytes, len, ends);
    else if (!j->failed)
        taken = push_segments(j, bytes, len, ends);
    note_call(&j->compression->flush, taken, then);
    if (!j->failed && taken == len && then != PIPELINE_PUSH_MORE && !ends)
        push_flush(j, then == PIPELINE_PUSH_FULL_FLUSH);
    j->pushing = false;
    if (j->failed || j->request->has_ended)
        job_settle(j);
    return taken;
}
