/*
 * oracle_culzss.c - CULZSS as its paper describes it (oracles.h)
 */
#include "config.h"

#include "tests/unit/oracles.h"

void oracle_culzss(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t window = param[0], chunk = param[1], longest = param[2];

    for (size_t start = 0; start < len; start += chunk) {
        const size_t end = len - start < chunk ? len : start + chunk;

        for (size_t pos = start; pos < end;) {
            size_t length = 0, distance = 0;

            /* Try the whole window, the nearest place first. */
            for (size_t back = 1; back <= window && back <= pos - start; back++) {
                size_t n = 0;

                while (n < longest && n < back && pos + n < end &&
                       in[pos - back + n] == in[pos + n])
                    n++;
                if (n > length) {
                    length = n;
                    distance = back;
                }
            }
            if (length < 3) {
                tags[pos++] = 0;
                continue;
            }
            for (size_t i = 0; i < length; i++)
                tags[pos++] = (uint16_t)distance;
        }
    }
}
