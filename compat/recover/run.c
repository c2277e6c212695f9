/*
 * run.c - decodes a run (run.h)
 */
#include "config.h"

#include "compat/recover/run.h"

#include <stdlib.h>
#include <string.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "compat/stream.h"
#include "inflate/find.h"
#include "inflate/steps.h"

_Static_assert(GZ_IN_SIZE <= GZ_VIEW_MOST, "a view has that many bytes");
_Static_assert(GZ_VIEW_BACK >= INF_BACK + INF_MARK_SIZE && GZ_VIEW_PAD >= INF_BACK, "room");

/* Lost data is often read as whole sectors of zeros.  Disks have sectors of this many bytes, or of
 * a multiple. */
#define SECTOR ((size_t)512)

/* If a zero byte of the input decodes to more than this many bytes on average, the zeros are data,
 * that is, a long stretch of equal bytes, which has about a thousand bytes of output for each byte
 * of input.  If it decodes to fewer, the zeros count as a hole, because the decoder took them for
 * codes of literals or of short matches, which make only a few bytes each. */
#define HOLE_RATIO_MAX 64

/* The state of decoding a run. */
struct decoding {
    struct gz_runner *r;
    const struct gz_pass *pass;
    struct gz_run *run;
    struct inf_buffers b[2];
    int decoders;        /* decoders in use: 2 while the window has unknown bytes */
    uint64_t known;      /* bytes of output since the last unknown one */
    uint64_t input_end;  /* the byte of the input before which to end */
    uint64_t lent_end;   /* the byte before which the decoders' input ends now */
    uint64_t segment_at; /* bytes before the segment; UINT64_MAX if it began before the run */

    /* The next hole: bytes [hole, hole_end) of the input.  If the two are equal, no hole was found
     * up to that byte. */
    uint64_t hole, hole_end;
    bool in_hole;          /* the decoders were given the hole's bytes */
    struct gz_run at_hole; /* *run as it was when the hole began */
};

bool gz_runner_open(struct gz_runner *r)
{
    for (int i = 0; i < 2; i++) {
        r->raw[i] = inf_open(false);
        r->memory[i] = malloc(GZ_OUT_BACK + GZ_OUT_SIZE + GZ_OUT_SLACK);
        if (r->raw[i] == NULL || r->memory[i] == NULL)
            return false;
    }
    return true;
}

void gz_runner_close(struct gz_runner *r)
{
    for (int i = 0; i < 2; i++) {
        inf_close(r->raw[i]);
        free(r->memory[i]);
    }
}

void gz_segments_add(struct gz_segments *to, const struct gz_segments *more)
{
    to->count += more->count;
    if (to->size == more->size) {
        to->votes += more->votes;
    } else if (to->votes >= more->votes) {
        to->votes -= more->votes;
    } else {
        to->size = more->size;
        to->votes = more->votes - to->votes;
    }
}

/* --- Holes ---------------------------------------------------------------------------------- */

/* Returns the number of zeros at the start of in[0..len). */
static size_t count_zeros(const uint8_t *in, size_t len)
{
    size_t n = 0;

    while (n < len && in[n] == 0)
        n++;
    return n;
}

/* Returns the first byte from `at` on where a sector begins. */
static uint64_t next_sector(uint64_t at)
{
    return (at + SECTOR - 1) / SECTOR * SECTOR;
}

/* Finds the next hole in bytes [from, from + len) of the input, which are in[0..len), after in[-1].
 * Zeros that begin before a sector and end within one are no hole, but data, such as a long stretch
 * of a literal whose code has no other bits. */
