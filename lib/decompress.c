/*
 * decompress.c - decompression of memory and descriptors (include/gzlzss.h)
 *
 * The calling thread decompresses.  The object's threads decode parts of a large input ahead of it
 * (pipeline/expand/api.h).  They never wait for a descriptor, because fd.c reads and writes all
 * descriptors that are not regular files.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/io.h"
#include "compat/gunzip.h"
#include "compat/gzip.h"
#include "compat/whole.h"
#include "lib/decompress.h"
#include "lib/grow.h"
#include "lib/sigpipe.h"

/* gzlzss_decompress_new first asks for at most this many bytes for each byte of input.  With a
 * larger number, a hostile input costs more memory; with a smaller one, the output of data that
 * compresses well is copied more often. */
#define GUESS_MOST ((size_t)16)

/* A call, with its input and output. */
struct decompress_call {
    struct operation operation;
    /* Decodes ahead.  If NULL, the calling thread does all of the work. */
    struct expansion *expansion;
    /* out_bytes is the number of bytes written.  in_bytes is the number of bytes read, and is used
     * only if there is no expansion. */
    uint64_t in_bytes, out_bytes;

    /* The input is either memory, of which in_at bytes were read, or a descriptor. */
    const uint8_t *in;
    size_t in_len, in_at;
    int in_fd;
    /* The output is either memory with room for `room` bytes, of which out_len are written, or a
     * descriptor. */
    uint8_t *out;
    size_t room, out_len;
    /* If not NULL, the output goes to this memory, which grows. */
    struct grow *grow;
    /* Whether the output did not fit into the room. */
    bool is_full;
    int out_fd;
};

/* Returns what an error is about, in the words that lib/decoder.c has for it, or NULL. */
static const char *message_of(enum gz_status status)
{
    switch (status) {
    case GZ_UNKNOWN_METHOD:
        return "unknown compression method";
    case GZ_ENCRYPTED:
    case GZ_RESERVED_FLAGS:
        return "unknown header flags set";
    case GZ_BAD_HEADER_CRC:
        return "header crc mismatch";
    case GZ_BAD_CRC:
    case GZ_BAD_ADLER:
        return "incorrect data check";
    case GZ_BAD_LENGTH:
        return "incorrect length check";
    case GZ_BAD_DATA:
        return "invalid compressed data";
    default:
        return NULL;
    }
}

gzlzss_status decompress_judge(const struct operation *o, enum gz_status status, int error_number)
{
    call_set_message(o->call, message_of(status));
    switch (status) {
    case GZ_OK:
        return GZLZSS_OK;
    case GZ_TRAILING_GARBAGE:
    case GZ_MORE_ENTRIES:
        return GZLZSS_ERROR_TRAILING;
    case GZ_NOT_GZIP:
    case GZ_NOT_ZLIB:
    case GZ_DICTIONARY:
    case GZ_UNKNOWN_METHOD:
    case GZ_ENCRYPTED:
    case GZ_RESERVED_FLAGS:
    case GZ_ZIP_METHOD:
    case GZ_ZIP_ENCRYPTED:
        return GZLZSS_ERROR_FORMAT;
    case GZ_TRUNCATED:
        return GZLZSS_ERROR_TRUNCATED;
    case GZ_NO_MEMORY:
        return GZLZSS_ERROR_MEMORY;
    case GZ_READ_ERROR:
    case GZ_WRITE_ERROR:
        if (error_number == ECANCELED)
            return GZLZSS_ERROR_CANCELLED;
        if (error_number == ENOMEM)
            return GZLZSS_ERROR_MEMORY;
        return operation_error(o, status == GZ_READ_ERROR ? GZLZSS_ERROR_READ : GZLZSS_ERROR_WRITE,
                               error_number);
    default:
        return GZLZSS_ERROR_DATA;
    }
}

