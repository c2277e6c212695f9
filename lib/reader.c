/*
 * reader.c - readers: the decompressed data at any place (include/gzlzss.h)
 *
 * access/reader.h does the work in the calling thread.  If a call must decode much, this file first
 * lets all threads of the object decode (pipeline/expand/api.h, access/trail.h).  It also turns
 * results into the library's statuses, lets calls be cancelled, and refuses objects of another
 * process.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access/reader.h"
#include "access/trail.h"
#include "lib/decompress.h"
#include "lib/object.h"

struct gzlzss_reader {
    gzlzss *z;
    struct access_source source;
    struct access_reader *access;
};

/* --- Making and freeing --------------------------------------------------------------------- */

static gzlzss_status open_reader(gzlzss_reader **r, gzlzss *z, const struct access_source *source,
                                 gzlzss_call *call)
{
    struct operation o = {0};
    gzlzss_status status = operation_begin(&o, z, call);

    if (status != GZLZSS_OK)
        return status;
    *r = calloc(1, sizeof(**r));
    if (*r != NULL) {
        (*r)->z = z;
        (*r)->source = *source;
        (*r)->source.skip_zeros = z->skips_zeros;
        (*r)->access = access_open(&(*r)->source);
    }
    if (*r == NULL || (*r)->access == NULL) {
        free(*r);
        *r = NULL;
        status = GZLZSS_ERROR_MEMORY;
    }
    operation_end(&o);
    return status;
}

/* Sets *source to the file fd.  Returns false if fd is not a regular file. */
static bool file_source(int fd, struct access_source *source)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *source = (struct access_source){.fd = fd, .size = (uint64_t)st.st_size};
    return true;
}

