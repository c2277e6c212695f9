/*
 * recover.c - decompresses what is left of a damaged .gz (recover.h)
 *
 * The recovery goes from leg to leg.  A leg has a run (run.h) and the facts about what follows the
 * run in the input: another run, at once or after damage, or nothing.  A leg is written only after
 * the next leg was examined, because both legs together tell how much data is lost between them.
 */
#include "config.h"

#include "compat/recover/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/gzip.h"
#include "compat/recover/run.h"
#include "compat/recover/starts.h"
#include "compat/stream.h"

/* Limits for the length of lost data.  A byte of lost input is believed to have made at most
 * LOST_RATIO times as many bytes of output as a byte of the input before it, and LOST_LEAST more.
 * If a trailer's length says more, the trailer counts as noise.  With larger values, noise is
 * believed more often, and a gap is then filled with far too many bytes.  With smaller values, a
 * right length is not believed if the lost data was much more compressible than the data before
 * it. */
#define LOST_RATIO 8
#define LOST_LEAST 32

/* A byte of DEFLATE data makes fewer bytes of output than this. */
#define RATIO_MAX 1040

/* A segment that has too many bytes is cut, so that the data after it has its right place.  But if
 * a mark between two segments is lost, they look like one, and nothing must be cut.  So a segment
 * with at least seven eighths of a segment too many, or with EXCESS_MAX bytes too many, counts as
 * two.  With a larger EXCESS_MAX, more memory is needed; with a smaller one, noise in a large
 * segment may be taken for a segment. */
#define EXCESS_MAX ((uint64_t)512 << 10)

/* If bytes of a stored block were deleted, its data ends before the place that its length gives,
 * and the next block begins before that place, too.  So a search for a start begins this many bits
 * before the end that the length gives (search_from). */
#define STORED_DOUBT (8 * (uint64_t)1024)

/* A run of the decoder (struct gz_run), and the facts about what follows it in the input. */
struct leg {
    bool is_empty; /* there is no run, because this leg is the input's start */
    struct gz_start start;
    struct gz_run run;
    uint64_t limit;  /* the bit of the input before which the run ends at the latest */
    bool ends;       /* the run ends with its member's trailer */
    bool is_right;   /* the run is a whole member with the right CRC */
    bool has_next;   /* another run follows, from `next` on */
    bool is_damaged; /* damage follows, up to byte damage_end of the input */
    enum gz_damage damage;
    uint64_t damage_end;
    struct gz_start next;
    uint64_t allowed; /* what the run has added to the budget (gz_runner_allow) */
};

/* The state of a recovery. */
struct recovery {
    const struct gz_recover_io *io;
    struct gz_recovered *sums;
    struct gz_view view;
    struct gz_runner runner;
    struct gz_starts *starts;
    bool out_of_memory;

    uint64_t out; /* bytes written */

    /* The member that is being written: */
    uint64_t member_out;         /* bytes of the member that were written */
    struct gz_segments segments; /* the lengths of the member's segments, in the legs examined */
    uint64_t gaps_in;            /* bytes of input where data of unknown length is lost */

    /* The segment that is being written: */
    bool is_aligned;     /* in_segment is known to count from the segment's start */
    uint64_t in_segment; /* bytes of the segment that were written */
    uint64_t size;       /* the length that the segment should have; 0 if any length is right */
    /* held[0..held_len): bytes that are not written yet, because the segment has its length without
     * them.  `held_unknown` of them are unknown. */
    uint8_t *held;
    size_t held_len, held_unknown;
};

/* --- Examining a leg ------------------------------------------------------------------------ */

static void tell(struct recovery *r, const struct gz_finding *finding)
{
    r->io->tell(r->io->ctx, finding);
}

/* Decodes the leg's run without writing it. */
static void survey(struct recovery *r, struct leg *leg, bool stops_at_holes)
{
    struct gz_pass pass = {.start = leg->start,
                           .limit = leg->limit,
                           .most = UINT64_MAX,
                           .stops_at_holes = stops_at_holes};
    struct gz_run run;

    gz_run_decode(&r->runner, &pass, &leg->run);
    if (leg->run.end == GZ_RUN_HOLE) {
        /* Decode again exactly as write_run will do. */
        pass.limit = leg->limit = leg->run.bit;
        pass.stops_at_holes = false;
        gz_run_decode(&r->runner, &pass, &run);
        run.hole_end = leg->run.hole_end;
        run.bit = leg->run.bit;
        run.end = run.end == GZ_RUN_NO_MEMORY ? run.end : GZ_RUN_HOLE;
        leg->run = run;
    }
    r->out_of_memory |= leg->run.end == GZ_RUN_NO_MEMORY;
}

