/*
 * oracle_position_lists.c - the dictionary stage of a parallel LZMA as its paper describes it
 * (oracles.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/oracles.h"

#define LONGEST 258

void oracle_position_lists(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t hashed = param[0], listed = param[1], threshold = param[2], block = param[3];

    for (size_t start = 0; start < len; start += block) {
        const size_t end = len - start < block ? len : start + block;
        /* Chains of positions with the same two bytes.  `first` has the last position of each pair
         * of bytes.  `next` has, for each position, the position before it in its chain.  Positions
         * are stored plus 1; 0 means that there is no position. */
        static size_t first[65536], next[32768];
        size_t covered = start;

        memset(first, 0, sizeof(first));
        for (size_t pos = start; pos < end; pos++) {
            size_t *const list = &first[pos + 1 < end ? in[pos] * 256 + in[pos + 1] : 0];
            size_t length = 0, distance = 0, compared = 0;

            for (size_t at = *list; pos >= covered && at > 0 && compared < listed;
                 at = next[at - 1]) {
                const size_t from = start + at - 1;
                size_t n = 0;

                while (n < LONGEST && pos + n < end && in[from + n] == in[pos + n])
                    n++;
                if (n < hashed)
                    continue;
                compared++;
                if (n > length) {
                    length = n;
                    distance = pos - from;
                }
            }
            next[pos - start] = *list;
            *list = pos - start + 1;
            if (pos < covered)
                continue;
            covered = length >= threshold ? pos + length : pos + 1;
            for (size_t i = pos; i < covered; i++)
                tags[i] = (uint16_t)(length >= threshold ? distance : 0);
        }
    }
}