/* Tells the program how many bytes were read and written.  Returns whether the call goes on. */
static bool tell(struct decompress_call *w)
{
    return operation_tell(&w->operation,
                          w->expansion != NULL ? expansion_position(w->expansion) : w->in_bytes,
                          w->out_bytes);
}

static ssize_t read_memory(void *ctx, void *buf, size_t len)
{
    struct decompress_call *w = ctx;
    const size_t left = w->in_len - w->in_at, n = len < left ? len : left;

    if (!operation_goes_on(&w->operation))
        return -1;
    if (w->expansion != NULL)
        return expansion_read(w->expansion, buf, len);
    if (n > 0)
        memcpy(buf, w->in + w->in_at, n);
    w->in_at += n;
    w->in_bytes += n;
    return (ssize_t)n;
}

static ssize_t read_fd(void *ctx, void *buf, size_t len)
{
    struct decompress_call *w = ctx;
    ssize_t n;

    if (!operation_goes_on(&w->operation))
        return -1;
    if (w->expansion != NULL)
        return expansion_read(w->expansion, buf, len);
    n = io_read(w->in_fd, buf, len);
    if (n > 0)
        w->in_bytes += (uint64_t)n;
    return n;
}

/* Counts `len` bytes of output, and tells the caller.  Returns as a `write` does. */
static int count_output(struct decompress_call *w, size_t len)
{
    w->out_bytes += len;
    return tell(w) ? 0 : -1;
}

static int write_memory(void *ctx, const void *buf, size_t len)
{
    struct decompress_call *w = ctx;
    const size_t room = w->room - w->out_len, n = len < room ? len : room;

    if (n > 0)
        memcpy(w->out + w->out_len, buf, n);
    w->out_len += n;
    w->out_bytes += n;
    if (n < len) {
        w->is_full = true;
        errno = ENOBUFS;
        return -1;
    }
    return tell(w) ? 0 : -1;
}

/* The next three functions are those of expansion_set_memory. */
static uint8_t *next_in_memory(void *ctx, size_t *room)
{
    const struct decompress_call *w = ctx;

    *room = w->room - w->out_len;
    return *room > 0 ? w->out + w->out_len : NULL;
}

static int wrote_memory(void *ctx, size_t len)
{
    struct decompress_call *w = ctx;

    w->out_len += len;
    return count_output(w, len);
}

static bool goes_on(void *ctx)
{
    const struct decompress_call *w = ctx;

    return operation_goes_on(&w->operation);
}

static int write_fd(void *ctx, const void *buf, size_t len)
{
    struct decompress_call *w = ctx;

    if (!io_write(w->out_fd, buf, len))
        return -1;
    return count_output(w, len);
}

static int write_growing(void *ctx, const void *buf, size_t len)
{
    struct decompress_call *w = ctx;

    if (!grow_put(w->grow, buf, len))
        return -1;
    return count_output(w, len);
}

/* The same for memory that grows. */
static uint8_t *next_growing(void *ctx, size_t *room)
{
    const struct decompress_call *w = ctx;

    return grow_next(w->grow, room);
}

static int wrote_growing(void *ctx, size_t len)
{
    struct decompress_call *w = ctx;

    w->grow->len += len;
    return count_output(w, len);
}

/* Makes the expansion of an input in memory.  Without memory for it, the calling thread does all of
 * the work. */
static void expand_memory(struct decompress_call *w,
                          int (*write)(void *ctx, const void *buf, size_t len),
                          uint8_t *(*next)(void *ctx, size_t *room),
                          int (*wrote)(void *ctx, size_t len))
{
    if (w->in_len == 0)
        return;
    w->expansion = pipeline_expand_memory(w->operation.z->pipeline, w->in, w->in_len, write, w);
    if (w->expansion != NULL)
        expansion_set_memory(w->expansion, next, wrote, goes_on);
}

/* Takes an idle decompressor, or makes one.  Returns NULL if memory is short. */
static struct decompressor *take_decompressor(gzlzss *z)
{
    struct decompressor *d = (struct decompressor *)object_cache_take(&z->idle);

