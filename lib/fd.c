/*
 * fd.c - calls that work from one descriptor to another (include/gzlzss.h)
 *
 * The object's threads never wait for a descriptor, because a pipe whose other end does nothing
 * would keep them from other calls.  So if one of the two descriptors is no regular file, the
 * calling thread reads and writes, and a stream does the rest.  gzlzss_cancel ends the thread's
 * waits (base/wake.h).
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/wake.h"
#include "lib/compress.h"
#include "lib/decompress.h"
#include "lib/fd.h"
#include "lib/object.h"
#include "lib/sigpipe.h"
#include "lib/stream.h"

/* The most bytes that are read or written at a time. */
#define BUFFER_SIZE ((size_t)256 << 10)

/* A call: a stream, its input and its output. */
struct ends {
    gzlzss_stream *stream;
    const struct operation *operation;
    int in_fd, out_fd;
    /* If in_fd is -1, the input is next[0..left), which is in this memory. */
    struct gpu_memory memory;
    const uint8_t *next;
    size_t left;
    /* The operation that the caller of fd_compress_memory has begun, if in_fd is -1.  It may be
     * cancelled before the stream's operation begins. */
    const struct operation *outer;
    /* The output's st_mode. */
    mode_t out_mode;
    /* Ends the waits for a descriptor. */
    struct wake wake;
    /* Bytes written. */
    uint64_t written;
    /* Buffers of BUFFER_SIZE bytes each. */
    uint8_t *in, *out;
};

/* Waits until the descriptor is ready, for at most `ms` milliseconds, or without limit if `ms` is
 * -1.  The stream or gzlzss_cancel may end the wait earlier.  Sets *is_ready to whether reading or
 * writing would return at once, perhaps with an error.  If poll(2) fails, returns the status
 * `otherwise`.  The caller must then not read or write, because that might wait and could not be
 * cancelled. */
static gzlzss_status wait_for(const struct ends *e, int fd, short events, int ms, bool *is_ready,
                              gzlzss_status otherwise)
{
    const int found = fd < 0 ? WAKE_READY : wake_wait(&e->wake, fd, events, ms);
    const int error = errno;

    *is_ready = found > 0 && (found & WAKE_READY) != 0;
    if (found > 0 && (found & WAKE_CALLED) != 0)
        wake_clear(&e->wake);
    if (!operation_goes_on(e->operation))
        return GZLZSS_ERROR_CANCELLED;
    if (found >= 0)
        return GZLZSS_OK;
    return error == ENOMEM ? GZLZSS_ERROR_MEMORY : operation_error(e->operation, otherwise, error);
}

/* Writes some of the bytes, like write(2), to a descriptor that is ready.  A pipe that is ready
 * takes PIPE_BUF bytes without a wait, so this function writes no more than that to a pipe. */
static ssize_t write_some(const struct ends *e, const uint8_t *bytes, size_t len)
{
    if (S_ISSOCK(e->out_mode))
        return send(e->out_fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(e->out_fd, bytes, S_ISREG(e->out_mode) || len < PIPE_BUF ? len : PIPE_BUF);
}

/* Writes all bytes, with waits that can be cancelled. */
static gzlzss_status write_all(struct ends *e, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        gzlzss_status status = GZLZSS_OK;
        bool is_ready = true;
        ssize_t n;

        if (!S_ISREG(e->out_mode))
            status = wait_for(e, e->out_fd, POLLOUT, -1, &is_ready, GZLZSS_ERROR_WRITE);
        if (status != GZLZSS_OK)
            return status;
        if (!is_ready)
            continue;
        n = write_some(e, bytes, len);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
            e->written += (uint64_t)n;
        } else if (n < 0 && !io_is_transient(errno)) {
            return operation_error(e->operation, GZLZSS_ERROR_WRITE, errno);
        }
    }
    return GZLZSS_OK;
}

/* Does the work of read_more for input in memory.  Passes on at most BUFFER_SIZE bytes.  If they
 * are in a GPU's memory, copies them to the buffer first. */
static gzlzss_status read_memory(struct ends *e, gzlzss_in *in, bool *ends)
{
    const size_t n = e->left < BUFFER_SIZE ? e->left : BUFFER_SIZE;

    *in = (gzlzss_in){e->next, n, 0};
    if (!operation_goes_on(e->operation) || !operation_goes_on(e->outer))
        return GZLZSS_ERROR_CANCELLED;
    if (e->memory.is_on_gpu) {
        if (!operation_copy(e->operation, e->memory.device, e->in, e->next, n))
            return operation_error(e->operation, GZLZSS_ERROR_READ, errno);
        in->bytes = e->in;
    }
    *ends = n == e->left;
    e->next += n;
    e->left -= n;
    return GZLZSS_OK;
}

/* Reads more input, unless the stream has something to do first.  Sets in->size to 0 if nothing was
 * read, and *ends to true at the input's end. */