gzlzss_status gzlzss_reader_fd(gzlzss_reader **r, gzlzss *z, int fd, gzlzss_call *call)
{
    struct access_source source;

    if (r == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *r = NULL;
    return file_source(fd, &source) ? open_reader(r, z, &source, call) : GZLZSS_ERROR_ARGUMENT;
}

gzlzss_status gzlzss_reader_memory(gzlzss_reader **r, gzlzss *z, const void *in, size_t in_len,
                                   gzlzss_call *call)
{
    const struct access_source source = {.fd = -1, .memory = in, .size = in_len};

    if (r == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *r = NULL;
    return in != NULL || in_len == 0 ? open_reader(r, z, &source, call) : GZLZSS_ERROR_ARGUMENT;
}

void gzlzss_reader_free(gzlzss_reader *r)
{
    /* In a child process, a lock in the reader may belong to a thread that exists only in the
     * parent.  So leave the reader as it is. */
    if (r == NULL || object_is_foreign(r->z))
        return;
    access_close(r->access);
    free(r);
}

/* --- Calls ---------------------------------------------------------------------------------- */

/* Begins a call on the reader. */
static gzlzss_status begin(struct operation *o, gzlzss_reader *r, gzlzss_call *call)
{
    return r != NULL ? operation_begin(o, r->z, call) : GZLZSS_ERROR_ARGUMENT;
}

static bool goes_on(void *ctx)
{
    return operation_goes_on(ctx);
}

static gzlzss_status use_index(gzlzss_reader *r, struct access_source index, gzlzss_call *call)
{
    struct operation o = {0};
    const struct access_watch watch = {goes_on, &o, NULL};
    gzlzss_status status = begin(&o, r, call);

    if (status != GZLZSS_OK)
        return status;
    index.watch = &watch;
    switch (access_use_index(r->access, &index)) {
    case ACCESS_INDEX_OK:
        break;
    case ACCESS_INDEX_UNKNOWN:
        status = GZLZSS_ERROR_FORMAT;
        break;
    case ACCESS_INDEX_DAMAGED:
    case ACCESS_INDEX_OTHER:
        status = GZLZSS_ERROR_DATA;
        break;
    case ACCESS_INDEX_READ_ERROR:
        status = decompress_judge(&o, GZ_READ_ERROR, errno);
        break;
    case ACCESS_INDEX_NO_MEMORY:
        status = GZLZSS_ERROR_MEMORY;
        break;
    }
    operation_end(&o);
    return status;
}

gzlzss_status gzlzss_reader_index_fd(gzlzss_reader *r, int fd, gzlzss_call *call)
{
    struct access_source index;

    return file_source(fd, &index) ? use_index(r, index, call) : GZLZSS_ERROR_ARGUMENT;
}

gzlzss_status gzlzss_reader_index(gzlzss_reader *r, const void *index, size_t index_len,
                                  gzlzss_call *call)
{
    const struct access_source source = {.fd = -1, .memory = index, .size = index_len};

    return index != NULL || index_len == 0 ? use_index(r, source, call) : GZLZSS_ERROR_ARGUMENT;
}

/* --- Reading -------------------------------------------------------------------------------- */

/* All threads of the object decode if more than this many bytes come between the last known place
 * and a read's offset, or if the read itself is longer.  With a smaller number, short reads disturb
 * other calls of the object.  With a larger number, the first reads in a file take longer. */
#ifndef READER_LONG /* tests choose other sizes */
#define READER_LONG ((uint64_t)8 << 20)
#endif

/* A read for which all threads decode. */
struct long_read {
    struct operation *o;
    struct expansion *e;
    struct access_trail *trail;
    uint64_t at; /* the byte of the data that comes next */
    /* The bytes from `offset` on go to buf[0..len), and buf[0..done) has them already. */
    uint8_t *buf;
    size_t len, done;
    uint64_t offset;
};

static ssize_t read_input(void *ctx, void *buf, size_t len)
{
    struct long_read *s = ctx;

    return operation_goes_on(s->o) ? expansion_read(s->e, buf, len) : -1;
}

static int take_output(void *ctx, const void *buf, size_t len)
{
    struct long_read *s = ctx;
    const uint64_t before = s->offset > s->at ? s->offset - s->at : 0;
    const size_t skip = before < len ? (size_t)before : len;
    const size_t left = s->len - s->done, n = left < len - skip ? left : len - skip;

    if (n > 0)
        memcpy(s->buf + s->done, (const uint8_t *)buf + skip, n);
    s->done += n;
    s->at += len;
    if (s->done == s->len) {
        errno = ECANCELED; /* ends the decompression */
        return -1;
    }
    return operation_goes_on(s->o) ? 0 : -1;
}

static void note_run(void *ctx, uint64_t bit, uint64_t out, const uint8_t *end, size_t len)
{
    const struct long_read *s = ctx;

    access_trail_note(s->trail, bit, out, end, len);
}

static void leave_point(void *ctx, uint64_t out, uint32_t check)
{
    const struct long_read *s = ctx;

    access_trail_leave(s->trail, out, check);
}

/* Opens the expansion of the reader's input from byte `from` on.  Returns NULL if little input is
 * left there, no other thread can help, or memory is short. */
static struct expansion *expand_from(const gzlzss_reader *r, uint64_t from, struct long_read *s)
{
    const struct access_source *in = &r->source;

    if (in->fd >= 0)
        return pipeline_expand_at(r->z->pipeline, in->fd, from, take_output, s);
    if (in->size - from < PIPELINE_EXPAND_MIN)
        return NULL;
    return pipeline_expand_memory(r->z->pipeline, in->memory + from, (size_t)(in->size - from),
                                  take_output, s);
}

/*
 * Decodes with all threads, from the last proven point at `offset` or before it to the data's end,
 * but at most to offset + len.  Leaves points for later reads.  Copies the bytes from `offset` on
 * to buf[0..len), and returns how many it has copied.  If buf is NULL, drops them; `len` is then 1.
 *
 * Reports no error.  If one has ended the decoding, fewer than `len` bytes were copied, and
 * access_read comes to the same error.
 */
static size_t read_by_threads(gzlzss_reader *r, struct operation *o, uint8_t *buf, size_t len,
                              uint64_t offset)
{
    uint8_t byte = 0;
    struct long_read s = {.o = o, .buf = buf != NULL ? buf : &byte, .len = len, .offset = offset};
    const struct expansion_watch watch = {note_run, leave_point, &s};
    struct gz_io io = {.read = read_input, .write = take_output, .ctx = &s, .only_gzip = true};
    struct pipeline_expansion_stats stats;
    struct gz_ahead ahead;
    uint64_t used;
    int error;

    s.trail = access_trail_new(r->access, offset);
    if (s.trail == NULL)
        return 0;
    s.at = access_trail_out(s.trail);
    s.e = expand_from(r, access_trail_in(s.trail), &s);
    if (s.e != NULL) {
        expansion_watch(s.e, &watch);
        ahead = access_trail_ahead(s.trail, expansion_ahead(s.e), NULL, NULL);
        io.ahead = &ahead;
        decompress_all(r->z, &io, s.e, &used, &error);
        expansion_close(s.e, &stats);
    }
    access_trail_free(s.trail);
    return s.done;
}

static bool is_far(const gzlzss_reader *r, uint64_t offset)
{
    return access_is_far(r->access, offset, READER_LONG);
}

/* Whether a read has much to decode.  If so, the last point before it is proven now, so that all
 * threads can begin there. */
static bool is_long(gzlzss_reader *r, const struct access_watch *watch, size_t len, uint64_t offset)
{
    if (is_far(r, offset))
        access_look(r->access, watch);
    if (len <= READER_LONG && !is_far(r, offset))
        return false;
    access_check(r->access, offset, watch);
    return len > READER_LONG || is_far(r, offset);
}

/* Reads as access_read does, but first lets all threads decode if there is much to decode.  Sets
 * *in to the byte of the input up to which access_read has decoded. */
static enum gz_status read_once(gzlzss_reader *r, struct operation *o, uint8_t *buf, size_t len,
                                uint64_t offset, size_t *done, uint64_t *in)
{
    const struct access_watch watch = {goes_on, o, in};
    enum gz_status status;
    size_t before = 0;

    if (is_long(r, &watch, len, offset))
        before = read_by_threads(r, o, buf, len, offset);
    status = access_read(r->access, buf + before, len - before, offset + before, done, &watch);
    *done += before;
    return status;
}

/* Does as read_once.  If the hints turn out to be wrong, reads again, without hints: the threads
 * may have begun at a hint. */
static enum gz_status read_at(gzlzss_reader *r, struct operation *o, uint8_t *buf, size_t len,
                              uint64_t offset, size_t *done, uint64_t *in)
{
    const bool had_wrong_hints = access_had_wrong_hints(r->access);
    enum gz_status status;

    *done = 0;
    *in = 0;
    if (len > UINT64_MAX - offset)
        len = (size_t)(UINT64_MAX - offset);
    if (len == 0)
        return GZ_OK;
    status = read_once(r, o, buf, len, offset, done, in);
    if (had_wrong_hints || !access_had_wrong_hints(r->access) || status == GZ_NO_MEMORY ||
        status == GZ_READ_ERROR)
        return status;
    return read_once(r, o, buf, len, offset, done, in);
}

gzlzss_status gzlzss_reader_read(gzlzss_reader *r, void *buf, size_t *len, uint64_t offset,
                                 gzlzss_call *call)
{
    struct operation o = {0};
    enum gz_status result;
    gzlzss_status status;
    size_t wanted, done;
    uint64_t in;

    if (len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    wanted = *len;
    *len = 0;
    if (buf == NULL && wanted > 0)
        return GZLZSS_ERROR_ARGUMENT;
    status = begin(&o, r, call);
    if (status != GZLZSS_OK)
        return status;
    result = read_at(r, &o, buf, wanted, offset, &done, &in);
    status = decompress_judge(&o, result, errno);
    if (status == GZLZSS_OK)
        *len = done;
    call_set_results(call, in, *len);
    operation_end(&o);
    return status;
}

/* Does as access_size, but first lets all threads decode if nothing tells the data's length. */
static enum gz_status find_size(gzlzss_reader *r, struct operation *o, uint64_t *size)
{
    const struct access_watch watch = {.goes_on = goes_on, .ctx = o};

    if (access_size_hint(r->access, &watch) == UINT64_MAX)
        read_by_threads(r, o, NULL, 1, UINT64_MAX - 1);
    return access_size(r->access, size, &watch);
}

gzlzss_status gzlzss_reader_size(gzlzss_reader *r, uint64_t *size, gzlzss_call *call)
{
    struct operation o = {0};
    gzlzss_status status = size != NULL ? begin(&o, r, call) : GZLZSS_ERROR_ARGUMENT;
    enum gz_status result;

    if (status != GZLZSS_OK)
        return status;
    result = find_size(r, &o, size);
    status = decompress_judge(&o, result, errno);
    operation_end(&o);
    return status;
}

/* --- Export --------------------------------------------------------------------------------- */

/* The memory to which an index is written.  If the index is longer than `room`, its end is left
 * out, but `len` counts all of it. */
struct memory {
    uint8_t *bytes;
    size_t room, len;
};

static bool put(void *ctx, const void *bytes, size_t len)
{
    struct memory *m = ctx;

    if (len > SIZE_MAX - m->len) {
        errno = ENOMEM;
        return false;
    }
    if (m->len < m->room)
        memcpy(m->bytes + m->len, bytes, len < m->room - m->len ? len : m->room - m->len);
    m->len += len;
    return true;
}

gzlzss_status gzlzss_reader_export(gzlzss_reader *r, gzlzss_index_format format, void *out,
                                   size_t *out_len, gzlzss_call *call)
{
    struct operation o = {0};
    const struct access_watch watch = {goes_on, &o, NULL};
    struct memory m = {.bytes = out};
    enum gz_status result;
    gzlzss_status status;
    uint64_t size;

    if (out_len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    m.room = *out_len;
    *out_len = 0;
    if ((out == NULL && m.room > 0) ||
        (format != GZLZSS_INDEX_GZTOOL && format != GZLZSS_INDEX_INDEXED_GZIP))
        return GZLZSS_ERROR_ARGUMENT;
    status = begin(&o, r, call);
    if (status != GZLZSS_OK)
        return status;
    result = find_size(r, &o, &size);
    status = decompress_judge(&o, result, errno);
    if (status == GZLZSS_OK &&
        !access_export(r->access,
                       format == GZLZSS_INDEX_GZTOOL ? ACCESS_GZTOOL : ACCESS_INDEXED_GZIP, put, &m,
                       &watch))
        status = decompress_judge(&o, GZ_READ_ERROR, errno);
    if (status == GZLZSS_OK) {
        *out_len = m.len;
        if (m.len > m.room)
            status = GZLZSS_ERROR_ROOM;
    }
    operation_end(&o);
    return status;
}
