/*
 * gunzip.c - decompresses whole streams: recognizes formats, and reads those of gzip and zlib
 *
 * This file recognizes magic numbers, reads gzip's header (with gzip.c) and trailer, and decides
 * what may follow a member.  The decoders are in deflate.c and in compat/older/.  All of them work
 * between the two buffers of compat/stream.h.
 */
#include "config.h"

#include "compat/gunzip.h"

#include "base/zlib_header.h"
#include "compat/crc.h"
#include "compat/deflate.h"
#include "compat/gzip.h"
#include "compat/older/older.h"
#include "compat/stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- Formats -------------------------------------------------------------------------------- */

/* Returns the format with this magic number.  (A zip file's magic number has two more bytes.) */
static enum gz_format identify(const uint8_t magic[2])
{
    static const struct {
        uint8_t magic[2];
        enum gz_format format;
    } formats[] = {
        {{0x1f, 0x8b}, GZ_FORMAT_GZIP},     {{0x1f, 0x9e}, GZ_FORMAT_GZIP},
        {{0x1f, 0x9d}, GZ_FORMAT_COMPRESS}, {{0x1f, 0x1e}, GZ_FORMAT_PACK},
        {{0x1f, 0xa0}, GZ_FORMAT_LZH},      {{'P', 'K'}, GZ_FORMAT_ZIP},
    };

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (memcmp(magic, formats[i].magic, sizeof formats[i].magic) == 0)
            return formats[i].format;
    return GZ_FORMAT_UNKNOWN;
}

/* Parses the zero bytes after a member; the caller has parsed the first of them.  Returns the next
 * byte, or a negative number at the end of the input. */
static int skip_zeros(struct gz_stream *s)
{
    int byte;

    do
        byte = gz_next_byte(s);
    while (byte == 0);
    s->info->zeros_follow = byte < 0 || !s->io.skip_zeros;
    return byte;
}

/* Parses the bytes after a member that are no member: zeros, of which the caller has parsed the
 * first, or garbage that begins with `byte`. */
static enum gz_status no_member(struct gz_stream *s, int byte, enum gz_format *format)
{
    if (byte == 0)
        byte = skip_zeros(s);
    *format = byte < 0 ? GZ_FORMAT_NONE : GZ_FORMAT_UNKNOWN;
    if (byte < 0)
        return s->in_stop == GZ_TRUNCATED ? GZ_OK : s->in_stop;
    s->magic[s->magic_len++] = (uint8_t)byte;
    return GZ_OK;
}

/*
 * Parses a magic number, and sets *format to its format: GZ_FORMAT_NONE if the input has ended, or
 * if only zeros follow a member.  As in GNU gzip, a single byte that is not zero is a truncated
 * file or member.  If the first byte of the input is zero, the format is unknown, whatever follows.
 * (With io.copy_unknown, a single byte is an unknown format.)
 */
static enum gz_status next_format(struct gz_stream *s, enum gz_format *format)
{
    const bool first = s->info->members == 0;
    int byte = gz_next_byte(s);

    *format = GZ_FORMAT_NONE;
    s->magic_len = 0;
    if (byte < 0)
        return s->in_stop == GZ_TRUNCATED && (!first || s->io.copy_unknown) ? GZ_OK : s->in_stop;
    s->info->header_bytes = 0;
    if (byte == 0 && !first && !s->io.copy_unknown) {
        if (!s->io.skip_zeros)
            return no_member(s, byte, format);
        byte = skip_zeros(s);
        if (byte < 0)
            return s->in_stop == GZ_TRUNCATED ? GZ_OK : s->in_stop;
    }
    *format = GZ_FORMAT_UNKNOWN;
    s->magic[s->magic_len++] = (uint8_t)byte;
    if (byte == 0)
        return GZ_OK;
    byte = gz_next_byte(s);
    if (byte < 0) {
        s->info->lone_byte =
            !first && s->in_stop == GZ_TRUNCATED && (s->magic[0] != 0x1f || s->io.skip_zeros);
        return s->in_stop == GZ_TRUNCATED && s->io.copy_unknown ? GZ_OK : s->in_stop;
    }
    s->magic[s->magic_len++] = (uint8_t)byte;
    *format = identify(s->magic);
    if (*format != GZ_FORMAT_ZIP)
        return GZ_OK;

