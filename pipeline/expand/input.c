/*
 * input.c - files, pipes and memory, read at any place (input.h)
 *
 * The bytes of a pipe or of a pushed input are kept in blocks until input_forget.  One thread at a
 * time reads more from a pipe.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/wake.h"
#include "pipeline/expand/input.h"

/* Seconds that input_read_at waits for a pipe. */
#define PATIENCE 0.05

#define BLOCK_SIZE ((size_t)256 << 10)

/* Initial length of the array `blocks`. */
#define BLOCKS_FIRST 16

/* Bytes of a pipe or of a pushed input.  A block is freed once all of its bytes are forgotten and
 * it has no users. */
struct block {
    unsigned users; /* number of threads that copy from it or write to it */
    uint8_t bytes[BLOCK_SIZE];
};

struct input {
    int fd;
    const uint8_t *memory; /* the input's bytes; NULL: the input is fd, or pushed */
    bool is_file;          /* the input is a regular file or memory */
    bool keeps_position;   /* input_close leaves the position of fd as it is */
    /* Position of a regular file when it was opened, and bytes of input from there on. */
    uint64_t base, size;

    /* For a pipe or a pushed input: */
    bool is_pushed;
    pthread_mutex_t lock;  /* protects the fields below */
    pthread_cond_t more;   /* bytes have come, the input has ended, or a block has become free */
    struct wake wake;      /* ends the wait for a pipe */
    struct block **blocks; /* blocks[0..count) hold the bytes that are kept */
    uint64_t first;        /* number of blocks[0], counted from the input's start */
    size_t count, room;    /* number of blocks in use, and length of the array `blocks` */
    struct block *spare;   /* an unused block of a pipe; NULL only if `blocks` has one */
    bool needs_block;      /* a thread waits until no thread copies from the blocks */
    /* Bytes before `front` have come.  Bytes before `kept` are forgotten. */
    uint64_t front, kept;
    /* reading: a thread is reading from the pipe.  ends: the input ends at `front`, or an error has
     * ended it there.  is_cancelled: input_cancel was called. */
    bool reading, ends, is_cancelled;
    int error; /* the errno of the error that has ended the input; 0: none */
};

