/*
 * whole.c - decompresses a small input in memory in one go (whole.h)
 */
#include "config.h"

#include "compat/whole.h"

#include "base/zlib_header.h"
#include "compat/check.h"
#include "compat/gzip.h"
#include "compat/stream.h"

/* Sets *header and *trailer to the number of bytes before and after the data of the member that
 * starts with in[0].  Returns false if its header is not good. */
static bool find_data(enum container container, const uint8_t *in, size_t len, size_t *header,
                      size_t *trailer)
{
    struct gz_header h;

    *header = *trailer = 0;
    if (container == CONTAINER_RAW)
        return true;
    if (container == CONTAINER_ZLIB) {
        *header = ZLIB_HEADER_SIZE;
        *trailer = ZLIB_TRAILER_SIZE;
        return len >= ZLIB_HEADER_SIZE && zlib_header_is_good(in[0], in[1]);
    }
    *trailer = GZ_TRAILER_SIZE;
    if (len < GZ_HEADER_SIZE || in[0] != 0x1f || in[1] != 0x8b)
        return false;
    gz_header_begin(&h, in);
    if (gz_header_parse(&h, in + sizeof h.magic, len - sizeof h.magic, header) != GZ_OK)
        return false;
    *header += sizeof h.magic;
    return true;
}

/* Whether data[0..len) has the check value, and for gzip the length, that the trailer gives. */
static bool is_right(enum container container, const uint8_t *trailer, const uint8_t *data,
                     size_t len)
{
    const enum gz_check kind = gz_check_of(container);
    const uint32_t check = gz_check_more(kind, gz_check_start(kind), data, len);

    switch (kind) {
    case GZ_CHECK_CRC32:
        return gz_get_u32(trailer) == check && gz_get_u32(trailer + 4) == (uint32_t)len;
    case GZ_CHECK_ADLER32:
        return __builtin_bswap32(gz_get_u32(trailer)) == check;
    case GZ_CHECK_NONE:
        break;
    }
    return true;
}

bool gz_whole(struct inf_whole *w, enum container container, const uint8_t *in, size_t len,
              uint8_t *out, size_t room, size_t *made)
{
    const bool is_one_member = container == CONTAINER_ZLIB || container == CONTAINER_RAW;

    *made = 0;
    do {
        size_t header, trailer, used, n;

        if (!find_data(container, in, len, &header, &trailer) ||
            inf_whole(w, in + header, len - header, out + *made, room - *made, &used, &n) !=
                INF_END ||
            len - header - used < trailer ||
            !is_right(container, in + header + used, out + *made, n))
            return false;
        in += header + used + trailer;
        len -= header + used + trailer;
        *made += n;
    } while (len > 0 && !is_one_member);
    return len == 0;
}
