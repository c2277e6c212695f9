/*
 * decoder.c - decoders: one stream of gzip, zlib or DEFLATE, a piece at a time (include/gzlzss.h)
 *
 * A decoder has no object and no thread.  It goes through the phases below, and each takes the
 * bytes that it needs from the input, whatever pieces they come in.  inflate/push.h decodes DEFLATE
 * itself, a slice of output at a time, so that the slice is summed up while it is in the
 * processor's cache.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/zlib_header.h"
#include "compat/check.h"
#include "compat/gzip.h"
#include "include/gzlzss.h"
#include "inflate/push.h"

/* Bytes of output that are decoded before they are summed up.  With more, they may have left the
 * processor's cache.  With fewer, the decoder's loop starts more often. */
#define SLICE ((size_t)256 << 10)

/* What the decoder takes next. */
enum phase {
    MAGIC,         /* the first two bytes of gzip's or zlib's header */
    GZIP_HEADER,   /* the rest of gzip's header */
    DICTIONARY_ID, /* zlib: the dictionary's Adler-32 */
    DICTIONARY,    /* nothing: it waits for the dictionary */
    BODY,          /* DEFLATE */
    CHECK_VALUE,   /* the trailer's check value */
    LENGTH,        /* gzip: the trailer's length */
    DONE,
};

struct gzlzss_decoder {
    enum phase phase;
    /* The formats that the decoder accepts.  If both are false, it reads raw DEFLATE. */
    bool reads_gzip, reads_zlib;
    unsigned window_bits; /* zlib: the largest window allowed, or 0: any */
    gzlzss_status end;    /* the error that ended it; else GZLZSS_OK */
    const char *error;    /* a text about that error */
    enum gz_check check;
    uint32_t value;           /* the check value of the output so far */
    uint64_t in_len, out_len; /* bytes of input and output so far */
    struct gz_header header;  /* GZIP_HEADER */
    uint8_t bytes[4];         /* bytes[0..have) are those of a fixed field so far */
    unsigned have;
    uint32_t dictionary_id;
    struct inf_push *push; /* NULL after the end */
};

/* --- Making and freeing --------------------------------------------------------------------- */

/* Sets the format and the window from zlib's number for both.  Returns false if the number is not
 * valid. */
static bool set_format(struct gzlzss_decoder *d, int window_bits)
{
    int formats, bits;

    if (window_bits < -15 || window_bits > 47)
        return false;
    formats = window_bits / 16;
    bits = window_bits < 0 ? -window_bits : window_bits % 16;
    if (bits < 8 && (bits != 0 || window_bits < 0))
        return false;
    d->window_bits = (unsigned)bits;
    d->reads_zlib = window_bits >= 0 && formats != 1;
    d->reads_gzip = formats >= 1;
    d->phase = window_bits < 0 ? BODY : MAGIC;
    d->check = GZ_CHECK_NONE;
    return true;
}