/* Returns the first byte from `at` on that is not zero, or the input's end. */
static uint64_t skip_zeros(struct recovery *r, uint64_t at)
{
    size_t got = 1, zeros = 1;

    for (; zeros == got && at < r->view.size; at += zeros) {
        const uint8_t *const in = gz_view_at(&r->view, at, GZ_IN_SIZE, &got);

        for (zeros = 0; zeros < got && in[zeros] == 0;)
            zeros++;
    }
    return at;
}

/* Searches for the next start, from bit `from` on.  `damage` is the reason for which the input
 * before that start is lost.  `except` is the argument of gz_starts_find. */
static void find_next(struct recovery *r, struct leg *leg, enum gz_damage damage, uint64_t from,
                      const struct gz_run *except)
{
    leg->is_damaged = true;
    leg->damage = damage;
    leg->has_next = gz_starts_find(r->starts, from, except, &leg->next);
    leg->damage_end = leg->has_next ? leg->next.at : r->view.size;
}

/* Adds to the budget for the run up to bit `bit` of the input and `made` bytes of output. */
static void allow(struct recovery *r, struct leg *leg, uint64_t bit, uint64_t made)
{
    gz_runner_allow(&r->runner, &leg->start, bit, made, &leg->allowed);
}

/* Finds out what is at byte `at`, where a member should start or the input should end. */
static void find_member(struct recovery *r, struct leg *leg, uint64_t at)
{
    leg->is_damaged = false;
    leg->has_next = at < r->view.size && gz_starts_member(&r->view, at, &leg->next);
    if (!leg->has_next && skip_zeros(r, at) < r->view.size)
        find_next(r, leg, GZ_DAMAGE_HEADER, 8 * at, NULL);
}

/* Returns the bit from which to search for a start after an error in the run.  Decoding may notice
 * the error late, a block or two after the damage.  So the search begins at the last block but
 * one.  A stored block is an exception, because it may contain a .gz.  Its end is known, unless
 * bytes were inserted or deleted, so the search begins only STORED_DOUBT bits before that end. */
static uint64_t search_from(struct recovery *r, const struct gz_run *run)
{
    uint64_t from = run->before.bit;

    if (run->end == GZ_RUN_HOLE)
        return 8 * run->hole_end;
    if (!gz_runner_may(&r->runner, run->bit))
        return run->bit;
    if (run->block.bit > from + STORED_DOUBT && gz_run_is_stored(&r->view, from))
        from = run->block.bit - STORED_DOUBT;
    if (run->bit > run->block.bit + STORED_DOUBT && gz_run_is_stored(&r->view, run->block.bit))
        from = run->bit - STORED_DOUBT;
    return from;
}

/* Finds the next start after an error in the leg's run.  If that start is before the error,
 * shortens the run, so that it ends there. */
static void find_after_error(struct recovery *r, struct leg *leg)
{
    const struct gz_run *const run = &leg->run;
    const enum gz_damage damage = run->end == GZ_RUN_HOLE  ? GZ_DAMAGE_ZEROS
                                  : run->end == GZ_RUN_CUT ? GZ_DAMAGE_CUT
                                                           : GZ_DAMAGE_DATA;
    const uint64_t from = search_from(r, run);
    uint64_t next;

    find_next(r, leg, damage, from > leg->start.bit ? from : leg->start.bit + 1, run);
    next = leg->next.kind == GZ_START_MEMBER ? 8 * leg->next.at : leg->next.bit;
    if (leg->has_next && next < run->bit) {
        leg->limit = next;
        survey(r, leg, false);
    }
}

/* If damaged data refers to bytes before the leg's start, decoding may have ended for that reason,
 * though the data goes on.  gunzip decodes on, with any bytes in place of those.  So decodes again
 * with unknown bytes before the start, and takes the result if it goes further. */