    return d != NULL ? d : calloc(1, sizeof(*d));
}

/* Takes a decompressor by take_decompressor, and opens its stream. */
static struct decompressor *take_stream(gzlzss *z, const struct gz_io *io)
{
    struct decompressor *d = take_decompressor(z);

    if (d == NULL)
        return NULL;
    if (d->stream != NULL && gz_reopen(d->stream, io, &d->info))
        return d;
    gz_close(d->stream);
    d->stream = gz_open(io, &d->info);
    if (d->stream != NULL)
        return d;
    inf_whole_free(d->whole);
    free(d);
    return NULL;
}

enum gz_status decompress_all(gzlzss *z, struct gz_io *io, struct expansion *e, uint64_t *used,
                              int *error)
{
    struct decompressor *d;
    enum gz_status status;

    *used = 0;
    io->skip_zeros = z->skips_zeros;
    if (e != NULL && io->ahead == NULL)
        io->ahead = expansion_ahead(e);
    d = take_stream(z, io);
    if (d == NULL) {
        pipeline_give_back(z->pipeline);
        d = take_stream(z, io);
    }
    if (d == NULL)
        return GZ_NO_MEMORY;
    status = gz_read_header(d->stream);
    if (status == GZ_OK && e != NULL && gz_is_deflate(d->info.format)) {
        expansion_set_container(e, io->container);
        expansion_begin(e);
    }
    if (status == GZ_OK)
        status = gz_run(d->stream);
    *error = errno;
    *used = d->info.in_bytes;
    /* Bytes that are no header may follow the last member.  If there are two or more such bytes,
     * gzip reports garbage, but if there is only one, gzip reports a truncated member.  The library
     * reports garbage in both cases. */
    if (status == GZ_TRUNCATED && d->info.lone_byte)
        status = GZ_TRAILING_GARBAGE;
    object_cache_put(&z->idle, &d->kept);
    return status;
}

/* Decompresses w's input, closes w's expansion, and returns the status of the call. */
static gzlzss_status run(struct decompress_call *w, struct gz_io *io)
{
    struct pipeline_expansion_stats stats;
    uint64_t used;
    int error = 0;
    const enum gz_status status = decompress_all(w->operation.z, io, w->expansion, &used, &error);

    if (w->expansion != NULL)
        expansion_close(w->expansion, &stats);
    call_set_results(w->operation.call, used, w->out_bytes);
    if (status == GZ_WRITE_ERROR && w->is_full)
        return GZLZSS_ERROR_ROOM;
    return decompress_judge(&w->operation, status, error);
}

/* An input is decompressed in one go if it has at most WHOLE_IN_MAX bytes, and there is room for at
 * most WHOLE_OUT_MAX bytes of output.  Decompression in one go does not check whether the call was
 * cancelled, so it must not take long. */
#define WHOLE_IN_MAX ((size_t)512 << 10)
#define WHOLE_OUT_MAX ((size_t)4 << 20)

/* Decompresses a small input in one go.  Returns false if the input is not small, or if gz_whole
 * cannot decompress it.  The caller then begins again with run(). */
static bool run_whole(struct decompress_call *w, enum container container)
{
    gzlzss *z = w->operation.z;
    struct decompressor *d;
    bool ok;

    if (w->in_len == 0 || w->in_len > WHOLE_IN_MAX || w->room == 0 || w->room > WHOLE_OUT_MAX)
        return false;
    d = take_decompressor(z);
    if (d == NULL)
        return false;
    if (d->whole == NULL)
        d->whole = inf_whole_new();
    ok = d->whole != NULL &&
         gz_whole(d->whole, container, w->in, w->in_len, w->out, w->room, &w->out_len);
    object_cache_put(&z->idle, &d->kept);
    if (!ok) {
        w->out_len = 0;
        return false;
    }
    w->in_bytes = w->in_len;
    w->out_bytes = w->out_len;
    return true;
}

