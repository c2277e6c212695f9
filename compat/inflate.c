/*
 * inflate.c - decompression of whole .gz streams
 *
 * The gzip format (magic number, header, trailer, what may follow a member) is parsed here, once;
 * a back end only turns raw DEFLATE (RFC 1951) into bytes.  There are two with the same four
 * functions: ISA-L's isal_inflate where configure found it, and zlib's inflate.
 *
 * Bytes flow  io->read -> in buffer -> back end -> out buffer -> io->write.  The out buffer is
 * written when it is full and at the end, not after each member: a file of many small members
 * costs no more writes than one big member.  What was decoded before an error is written too, as
 * GNU gzip does; people rescue data from damaged files that way.
 *
 * A back end may have taken bytes beyond the end of its member: ISA-L loads eight at a time into a
 * bit buffer.  It tells how many they are, and the reading position steps back to the first byte
 * after the member.  As no back end promises that they all came from its last input, the last
 * IN_BACK bytes of a buffer are kept in front of the next one.
 */
#include "config.h"

#include "compat/inflate.h"

#include "compat/crc.h"
#include "compat/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

/* Bytes asked for by one read, and decoded between two writes.  Smaller ones cost more system
 * calls, and more copies of the window, which a back end may make in each call; larger ones leave
 * the second-level cache between decoding and CRC.  From half to four times as much makes less than
 * 2 % of difference. */
#define IN_SIZE ((size_t)128 << 10)
#define OUT_SIZE ((size_t)256 << 10)

/* How far the reading position may step back: the bytes of the widest bit buffer.  As much lies,
 * unused, behind the input, where ISA-L may load (not use) as much at once. */
#define IN_BACK ((size_t)8)

_Static_assert(IN_SIZE <= UINT32_MAX && OUT_SIZE <= UINT32_MAX, "back ends count in 32 bits");

/* --- Back ends: raw DEFLATE ----------------------------------------------------------------- */

enum raw_result {
    RAW_MORE, /* all input was used or the output is full; there is more to come */
    RAW_END,  /* the final block has ended and all its data is in the output */
    RAW_BAD,
    RAW_NO_MEMORY,
};

/*
 * raw_open     makes a decoder, ready for a member; false if there is no memory
 * raw_reset    makes it ready for the next member
 * raw_run      decodes from in to out until one of them is used up or the member ends.  *used is
 *              the number of input bytes taken; after RAW_END, those up to the member's last byte,
 *              which may be as few as -IN_BACK if it lies in input of calls before.
 * raw_close    frees it; fine after a raw_open that failed
 */
#ifdef HAVE_ISAL

struct raw {
    struct inflate_state *state; /* 90 KB: not for the stack */
};

static bool raw_open(struct raw *raw)
{
    raw->state = malloc(sizeof *raw->state);
    if (raw->state != NULL)
        isal_inflate_init(raw->state);
    return raw->state != NULL;
}

static void raw_reset(struct raw *raw)
{
    isal_inflate_reset(raw->state);
}

static enum raw_result raw_run(struct raw *raw, const uint8_t *in, size_t in_len, uint8_t *out,
                               size_t out_len, ptrdiff_t *used, size_t *made)
{
    struct inflate_state *state = raw->state;

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
    /* Whole bytes left in the bit buffer lie behind the member. */
    *used -= state->read_in_length / 8;
    return RAW_END;
}

static void raw_close(struct raw *raw)
{
    free(raw->state);
}

#else /* zlib */

struct raw {
    z_stream z;
};

static bool raw_open(struct raw *raw)
{
    memset(raw, 0, sizeof *raw);
    return inflateInit2(&raw->z, -MAX_WBITS) == Z_OK; /* negative: no wrapper */
}

static void raw_reset(struct raw *raw)
{
    inflateReset(&raw->z);
}