static void look_back(struct recovery *r, struct leg *leg)
{
    const struct gz_run run = leg->run;

    if (run.end != GZ_RUN_BAD || leg->start.kind == GZ_START_BLOCK || run.made >= INF_WINDOW)
        return;
    leg->start.looks_back = true;
    survey(r, leg, true);
    if (leg->run.bit > run.bit || leg->run.end == GZ_RUN_NO_MEMORY)
        return;
    leg->start.looks_back = false;
    leg->run = run;
    leg->limit = UINT64_MAX;
}

/* Examines the leg that starts at `start`. */
static void examine(struct recovery *r, struct leg *leg, const struct gz_start *start)
{
    *leg = (struct leg){.start = *start, .limit = UINT64_MAX};
    survey(r, leg, start->kind != GZ_START_MEMBER || !gz_runner_may(&r->runner, start->bit));
    /* With a hole, the length would hardly be right. */
    if (start->kind == GZ_START_MEMBER && !gz_run_has_crc(&leg->run) &&
        !(leg->run.end == GZ_RUN_MEMBER && gz_run_has_length(&leg->run)))
        survey(r, leg, true);
    look_back(r, leg);
    leg->is_right = gz_run_has_crc(&leg->run);
    leg->ends = leg->run.end == GZ_RUN_MEMBER && (leg->is_right || gz_run_has_length(&leg->run) ||
                                                  gz_starts_end(&r->view, leg->run.next));
    /* If a start is found before the error, the run ends there, but not before its last block but
     * one.  A run before a hole or a trailer stays as it is. */
    if (leg->ends || leg->run.end == GZ_RUN_HOLE)
        allow(r, leg, leg->run.bit, leg->run.made);
    else
        allow(r, leg, leg->run.before.bit, leg->run.before.made);
    if (leg->ends)
        find_member(r, leg, leg->run.next);
    else
        find_after_error(r, leg);
}

/* Makes the first leg, which has no run, but only the facts about the input's start. */
static void examine_start(struct recovery *r, struct leg *leg)
{
    *leg = (struct leg){.is_empty = true, .ends = true};
    find_member(r, leg, 0);
}

/* --- How much is lost ----------------------------------------------------------------------- */

/* Returns the length that the member's segments should have; 0 if any length is right. */
static uint64_t segment_size(const struct recovery *r, const struct leg *leg)
{
    return leg->is_right ? 0 : gz_segments_size(&r->segments);
}

/* Returns how many bytes the run's output will have after the run's first mark, or in all if the
 * run has no mark.  If `size` is not 0, all whole segments are cut or filled up to that length. */
static uint64_t length_after_mark(const struct gz_run *run, uint64_t size)
{
    if (run->marks == 0)
        return run->made;
    return (size > 0 ? (run->marks - 1) * size : run->last_mark - run->first_mark) + run->made -
           run->last_mark;
}

/* Returns how many bytes of the leg's last segment come before the leg's end.  `leg` is the next
 * leg to be written. */
static uint64_t segment_at_end(const struct recovery *r, const struct leg *leg)
{
    return leg->run.marks > 0 ? leg->run.made - leg->run.last_mark : r->in_segment + leg->run.made;
}

/* Returns how many bytes of the leg's member come before the leg's end.  `leg` is the next leg to
 * be written. */
static uint64_t member_at_end(const struct recovery *r, const struct leg *leg)
{
    const uint64_t size = segment_size(r, leg), after = length_after_mark(&leg->run, size);

    if (leg->run.marks == 0)
        return r->member_out + after;
    if (size > 0 && r->is_aligned)
        return r->member_out - r->in_segment +
               (r->in_segment + leg->run.first_mark > 0 ? size : 0) + after;
    return r->member_out + leg->run.first_mark + after;
}

/* Returns the number of doubtful bytes (recover.h) at the end of the leg's output. */
static uint64_t doubtful(const struct leg *leg)
{
    return leg->ends || leg->run.end == GZ_RUN_HOLE || leg->run.made < leg->run.before.made
               ? 0
               : leg->run.made - leg->run.before.made;
}

/* Returns the number of bytes of the input that are damaged after the leg. */
static uint64_t damaged_in(const struct leg *leg)
{
    const struct gz_run *const run = &leg->run;
    const uint64_t from = leg->ends                 ? run->next
                          : run->end == GZ_RUN_HOLE ? run->bit / 8
                                                    : run->before.bit / 8;

    return leg->damage_end > from ? leg->damage_end - from : 0;
}