    /* A zip file is the whole input, never a later member.  Its magic number has two more bytes. */
    while (first && s->magic_len < sizeof s->magic && (byte = gz_next_byte(s)) >= 0)
        s->magic[s->magic_len++] = (uint8_t)byte;
    if (s->magic_len < sizeof s->magic || s->magic[2] != 3 || s->magic[3] != 4)
        *format = GZ_FORMAT_UNKNOWN;
    return s->in_stop == GZ_READ_ERROR ? GZ_READ_ERROR : GZ_OK;
}

/* Copies the magic number that was just parsed, and the rest of the input, to the output. */
static enum gz_status copy_rest(struct gz_stream *s)
{
    bool ok = gz_put(s, s->magic, s->magic_len);

    while (ok && (s->in_pos < s->in_end || gz_refill(s))) {
        ok = gz_put(s, s->in + s->in_pos, s->in_end - s->in_pos);
        s->in_pos = s->in_end;
    }
    s->info->in_bytes = gz_in_offset(s);
    if (!ok)
        return GZ_WRITE_ERROR;
    return s->in_stop == GZ_TRUNCATED ? GZ_OK : s->in_stop;
}

/* --- The gzip format ------------------------------------------------------------------------ */

/* Copies the fields of a header that were parsed, and facts about an error in it, to the caller's
 * info. */
static void tell_header(struct gz_stream *s, const struct gz_header *h, enum gz_status status)
{
    struct gz_info *info = s->info;

    /* The name and the time stamp are those of the first member. */
    if (info->members == 0) {
        info->mtime = h->mtime;
        info->has_name = h->has_name;
        info->name_cut = h->name_cut;
    }
    if (status == GZ_UNKNOWN_METHOD)
        info->unknown = h->method;
    if (status == GZ_RESERVED_FLAGS)
        info->unknown_flags = h->flags;
    info->header_crc[0] = h->stored_crc;
    info->header_crc[1] = h->right_crc;
    if (status == GZ_OK && info->members == 0)
        info->header_bytes = gz_in_offset(s) + GZ_TRAILER_SIZE;
}

/* Parses a header after its magic number. */
static enum gz_status read_gzip_header(struct gz_stream *s)
{
    const bool first = s->info->members == 0;
    enum gz_status status = GZ_TRUNCATED;
    struct gz_header h;

    gz_header_begin(&h, s->magic);
    h.name = first ? s->info->name : NULL;
    h.name_room = sizeof s->info->name;
    h.extra = s->io.extra;
    h.ctx = s->io.ctx;
    while (status == GZ_TRUNCATED && (s->in_pos < s->in_end || gz_refill(s))) {
        size_t used;

        status = gz_header_parse(&h, s->in + s->in_pos, s->in_end - s->in_pos, &used);
        s->in_pos += used;
    }
    tell_header(s, &h, status);
    return status == GZ_TRUNCATED ? s->in_stop : status;
}

/* Decodes a member after its header. */
static enum gz_status read_gzip(struct gz_stream *s)
{
    uint8_t trailer[GZ_TRAILER_SIZE];
    uint32_t crc;
    uint64_t len;
    enum gz_status status = gz_read_deflate(s, &crc, &len);

    if (status != GZ_OK)
        return status;
    for (size_t i = 0; i < sizeof trailer; i++) {
        int byte = gz_next_byte(s);
        if (byte < 0)
            return s->in_stop;
        trailer[i] = (uint8_t)byte;
    }
    if (s->has_jumped) {
        s->has_jumped = false;
        return GZ_OK;
    }
    return gz_check_data(s, crc, len, gz_get_u32(trailer), gz_get_u32(trailer + 4));
}

/* --- zlib's format, and raw DEFLATE --------------------------------------------------------- */

static enum gz_status read_zlib_header(struct gz_stream *s)
{
    int byte;

