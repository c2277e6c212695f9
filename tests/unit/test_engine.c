/*
 * test_engine.c - engines that decode regions: every decoded run, in batches and with pauses,
 * equals what zlib gives
 *
 * The input is a .gz of several members, which zlib writes with flushes of all kinds, so there are
 * marks, empty blocks and large blocks.  zlib defines where each block starts, and what data each
 * block gives.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "compat/gzip.h"
#include "pipeline/expand/api.h"
#include "pipeline/expand/buffers.h"
#include "pipeline/expand/engine.h"
#include "pipeline/expand/tools.h"
#include "tests/unit/inputs.h"

enum { MEMBERS = 3, MEMBER_LEN = 1 << 20, BLOCKS_MAX = 4096, TASKS = 6 };

static const struct decode_engine *const engines[] = {&decode_engine_cpu};

/* --- The sample ----------------------------------------------------------------------------- */

static struct {
    uint8_t *data; /* MEMBERS * MEMBER_LEN bytes */
    uint8_t *gz;
    size_t gz_len;
    /* Where blocks start, and how many bytes of the data come before each block. */
    struct {
        uint64_t bit;
        size_t made;
        bool at_member; /* it is the first block of a member */
        bool at_mark;
    } block[BLOCKS_MAX];
    size_t blocks;
} sample;

/* Appends a member, with a flush now and then. */
static void append_member(const uint8_t *data, size_t room)
{
    static const int flushes[] = {Z_SYNC_FLUSH, Z_NO_FLUSH, Z_BLOCK, Z_NO_FLUSH};
    z_stream z = {0};

    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (Bytef *)(uintptr_t)data;
    z.next_out = sample.gz + sample.gz_len;
    z.avail_out = (uInt)room;
    for (unsigned i = 0; i < 8; i++) {
        z.avail_in = MEMBER_LEN / 8;
        (void)deflate(&z, i == 7 ? Z_FINISH : flushes[i % 4]);
        /* Write the mark of `pigz -i`: two empty blocks.  No later match reaches back before the
         * mark. */
        if (i % 4 == 1) {
            (void)deflate(&z, Z_SYNC_FLUSH);
            (void)deflate(&z, Z_FULL_FLUSH);
        }
    }
    sample.gz_len += z.total_out;
    (void)deflateEnd(&z);
}

/* Notes where zlib finds the blocks of the member at *at.  Sets *at to the member's end. */
static void note_blocks(size_t *at, size_t made)
{
    static uint8_t out[MEMBER_LEN];
    z_stream z = {0};
    int result = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        abort();
    z.next_in = sample.gz + *at;
    z.avail_in = (uInt)(sample.gz_len - *at);
    z.next_out = out;
    z.avail_out = sizeof(out);
    for (bool first = true; (result = inflate(&z, Z_BLOCK)) == Z_OK;) {
        const size_t byte = *at + z.total_in;

        if ((z.data_type & 128) == 0 || (z.data_type & 64) != 0 || sample.blocks == BLOCKS_MAX)
            continue;
        sample.block[sample.blocks].bit = 8 * (uint64_t)byte - (unsigned)(z.data_type & 7);
        sample.block[sample.blocks].made = made + z.total_out;
        sample.block[sample.blocks].at_member = first;
        sample.block[sample.blocks].at_mark =
            (z.data_type & 7) == 0 && !first && inf_is_mark(sample.gz + byte - INF_MARK_SIZE);
        sample.blocks++;
        first = false;
    }
    CHECK_EQ(result, Z_STREAM_END);
    *at += z.total_in;
    (void)inflateEnd(&z);
}

