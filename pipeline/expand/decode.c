/*
 * decode.c - the CPU engine: one thread decodes one task, block by block (engine.h)
 *
 * After a mark or a member's header, decoding needs no earlier data, so inflate/raw.h makes bytes.
 * Elsewhere, inflate/symbols.h makes symbols until the last INF_WINDOW symbols are all bytes.
 * These bytes are a known window, so decoding continues with bytes.  Bytes take half the time and
 * half the space of symbols.  Most data reaches this point after about 100 KB.
 *
 * A paused task continues at the end of its last run.  Any thread can do that.  The thread that has
 * decoded the task keeps its decoder's state (struct paused).  Another thread, or the same thread
 * after a different task, must start a decoder at that place again.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/bgzf.h"
#include "compat/check.h"
#include "compat/gzip.h"
#include "inflate/find.h"
#include "inflate/steps.h"
#include "pipeline/expand/engine.h"
#include "pipeline/expand/tools.h"

/* The most runs that a task may have.  The input may have any number of empty members, and each
 * makes a run. */
#define RUNS_MAX 1000

/* Decoding stops if a run has at least this many bytes of input, and its output is less than a
 * quarter of its input.  Such a run has many empty or nearly empty blocks.  The consumer can decode
 * such blocks faster than it can accept the run. */
#define POOR_INPUT ((uint64_t)16 << 10)

/* Decoding stops if the members of a task have, on average, fewer bytes of output than this.  The
 * consumer does not accept runs that are so short (is_worth_it in consumer.c). */
#define POOR_MEMBER ((size_t)16 << 10)

/* A task that is being decoded. */
struct decoder {
    struct expand_tools *t;
    struct input *input;
    struct decode_task *task;
    struct decoded_run *run; /* the task's last run, to which decoding appends */
};

/* --- Runs ----------------------------------------------------------------------------------- */

/* Adds a run that starts at bit `start` of the input, with its bytes at `bytes`.  Returns false if
 * memory is short. */
static bool add_run(struct decoder *d, uint64_t start, uint8_t *bytes)
{
    struct decode_task *task = d->task;
    struct decoded_run *run;

    if (task->count == task->capacity) {
        const size_t capacity = task->capacity > 0 ? 2 * task->capacity : 4;
        struct decoded_run **runs = realloc(task->runs, capacity * sizeof(*runs));

        if (runs == NULL)
            return false;
        task->runs = runs;
        task->capacity = capacity;
    }
    run = calloc(1, sizeof(*run));
    if (run == NULL)
        return false;
    run->start = run->end = start;
    run->bytes = bytes;
    run->check = gz_check_start(task->check);
    task->runs[task->count++] = run;
    d->run = run;
    return true;
}

void task_drop_run(struct decode_task *task)
{
    free(task->runs[--task->count]);
}

void task_free_runs(struct decode_task *task)
{
    while (task->count > 0)
        task_drop_run(task);
    free(task->runs);
    task->runs = NULL;
    task->capacity = 0;
    task->end = DECODE_GOES_ON;
}

/* --- Input ---------------------------------------------------------------------------------- */

static void view_begin(struct view *v, uint64_t offset)
{
    v->offset = offset;
    v->len = 0;
    v->ends = false;
}

/* Makes the view include byte `offset` of the input, or begin there.  Returns the byte's index in
 * the view. */
static size_t view_seek(struct view *v, uint64_t offset)
{
    if (offset < v->offset || offset >= v->offset + v->len)
        view_begin(v, offset);
    return (size_t)(offset - v->offset);
}

/* Reads more input into the view.  Keeps in[*keep..len) and the INF_BACK bytes before it, but moves
 * them to the view's start.  Sets *keep to their new index.  Returns false if nothing was read,
 * because no more input has come, or because the kept bytes fill the view. */
static bool view_more(struct input *input, struct view *v, size_t *keep)
{
    const size_t from = *keep > INF_BACK ? *keep - INF_BACK : 0;
    size_t n;

    if (v->ends)
        return false;
    memmove(v->in, v->in + from, v->len - from);
    v->offset += from;
    v->len -= from;
    *keep -= from;
    if (v->len == VIEW_SIZE)
        return false;
    n = input_read_at(input, v->offset + v->len, v->in + v->len, VIEW_SIZE - v->len);
    v->ends = n < VIEW_SIZE - v->len;
    v->len += n;
    memset(v->in + v->len, 0, VIEW_PAD);
    return n > 0;
}

/* --- When to stop --------------------------------------------------------------------------- */

/* Whether the run has too little output for its input (POOR_INPUT).  `made` is the number of the
 * run's symbols and bytes. */
static bool is_poor(const struct decoded_run *run, size_t made)
{
    const uint64_t in = (run->end - run->start) / 8;

    return in >= POOR_INPUT && made < in / 4;
}

