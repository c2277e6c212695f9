/*
 * source.c - cuts the input of a compression into segments and reads them (source.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "pipeline/compress/pipe_reader.h"
#include "pipeline/compress/source.h"
#include "pipeline/crew/request.h"

/* Bytes that a pipe should hold while we read it.  This is the most that Linux allows every user by
 * default. */
#ifndef PIPE_SIZE
#define PIPE_SIZE (1 << 20)
#endif

/* Makes a pipe hold PIPE_SIZE bytes, unless it holds more already.  A larger pipe needs fewer
 * wake-ups for the same bytes.  If this fails, reading is only slower. */
static void enlarge_pipe(int fd)
{
#ifdef F_SETPIPE_SZ
    const int size = fcntl(fd, F_GETPIPE_SZ);

    if (size >= 0 && size < PIPE_SIZE)
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
#else
    (void)fd;
#endif
}

void source_init(struct source *s, int fd, size_t segment_size, bool fast)
{
    struct stat st = {0};
    off_t position;

    *s = (struct source){.fd = fd, .wake = wake_none(), .segment_size = segment_size};
    if (fstat(fd, &st) != 0)
        return; /* source_read_next reports why */
    if (!S_ISREG(st.st_mode)) {
        enlarge_pipe(fd);
        /* If `wake` cannot be opened, nothing can cancel a wait for input.  Such a wait ends only
         * when the other end writes or closes. */
        (void)wake_open(&s->wake);
        if (fast && S_ISFIFO(st.st_mode))
            s->reader = pipe_reader_new(fd);
        return;
    }
    s->is_file = true;
    position = lseek(fd, 0, SEEK_CUR);
    if (position >= 0 && st.st_size > position)
        s->size = (uint64_t)(st.st_size - position);
    if (s->size <= segment_size)
        return;
    s->base = (uint64_t)position;
    s->random_access = (s->size - 1) / segment_size;
    s->has_holes = sparse_has_holes(fd, s->size);
    s->holes = SPARSE_INPUT(fd);
}

void source_init_memory(struct source *s, const uint8_t *in, size_t len, size_t segment_size)
{
    *s = (struct source){.fd = -1,
                         .memory = in,
                         .is_file = true,
                         .wake = wake_none(),
                         .segment_size = segment_size,
                         .random_access = len == 0 ? 0 : (len - 1) / segment_size,
                         .size = len};
}

void source_init_gpu_memory(struct source *s, const uint8_t *in, size_t len, size_t segment_size,
                            struct copiers *copiers, int device)
{
    source_init_memory(s, in, len, segment_size);
    s->copiers = copiers;
    s->device = device;
}

const uint8_t *source_on_gpu(const struct source *s, uint64_t index)
{
    return s->copiers != NULL ? s->memory + index * s->segment_size : NULL;
}

void source_init_pushed(struct source *s, size_t segment_size)
{
    *s = (struct source){
        .fd = -1, .is_pushed = true, .wake = wake_none(), .segment_size = segment_size};
}

/* Waits until there is something to read, or the end of the input.  Returns false, with errno set,
 * if the wait was cancelled or failed.  After false, do not read, because reading might wait again,
 * and could not be cancelled. */
static bool wait_readable(const struct source *s)
{
    int found = 0;

    if (!wake_is_open(&s->wake))
        return true;
    while (found == 0)
        found = wake_wait(&s->wake, s->fd, POLLIN, -1);
    if (found == WAKE_READY)
        return true;
    if (found > 0)
        errno = ECANCELED;
    return false;
}

/* Reads as io_read does.  After the first segment, the pipe_reader reads if the source has one. */
static ssize_t read_some(const struct source *s, uint8_t *buf, size_t len)
{
    return s->reader != NULL && s->in_order > 0 ? pipe_reader_read(s->reader, buf, len)
                                                : io_read(s->fd, buf, len);
}

