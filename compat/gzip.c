/*
 * gzip.c - the gzip member format (RFC 1952): its header and its trailer
 *
 * What is written is, byte for byte, what GNU gzip writes, so that tools which look at headers see nothing new.
 */
#include "config.h"

#include "compat/gzip.h"

#include <string.h>

#include "inflate/blockheader.h"

enum { XFL_SMALLEST = 2, XFL_FASTEST = 4, OS_UNIX = 3 };

static void put_u32(uint8_t out[4], uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

size_t gz_write_header(uint8_t *out, const char *name, uint32_t mtime, int level)
{
    size_t size = GZ_HEADER_SIZE;

    out[0] = 0x1f;
    out[1] = 0x8b;
    out[2] = GZ_METHOD_DEFLATE;
    out[3] = name != NULL ? GZ_FLAG_NAME : 0;
    put_u32(out + 4, mtime);
    out[8] = level >= 9 ? XFL_SMALLEST : level <= 1 ? XFL_FASTEST : 0;
    out[9] = OS_UNIX;
    if (name != NULL) {
        size_t name_size = strlen(name) + 1;
        memcpy(out + size, name, name_size);
        size += name_size;
    }
    return size;
}

void gz_write_trailer(uint8_t out[GZ_TRAILER_SIZE], uint32_t crc, uint64_t len)
{
    put_u32(out, crc);
    put_u32(out + 4, (uint32_t)len);
}

size_t gz_member_header(const uint8_t *in, size_t len)
{
    enum { HEADER_CRC = 2, EXTRA = 4, NAME = GZ_FLAG_NAME, COMMENT = 16, RESERVED = 0xe0 };
    struct inf_block block;
    size_t at = GZ_HEADER_SIZE;

    if (len < GZ_HEADER_SIZE + 1 || in[0] != 0x1f || in[1] != 0x8b || in[2] != GZ_METHOD_DEFLATE ||
        (in[3] & RESERVED) != 0)
        return 0;
    if ((in[3] & EXTRA) != 0) {
        if (len < at + 2)
            return 0;
        at += 2 + (size_t)(in[at] | in[at + 1] << 8);
    }
    for (int flag = NAME; flag <= COMMENT; flag *= 2) {
        const uint8_t *zero;

        if ((in[3] & flag) == 0)
            continue;
        zero = at < len ? memchr(in + at, 0, len - at) : NULL;
        if (zero == NULL)
            return 0;
        at = (size_t)(zero - in) + 1;
    }
    if ((in[3] & HEADER_CRC) != 0)
        at += 2;
    if (at >= len || inf_check_block(0, 0, in + at, len - at, &block) == INF_BLOCK_BAD)
        return 0;
    return at;
}