/* Whether the task's members up to d->run have too little output (POOR_MEMBER). */
static bool are_poor(const struct decoder *d)
{
    const struct decode_task *task = d->task;
    const size_t made = (size_t)(d->run->bytes + d->run->len - (task->buffer + BUFFER_BEFORE));

    return (d->run->end - task->start) / 8 >= POOR_INPUT && made / task->count < POOR_MEMBER &&
           !task->takes_all;
}

/* Whether the task ends at `bit`.  It does if a mark ends there, and if the output up to the
 * address `out` is enough. */
static bool is_enough(const struct decoder *d, uint64_t bit, const uint8_t *out)
{
    const struct view *v = &d->t->view;
    const struct decode_task *task = d->task;
    const uint64_t place = bit / 8 - v->offset;

    return bit % 8 == 0 && bit / 8 < task->to && place >= INF_MARK_SIZE &&
           (size_t)(out - (task->buffer + BUFFER_BEFORE)) >= task->enough &&
           inf_is_mark(v->in + place - INF_MARK_SIZE);
}

/* Returns whether decoding ends or goes on at `bit`, where a block starts.  Sets task->at. */
static enum decode_end end_at(const struct decoder *d, uint64_t bit)
{
    if (atomic_load_explicit(&d->task->is_cancelled, memory_order_relaxed))
        return DECODE_STOPPED;
    d->task->at = bit;
    return bit >= d->task->until ? DECODE_PAUSED : DECODE_GOES_ON;
}

/* --- Symbols -------------------------------------------------------------------------------- */

static uint16_t *symbols_of(const struct decode_task *task)
{
    return (uint16_t *)(void *)(task->buffer + BUFFER_BEFORE);
}

/* Whether the run continues with symbols.  While it does, `bytes` points just after the symbols.
 * begin_bytes moves `bytes` on, to leave space for a window. */
static bool is_in_symbols(const struct decoder *d)
{
    return d->task->kind == START_IN_DATA && d->task->count == 1 && !d->run->ends_stream &&
           d->run->bytes == (const uint8_t *)(symbols_of(d->task) + d->run->symbols);
}

/* Copies the last INF_WINDOW symbols, which must all be bytes, as the window before run->bytes.
 * Returns false if the buffer has no room for the window and some bytes after it. */
static bool begin_bytes(const struct decoder *d)
{
    struct decoded_run *run = d->run;
    const uint16_t *last = symbols_of(d->task) + run->symbols - INF_WINDOW;

    if (d->task->size - run->symbols * sizeof(*last) < 2 * INF_WINDOW)
        return false;
    for (size_t i = 0; i < INF_WINDOW; i++)
        run->bytes[i] = (uint8_t)last[i];
    run->bytes += INF_WINDOW;
    return true;
}

/* Decodes symbols from the run's end on.  Returns DECODE_GOES_ON once a window is known or the
 * stream has ended. */
static enum decode_end decode_symbols(const struct decoder *d)
{
    struct view *v = &d->t->view;
    struct decoded_run *run = d->run;
    uint16_t *const out = symbols_of(d->task);
    const size_t room = d->task->size / sizeof(*out);
    size_t n = run->symbols;

    if (n == 0)
        inf_symbols_begin(out);
    (void)view_seek(v, run->end / 8);
    while (n < INF_WINDOW || !inf_is_known(out + n)) {
        uint64_t place = run->end - 8 * v->offset;
        const enum inf_result result =
            inf_symbols_block(d->t->symbols, v->in, v->len, &place, out, &n, room);
        enum decode_end end;

        if (result == INF_CUT) {
            size_t keep = (size_t)((run->end - 8 * v->offset) / 8);

            if (!view_more(d->input, v, &keep))
                return DECODE_STOPPED;
            continue;
        }
        if (result == INF_MORE)
            return DECODE_FULL;
        if (result != INF_BLOCK && result != INF_END)
            return DECODE_STOPPED;
        run->symbols = n;
        run->bytes = (uint8_t *)(out + n);
        run->end = 8 * v->offset + place;
        run->ends_stream = result == INF_END;
        if (run->ends_stream) {
            run->end = (run->end + 7) / 8 * 8;
            return DECODE_GOES_ON;
        }
        end = is_poor(run, n) ? DECODE_STOPPED : end_at(d, run->end);
        if (end != DECODE_GOES_ON)
            return end;
    }
    return begin_bytes(d) ? DECODE_GOES_ON : DECODE_FULL;
}

/* --- Bytes ---------------------------------------------------------------------------------- */

/* Returns how many bytes before the run's end a match may refer to, at most INF_WINDOW. */
static size_t window_at(const struct decoded_run *run)
{
    return run->symbols > 0 || run->len > INF_WINDOW ? INF_WINDOW : run->len;
}