    s->magic_len = 0;
    while (s->magic_len < ZLIB_HEADER_SIZE) {
        byte = gz_next_byte(s);
        if (byte < 0)
            return s->in_stop;
        s->magic[s->magic_len++] = (uint8_t)byte;
    }
    s->info->header_bytes = ZLIB_HEADER_SIZE + ZLIB_TRAILER_SIZE;
    if (!zlib_header_starts(s->magic[0], s->magic[1]))
        return GZ_NOT_ZLIB;
    return zlib_header_is_good(s->magic[0], s->magic[1]) ? GZ_OK : GZ_DICTIONARY;
}

/* Decodes zlib's data, and compares its Adler-32 with the trailer. */
static enum gz_status read_zlib(struct gz_stream *s)
{
    uint32_t check, stored = 0;
    uint64_t len;
    enum gz_status status = gz_read_deflate(s, &check, &len);

    if (status != GZ_OK)
        return status;
    for (unsigned i = 0; i < ZLIB_TRAILER_SIZE; i++) {
        const int byte = gz_next_byte(s);

        if (byte < 0)
            return s->in_stop;
        stored = stored << 8 | (uint32_t)byte;
    }
    return stored == check ? GZ_OK : GZ_BAD_ADLER;
}

static enum gz_status read_raw(struct gz_stream *s)
{
    uint32_t check;
    uint64_t len;

    return gz_read_deflate(s, &check, &len);
}

/* Like next_format, for an input whose format the caller has given.  Only zeros may follow the
 * data. */
static enum gz_status next_given(struct gz_stream *s, enum gz_format *format)
{
    int byte;

    s->magic_len = 0;
    if (s->info->members == 0) {
        *format = s->io.container == CONTAINER_ZLIB ? GZ_FORMAT_ZLIB : GZ_FORMAT_RAW;
        return GZ_OK;
    }
    *format = GZ_FORMAT_NONE;
    byte = gz_next_byte(s);
    if (byte < 0)
        return s->in_stop == GZ_TRUNCATED ? GZ_OK : s->in_stop;
    return no_member(s, byte, format);
}

/* --- The stream ----------------------------------------------------------------------------- */

/* Whether the caller has given the format, so that the first bytes need not tell it. */
static bool is_given(const struct gz_stream *s)
{
    return s->io.container == CONTAINER_ZLIB || s->io.container == CONTAINER_RAW;
}

/* Whether the magic number that was just parsed is that of an older format or zip's. */
static bool is_older(const struct gz_stream *s, enum gz_format format)
{
    return format != GZ_FORMAT_NONE && format != GZ_FORMAT_UNKNOWN && s->magic[1] != 0x8b;
}

/* Parses the next magic number and, for gzip and zip, the header. */
static enum gz_status next_header(struct gz_stream *s)
{
    const bool first = s->info->members == 0;
    const uint64_t at = gz_in_offset(s);
    enum gz_format format;
    enum gz_status status = is_given(s) ? next_given(s, &format) : next_format(s, &format);

    if (status != GZ_OK)
        return status;
    s->format = format;
    if (s->io.only_gzip && is_older(s, format))
        return GZ_NOT_GZIP;
    if (format == GZ_FORMAT_UNKNOWN && !s->io.copy_unknown)
        return first ? GZ_NOT_GZIP : GZ_TRAILING_GARBAGE;
    if (format == GZ_FORMAT_NONE)
        return GZ_OK;
    if (first || format != GZ_FORMAT_UNKNOWN) {
        s->info->format = format;
        s->info->member_at = at;
        s->info->has_crc = false;
    }
    if (format == GZ_FORMAT_GZIP)
        return read_gzip_header(s);
    if (format == GZ_FORMAT_ZIP)
        return gz_read_zip_header(s);
    if (format == GZ_FORMAT_ZLIB)
        return read_zlib_header(s);
    return GZ_OK;
}

/* Decodes the data after the header that next_header() has parsed.  *last becomes true if no other
 * member can follow the data. */
static enum gz_status read_data(struct gz_stream *s, bool *last)
{
    *last = true;
    switch (s->format) {
    case GZ_FORMAT_GZIP:
        *last = false;
        return read_gzip(s);
    case GZ_FORMAT_PACK:
        *last = false;
        return gz_read_pack(s);
    case GZ_FORMAT_COMPRESS:
        return gz_read_lzw(s);
    case GZ_FORMAT_LZH:
        return gz_read_lzh(s);
    case GZ_FORMAT_ZIP:
    case GZ_FORMAT_ZIP_STORED:
        return gz_read_zip(s);
    case GZ_FORMAT_ZLIB:
        *last = false;
        return read_zlib(s);
    case GZ_FORMAT_RAW:
        *last = false;
        return read_raw(s);
    case GZ_FORMAT_UNKNOWN:
        return copy_rest(s);
    case GZ_FORMAT_NONE:
        break;
    }
    return GZ_OK;
}

