/*
 * recover.h - decompresses what is left of a damaged .gz
 *
 * gzip stops at the first error.  gz_recover goes on after an error, at the next place where
 * decoding can start: a member, a mark (inflate/find.h), or any block.  If decoding starts at a
 * block, matches may refer to data that is lost.  The decoder knows exactly which bytes of the
 * output come from lost data.  These bytes are called unknown; the fill byte is written for each of
 * them.
 *
 * The output is a row of stretches:
 *
 *   - verified data: a whole member with the CRC that its trailer has;
 *   - unverified data: decoded without an error, but part of a damaged member.  The CRC of a
 *     damaged member tells nothing about its undamaged parts.  Damage in unverified bytes may have
 *     gone unnoticed.  From such damage on, bytes may be wrong, and at another place than in the
 *     original;
 *   - doubtful data: the end of unverified data before an error.  Doubtful bytes may already be
 *     wrong, as damage is often noticed late;
 *   - fill bytes, in place of lost data whose length is known.  So the data after the fill bytes is
 *     at the same place as in the original.
 *
 * Everything that decodes up to the first damage is written, as gunzip does.  There are two
 * exceptions: if a start is found before the error, the data behind it is decoded from there; and
 * with segments, the end of a segment may be cut (below).  After later damage, doubtful bytes are
 * cut if there are too many of them.  If a member's decoded
 * length is not the one in its trailer, and nothing tells where bytes are missing or too many, the
 * member is written as it was decoded.
 *
 * The length of lost data is known in two cases.  One is that decoding goes on after the lost data
 * up to the member's trailer, which has the length of all the member's data.  The other is that
 * marks cut the data into segments of equal length, as in files by gzlzss and by `pigz -i`.  A
 * segment with another length than the others is damaged, too.  If it is shorter, it is filled up.
 * If it is longer, it is cut, unless a mark seems to be lost.  So the data after it has its right
 * place.
 *
 * Each stretch is decoded at least twice: to learn where it ends and how long it is, and to write
 * it.  So the input must be readable at any place.  Memory is bounded (about 4 MB), and the time is
 * proportional to the length of the input and the output: in an input with a damaged place in every
 * few hundred bytes, the searches pass over a part of the input (run.h).
 */
#ifndef GZLZSS_COMPAT_RECOVER_H
#define GZLZSS_COMPAT_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "compat/status.h"

/* The length of lost data if it is not known. */
#define GZ_LOST_UNKNOWN UINT64_MAX

enum gz_finding_kind {
    GZ_FOUND_VERIFIED,   /* a member with the right CRC */
    GZ_FOUND_UNVERIFIED, /* data of a damaged member */
    GZ_FOUND_LOST,       /* damage: data is missing here */
    GZ_FOUND_SEGMENT,    /* a segment with the wrong length; it is part of unverified data */
};

/* Why data is lost, or what is wrong with a member. */
enum gz_damage {
    GZ_DAMAGE_NONE,
    GZ_DAMAGE_DATA,   /* the compressed data is not valid */
    GZ_DAMAGE_CUT,    /* the input ends */
    GZ_DAMAGE_ZEROS,  /* sectors of zeros that are not part of the data */
    GZ_DAMAGE_HEADER, /* no member starts where one should */
    GZ_DAMAGE_CRC,    /* the data is valid, but has the wrong CRC */
    GZ_DAMAGE_LENGTH, /* the data has the right CRC; only the length in the trailer is wrong */
};

/* A stretch of the output, and the part of the input to which it belongs. */
struct gz_finding {
    enum gz_finding_kind kind;
    /* With GZ_FOUND_VERIFIED: GZ_DAMAGE_NONE or GZ_DAMAGE_LENGTH. */
    enum gz_damage damage;
    uint64_t in, in_end;   /* bytes [in, in_end) of the input */
    uint64_t out, out_end; /* bytes [out, out_end) of the output; empty if nothing was written */
    /* GZ_FOUND_UNVERIFIED: how many of the bytes are unknown, how many are fill bytes of segments,
     * and how many at the end are doubtful. */
    uint64_t unknown, filled, doubtful;
    /* GZ_FOUND_LOST: bytes of output that are lost, or GZ_LOST_UNKNOWN.  With `gathers`, the bytes
     * that are lost at earlier places of the member, with GZ_LOST_UNKNOWN, are among them. */
    uint64_t lost;
    bool gathers;
    /* GZ_FOUND_LOST: how many bytes too many were decoded before this place.  They are kept, so
     * what follows is that much too far on. */
    uint64_t excess;
    /* GZ_FOUND_SEGMENT: the length that the segment has.  It was cut or filled up to the length
     * that it should have.  GZ_DAMAGE_CRC and GZ_DAMAGE_LENGTH: the member's length. */
    uint64_t length;
    uint32_t stored_len; /* GZ_DAMAGE_CRC, GZ_DAMAGE_LENGTH: the length in the member's trailer */
};

/* The caller's functions, and the input. */
struct gz_recover_io {
    /* Reads the input's bytes from `offset` on, as pread(2).  Bytes that cannot be read count as
     * zeros. */
    ssize_t (*read_at)(void *ctx, void *buf, size_t len, uint64_t offset);
    /* Writes all bytes: returns 0, or -1 with errno set. */
    int (*write)(void *ctx, const void *buf, size_t len);
    /* Called for each stretch after it was written, in the order of the output.  A segment is
     * reported before the stretch of which it is a part. */
    void (*tell)(void *ctx, const struct gz_finding *finding);
    void *ctx;
    uint64_t size; /* bytes of the input */
    uint8_t fill;  /* the byte to write for each byte that is unknown or lost */
};

/* The sums, in bytes of output.  The first four add up to all bytes written. */
struct gz_recovered {
    uint64_t verified;
    uint64_t unverified; /* unverified data, without the unknown bytes */
    uint64_t unknown;
    uint64_t filled;  /* fill bytes in place of lost data */
    uint64_t damages; /* places with lost data; members with GZ_DAMAGE_CRC or GZ_DAMAGE_LENGTH */
    /* Places where data of unknown length is lost, or bytes are missing or too many.  The data
     * after such a place may be at another place than in the original. */
    uint64_t gaps;
    uint64_t passed; /* bytes of the input that were not searched, because of too many damages */
};

/*
 * Recovers the input.  Returns:
 *
 *   - GZ_OK: there is no damage; all data is verified;
 *   - GZ_BAD_DATA: there is damage;
 *   - GZ_NOT_GZIP: nothing can be recovered, and nothing was written;
 *   - GZ_WRITE_ERROR, with errno set, or GZ_NO_MEMORY.
 */
enum gz_status gz_recover(const struct gz_recover_io *io, struct gz_recovered *sums);

#endif