/* Returns the end of the room for bytes. */
static const uint8_t *end_of_room(const struct decode_task *task)
{
    /* A symbol takes two bytes of room, but counts as one in bytes_limit. */
    const size_t symbols = task->runs[0]->symbols;
    const size_t limit =
        task->bytes_limit < task->size - symbols ? task->bytes_limit + symbols : task->size;

    return task->buffer + BUFFER_BEFORE + limit;
}

/* Gives the view to `b` as its input.  Decoding then begins at in[at]. */
static void lend_view(const struct view *v, size_t at, struct inf_buffers *b)
{
    b->in = v->in;
    b->at = at;
    b->in_len = v->len;
    b->in_base = v->offset;
    b->in_ends = v->ends;
}

/* Starts the decoder at the run's end.  Returns false if no input is there, or memory is short. */
static bool start_bytes(const struct decoder *d, struct inf_buffers *b)
{
    struct view *v = &d->t->view;
    const uint64_t bit = d->run->end;
    size_t at = view_seek(v, bit / 8);

    if (at == v->len && !view_more(d->input, v, &at))
        return false;
    lend_view(v, at, b);
    return inf_begin(b, (unsigned)(bit % 8));
}

/* Extends the run to the block that has just ended, and decides whether to go on.  ends_stream says
 * whether the block was the final one. */
static enum decode_end end_block(const struct decoder *d, const struct inf_buffers *b,
                                 uint32_t check, bool ends_stream)
{
    struct decoded_run *run = d->run;

    run->len = b->out_len;
    run->check = check;
    run->ends_stream = ends_stream;
    run->end = b->bit;
    if (ends_stream)
        return DECODE_GOES_ON;
    if (is_poor(run, run->symbols + run->len))
        return DECODE_STOPPED;
    if (is_enough(d, run->end, run->bytes + run->len))
        return DECODE_FULL_AT_MARK;
    return end_at(d, run->end);
}

/* Decodes bytes from the run's end on.  Returns DECODE_GOES_ON only if the stream has ended. */
static enum decode_end decode_bytes(const struct decoder *d)
{
    struct view *v = &d->t->view;
    struct decoded_run *run = d->run;
    const uint8_t *const room_end = end_of_room(d->task);
    struct inf_buffers b = {
        .raw = d->t->raw,
        .out = run->bytes,
        .out_len = run->len,
        .out_size = room_end > run->bytes ? (size_t)(room_end - run->bytes) : 0,
        .window = window_at(run),
        .stops = true,
    };
    uint32_t check = run->check;

    if (d->t->paused.is_in_bytes)
        lend_view(v, d->t->paused.at, &b);
    else if (!start_bytes(d, &b))
        return DECODE_STOPPED;
    d->t->paused.is_in_bytes = false;
    for (;;) {
        const enum inf_step step = inf_step(&b);
        enum decode_end end;
        size_t at = b.at;

        check = gz_check_more(d->task->check, check, b.out + b.out_len - b.made, b.made);
        switch (step) {
        case INF_STEP_BLOCK:
        case INF_STEP_END:
            end = end_block(d, &b, check, step == INF_STEP_END);
            if (end == DECODE_GOES_ON && step == INF_STEP_BLOCK)
                break;
            d->t->paused.is_in_bytes = end == DECODE_PAUSED;
            d->t->paused.at = at;
            return end;
        case INF_STEP_INPUT:
            if (!view_more(d->input, v, &at))
                return DECODE_STOPPED;
            lend_view(v, at, &b);
            break;
        case INF_STEP_FULL:
            return DECODE_FULL;
        case INF_STEP_CUT_OFF:
        case INF_STEP_BAD:
        case INF_STEP_NO_MEMORY:
            return DECODE_STOPPED;
        }
    }
}

/* --- Members of BGZF ------------------------------------------------------------------------ */

/* Whether the run has no output yet, and starts right after a header of BGZF.  If so, reads the
 * rest of the member into the view, as far as the input has it.  *at becomes the index in the view
 * of the member's first byte after the header. */
static bool begins_member(const struct decoder *d, size_t *at)
{
    struct view *v = &d->t->view;
    const struct decoded_run *run = d->run;

    if (run->end != run->start || run->start % 8 != 0 || run->start / 8 < BGZF_HEADER_SIZE)
        return false;
    *at = view_seek(v, run->start / 8 - BGZF_HEADER_SIZE);
    while (v->len - *at < BGZF_SIZE_MAX && view_more(d->input, v, at))
        ;
    if (v->len - *at < BGZF_HEADER_SIZE || !bgzf_starts(v->in + *at))
        return false;
    *at += BGZF_HEADER_SIZE;
    return true;
}

/* If the run is at the start of a member of BGZF, decodes the member in one go, which takes less
 * time than block by block.  Otherwise, or if that is not possible, leaves the run as it is. */
