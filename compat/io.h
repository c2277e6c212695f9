/*
 * io.h - the caller's functions, by which decompression reads and writes
 *
 * The caller of compat/gunzip.h gives functions to read and to write.  It may also give a struct
 * gz_ahead if other threads decode parts of the input before the decompression gets there
 * (pipeline/expand/).
 */
#ifndef GZLZSS_COMPAT_IO_H
#define GZLZSS_COMPAT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/container.h"

/* Bytes of a member's output after a place that were written already.  A decoder that goes on from
 * the place makes the same bytes again, and must not write them. */
struct gz_skip {
    uint64_t left;   /* how many of these bytes are still to come */
    uint32_t before; /* CRC-32 of those that have come */
    uint32_t crc;    /* CRC-32 of the bytes that were written */
    bool is_wrong;   /* other bytes were written than the decoder has made */
};

/* Call this when the decoder has made the next `len` bytes, k->left at most. */
void gz_skip_over(struct gz_skip *k, const uint8_t *bytes, size_t len);

/* A place in DEFLATE data where a block starts, and the results of decoding up to there. */
struct gz_place {
    /* The place, in bits from the start of the whole input. */
    uint64_t bit;
    /* The check value, and the length in bytes, of the member's data before the place. */
    uint32_t check;
    uint64_t len;
    /* The length in bytes of the data of all earlier members. */
    uint64_t before;
    /* The memory before `end` has the last bytes of the member's data before the place, INF_WINDOW
     * at most.  gz_ahead.run replaces them by the last bytes that it has written. */
    uint8_t *end;
    /* Set by gz_ahead.run: the number of bytes that it has written. */
    uint64_t made;
    /* Whether the data ends at the place, so that no block starts there. */
    bool ended;
    /* Whether gz_ahead.run has moved the place without writing the bytes before it.  If so, the CRC
     * and the length of the member are not compared with its trailer. */
    bool is_jump;
    struct gz_skip skip;
};

/* The caller's functions for parts of the input that other threads decode ahead.  The output of
 * `run` must be exactly the output of decoding from the start. */
struct gz_ahead {
    /* Returns whether `run` may have output that starts at bit `bit`, because another thread has
     * decoded from this bit on or is doing so, or because a GPU may start there.  If not, sets
     * *from to the first bit for which the caller should call `has` again.  A call takes longer
     * than decoding a short block, so the caller does not call `has` at every block. */
    bool (*has)(void *ctx, uint64_t bit, uint64_t *from);
    /* Writes all bytes that were decoded ahead from *place on, if any, and moves *place to their
     * end.  Returns false, with errno set, if a write failed. */
    bool (*run)(void *ctx, struct gz_place *place);
    /* Makes gz_io.read continue at byte `byte` of the input, which is not before the place that
     * `run` reached last. */
    void (*seek)(void *ctx, uint64_t byte);
    void *ctx;
};

/* The caller's functions and options. */
struct gz_io {
    /* As read(2): returns 0 at the end, -1 with errno set after an error. */
    ssize_t (*read)(void *ctx, void *buf, size_t len);
    /* Writes all bytes: returns 0, or -1 with errno set. */
    int (*write)(void *ctx, const void *buf, size_t len);
    /* Whether `read` would have to wait.  If so, all decoded bytes are written before `read` is
     * called.  If `waits` is NULL, they are written only when the buffer is full. */
    bool (*waits)(void *ctx);
    void *ctx;
    /* Whether to copy data in an unknown format to the output, as zcat -f does.  After a member,
     * all bytes that are no member are copied, also zeros. */
    bool copy_unknown;
    /* Whether data in an older format or in zip's, which gzip also reads, is GZ_NOT_GZIP. */
    bool only_gzip;
    /* Whether a member may come after zeros that follow another member.  Otherwise, it is trailing
     * garbage, as for GNU gzip.  Also, whether gz_info.lone_byte may be a member's first byte. */
    bool skip_zeros;
    /* Called for a gzip header with an extra field, with the field's size in bytes.  The field
     * itself is ignored.  May be NULL. */
    void (*extra)(void *ctx, unsigned bytes);
    /* Functions for decoding ahead; may be NULL. */
    const struct gz_ahead *ahead;
    /* The format of the input, if it is CONTAINER_ZLIB or CONTAINER_RAW.  With any other value, the
     * first bytes tell the format. */
    enum container container;
    /* Whether the input is known to have fewer than INF_SMALL bytes. */
    bool is_small;
};

#endif