gzlzss_status decompress_memory(gzlzss *z, enum container container, void *out, size_t *out_len,
                                const void *in, size_t in_len, gzlzss_call *call)
{
    struct decompress_call w = {.in = in, .in_len = in_len, .out = out};
    struct gz_io io = {
        .read = read_memory, .write = write_memory, .ctx = &w, .container = container};
    gzlzss_status status;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    w.room = *out_len;
    *out_len = 0;
    if ((out == NULL && w.room > 0) || (in == NULL && in_len > 0))
        return GZLZSS_ERROR_ARGUMENT;
    status = operation_begin(&w.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    if (run_whole(&w, container)) {
        call_set_results(call, w.in_bytes, w.out_bytes);
        status = tell(&w) ? GZLZSS_OK : GZLZSS_ERROR_CANCELLED;
    } else {
        expand_memory(&w, write_memory, next_in_memory, wrote_memory);
        status = run(&w, &io);
    }
    operation_end(&w.operation);
    *out_len = w.out_len;
    return status;
}

gzlzss_status gzlzss_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                size_t in_len, gzlzss_call *call)
{
    return decompress_memory(z, z != NULL ? z->container : CONTAINER_GZIP, out, out_len, in, in_len,
                             call);
}

/* Guesses the output's size.  If a .gz has one member, its last four bytes are the size, modulo
 * 2^32.  In other inputs, these bytes may be any number.  So the number is used only if it is
 * between half of the input's size and GUESS_MOST times the input's size. */
static size_t guess_size(const uint8_t *in, size_t in_len)
{
    const size_t most = in_len < SIZE_MAX / (2 * GUESS_MOST) ? in_len * GUESS_MOST : in_len;
    const size_t said =
        in_len >= GZ_HEADER_SIZE + GZ_TRAILER_SIZE ? load32(in + in_len - sizeof(uint32_t)) : 0;

    return said >= in_len / 2 && said <= most ? said : in_len * 2;
}

gzlzss_status gzlzss_decompress_new(gzlzss *z, void **out, size_t *out_len,
                                    void *(*resize)(void *ctx, void *memory, size_t size),
                                    void *ctx, const void *in, size_t in_len, gzlzss_call *call)
{
    struct grow g = {.resize = resize, .ctx = ctx};
    struct decompress_call w = {.in = in, .in_len = in_len, .grow = &g};
    struct gz_io io = {.read = read_memory, .write = write_growing, .ctx = &w};
    gzlzss_status status;

    if (out == NULL || out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *out = NULL;
    *out_len = 0;
    if ((in == NULL && in_len > 0) || in_len > SIZE_MAX / 2)
        return GZLZSS_ERROR_ARGUMENT;
    status = operation_begin(&w.operation, z, call);
    if (status != GZLZSS_OK)
        return status;
    io.container = z->container;
    g.first = guess_size(in, in_len);
    expand_memory(&w, write_growing, next_growing, wrote_growing);
    status = run(&w, &io);
    operation_end(&w.operation);
    grow_fit(&g);
    *out = g.bytes;
    *out_len = g.len;
    return status;
}

gzlzss_status decompress_regular(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call)
{
    struct decompress_call w = {.in_fd = in_fd, .out_fd = out_fd};
    struct gz_io io = {.read = read_fd, .write = write_fd, .ctx = &w};
    struct sigpipe sigpipe;
    gzlzss_status status = operation_begin(&w.operation, z, call);

    if (status != GZLZSS_OK)
        return status;
    io.container = z->container;
    sigpipe_block(&sigpipe);
    w.expansion = pipeline_expand(z->pipeline, in_fd, 0, write_fd, &w);
    status = run(&w, &io);
    sigpipe_restore(&sigpipe, status == GZLZSS_ERROR_WRITE);
    operation_end(&w.operation);
    return status;
}