static void find_hole(struct decoding *d, const uint8_t *in, uint64_t from, size_t len)
{
    struct gz_view *const view = d->r->view;
    size_t at = (size_t)(next_sector(from) - from), got;
    bool begins_before;

    while (at + SECTOR <= len && count_zeros(in + at, SECTOR) < SECTOR)
        at += SECTOR;
    d->hole = d->hole_end = from + (at < len ? at : len);
    if (at + SECTOR > len)
        return;
    begins_before = in[(ptrdiff_t)at - 1] == 0;
    do {
        const uint8_t *const zeros = gz_view_at(view, d->hole_end, GZ_IN_SIZE, &got);

        at = count_zeros(zeros, got);
        d->hole_end += at;
    } while (at > 0 && at == got && d->hole_end < d->input_end);
    if (begins_before && d->hole_end % SECTOR != 0)
        d->hole = d->hole_end;
}

bool gz_run_is_stored(struct gz_view *view, uint64_t bit)
{
    size_t got;
    const uint8_t *const in = gz_view_at(view, bit / 8, 2, &got);

    return got == 2 && ((in[0] | (unsigned)in[1] << 8) >> (bit % 8) & 6) == 0;
}

/* Whether the zeros are a hole, and not data, because they made little output (HOLE_RATIO_MAX). */
static bool is_hole(const struct decoding *d)
{
    return d->run->made - d->at_hole.made <= HOLE_RATIO_MAX * (d->hole_end - d->hole);
}

/* --- Input ---------------------------------------------------------------------------------- */

/* The byte of the input that the decoders take next. */
static uint64_t position(const struct decoding *d)
{
    return d->b[0].in_base + d->b[0].at;
}

/* Lends the decoders the input from byte `from` on, up to the next hole. */
static void lend(struct decoding *d, uint64_t from)
{
    struct gz_view *const view = d->r->view;
    size_t got;
    const uint8_t *in = gz_view_at(view, from, GZ_IN_SIZE, &got);

    if (got > d->input_end - from)
        got = (size_t)(d->input_end - from);
    while (d->pass->stops_at_holes && !d->in_hole && d->hole == d->hole_end &&
           from + got >= next_sector(d->hole_end) + SECTOR) {
        const uint64_t begin = d->hole_end > from ? d->hole_end : from;

        find_hole(d, in + (begin - from), begin, got - (size_t)(begin - from));
        in = gz_view_at(view, from, got, &got);
    }
    if (d->hole < d->hole_end && !d->in_hole && got > d->hole - from)
        got = (size_t)(d->hole - from);
    else if (d->in_hole && got > d->hole_end - from)
        got = (size_t)(d->hole_end - from);
    d->lent_end = from + got;
    for (int i = 0; i < d->decoders; i++) {
        struct inf_buffers *const b = &d->b[i];

        b->in = in - GZ_VIEW_BACK;
        b->at = GZ_VIEW_BACK;
        b->in_len = GZ_VIEW_BACK + got;
        b->in_base = from - GZ_VIEW_BACK;
        b->in_ends = d->lent_end == d->input_end;
    }
}

/* Lends the decoders more input after they have used theirs.  Returns false if a hole has ended the
 * run. */
static bool go_on(struct decoding *d)
{
    const uint64_t at = position(d);

    if (d->in_hole && d->lent_end == d->hole_end) {
        if (is_hole(d))
            return false;
        d->in_hole = false;
        d->hole = d->hole_end;
    } else if (d->hole < d->hole_end && d->lent_end == d->hole) {
        d->in_hole = !gz_run_is_stored(d->r->view, d->run->block.bit);
        d->at_hole = *d->run;
        if (!d->in_hole)
            d->hole = d->hole_end;
    }
    lend(d, at);
    return true;
}

