/*
 * test_limits.c - the processors and the memory that control groups allow, in trees of files like
 * Linux's
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/thread.h"
#include "pipeline/pipeline.h"
#include "tests/unit/unit.h"

static char root[] = "/tmp/test_limits-XXXXXX";
static int trees;
static char tree[64];

/* Begins a new, empty tree. */
static void new_tree(void)
{
    snprintf(tree, sizeof(tree), "%s/%d", root, trees++);
    CHECK(mkdir(tree, 0700) == 0);
}

/* Writes a file into the tree, and makes the directories above it. */
static void put(const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s%s", tree, name);
    for (char *slash = path + strlen(tree) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    file = unit_need(fopen(path, "w"));
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static struct limits read_tree(void)
{
    struct limits l;

    limits_read(&l, tree);
    return l;
}

/* Returns the machine's limits.  A limit that a test sets has an effect only if it is below the
 * machine's limit. */
static struct limits machine(void)
{
    new_tree();
    return read_tree();
}

#define V2_MOUNT "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                         \
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"                                     \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"         \
    "33 31 0:31 / /sys/fs/cgroup/cpuset rw shared:3 master:1 - cgroup cgroup rw,cpuset\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:2 - cgroup cgroup rw,memory\n"

static void nothing_to_read(void)
{
    const struct limits l = machine();

    CHECK(l.threads >= 1);
    CHECK(l.memory > (uint64_t)16 << 20);
}

static void version_2(void)
{
    const struct limits m = machine();

    new_tree();
    put("/proc/self/cgroup", "0::/a.slice/b.service\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
    CHECK(read_tree().threads == m.threads);
    CHECK(read_tree().memory == m.memory);

    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.max", "10485760\n");
    CHECK(read_tree().threads == 1);
    CHECK(read_tree().memory == 10485760);

    /* Less than one processor counts as one. */
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "1000 100000\n");
    CHECK(read_tree().threads == 1);

    /* A part of a processor counts as a whole one.  A limit above the number of processors has no
     * effect. */
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "100001 100000\n");
    CHECK(read_tree().threads == (m.threads < 2 ? m.threads : 2));
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "900000000 100000\n");
    CHECK(read_tree().threads == m.threads);

    /* memory.high counts, too. */
    put("/sys/fs/cgroup/a.slice/b.service/memory.high", "5242880\n");
    CHECK(read_tree().memory == 5242880);
}

/* A group has no more than the groups above it allow. */
static void groups_above(void)
{
    new_tree();
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/c/memory.max", "20971520\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/a/memory.max", "10485760\n");
    CHECK(read_tree().threads == 1);
    CHECK(read_tree().memory == 10485760);
    put("/sys/fs/cgroup/a/memory.max", "31457280\n");
    CHECK(read_tree().memory == 20971520);
}