gzlzss_status gzlzss_decoder_new(gzlzss_decoder **decoder, int window_bits)
{
    struct gzlzss_decoder *d;

    if (decoder == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *decoder = NULL;
    d = calloc(1, sizeof(*d));
    if (d == NULL)
        return GZLZSS_ERROR_MEMORY;
    if (!set_format(d, window_bits)) {
        free(d);
        return GZLZSS_ERROR_ARGUMENT;
    }
    d->push = inf_push_new();
    if (d->push == NULL) {
        free(d);
        return GZLZSS_ERROR_MEMORY;
    }
    *decoder = d;
    return GZLZSS_OK;
}

gzlzss_status gzlzss_decoder_copy(gzlzss_decoder **copy, const gzlzss_decoder *from)
{
    struct gzlzss_decoder *d;

    if (copy == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    *copy = NULL;
    if (from == NULL)
        return GZLZSS_ERROR_ARGUMENT;
    d = malloc(sizeof(*d));
    if (d == NULL)
        return GZLZSS_ERROR_MEMORY;
    *d = *from;
    if (from->push != NULL) {
        d->push = inf_push_copy(from->push);
        if (d->push == NULL) {
            free(d);
            return GZLZSS_ERROR_MEMORY;
        }
    }
    *copy = d;
    return GZLZSS_OK;
}

void gzlzss_decoder_free(gzlzss_decoder *d)
{
    if (d == NULL)
        return;
    inf_push_free(d->push);
    free(d);
}

/* Ends the decoder, and frees most of its memory.  Returns `status`. */
static gzlzss_status end(struct gzlzss_decoder *d, gzlzss_status status, const char *error)
{
    inf_push_free(d->push);
    d->push = NULL;
    d->end = status;
    d->error = error;
    return status;
}

const char *gzlzss_decoder_error(const gzlzss_decoder *d)
{
    return d != NULL && d->error != NULL ? d->error : "";
}

/* --- Headers and trailers ------------------------------------------------------------------- */

/* Takes a field of `size` bytes.  Returns whether it is complete in d->bytes. */
static bool take_field(struct gzlzss_decoder *d, gzlzss_in *in, unsigned size)
{
    const uint8_t *bytes = in->bytes;

    while (d->have < size && in->used < in->size)
        d->bytes[d->have++] = bytes[in->used++];
    if (d->have < size)
        return false;
    d->have = 0;
    return true;
}

static uint32_t lowest_first(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t highest_first(const uint8_t *b)
{
    return (uint32_t)b[3] | (uint32_t)b[2] << 8 | (uint32_t)b[1] << 16 | (uint32_t)b[0] << 24;
}

/* Goes to the data, which has a check value of this kind. */
static void begin_body(struct gzlzss_decoder *d, enum gz_check check)
{
    d->check = check;
    d->value = gz_check_start(check);
    d->phase = BODY;
}

/* Judges the first two bytes, as zlib's inflate() does and in its words. */
static gzlzss_status judge_magic(struct gzlzss_decoder *d)
{
    const unsigned first = d->bytes[0], second = d->bytes[1], bits = (first >> 4) + 8;

    if (d->reads_gzip && first == 0x1f && second == 0x8b) {
        gz_header_begin(&d->header, d->bytes);
        d->phase = GZIP_HEADER;
        return GZLZSS_OK;
    }
    if (!d->reads_zlib || (first << 8 | second) % 31 != 0)
        return end(d, GZLZSS_ERROR_FORMAT, "incorrect header check");
    if ((first & 15) != 8)
        return end(d, GZLZSS_ERROR_FORMAT, "unknown compression method");
    if (bits > 15 || (d->window_bits != 0 && bits > d->window_bits))
        return end(d, GZLZSS_ERROR_FORMAT, "invalid window size");
    begin_body(d, GZ_CHECK_ADLER32);
    if ((second & ZLIB_DICTIONARY) != 0)
        d->phase = DICTIONARY_ID;
    return GZLZSS_OK;
}

static gzlzss_status parse_gzip_header(struct gzlzss_decoder *d, gzlzss_in *in)
{
    size_t used;
    const enum gz_status status = gz_header_parse(&d->header, (const uint8_t *)in->bytes + in->used,
                                                  in->size - in->used, &used);

    in->used += used;
    switch (status) {
    case GZ_OK:
        begin_body(d, GZ_CHECK_CRC32);
        return GZLZSS_OK;
    case GZ_TRUNCATED:
        return GZLZSS_OK;
    case GZ_UNKNOWN_METHOD:
        return end(d, GZLZSS_ERROR_FORMAT, "unknown compression method");
    case GZ_BAD_HEADER_CRC:
        return end(d, GZLZSS_ERROR_DATA, "header crc mismatch");
    default:
        return end(d, GZLZSS_ERROR_FORMAT, "unknown header flags set");
    }
}

static gzlzss_status end_stream(struct gzlzss_decoder *d)
{
    d->phase = DONE;
    return end(d, GZLZSS_STREAM_END, NULL);
}

static gzlzss_status judge_check_value(struct gzlzss_decoder *d)
{
    const bool is_gzip = d->check == GZ_CHECK_CRC32;

    if (d->value != (is_gzip ? lowest_first(d->bytes) : highest_first(d->bytes)))
        return end(d, GZLZSS_ERROR_DATA, "incorrect data check");
    if (!is_gzip)
        return end_stream(d);
    d->phase = LENGTH;
    return GZLZSS_OK;
}

static gzlzss_status judge_length(struct gzlzss_decoder *d)
{
    if (lowest_first(d->bytes) != (uint32_t)d->out_len)
        return end(d, GZLZSS_ERROR_DATA, "incorrect length check");
    return end_stream(d);
}

gzlzss_status gzlzss_decoder_dictionary(gzlzss_decoder *d, const void *dictionary, size_t len)
{
    const bool is_raw = d != NULL && !d->reads_zlib && !d->reads_gzip;

    if (d == NULL || (dictionary == NULL && len > 0) || d->end != GZLZSS_OK ||
        !(d->phase == DICTIONARY || (is_raw && d->in_len == 0)))
        return GZLZSS_ERROR_ARGUMENT;
    if (!is_raw && gz_check_more(GZ_CHECK_ADLER32, gz_check_start(GZ_CHECK_ADLER32), dictionary,
                                 len) != d->dictionary_id)
        return GZLZSS_ERROR_DATA;
    if (!inf_push_keep(d->push, dictionary, len))
        return GZLZSS_ERROR_MEMORY;
    d->phase = BODY;
    return GZLZSS_OK;
}

/* --- Data ----------------------------------------------------------------------------------- */

/* Decodes slices until the input is used or the output is full. */
static enum inf_result decode_slices(struct gzlzss_decoder *d, struct inf_piece *piece, size_t room)
{
    enum inf_result result;
    bool is_full;

    do {
        const size_t made = piece->made;

        piece->room = room - made > SLICE ? made + SLICE : room;
        result = inf_push(d->push, piece);
        d->out_len += piece->made - made;
        if (piece->made > made)
            d->value = gz_check_more(d->check, d->value, piece->out + made, piece->made - made);
        is_full = piece->made == piece->room;
    } while (result == INF_MORE && is_full && piece->room < room);
    return result;
}

static gzlzss_status decode_body(struct gzlzss_decoder *d, gzlzss_out *out, gzlzss_in *in)
{
    const size_t room = out->size - out->used;
    struct inf_piece piece = {.in = in->bytes, .len = in->size, .used = in->used};
    enum inf_result result;

    piece.out = room > 0 ? (uint8_t *)out->bytes + out->used : NULL;
    result = decode_slices(d, &piece, room);
    in->used = piece.used;
    out->used += piece.made;
    switch (result) {
    case INF_MORE:
        if (!inf_push_keep(d->push, piece.out, piece.made))
            return end(d, GZLZSS_ERROR_MEMORY, NULL);
        return GZLZSS_OK;
    case INF_END:
        if (d->check != GZ_CHECK_NONE) {
            d->phase = CHECK_VALUE;
            return GZLZSS_OK;
        }
        return end_stream(d);
    case INF_NO_MEMORY:
        return end(d, GZLZSS_ERROR_MEMORY, NULL);
    default:
        return end(d, GZLZSS_ERROR_DATA, "invalid compressed data");
    }
}

/* Does what the phase asks for.  The phase stays as it is if it needs more input or room. */
static gzlzss_status do_phase(struct gzlzss_decoder *d, gzlzss_out *out, gzlzss_in *in)
{
    switch (d->phase) {
    case MAGIC:
        return take_field(d, in, 2) ? judge_magic(d) : GZLZSS_OK;
    case GZIP_HEADER:
        return parse_gzip_header(d, in);
    case DICTIONARY_ID:
        if (take_field(d, in, 4)) {
            d->dictionary_id = highest_first(d->bytes);
            d->phase = DICTIONARY;
        }
        return GZLZSS_OK;
    case DICTIONARY:
        return GZLZSS_NEEDS_DICTIONARY;
    case BODY:
        return decode_body(d, out, in);
    case CHECK_VALUE:
        return take_field(d, in, 4) ? judge_check_value(d) : GZLZSS_OK;
    case LENGTH:
        return take_field(d, in, 4) ? judge_length(d) : GZLZSS_OK;
    case DONE:
        break;
    }
    return GZLZSS_STREAM_END;
}

gzlzss_status gzlzss_decoder_run(gzlzss_decoder *d, gzlzss_out *out, gzlzss_in *in)
{
    gzlzss_in none = {NULL, 0, 0};
    gzlzss_status status;
    size_t used;
    enum phase phase;

    if (in == NULL)
        in = &none;
    if (d == NULL || out == NULL || out->used > out->size || in->used > in->size ||
        (out->bytes == NULL && out->size > 0) || (in->bytes == NULL && in->size > 0))
        return GZLZSS_ERROR_ARGUMENT;
    if (d->end != GZLZSS_OK)
        return d->end;
    used = in->used;
    do {
        phase = d->phase;
        status = do_phase(d, out, in);
    } while (status == GZLZSS_OK && d->phase != phase);
    d->in_len += in->used - used;
    return status;
}