/* Sets the buffers to the run's start.  Returns false if memory is short. */
static bool begin(struct decoding *d)
{
    const struct gz_start *const start = &d->pass->start;
    const bool has_window = start->kind == GZ_START_BLOCK || start->looks_back;

    d->decoders = has_window && !d->pass->is_trial ? 2 : 1;
    for (int i = 0; i < d->decoders; i++) {
        uint8_t *const memory = d->r->memory[i];

        if (has_window)
            memset(memory, i == 0 ? d->r->fill : ~d->r->fill, GZ_OUT_BACK);
        d->b[i] = (struct inf_buffers){.raw = d->r->raw[i],
                                       .out = memory + GZ_OUT_BACK,
                                       .out_size = GZ_OUT_SIZE,
                                       .window = has_window ? INF_WINDOW : 0,
                                       .stops = true};
    }
    /* inf_begin takes the first byte of the input, so no hole may begin with that byte. */
    d->hole = d->hole_end = start->bit / 8 + 1;
    lend(d, start->bit / 8);
    inf_decide_as(d->r->raw[1], d->r->raw[0]);
    for (int i = 0; i < d->decoders; i++)
        if (!inf_begin(&d->b[i], (unsigned)(start->bit % 8)))
            return false;
    return true;
}

/* --- Output --------------------------------------------------------------------------------- */

/* Counts the unknown bytes, which are the bytes that differ between the two decoders' outputs. */
static void count_unknown(struct decoding *d, const uint8_t *one, const uint8_t *other, size_t n)
{
    if (memcmp(one, other, n) == 0) {
        d->known += n;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const bool is_known = one[i] == other[i];

        d->run->unknown += !is_known;
        d->known = is_known ? d->known + 1 : 0;
    }
}

/* Counts the bytes that the last step has made, and gives them to pass->bytes.  Returns false if
 * they could not be written. */
static bool take_output(struct decoding *d)
{
    const struct inf_buffers *const b = &d->b[0];
    const struct gz_pass *const pass = d->pass;
    const uint8_t *const bytes = b->out + b->out_len - b->made;
    const uint8_t *const other = d->decoders == 2 ? d->b[1].out + d->b[1].out_len - b->made : NULL;
    size_t n = b->made;

    if (pass->bytes != NULL && n > pass->most - d->run->made)
        n = (size_t)(pass->most - d->run->made);
    if (other != NULL)
        count_unknown(d, bytes, other, n);
    if (!pass->is_trial || pass->start.kind == GZ_START_MEMBER)
        d->run->crc = gz_crc32(d->run->crc, bytes, n);
    d->run->made += n;
    return pass->bytes == NULL || n == 0 || pass->bytes(pass->ctx, bytes, other, n);
}

/* Takes note of a mark, which ends a segment.  Returns false if a write failed. */
static bool take_mark(struct decoding *d)
{
    struct gz_run *const run = d->run;

    /* More empty blocks after a mark make no further segments. */
    if (run->last_mark == run->made || (run->made == 0 && d->segment_at == 0))
        return true;
    if (run->first_mark == UINT64_MAX)
        run->first_mark = run->made;
    if (d->segment_at != UINT64_MAX)
        gz_segments_add(&run->segments, &(struct gz_segments){run->made - d->segment_at, 1, 1});
    run->last_mark = d->segment_at = run->made;
    run->marks++;
    return d->pass->mark == NULL || d->pass->mark(d->pass->ctx);
}

/* Takes note of the end of a block.  Returns false if a write failed. */
static bool take_block(struct decoding *d)
{
    const struct inf_buffers *const b = &d->b[0];
    const uint8_t *const next = b->in + (b->bit / 8 - b->in_base);

    d->run->before = d->run->block;
    d->run->block = (struct gz_block_place){b->bit, d->run->made};
    return b->bit % 8 != 0 || !inf_is_mark(next - INF_MARK_SIZE) || take_mark(d);
}

/* Reads the trailer, which starts at the end of the data. */
static enum gz_run_end take_trailer(struct decoding *d)
{
    const uint64_t at = d->b[0].bit / 8;
    size_t got;
    const uint8_t *const trailer = gz_view_at(d->r->view, at, GZ_TRAILER_SIZE, &got);

    d->run->next = at + got;
    if (got < GZ_TRAILER_SIZE)
        return GZ_RUN_CUT;
    d->run->stored_crc = gz_get_u32(trailer);
    d->run->stored_len = gz_get_u32(trailer + 4);
    return GZ_RUN_MEMBER;
}

