/*
 * oracle_lz4.c - LZ4 as its authors describe it, on the paper's chunks (oracles.h)
 */
#include "config.h"

#include <string.h>

#include "tests/unit/oracles.h"

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
    const size_t size = param[0], acceleration = param[1], skip = param[2];
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
        while (from != NOTHING && pos - from <= 32768 && pos + length < end &&
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

void oracle_lz4(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    static const size_t sizes[] = {32768, 32768, 16384, 8192, 4096};
    const size_t size = sizes[param[3]];

    for (size_t start = 0; start < len; start += size) {
        const size_t low = param[3] == 0 && start > 0 ? start - 32768 : start;

        compress(in, low, start, len - start < size ? len : start + size, param, tags);
    }
}
