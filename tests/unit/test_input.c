/*
 * test_input.c - a pipe's input while memory is short (pipeline/expand/input.h)
 *
 * The file under test is included, with other functions in place of three of the C library's.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/wake.h"
#include "pipeline/expand/input.h"
#include "tests/unit/unit.h"

/* Whether malloc fails from now on. */
static atomic_bool is_short;

/* Whether copies wait from now on, and whether one does. */
static atomic_bool copies_wait, is_copying;

/* How many threads have come to a wait without limit. */
static atomic_int waits;

static void *test_malloc(size_t size)
{
    return atomic_load(&is_short) ? NULL : malloc(size);
}

/* A copy that waits goes on when a thread waits for it.  That thread has the lock until then. */
static void *test_memcpy(void *to, const void *from, size_t len)
{
    if (atomic_load(&copies_wait)) {
        atomic_store(&is_copying, true);
        while (atomic_load(&waits) == 0)
            usleep(1000);
    }
    return memmove(to, from, len);
}

static int test_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
    atomic_fetch_add(&waits, 1);
    return pthread_cond_wait(cond, lock);
}

#undef memcpy
#define malloc test_malloc
#define memcpy test_memcpy
#define pthread_cond_wait test_cond_wait
#include "pipeline/expand/input.c"
#undef malloc
#undef memcpy
#undef pthread_cond_wait

/* A byte of the input. */
static uint8_t byte_at(size_t offset)
{
    return (uint8_t)(offset * 7 + offset / 251);
}

/* Writes BLOCK_SIZE + 100 bytes to a pipe. */
static void *fill(void *argument)
{
    const int fd = *(const int *)argument;
    const size_t len = BLOCK_SIZE + 100;
    uint8_t *bytes = unit_need(malloc(len));

    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(i);
    if (!io_write(fd, bytes, len))
        abort();
    free(bytes);
    close(fd);
    return NULL;
}

/* Copies from the first block, as a helper does. */
static void *copy_some(void *argument)
{
    uint8_t bytes[10];
    bool is_right = input_read_at(argument, 5, bytes, sizeof(bytes)) == sizeof(bytes);

    for (size_t i = 0; i < sizeof(bytes); i++)
        is_right = is_right && bytes[i] == byte_at(5 + i);
    return is_right ? argument : NULL;
}

/* Memory for a second block is short while a helper copies from the only one.  The consumer waits
 * for the helper, which must wake it. */
static void test_wake_up(void)
{
    pthread_t filler, helper;
    struct input *in;
    uint8_t byte = 0;
    void *result;
    int ends[2];

    if (pipe(ends) != 0 || (in = input_open(ends[0])) == NULL ||
        pthread_create(&filler, NULL, fill, &ends[1]) != 0)
        abort();
    CHECK_EQ(input_read(in, BLOCK_SIZE - 1, &byte, 1), 1);
    CHECK_EQ(byte, byte_at(BLOCK_SIZE - 1));
    atomic_store(&copies_wait, true);
    if (pthread_create(&helper, NULL, copy_some, in) != 0)
        abort();
    while (!atomic_load(&is_copying))
        usleep(1000);
    atomic_store(&copies_wait, false);
    atomic_store(&is_short, true);
    /* If nobody wakes this thread, the alarm ends the program. */
    alarm(20);
    CHECK_EQ(input_read(in, BLOCK_SIZE, &byte, 1), 1);
    alarm(0);
    atomic_store(&is_short, false);
    CHECK_EQ(byte, byte_at(BLOCK_SIZE));
    CHECK_EQ(atomic_load(&waits), 1);
    pthread_join(helper, &result);
    CHECK(result != NULL);
    pthread_join(filler, NULL);
    input_close(in, 0);
    close(ends[0]);
}

int main(void)
{
    RUN(test_wake_up);
    return unit_done();
}
