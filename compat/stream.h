/*
 * stream.h - what the decoders in compat/ share: the bytes that come in and those that go out
 *
 * Bytes flow  io->read -> in buffer -> decoder -> out buffer -> io->write.  The out buffer is
 * written when it is full and at the end, not after each member: a file of many small members
 * costs no more writes than one big member; and before io->read waits, if io->waits says so.  What
 * was decoded before an error is written too, as GNU gzip does; people rescue data from damaged
 * files that way.
 *
 * Nothing here is for callers of gz_decompress(); see compat/gunzip.h.
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

/* Bytes asked for by one read.  Smaller ones cost more system calls; larger ones leave the
 * second-level cache before they are decoded.  From half to twice as much makes less than 2 % of
 * difference; this is what GNU gzip asks for, so that gz_info.read_bytes, which `gzip -l` shows, is
 * what it shows where something follows the data. */
#ifndef GZ_IN_SIZE /* tests choose other sizes */
#define GZ_IN_SIZE ((size_t)256 << 10)
#endif

/* Bytes decoded between two writes.  Smaller ones cost more system calls, and more copies of the
 * window, which a DEFLATE back end may make in each call; larger ones leave the second-level cache
 * between decoding and CRC.  Likewise. */
#ifndef GZ_OUT_SIZE
#define GZ_OUT_SIZE ((size_t)256 << 10)
#endif

#define GZ_OUT_SLACK ((size_t)8)

/* The bytes before the out buffer stand before it in the output, too: DEFLATE's window. */
#define GZ_OUT_BACK INF_WINDOW

/* How far the reading position may step back.  As many unused bytes stand behind the input: a
 * decoder may load them, but not use them. */
#define GZ_IN_BACK INF_BACK

/* Bytes of the in buffer that may be left when more is read, as they cannot be parsed without
 * what follows. */
#define GZ_IN_REST INF_REST

struct gz_stream {
    struct gz_io io;
    struct gz_info *info;

    uint8_t *in; /* GZ_IN_BACK + GZ_IN_REST + GZ_IN_SIZE + GZ_IN_BACK bytes; in[in_pos..in_end) are
                    still to be parsed */
    size_t in_pos, in_end;
    size_t in_most;         /* the next read asks for no more; 0: GZ_IN_SIZE */
    enum gz_status in_stop; /* GZ_OK until the input has ended: then what it means to want more,
                               GZ_TRUNCATED, GZ_READ_ERROR, or GZ_WRITE_ERROR */
    int in_error;           /* of GZ_READ_ERROR, the errno: what is written later has another */

    uint8_t *out; /* GZ_OUT_SIZE bytes, of which the first out_len wait to be written, GZ_OUT_BACK
                     before them, and GZ_OUT_SLACK behind them that may be overwritten */
    size_t out_len;

    struct inf_raw
        *raw; /* compat/deflate.c's, made when it is first needed, or if io.ahead at once */
    bool raw_is_small;   /* it is for small inputs */
    uint64_t ahead_from; /* before that bit of the input, io.ahead has nothing */

    enum gz_format format;        /* of what comes next */
    bool header_read;             /* the first header was parsed, */
    enum gz_status header_status; /* and this came of it */
    uint8_t magic[4];             /* of what comes next, as far as it was parsed */
    size_t magic_len;
    bool sizes_follow; /* of a zip entry: its CRC and sizes come after its data */
    uint32_t zip_crc, zip_packed, zip_size; /* they, if not */
};

/* --- compat/stream.c ------------------------------------------------------------------------ */

/* Reads on when everything was parsed, or all but GZ_IN_REST bytes, which stay.  False: there is
 * nothing more, and in_stop says why. */
bool gz_refill(struct gz_stream *s);

/* Goes on reading at that byte of the input, behind what was read or somewhere in it. */
void gz_seek(struct gz_stream *s, uint64_t offset);

/* Writes what waits in the out buffer; false if that failed, with errno set. */
bool gz_flush(struct gz_stream *s);

/* The same, and keeps the last GZ_OUT_BACK bytes of the output before the out buffer. */
bool gz_flush_window(struct gz_stream *s);

/* Puts data[0..len) into the output; false if a write failed. */
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

/* The next bits of the input from bit 63 of `bits` down.  `count` of them, below 64, were taken
 * from the input; those below are some of the bits that follow, or zeros. */
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
        /* What does not count yet of the last byte is loaded again with the next. */
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

/* Skips n bits, n < 64.  What lies behind the end of the input is zeros without end. */
static inline void gz_skip_bits(struct gz_bits *b, unsigned n)
{
    b->bits <<= n;
    b->count -= n < b->count ? n : b->count;
}

/* Gives whole bytes that were not used back to the input. */
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

/* Compares the CRC and the length modulo 2^32 of data with what was stored beside it. */
enum gz_status gz_check_data(struct gz_stream *s, uint32_t crc, uint64_t len, uint32_t stored_crc,
                             uint32_t stored_len);

#endif