static void make_sample(void)
{
    const struct input_kind kinds[MEMBERS] = {
        {"words", WORDS, 0}, {"tokens", TOKENS, 200}, {"random", RANDOM, 0}};
    const size_t room = (size_t)MEMBERS * MEMBER_LEN * 2;
    size_t at = 0;

    sample.data = unit_need(malloc((size_t)MEMBERS * MEMBER_LEN));
    sample.gz = unit_need(malloc(room));
    for (unsigned i = 0; i < MEMBERS; i++) {
        fill_kind(sample.data + (size_t)i * MEMBER_LEN, MEMBER_LEN, &kinds[i], LONGEST_TOKEN,
                  i + 1);
        append_member(sample.data + (size_t)i * MEMBER_LEN, room - sample.gz_len);
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        note_blocks(&at, (size_t)i * MEMBER_LEN);
    CHECK(sample.blocks > 30 && sample.blocks < BLOCKS_MAX);
    CHECK_EQ(at, sample.gz_len);
}

/* --- Tasks ---------------------------------------------------------------------------------- */

/* Fills in a task that starts at block k. */
static void begin_task(struct decode_task *task, size_t k)
{
    *task = (struct decode_task){
        .start = sample.block[k].bit,
        .kind = sample.block[k].at_member ? START_AT_MEMBER
                : sample.block[k].at_mark ? START_AT_MARK
                                          : START_IN_DATA,
        .until = UINT64_MAX,
        .to = sample.gz_len,
        .buffer = unit_need(malloc(EXPAND_BUFFER)),
        .size = BUFFER_SIZE,
        .bytes_limit = SIZE_MAX,
        .enough = SIZE_MAX / 2,
        .takes_all = true,
    };
}

static void end_task(struct decode_task *task)
{
    task_free_runs(task);
    free(task->buffer);
}

/* Returns the number of the block that starts at `bit`, or sample.blocks if no block does. */
static size_t block_at(uint64_t bit)
{
    size_t k = 0;

    while (k < sample.blocks && sample.block[k].bit != bit)
        k++;
    return k;
}

/* Replaces the symbols in a run's output by bytes, and checks that the output is then the data.
 * Before the call, *made is the number of bytes of data before the run; afterwards, the number up
 * to the run's end. */
static void check_run(const struct decode_engine *engine, struct expand_tools *tools,
                      const struct decode_task *task, struct decoded_run *run, size_t *made)
{
    static uint8_t window[INF_WINDOW], next[INF_WINDOW];
    const size_t k = block_at(run->start), len = run->symbols + run->len;
    const size_t member = *made / MEMBER_LEN * MEMBER_LEN;

    if (!CHECK(k < sample.blocks) || !CHECK_EQ(sample.block[k].made, *made))
        return;
    memset(window, 0, sizeof(window));
    for (size_t i = 0; i < INF_WINDOW && i < *made - member; i++)
        window[INF_WINDOW - 1 - i] = sample.data[*made - 1 - i];
    engine->next_window(tools, task, run, window, next);
    if (run->symbols > 0) {
        engine->resolve(tools, task, run, window);
        CHECK(memcmp(task->buffer + BUFFER_BEFORE, sample.data + *made, run->symbols) == 0);
        CHECK_EQ(run->symbols_check, crc32(0, sample.data + *made, (uInt)run->symbols));
    }
    CHECK(memcmp(run->bytes, sample.data + *made + run->symbols, run->len) == 0);
    CHECK_EQ(run->check, crc32(0, sample.data + *made + run->symbols, (uInt)run->len));
    *made += len;
    if (len >= INF_WINDOW)
        CHECK(memcmp(next, sample.data + *made - INF_WINDOW, INF_WINDOW) == 0);
    CHECK_EQ(run->state, RUN_DECODED);
    CHECK_EQ(run->ends_stream, *made % MEMBER_LEN == 0 && block_at(run->end) == sample.blocks);
    CHECK(run->ends_stream || block_at(run->end) < sample.blocks);
}

/* Checks all runs of a task, which starts at block k. */
static void check_task(const struct decode_engine *engine, struct expand_tools *tools,
                       const struct decode_task *task, size_t k)
{
    size_t made = sample.block[k].made;

    CHECK(task->count > 0);
    for (size_t i = 0; i < task->count; i++) {
        /* Each run after the first begins with a member. */
        if (i > 0)
            CHECK(sample.block[block_at(task->runs[i]->start)].at_member);
        check_run(engine, tools, task, task->runs[i], &made);
    }
}

/* --- Tests ---------------------------------------------------------------------------------- */

/* Calls a test for every engine, with a thread's tools and the input. */
static void with_engines(void (*test)(const struct decode_engine *engine,
                                      struct expand_tools *tools, struct input *in))
{
    struct expand_tools *tools = unit_need(tools_make());
    struct input *in = unit_need(input_open_memory(sample.gz, sample.gz_len));

    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++)
        test(engines[i], tools, in);
    input_close(in, 0);
    expand_free_tools(tools);
}

/* Decodes from each block to the end of the input, or until the output buffer is full. */
static void decode_from_each(const struct decode_engine *engine, struct expand_tools *tools,
                             struct input *in)
{
    for (size_t k = 0; k < sample.blocks; k += UNIT_SANITIZED ? 11 : 1) {
        struct decode_task task, *tasks = &task;

        begin_task(&task, k);
        engine->decode(tools, in, &tasks, 1);
        CHECK(task.end == DECODE_STOPPED || task.end == DECODE_FULL);
        check_task(engine, tools, &task, k);
        end_task(&task);
    }
}

static void test_each_block(void)
{
    with_engines(decode_from_each);
}