/* --- Steps ---------------------------------------------------------------------------------- */

/* Lets all decoders do a step.  All take the same step, since they differ only in the bytes that
 * they copy. */
static enum inf_step step(struct decoding *d)
{
    const enum inf_step result = inf_step(&d->b[0]);

    if (d->decoders == 2 &&
        (inf_step(&d->b[1]) != result || d->b[1].made != d->b[0].made ||
         d->b[1].at != d->b[0].at) &&
        result != INF_STEP_NO_MEMORY)
        return INF_STEP_BAD;
    return result;
}

/* Decodes until the run ends, and returns why it did. */
static enum gz_run_end decode(struct decoding *d)
{
    const struct gz_pass *const pass = d->pass;

    for (;;) {
        const enum inf_step result = step(d);

        if (!take_output(d))
            return GZ_RUN_WRITE_ERROR;
        d->run->bit = 8 * position(d);
        if (d->known >= INF_WINDOW)
            d->decoders = 1;
        switch (result) {
        case INF_STEP_FULL:
            for (int i = 0; i < d->decoders; i++)
                inf_slide(&d->b[i]);
            break;
        case INF_STEP_INPUT:
            if (!go_on(d))
                return GZ_RUN_HOLE;
            break;
        case INF_STEP_CUT_OFF:
            return GZ_RUN_CUT;
        case INF_STEP_BLOCK:
            d->run->bit = d->b[0].bit;
            if (!take_block(d))
                return GZ_RUN_WRITE_ERROR;
            if (pass->one_block)
                return GZ_RUN_DONE;
            break;
        case INF_STEP_END:
            d->run->bit = d->b[0].bit;
            return take_trailer(d);
        case INF_STEP_BAD:
            return GZ_RUN_BAD;
        case INF_STEP_NO_MEMORY:
            return GZ_RUN_NO_MEMORY;
        }
        if (d->run->made >= pass->most)
            return GZ_RUN_DONE;
    }
}

/* Returns the units of decoding `bits` bits of input to `made` bytes of output. */
static uint64_t work_of(uint64_t bits, uint64_t made)
{
    return GZ_WORK_INPUT * (bits / 8) + made / GZ_WORK_OUTPUT;
}

void gz_runner_allow(struct gz_runner *r, const struct gz_start *start, uint64_t bit, uint64_t made,
                     uint64_t *allowed)
{
    const uint64_t units = GZ_WORK_PASSES * 2 * work_of(bit - start->bit, made);

    if (units <= *allowed)
        return;
    r->allowed += units - *allowed;
    *allowed = units;
}

void gz_run_decode(struct gz_runner *r, const struct gz_pass *pass, struct gz_run *run)
{
    const struct gz_start *const start = &pass->start;
    const uint64_t limit = pass->limit / 8 + (pass->limit % 8 != 0);
    struct decoding d = {.r = r, .pass = pass, .run = run};

    *run = (struct gz_run){.bit = start->bit,
                           .block.bit = start->bit,
                           .before.bit = start->bit,
                           .first_mark = UINT64_MAX,
                           .last_mark = UINT64_MAX};
    d.input_end = limit < r->view->size ? limit : r->view->size;
    d.segment_at = start->kind == GZ_START_BLOCK ? UINT64_MAX : 0;
    if (start->bit / 8 >= d.input_end)
        run->end = GZ_RUN_CUT;
    else
        run->end = begin(&d) ? decode(&d) : GZ_RUN_NO_MEMORY;
    r->work += (work_of(run->bit - start->bit, run->made) + GZ_WORK_DECODING) *
               (uint64_t)(pass->is_trial ? 1 : 2);
    if (d.in_hole &&
        (run->end == GZ_RUN_HOLE || run->end == GZ_RUN_BAD || run->end == GZ_RUN_CUT)) {
        *run = d.at_hole;
        run->end = GZ_RUN_HOLE;
        run->bit = 8 * d.hole;
        run->hole_end = d.hole_end;
    }
}
