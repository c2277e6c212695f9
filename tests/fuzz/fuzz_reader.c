/*
 * fuzz_reader.c - reading any file at any place, with any index or none
 *
 * Two fuzz targets (target.h).  `reader` reads a file without an index, then makes indexes in each
 * format, and reads with these.  `index` reads a good or a damaged file with an index that the
 * input gives.
 *
 * Hints, that is, indexes, BGZF's headers and marks, can be made to mislead (access/reader.h).  So
 * the data that was read is compared with zlib's only if no such hint was used, or if the hints are
 * our own.
 */
#include "config.h"

#include "access/reader.h"
#include "tests/fuzz/target.h"

/* A few bytes of input can decode to gigabytes; leave out such inputs. */
#define OUT_MAX ((size_t)1 << 20)

#define READ_MAX ((size_t)40000)

enum { READS = 6 };

/* Reads at places that the input chooses.  If `want` is not NULL, the data must be want's. */
static void read_places(struct access_reader *r, struct fuzz_input places,
                        const struct fuzz_plain *want)
{
    uint8_t *buf = fuzz_need(malloc(READ_MAX));

    for (int i = 0; i < READS && places.len > 0; i++) {
        const uint64_t offset = fuzz_choose16(&places) * (1 + fuzz_choose(&places, 32));
        const size_t len = fuzz_choose16(&places) % READ_MAX;
        size_t done = 77;
        const enum gz_status status = access_read(r, buf, len, offset, &done, NULL);

        REQUIRE(done <= len);
        if (want == NULL)
            continue;
        REQUIRE(status == GZ_OK);
        REQUIRE(done == (offset >= want->len        ? 0
                         : len < want->len - offset ? len
                                                    : want->len - offset));
        REQUIRE(done == 0 || memcmp(buf, want->bytes + offset, done) == 0);
    }
    free(buf);
}

struct written {
    uint8_t *bytes;
    size_t len;
};

static bool put(void *ctx, const void *bytes, size_t len)
{
    struct written *w = ctx;

    w->bytes = fuzz_need(realloc(w->bytes, w->len + len + 1));
    if (len > 0)
        memcpy(w->bytes + w->len, bytes, len);
    w->len += len;
    return true;
}

static struct access_source source_of(const uint8_t *bytes, size_t len)
{
    return (struct access_source){.fd = -1, .memory = bytes, .size = len};
}

/* Makes an index with the reader, and reads with it by another reader. */
static void try_own_index(struct access_reader *r, const struct access_source *file,
                          enum access_format format, struct fuzz_input places,
                          const struct fuzz_plain *want)
{
    struct written w = {0};
    struct access_source index;
    struct access_reader *other = fuzz_need(access_open(file));

    REQUIRE(access_export(r, format, put, &w));
    index = source_of(w.bytes, w.len);
    REQUIRE(access_use_index(other, &index) == ACCESS_INDEX_OK);
    read_places(other, places, want);
    REQUIRE(access_look(other) == ACCESS_INDEX);
    access_close(other);
    free(w.bytes);
}

void fuzz_reader(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len}, places = fuzz_take(&in, fuzz_choose(&in, 5 * READS));
    const struct access_source file = source_of(in.data, in.len);
    struct fuzz_plain p = fuzz_inflate(in.data, in.len, FUZZ_BITS_GZIP, OUT_MAX);
    struct access_reader *r;
    uint64_t size;
    bool is_plain;

    if (!p.is_too_long) {
        r = fuzz_need(access_open(&file));
        is_plain = p.is_good && access_look(r) == ACCESS_NOTHING;
        read_places(r, places, is_plain ? &p : NULL);
        if (access_size(r, &size, NULL) == GZ_OK && is_plain) {
            REQUIRE(size == p.len);
            try_own_index(r, &file, ACCESS_GZTOOL, places, &p);
            try_own_index(r, &file, ACCESS_INDEXED_GZIP, places, &p);
        }
        access_close(r);
    }
    free(p.bytes);
}

void fuzz_index(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len}, places = fuzz_take(&in, fuzz_choose(&in, 5 * READS)),
                      index = fuzz_take(&in, fuzz_choose16(&in));
    const struct access_source file = source_of(in.data, in.len),
                               index_file = source_of(index.data, index.len);
    struct fuzz_plain p = fuzz_inflate(in.data, in.len, FUZZ_BITS_GZIP, OUT_MAX);
    struct access_reader *r = fuzz_need(access_open(&file));
    struct written w = {0};
    bool is_plain;

    if (!p.is_too_long) {
        const enum access_index_status status = access_use_index(r, &index_file);

        is_plain = status != ACCESS_INDEX_OK && p.is_good && access_look(r) == ACCESS_NOTHING;
        read_places(r, places, is_plain ? &p : NULL);
        if (status == ACCESS_INDEX_OK)
            (void)access_export(r, ACCESS_GZTOOL, put, &w);
    }
    access_close(r);
    free(w.bytes);
    free(p.bytes);
}
