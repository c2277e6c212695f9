/*
 * paper_stage.c - measures how a level or a paper's method matches a file on one core, and computes
 * the size in the paper's own coding
 *
 *   bench/paper_stage FILE LEVEL|METHOD[,KEY=VALUE]... [MIB]
 *
 * Uses at most MIB (default 128) of FILE. Prints four numbers: the MB of input that a core matches
 * for each second of its processor time; the number of sequences; the percentage of the input that
 * matches cover; and the size in the paper's coding, in bytes (codings.h). A level belongs to no
 * paper, so its size is "-", as is that of a method with keys for which the paper's coding has no
 * room. For methods with chunks of 1 MiB in the paper, segments have 1 MiB. bench/papers.sh runs
 * this program.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "bench/codings.h"
#include "bench/level.h"
#include "bench/program.h"
#include "papers/codec/codec.h"

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns the coding of a level's method, or NULL if it has none or the keys do not fit it. If it
 * has one, sets the level's segments to what the coding needs. */
static const struct coding *coding_for(struct lz_level *level)
{
    const struct paper_format *const format = paper_format_of(level->finder->name, NULL);
    char error[PAPER_ERROR_SIZE];

    if (format == NULL || !paper_fits(format, level, error))
        return NULL;
    level->segment_default = (uint32_t)paper_segment(format, level);
    return coding_of(level->finder->name, NULL);
}

int main(int argc, char **argv)
{
    const size_t most = (size_t)(argc > 3 ? atoi(argv[3]) : 128) << 20;
    uint64_t sequences = 0, matched = 0, bits = 0;
    const struct coding *coding;
    struct lz_level level;
    struct lz_matcher *m;
    double seconds = 0;
    char own[32] = "-";
    uint8_t *in;
    size_t len;
    FILE *f;

    if (argc < 3)
        die("usage: paper_stage FILE LEVEL|METHOD[,KEY=VALUE]... [MIB]");
    level = level_of(argv[2]);
    f = fopen(argv[1], "rb");
    if (f == NULL)
        die("cannot open the input");
    in = need(malloc(most + LZ_INPUT_PAD));
    len = fread(in, 1, most, f);
    if (ferror(f))
        die("cannot read the input");
    if (len == 0)
        die("the input is empty");
    fclose(f);
    memset(in + len, 0, LZ_INPUT_PAD);
    coding = coding_for(&level);
    m = need(lz_matcher_new(&level, level.segment_default));
    if (coding != NULL)
        bits = coding->file_bits;
    for (size_t at = 0; at < len; at += level.segment_default) {
        const size_t left = len - at,
                     some = left < level.segment_default ? left : level.segment_default;
        const double begin = cpu_seconds();
        const struct lz_chunk *chunks = lz_match_segment(m, in + at, some);

        seconds += cpu_seconds() - begin;
        for (size_t c = 0; c < LZ_CHUNKS(some); c++)
            for (uint32_t i = 0; i < chunks[c].count; i++) {
                sequences++;
                matched += chunks[c].sequences[i].length;
            }
        if (coding != NULL)
            bits += coding_bits(coding, &level, in + at, some, chunks);
    }
    if (coding != NULL)
        snprintf(own, sizeof(own), "%llu", (unsigned long long)((bits + 7) / 8));
    printf("%.1f MB/s, %llu sequences, %.2f %% matched, own coding %s of %zu bytes\n",
           (double)len / seconds * 1e-6, (unsigned long long)sequences,
           100.0 * (double)matched / (double)len, own, len);
    lz_matcher_free(m);
    free(in);
    return 0;
}