static enum raw_result raw_run(struct raw *raw, const uint8_t *in, size_t in_len, uint8_t *out,
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

static void raw_close(struct raw *raw)
{
    inflateEnd(&raw->z);
}

#endif

/* --- Buffers -------------------------------------------------------------------------------- */

struct stream {
    const struct gz_io *io;
    struct gz_info *info;
    struct raw raw;

    uint8_t *in; /* IN_BACK + IN_SIZE + IN_BACK bytes; in[in_pos..in_end) are still to be parsed */
    size_t in_pos, in_end;
    uint64_t in_total;      /* bytes read so far */
    enum gz_status in_stop; /* GZ_OK until the input has ended: then what it means to want more,
                               GZ_TRUNCATED or GZ_READ_ERROR */

    uint8_t *out; /* OUT_SIZE bytes, of which the first out_len wait to be written */
    size_t out_len;

    uint8_t magic[2]; /* of what comes next, as far as it was parsed, */
    size_t magic_len;
    uint32_t header_crc; /* and the CRC of the current member's header, likewise */
};

/* Reads on when everything was parsed.  False: nothing is left, and in_stop says why. */
static bool refill(struct stream *s)
{
    if (s->in_stop != GZ_OK)
        return false;
    memmove(s->in, s->in + s->in_end - IN_BACK, IN_BACK);
    s->in_pos = s->in_end = IN_BACK;
    ssize_t n = s->io->read(s->io->ctx, s->in + IN_BACK, IN_SIZE);
    if (n <= 0) {
        s->in_stop = n == 0 ? GZ_TRUNCATED : GZ_READ_ERROR;
        return false;
    }
    s->in_end += (size_t)n;
    s->in_total += (uint64_t)n;
    return true;
}

/* The next byte, or -1 if there is none and in_stop says why. */
static int next_byte(struct stream *s)
{
    if (s->in_pos == s->in_end && !refill(s))
        return -1;
    return s->in[s->in_pos++];
}

/* The number of input bytes parsed so far. */
static uint64_t in_offset(const struct stream *s)
{
    return s->in_total - (s->in_end - s->in_pos);
}

static bool flush(struct stream *s)
{
    if (s->out_len != 0 && s->io->write(s->io->ctx, s->out, s->out_len) != 0)
        return false;
    s->info->out_bytes += s->out_len;
    s->out_len = 0;
    return true;
}

/* --- The member format ---------------------------------------------------------------------- */

/* RFC 1952, section 2.3.1.  GNU gzip's documentation once gave other meanings to some flags; what
 * is reserved now, and what was "encrypted" then, nobody can decode. */
enum {
    FLAG_HEADER_CRC = 1 << 1,
    FLAG_EXTRA = 1 << 2,
    FLAG_COMMENT = 1 << 4,
    FLAGS_RESERVED = 0xe0,
};

/* What the two bytes of a magic number announce.  Other formats that gunzip reads (compress .Z, 1f
 * 9d; pack, 1f 1e; lzh, 1f a0; zip, 50 4b 03 04) get their names here, their magic numbers in
 * identify() and their decoders in a case of decompress(). */
enum format {
    FORMAT_END,    /* nothing is there, or zeros to the end after a member */
    FORMAT_GZIP,   /* RFC 1952, also by the magic number that gzip 0.5 and before used */
    FORMAT_UNKNOWN /* anything else */
};

static enum format identify(uint8_t magic0, uint8_t magic1)
{
    if (magic0 == 0x1f && (magic1 == 0x8b || magic1 == 0x9e))
        return FORMAT_GZIP;
    return FORMAT_UNKNOWN;
}

/* Parses a magic number and says what it announces.  Like GNU gzip, this wants two bytes, unless
 * the first is zero: a single byte that is not is a truncated file, or member, whatever it is (but
 * where what is unknown is copied, nothing is too short to be unknown). */
static enum gz_status next_format(struct stream *s, enum format *format)
{
    const bool first = s->info->members == 0;
    int byte = next_byte(s);

    *format = FORMAT_END;
    s->magic_len = 0;
    if (byte < 0)
        return s->in_stop == GZ_TRUNCATED && (!first || s->io->copy_unknown) ? GZ_OK : s->in_stop;
    if (byte == 0 && !first) {
        while (byte == 0)
            byte = next_byte(s);
        s->info->zeros_follow = true;
        if (byte < 0)
            return s->in_stop == GZ_TRUNCATED ? GZ_OK : s->in_stop;
        /* Even a gzip member is garbage here: padding is only ever followed by the end. */
        s->magic[s->magic_len++] = (uint8_t)byte;
        *format = FORMAT_UNKNOWN;
        return GZ_OK;
    }
    s->magic[s->magic_len++] = (uint8_t)byte;
    *format = FORMAT_UNKNOWN;
    if (byte == 0)
        return GZ_OK;
    byte = next_byte(s);
    if (byte < 0)
        return s->in_stop == GZ_TRUNCATED && s->io->copy_unknown ? GZ_OK : s->in_stop;
    s->magic[s->magic_len++] = (uint8_t)byte;
    *format = identify(s->magic[0], s->magic[1]);
    s->header_crc = gz_crc32(0, s->magic, s->magic_len);
    return GZ_OK;
}

/* Copies what is left of the input, the magic number just parsed included, to the output. */
static enum gz_status copy_rest(struct stream *s)
{
    if (!flush(s))
        return GZ_WRITE_ERROR;
    memcpy(s->out, s->magic, s->magic_len);
    s->out_len = s->magic_len;
    do {
        size_t n = s->in_end - s->in_pos;

        if (s->out_len + n > OUT_SIZE && !flush(s))
            return GZ_WRITE_ERROR;
        memcpy(s->out + s->out_len, s->in + s->in_pos, n);
        s->out_len += n;
        s->in_pos = s->in_end;
    } while (refill(s));
    s->info->in_bytes = in_offset(s);
    return s->in_stop == GZ_TRUNCATED ? GZ_OK : s->in_stop;
}

/* Parses len bytes of a header into `to`.  False: the input ended before. */
static bool header_bytes(struct stream *s, uint8_t *to, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int byte = next_byte(s);
        if (byte < 0)
            return false;
        to[i] = (uint8_t)byte;
    }
    s->header_crc = gz_crc32(s->header_crc, to, len);
    return true;
}

