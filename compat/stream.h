/*
 * stream.h - the input and output buffers that all decoders in compat/ share
 *
 * Bytes flow  io->read -> in buffer -> decoder -> out buffer -> io->write.  The out buffer is
 * written when it is full, at the end, and when io->waits says that io->read would wait.  It is not
 * written after each member, so that a file of many small members needs no more writes than one big
 * member.  Bytes that were decoded before an error are written too, as GNU gzip does, since people
 * rescue data from damaged files that way.
 *
 * This file is for the decoders alone.  Callers of gz_decompress() need only compat/gunzip.h.
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
 * cache before they are decoded.  Half or twice as many bytes change the time by less than 2 %.
 * Keep the value of GNU gzip, so that gz_info.read_bytes, which `gzip -l` shows, is the same as
 * with GNU gzip even if something follows the data. */
#ifndef GZ_IN_SIZE /* tests choose other sizes */
#define GZ_IN_SIZE ((size_t)256 << 10)
#endif

/* Bytes decoded between two writes.  Smaller writes cost more system calls, and more copies of the
 * window, since a DEFLATE back end may copy it in each call; larger ones leave the second-level
 * cache between decoding and CRC.  Half or twice as many bytes change the time by less than 2 %. */
#ifndef GZ_OUT_SIZE
#define GZ_OUT_SIZE ((size_t)256 << 10)
#endif

/* Bytes after the out buffer that a decoder may overwrite. */
#define GZ_OUT_SLACK ((size_t)8)

/* Bytes before the out buffer.  They hold the last output that was written: DEFLATE's window. */
#define GZ_OUT_BACK INF_WINDOW

/* Bytes by which the reading position may step back.  The in buffer also has this many bytes after
 * the input, because a decoder may load them; it does not use them. */
#define GZ_IN_BACK INF_BACK

/* The most bytes of the in buffer that may be left unparsed when more is read, since the decoder
 * needs the bytes after them. */
#define GZ_IN_REST INF_REST

struct gz_stream {
    struct gz_io io;
    struct gz_info *info;

    /* The in buffer, GZ_IN_BACK + GZ_IN_REST + GZ_IN_SIZE + GZ_IN_BACK bytes.  Bytes
     * in[in_pos..in_end) are still to be parsed. */
    uint8_t *in;
    size_t in_pos, in_end;
    /* The most bytes that the next read asks for; 0 means GZ_IN_SIZE. */
    size_t in_most;
    /* GZ_OK until the input has ended.  After that, the status that a decoder returns if it needs
     * more input: GZ_TRUNCATED, GZ_READ_ERROR, or GZ_WRITE_ERROR. */
    enum gz_status in_stop;
    /* The errno of a GZ_READ_ERROR, kept because a later write may change errno. */
    int in_error;

    /* The out buffer: GZ_OUT_SIZE bytes, with GZ_OUT_BACK before them and GZ_OUT_SLACK after them.
     * The first out_len bytes are still to be written. */
    uint8_t *out;
    size_t out_len;
    /* The output bytes, from out[0] on, that io.ahead has written already. */
    struct gz_skip out_skip;
    /* Whether a part of the member was left out (gz_place.is_jump). */
    bool has_jumped;

    /* The decoder of compat/deflate.c.  With io.ahead, gz_open makes it; otherwise it is made when
     * it is first needed. */
    struct inf_raw *raw;
    /* Whether `raw` was made for small inputs (inf_open). */
    bool raw_is_small;
    /* io.ahead has nothing that starts before this bit of the input. */
    uint64_t ahead_from;

    /* The format of the data at the reading position. */
    enum gz_format format;
    /* Whether the first header was parsed. */
    bool header_read;
    enum gz_status header_status;
    /* The next magic number; its first magic_len bytes were parsed. */
    uint8_t magic[4];
    size_t magic_len;
    /* zip: whether the entry's CRC and sizes follow its data.  If not, the fields below have the
     * values in the entry's header. */
    bool sizes_follow;
    bool is_zip64; /* zip: the header has zip64's field */
    uint32_t zip_crc, zip_packed, zip_size;
};

/* --- compat/stream.c ------------------------------------------------------------------------ */

/* Reads more input.  At most GZ_IN_REST bytes of the buffer may still be unparsed; these are kept.
 * Returns false if there is no more input; in_stop then says why. */
bool gz_refill(struct gz_stream *s);

/* Makes parsing continue at byte `offset` of the input, whether that byte was read yet or not.
 * Call this only if the stream has io.ahead. */
void gz_seek(struct gz_stream *s, uint64_t offset);

/* Writes all bytes that are in the out buffer.  Returns false, with errno set, if that fails. */
bool gz_flush(struct gz_stream *s);

/* Like gz_flush, but also copies the last GZ_OUT_BACK bytes of output to the memory before the out
 * buffer. */
bool gz_flush_window(struct gz_stream *s);

/* Appends data[0..len) to the output.  Returns false, with errno set, if a write fails. */
bool gz_put(struct gz_stream *s, const uint8_t *data, size_t len);

/* Returns the next byte, or -1 if there is none; in_stop then says why. */
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

/* The next bits of the input, from bit 63 of `bits` down.  The highest `count` bits, fewer than 64,
 * were taken from the input.  The bits below these are copies of the bits that follow in the input,
 * or zeros. */
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
        /* The lowest bits loaded may be part of a byte that does not count yet.  The next call
         * loads that byte again. */
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

/* Skips n bits, n < 64.  After the end of the input, endless zeros follow. */
static inline void gz_skip_bits(struct gz_bits *b, unsigned n)
{
    b->bits <<= n;
    b->count -= n < b->count ? n : b->count;
}

/* Gives unused whole bytes back to the input. */
static inline void gz_end_bits(struct gz_bits *b, struct gz_stream *s)
{
    s->in_pos -= b->count / 8;
    *b = (struct gz_bits){0};
}

/* --- Checks --------------------------------------------------------------------------------- */

/* Returns a little-endian number of 32 bits. */
static inline uint32_t gz_get_u32(const uint8_t p[4])
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Compares the CRC and the length (modulo 2^32) of decoded data with the stored values. */
enum gz_status gz_check_data(struct gz_stream *s, uint32_t crc, uint64_t len, uint32_t stored_crc,
                             uint32_t stored_len);

#endif