/* In a container, the container's own group appears as the root, or its name does not exist. */
static void containers(void)
{
    new_tree();
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/memory.max", "10485760\n");
    CHECK(read_tree().threads == 1);
    CHECK(read_tree().memory == 10485760);

    new_tree();
    put("/proc/self/cgroup", "5:memory:/docker/1234\n3:cpu,cpuacct:/docker/1234\n0::/\n");
    put("/proc/self/mountinfo",
        "32 31 0:29 /docker/1234 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/1234 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "10485760\n");
    CHECK(read_tree().threads == 1);
    CHECK(read_tree().memory == 10485760);

    /* The group /foobar does not lie below the mounted group /foo. */
    new_tree();
    put("/proc/self/cgroup", "0::/foobar\n");
    put("/proc/self/mountinfo", "31 24 0:27 /foo /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    put("/sys/fs/cgroup/memory.max", "10485760\n");
    CHECK(read_tree().memory == 10485760);

    new_tree();
    put("/proc/self/cgroup", "0::/../../other\n");
    put("/proc/self/mountinfo", "31 24 0:27 /docker/1234 /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    put("/sys/fs/cgroup/memory.max", "10485760\n");
    CHECK(read_tree().memory == 10485760);
}

static void version_1(void)
{
    const struct limits m = machine();

    new_tree();
    put("/proc/self/cgroup",
        "9:name=systemd:/\n4:memory:/x/y\n3:cpuset:/x\n1:cpu,cpuacct:/x/y\n0::/\n");
    put("/proc/self/mountinfo", V1_MOUNTS);
    put("/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(read_tree().threads == m.threads);
    CHECK(read_tree().memory == m.memory);

    put("/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "20000\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "10485760\n");
    CHECK(read_tree().threads == 1);
    CHECK(read_tree().memory == 10485760);
}

/* No contents of these files may do harm. */
static void odd_files(void)
{
    const struct limits m = machine();
    char long_line[20000];

    memset(long_line, 'x', sizeof(long_line) - 1);
    long_line[sizeof(long_line) - 1] = '\0';
    new_tree();
    put("/proc/self/cgroup", "\n:\n::\n0:\n0::\nx");
    put("/proc/self/mountinfo",
        "\n - cgroup2 - - - cgroup2\n1 2 3 - cgroup2 x rw\n- - - - - cgroup");
    CHECK(read_tree().threads == m.threads && read_tree().memory == m.memory);
    put("/proc/self/cgroup", long_line);
    put("/proc/self/mountinfo", long_line);
    CHECK(read_tree().threads == m.threads && read_tree().memory == m.memory);
    put("/proc/self/cgroup", "0::/a\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/sys/fs/cgroup/a/cpu.max", "");
    put("/sys/fs/cgroup/a/memory.max", "\n");
    CHECK(read_tree().threads == m.threads && read_tree().memory == m.memory);
    put("/sys/fs/cgroup/a/cpu.max", "100000 0\n");
    CHECK(read_tree().threads == m.threads);
    put("/sys/fs/cgroup/a/cpu.max", "0 100000\n");
    CHECK(read_tree().threads == 1);
}

/* Sets a limit in bytes.  Returns false if the limit has no effect, as under qemu-user, an emulator
 * of processors. */
static bool set_limit(int resource, rlim_t bytes)
{
    struct rlimit limit;

    CHECK(getrlimit(resource, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(resource, &limit) == 0);
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur == bytes;
}

static void address_space(void)
{
    const rlim_t much = (rlim_t)1 << 46;

    if (limits_mapped() != UINT64_MAX)
        return;
    CHECK(machine().address_space == UINT64_MAX);
    if (set_limit(RLIMIT_AS, much))
        CHECK(machine().address_space == much);
    /* The smaller limit counts. */
    if (set_limit(RLIMIT_DATA, much / 2))
        CHECK(machine().address_space == much / 2);
    if (set_limit(RLIMIT_DATA, much * 2))
        CHECK(machine().address_space == much);
    set_limit(RLIMIT_AS, RLIM_INFINITY);
    set_limit(RLIMIT_DATA, RLIM_INFINITY);
    CHECK(limits_mapped() == UINT64_MAX);
}

#ifdef __GLIBC__

static void *measure_stack(void *size)
{
    pthread_attr_t attributes;

    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstacksize(&attributes, size) == 0);
    pthread_attr_destroy(&attributes);
    return NULL;
}

/* Returns the size of the stack that a thread gets, if the default size is `usual`. */
static size_t stack_of(size_t usual)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size = 0;

    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, usual) == 0);
    CHECK(pthread_setattr_default_np(&attributes) == 0);
    pthread_attr_destroy(&attributes);
    if (CHECK(thread_start(&thread, measure_stack, &size)))
        pthread_join(thread, NULL);
    return size;
}

static void stacks(void)
{
    const size_t mib = (size_t)1 << 20;
    pthread_attr_t before;

    CHECK(pthread_getattr_default_np(&before) == 0);
    CHECK_EQ(stack_of(mib / 4), mib); /* ARM has no stack of less than 128 KiB */
    if (limits_mapped() == UINT64_MAX) {
        CHECK_EQ(stack_of(2 * mib), 2 * mib);
        CHECK_EQ(stack_of(8 * mib), 8 * mib);
        CHECK_EQ(stack_of(64 * mib), 8 * mib);
    }
    if (set_limit(RLIMIT_DATA, (rlim_t)1 << 46))
        CHECK_EQ(stack_of(8 * mib), mib);
    set_limit(RLIMIT_DATA, RLIM_INFINITY);
    CHECK(pthread_setattr_default_np(&before) == 0);
    pthread_attr_destroy(&before);
}

#endif

/* The size, in bytes, of the system's set of processors, and the set.  With these, base/limits.c,
 * compiled for this test, sees a machine with another number of processors. */
static size_t set_size = sizeof(unsigned long);
static unsigned long set_words[1024 / sizeof(unsigned long)] = {15};

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    if (size < set_size) {
        errno = EINVAL;
        return -1;
    }
    memcpy(set, set_words, set_size);
    return 0;
}

/* Makes the machine have `count` processors from `first` on, and a set of `size` bytes. */
static void have_processors(size_t size, size_t first, size_t count)
{
    const size_t bits = 8 * sizeof(set_words[0]);

    set_size = size;
    memset(set_words, 0, sizeof(set_words));
    for (size_t i = first; i < first + count; i++)
        set_words[i / bits] |= 1ul << i % bits;
}

