/*
 * oracle_dklzss.c - DKLZSS as its paper describes it, without the failure table (oracles.h)
 */
#include "config.h"

#include "tests/unit/oracles.h"

void oracle_dklzss(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t window = param[0], lookahead = param[1], chunk = param[2];

    for (size_t start = 0; start < len; start += chunk) {
        const size_t end = len - start < chunk ? len : start + chunk;

        for (size_t k = start; k < end;) {
            size_t longest = 0, distance = 0;

            /* Try all earlier positions in the window, the farthest first, that leave room for a
             * longer match. */
            for (size_t index = k - start < window ? start : k - window; index + longest < k;
                 index++) {
                size_t match = 0;

                /* Only a match that also has this byte is longer. */
                if (k + longest < end && in[index + longest] != in[k + longest])
                    continue;
                while (index + match < k && k + match < end && match < lookahead &&
                       in[index + match] == in[k + match])
                    match++;
                if (match > longest) {
                    longest = match;
                    distance = k - index;
                }
            }
            if (longest < 3) {
                tags[k++] = 0;
                continue;
            }
            for (size_t i = 0; i < longest; i++)
                tags[k++] = (uint16_t)distance;
        }
    }
}