/* Returns the most bytes of output that the damaged input after the leg is believed to have
 * made. */
static double lost_most(const struct recovery *r, const struct leg *leg)
{
    const uint64_t in = leg->run.bit / 8 - leg->start.at;
    const double ratio = in > 0 ? (double)leg->run.made / (double)in : 1;
    const double most = LOST_RATIO * ratio + LOST_LEAST;

    return (most < RATIO_MAX ? most : RATIO_MAX) * (double)(damaged_in(leg) + r->gaps_in);
}

/* Interprets a difference of lengths modulo 2^32.  If it can be the number of bytes that are lost
 * after the leg (at most lost_most), sets *lost to that number.  If it can be the number of bytes
 * that the leg has too many (at most its doubtful bytes), sets *lost to minus that number.
 * Otherwise returns false. */
static bool interpret(const struct recovery *r, const struct leg *leg, uint32_t difference,
                      int64_t *lost)
{
    const double most = lost_most(r, leg);

    if (difference <= most && most <= UINT32_MAX)
        *lost = difference;
    else if (-difference <= doubtful(leg))
        *lost = -(int64_t)-difference;
    else
        return false;
    return true;
}

/* Computes *lost from the length of segments.  The leg's last segment has `in_segment` bytes.  This
 * is possible only if the next leg starts at a mark or has a mark, because a segment begins after a
 * mark.  Returns false if *lost cannot be known in this way. */
static bool lost_in_segment(const struct recovery *r, const struct leg *leg, const struct leg *next,
                            uint64_t in_segment, int64_t *lost)
{
    const uint64_t size = gz_segments_size(&r->segments), in = leg->run.bit / 8 - leg->start.at;
    const int64_t least = -(int64_t)doubtful(leg);
    const bool at_mark = next->start.kind == GZ_START_MARK;

    if (size == 0 || size > INT32_MAX || (!at_mark && next->run.marks == 0) ||
        (!r->is_aligned && leg->run.marks == 0))
        return false;
    *lost = (int64_t)size - (int64_t)in_segment - (at_mark ? 0 : (int64_t)next->run.first_mark);
    if (*lost < least)
        *lost += (least - *lost + (int64_t)size - 1) / (int64_t)size * (int64_t)size;
    /* Whole segments may be lost, too.  To guess how many, assume that a byte of the lost input
     * made as much output as a byte of the run's input. */
    if (in > 0 && leg->damage_end > leg->run.bit / 8) {
        const uint64_t took = leg->damage_end - leg->run.bit / 8;
        const double guess = (double)took * (double)leg->run.made / (double)in;
        const double more = (guess - (double)*lost) / (double)size;

        if (more >= 0.5 && more < UINT32_MAX)
            *lost += (int64_t)(more + 0.5) * (int64_t)size;
    }
    return *lost <= (int64_t)(RATIO_MAX * damaged_in(leg));
}

/* Sets *lost to the number of bytes of output that are lost between `leg` and `next`, the leg after
 * it.  At the end of `leg`, its member has `at_end` bytes, and the member's last segment has
 * `in_segment` bytes.  The number is negative if `leg` has too many bytes.  Returns false if the
 * number is not known. */
static bool find_lost(struct recovery *r, const struct leg *leg, const struct leg *next,
                      uint64_t at_end, uint64_t in_segment, int64_t *lost)
{
    const uint8_t *length;
    size_t got;

    if (!leg->has_next)
        return false;
    if (next->start.kind == GZ_START_MEMBER) {
        if (leg->ends || next->start.at < 4)
            return false;
        length = gz_view_at(&r->view, next->start.at - 4, 4, &got);
        return interpret(r, leg, gz_get_u32(length) - (uint32_t)at_end, lost);
    }
    if (next->ends) {
        const struct gz_segments *const segments = leg->ends ? &next->run.segments : &r->segments;
        const uint64_t size = next->is_right ? 0 : gz_segments_size(segments);
        const uint64_t after =
            length_after_mark(&next->run, size) + (next->run.marks > 0 ? next->run.first_mark : 0);
        const uint64_t before = leg->ends ? 0 : at_end;

        if (interpret(r, leg, next->run.stored_len - (uint32_t)(before + after), lost))
            return true;
    }
    return !leg->ends && lost_in_segment(r, leg, next, in_segment, lost);
}

