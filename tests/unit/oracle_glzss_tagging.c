/*
 * oracle_glzss_tagging.c - GLZSS-tagging, step by step as Algorithm 2 of its paper (oracles.h)
 */
#include "config.h"

#include "tests/unit/oracles.h"

/* The paper's hash of the four bytes at p, for a table with `entries` entries. */
static size_t hash(const uint8_t *p, size_t entries)
{
    const uint64_t number = p[0] + 256u * p[1] + 65536u * p[2] + 16777216u * p[3];

    return (size_t)(number * 2654435761u % 4294967296u / (4294967296u / entries));
}

void oracle_glzss_tagging(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t entries = param[0], chunk = param[1];
    static size_t table[65536];

    for (size_t start = 0; start < len; start += chunk) {
        const size_t chunk_end = len - start < chunk ? len : start + chunk;
        size_t cur = start + 1;

        tags[start] = 0;
        for (size_t i = 0; i < entries; i++)
            table[i] = start;
        while (cur < chunk_end) {
            const size_t piece_end = cur - cur % 32768 + 32768;
            const size_t end = piece_end < chunk_end ? piece_end : chunk_end;
            size_t length = 0, pre, off;

            if (end - cur < 4) {
                tags[cur++] = 0;
                continue;
            }
            pre = table[hash(in + cur, entries)];
            table[hash(in + cur, entries)] = cur;
            while (length < 8 && cur + length < end && in[cur + length] == in[pre + length])
                length++;
            off = length < 4 || cur - pre > 32768 ? 0 : cur - pre;
            length = off == 0 ? 1 : length == 8 ? 4 : length;
            /* Enter pre + 4 only if the four bytes there end before the segment's end.  Otherwise,
             * no later search could find pre + 4. */
            if (pre + 4 < cur + length && pre + 8 <= len)
                table[hash(in + pre + 4, entries)] = pre + 4;
            for (; length > 0; length--)
                tags[cur++] = (uint16_t)off;
        }
    }
}
