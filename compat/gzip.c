/*
 * gzip.c - the gzip member format (RFC 1952): its header and its trailer
 *
 * gz_write_header writes, byte for byte, the same header as GNU gzip, so that tools which look at
 * headers see nothing new.  The parser handles one field after the other.  It accepts a field's
 * bytes in parts of any size.
 */
#include "config.h"

#include "compat/gzip.h"

#include <string.h>

#include "compat/bytes.h"
#include "compat/crc.h"
#include "inflate/blockheader.h"

/* --- Writing -------------------------------------------------------------------------------- */

enum { XFL_SMALLEST = 2, XFL_FASTEST = 4, OS_UNIX = 3 };

size_t gz_write_header(uint8_t *out, const char *name, uint32_t mtime, int level)
{
    size_t size = GZ_HEADER_SIZE;

    out[0] = 0x1f;
    out[1] = 0x8b;
    out[2] = GZ_METHOD_DEFLATE;
    out[GZ_FLAGS_AT] = name != NULL ? GZ_FLAG_NAME : 0;
    gz_put_u32(out + 4, mtime);
    out[8] = level >= 9 ? XFL_SMALLEST : level <= 1 ? XFL_FASTEST : 0;
    out[9] = OS_UNIX;
    if (name != NULL) {
        size_t name_size = strlen(name) + 1;
        memcpy(out + size, name, name_size);
        size += name_size;
    }
    return size;
}

size_t gz_add_comment(uint8_t *out, size_t size, const char *comment)
{
    const size_t comment_size = strlen(comment) + 1;

    out[GZ_FLAGS_AT] |= GZ_FLAG_COMMENT;
    memcpy(out + size, comment, comment_size);
    return size + comment_size;
}

void gz_write_trailer(uint8_t out[GZ_TRAILER_SIZE], uint32_t crc, uint64_t len)
{
    gz_put_u32(out, crc);
    gz_put_u32(out + 4, (uint32_t)len);
}

/* --- Parsing -------------------------------------------------------------------------------- */

/* The fields after the magic number, in their order. */
enum field {
    METHOD,
    FLAGS,
    FIXED, /* time stamp, extra flags, operating system */
    EXTRA_SIZE,
    EXTRA,
    NAME,
    COMMENT,
    HEADER_CRC,
    END
};

/* For each field: its size in bytes, 0 if that is not fixed; and the flag in the header that says
 * that the field is present, 0 if it is always present. */
static const struct {
    uint8_t size, flag;
} fields[] = {
    [METHOD] = {1, 0},
    [FLAGS] = {1, 0},
    [FIXED] = {6, 0},
    [EXTRA_SIZE] = {2, GZ_FLAG_EXTRA},
    [EXTRA] = {0, GZ_FLAG_EXTRA},
    [NAME] = {0, GZ_FLAG_NAME},
    [COMMENT] = {0, GZ_FLAG_COMMENT},
    [HEADER_CRC] = {2, GZ_FLAG_HEADER_CRC},
    [END] = {0, 0},
};

static unsigned get_u16(const uint8_t p[2])
{
    return p[0] | (unsigned)p[1] << 8;
}

void gz_header_begin(struct gz_header *h, const uint8_t magic[2])
{
    *h = (struct gz_header){
        .field = METHOD, .left = fields[METHOD].size, .magic = {magic[0], magic[1]}};
}

/* Appends the next bytes of the name to h->name, as far as there is room. */
static void keep_name(struct gz_header *h, const uint8_t *in, size_t len)
{
    const size_t room = h->name_room - h->name_len, n = len < room ? len : room;

    memcpy(h->name + h->name_len, in, n);
    h->name_len += n;
    h->name_cut |= n < len;
    if (h->name_cut)
        h->name[h->name_room - 1] = '\0';
}

/* Parses the bytes of in[0..len) that belong to the current field, and returns their number.
 * *whole becomes true if they complete the field, else false. */
