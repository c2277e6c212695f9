/*
 * sparse.c - files with holes (sparse.h)
 *
 * sparse_write divides its bytes into pieces of PIECE bytes.  It writes each piece that has a byte
 * other than zero.  (The test is fast, because mostly the first word of such a piece already has a
 * byte other than zero.)  Zeros between two written pieces become a hole if they are HOLE_MIN bytes
 * or more.  With a smaller HOLE_MIN, more files have holes.  But a file with many small holes is
 * divided into many parts on the disk.  Files of programs, for example, have short runs of zeros.
 *
 * On ext4, writing takes two thirds of the processor time if room was allocated before: the file
 * system then need not reserve room for each part.  (Measured with Linux 6.18.  On XFS that gives
 * nothing, and on tmpfs it takes longer.)  Room is allocated a piece at a time, and only if much
 * more is free, since others may need it.  The first hole ends that, since a hole must take no
 * room.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/vfs.h>
#endif
#include <unistd.h>

#include "base/io.h"
#include "base/sparse.h"

#define PIECE ((size_t)4 << 10)
#define HOLE_MIN ((size_t)32 << 10)

/* Bytes of room to allocate at a time.  The first ALLOCATE_FROM bytes of a file get none, because
 * most files are small.  No room is allocated if less than ALLOCATE_SHARE times as much is free. */
#define ALLOCATE ((uint64_t)64 << 20)
#define ALLOCATE_FROM ((uint64_t)8 << 20)
#define ALLOCATE_SHARE 64

/* The number by which statfs() tells ext4 (and ext2 and ext3, which allocate nothing ahead). */
#define EXT4_MAGIC 0xEF53

static const uint8_t no_bytes[HOLE_MIN];

/* --- Allocating ----------------------------------------------------------------------------- */

#if defined __linux__ && defined FALLOC_FL_KEEP_SIZE

bool sparse_pays_to_allocate(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == EXT4_MAGIC;
}

/* Whether so much room is free that a piece of it may be taken ahead. */
static bool has_room(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_bsize > 0 &&
           (uint64_t)fs.f_bavail >= ALLOCATE_SHARE * ALLOCATE / (uint64_t)fs.f_bsize;
}

/* Allocates room for bytes [at, at + len) of the file, and some more, if they have none. */
static void allocate(struct sparse_output *s, uint64_t at, size_t len)
{
    if (!s->allocates || at < ALLOCATE_FROM || at + len <= s->allocated)
        return;
    s->allocates = has_room(s->fd);
    if (!s->allocates)
        return;
    s->has_allocated = true;
    if (fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)(len + ALLOCATE)) == 0)
        s->allocated = at + len + ALLOCATE;
    else if (errno != EINTR)
        s->allocates = false;
}

#else

bool sparse_pays_to_allocate(int fd)
{
    (void)fd;
    return false;
}

static void allocate(struct sparse_output *s, uint64_t at, size_t len)
{
    (void)s;
    (void)at;
    (void)len;
}

#endif

/* Frees the room after the file's end, which is at `end`, and allocates no more.  Returns false,
 * with errno set, after an error. */
static bool free_room(struct sparse_output *s, uint64_t end)
{
    const bool has_allocated = s->has_allocated;

    s->allocates = s->has_allocated = false;
    return !has_allocated || io_set_length(s->fd, end) == 0;
}

/* --- Writing -------------------------------------------------------------------------------- */

bool sparse_is_possible(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    struct stat st;

    return flags >= 0 && (flags & O_APPEND) == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           lseek(fd, 0, SEEK_CUR) == st.st_size;
}

/* Returns the number of bytes from the position to the end of its piece, `len` at most. */
static size_t rest_of_piece(const struct sparse_output *s, size_t len)
{
    const size_t rest = PIECE - (size_t)(s->position % PIECE);

    return len < rest ? len : rest;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    return memcmp(bytes, no_bytes, len) == 0;
}

/* Writes the zeros that are not written yet, or makes a hole of them.  The zeros end at byte
 * `start` of the file. */
static bool put_zeros(struct sparse_output *s, uint64_t start)
{
    const uint64_t zeros = s->zeros;

    s->zeros = 0;
    if (zeros >= HOLE_MIN)
        return free_room(s, start - zeros) && lseek(s->fd, (off_t)zeros, SEEK_CUR) >= 0;
    return io_write(s->fd, no_bytes, (size_t)zeros);
}

