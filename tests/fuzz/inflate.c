/*
 * inflate.c - what zlib makes of compressed data, for comparison (target.h)
 */
#include "config.h"

#include <zlib.h>

#include "tests/fuzz/target.h"

/* Bytes of output for which memory is taken at first. */
#define FIRST_ROOM ((size_t)1 << 16)

/* Makes room for more output, up to `most` bytes.  False if there is none. */
static bool make_room(struct fuzz_plain *p, z_stream *z, size_t *room, size_t most)
{
    if (*room == most)
        return false;
    *room = *room == 0 ? FIRST_ROOM : 4 * *room;
    if (*room > most)
        *room = most;
    p->bytes = fuzz_need(realloc(p->bytes, *room + 1));
    z->next_out = p->bytes + z->total_out;
    z->avail_out = (uInt)(*room - z->total_out);
    return true;
}

struct fuzz_plain fuzz_inflate(const uint8_t *in, size_t len, int bits, size_t most)
{
    struct fuzz_plain p = {0};
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .avail_in = (uInt)len};
    size_t room = 0;
    uLong total;
    int result;

    REQUIRE(inflateInit2(&z, bits) == Z_OK);
    do {
        result = z.avail_out > 0 || make_room(&p, &z, &room, most) ? inflate(&z, Z_NO_FLUSH)
                                                                   : Z_MEM_ERROR;
        if (result == Z_STREAM_END) {
            p.members++;
            p.used = len - z.avail_in;
            p.len = z.total_out;
            if (bits != FUZZ_BITS_GZIP || z.avail_in == 0)
                break;
            total = z.total_out;
            REQUIRE(inflateReset(&z) == Z_OK);
            z.total_out = total;
            result = Z_OK;
        }
    } while (result == Z_OK || (result == Z_BUF_ERROR && z.avail_out == 0));
    p.is_good = result == Z_STREAM_END && p.used == len;
    p.is_too_long = result == Z_MEM_ERROR;
    REQUIRE(inflateEnd(&z) == Z_OK);
    return p;
}