/* Parses a string up to and with the zero byte that ends it. */
static bool skip_string(struct stream *s)
{
    uint8_t byte;
    do {
        if (!header_bytes(s, &byte, 1))
            return false;
    } while (byte != 0);
    return true;
}

/* Parses an extra field: its length, then as many bytes. */
static bool skip_extra(struct stream *s)
{
    uint8_t size[2], byte;
    if (!header_bytes(s, size, sizeof size))
        return false;
    for (unsigned n = size[0] | (unsigned)size[1] << 8; n != 0; n--)
        if (!header_bytes(s, &byte, 1))
            return false;
    return true;
}

static uint32_t get_u32(const uint8_t p[4])
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Parses a header after its magic number.  A field is judged as soon as it was read, so that a bad
 * method is told from a short file in the same order as GNU gzip does. */
static enum gz_status read_header(struct stream *s)
{
    uint8_t method, flags, fixed[6], crc[2];

    if (!header_bytes(s, &method, 1))
        return s->in_stop;
    if (method != GZ_METHOD_DEFLATE) {
        s->info->unknown = method;
        return GZ_UNKNOWN_METHOD;
    }
    if (!header_bytes(s, &flags, 1))
        return s->in_stop;
    if ((flags & FLAGS_RESERVED) != 0)
        return GZ_RESERVED_FLAGS;
    if (!header_bytes(s, fixed, sizeof fixed)) /* time stamp, extra flags, operating system */
        return s->in_stop;
    if (s->info->members == 0)
        s->info->mtime = get_u32(fixed);
    if ((flags & FLAG_EXTRA) != 0 && !skip_extra(s))
        return s->in_stop;
    if ((flags & GZ_FLAG_NAME) != 0 && !skip_string(s))
        return s->in_stop;
    if ((flags & FLAG_COMMENT) != 0 && !skip_string(s))
        return s->in_stop;
    if ((flags & FLAG_HEADER_CRC) != 0) {
        uint16_t want = (uint16_t)s->header_crc;
        if (!header_bytes(s, crc, sizeof crc))
            return s->in_stop;
        if ((crc[0] | crc[1] << 8) != want)
            return GZ_BAD_HEADER_CRC;
    }
    return GZ_OK;
}

/* Decodes a member's data; *crc and *len become those of the data. */
static enum gz_status read_data(struct stream *s, uint32_t *crc, uint64_t *len)
{
    *crc = 0;
    *len = 0;
    raw_reset(&s->raw);
    for (;;) {
        uint8_t *out = s->out + s->out_len;
        const size_t in_len = s->in_end - s->in_pos, out_len = OUT_SIZE - s->out_len;
        ptrdiff_t used;
        size_t made;
        enum raw_result result =
            raw_run(&s->raw, s->in + s->in_pos, in_len, out, out_len, &used, &made);

        s->in_pos = (size_t)((ptrdiff_t)s->in_pos + used);
        *crc = gz_crc32(*crc, out, made);
        *len += made;
        s->out_len += made;
        if (s->out_len == OUT_SIZE && !flush(s))
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
            if (!refill(s))
                return s->in_stop;
        } else if (used == 0 && made == 0) {
            return GZ_BAD_DATA; /* A back end that is stuck, which none should be: don't hang. */
        }
    }
}