/* --- Writing -------------------------------------------------------------------------------- */

/* Writes bytes, and counts them. */
static bool put(struct recovery *r, const uint8_t *bytes, size_t len)
{
    if (len > 0 && r->io->write(r->io->ctx, bytes, len) != 0)
        return false;
    r->out += len;
    r->member_out += len;
    r->in_segment += len;
    return true;
}

/* Writes `count` fill bytes. */
static bool put_fill(struct recovery *r, uint64_t count)
{
    uint8_t bytes[2048];

    memset(bytes, r->io->fill, sizeof(bytes));
    r->sums->filled += count;
    for (; count > 0; count -= count < sizeof(bytes) ? count : sizeof(bytes))
        if (!put(r, bytes, count < sizeof(bytes) ? (size_t)count : sizeof(bytes)))
            return false;
    return true;
}

/* Writes the bytes that were held back. */
static bool put_held(struct recovery *r)
{
    const size_t len = r->held_len;

    r->sums->unknown += r->held_unknown;
    r->held_len = r->held_unknown = 0;
    return put(r, r->held, len);
}

/* Holds back the next bytes of a segment that has its length already, as many as there is room for.
 * If there is no room, the segment has far too many bytes: a mark is lost, and the held bytes begin
 * another segment.  Sets *len to the number of bytes taken, which may be 0. */
static bool hold(struct recovery *r, const uint8_t *bytes, const uint8_t *other, size_t *len)
{
    const uint64_t most = r->size - r->size / 8 < EXCESS_MAX ? r->size - r->size / 8 : EXCESS_MAX;
    const size_t room = (size_t)most - r->held_len;

    if (room == 0) {
        *len = 0;
        r->in_segment = 0;
        return put_held(r);
    }
    *len = *len < room ? *len : room;
    memcpy(r->held + r->held_len, bytes, *len);
    r->held_len += *len;
    for (size_t i = 0; other != NULL && i < *len; i++)
        r->held_unknown += bytes[i] != other[i];
    return true;
}

/* The callbacks of a pass that writes: */

static bool write_bytes(void *ctx, const uint8_t *bytes, const uint8_t *other, size_t len)
{
    struct recovery *const r = ctx;
    const bool has_size = r->size > 0 && r->is_aligned;
    size_t n = len;

    for (; len > 0; len -= n, bytes += n, other = other != NULL ? other + n : NULL) {
        const uint64_t left = !has_size                 ? UINT64_MAX
                              : r->in_segment < r->size ? r->size - r->in_segment
                                                        : 0;

        n = len < left ? len : (size_t)left;
        if (n == 0) {
            n = len;
            if (!hold(r, bytes, other, &n))
                return false;
            continue;
        }
        for (size_t i = 0; other != NULL && i < n; i++)
            r->sums->unknown += bytes[i] != other[i];
        if (!put(r, bytes, n))
            return false;
    }
    return true;
}

/* Ends a segment.  Fills it up if it is too short, and cuts it if it is too long. */
static bool write_mark(void *ctx)
{
    struct recovery *const r = ctx;
    const uint64_t length = r->in_segment + r->held_len;
    bool ok = true;

    /* A length of 0 means that a fill has ended the segment already. */
    if (r->size > 0 && r->is_aligned && length > 0 && length != r->size) {
        struct gz_finding found = {.kind = GZ_FOUND_SEGMENT,
                                   .damage = GZ_DAMAGE_DATA,
                                   .out = r->out - r->in_segment,
                                   .length = length};

        if (length < r->size)
            ok = put_fill(r, r->size - length);
        found.out_end = r->out;
        tell(r, &found);
    }
    r->is_aligned = true;
    r->in_segment = r->held_len = r->held_unknown = 0;
    return ok;
}

/* Writes the leg's run without its last `without` bytes.  Bad sectors may be read as other bytes
 * than before.  So sets leg->is_right to false if the run is not the one that was examined. */
