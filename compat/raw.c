/*
 * raw.c - raw DEFLATE, by ISA-L where configure found it, else by zlib
 *
 * A back end only turns raw DEFLATE (RFC 1951) into bytes.  There are two with the same four
 * functions: ISA-L's isal_inflate and zlib's inflate.
 *
 * A back end may have taken bytes beyond the end of its data: ISA-L loads eight at a time into a
 * bit buffer.  It tells how many they are, and the reading position steps back to the first byte
 * after the data.
 */
#include "config.h"

#include "compat/crc.h"
#include "compat/stream.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

_Static_assert(GZ_IN_SIZE <= UINT32_MAX && GZ_OUT_SIZE <= UINT32_MAX, "back ends count in 32 bits");

/* --- Back ends ------------------------------------------------------------------------------ */

enum raw_result {
    RAW_MORE, /* all input was used or the output is full; there is more to come */
    RAW_END,  /* the final block has ended and all its data is in the output */
    RAW_BAD,
    RAW_NO_MEMORY,
};

/*
 * raw_open     makes a decoder, ready for data; false if there is no memory
 * raw_reset    makes it ready for other data
 * raw_run      decodes from in to out until one of them is used up or the data ends.  *used is
 *              the number of input bytes taken; after RAW_END, those up to the data's last byte,
 *              which may be as few as -GZ_IN_BACK if it lies in input of calls before.
 * raw_close    frees what it took
 */
#ifdef HAVE_ISAL

struct gz_raw {
    struct inflate_state state; /* 90 KB */
};

static bool raw_open(struct gz_raw *raw)
{
    isal_inflate_init(&raw->state);
    return true;
}

static void raw_reset(struct gz_raw *raw)
{
    isal_inflate_reset(&raw->state);
}

static enum raw_result raw_run(struct gz_raw *raw, const uint8_t *in, size_t in_len, uint8_t *out,
                               size_t out_len, ptrdiff_t *used, size_t *made)
{
    struct inflate_state *state = &raw->state;

    state->next_in = (uint8_t *)in; /* never written to; ISA-L just lacks the const */
    state->avail_in = (uint32_t)in_len;
    state->next_out = out;
    state->avail_out = (uint32_t)out_len;
    int ret = isal_inflate(state);
    *made = (size_t)(state->next_out - out);
    /* After an error, ISA-L's position may be bytes beyond the input's end. */
    *used = (ptrdiff_t)(in_len - (state->avail_in <= in_len ? state->avail_in : 0));
    if (ret < 0)
        return RAW_BAD;
    if (state->block_state != ISAL_BLOCK_FINISH)
        return RAW_MORE;
    /* Whole bytes left in the bit buffer lie behind the data. */
    *used -= state->read_in_length / 8;
    return RAW_END;
}

static void raw_close(struct gz_raw *raw)
{
    (void)raw;
}

#else /* zlib */

struct gz_raw {
    z_stream z;
};

static bool raw_open(struct gz_raw *raw)
{
    memset(raw, 0, sizeof *raw);
    return inflateInit2(&raw->z, -MAX_WBITS) == Z_OK; /* negative: no wrapper */
}

static void raw_reset(struct gz_raw *raw)
{
    inflateReset(&raw->z);
}

static enum raw_result raw_run(struct gz_raw *raw, const uint8_t *in, size_t in_len, uint8_t *out,
                               size_t out_len, ptrdiff_t *used, size_t *made)
{
    z_stream *z = &raw->z;

    z->next_in = (uint8_t *)in; /* never written to; const only with ZLIB_CONST */
    z->avail_in = (uInt)in_len;
    z->next_out = out;
    z->avail_out = (uInt)out_len;
    int ret = inflate(z, Z_NO_FLUSH);
    *used = (ptrdiff_t)(in_len - z->avail_in);
    *made = out_len - z->avail_out;
    switch (ret) {
    case Z_OK:
    case Z_BUF_ERROR: /* nothing could be done for want of input or room: no error */
        return RAW_MORE;
    case Z_STREAM_END:
        return RAW_END;
    case Z_MEM_ERROR:
        return RAW_NO_MEMORY;
    default:
        return RAW_BAD;
    }
}

static void raw_close(struct gz_raw *raw)
{
    inflateEnd(&raw->z);
}

#endif

/* --- Between the buffers -------------------------------------------------------------------- */

/* Makes the back end if there is none yet, and readies it for new data. */
static bool ready(struct gz_stream *s)
{
    if (s->raw != NULL) {
        raw_reset(s->raw);
        return true;
    }
    s->raw = malloc(sizeof *s->raw);
    if (s->raw != NULL && !raw_open(s->raw)) {
        free(s->raw);
        s->raw = NULL;
    }
    return s->raw != NULL;
}

void gz_free_deflate(struct gz_stream *s)
{
    if (s->raw != NULL)
        raw_close(s->raw);
    free(s->raw);
}

static enum gz_status run(struct gz_stream *s, uint32_t *crc, uint64_t *len)
{
    for (;;) {
        uint8_t *out = s->out + s->out_len;
        const size_t in_len = s->in_end - s->in_pos, out_len = GZ_OUT_SIZE - s->out_len;
        ptrdiff_t used;
        size_t made;
        enum raw_result result =
            raw_run(s->raw, s->in + s->in_pos, in_len, out, out_len, &used, &made);

        s->in_pos = (size_t)((ptrdiff_t)s->in_pos + used);
        *crc = gz_crc32(*crc, out, made);
        *len += made;
        s->out_len += made;
        if (s->out_len == GZ_OUT_SIZE && !gz_flush(s))
            return GZ_WRITE_ERROR;
        if (result == RAW_END)
            return GZ_OK;
        if (result == RAW_NO_MEMORY)
            return GZ_NO_MEMORY;
        if (result == RAW_BAD)
            return GZ_BAD_DATA;
        /* Output that filled its room may have more behind it, without any more input. */
        if (made == out_len)
            continue;
        if (s->in_pos == s->in_end) {
            if (!gz_refill(s))
                return s->in_stop;
        } else if (used == 0 && made == 0) {
            return GZ_BAD_DATA; /* A back end that is stuck, which none should be: don't hang. */
        }
    }
}

enum gz_status gz_read_deflate(struct gz_stream *s, uint32_t *crc, uint64_t *len)
{
    const uint64_t start = gz_in_offset(s);
    enum gz_status status = GZ_NO_MEMORY;

    *crc = 0;
    *len = 0;
    if (ready(s))
        status = run(s, crc, len);
    s->info->deflate_bytes += gz_in_offset(s) - start;
    return status;
}
