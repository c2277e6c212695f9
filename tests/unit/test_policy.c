/*
 * test_policy.c - decisions from numbers: for each rule, a case on both sides of it
 */
#include "config.h"

#include "lzss/lzss.h"
#include "pipeline/crew/policy.h"
#include "tests/unit/unit.h"

#define MB 1000000.0
#define MIB ((uint64_t)1 << 20)

/* 16 cores of 50 MB/s each, at a level that is not slow, with nothing measured and nothing to do.
 */
static struct policy_facts facts(void)
{
    const struct policy_facts f = {
        .backend = BACKEND_AUTO,
        .threads = 16,
        .core_guess = 50 * MB,
        .in_parts = true,
        .segment_size = 2 * MIB,
        .longest = UINT64_MAX,
    };

    return f;
}

/* The same at a level where a core takes a second for a segment. */
static struct policy_facts slow_facts(void)
{
    struct policy_facts f = facts();

    f.core_guess = 4 * MB;
    f.is_slow = true;
    f.in_parts = false;
    f.segment_size = 4 * MIB;
    return f;
}

static void test_match_seconds(void)
{
    struct policy_facts f = facts();

    CHECK(policy_match_seconds(&f, 100 * MB) == 2);
    /* Measured numbers count, not the guess; but not if they are of less than a segment. */
    f.match = (struct policy_work){.bytes = 10 * MB, .seconds = 0.1};
    CHECK(policy_match_seconds(&f, 100 * MB) == 1);
    f.match = (struct policy_work){.bytes = (double)(2 * MIB), .seconds = 1};
    CHECK(policy_match_seconds(&f, (double)(4 * MIB)) == 2);
    f.match.bytes--;
    CHECK(policy_match_seconds(&f, 100 * MB) == 2);
    for (int level = 2; level <= LZ_LEVEL_MAX; level++)
        CHECK(lz_level(level)->core_guess < lz_level(level - 1)->core_guess);
}

static void test_gpu_min(void)
{
    struct policy_facts f = facts();

    /* The cores' work while a GPU comes up: 0.28 s x 16 x 50 MB/s. */
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 224000000);
    f.threads = 2;
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 28000000);
    /* Where a GPU is in use, it comes up in 0.1 s. */
    f.is_on_gpu = true;
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 10000000);
    /* At a slow level one segment, which one core is alone with, but not for files that have no
     * more. */
    f = slow_facts();
    CHECK_EQ(policy_gpu_min(&f, 4 * MIB + 1), 4 * MIB);
    CHECK_EQ(policy_gpu_min(&f, 4 * MIB), 17920000);
    /* One of 2 MiB takes such a core 0.52 s: less than a GPU. */
    f.segment_size = 2 * MIB;
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 17920000);
}

static void test_files(void)
{
    struct policy_facts f = facts();

    f.expected = 999;
    CHECK(!policy_files_want_gpu(&f, 1000));
    f.expected = 1000;
    CHECK(policy_files_want_gpu(&f, 1000));
    /* By the measured numbers, 16 threads take a tenth of a second for 100 MB: 0.0625 s for
     * matching, the rest for encoding.  After 0.28 s, a GPU matches the rest, which has to take
     * 0.28 s, too. */
    f.match = (struct policy_work){.bytes = 100 * MB, .seconds = 1};
    f.encode = (struct policy_work){.bytes = 200 * MB, .seconds = 1.2};
    f.expected = 725000000;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 731000000;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    /* After 0.1 s, the rest has to take 0.1 s. */
    f.is_on_gpu = true;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 261000000;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 259000000;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.is_on_gpu = false;
    f.expected = 731000000;
    /* Where matching takes less than that, a GPU is of no use, however long the rest takes. */
    f.match.seconds = 0.6;
    f.encode.seconds = 1200;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.match.seconds = 0.65;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.encode.seconds = 1.2;
    /* The first small files, which take long, are no measure: 16 threads match 0.48 s first. */
    f.match = (struct policy_work){.bytes = 10 * MB, .seconds = 0.49};
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.match.seconds = 0.47;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 1;
    f.backend = BACKEND_GPU;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
}

static void test_pipes(void)
{
    struct policy_facts f = facts();
    bool keeps_up = false;

    /* 800 MB keep all cores busy for a second. */
    f.is_pipe = true;
    f.given = 25 * MIB;
    CHECK(policy_pipe_wants_gpu(&f, 100 * MIB, 800 * MB, 1, 0.75, &keeps_up));
    CHECK(!keeps_up);
    /* It has given too little. */
    f.given = 25 * MIB - 1;
    CHECK(!policy_pipe_wants_gpu(&f, 100 * MIB, 800 * MB, 1, 0.75, &keeps_up));
    CHECK(!keeps_up);
    /* The cores were busy for 0.74 of a second, or 0.76. */
    f.given = 25 * MIB;
    CHECK(!policy_pipe_wants_gpu(&f, 100 * MIB, 592 * MB, 1, 0.75, &keeps_up));
    CHECK(keeps_up);
    CHECK(policy_pipe_wants_gpu(&f, 100 * MIB, 608 * MB, 1, 0.75, &keeps_up));
    CHECK(!keeps_up);
    /* Encoding counts, too. */
    f.encode = (struct policy_work){.bytes = 100 * MB, .seconds = 1};
    CHECK(policy_pipe_wants_gpu(&f, 100 * MIB, 592 * MB, 1, 0.75, &keeps_up));
    f.given = 0;
    f.backend = BACKEND_GPU;
    CHECK(policy_pipe_wants_gpu(&f, 100 * MIB, 0, 1, 0.75, &keeps_up));
}