static size_t take(struct gz_header *h, const uint8_t *in, size_t len, bool *whole)
{
    const bool is_string = h->field == NAME || h->field == COMMENT;
    const uint8_t *const zero = is_string && len > 0 ? memchr(in, 0, len) : NULL;
    size_t n = len;

    if (is_string) {
        *whole = zero != NULL;
        n = *whole ? (size_t)(zero - in) + 1 : len;
        if (h->field == NAME && h->name != NULL && n > 0)
            keep_name(h, in, n);
    } else {
        n = len < h->left ? len : h->left;
        if (h->field != EXTRA && n > 0)
            memcpy(h->bytes + fields[h->field].size - h->left, in, n);
        h->left -= n;
        *whole = h->left == 0;
    }
    if ((h->flags & GZ_FLAG_HEADER_CRC) != 0 && h->field != HEADER_CRC)
        h->crc = gz_crc32(h->crc, in, n);
    return n;
}

/* Checks the flags.  If they say that the header has a CRC, begins to compute it. */
static enum gz_status judge_flags(struct gz_header *h)
{
    const uint8_t first[] = {h->magic[0], h->magic[1], h->method, h->bytes[0]};

    h->flags = h->bytes[0];
    if ((h->flags & GZ_FLAG_ENCRYPTED) != 0)
        return GZ_ENCRYPTED;
    if ((h->flags & GZ_FLAGS_RESERVED) != 0)
        return GZ_RESERVED_FLAGS;
    if ((h->flags & GZ_FLAG_HEADER_CRC) != 0)
        h->crc = gz_crc32(0, first, sizeof first);
    return GZ_OK;
}

/* Checks the current field, which is complete, and goes to the next.  A field is checked before the
 * next one is parsed, because GNU gzip does the same.  So both report the same error if a header
 * has a bad method and is cut off, too. */
static enum gz_status end_field(struct gz_header *h)
{
    enum gz_status status = GZ_OK;
    size_t extra = 0;

    switch (h->field) {
    case METHOD:
        h->method = h->bytes[0];
        status = h->method == GZ_METHOD_DEFLATE ? GZ_OK : GZ_UNKNOWN_METHOD;
        break;
    case FLAGS:
        status = judge_flags(h);
        break;
    case FIXED:
        h->mtime = get_u16(h->bytes) | (uint32_t)get_u16(h->bytes + 2) << 16;
        break;
    case EXTRA_SIZE:
        extra = get_u16(h->bytes);
        if (h->extra != NULL)
            h->extra(h->ctx, (unsigned)extra);
        break;
    case NAME:
        h->has_name = true;
        break;
    case HEADER_CRC:
        h->stored_crc = (uint16_t)get_u16(h->bytes);
        h->right_crc = (uint16_t)h->crc;
        status = h->stored_crc == h->right_crc ? GZ_OK : GZ_BAD_HEADER_CRC;
        break;
    default:
        break;
    }
    do
        h->field++;
    while (fields[h->field].flag != 0 && (h->flags & fields[h->field].flag) == 0);
    h->left = h->field == EXTRA ? extra : fields[h->field].size;
    return status;
}

enum gz_status gz_header_parse(struct gz_header *h, const uint8_t *in, size_t len, size_t *used)
{
    enum gz_status status = GZ_OK;
    bool whole = true;

    for (*used = 0; status == GZ_OK && h->field != END;) {
        *used += take(h, in + *used, len - *used, &whole);
        status = whole ? end_field(h) : GZ_TRUNCATED;
    }
    return status;
}

size_t gz_member_header(const uint8_t *in, size_t len)
{
    struct inf_block block;
    struct gz_header h;
    size_t used, at;

    if (len < GZ_HEADER_SIZE + 1 || in[0] != 0x1f || in[1] != 0x8b)
        return 0;
    gz_header_begin(&h, in);
    if (gz_header_parse(&h, in + sizeof h.magic, len - sizeof h.magic, &used) != GZ_OK)
        return 0;
    at = sizeof h.magic + used;
    return at < len && inf_check_block(0, 0, in + at, len - at, &block) != INF_BLOCK_BAD ? at : 0;
}
