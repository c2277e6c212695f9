/*
 * stream.h - the input and output buffers that all decoders in compat/ share
 *
 * Bytes flow  io->read -> in buffer -> decoder -> out buffer -> io->write.  The out buffer is
 * written when it is full, at the end, and when io->waits says that io->read would wait.  It is not
 * written after each member: so a file of many small members costs no more writes than one big
 * member.  Bytes that were decoded before an error are written too, as GNU gzip does, since people
 * rescue data from damaged files that way.
 *
 * This is for the decoders alone.  Callers of gz_decompress() need only compat/gunzip.h.
 */
#ifndef GZLZSS_STREAM_H
#define GZLZSS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compat/io.h"
#include "compat/status.h"
#include "inflate/steps.h"

/* Bytes of one read.  Smaller reads cost more system calls; larger ones leave the second-level
 * cache before they are decoded.  Half as much and twice as much differ by less than 2 %.  Keep it
 * at what GNU gzip asks for: where something follows the data, gz_info.read_bytes, which `gzip -l`
 * shows, is then the same. */
#ifndef GZ_IN_SIZE /* tests choose other sizes */
#define GZ_IN_SIZE ((size_t)256 << 10)
#endif

/* Bytes decoded between two writes.  Smaller writes cost more system calls, and more copies of the
 * window, which a DEFLATE back end may make in each call; larger ones leave the second-level cache
 * between decoding and CRC.  Half as much and twice as much differ by less than 2 %. */
#ifndef GZ_OUT_SIZE
#define GZ_OUT_SIZE ((size_t)256 << 10)
#endif

/* Bytes behind the out buffer that a decoder may overwrite. */
#define GZ_OUT_SLACK ((size_t)8)

/* Bytes before the out buffer.  They hold the output before it: DEFLATE's window. */
#define GZ_OUT_BACK INF_WINDOW

/* Bytes by which the reading position may step back.  As many bytes stand behind the input; a
 * decoder may load these, but not use them. */
#define GZ_IN_BACK INF_BACK

/* Bytes of the in buffer that may be left when more is read: the decoder needs what follows to
 * parse them. */
#define GZ_IN_REST INF_REST

struct gz_stream {
    struct gz_io io;
    struct gz_info *info;

    /* GZ_IN_BACK + GZ_IN_REST + GZ_IN_SIZE + GZ_IN_BACK bytes.  in[in_pos..in_end) is still to be
     * parsed. */
    uint8_t *in;
    size_t in_pos, in_end;
    /* The most bytes that the next read asks for; 0: GZ_IN_SIZE. */
    size_t in_most;
    /* GZ_OK until the input has ended.  Then the status of a decoder that wants more: GZ_TRUNCATED,
     * GZ_READ_ERROR, or GZ_WRITE_ERROR. */
    enum gz_status in_stop;
    /* The errno of GZ_READ_ERROR; a later write may change errno itself. */
    int in_error;

    /* GZ_OUT_SIZE bytes, with GZ_OUT_BACK before them and GZ_OUT_SLACK behind them.  The first
     * out_len wait to be written. */
    uint8_t *out;
    size_t out_len;

    /* The decoder of compat/deflate.c, made when it is first needed, or by gz_open with
     * io.ahead. */
    struct inf_raw *raw;
    /* `raw` was made for small inputs. */
    bool raw_is_small;
    /* io.ahead has nothing before that bit of the input. */
    uint64_t ahead_from;

    /* The format that comes next. */
    enum gz_format format;
    /* The first header was parsed, with this outcome. */
    bool header_read;
    enum gz_status header_status;
    /* The next magic number, as far as it was parsed. */
    uint8_t magic[4];
    size_t magic_len;
    /* A zip entry's CRC and sizes come behind its data.  Otherwise they are the following. */
    bool sizes_follow;
    uint32_t zip_crc, zip_packed, zip_size;
};

/* --- compat/stream.c ------------------------------------------------------------------------ */

/* Reads on.  Everything must have been parsed, or all but GZ_IN_REST bytes, which stay.  False:
 * there is nothing more, and in_stop says why. */
bool gz_refill(struct gz_stream *s);

/* Goes on parsing at that byte of the input, which was read or lies behind what was read.  Only
 * with io.ahead. */
void gz_seek(struct gz_stream *s, uint64_t offset);

/* Writes all bytes that wait in the out buffer.  False, with errno set, if that fails. */
bool gz_flush(struct gz_stream *s);

/* The same, and keeps the last GZ_OUT_BACK bytes of the output before the out buffer. */
bool gz_flush_window(struct gz_stream *s);

/* Puts data[0..len) into the output.  False, with errno set, if a write fails. */
bool gz_put(struct gz_stream *s, const uint8_t *data, size_t len);

/* The next byte, or -1 if there is none and in_stop says why. */
static inline int gz_next_byte(struct gz_stream *s)
{
    if (s->in_pos == s->in_end && !gz_refill(s))
        return -1;
    return s->in[s->in_pos++];
}

/* The number of input bytes parsed so far. */
static inline uint64_t gz_in_offset(const struct gz_stream *s)
{
    return s->info->read_bytes - (s->in_end - s->in_pos);
}

/* --- Bits, high ones first ------------------------------------------------------------------ */

/* The next bits of the input, from bit 63 of `bits` down.  The first `count` of them, below 64,
 * were taken from the input.  The bits below are some of those that follow, or zeros. */
struct gz_bits {
    uint64_t bits;
    unsigned count;
};

static inline uint64_t gz_load_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* Makes at least 56 bits available, or as many as the input still has. */
static inline void gz_fill_bits(struct gz_bits *b, struct gz_stream *s)
{
    if (s->in_end - s->in_pos >= 8) {
        /* Bits of the last byte that do not count yet are loaded again with the next. */
        b->bits |= gz_load_be64(s->in + s->in_pos) >> b->count;
        s->in_pos += (63 - b->count) / 8;
        b->count |= 56;
        return;
    }
    while (b->count <= 55) {
        int byte = gz_next_byte(s);
        if (byte < 0)
            return;
        b->bits |= (uint64_t)byte << (56 - b->count);
        b->count += 8;
    }
}

/* The next n bits, 1 to 32 of them; zeros where the input has ended. */
static inline uint32_t gz_peek_bits(const struct gz_bits *b, unsigned n)
{
    return (uint32_t)(b->bits >> (64 - n));
}

/* Skips n bits, n < 64.  Zeros without end follow the end of the input. */
static inline void gz_skip_bits(struct gz_bits *b, unsigned n)
{
    b->bits <<= n;
    b->count -= n < b->count ? n : b->count;
}

/* Gives whole bytes back to the input that were not used. */
static inline void gz_end_bits(struct gz_bits *b, struct gz_stream *s)
{
    s->in_pos -= b->count / 8;
    *b = (struct gz_bits){0};
}

/* --- Checks --------------------------------------------------------------------------------- */

/* A little-endian number. */
static inline uint32_t gz_get_u32(const uint8_t p[4])
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Compares the CRC and the length modulo 2^32 of data with the stored ones. */
enum gz_status gz_check_data(struct gz_stream *s, uint32_t crc, uint64_t len, uint32_t stored_crc,
                             uint32_t stored_len);

#endif
