/*
 * fuzz_reader.c - reading any file at any place, with any index or none
 *
 * Two fuzz targets (target.h).  `reader` reads a file without an index, then makes indexes in each
 * format, and reads with these.  `index` reads a good or a damaged file with an index that the
 * input gives.
 *
 * `reader` reads twice: by access/, in one thread, and by the library, which lets three threads
 * decode if there is much to decode.  Both must come to the same result, also in a damaged file.
 *
 * Hints, that is, indexes, BGZF's headers and marks, can be made to mislead (access/reader.h).  So
 * the data that was read is compared with zlib's only if no such hint was used, or if the hints are
 * our own.
 */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/reader.h"
#include "lib/decompress.h"
#include "tests/fuzz/objects.h"

/* A few bytes of input can decode to gigabytes; leave out such inputs. */
#define OUT_MAX ((size_t)1 << 20)

#define READ_MAX ((size_t)40000)

enum { READS = 6 };

/* The library's reader of a file, beside that of access/. */
struct beside {
    gzlzss_reader *r; /* NULL: nothing is read by the library */
    int fd;           /* a file in memory, or -1 */
    bool must_agree;  /* no hint can mislead */
};

static struct beside beside_open(const struct access_source *file, bool is_file)
{
    gzlzss *z = fuzz_object(GZLZSS_GZIP, false);
    struct beside b = {.fd = -1};

    if (is_file) {
        b.fd = memfd_create("file", MFD_CLOEXEC);
        REQUIRE(b.fd >= 0 && write(b.fd, file->memory, file->size) == (ssize_t)file->size);
        REQUIRE(gzlzss_reader_fd(&b.r, z, b.fd, NULL) == GZLZSS_OK);
    } else {
        REQUIRE(gzlzss_reader_memory(&b.r, z, file->memory, file->size, NULL) == GZLZSS_OK);
    }
    return b;
}

static void beside_close(struct beside *b)
{
    gzlzss_reader_free(b->r);
    if (b->fd >= 0)
        close(b->fd);
}

/* What the library makes of a status of access/. */
static gzlzss_status judge(enum gz_status status)
{
    const struct operation o = {0};

    return decompress_judge(&o, status, 0);
}

/* Reads also by the library.  If both must agree, the result must be `status` and want[0..done). */
static void read_beside(const struct beside *b, size_t len, uint64_t offset, enum gz_status status,
                        const uint8_t *want, size_t done)
{
    uint8_t *buf = fuzz_need(malloc(len + 1));
    size_t n = len;
    const gzlzss_status result = gzlzss_reader_read(b->r, buf, &n, offset, NULL);

    REQUIRE(n <= len);
    if (b->must_agree) {
        REQUIRE(result == judge(status));
        REQUIRE(n == (status == GZ_OK ? done : 0));
        REQUIRE(n == 0 || memcmp(buf, want, n) == 0);
    }
    free(buf);
}

/* Finds the size also by the library. */
static void size_beside(const struct beside *b, enum gz_status status, uint64_t want)
{
    uint64_t size = 0;
    const gzlzss_status result = gzlzss_reader_size(b->r, &size, NULL);

    if (b->must_agree)
        REQUIRE(result == judge(status) && (status != GZ_OK || size == want));
}

/* Reads at places that the input chooses.  If `want` is not NULL, the data must be want's. */
static void read_places(struct access_reader *r, const struct beside *beside,
                        struct fuzz_input places, const struct fuzz_plain *want)
{
    uint8_t *buf = fuzz_need(malloc(READ_MAX));

    for (int i = 0; i < READS && places.len > 0; i++) {
        const uint64_t offset = fuzz_choose16(&places) * (1 + fuzz_choose(&places, 32));
        const size_t len = fuzz_choose16(&places) % READ_MAX;
        size_t done = 77;
        const enum gz_status status = access_read(r, buf, len, offset, &done, NULL);

        REQUIRE(done <= len);
        if (beside != NULL)
            read_beside(beside, len, offset, status, buf, done);
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
static void try_own_index(struct access_reader *r, const struct access_source *file, bool is_file,
                          enum access_format format, struct fuzz_input places,
                          const struct fuzz_plain *want)
{
    struct written w = {0};
    struct access_source index;
    struct access_reader *other = fuzz_need(access_open(file));
    struct beside b = beside_open(file, is_file);

    REQUIRE(access_export(r, format, put, &w, NULL));
    index = source_of(w.bytes, w.len);
    REQUIRE(access_use_index(other, &index) == ACCESS_INDEX_OK);
    REQUIRE(gzlzss_reader_index(b.r, w.bytes, w.len, NULL) == GZLZSS_OK);
    b.must_agree = true;
    read_places(other, &b, places, want);
    REQUIRE(access_look(other, NULL) == ACCESS_INDEX);
    access_close(other);
    beside_close(&b);
    free(w.bytes);
}

void fuzz_reader(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len};
    const unsigned choice = fuzz_choose(&in, 256);
    const bool is_file = choice / (5 * READS) % 2 != 0;
    struct fuzz_input places = fuzz_take(&in, choice % (5 * READS));
    const struct access_source file = source_of(in.data, in.len);
    struct fuzz_plain p = fuzz_inflate(in.data, in.len, FUZZ_BITS_GZIP, OUT_MAX);
    struct access_reader *r;
    struct beside b;
    enum gz_status status;
    uint64_t size;
    bool is_plain;

    if (!p.is_too_long) {
        r = fuzz_need(access_open(&file));
        b = beside_open(&file, is_file);
        b.must_agree = access_look(r, NULL) == ACCESS_NOTHING;
        is_plain = p.is_good && b.must_agree;
        read_places(r, &b, places, is_plain ? &p : NULL);
        status = access_size(r, &size, NULL);
        size_beside(&b, status, size);
        if (status == GZ_OK && is_plain) {
            REQUIRE(size == p.len);
            try_own_index(r, &file, is_file, ACCESS_GZTOOL, places, &p);
            try_own_index(r, &file, is_file, ACCESS_INDEXED_GZIP, places, &p);
        }
        access_close(r);
        beside_close(&b);
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

        is_plain = status != ACCESS_INDEX_OK && p.is_good && access_look(r, NULL) == ACCESS_NOTHING;
        read_places(r, NULL, places, is_plain ? &p : NULL);
        if (status == ACCESS_INDEX_OK)
            (void)access_export(r, ACCESS_GZTOOL, put, &w, NULL);
    }
    access_close(r);
    free(w.bytes);
    free(p.bytes);
}
