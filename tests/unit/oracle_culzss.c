/*
 * oracle_culzss.c - CULZSS as its paper describes it (oracles.h)
 */
#include "config.h"

#include "tests/unit/oracles.h"

/* A match: the distance is 0 if there is none. */
struct match {
    size_t length, distance;
};

/* Compares with every place of the window, the nearest first.  Each match that is longer replaces
 * the one before; if `is_far`, one that is equally long does so, too. */
static struct match try_all(const uint8_t *in, size_t start, size_t pos, size_t end, size_t window,
                            size_t longest, bool is_far)
{
    struct match best = {0, 0};

    for (size_t back = 1; back <= window && back <= pos - start; back++) {
        size_t n = 0;

        while (n < longest && n < back && pos + n < end && in[pos - back + n] == in[pos + n])
            n++;
        if (n > best.length || (is_far && n == best.length))
            best = (struct match){n, back};
    }
    return best;
}

/* Goes through the window once, the oldest byte first.  A run ends with a byte that differs, which
 * is then left out, with the window, or with the greatest length.  Each run that is longer replaces
 * the one before; unless `is_far`, one that is equally long does so, too. */
static struct match go_through(const uint8_t *in, size_t start, size_t pos, size_t end,
                               size_t window, size_t longest, bool is_far)
{
    const size_t most = end - pos < longest ? end - pos : longest;
    size_t at = pos - start < window ? start : pos - window;
    struct match best = {0, 0};

    while (at < pos) {
        size_t n = 0;

        while (n < most && at + n < pos && in[at + n] == in[pos + n])
            n++;
        if (n > best.length || (!is_far && n == best.length))
            best = (struct match){n, pos - at};
        at += n < most ? n + 1 : n;
    }
    return best;
}

void oracle_culzss(const uint8_t *in, size_t len, const uint32_t *param, uint16_t *tags)
{
    const size_t window = param[0], chunk = param[1], longest = param[2];
    /* The searches are all, far, one-pass and both. */
    const bool is_far = param[3] == 1 || param[3] == 3, is_one_pass = param[3] >= 2;

    for (size_t start = 0; start < len; start += chunk) {
        const size_t end = len - start < chunk ? len : start + chunk;

        for (size_t pos = start; pos < end;) {
            const struct match m =
                (is_one_pass ? go_through : try_all)(in, start, pos, end, window, longest, is_far);

            if (m.length < 3) {
                tags[pos++] = 0;
                continue;
            }
            for (size_t i = 0; i < m.length; i++)
                tags[pos++] = (uint16_t)m.distance;
        }
    }
}
