/*
 * reader.c - readers: the decompressed data at any place (include/gzlzss.h)
 *
 * access/reader.h does the work.  This file turns its results into the library's statuses, lets
 * calls be cancelled, and refuses objects of another process.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "access/reader.h"
#include "lib/decompress.h"
#include "lib/object.h"

struct gzlzss_reader {
    gzlzss *z;
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
        (*r)->access = access_open(source);
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

static gzlzss_status use_index(gzlzss_reader *r, const struct access_source *index,
                               gzlzss_call *call)
{
    struct operation o = {0};
    gzlzss_status status = begin(&o, r, call);

    if (status != GZLZSS_OK)
        return status;
    switch (access_use_index(r->access, index)) {
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
        status = operation_error(&o, GZLZSS_ERROR_READ, errno);
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

    return file_source(fd, &index) ? use_index(r, &index, call) : GZLZSS_ERROR_ARGUMENT;
}

gzlzss_status gzlzss_reader_index(gzlzss_reader *r, const void *index, size_t index_len,
                                  gzlzss_call *call)
{
    const struct access_source source = {.fd = -1, .memory = index, .size = index_len};

    return index != NULL || index_len == 0 ? use_index(r, &source, call) : GZLZSS_ERROR_ARGUMENT;
}

gzlzss_status gzlzss_reader_read(gzlzss_reader *r, void *buf, size_t *len, uint64_t offset,
                                 gzlzss_call *call)
{
    struct operation o = {0};
    const struct access_watch watch = {goes_on, &o};
    enum gz_status result;
    gzlzss_status status;
    size_t wanted, done;

    if (len == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    wanted = *len;
    *len = 0;
    if (buf == NULL && wanted > 0)
        return GZLZSS_ERROR_ARGUMENT;
    status = begin(&o, r, call);
    if (status != GZLZSS_OK)
        return status;
    result = access_read(r->access, buf, wanted, offset, &done, &watch);
    status = decompress_judge(&o, result, errno);
    if (status == GZLZSS_OK)
        *len = done;
    if (call != NULL)
        call->out_bytes = *len;
    operation_end(&o);
    return status;
}

gzlzss_status gzlzss_reader_size(gzlzss_reader *r, uint64_t *size, gzlzss_call *call)
{
    struct operation o = {0};
    const struct access_watch watch = {goes_on, &o};
    gzlzss_status status = size != NULL ? begin(&o, r, call) : GZLZSS_ERROR_ARGUMENT;

    enum gz_status result;

    if (status != GZLZSS_OK)
        return status;
    result = access_size(r->access, size, &watch);
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

    if (len > SIZE_MAX - m->len)
        return false;
    if (m->len < m->room)
        memcpy(m->bytes + m->len, bytes, len < m->room - m->len ? len : m->room - m->len);
    m->len += len;
    return true;
}

gzlzss_status gzlzss_reader_export(gzlzss_reader *r, gzlzss_index_format format, void *out,
                                   size_t *out_len, gzlzss_call *call)
{
    struct operation o = {0};
    const struct access_watch watch = {goes_on, &o};
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
    result = access_size(r->access, &size, &watch);
    status = decompress_judge(&o, result, errno);
    if (status == GZLZSS_OK &&
        !access_export(r->access,
                       format == GZLZSS_INDEX_GZTOOL ? ACCESS_GZTOOL : ACCESS_INDEXED_GZIP, put,
                       &m))
        status = GZLZSS_ERROR_MEMORY;
    if (status == GZLZSS_OK) {
        *out_len = m.len;
        if (m.len > m.room)
            status = GZLZSS_ERROR_ROOM;
    }
    operation_end(&o);
    return status;
}
