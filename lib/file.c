/*
 * file.c - reading and writing a .gz by a few bytes at a time, as with stdio (include/gzlzss.h)
 *
 * A file is a stream, a descriptor, and two buffers.  The buffer `packed` has compressed bytes.
 * The buffer `bytes` has uncompressed bytes, so that small reads and writes do not each run the
 * stream.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "lib/fd.h"
#include "lib/object.h"
#include "lib/sigpipe.h"

/* Bytes of each buffer. */
#define BUFFER_SIZE ((size_t)64 << 10)

struct gzlzss_file {
    gzlzss *z;
    gzlzss_call *call; /* the program's struct, or `own` */
    gzlzss_call own;
    int fd;
    bool is_owned; /* gzlzss_file_close closes fd */
    bool writes;
    bool is_regular; /* fd is a regular file */
    off_t start;     /* the position of a regular file before the first call */
    gzlzss_stream *stream;
    /* GZLZSS_OK; GZLZSS_STREAM_END once the stream has ended; or an error, which stays. */
    gzlzss_status status;
    uint64_t at; /* uncompressed bytes that the program has read or written */
    /* Reading: bytes[begin..end) comes next.  Writing: bytes[0..end) is not in the stream yet. */
    size_t begin, end;
    gzlzss_in in; /* reading: compressed bytes, in `packed` */
    bool in_ends; /* reading: no bytes come after those in `in` */
    uint8_t *bytes, *packed;
};

/* Notes an error of a system call. */
static void fail(gzlzss_file *f, gzlzss_status status, int error)
{
    f->status = status;
    f->call->error_number = error;
}

/* --- Opening and closing -------------------------------------------------------------------- */

/* Begins a stream at the file's current position. */
static gzlzss_status begin(gzlzss_file *f)
{
    f->in = (gzlzss_in){f->packed, 0, 0};
    f->in_ends = false;
    f->begin = f->end = 0;
    f->at = 0;
    f->status = f->writes ? gzlzss_compress_stream(&f->stream, f->z, f->call)
                          : gzlzss_decompress_stream(&f->stream, f->z, f->call);
    return f->status;
}

static void file_delete(gzlzss_file *f)
{
    gzlzss_stream_free(f->stream);
    free(f->bytes);
    free(f->packed);
    free(f);
}

