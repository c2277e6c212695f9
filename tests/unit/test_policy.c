/*
 * test_policy.c - each rule of the pipeline's policy, with cases on both sides of its limit
 */
#include "config.h"

#include "lzss/lzss.h"
#include "pipeline/crew/policy.h"
#include "tests/unit/unit.h"

#define MB 1000000.0
#define MIB ((uint64_t)1 << 20)

/* Returns the facts for 16 cores of 50 MB/s each at a level that is not slow.  Nothing is measured
 * yet, and there is no work. */
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

/* Like facts(), but at a level where a core takes a second for a segment. */
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
    /* Measured numbers replace the guess, unless less than a segment was measured. */
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

    /* The least size is the cores' work while a GPU comes up: 0.28 s x 16 x 50 MB/s. */
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 224000000);
    f.threads = 2;
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 28000000);
    /* If the device is in use already, it comes up in 0.02 s. */
    f.uses_gpu = true;
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 2000000);
    /* If the input is there, the cores first fetch it, at 8 GB/s: 0.02 s x 2 x 49.7 MB/s. */
    f.is_on_gpu = true;
    CHECK_EQ(policy_gpu_min(&f, UINT64_MAX), 1987577);
    /* At a slow level, one segment is enough, since only one core would work on that segment.  But
     * the file must be larger than a segment. */
    f = slow_facts();
    CHECK_EQ(policy_gpu_min(&f, 4 * MIB + 1), 4 * MIB);
    CHECK_EQ(policy_gpu_min(&f, 4 * MIB), 17920000);
    /* A core takes 0.52 s for a segment of 2 MiB, less than the 0.56 s until a GPU returns its
     * first result. */
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
    /* By the measured numbers, 16 threads take 0.1 s for 100 MB, of which matching takes 0.0625 s
     * and encoding the rest.  A GPU comes up in 0.28 s.  The GPU is wanted if the matching that is
     * then left takes the threads another 0.28 s. */
    f.match = (struct policy_work){.bytes = 100 * MB, .seconds = 1};
    f.encode = (struct policy_work){.bytes = 200 * MB, .seconds = 1.2};
    f.expected = 725000000;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 731000000;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    /* On a device in use, the GPU comes up in 0.02 s, and the matching that is left must take 0.02
     * s. */
    f.uses_gpu = true;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 52300000;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 51700000;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    /* The cores' time for fetching counts, too, but only if they have to fetch the input. */
    f.read = (struct policy_work){.bytes = 100 * MB, .seconds = 0.1};
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.is_on_gpu = true;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.uses_gpu = f.is_on_gpu = false;
    f.expected = 731000000;
    /* If the matching that is left takes less than 0.1 s, a GPU is not wanted, however long
     * encoding takes. */
    f.match.seconds = 0.6;
    f.encode.seconds = 1200;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.match.seconds = 0.65;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.encode.seconds = 1.2;
    /* The first small files take unusually long, so measured numbers do not count until 16 threads
     * have matched for 0.48 s. */
    f.match = (struct policy_work){.bytes = 10 * MB, .seconds = 0.49};
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
    f.match.seconds = 0.47;
    CHECK(!policy_files_want_gpu(&f, UINT64_MAX));
    f.expected = 1;
    f.backend = BACKEND_GPU;
    CHECK(policy_files_want_gpu(&f, UINT64_MAX));
}

static void test_later(void)
{
    struct policy_facts f = facts();

    /* Bytes of earlier jobs count, but only if the program uses the GPU. */
    f.earlier = 600;
    f.expected = 400;
    CHECK(!policy_later_want_gpu(&f, 1000));
    f.uses_gpu = true;
    CHECK(policy_later_want_gpu(&f, 1000));
    CHECK(!policy_later_want_gpu(&f, 1001));
    CHECK(!policy_files_want_gpu(&f, 1000));
}

static void test_gpu_up_min(void)
{
    struct policy_facts f = facts();

    /* A GPU that is up is used for a full batch; by a program that uses the GPU, for what two cores
     * match in 2 ms. */
    CHECK_EQ(policy_gpu_up_min(&f, 16 * MIB), 16 * MIB);
    f.uses_gpu = true;
    f.threads = 2;
    CHECK_EQ(policy_gpu_up_min(&f, 16 * MIB), 200000);
    CHECK_EQ(policy_gpu_up_min(&f, MIB / 8), MIB / 8);
    /* Many cores need as much time to share 1 MB. */
    f.threads = 16;
    CHECK_EQ(policy_gpu_up_min(&f, 16 * MIB), 1000000);
    /* At a slow level, for what one core matches in 0.1 s. */
    f = slow_facts();
    f.uses_gpu = true;
    CHECK_EQ(policy_gpu_up_min(&f, 32 * MIB), 400000);
}