static gzlzss_status read_more(struct ends *e, gzlzss_in *in, bool *ends)
{
    gzlzss_status status;
    bool is_ready;
    ssize_t n;

    if (e->next != NULL)
        return read_memory(e, in, ends);
    *in = (gzlzss_in){e->in, 0, 0};
    status = wait_for(e, e->in_fd, POLLIN, 0, &is_ready, GZLZSS_ERROR_READ);
    if (status == GZLZSS_OK && !is_ready && stream_polls(e->stream))
        status = wait_for(e, e->in_fd, POLLIN, -1, &is_ready, GZLZSS_ERROR_READ);
    if (status != GZLZSS_OK || !is_ready)
        return status;
    n = read(e->in_fd, e->in, BUFFER_SIZE);
    if (n < 0 && !io_is_transient(errno))
        return operation_error(e->operation, GZLZSS_ERROR_READ, errno);
    if (n > 0)
        in->size = (size_t)n;
    *ends = n == 0;
    return GZLZSS_OK;
}

/* Runs the stream from the input's start to its end. */
static gzlzss_status run(struct ends *e)
{
    gzlzss_in in = {e->in, 0, 0};
    bool ends = false;

    for (;;) {
        gzlzss_out out = {e->out, BUFFER_SIZE, 0};
        const gzlzss_status status =
            gzlzss_stream_run(e->stream, &out, &in, ends ? GZLZSS_END : GZLZSS_CONTINUE);
        gzlzss_status error = write_all(e, e->out, out.used);

        if (error == GZLZSS_OK && status != GZLZSS_OK)
            return status == GZLZSS_STREAM_END ? GZLZSS_OK : status;
        if (error == GZLZSS_OK && in.used == in.size && !ends && out.used < out.size)
            error = read_more(e, &in, &ends);
        if (error != GZLZSS_OK)
            return error;
    }
}

/* Allocates the buffers and opens the wake.  Returns false, with errno set, if memory or
 * descriptors are short. */
static bool open_ends(struct ends *e)
{
    struct stat st;

    e->out_mode = fstat(e->out_fd, &st) == 0 ? st.st_mode : 0;
    e->in = malloc(BUFFER_SIZE);
    e->out = malloc(BUFFER_SIZE);
    if (e->in == NULL || e->out == NULL) {
        errno = ENOMEM;
        return false;
    }
    return wake_open(&e->wake);
}

/* Makes a stream by `begin`.  Moves e's input through the stream to e's output. */
static gzlzss_status
pump_ends(gzlzss *z, gzlzss_status (*begin)(gzlzss_stream **s, gzlzss *z, gzlzss_call *call),
          struct ends e, gzlzss_call *call)
{
    struct sigpipe sigpipe;
    gzlzss_status status = begin(&e.stream, z, call);

    if (status != GZLZSS_OK)
        return status;
    e.operation = stream_operation(e.stream);
    if (open_ends(&e)) {
        stream_set_wake(e.stream, &e.wake);
        sigpipe_block(&sigpipe);
        status = run(&e);
        sigpipe_restore(&sigpipe, status == GZLZSS_ERROR_WRITE);
        stream_set_wake(e.stream, NULL);
    } else {
        status = errno == ENOMEM ? GZLZSS_ERROR_MEMORY
                                 : operation_error(e.operation, GZLZSS_ERROR_READ, errno);
    }
    gzlzss_stream_free(e.stream);
    if (call != NULL)
        call->out_bytes = e.written;
    wake_close(&e.wake);
    free(e.in);
    free(e.out);
    return status;
}

static gzlzss_status pump(gzlzss *z,
                          gzlzss_status (*begin)(gzlzss_stream **s, gzlzss *z, gzlzss_call *call),
                          int out_fd, int in_fd, gzlzss_call *call)
{
    const struct ends e = {.in_fd = in_fd, .out_fd = out_fd, .wake = wake_none()};

    return pump_ends(z, begin, e, call);
}

gzlzss_status fd_compress_memory(gzlzss *z, int out_fd, const struct gpu_memory *m, const void *in,
                                 size_t in_len, const struct operation *outer, gzlzss_call *call)
{
    const void *host = in_len > 0 ? m->host : "";
    const struct ends e = {.in_fd = -1,
                           .out_fd = out_fd,
                           .wake = wake_none(),
                           .memory = *m,
                           .outer = outer,
                           .next = m->is_on_gpu ? in : host,
                           .left = in_len};

    return pump_ends(z, gzlzss_compress_stream, e, call);
}

bool fd_is_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

gzlzss_status gzlzss_compress_fd(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call)
{
    return fd_is_file(in_fd) && fd_is_file(out_fd)
               ? compress_file(z, out_fd, in_fd, call)
               : pump(z, gzlzss_compress_stream, out_fd, in_fd, call);
}

gzlzss_status gzlzss_decompress_fd(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call)
{
    return fd_is_file(in_fd) && fd_is_file(out_fd)
               ? decompress_regular(z, out_fd, in_fd, call)
               : pump(z, gzlzss_decompress_stream, out_fd, in_fd, call);
}
