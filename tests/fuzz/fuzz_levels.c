/*
 * fuzz_levels.c - what is compressed can be decompressed, with all levels and match finders, and
 * the bytes are the same for each processor
 *
 * A fuzz target (target.h).  The input's first bytes choose the options, and how the rest is
 * repeated: a fuzzer's inputs are short, and matches over long distances need more data.
 */
#include "config.h"

#include "base/cpu.h"
#include "papers/papers.h"
#include "tests/fuzz/objects.h"

/* The most bytes of data that are made of an input. */
#define DATA_MAX ((size_t)120000)

#ifdef CPU_PATH_MOST
enum cpu_path CPU_PATH_MOST = CPU_PATHS;
#endif

enum { MATCHERS_MAX = 32 };

/* The name of method number i (papers/papers.h); NULL if there are fewer. */
static const char *matcher_name(unsigned i)
{
    unsigned count = 0;

    while (paper_methods[count] != NULL)
        count++;
    return i < count ? paper_methods[i]->name : NULL;
}

/* Makes data of the bytes: repeats them, each time with one byte changed, and a gap between. */
static uint8_t *make_data(struct fuzz_input *in, size_t *len)
{
    const size_t copies = 1 + fuzz_choose(in, 64), gap = fuzz_choose16(in) % 40000;
    const unsigned change = fuzz_choose(in, 256);
    uint8_t *data = fuzz_need(calloc(1, DATA_MAX));

    *len = 0;
    for (size_t i = 0; i < copies && in->len > 0 && in->len <= DATA_MAX - *len; i++) {
        memcpy(data + *len, in->data, in->len);
        data[*len + (i * 251 + change) % in->len] ^= (uint8_t)(i * change);
        *len += in->len;
        if (gap > 0 && i + 1 < copies && gap < DATA_MAX - *len)
            *len += gap * (i % 2);
    }
    return data;
}

static void read_options(struct fuzz_input *in, gzlzss_options *options)
{
    const unsigned matcher = fuzz_choose(in, MATCHERS_MAX);

    options->level = (int)fuzz_choose(in, GZLZSS_LEVEL_MAX + 1);
    options->threads = 1 + (int)fuzz_choose(in, 3);
    options->backend = GZLZSS_CPU;
    options->segment_size = 1024 * (size_t)(32 + fuzz_choose(in, 32));
    options->format = (gzlzss_format)fuzz_choose(in, FUZZ_LIBRARY_FORMATS);
    options->rsyncable = fuzz_choose(in, 4) == 1 && options->format != GZLZSS_BGZF;
    if (options->level > 0)
        options->matcher = matcher_name(matcher);
}

static uint8_t *compress(const gzlzss_options *options, const uint8_t *data, size_t len,
                         size_t *out_len)
{
    gzlzss *z;
    uint8_t *out;

    REQUIRE(gzlzss_new(&z, options) == GZLZSS_OK);
    *out_len = gzlzss_bound(z, len);
    out = fuzz_need(malloc(*out_len));
    REQUIRE(gzlzss_compress(z, out, out_len, data, len, NULL) == GZLZSS_OK);
    gzlzss_free(z);
    return out;
}

#ifdef CPU_PATH_MOST
/* Requires that all paths of base/cpu.h that this processor has give the same bytes. */
static void check_paths(const gzlzss_options *options, const uint8_t *data, size_t len,
                        const uint8_t *want, size_t want_len)
{
    CPU_PATH_MOST = CPU_PATHS;
    for (enum cpu_path path = CPU_PORTABLE, own = cpu_path(); path < own; path++) {
        uint8_t *out;
        size_t n;

        CPU_PATH_MOST = path;
        out = compress(options, data, len, &n);
        REQUIRE(n == want_len && memcmp(out, want, n) == 0);
        free(out);
    }
    CPU_PATH_MOST = CPU_PATHS;
}
#endif

void fuzz_levels(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len};
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    uint8_t *plain, *out;
    size_t plain_len, out_len;

    read_options(&in, &options);
    plain = make_data(&in, &plain_len);
    out = compress(&options, plain, plain_len, &out_len);
    fuzz_require_plain(options.format, out, out_len, plain, plain_len);
#ifdef CPU_PATH_MOST
    check_paths(&options, plain, plain_len, out, out_len);
#endif
    free(out);
    free(plain);
}