static void test_pipes(void)
{
    struct policy_facts f = facts();
    bool keeps_up = false;

    /* 800 MB in one second keep all cores busy. */
    f.is_pipe = true;
    f.given = 25 * MIB;
    CHECK(policy_pipe_wants_gpu(&f, 100 * MIB, 800 * MB, 1, 0.75, &keeps_up));
    CHECK(!keeps_up);
    /* The pipe has given too few bytes so far. */
    f.given = 25 * MIB - 1;
    CHECK(!policy_pipe_wants_gpu(&f, 100 * MIB, 800 * MB, 1, 0.75, &keeps_up));
    CHECK(!keeps_up);
    /* The cores were busy for 0.74 s of the second, then for 0.76 s. */
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

/* Tests whether cores match without a GPU, and while a GPU comes up. */
static void test_matching_without(void)
{
    struct policy_facts f = facts();

    f.matching = 15;
    CHECK(policy_cpu_may_match(&f));
    /* While a GPU comes up, 2 of 16 cores are left to the thread that brings it up.  A thread that
     * reads ahead counts as one that matches. */
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
    /* The GPU has failed. */
    f.gpu_is_coming = false;
    CHECK(policy_cpu_may_match(&f));
    /* At a slow level, no core matches while a GPU comes up, since everything would then wait for
     * the segment that the core has begun. */
    f = slow_facts();
    CHECK(policy_cpu_may_match(&f));
    f.gpu_is_coming = true;
    CHECK(!policy_cpu_may_match(&f));
    /* But cores match small files, for which a core takes less than the 0.56 s until a GPU returns
     * its first result. */
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

/* Tests whether cores match while GPUs match. */
static void test_matching_beside(void)
{
    struct policy_facts f = facts();

    f.feeding = 8;
    f.left = 100000 * MIB;
    CHECK(!policy_cpu_may_match(&f)); /* the GPUs' rate is not known yet */
    /* Cores match if the GPUs' rate is below twice the rate of all 16 cores: 1600 MB/s. */
    f.gpu_rate = 1599 * MB;
    CHECK(policy_cpu_may_match(&f));
    f.gpu_rate = 1601 * MB;
    CHECK(!policy_cpu_may_match(&f));
    /* At the GPU's rate, nine tenths of the cores are busy with other work: 1000 MB/s x (2 + 10 +
     * 2.3) ns for each byte. */
    f.gpu_rate = 1000 * MB;
    f.read = (struct policy_work){.bytes = 1000 * MB, .seconds = 2};
    f.encode = (struct policy_work){.bytes = 1000 * MB, .seconds = 10};
    f.write = (struct policy_work){.bytes = 1000 * MB, .seconds = 2.3};
    CHECK(policy_cpu_may_match(&f));
    f.write.seconds = 2.5;
    CHECK(!policy_cpu_may_match(&f));
    /* A core takes 42 ms for a segment.  If the GPUs match everything that is left in less time,
     * cores do not match. */
    f.write.seconds = 2.3;
    f.left = 42 * MB;
    CHECK(policy_cpu_may_match(&f));
    f.left = 41 * MB;
    CHECK(!policy_cpu_may_match(&f));
    /* No file is larger than half a segment. */
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

    /* Segments are split if matching a segment takes 5 ms and there are fewer segments than
     * threads. */
    CHECK(policy_may_split(&f, 250000, 15, 16));
    CHECK(!policy_may_split(&f, 249999, 15, 16));
    CHECK(!policy_may_split(&f, 250000, 16, 16));
    /* Segments are also split if some threads may not claim segments. */
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
    /* An owner without helpers takes half of the chunks that are left, up to 8 chunks.  The last
     * chunk is taken alone. */
    CHECK_EQ(policy_part(64, 0, true), 8);
    CHECK_EQ(policy_part(10, 0, true), 5);
    CHECK_EQ(policy_part(1, 0, true), 1);
    /* With three other threads, a part is an eighth.  A helper takes at least two chunks, if there
     * are two. */
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
    RUN(test_later);
    RUN(test_gpu_up_min);
    RUN(test_pipes);
    RUN(test_gpus);
    RUN(test_matching_without);
    RUN(test_matching_beside);
    RUN(test_split);
    RUN(test_parts);
    return unit_done();
}
