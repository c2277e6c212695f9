/*
 * stream.c - the buffers between a decoder and its caller's read and write
 */
#include "config.h"

#include "compat/stream.h"

#include "compat/crc.h"

#include <errno.h>
#include <string.h>

/* A decoder may take bytes beyond the end of its data and give them back, even after the next
 * buffer was read.  So the last bytes of a buffer are kept in front of the next. */
bool gz_refill(struct gz_stream *s)
{
    if (s->in_stop != GZ_OK)
        return false;
    const size_t from = s->in_pos > GZ_IN_BACK ? s->in_pos - GZ_IN_BACK : 0;
    memmove(s->in, s->in + from, s->in_end - from);
    s->in_pos -= from;
    s->in_end -= from;
    if (s->io.waits != NULL && s->io.waits(s->io.ctx) && !gz_flush_window(s)) {
        s->in_stop = GZ_WRITE_ERROR;
        return false;
    }
    ssize_t n = s->io.read(s->io.ctx, s->in + s->in_end, s->in_most > 0 ? s->in_most : GZ_IN_SIZE);
    s->in_most = 0;
    if (n <= 0) {
        s->in_error = errno;
        s->in_stop = n == 0 ? GZ_TRUNCATED : GZ_READ_ERROR;
        return false;
    }
    s->in_end += (size_t)n;
    s->info->read_bytes += (uint64_t)n;
    return true;
}

void gz_seek(struct gz_stream *s, uint64_t offset)
{
    /* The number of bytes from `offset` to the end of the bytes read.  If `offset` was not read
     * yet, this wraps to a huge number. */
    const uint64_t back = s->info->read_bytes - offset;

    if (back <= s->in_end - GZ_IN_BACK) {
        s->in_pos = s->in_end - (size_t)back;
        return;
    }
    s->io.ahead->seek(s->io.ahead->ctx, offset);
    s->in_pos = s->in_end = GZ_IN_BACK;
    s->in_stop = GZ_OK;
    s->info->read_bytes = offset;
    /* The next read ends where it would have ended without the seek. */
    s->in_most = GZ_IN_SIZE - (size_t)(offset % GZ_IN_SIZE);
}

void gz_skip_over(struct gz_skip *k, const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return;
    k->before = gz_crc32(k->before, bytes, len);
    k->left -= len;
    if (k->left > 0)
        return;
    k->is_wrong |= k->before != k->crc;
    k->before = 0;
}

bool gz_flush(struct gz_stream *s)
{
    const uint64_t left = s->out_skip.left;
    const size_t skip = left < s->out_len ? (size_t)left : s->out_len;

    if (skip < s->out_len && s->io.write(s->io.ctx, s->out + skip, s->out_len - skip) != 0)
        return false;
    gz_skip_over(&s->out_skip, s->out, skip);
    s->info->out_bytes += s->out_len;
    s->out_len = 0;
    return true;
}

bool gz_flush_window(struct gz_stream *s)
{
    inf_keep_window(s->out, s->out_len);
    return gz_flush(s);
}

bool gz_put(struct gz_stream *s, const uint8_t *data, size_t len)
{
    while (len != 0) {
        const size_t room = GZ_OUT_SIZE - s->out_len, n = len < room ? len : room;
        memcpy(s->out + s->out_len, data, n);
        s->out_len += n;
        data += n;
        len -= n;
        if (s->out_len == GZ_OUT_SIZE && !gz_flush(s))
            return false;
    }
    return true;
}

enum gz_status gz_check_data(struct gz_stream *s, uint32_t crc, uint64_t len, uint32_t stored_crc,
                             uint32_t stored_len)
{
    s->info->crc = stored_crc;
    s->info->has_crc = true;
    s->info->bad_length = stored_len != (uint32_t)len;
    /* All bytes that io.ahead has written belong to this member. */
    if (s->out_skip.left > 0 && !gz_flush(s))
        return GZ_WRITE_ERROR;
    if (stored_crc != crc || s->out_skip.is_wrong || s->out_skip.left > 0)
        return GZ_BAD_CRC;
    return s->info->bad_length ? GZ_BAD_LENGTH : GZ_OK;
}
