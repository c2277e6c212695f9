/*
 * oracle_lz4.c - LZ4 as its authors describe it, and as the thesis does, on its chunks (oracles.h)
 */
#include "config.h"

#include <string.h>

#include "tests/unit/oracles.h"
#include "tests/unit/unit.h"

#define NOTHING SIZE_MAX

static size_t seen[1 << 16];

/* Returns the entry for the hash of the four bytes at p, in a table of `size` entries. */
static size_t *place(const uint8_t *p, size_t size)
{
    const uint32_t number =
        p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

    return &seen[(uint64_t)(number * 2654435761U) * size >> 32];
}

/* Compresses in[start..end); matches may reach back to `low`. */
static void compress(const uint8_t *in, size_t low, size_t start, size_t end, const uint32_t *param,
                     uint16_t *tags)
{
    const size_t size = param[0], skip = param[2], window = param[5];
    /* The value after the greatest one is `no`: each step has one byte. */
    const size_t acceleration = skip == 16 ? 1 : param[1];
    size_t pos = start, literals = start, tries = acceleration << skip, step = 1;
    bool second = false;

    for (size_t i = 0; i < size; i++)
        seen[i] = NOTHING;
    for (size_t i = low; i + 4 <= start; i += 3)
        *place(in + i, size) = i;
    memset(tags + start, 0, (end - start) * sizeof(*tags));
    while (pos + 4 <= end) {
        size_t *const entry = place(in + pos, size);
        size_t from = *entry, length = 0;

        *entry = pos;
        while (from != NOTHING && pos - from <= window && pos + length < end &&
               in[from + length] == in[pos + length])
            length++;
        if (length < 4) {
            /* At the start and after a match, one position is tried by itself.  The search with
             * growing steps begins at the position after it. */
            pos += second ? step : 1;
            if (second)
                step = tries++ >> skip;
            second = true;
            continue;
        }
        while (pos > literals && from > low && in[pos - 1] == in[from - 1]) {
            pos--;
            from--;
            length++;
        }
        for (size_t i = 0; i < length; i++)
            tags[pos + i] = (uint16_t)(pos - from);
        pos += length;
        literals = pos;
        tries = acceleration << skip;
        step = 1;
        second = false;
        if (pos + 4 <= end)
            *place(in + pos - 2, size) = pos - 2;
    }
}

/* Compresses in[start..end) as the thesis does: the first 13 bytes are literals, every position is
 * entered, and the longest match in the bucket is taken. */
static void compress_all(const uint8_t *in, size_t start, size_t end, const uint32_t *param,
                         uint16_t *tags)
{
    const size_t size = param[0], window = param[5], chain = param[6];
    size_t *before = unit_need(malloc((end - start + 1) * sizeof(*before)));
    size_t next = start + 13;

    for (size_t i = 0; i < size; i++)
        seen[i] = NOTHING;
    memset(tags + start, 0, (end - start) * sizeof(*tags));
    for (size_t pos = start; pos + 3 <= end; pos++) {
        size_t *const bucket = &seen[oracle_murmur3(in + pos, (uint32_t)size)];
        const size_t chunk_end = pos - pos % 32768 + 32768;
        size_t most = (end < chunk_end ? end : chunk_end) - pos, length = 0, distance = 0;
        size_t left = pos < next ? 0 : chain;

        most = most < 258 ? most : 258;
        for (size_t at = *bucket; at != NOTHING && pos - at <= window && left > 0; left--) {
            size_t n = 0;

            /* Only a match that also has this byte is longer. */
            while (length < most && in[at + length] == in[pos + length] && n < most &&
                   in[at + n] == in[pos + n])
                n++;
            if (n > length) {
                length = n;
                distance = pos - at;
            }
            at = length < most ? before[at - start] : NOTHING;
        }
        before[pos - start] = *bucket;
        *bucket = pos;
        for (size_t i = 0; length >= 4 && i < length; i++)
            tags[pos + i] = (uint16_t)distance;
        if (pos >= next)
            next = pos + (length >= 4 ? length : 1);
    }
    free(before);
}

void oracle_lz4(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    static const size_t sizes[] = {32768, 32768, 16384, 8192, 4096};
    const size_t size = sizes[param[3]];

    if (param[4] == 1 && param[3] == 0) {
        compress_all(in, 0, len, param, tags);
        return;
    }
    for (size_t start = 0; start < len; start += size) {
        const size_t low = param[3] == 0 && start > 0 ? start - 32768 : start;

        const size_t end = len - start < size ? len : start + size;

        if (param[4] == 1)
            compress_all(in, start, end, param, tags);
        else
            compress(in, low, start, end, param, tags);
    }
}