static bool write_run(struct recovery *r, struct leg *leg, uint64_t without)
{
    const struct gz_pass pass = {.start = leg->start,
                                 .limit = leg->limit,
                                 .most = without > 0 ? leg->run.made - without : UINT64_MAX,
                                 .bytes = write_bytes,
                                 .mark = write_mark,
                                 .ctx = r};
    struct gz_run written;

    if (pass.most == 0)
        return true;
    r->size = segment_size(r, leg);
    gz_run_decode(&r->runner, &pass, &written);
    leg->is_right &= gz_run_has_crc(&written) && written.stored_crc == leg->run.stored_crc;
    allow(r, leg, written.bit, written.made);
    r->out_of_memory |= written.end == GZ_RUN_NO_MEMORY;
    return written.end != GZ_RUN_WRITE_ERROR && written.end != GZ_RUN_NO_MEMORY && put_held(r);
}

/* If the leg, which was just written, ends its member, and the member's last segment has too few
 * bytes, fills up the segment.  The last segment may have any length.  But if it would be longer
 * than the others, the bytes are not missing there, or not all of them.  If the member has only one
 * other segment, nothing tells which of the two has the wrong length. */
static bool fill_last(struct recovery *r, const struct leg *leg)
{
    const uint32_t lacks = leg->run.stored_len - (uint32_t)r->member_out;
    struct gz_finding found = {.kind = GZ_FOUND_SEGMENT,
                               .damage = GZ_DAMAGE_DATA,
                               .out = r->out - r->in_segment,
                               .length = r->in_segment};

    if (!leg->ends || leg->is_right || r->size == 0 || !r->is_aligned || r->gaps_in > 0 ||
        r->segments.count < 2 || lacks == 0 || lacks + r->in_segment > r->size)
        return true;
    if (!put_fill(r, lacks))
        return false;
    found.out_end = r->out;
    tell(r, &found);
    return true;
}

/* Sets what is wrong with the leg, if it is a whole member. */
static void judge_member(struct recovery *r, const struct leg *leg, struct gz_finding *found)
{
    found->damage = leg->is_right ? GZ_DAMAGE_NONE : leg->damage;
    if (!leg->ends || leg->start.kind != GZ_START_MEMBER ||
        (leg->is_right && gz_run_has_length(&leg->run)))
        return;
    found->damage = leg->is_right ? GZ_DAMAGE_LENGTH : GZ_DAMAGE_CRC;
    found->length = r->member_out;
    found->stored_len = leg->run.stored_len;
    r->sums->damages++;
    r->sums->gaps += !leg->is_right && (uint32_t)r->member_out != leg->run.stored_len;
}

/* Writes the leg's run without its last `without` bytes, and tells the caller about it. */
static bool write_leg(struct recovery *r, struct leg *leg, uint64_t without)
{
    struct gz_finding found = {.in = leg->start.at,
                               .in_end = leg->ends ? leg->run.next : (leg->run.bit + 7) / 8,
                               .out = r->out};
    const uint64_t filled = r->sums->filled, unknown = r->sums->unknown, in_doubt = doubtful(leg);
    uint64_t known;

    if (!write_run(r, leg, without) || !fill_last(r, leg))
        return false;
    found.kind = leg->is_right ? GZ_FOUND_VERIFIED : GZ_FOUND_UNVERIFIED;
    found.out_end = r->out;
    found.unknown = r->sums->unknown - unknown;
    found.filled = r->sums->filled - filled;
    found.doubtful = in_doubt > without ? in_doubt - without : 0;
    known = r->out - found.out - found.unknown - found.filled;
    if (leg->is_right)
        r->sums->verified += known;
    else
        r->sums->unverified += known;
    judge_member(r, leg, &found);
    tell(r, &found);
    return true;
}

/* What is known about the data that is lost after a leg. */
struct loss {
    bool is_known;
    int64_t lost; /* bytes of output; negative: the leg has too many bytes */
    uint64_t cut; /* bytes too many that are not written */
};

/* Fills the gap after the leg, if the gap's length is known, and tells the caller about the gap. */
static bool write_gap(struct recovery *r, const struct leg *leg, const struct loss *loss)
{
    const int64_t lost = loss->lost + (int64_t)loss->cut;
    struct gz_finding found = {.kind = GZ_FOUND_LOST,
                               .damage = leg->damage,
                               .in = leg->ends ? leg->run.next : leg->run.bit / 8,
                               .in_end = leg->damage_end,
                               .out = r->out,
                               .lost = GZ_LOST_UNKNOWN};

    if (found.in > found.in_end)
        found.in = found.in_end;
    if (loss->is_known) {
        found.lost = lost > 0 ? (uint64_t)lost : 0;
        found.excess = lost < 0 ? (uint64_t)-lost : 0;
        found.gathers = lost > 0 && r->gaps_in > 0;
    }
    if (loss->is_known && lost > 0) {
        const uint64_t size = gz_segments_size(&r->segments);

        if (!put_fill(r, (uint64_t)lost))
            return false;
        if (size > 0)
            r->in_segment %= size;
    }
    found.out_end = r->out;
    r->sums->damages++;
    if (leg->has_next && (!loss->is_known || lost < 0)) {
        r->sums->gaps++;
        r->gaps_in += loss->is_known ? 0 : damaged_in(leg);
        r->is_aligned = false;
    }
    tell(r, &found);
    return true;
}