/* Parses a trailer and compares it with the data's CRC and length modulo 2^32. */
static enum gz_status check_trailer(struct stream *s, uint32_t crc, uint64_t len)
{
    uint8_t trailer[GZ_TRAILER_SIZE];

    for (size_t i = 0; i < sizeof trailer; i++) {
        int byte = next_byte(s);
        if (byte < 0)
            return s->in_stop;
        trailer[i] = (uint8_t)byte;
    }
    if (get_u32(trailer) != crc)
        return GZ_BAD_CRC;
    if (get_u32(trailer + 4) != (uint32_t)len)
        return GZ_BAD_LENGTH;
    return GZ_OK;
}

static enum gz_status read_member(struct stream *s)
{
    uint32_t crc;
    uint64_t len;
    enum gz_status status = read_header(s);
    if (status == GZ_OK) {
        const uint64_t start = in_offset(s);
        status = read_data(s, &crc, &len);
        s->info->deflate_bytes += in_offset(s) - start;
    }
    if (status == GZ_OK)
        status = check_trailer(s, crc, len);
    return status;
}

/* --- The stream ----------------------------------------------------------------------------- */

static enum gz_status decompress(struct stream *s)
{
    for (;;) {
        enum format format;
        enum gz_status status = next_format(s, &format);
        if (status == GZ_OK) {
            switch (format) {
            case FORMAT_END:
                return GZ_OK;
            case FORMAT_UNKNOWN:
                if (s->io->copy_unknown)
                    return copy_rest(s);
                return s->info->members == 0 ? GZ_NOT_GZIP : GZ_TRAILING_GARBAGE;
            case FORMAT_GZIP:
                status = read_member(s);
                break;
            }
        }
        s->info->in_bytes = in_offset(s);
        if (status != GZ_OK)
            return status;
        s->info->members++;
    }
}

enum gz_status gz_decompress(const struct gz_io *io, struct gz_info *info)
{
    struct stream s = {.io = io, .info = info, .in_pos = IN_BACK, .in_end = IN_BACK};
    enum gz_status status = GZ_NO_MEMORY;

    memset(info, 0, sizeof *info);
    s.in = malloc(IN_BACK + IN_SIZE + IN_BACK);
    s.out = malloc(OUT_SIZE);
    if (raw_open(&s.raw) && s.in != NULL && s.out != NULL) {
        memset(s.in, 0, IN_BACK);
        status = decompress(&s);
    }

    /* The first failure is the one that is told, with its errno. */
    int saved_errno = errno;
    if (status != GZ_WRITE_ERROR && !flush(&s)) {
        if (status == GZ_OK || status == GZ_TRAILING_GARBAGE) {
            status = GZ_WRITE_ERROR;
            saved_errno = errno;
        }
    }
    raw_close(&s.raw);
    free(s.out);
    free(s.in);
    errno = saved_errno;
    return status;
}

const char *gz_status_message(enum gz_status status)
{
    switch (status) {
    case GZ_OK:
        return "OK";
    case GZ_TRAILING_GARBAGE:
        return "decompression OK, trailing garbage ignored";
    case GZ_NOT_GZIP:
        return "not in gzip format";
    case GZ_UNKNOWN_METHOD:
        return "unknown method -- not supported";
    case GZ_RESERVED_FLAGS:
        return "reserved header flags -- not supported";
    case GZ_TRUNCATED:
        return "unexpected end of file";
    case GZ_BAD_DATA:
        return "invalid compressed data--format violated";
    case GZ_BAD_HEADER_CRC:
        return "header checksum is wrong";
    case GZ_BAD_CRC:
        return "invalid compressed data--crc error";
    case GZ_BAD_LENGTH:
        return "invalid compressed data--length error";
    case GZ_READ_ERROR:
        return "read error";
    case GZ_WRITE_ERROR:
        return "write error";
    case GZ_NO_MEMORY:
        return "memory exhausted";
    }
    return "unknown error";
}
