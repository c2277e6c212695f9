/*
 * sparse.c - files with holes (sparse.h)
 *
 * sparse_write divides its bytes into pieces of PIECE bytes.  It writes each piece that has a byte
 * other than zero.  (The test is fast, because mostly the first word of such a piece already has a
 * byte other than zero.)  Zeros between two written pieces become a hole if they are HOLE_MIN bytes
 * or more.  With a smaller HOLE_MIN, more files have holes.  But a file with many small holes is
 * divided into many parts on the disk.  Files of programs, for example, have short runs of zeros.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sparse.h"

#define PIECE ((size_t)4 << 10)
#define HOLE_MIN ((size_t)32 << 10)

static const uint8_t no_bytes[HOLE_MIN];

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

/* Writes the zeros that are not written yet, or makes a hole of them. */
static bool put_zeros(struct sparse_output *s)
{
    const uint64_t zeros = s->zeros;

    s->zeros = 0;
    if (zeros >= HOLE_MIN)
        return lseek(s->fd, (off_t)zeros, SEEK_CUR) >= 0;
    return io_write(s->fd, no_bytes, (size_t)zeros);
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
        if (bytes > data && (!put_zeros(s) || !io_write(s->fd, data, (size_t)(bytes - data))))
            return false;
    }
    return true;
}

bool sparse_end(struct sparse_output *s)
{
    off_t end;

    if (s->zeros < HOLE_MIN)
        return put_zeros(s);
    end = lseek(s->fd, (off_t)s->zeros, SEEK_CUR);
    s->zeros = 0;
    return end >= 0 && ftruncate(s->fd, end) == 0;
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

/* Returns how many of the `len` bytes from `offset` on lie before the next hole.  At `offset`,
 * there is no hole. */
static size_t data_at(int fd, size_t len, uint64_t offset)
{
#ifdef SEEK_DATA
    const off_t hole = lseek(fd, (off_t)offset, SEEK_HOLE);

    if (hole > (off_t)offset && (uint64_t)hole - offset < len)
        return (size_t)((uint64_t)hole - offset);
#else
    (void)fd;
    (void)offset;
#endif
    return len;
}

ssize_t sparse_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
    uint8_t *const bytes = buf;
    size_t done = 0;

    while (done < len) {
        const size_t hole = hole_at(fd, len - done, offset + done);
        size_t data;
        ssize_t n;

        memset(bytes + done, 0, hole);
        done += hole;
        if (done == len)
            break;
        data = data_at(fd, len - done, offset + done);
        n = io_read_at(fd, bytes + done, data, offset + done);
        if (n < 0)
            return -1;
        done += (size_t)n;
        if ((size_t)n < data)
            break; /* the end of the file */
    }
    return (ssize_t)done;
}