/* A cpu_set_t holds 1024 processors. */
static void many_processors(void)
{
    const size_t word = sizeof(set_words[0]);

    have_processors(word, 0, 1);
    CHECK_EQ(limits_processors(), 1);
    have_processors(128, 0, 1024);
    CHECK_EQ(limits_processors(), 1024);
    have_processors(1024, 1000, 100);
    CHECK_EQ(limits_processors(), 100);
    CHECK_EQ(machine().threads, 100);
    have_processors(1024, 0, 8192);
    CHECK_EQ(limits_processors(), 8192);
    /* If the system's set is even larger, the system does not return the set, and the number of
     * online processors is used. */
    have_processors(2048, 0, 1);
    CHECK_EQ(limits_processors(), sysconf(_SC_NPROCESSORS_ONLN));
}

static void *read_main(void *l)
{
    limits_read(l, tree);
    return NULL;
}

/* With musl, a thread has a stack of 128 KiB by default, and the library runs on its caller's
 * thread. */
static void small_stack(void)
{
    struct limits l = {0};
    pthread_attr_t attributes;
    pthread_t thread;

    new_tree();
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/sys/fs/cgroup/a/memory.max", "4096\n");
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)128 << 10) == 0);
    if (CHECK(pthread_create(&thread, &attributes, read_main, &l) == 0))
        CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ(l.memory, 4096);
    pthread_attr_destroy(&attributes);
}

/* Returns how many threads a pipeline has with these limits on memory and on address space, in MiB;
 * 0: no limit. */
static int threads(int level, uint64_t memory, uint64_t addresses)
{
    const struct pipeline_config c = {
        .level = level,
        .threads = 64,
        .segment_size = lz_level(level)->segment_default,
        .memory = memory << 20,
        .address_space = addresses << 20,
    };

    return pipeline_threads(&c);
}

static void threads_of_a_pipeline(void)
{
    CHECK(threads(6, 0, 0) == 64);
    CHECK(threads(12, 0, 0) == 64);
    CHECK(threads(6, 100000, 100000) == 64);
    /* All threads together get half of the memory. */
    CHECK(threads(6, 100, 0) == 6);
    CHECK(threads(6, 960, 0) == 64);
    CHECK(threads(6, 400, 0) < 64);
    CHECK(threads(12, 1000, 0) == 7);
    CHECK(threads(6, 0, 1000) < 64 && threads(6, 0, 1000) > 16);
    CHECK(threads(6, 0, 4000) == 64);
    /* The smaller limit counts. */
    CHECK(threads(6, 100, 4000) == 6);
    CHECK(threads(6, 4000, 100) < 6);
    /* There is always at least one thread. */
    CHECK(threads(6, 1, 1) == 1);
    CHECK(threads(12, 50, 50) == 1);
}

/* pipeline_limit puts the system's limits into a configuration, but keeps a number of threads that
 * was asked for. */
static void limits_of_a_pipeline(void)
{
    struct pipeline_config c = {.level = 6}, given = {.level = 6, .threads = 1000};
    struct limits l;

    limits_read(&l, "");
    pipeline_limit(&c);
    pipeline_limit(&given);
    CHECK_EQ(c.threads, l.threads < PIPELINE_THREADS_MAX ? l.threads : PIPELINE_THREADS_MAX);
    CHECK_EQ(c.memory, l.memory);
    CHECK_EQ(c.address_space, l.address_space);
    CHECK_EQ(given.threads, 1000);
    CHECK_EQ(given.memory, l.memory);
    CHECK_EQ(given.address_space, l.address_space);
}

/* Returns the least memory that compression needs, in MiB. */
static uint64_t least(int level, uint64_t segment, bool rsyncable)
{
    const struct pipeline_config c = {
        .level = level, .threads = 8, .segment_size = segment, .rsyncable = rsyncable};

    return pipeline_least_memory(&c) >> 20;
}

static void least_memory(void)
{
    const uint64_t mib = 1 << 20;

    CHECK_EQ(least(1, 2 * mib, false), 5);
    CHECK_EQ(least(9, 2 * mib, false), 5);
    CHECK_EQ(least(9, 32 * mib, false), 65);
    CHECK_EQ(least(10, 4 * mib, false), 32);
    CHECK_EQ(least(12, 4 * mib, false), 32);
    CHECK_EQ(least(12, mib, false), 14);
    CHECK_EQ(least(12, 32 * mib, false), 88);
    CHECK_EQ(least(6, 2 * mib, true), 1);
}

int main(void)
{
    char command[128];

    unit_need(mkdtemp(root));
    RUN(nothing_to_read);
    RUN(version_2);
    RUN(groups_above);
    RUN(containers);
    RUN(version_1);
    RUN(odd_files);
    RUN(address_space);
    RUN(many_processors);
    RUN(small_stack);
    RUN(threads_of_a_pipeline);
    RUN(limits_of_a_pipeline);
    RUN(least_memory);
#ifdef __GLIBC__
    RUN(stacks);
#endif
    snprintf(command, sizeof(command), "rm -r %s", root);
    CHECK(system(command) == 0);
    return unit_done();
}