gzlzss_status gzlzss_file_of(gzlzss_file **file, gzlzss *z, int fd, gzlzss_file_mode mode,
                             gzlzss_call *call)
{
    gzlzss_status status = GZLZSS_ERROR_MEMORY;
    gzlzss_file *f;

    if (file == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *file = NULL;
    if (z == NULL || fd < 0 || mode < GZLZSS_READ || mode > GZLZSS_CREATE)
        return GZLZSS_ERROR_ARGUMENT;
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return GZLZSS_ERROR_MEMORY;
    f->z = z;
    f->own = (gzlzss_call)GZLZSS_CALL_INIT;
    f->call = call != NULL ? call : &f->own;
    f->fd = fd;
    f->writes = mode != GZLZSS_READ;
    f->start = fd_is_file(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
    f->is_regular = f->start >= 0;
    f->bytes = malloc(BUFFER_SIZE);
    f->packed = malloc(BUFFER_SIZE);
    if (f->bytes != NULL && f->packed != NULL)
        status = begin(f);
    if (status == GZLZSS_OK)
        *file = f;
    else
        file_delete(f);
    return status;
}

gzlzss_status gzlzss_file_open(gzlzss_file **file, gzlzss *z, const char *path,
                               gzlzss_file_mode mode, gzlzss_call *call)
{
    static const int flags[] = {
        [GZLZSS_READ] = O_RDONLY,
        [GZLZSS_WRITE] = O_WRONLY | O_CREAT | O_TRUNC,
        [GZLZSS_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
        [GZLZSS_CREATE] = O_WRONLY | O_CREAT | O_EXCL,
    };
    gzlzss_status status;
    int fd;

    if (file == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *file = NULL;
    if (z == NULL || path == NULL || mode < GZLZSS_READ || mode > GZLZSS_CREATE ||
        !call_is_valid(call))
        return GZLZSS_ERROR_ARGUMENT;
    fd = io_open_at(AT_FDCWD, path, flags[mode] | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0) {
        if (call != NULL)
            call->error_number = errno;
        return mode == GZLZSS_READ ? GZLZSS_ERROR_READ : GZLZSS_ERROR_WRITE;
    }
    status = gzlzss_file_of(file, z, fd, mode, call);
    if (status == GZLZSS_OK)
        (*file)->is_owned = true;
    else
        close(fd);
    return status;
}

/* --- Writing -------------------------------------------------------------------------------- */

/* Writes the stream's output.  A pipe without a reader gives EPIPE, and no SIGPIPE. */
static void write_out(gzlzss_file *f, size_t len)
{
    struct sigpipe sigpipe;
    bool ok;
    int error;

    if (len == 0)
        return;
    sigpipe_block(&sigpipe);
    ok = io_write(f->fd, f->packed, len);
    error = errno;
    sigpipe_restore(&sigpipe, !ok);
    if (!ok)
        fail(f, GZLZSS_ERROR_WRITE, error);
}

/* Runs the stream with more bytes, and writes its output, until the stream has followed the
 * directive. */
static void put(gzlzss_file *f, const void *bytes, size_t len, gzlzss_directive directive)
{
    gzlzss_in in = {bytes, len, 0};
    gzlzss_out out;

    do {
        gzlzss_status status;

        out = (gzlzss_out){f->packed, BUFFER_SIZE, 0};
        status = gzlzss_stream_run(f->stream, &out, &in, directive);
        write_out(f, out.used);
        if (f->status == GZLZSS_OK)
            f->status = status;
    } while (f->status == GZLZSS_OK && (out.used == out.size || directive == GZLZSS_END));
}

/* Runs the stream with the bytes in the buffer. */
static void put_buffer(gzlzss_file *f, gzlzss_directive directive)
{
    put(f, f->bytes, f->end, directive);
    f->end = 0;
}

gzlzss_status gzlzss_file_write(gzlzss_file *f, const void *in, size_t len)
{
    if (f == NULL || !f->writes || (in == NULL && len > 0))
        return GZLZSS_ERROR_ARGUMENT;
    if (f->status == GZLZSS_OK && len > BUFFER_SIZE - f->end)
        put_buffer(f, GZLZSS_CONTINUE);
    if (f->status == GZLZSS_OK && len > BUFFER_SIZE - f->end) {
        put(f, in, len, GZLZSS_CONTINUE);
    } else if (f->status == GZLZSS_OK && len > 0) {
        memcpy(f->bytes + f->end, in, len);
        f->end += len;
    }
    if (f->status == GZLZSS_OK)
        f->at += len;
    return f->status;
}

gzlzss_status gzlzss_file_flush(gzlzss_file *f, gzlzss_directive directive)
{
    if (f == NULL || !f->writes || (directive != GZLZSS_FLUSH && directive != GZLZSS_FULL_FLUSH))
        return GZLZSS_ERROR_ARGUMENT;
    if (f->status == GZLZSS_OK)
        put_buffer(f, directive);
    return f->status;
}

/* --- Reading -------------------------------------------------------------------------------- */

/* Reads more compressed bytes. */
static void read_in(gzlzss_file *f)
{
    const ssize_t n = io_read(f->fd, f->packed, BUFFER_SIZE);

    if (n < 0) {
        fail(f, GZLZSS_ERROR_READ, errno);
        return;
    }
    f->in = (gzlzss_in){f->packed, (size_t)n, 0};
    f->in_ends = n == 0;
}

/* Decompresses up to `room` bytes to `to`, and returns their number.  Stops early at the data's end
 * and after an error.  Also stops if it has at least `least` bytes, and more output needs more
 * input from the descriptor. */
static size_t decompress(gzlzss_file *f, void *to, size_t room, size_t least)
{
    /* Before this function waits for more input from a pipe, it must give out the data of all input
     * so far, so it flushes.  Reading a regular file does not wait, so no flush is needed, and the
     * object's threads may still work on earlier input. */
    const gzlzss_directive more = f->is_regular ? GZLZSS_CONTINUE : GZLZSS_FLUSH;
    gzlzss_out out = {to, room, 0};

    for (;;) {
        f->status = gzlzss_stream_run(f->stream, &out, &f->in, f->in_ends ? GZLZSS_END : more);
        if (f->status != GZLZSS_OK || out.used == out.size || (out.used >= least && !f->in_ends))
            return out.used;
        if (!f->in_ends)
            read_in(f);
        if (f->status != GZLZSS_OK)
            return out.used;
    }
}

/* Whether no more bytes come, because of the data's end or an error. */
static bool is_over(const gzlzss_file *f)
{
    return f->status != GZLZSS_OK && f->begin == f->end;
}

/* Returns the status for a caller that wanted `wanted` bytes and got `done`.  A caller that got all
 * bytes gets GZLZSS_OK; the next call reports an error that comes after these bytes. */
static gzlzss_status judge(const gzlzss_file *f, uint64_t done, uint64_t wanted)
{
    return done == wanted || f->status == GZLZSS_STREAM_END ? GZLZSS_OK : f->status;
}

/* Reads up to `len` bytes to `out`, or drops them if `out` is NULL.  Returns their number. */
static size_t read_bytes(gzlzss_file *f, uint8_t *out, size_t len)
{
    size_t done = 0;

    while (done < len && !is_over(f)) {
        const size_t left = len - done, have = f->end - f->begin, n = left < have ? left : have;

        if (n > 0) {
            if (out != NULL)
                memcpy(out + done, f->bytes + f->begin, n);
            f->begin += n;
            done += n;
        } else if (out != NULL && left >= BUFFER_SIZE) {
            /* These bytes bypass the buffer.  Empty the buffer, because its bytes are then no
             * longer the bytes before the position. */
            f->begin = f->end = 0;
            done += decompress(f, out + done, left, left);
        } else {
            f->begin = 0;
            f->end = decompress(f, f->bytes, BUFFER_SIZE, 1);
        }
    }
    f->at += done;
    return done;
}

gzlzss_status gzlzss_file_read(gzlzss_file *f, void *out, size_t *len)
{
    size_t wanted;

    if (len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    wanted = *len;
    *len = 0;
    if (f == NULL || f->writes || (out == NULL && wanted > 0))
        return GZLZSS_ERROR_ARGUMENT;
    *len = wanted > 0 ? read_bytes(f, out, wanted) : 0;
    return judge(f, *len, wanted);
}

/* --- Positions ------------------------------------------------------------------------------ */

/* Starts again from the file's first byte. */
static gzlzss_status rewind_file(gzlzss_file *f)
{
    if (!f->is_regular)
        return GZLZSS_ERROR_ARGUMENT;
    if (lseek(f->fd, f->start, SEEK_SET) < 0) {
        fail(f, GZLZSS_ERROR_READ, errno);
        return f->status;
    }
    gzlzss_stream_free(f->stream);
    f->stream = NULL;
    return begin(f);
}

/* Goes to byte `offset`, which is not in the buffer. */
static gzlzss_status go_to(gzlzss_file *f, uint64_t offset)
{
    gzlzss_status status = GZLZSS_OK;

    if (offset < f->at)
        status = rewind_file(f);
    while (status == GZLZSS_OK && f->at < offset && !is_over(f)) {
        const uint64_t left = offset - f->at;

        (void)read_bytes(f, NULL, left < SIZE_MAX ? (size_t)left : SIZE_MAX);
    }
    return status == GZLZSS_OK ? judge(f, f->at, offset) : status;
}

gzlzss_status gzlzss_file_seek(gzlzss_file *f, uint64_t offset)
{
    if (f == NULL || f->writes)
        return GZLZSS_ERROR_ARGUMENT;
    /* If the byte is in the buffer, only the position changes. */
    if (offset <= f->at ? f->at - offset <= f->begin : offset - f->at <= f->end - f->begin) {
        f->begin = (size_t)(f->begin + (offset - f->at));
        f->at = offset;
        return GZLZSS_OK;
    }
    return go_to(f, offset);
}

uint64_t gzlzss_file_tell(const gzlzss_file *f)
{
    return f == NULL ? 0 : f->at;
}

int gzlzss_file_eof(const gzlzss_file *f)
{
    return f != NULL && !f->writes && f->status == GZLZSS_STREAM_END && f->begin == f->end;
}

gzlzss_status gzlzss_file_error(const gzlzss_file *f, int *error_number)
{
    if (error_number != NULL)
        *error_number = f == NULL ? 0 : f->call->error_number;
    if (f == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    return f->status == GZLZSS_STREAM_END ? GZLZSS_OK : f->status;
}

gzlzss_status gzlzss_file_close(gzlzss_file *f)
{
    gzlzss_status status;

    if (f == NULL)
        return GZLZSS_OK;
    if (f->writes && f->status == GZLZSS_OK)
        put_buffer(f, GZLZSS_END);
    /* On Linux, close(2) has closed the descriptor even if it returns EINTR. */
    if (f->is_owned && close(f->fd) != 0 && errno != EINTR && f->writes &&
        f->status == GZLZSS_STREAM_END)
        fail(f, GZLZSS_ERROR_WRITE, errno);
    status = gzlzss_file_error(f, NULL);
    file_delete(f);
    return status;
}