/* --- All of it ------------------------------------------------------------------------------ */

/* Begins to write the member to which the leg belongs. */
static void begin_member(struct recovery *r, const struct leg *leg)
{
    r->member_out = r->gaps_in = r->in_segment = 0;
    r->is_aligned = true;
    r->segments = leg->run.segments;
}

/* Writes a leg and the gap after it.  `next` is the leg after the gap, if there is one. */
static bool write_both(struct recovery *r, struct leg *leg, const struct leg *next)
{
    const uint64_t at_end = member_at_end(r, leg);
    struct loss loss = {0};

    if (leg->is_damaged && leg->has_next)
        loss.is_known = find_lost(r, leg, next, at_end, segment_at_end(r, leg), &loss.lost);
    /* What is decoded up to the first damage is not cut, because gunzip writes it, too.  Segments
     * are an exception: their places are known from each other. */
    if (loss.lost < 0 && (r->sums->damages > 0 || gz_segments_size(&r->segments) > 0))
        loss.cut = (uint64_t)-loss.lost;
    if (!leg->is_empty && !write_leg(r, leg, loss.cut))
        return false;
    /* If a mark is lost, the segments' lengths were not those that were expected. */
    if (leg->is_damaged && leg->has_next && !leg->ends && r->member_out + loss.cut != at_end) {
        loss.is_known = find_lost(r, leg, next, r->member_out, r->in_segment, &loss.lost);
        loss.cut = 0;
    }
    /* If the leg ends its member, the gap belongs to the next member. */
    if (leg->ends)
        begin_member(r, next);
    if (leg->is_damaged && !write_gap(r, leg, &loss))
        return false;
    if (!leg->ends && next->start.kind == GZ_START_MEMBER)
        begin_member(r, next);
    return true;
}

/* Recovers the input, leg by leg. */
static enum gz_status recover(struct recovery *r)
{
    struct leg legs[2] = {{0}}, *leg = &legs[0], *next = &legs[1];

    examine_start(r, leg);
    if (!leg->has_next)
        return GZ_NOT_GZIP;
    for (struct leg *before;; leg = next, next = before) {
        before = leg;
        if (leg->has_next)
            examine(r, next, &leg->next);
        if (r->out_of_memory)
            return GZ_NO_MEMORY;
        if (leg->has_next && !leg->ends && next->start.kind != GZ_START_MEMBER)
            gz_segments_add(&r->segments, &next->run.segments);
        if (!write_both(r, leg, next))
            return r->out_of_memory ? GZ_NO_MEMORY : GZ_WRITE_ERROR;
        r->sums->passed = gz_starts_passed(r->starts);
        if (!leg->has_next)
            return r->sums->damages > 0 ? GZ_BAD_DATA : GZ_OK;
    }
}

enum gz_status gz_recover(const struct gz_recover_io *io, struct gz_recovered *sums)
{
    struct recovery r = {.io = io,
                         .sums = sums,
                         .view = {.read_at = io->read_at, .ctx = io->ctx, .size = io->size},
                         .runner = {.fill = io->fill},
                         .is_aligned = true};
    enum gz_status status = GZ_NO_MEMORY;
    int error;

    *sums = (struct gz_recovered){0};
    r.runner.view = &r.view;
    if (gz_view_open(&r.view) && gz_runner_open(&r.runner) &&
        (r.starts = gz_starts_new(&r.runner)) != NULL && (r.held = malloc(EXCESS_MAX)) != NULL)
        status = recover(&r);
    error = errno;
    free(r.held);
    gz_starts_free(r.starts);
    gz_runner_close(&r.runner);
    gz_view_close(&r.view);
    errno = error;
    return status;
}
