/*
 * store.c - stores a segment, at level 0 (store.h)
 *
 * The check value of each block is computed right after the block was copied, while its bytes are
 * still in the processor's cache.  So memory is read only once.
 */
#include "config.h"

#include "pipeline/compress/store.h"

size_t store_segment(const uint8_t *in, size_t len, enum huff_end end, enum gz_check check,
                     uint8_t *out, uint32_t *value)
{
    size_t out_len = 0, n;

    *value = gz_check_start(check);
    for (; len > DEFLATE_MAX_STORED; in += n, len -= n) {
        n = DEFLATE_MAX_STORED;
        out_len += huff_store(in, n, HUFF_MORE, out + out_len);
        *value = gz_check_more(check, *value, in, n);
    }
    out_len += huff_store(in, len, end, out + out_len);
    *value = gz_check_more(check, *value, in, len);
    return out_len;
}
