/*
 * encode_stage.c - measures how fast one core encodes sequences as DEFLATE, and how fast it
 * computes a CRC
 *
 *   bench/encode_stage FILE LEVEL [MIB [SECONDS]]
 *
 * First, the CPU engine matches at most MIB mebibytes (default 128) of FILE. Then, for SECONDS
 * (default 4), the program encodes the segments and computes their CRCs, again and again, in the
 * same way as the command's workers do. When a GPU finds the matches, the cores have only this
 * work, and reading and writing. For a realistic result, use a file several times as large as the
 * last-level cache.
 *
 * Each round encodes the whole file. Prints the medians over all rounds, in MB of input for each
 * second of this thread's processor time. Also prints the size and the CRC of the output, which
 * must stay the same if a change of the code is only for speed.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/program.h"
#include "compat/crc.h"
#include "huffman/huffman.h"
#include "lzss/lzss.h"

#define MAX_ROUNDS 1000

/* Returns this thread's processor time in seconds. Other programs on the machine do not add to
 * it. */
static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A segment's bytes, and a copy of its sequences. */
struct segment {
    const uint8_t *in;
    size_t len;
    struct lz_chunk *chunks;
    struct lz_sequence *sequences;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

/* Matches the segment and keeps its sequences. Returns their number. */
static size_t match(struct lz_matcher *m, struct segment *s)
{
    const struct lz_chunk *found = lz_match_segment(m, s->in, s->len);
    size_t chunks = LZ_CHUNKS(s->len), count = 0;
    struct lz_sequence *next;

    for (size_t c = 0; c < chunks; c++)
        count += found[c].count;
    s->chunks = need(malloc(chunks * sizeof(*s->chunks)));
    s->sequences = next = need(malloc((count + 1) * sizeof(*next)));
    for (size_t c = 0; c < chunks; c++) {
        s->chunks[c] = (struct lz_chunk){next, found[c].count};
        memcpy(next, found[c].sequences, found[c].count * sizeof(*next));
        next += found[c].count;
    }
    return count;
}

int main(int argc, char **argv)
{
    size_t most = (size_t)(argc > 3 ? atoi(argv[3]) : 128) << 20;
    double seconds = argc > 4 ? atof(argv[4]) : 4;
    size_t segment_size, count, len, sequences = 0, written = 0, rounds = 0;
    static double encode[MAX_ROUNDS], crc[MAX_ROUNDS], all[MAX_ROUNDS];
    const struct lz_level *level;
    struct huff_encoder *e;
    struct lz_matcher *m;
    struct segment *segments;
    uint32_t digest = 0, sums = 0;
    double start, median_all;
    uint8_t *in, *out;
    FILE *f;

    if (argc < 3 || atoi(argv[2]) < LZ_LEVEL_MIN || atoi(argv[2]) > LZ_LEVEL_MAX)
        die("usage: encode_stage FILE LEVEL [MIB [SECONDS]]");
    level = lz_level(atoi(argv[2]));
    segment_size = level->segment_default;
    f = fopen(argv[1], "rb");
    if (f == NULL)
        die("cannot open the input");
    in = need(malloc(most + LZ_INPUT_PAD));
    len = fread(in, 1, most, f);
    fclose(f);
    if (len == 0)
        die("the input is empty");
    memset(in + len, 0, LZ_INPUT_PAD);

    m = need(lz_matcher_new(level, segment_size));
    count = (len + segment_size - 1) / segment_size;
    segments = need(calloc(count, sizeof(*segments)));
    for (size_t i = 0; i < count; i++) {
        segments[i].in = in + i * segment_size;
        segments[i].len = i + 1 < count ? segment_size : len - i * segment_size;
        sequences += match(m, &segments[i]);
    }
    lz_matcher_free(m);

    e = need(huff_encoder_new());
    out = need(malloc(huff_bound(segment_size)));
    start = cpu_seconds();
    do {
        written = 0;
        digest = sums = 0;
        for (size_t i = 0; i < count; i++) {
            const struct segment *s = &segments[i];
            double begun = cpu_seconds(), encoded;
            size_t out_len;

            if (!huff_encode_segment(e, s->in, s->len, s->chunks, level->split,
                                     i + 1 == count ? HUFF_LAST : HUFF_MARK, out, &out_len))
                die("a sequence is not a match");
            encoded = cpu_seconds();
            sums += gz_crc32(0, s->in, s->len);
            encode[rounds] += encoded - begun;
            crc[rounds] += cpu_seconds() - encoded;
            written += out_len;
            digest = gz_crc32(digest, out, out_len);
        }
        all[rounds] = encode[rounds] + crc[rounds];
        rounds++;
    } while (rounds < MAX_ROUNDS && cpu_seconds() - start < seconds);

    median_all = median(all, rounds); /* also sorts `all`: shortest first */
    printf("%s, level %s: %.0f MB/s; encode %.0f, crc %.0f; best of %zu rounds %.0f; %zu bytes, "
           "%zu sequences, to %zu bytes with CRC %08x (of the input, summed up: %08x)\n",
           argv[1], argv[2], (double)len / median_all * 1e-6,
           (double)len / median(encode, rounds) * 1e-6, (double)len / median(crc, rounds) * 1e-6,
           rounds, (double)len / all[0] * 1e-6, len, sequences, written, digest, sums);
    for (size_t i = 0; i < count; i++) {
        free(segments[i].sequences);
        free(segments[i].chunks);
    }
    free(segments);
    free(out);
    free(in);
    huff_encoder_free(e);
    return 0;
}