static void decode_member(const struct decoder *d)
{
    struct decoded_run *run = d->run;
    const struct view *v = &d->t->view;
    const uint8_t *const room_end = end_of_room(d->task);
    size_t at, used, made;

    if (!begins_member(d, &at) || run->bytes >= room_end ||
        inf_whole(d->t->whole, v->in + at, v->len - at, run->bytes, (size_t)(room_end - run->bytes),
                  &used, &made) != INF_END)
        return;
    run->len = made;
    run->check = gz_check_more(d->task->check, run->check, run->bytes, made);
    run->ends_stream = true;
    run->end = run->start + 8 * (uint64_t)used;
}

/* --- Tasks ---------------------------------------------------------------------------------- */

/* Begins a run with the member that follows d->run, which ends a member. */
static enum decode_end next_member(struct decoder *d)
{
    struct view *v = &d->t->view;
    const uint64_t trailer_end = d->run->end / 8 + GZ_TRAILER_SIZE;
    size_t at = view_seek(v, trailer_end), header;
    enum decode_end end;
    uint64_t start;

    header = at < v->len ? gz_member_header(v->in + at, v->len - at) : 0;
    if (header == 0) {
        if (!view_more(d->input, v, &at))
            return DECODE_STOPPED;
        header = gz_member_header(v->in + at, v->len - at);
    }
    if (header == 0)
        return DECODE_STOPPED;
    if (d->task->count >= RUNS_MAX)
        return DECODE_FULL;
    start = 8 * (v->offset + at + header);
    end = are_poor(d) ? DECODE_STOPPED : end_at(d, start);
    if (end != DECODE_GOES_ON)
        return end;
    return add_run(d, start, d->run->bytes + d->run->len) ? DECODE_GOES_ON : DECODE_STOPPED;
}

static enum decode_end decode_task(struct decoder *d)
{
    struct decode_task *task = d->task;
    enum decode_end end;

    if (task->count > 0)
        d->run = task->runs[task->count - 1];
    else if (!add_run(d, task->start, task->buffer + BUFFER_BEFORE))
        return DECODE_STOPPED;
    if (is_in_symbols(d)) {
        end = decode_symbols(d);
        if (end != DECODE_GOES_ON)
            return end;
    }
    for (;;) {
        decode_member(d);
        end = d->run->ends_stream ? next_member(d) : decode_bytes(d);
        if (end != DECODE_GOES_ON)
            return end;
    }
}

/* Whether this thread's decoder and view are still at the place where the task has paused.  If not,
 * another thread has decoded the task meanwhile, or this is a new task at an old task's address. */
static bool is_paused_at(const struct paused *paused, const struct decode_task *task)
{
    return task->count > 0 && paused->task == task && paused->bit == task->at;
}

/* Whether the run has no whole block. */
static bool is_empty(const struct decoded_run *run)
{
    return run->end == run->start;
}

static void decode_tasks(struct expand_tools *tools, struct input *in,
                         struct decode_task *const *tasks, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct decode_task *task = tasks[i];
        struct decoder d = {tools, in, task, NULL};

        if (!is_paused_at(&tools->paused, task)) {
            tools->paused.is_in_bytes = false;
            view_begin(&tools->view, 0);
        }
        task->end = decode_task(&d);
        tools->paused.task = task->end == DECODE_PAUSED ? task : NULL;
        tools->paused.bit = task->at;
        if (task->count > 0 && is_empty(task->runs[task->count - 1]))
            task_drop_run(task);
    }
}

/* --- Windows -------------------------------------------------------------------------------- */

static void next_window(struct expand_tools *tools, const struct decode_task *task,
                        const struct decoded_run *run, const uint8_t *window, uint8_t *next)
{
    const size_t bytes = run->len < INF_WINDOW ? run->len : INF_WINDOW;
    const size_t rest = INF_WINDOW - bytes;
    const size_t symbols = run->symbols < rest ? run->symbols : rest;
    const size_t kept = rest - symbols;

    memcpy(next, window + INF_WINDOW - kept, kept);
    inf_resolve(tools->symbols, symbols_of(task) + run->symbols - symbols, symbols, window,
                next + kept);
    memcpy(next + rest, run->bytes + run->len - bytes, bytes);
}

static void resolve(struct expand_tools *tools, const struct decode_task *task,
                    struct decoded_run *run, const uint8_t *window)
{
    uint8_t *const out = task->buffer + BUFFER_BEFORE;

    inf_resolve(tools->symbols, symbols_of(task), run->symbols, window, out);
    run->symbols_check = gz_check_more(task->check, gz_check_start(task->check), out, run->symbols);
}

const struct decode_engine decode_engine_cpu = {1, decode_tasks, next_window, resolve};