static enum gz_status read_members(struct gz_stream *s)
{
    struct gz_info *info = s->info;
    enum gz_status status = gz_read_header(s);
    bool last = false;

    while (status == GZ_OK && s->format != GZ_FORMAT_NONE) {
        const bool member = s->format != GZ_FORMAT_UNKNOWN;
        const uint64_t start = info->out_bytes + s->out_len;
        status = read_data(s, &last);
        info->member_bytes = info->out_bytes + s->out_len - start;
        if (s->format != GZ_FORMAT_ZIP && s->format != GZ_FORMAT_ZIP_STORED)
            info->in_bytes = gz_in_offset(s);
        if (status != GZ_OK && status != GZ_MORE_ENTRIES)
            break;
        info->members += member;
        if (last)
            break;
        status = next_header(s);
        if (status != GZ_OK && status != GZ_TRAILING_GARBAGE && !info->lone_byte)
            info->in_bytes = gz_in_offset(s);
    }
    return status;
}

struct gz_stream *gz_open(const struct gz_io *io, struct gz_info *info)
{
    struct gz_stream *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->in = malloc(GZ_IN_BACK + GZ_IN_REST + GZ_IN_SIZE + GZ_IN_BACK);
    s->out = malloc(GZ_OUT_BACK + GZ_OUT_SIZE + GZ_OUT_SLACK);
    if (s->out != NULL)
        s->out += GZ_OUT_BACK;
    if (s->in != NULL && s->out != NULL && gz_reopen(s, io, info))
        return s;
    gz_close(s);
    return NULL;
}

bool gz_reopen(struct gz_stream *s, const struct gz_io *io, struct gz_info *info)
{
    /* Allocate the decoder now, before the threads that decode ahead allocate their memory. */
    if (io->ahead != NULL && s->raw == NULL)
        s->raw = inf_open(false);
    if (io->ahead != NULL && s->raw == NULL)
        return false;
    *s = (struct gz_stream){
        .io = *io,
        .info = info,
        .in = s->in,
        .in_pos = GZ_IN_BACK,
        .in_end = GZ_IN_BACK,
        .out = s->out,
        .raw = s->raw,
        .raw_is_small = s->raw_is_small,
    };
    memset(s->in, 0, GZ_IN_BACK);
    memset(info, 0, sizeof *info);
    return true;
}

enum gz_status gz_read_header(struct gz_stream *s)
{
    if (!s->header_read) {
        s->header_read = true;
        s->header_status = next_header(s);
        s->info->in_bytes = gz_in_offset(s);
    }
    if (s->header_status == GZ_READ_ERROR)
        errno = s->in_error;
    return s->header_status;
}

enum gz_status gz_run(struct gz_stream *s)
{
    enum gz_status status = read_members(s);
    int saved_errno = status == GZ_READ_ERROR ? s->in_error : errno;

    /* Write the data that was decoded before an error.  If that fails, report the failed write
     * instead of the error, as gzip does, unless the error is a failed read. */
    if (status != GZ_WRITE_ERROR && !gz_flush(s) && status != GZ_READ_ERROR) {
        status = GZ_WRITE_ERROR;
        saved_errno = errno;
    }
    errno = saved_errno;
    return status;
}

void gz_close(struct gz_stream *s)
{
    if (s == NULL)
        return;
    gz_free_deflate(s);
    if (s->out != NULL)
        free(s->out - GZ_OUT_BACK);
    free(s->in);
    free(s);
}

enum gz_status gz_decompress(const struct gz_io *io, struct gz_info *info)
{
    struct gz_stream *s = gz_open(io, info);
    enum gz_status status = GZ_NO_MEMORY;

    if (s != NULL)
        status = gz_run(s);
    int saved_errno = errno;
    gz_close(s);
    errno = saved_errno;
    return status;
}