static void init_waiting(struct input *in)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&in->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC); /* the clock of clock_seconds() */
    pthread_cond_init(&in->more, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct input *input_open(int fd)
{
    const off_t base = lseek(fd, 0, SEEK_CUR);
    struct input *in;
    struct stat st;

    if (fstat(fd, &st) != 0 || !(S_ISFIFO(st.st_mode) || (S_ISREG(st.st_mode) && base >= 0)))
        return NULL;
    in = calloc(1, sizeof(*in));
    if (in == NULL)
        return NULL;
    in->fd = fd;
    in->is_file = S_ISREG(st.st_mode);
    if (in->is_file) {
        in->base = (uint64_t)base;
        in->size = st.st_size > base ? (uint64_t)(st.st_size - base) : 0;
        return in;
    }
    /* Allocate the array and one block now.  Then a pipe can be read to its end even if memory is
     * short later. */
    in->room = BLOCKS_FIRST;
    in->blocks = malloc(in->room * sizeof(*in->blocks));
    in->spare = malloc(sizeof(*in->spare));
    if (in->blocks == NULL || in->spare == NULL || !wake_open(&in->wake)) {
        free(in->spare);
        free(in->blocks);
        free(in);
        return NULL;
    }
    init_waiting(in);
    return in;
}

struct input *input_open_at(int fd, uint64_t from)
{
    struct input *in;
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    in = calloc(1, sizeof(*in));
    if (in == NULL)
        return NULL;
    in->fd = fd;
    in->is_file = in->keeps_position = true;
    in->base = from;
    in->size = (uint64_t)st.st_size > from ? (uint64_t)st.st_size - from : 0;
    return in;
}

struct input *input_open_memory(const uint8_t *bytes, size_t len)
{
    struct input *in = calloc(1, sizeof(*in));

    if (in != NULL)
        *in = (struct input){.fd = -1, .memory = bytes, .is_file = true, .size = len};
    return in;
}

struct input *input_open_pushed(void)
{
    struct input *in = calloc(1, sizeof(*in));

    if (in == NULL)
        return NULL;
    in->fd = -1;
    in->is_pushed = true;
    init_waiting(in);
    return in;
}

bool input_is_file(const struct input *in)
{
    return in->is_file;
}

const uint8_t *input_memory(const struct input *in)
{
    return in->memory;
}

uint64_t input_size(struct input *in)
{
    uint64_t size;

    if (in->is_file)
        return in->size;
    pthread_mutex_lock(&in->lock);
    size = in->ends ? in->front : UINT64_MAX;
    pthread_mutex_unlock(&in->lock);
    return size;
}

bool input_has(struct input *in, uint64_t offset)
{
    bool has;

    if (in->is_file)
        return true;
    pthread_mutex_lock(&in->lock);
    has = in->ends || in->front >= offset;
    pthread_mutex_unlock(&in->lock);
    return has;
}

/* Returns the milliseconds until the time `until`, or 0 if that time has passed.  If `until` is 0,
 * which means never, returns -1. */
static int ms_until(double until)
{
    const double left = (until - clock_seconds()) * 1000;

    return until == 0 ? -1 : left < 0 ? 0 : (int)left + 1;
}

/* Reads from the pipe like read(2), but waits for bytes only until the time `until` of
 * clock_seconds().  If `until` is 0, waits without limit.  Returns 0 at the input's end.  Returns
 * -1 with errno set after an error; errno is ETIMEDOUT if nothing came in time. */
static ssize_t read_some(struct input *in, uint8_t *to, size_t len, double until)
{
    for (;;) {
        const int ms = ms_until(until), found = wake_wait(&in->wake, in->fd, POLLIN, ms);
        ssize_t n;

        if (found < 0)
            return -1;
        if ((found & WAKE_CALLED) != 0) {
            errno = ECANCELED;
            return -1;
        }
        if (found == 0 && ms != 0)
            continue;
        if (found == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        n = read(in->fd, to, len);
        if (n >= 0 || !io_is_transient(errno))
            return n;
    }
}

/* Returns the last block, adding a new one if the last is full.  Returns NULL if memory is
 * short. */
static struct block *last_block(struct input *in)
{
    if (in->front < (in->first + in->count) * BLOCK_SIZE)
        return in->blocks[in->count - 1];
    if (in->count == in->room) {
        const size_t room = in->room > 0 ? 2 * in->room : BLOCKS_FIRST;
        struct block **blocks = realloc(in->blocks, room * sizeof(*blocks));

        if (blocks == NULL)
            return NULL;
        in->blocks = blocks;
        in->room = room;
    }
    in->blocks[in->count] = in->spare != NULL ? in->spare : malloc(sizeof(*in->blocks[0]));
    in->spare = NULL;
    if (in->blocks[in->count] == NULL)
        return NULL;
    in->blocks[in->count]->users = 0;
    return in->blocks[in->count++];
}

/* Frees blocks whose bytes are all forgotten, except one spare block for a pipe. */
static void tidy(struct input *in)
{
    size_t gone = 0;

    while (gone < in->count && (in->first + gone + 1) * BLOCK_SIZE <= in->kept &&
           in->blocks[gone]->users == 0) {
        struct block *b = in->blocks[gone++];

        if (in->spare == NULL && !in->is_pushed)
            in->spare = b;
        else
            free(b);
    }
    if (gone == 0)
        return;
    in->first += gone;
    in->count -= gone;
    memmove(in->blocks, in->blocks + gone, in->count * sizeof(*in->blocks));
}

/* Makes a block free for the next bytes while memory is short, by forgetting all bytes so far.  The
 * workers that decode these bytes ahead then find less input, and their runs end sooner.  Gives up
 * the input's lock. */
static void get_block(struct input *in)
{
    in->kept = in->front;
    tidy(in);
    if (in->spare != NULL || in->count == 0)
        return;
    /* Threads are copying from the blocks, and will soon be done. */
    in->needs_block = true;
    pthread_cond_wait(&in->more, &in->lock);
    in->needs_block = false;
}

/* Waits until another thread has read more, or until the time `until`.  If `until` is 0, waits
 * without limit.  Returns false if the time has come. */
static bool wait_for_more(struct input *in, double until)
{
    const struct timespec t = {.tv_sec = (time_t)until,
                               .tv_nsec = (long)((until - (double)(time_t)until) * 1e9)};

    if (until == 0)
        return pthread_cond_wait(&in->more, &in->lock) == 0;
    return pthread_cond_timedwait(&in->more, &in->lock, &t) == 0;
}

/* Reads more from a pipe, or waits until another thread has read or pushed more.  Waits until the
 * time `until` of clock_seconds(), or without limit if `until` is 0.  Returns false if nothing came
 * in time, or if memory is short.  For pushed input, also returns false if `until` is not 0.  After
 * false, a caller whose `until` is 0 tries again. */
static bool read_on(struct input *in, double until)
{
    struct block *b;
    size_t at;
    ssize_t n;

    if (in->is_pushed && until != 0)
        return false;
    if (in->reading || in->is_pushed)
        return wait_for_more(in, until);
    b = last_block(in);
    if (b == NULL && until == 0)
        get_block(in);
    if (b == NULL)
        return false;
    at = (size_t)(in->front % BLOCK_SIZE);
    in->reading = true;
    b->users++;
    pthread_mutex_unlock(&in->lock);
    n = read_some(in, b->bytes + at, BLOCK_SIZE - at, until);
    const int error = errno;
    pthread_mutex_lock(&in->lock);
    b->users--;
    in->reading = false;
    /* Another thread may be waiting for these bytes, or to read from the pipe. */
    pthread_cond_broadcast(&in->more);
    if (n < 0 && error == ETIMEDOUT && until != 0)
        return false;
    if (n > 0)
        in->front += (uint64_t)n;
    else
        in->ends = true;
    if (n < 0)
        in->error = error;
    return true;
}

/* Copies up to `len` bytes of one block, from byte `offset` of the input on.  Returns how many
 * bytes it has copied, or 0 if the bytes are forgotten.  Gives up the input's lock. */
static size_t copy(struct input *in, uint64_t offset, uint8_t *to, size_t len)
{
    const size_t at = (size_t)(offset % BLOCK_SIZE);
    const uint64_t left = in->front - offset;
    struct block *b;

    if (offset < in->kept || offset / BLOCK_SIZE < in->first)
        return 0;
    b = in->blocks[offset / BLOCK_SIZE - in->first];
    len = len < BLOCK_SIZE - at ? len : BLOCK_SIZE - at;
    len = len < left ? len : (size_t)left;
    b->users++;
    pthread_mutex_unlock(&in->lock);
    memcpy(to, b->bytes + at, len);
    pthread_mutex_lock(&in->lock);
    b->users--;
    if (in->needs_block)
        pthread_cond_broadcast(&in->more);
    return len;
}

size_t input_push(struct input *in, const uint8_t *bytes, size_t len, uint64_t limit, bool ends)
{
    size_t done = 0;

    pthread_mutex_lock(&in->lock);
    while (done < len && in->front < limit && !in->ends) {
        const size_t at = (size_t)(in->front % BLOCK_SIZE);
        struct block *b = last_block(in);
        size_t n = len - done;

        if (b == NULL) {
            in->ends = true;
            in->error = ENOMEM;
            break;
        }
        n = n < BLOCK_SIZE - at ? n : BLOCK_SIZE - at;
        n = n < limit - in->front ? n : (size_t)(limit - in->front);
        b->users++;
        pthread_mutex_unlock(&in->lock);
        memcpy(b->bytes + at, bytes + done, n);
        pthread_mutex_lock(&in->lock);
        b->users--;
        in->front += n;
        done += n;
    }
    in->ends |= ends && done == len;
    pthread_cond_broadcast(&in->more);
    tidy(in);
    pthread_mutex_unlock(&in->lock);
    return done;
}

static size_t read_memory_at(const struct input *in, uint64_t offset, uint8_t *to, size_t len)
{
    const uint64_t left = offset < in->size ? in->size - offset : 0;
    const size_t n = len < left ? len : (size_t)left;

    if (n > 0)
        memcpy(to, in->memory + offset, n);
    return n;
}

static size_t read_file_at(const struct input *in, uint64_t offset, uint8_t *to, size_t len)
{
    ssize_t n;

    if (in->memory != NULL)
        return read_memory_at(in, offset, to, len);
    n = io_read_at(in->fd, to, len, in->base + offset);
    return n < 0 ? 0 : (size_t)n;
}

size_t input_read_at(struct input *in, uint64_t offset, uint8_t *to, size_t len)
{
    const double until = clock_seconds() + PATIENCE;
    size_t done = 0;

    if (in->is_file)
        return read_file_at(in, offset, to, len);
    pthread_mutex_lock(&in->lock);
    while (done < len && !in->is_cancelled) {
        if (offset + done < in->front) {
            const size_t n = copy(in, offset + done, to + done, len - done);

            if (n == 0)
                break;
            done += n;
        } else if (in->ends || !read_on(in, until)) {
            break;
        }
    }
    tidy(in);
    pthread_mutex_unlock(&in->lock);
    return done;
}

ssize_t input_read(struct input *in, uint64_t offset, uint8_t *to, size_t len)
{
    ssize_t n = 0;

    if (in->memory != NULL)
        return (ssize_t)read_memory_at(in, offset, to, len);
    if (in->is_file)
        return io_read_some_at(in->fd, to, len, in->base + offset);
    pthread_mutex_lock(&in->lock);
    while (offset >= in->front && !in->ends && !in->is_cancelled)
        (void)read_on(in, 0);
    if (offset < in->front) {
        n = (ssize_t)copy(in, offset, to, len);
        if (n == 0) { /* the byte was forgotten, which is an error in the program */
            errno = EIO;
            n = -1;
        }
    } else if (in->error != 0 || !in->ends) {
        errno = in->error != 0 ? in->error : ECANCELED;
        n = -1;
    }
    pthread_mutex_unlock(&in->lock);
    return n;
}

void input_forget(struct input *in, uint64_t offset)
{
    if (in->is_file)
        return;
    pthread_mutex_lock(&in->lock);
    if (offset > in->kept)
        in->kept = offset;
    tidy(in);
    pthread_mutex_unlock(&in->lock);
}

void input_cancel(struct input *in)
{
    if (in->is_file)
        return;
    pthread_mutex_lock(&in->lock);
    in->is_cancelled = true;
    if (!in->is_pushed)
        wake_call(&in->wake);
    pthread_cond_broadcast(&in->more);
    pthread_mutex_unlock(&in->lock);
}

void input_close(struct input *in, uint64_t offset)
{
    if (in->is_file) {
        if (in->memory == NULL && !in->keeps_position)
            (void)lseek(in->fd, (off_t)(in->base + offset), SEEK_SET);
        free(in);
        return;
    }
    for (size_t i = 0; i < in->count; i++)
        free(in->blocks[i]);
    free(in->blocks);
    free(in->spare);
    if (!in->is_pushed)
        wake_close(&in->wake);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->more);
    free(in);
}