/* Decodes a batch whose tasks pause at random blocks, and go on from there in another order, some
 * with other threads' tools. */
static void decode_with_pauses(const struct decode_engine *engine, struct expand_tools *tools,
                               struct input *in)
{
    struct expand_tools *others = unit_need(tools_make());
    uint64_t random = 7;

    for (unsigned round = 0; round < (UNIT_SANITIZED ? 5 : 40); round++) {
        struct decode_task task[TASKS], *tasks[TASKS];
        size_t first[TASKS];
        unsigned count = TASKS, paused = 0;

        for (unsigned i = 0; i < TASKS; i++) {
            first[i] = (size_t)unit_below(&random, sample.blocks);
            begin_task(&task[i], first[i]);
            task[i].until = task[i].start + 1;
            tasks[i] = &task[i];
        }
        while (count > 0) {
            unsigned left = 0;

            engine->decode(unit_below(&random, 3) == 0 ? others : tools, in, tasks, count);
            for (unsigned i = 0; i < count; i++) {
                struct decode_task *t = tasks[i];

                CHECK(t->end != DECODE_GOES_ON);
                if (t->end != DECODE_PAUSED)
                    continue;
                CHECK(t->at >= t->until && block_at(t->at) < sample.blocks);
                t->until =
                    t->at + 1 + (unit_below(&random, 4) == 0 ? unit_below(&random, 2000000) : 0);
                tasks[left++] = t;
                paused++;
            }
            count = left;
            if (count > 1) {
                struct decode_task *last = tasks[count - 1];

                tasks[count - 1] = tasks[0];
                tasks[0] = last;
            }
        }
        CHECK(paused > 0);
        for (unsigned i = 0; i < TASKS; i++) {
            check_task(engine, tools, &task[i], first[i]);
            end_task(&task[i]);
        }
    }
    expand_free_tools(others);
}

static void test_pauses(void)
{
    with_engines(decode_with_pauses);
}

/* Tests the other reasons for which a task ends: the task has enough output and comes to a mark,
 * the task has no room, or the task is cancelled. */
static void decode_and_end(const struct decode_engine *engine, struct expand_tools *tools,
                           struct input *in)
{
    struct decode_task task, *tasks = &task;
    const struct decoded_run *last;

    begin_task(&task, 0);
    task.enough = MEMBER_LEN / 16;
    engine->decode(tools, in, &tasks, 1);
    if (CHECK_EQ(task.end, DECODE_FULL_AT_MARK)) {
        last = task.runs[task.count - 1];
        CHECK(sample.block[block_at(last->end)].at_mark && last->len >= task.enough);
    }
    check_task(engine, tools, &task, 0);
    end_task(&task);

    begin_task(&task, 0);
    task.bytes_limit = MEMBER_LEN / 2;
    engine->decode(tools, in, &tasks, 1);
    CHECK_EQ(task.end, DECODE_FULL);
    check_task(engine, tools, &task, 0);
    CHECK(task.runs[0]->len <= task.bytes_limit);
    end_task(&task);

    begin_task(&task, 0);
    atomic_store(&task.is_cancelled, true);
    engine->decode(tools, in, &tasks, 1);
    CHECK_EQ(task.end, DECODE_STOPPED);
    CHECK(task.count == 1 && task.runs[0]->len < MEMBER_LEN);
    end_task(&task);
}

static void test_ends(void)
{
    with_engines(decode_and_end);
}

/* Decodes from bits where no block starts.  Any result must consist of whole blocks. */
static void decode_noise(const struct decode_engine *engine, struct expand_tools *tools,
                         struct input *in)
{
    uint64_t random = 3;

    for (unsigned i = 0; i < (UNIT_SANITIZED ? 200 : 3000); i++) {
        struct decode_task task, *tasks = &task;

        begin_task(&task, 0);
        task.start = unit_below(&random, 8 * (uint64_t)sample.gz_len);
        task.kind = unit_below(&random, 2) == 0 ? START_IN_DATA : START_AT_MARK;
        engine->decode(tools, in, &tasks, 1);
        CHECK(task.end == DECODE_STOPPED || task.end == DECODE_FULL);
        for (size_t k = 0; k < task.count; k++)
            CHECK(task.runs[k]->end > task.runs[k]->start);
        end_task(&task);
    }
}

static void test_noise(void)
{
    with_engines(decode_noise);
}

int main(void)
{
    make_sample();
    RUN(test_each_block);
    RUN(test_pauses);
    RUN(test_ends);
    RUN(test_noise);
    free(sample.data);
    free(sample.gz);
    return unit_done();
}