/* Writes data[0..len), which ends at the position, and the zeros before it. */
static bool put_data(struct sparse_output *s, const uint8_t *data, size_t len)
{
    const uint64_t at = s->position - len;

    if (!put_zeros(s, at))
        return false;
    allocate(s, at, len);
    return io_write(s->fd, data, len);
}

bool sparse_write(struct sparse_output *s, const void *buf, size_t len)
{
    const uint8_t *bytes = buf, *const end = bytes + len;

    while (bytes < end) {
        const uint8_t *data = bytes;
        size_t n;

        /* Count the pieces of zeros, then gather the pieces with data. */
        while (data < end && is_zero(data, n = rest_of_piece(s, (size_t)(end - data)))) {
            data += n;
            s->position += n;
            s->zeros += n;
        }
        bytes = data;
        while (bytes < end && !is_zero(bytes, n = rest_of_piece(s, (size_t)(end - bytes)))) {
            bytes += n;
            s->position += n;
        }
        if (bytes > data && !put_data(s, data, (size_t)(bytes - data)))
            return false;
    }
    return true;
}

bool sparse_end(struct sparse_output *s)
{
    const uint64_t zeros = s->zeros;
    off_t end;

    if (zeros < HOLE_MIN)
        return put_zeros(s, s->position) && free_room(s, s->position);
    s->zeros = 0;
    if (!free_room(s, s->position - zeros))
        return false;
    end = lseek(s->fd, (off_t)zeros, SEEK_CUR);
    return end >= 0 && io_set_length(s->fd, (uint64_t)end) == 0;
}

/* --- Reading -------------------------------------------------------------------------------- */

bool sparse_has_holes(int fd, uint64_t size)
{
#ifdef SEEK_DATA
    struct stat st;

    return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 < size;
#else
    (void)fd;
    (void)size;
    return false;
#endif
}

/* Returns how many of the `len` bytes from `offset` on lie in a hole; 0 if that is not known. */
static size_t hole_at(int fd, size_t len, uint64_t offset)
{
#ifdef SEEK_DATA
    const off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    uint64_t end = (uint64_t)data;
    struct stat st;

    if (data < 0) {
        /* ENXIO means that there is no data from `offset` up to the file's end. */
        if (errno != ENXIO || fstat(fd, &st) != 0 || (uint64_t)st.st_size <= offset)
            return 0;
        end = (uint64_t)st.st_size;
    }
    return end - offset < len ? (size_t)(end - offset) : len;
#else
    (void)fd;
    (void)len;
    (void)offset;
    return 0;
#endif
}

/* Returns how many of the `len` bytes from `offset` on are data that was found before; 0 if that is
 * not known. */
static size_t known_data(struct sparse_input *in, size_t len, uint64_t offset)
{
    uint64_t known = 0;

    pthread_mutex_lock(&in->lock);
    if (offset >= in->data_start && offset < in->data_end)
        known = in->data_end - offset;
    pthread_mutex_unlock(&in->lock);
    return known < len ? (size_t)known : len;
}

/* Returns how many of the `len` bytes from `offset` on lie before the next hole.  At `offset`,
 * there is no hole. */
static size_t find_data(struct sparse_input *in, size_t len, uint64_t offset)
{
#ifdef SEEK_DATA
    const off_t hole = lseek(in->fd, (off_t)offset, SEEK_HOLE);

    if (hole > (off_t)offset) {
        pthread_mutex_lock(&in->lock);
        in->data_start = offset;
        in->data_end = (uint64_t)hole;
        pthread_mutex_unlock(&in->lock);
        if ((uint64_t)hole - offset < len)
            return (size_t)((uint64_t)hole - offset);
    }
#else
    (void)in;
    (void)offset;
#endif
    return len;
}

ssize_t sparse_read_at(struct sparse_input *in, void *buf, size_t len, uint64_t offset)
{
    uint8_t *const bytes = buf;
    size_t done = 0;

    while (done < len) {
        size_t data = known_data(in, len - done, offset + done);
        ssize_t n;

        if (data == 0) {
            const size_t hole = hole_at(in->fd, len - done, offset + done);

            memset(bytes + done, 0, hole);
            done += hole;
            if (done == len)
                break;
            data = find_data(in, len - done, offset + done);
        }
        n = io_read_at(in->fd, bytes + done, data, offset + done);
        if (n < 0)
            return -1;
        done += (size_t)n;
        if ((size_t)n < data)
            break; /* the end of the file */
    }
    return (ssize_t)done;
}
