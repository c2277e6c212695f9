/*
 * oracle_gpulz.c - gpuLZ as its paper describes it (oracles.h)
 */
#include "config.h"

#include <string.h>

#include "tests/unit/oracles.h"

static bool differ(const uint8_t *in, size_t a, size_t b, size_t symbol)
{
    return memcmp(in + a * symbol, in + b * symbol, symbol) != 0;
}

/* Finds a match for the symbol at `start` of a chunk of `size` symbols, as the paper's listing 1
 * does.  Returns its length. */
static size_t find_match(const uint8_t *in, size_t start, size_t size, size_t symbol, size_t window,
                         size_t *distance)
{
    size_t buffer = start, len = 0, offset = 0, longest = 0;

    for (size_t w = start < window ? 0 : start - window; w < start && buffer < size; w++) {
        if (differ(in, w, buffer, symbol)) {
            len = 0;
            buffer = start;
            continue;
        }
        if (len == 0)
            offset = buffer - w;
        len++;
        buffer++;
        if (len > longest) {
            longest = len;
            *distance = offset;
        }
    }
    return longest;
}

/* Makes the tags of in[0..len).  Returns the size in the paper's coding, in bits. */
static size_t compress(const uint8_t *in, size_t len, size_t symbol, const uint32_t *param,
                       uint16_t *tags)
{
    const size_t least = symbol == 1 ? 3 : symbol == 2 ? 2 : 1; /* symbols */
    size_t bits = 0;

    memset(tags, 0, len * sizeof(*tags));
    for (size_t from = 0; from < len; from += param[2]) {
        const size_t size = (len - from < param[2] ? len - from : param[2]) / symbol;

        for (size_t at = 0; at < size;) {
            size_t distance = 0;
            const size_t n = find_match(in + from, at, size, symbol, param[1], &distance);

            if (n < least) {
                bits += 1 + 8 * symbol;
                at++;
                continue;
            }
            bits += 17;
            for (size_t i = 0; i < n * symbol; i++)
                tags[from + at * symbol + i] = (uint16_t)(distance * symbol);
            at += n;
        }
    }
    return bits;
}

void oracle_gpulz(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    for (size_t start = 0; start < len; start += 32768) {
        const size_t left = len - start < 32768 ? len - start : 32768;
        const size_t sample = left < 2048 ? left : 2048;
        size_t symbol = param[0];

        if (param[0] == 0) {
            size_t fewest = SIZE_MAX;

            for (size_t s = 1; s <= 4; s *= 2) {
                const size_t bits = compress(in + start, sample, s, param, tags + start);

                if (bits <= fewest) {
                    fewest = bits;
                    symbol = s;
                }
            }
            if (1.5 * (double)fewest > 8.0 * (double)sample)
                symbol = 1;
        }
        compress(in + start, left, symbol, param, tags + start);
    }
}