static void test_gpus(void)
{
    CHECK_EQ(policy_gpus(0, 1000, 16), 1);
    CHECK_EQ(policy_gpus(999, 1000, 16), 1);
    CHECK_EQ(policy_gpus(1000, 1000, 16), 2);
    CHECK_EQ(policy_gpus(UINT64_MAX, 1000, 16), 16);
    CHECK_EQ(policy_gpus(0, 0, 16), 16);
}

/* Without a GPU, or while it comes up. */
static void test_matching_without(void)
{
    struct policy_facts f = facts();

    f.matching = 15;
    CHECK(policy_cpu_may_match(&f));
    /* Two cores are left for the thread that brings the GPU up; one of them reads ahead. */
    f.gpu_is_coming = true;
    CHECK(!policy_cpu_may_match(&f));
    f.matching = 14;
    CHECK(!policy_cpu_may_match(&f));
    f.matching = 13;
    CHECK(policy_cpu_may_match(&f));
    f.reads_ahead = true;
    CHECK(!policy_cpu_may_match(&f));
    f.backend = BACKEND_GPU;
    f.matching = 0;
    CHECK(!policy_cpu_may_match(&f));
    /* It has failed. */
    f.gpu_is_coming = false;
    CHECK(policy_cpu_may_match(&f));
    /* At a slow level, all would wait for the segment that a core has begun. */
    f = slow_facts();
    CHECK(policy_cpu_may_match(&f));
    f.gpu_is_coming = true;
    CHECK(!policy_cpu_may_match(&f));
    /* But it does small files in less time than a GPU takes to bring back the first: 0.56 s. */
    f.longest = (uint64_t)(2.24 * MB);
    CHECK(policy_cpu_may_match(&f));
    f.longest = (uint64_t)(2.25 * MB);
    CHECK(!policy_cpu_may_match(&f));
    f.longest = 0;
    CHECK(!policy_cpu_may_match(&f));
    f.longest = MIB;
    f.is_pipe = true;
    CHECK(!policy_cpu_may_match(&f));
}

/* Beside GPUs. */
static void test_matching_beside(void)
{
    struct policy_facts f = facts();

    f.feeding = 8;
    f.left = 100000 * MIB;
    CHECK(!policy_cpu_may_match(&f)); /* how fast they are is not known */
    /* Twice the rate of all 16 cores is 1600 MB/s. */
    f.gpu_rate = 1599 * MB;
    CHECK(policy_cpu_may_match(&f));
    f.gpu_rate = 1601 * MB;
    CHECK(!policy_cpu_may_match(&f));
    /* At the GPU's rate, nine tenths of the cores are busy: 1000 MB/s x (2 + 10 + 2.3) ns a
     * byte. */
    f.gpu_rate = 1000 * MB;
    f.read = (struct policy_work){.bytes = 1000 * MB, .seconds = 2};
    f.encode = (struct policy_work){.bytes = 1000 * MB, .seconds = 10};
    f.write = (struct policy_work){.bytes = 1000 * MB, .seconds = 2.3};
    CHECK(policy_cpu_may_match(&f));
    f.write.seconds = 2.5;
    CHECK(!policy_cpu_may_match(&f));
    /* GPUs match the rest before a core matches a segment, which takes it 42 ms. */
    f.write.seconds = 2.3;
    f.left = 42 * MB;
    CHECK(policy_cpu_may_match(&f));
    f.left = 41 * MB;
    CHECK(!policy_cpu_may_match(&f));
    /* None of the files is larger than half a segment. */
    f.longest = MIB;
    f.left = 21 * MB;
    CHECK(policy_cpu_may_match(&f));
    f.left = 20 * MB;
    CHECK(!policy_cpu_may_match(&f));
    f.longest = UINT64_MAX;
    f.is_pipe = true;
    CHECK(policy_cpu_may_match(&f));
    f.backend = BACKEND_GPU;
    CHECK(!policy_cpu_may_match(&f));
}

static void test_split(void)
{
    struct policy_facts f = facts();

    /* 5 ms of matching, and fewer segments than threads. */
    CHECK(policy_may_split(&f, 250000, 15, 16));
    CHECK(!policy_may_split(&f, 249999, 15, 16));
    CHECK(!policy_may_split(&f, 250000, 16, 16));
    /* There are threads that claim none. */
    CHECK(policy_may_split(&f, 250000, 1000, 15));
    f.feeding = 1;
    CHECK(!policy_may_split(&f, 250000, 15, 16));
    f.feeding = 0;
    f.gpu_is_coming = true;
    CHECK(!policy_may_split(&f, 250000, 15, 16));
    f = facts();
    f.threads = 1;
    CHECK(!policy_may_split(&f, 250000, 0, 1));
    f = slow_facts();
    CHECK(!policy_may_split(&f, 4 << 20, 0, 16));
}

static void test_parts(void)
{
    /* Alone, an owner takes half of the rest, up to 8 chunks, and the last one as it is. */
    CHECK_EQ(policy_part(64, 0, true), 8);
    CHECK_EQ(policy_part(10, 0, true), 5);
    CHECK_EQ(policy_part(1, 0, true), 1);
    /* With three others, an eighth; a helper takes at least two, if they are there. */
    CHECK_EQ(policy_part(64, 3, false), 8);
    CHECK_EQ(policy_part(24, 3, false), 3);
    CHECK_EQ(policy_part(8, 3, true), 1);
    CHECK_EQ(policy_part(8, 3, false), 2);
    CHECK_EQ(policy_part(1, 3, false), 1);
}

int main(void)
{
    RUN(test_match_seconds);
    RUN(test_gpu_min);
    RUN(test_files);
    RUN(test_pipes);
    RUN(test_gpus);
    RUN(test_matching_without);
    RUN(test_matching_beside);
    RUN(test_split);
    RUN(test_parts);
    return unit_done();
}
