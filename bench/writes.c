/*
 * writes.c - how fast a file can be written: the bound for `gzlzss -d` to a file
 *
 *   bench/writes [-m MEBIBYTES] [-t THREADS] [-r ROUNDS] DIRECTORY
 *
 * Writes a file of MEBIBYTES (default 1024) in DIRECTORY, in these ways, and removes it again:
 *
 *     one        one thread writes finished memory, 2 MiB at a time
 *     cached     the same, but always the same 256 KiB of memory, which stay in a cache
 *     room       like `one`, but allocates room for 64 MiB ahead (fallocate)
 *     all room   like `one`, but first allocates room for the whole file
 *     threads    THREADS threads (default: one for each processor) write 1 MiB in turn, each at its
 *                own place of the file
 *     mapped     the threads copy to the file, which is mapped to memory
 *     mapped, room   the same, but first allocates room for the whole file
 *
 * The ways take turns in ROUNDS rounds (default 5). Prints, for each, the least wall time in
 * seconds, the median, GB/s by the least time, and the least processor time of all threads.
 * Removing the file is not counted.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/program.h"

#define ROUNDS_MAX 50
#define THREADS_MAX 256
#define MIB ((size_t)1 << 20)

/* A way to write the file. */
struct way {
    const char *name;
    size_t block;     /* bytes that are written at a time */
    size_t ahead;     /* bytes of room to allocate at a time; 0: none; SIZE_MAX: all at once */
    bool is_cached;   /* always write the same bytes */
    bool has_threads; /* many threads write */
    bool is_mapped;   /* copy to mapped memory instead of writing */
    double wall[ROUNDS_MAX], cpu;
};

/* A file that is being written. */
struct file {
    const struct way *way;
    const uint8_t *data; /* its contents: `size` bytes */
    size_t size;
    int fd;
    uint8_t *map;       /* the file in memory, or NULL */
    atomic_size_t next; /* the first byte that no thread has taken yet */
};

static double processor_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void allocate(const struct file *f, size_t at, size_t len)
{
#ifdef FALLOC_FL_KEEP_SIZE
    if (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)len) != 0)
        die(strerror(errno));
#else
    (void)f;
    (void)at;
    (void)len;
    die("needs fallocate");
#endif
}

static void write_block(const struct file *f, size_t at, size_t len)
{
    const uint8_t *from = f->way->is_cached ? f->data : f->data + at;

    if (f->map != NULL)
        memcpy(f->map + at, from, len);
    else if (pwrite(f->fd, from, len, (off_t)at) != (ssize_t)len)
        die("a write failed");
}

/* Writes one block after another, until there are no more. */
static void *write_blocks(void *argument)
{
    struct file *f = argument;
    const size_t block = f->way->block;
    size_t room = 0;

    for (;;) {
        const size_t at = atomic_fetch_add(&f->next, block);
        const size_t len = at < f->size && f->size - at < block ? f->size - at : block;

        if (at >= f->size)
            return NULL;
        if (f->way->ahead > 0 && f->way->ahead < SIZE_MAX && at + len > room) {
            allocate(f, at, f->way->ahead + len);
            room = at + len + f->way->ahead;
        }
        write_block(f, at, len);
    }
}

static void map_file(struct file *f)
{
    if (ftruncate(f->fd, (off_t)f->size) != 0)
        die(strerror(errno));
    f->map = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    if (f->map == MAP_FAILED)
        die(strerror(errno));
}

static void write_file(struct file *f, int threads)
{
    pthread_t list[THREADS_MAX];

    if (f->way->ahead == SIZE_MAX)
        allocate(f, 0, f->size);
    if (f->way->is_mapped)
        map_file(f);
    for (int i = 0; f->way->has_threads && i < threads; i++)
        if (pthread_create(&list[i], NULL, write_blocks, f) != 0)
            die("no more threads");
    if (!f->way->has_threads)
        write_blocks(f);
    for (int i = 0; f->way->has_threads && i < threads; i++)
        pthread_join(list[i], NULL);
    if (f->map != NULL)
        munmap(f->map, f->size);
    if (f->way->ahead > 0 && ftruncate(f->fd, (off_t)f->size) != 0)
        die(strerror(errno));
}

/* Writes a file in one way, and notes how long that took. */
static void measure(struct way *w, int round, const char *directory, const uint8_t *data,
                    size_t size, int threads)
{
    char name[1024];
    struct file f = {.way = w, .data = data, .size = size};
    double wall, cpu;

    if ((size_t)snprintf(name, sizeof(name), "%s/writes.XXXXXX", directory) >= sizeof(name))
        die("the name is too long");
    f.fd = mkstemp(name);
    if (f.fd < 0)
        die(strerror(errno));
    unlink(name);
    wall = clock_seconds();
    cpu = processor_seconds();
    write_file(&f, threads);
    w->wall[round] = clock_seconds() - wall;
    cpu = processor_seconds() - cpu;
    if (round == 0 || cpu < w->cpu)
        w->cpu = cpu;
    close(f.fd);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static uint8_t *make_data(size_t size)
{
    uint8_t *data = need(malloc(size));
    uint64_t state = 1;

    for (size_t i = 0; i + sizeof(state) <= size; i += sizeof(state)) {
        state = state * UINT64_C(6364136223846793005) + 1;
        memcpy(data + i, &state, sizeof(state));
    }
    return data;
}

int main(int argc, char **argv)
{
    static struct way ways[] = {
        {.name = "one", .block = 2 * MIB},
        {.name = "cached", .block = MIB / 4, .is_cached = true},
        {.name = "room", .block = 2 * MIB, .ahead = 64 * MIB},
        {.name = "all room", .block = 2 * MIB, .ahead = SIZE_MAX},
        {.name = "threads", .block = MIB, .has_threads = true},
        {.name = "mapped", .block = MIB, .has_threads = true, .is_mapped = true},
        {.name = "mapped, room",
         .block = MIB,
         .ahead = SIZE_MAX,
         .has_threads = true,
         .is_mapped = true},
    };
    const size_t count = sizeof(ways) / sizeof(*ways);
    long threads = sysconf(_SC_NPROCESSORS_ONLN);
    size_t size = 1024 * MIB;
    int rounds = 5, option;
    uint8_t *data;

    while ((option = getopt(argc, argv, "m:t:r:")) != -1) {
        if (option == 'm')
            size = strtoul(optarg, NULL, 10) * MIB;
        else if (option == 't')
            threads = atoi(optarg);
        else if (option == 'r')
            rounds = atoi(optarg);
        else
            return 2;
    }
    if (optind != argc - 1 || size < MIB || threads < 1 || threads > THREADS_MAX || rounds < 1 ||
        rounds > ROUNDS_MAX)
        die("usage: writes [-m MEBIBYTES] [-t THREADS] [-r ROUNDS] DIRECTORY");
    data = make_data(size);
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            measure(&ways[i], round, argv[optind], data, size, (int)threads);
    printf("%-14s %8s %8s %8s %8s\n", "", "least", "median", "GB/s", "cpu");
    for (size_t i = 0; i < count; i++) {
        struct way *w = &ways[i];

        qsort(w->wall, (size_t)rounds, sizeof(double), compare);
        printf("%-14s %8.3f %8.3f %8.2f %8.3f\n", w->name, w->wall[0], w->wall[rounds / 2],
               (double)size / w->wall[0] / 1e9, w->cpu);
    }
    free(data);
    return 0;
}
