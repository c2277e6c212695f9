/*
 * oracle_glzss_basic.c - GLZSS-basic, line by line as Algorithm 1 of its paper (oracles.h)
 */
#include "config.h"

#include "tests/unit/oracles.h"

/* The paper's hash of the four bytes at p, for a table with `entries` entries. */
static size_t hash(const uint8_t *p, size_t entries)
{
    const uint64_t number = p[0] + 256u * p[1] + 65536u * p[2] + 16777216u * p[3];

    return (size_t)(number * 2654435761u % 4294967296u / (4294967296u / entries));
}

void oracle_glzss_basic(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t entries = param[0], chunk = param[1];
    static size_t table[65536];

    for (size_t start = 0; start < len; start += chunk) {
        size_t cur = start + 1;

        tags[start] = 0;
        for (size_t i = 0; i < entries; i++)
            table[i] = start;
        while (cur < len && cur < start + chunk) {
            const size_t left = 32768 - cur % 32768;
            const size_t most = left < start + chunk - cur ? left : start + chunk - cur;
            size_t mat_len = 0, pre, index;

            if (most < 4 || len - cur < 4) {
                tags[cur++] = 0;
                continue;
            }
            index = hash(in + cur, entries);
            pre = table[index];
            table[index] = cur;
            while (mat_len < most && cur + mat_len < len && in[pre + mat_len] == in[cur + mat_len])
                mat_len++;
            if (mat_len < 4 || cur - pre > 32768) {
                tags[cur++] = 0;
                continue;
            }
            for (size_t off = cur - pre; mat_len > 0; mat_len--)
                tags[cur++] = (uint16_t)off;
        }
    }
}