/* Reads up to `len` bytes to buf, fewer only at the end of the input.  Memory and large files are
 * read from `offset` on.  Other inputs are read from their current position, which is `offset`.
 * Returns the number of bytes, or -1 with errno set. */
static ssize_t read_full(struct source *s, uint64_t offset, uint8_t *buf, size_t len)
{
    size_t have = 0;

    if (s->memory != NULL) {
        have = len < s->size - offset ? len : (size_t)(s->size - offset);
        if (s->copiers == NULL)
            memcpy(buf, s->memory + offset, have);
        else if (!copiers_copy(s->copiers, s->device, buf, s->memory + offset, have))
            return -1;
        return (ssize_t)have;
    }
    if (s->has_holes)
        return sparse_read_at(&s->holes, buf, len, s->base + offset);
    if (s->random_access > 0)
        return io_read_at(s->fd, buf, len, s->base + offset);
    while (have < len) {
        const ssize_t n = wait_readable(s) ? read_some(s, buf + have, len - have) : -1;

        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

bool source_is_file(const struct source *s)
{
    return s->is_file;
}

bool source_is_long(const struct source *s)
{
    return s->random_access > 0;
}

bool source_read_at(struct source *s, uint64_t index, uint8_t *buf)
{
    ssize_t n = read_full(s, index * s->segment_size, buf, s->segment_size);

    if (n >= 0 && (size_t)n < s->segment_size) {
        errno = PIPELINE_SHORTER;
        return false;
    }
    return n >= 0;
}

bool source_read_next(struct source *s, uint8_t *buf, size_t *len, bool *last)
{
    uint64_t offset = (s->random_access + s->in_order) * s->segment_size;
    size_t have = 0;
    ssize_t n;

    if (s->have_peeked)
        buf[have++] = s->peeked;
    n = read_full(s, offset + have, buf + have, s->segment_size - have);
    if (n < 0)
        return false;
    have += (size_t)n;
    n = 0;
    if (have == s->segment_size) {
        n = read_full(s, offset + have, &s->peeked, 1);
        if (n < 0)
            return false;
    }
    s->have_peeked = n == 1;
    s->in_order++;
    *len = have;
    *last = !s->have_peeked;
    if (*last)
        s->end = offset + have;
    return true;
}

/* --- Pieces, whose ends depend on the input's content --- */

/*
 * A piece has at least PIPELINE_PIECE_MIN bytes.  It ends after the first byte from then on at
 * which a hash of the last 64 bytes begins with PIECE_BITS zero bits.  With smaller pieces, rsync
 * sends fewer bytes after a change, but the pieces' headers and ends take more bytes.  With these
 * numbers, pieces have 8 KiB on average, and the output of level 6 for 12 MB of C headers is 2.4 %
 * larger than without pieces.  With 13 bits, pieces have 12 KiB on average, and the output is 1.6 %
 * larger.  If you change the bits, the output changes, so make tests/data/rsyncable.sha256 again.
 */
#define PIECE_BITS 12

/* Bytes on which the hash depends.  Older bytes were shifted out of its 64 bits. */
#define HASH_BYTES 64

/* Bytes held at a time: the window, and many pieces.  If input is pushed, `held` has room for
 * HELD_FIRST bytes at first, and twice as many whenever it is full. */
#define HELD_SIZE ((size_t)1 << 20)
#define HELD_FIRST ((size_t)4 << 10)

/* Returns a number of 64 bits for each value of a byte.  The numbers have no visible pattern: the
 * generator splitmix64 of S. Vigna makes them.  The hash made of these numbers is that of "gear"
 * chunking (W. Xia and others, 2014). */
static uint64_t gear(uint8_t byte)
{
    uint64_t z = (byte + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Returns the length of the piece with which in[0..len) starts.  If no byte ends a piece, returns
 * `len`, but at most SOURCE_PIECE_MAX. */
static size_t piece_length(const uint8_t *in, size_t len)
{
    const size_t most = len < SOURCE_PIECE_MAX ? len : SOURCE_PIECE_MAX;
    uint64_t gears[256], hash = 0;

    for (unsigned i = 0; i < 256; i++)
        gears[i] = gear((uint8_t)i);
    for (size_t i = PIPELINE_PIECE_MIN - HASH_BYTES; i < most; i++) {
        hash = (hash << 1) + gears[in[i]];
        if (i >= PIPELINE_PIECE_MIN && hash >> (64 - PIECE_BITS) == 0)
            return i + 1;
    }
    return most;
}

bool source_begin_pieces(struct source *s)
{
    /* Pieces are read in order, because the start of a piece is known only once the piece before it
     * was read. */
    s->random_access = 0;
    s->has_holes = false;
    s->held_room = s->is_pushed ? HELD_FIRST : HELD_SIZE;
    s->held = malloc(s->held_room);
    return s->held != NULL;
}

/* Makes room in `held`.  Drops the bytes before the next piece, except its window. */
static void forget_pieces(struct source *s)
{
    const size_t window = s->next < LZ_CHUNK_SIZE ? s->next : LZ_CHUNK_SIZE;

    memmove(s->held, s->held + s->next - window, window + s->filled - s->next);
    s->filled -= s->next - window;
    s->next = window;
}

/* Gives `held` memory for `size` bytes in all.  Returns false if memory is short. */
static bool make_room(struct source *s, size_t size)
{
    size_t room = s->held_room;
    uint8_t *held;

    if (size <= room)
        return true;
    while (room < size)
        room *= 2;
    held = realloc(s->held, room);
    if (held == NULL)
        return false;
    s->held = held;
    s->held_room = room;
    return true;
}

bool source_push(struct source *s, const uint8_t *bytes, size_t len, bool ends, size_t *taken)
{
    size_t n;

    if (len > HELD_SIZE - s->filled)
        forget_pieces(s);
    n = len < HELD_SIZE - s->filled ? len : HELD_SIZE - s->filled;
    if (!make_room(s, s->filled + n))
        return false;
    if (n > 0)
        memcpy(s->held + s->filled, bytes, n);
    s->filled += n;
    s->no_more = ends && n == len;
    *taken = n;
    return true;
}

void source_flush(struct source *s)
{
    s->flushes = s->next < s->filled;
}

void source_forget(struct source *s)
{
    s->next = 0;
    s->filled = 0;
}

bool source_has_room(const struct source *s)
{
    return !s->no_more && (s->filled < HELD_SIZE || s->next > LZ_CHUNK_SIZE);
}

bool source_has_piece(const struct source *s)
{
    return s->no_more || s->flushes || s->filled - s->next > SOURCE_PIECE_MAX;
}

bool source_next_piece(struct source *s, uint8_t *buf, size_t *before, size_t *len, bool *last)
{
    if (!source_has_piece(s)) {
        ssize_t n;

        forget_pieces(s);
        n = read_full(s, s->read, s->held + s->filled, HELD_SIZE - s->filled);
        if (n < 0)
            return false;
        s->read += (uint64_t)n;
        s->filled += (size_t)n;
        s->no_more = s->filled < HELD_SIZE;
    }
    *before = s->next < LZ_CHUNK_SIZE ? 0 : LZ_CHUNK_SIZE;
    *len = piece_length(s->held + s->next, s->filled - s->next);
    memcpy(buf, s->held + s->next - *before, *before + *len);
    s->next += *len;
    s->flushes = s->flushes && s->next < s->filled;
    *last = s->no_more && s->next == s->filled;
    return true;
}

void source_cancel(const struct source *s)
{
    if (wake_is_open(&s->wake))
        wake_call(&s->wake);
}

void source_finish(const struct source *s)
{
    pipe_reader_free(s->reader);
    free(s->held);
    wake_close(&s->wake);
    /* lseek has worked on this file in source_init, so it should not fail here. */
    if (s->memory == NULL && s->random_access > 0)
        (void)lseek(s->fd, (off_t)(s->base + s->end), SEEK_SET);
}
