/*
 * test_reader.c - the library's readers, as a program uses them
 *
 * test_access.c tests access/, which the readers use, with more kinds of files and damaged indexes.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "include/gzlzss.h"
#include "tests/unit/inputs.h"

#define SEGMENT ((size_t)64 << 10)
#define SIZE (200 * SEGMENT + 4321)

static uint8_t *data, *packed;
static size_t packed_len;
static gzlzss *z;

static void make(void)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    uint64_t state = 5;

    data = unit_need(malloc(SIZE));
    fill_words(data, SIZE, &state);
    o.level = 1;
    o.threads = 2;
    o.backend = GZLZSS_CPU;
    o.segment_size = SEGMENT;
    CHECK_EQ(gzlzss_new(&z, &o), GZLZSS_OK);
    packed_len = gzlzss_bound(z, SIZE);
    packed = unit_need(malloc(packed_len));
    CHECK_EQ(gzlzss_compress(z, packed, &packed_len, data, SIZE, NULL), GZLZSS_OK);
}

static gzlzss_reader *reader(void)
{
    gzlzss_reader *r;

    CHECK_EQ(gzlzss_reader_memory(&r, z, packed, packed_len, NULL), GZLZSS_OK);
    return unit_need(r);
}

/* Whether a read gives the right bytes of a file with the data expected[0..size). */
static bool reads_of(gzlzss_reader *r, const uint8_t *expected, size_t size, uint64_t offset,
                     size_t len)
{
    const size_t behind = offset < size ? size - (size_t)offset : 0;
    const size_t wanted = len < behind ? len : behind;
    uint8_t *buf = unit_need(malloc(len + 1));
    gzlzss_call call = GZLZSS_CALL_INIT;
    const bool is = gzlzss_reader_read(r, buf, &len, offset, &call) == GZLZSS_OK && len == wanted &&
                    call.out_bytes == len && (len == 0 || memcmp(buf, expected + offset, len) == 0);

    free(buf);
    return is;
}

static bool reads_right(gzlzss_reader *r, uint64_t offset, size_t len)
{
    return reads_of(r, data, SIZE, offset, len);
}

static void read_at_random(gzlzss_reader *r, int times)
{
    uint64_t state = 7, size = 0;

    for (int i = 0; i < times; i++)
        CHECK(reads_right(r, unit_below(&state, SIZE + 10), unit_below(&state, 100 * 1000)));
    CHECK(reads_right(r, 0, 0));
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK);
    CHECK_EQ(size, SIZE);
}

static void test_memory(void)
{
    gzlzss_reader *r = reader();

    read_at_random(r, 50);
    gzlzss_reader_free(r);
}

static void test_descriptor(void)
{
    FILE *file = unit_need(tmpfile());
    gzlzss_reader *r;
    int pipe_ends[2];

    CHECK(fwrite(packed, 1, packed_len, file) == packed_len && fflush(file) == 0);
    CHECK_EQ(lseek(fileno(file), 3, SEEK_SET), 3);
    CHECK_EQ(gzlzss_reader_fd(&r, z, fileno(file), NULL), GZLZSS_OK);
    read_at_random(r, 50);
    CHECK_EQ(lseek(fileno(file), 0, SEEK_CUR), 3);
    gzlzss_reader_free(r);
    fclose(file);
    CHECK_EQ(gzlzss_reader_fd(&r, z, -1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK(r == NULL);
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(gzlzss_reader_fd(&r, z, pipe_ends[0], NULL), GZLZSS_ERROR_ARGUMENT);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void *read_in_thread(void *r)
{
    read_at_random(r, 30);
    return NULL;
}

static void test_threads(void)
{
    gzlzss_reader *r = reader();
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, read_in_thread, r) != 0)
            abort();
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    gzlzss_reader_free(r);
}

static void test_index(void)
{
    for (int format = GZLZSS_INDEX_GZTOOL; format <= GZLZSS_INDEX_INDEXED_GZIP; format++) {
        gzlzss_reader *r = reader();
        size_t len = 0, less;
        uint8_t *index;
        FILE *file = unit_need(tmpfile());

        CHECK_EQ(gzlzss_reader_export(r, (gzlzss_index_format)format, NULL, &len, NULL),
                 GZLZSS_ERROR_ROOM);
        CHECK(len > 0);
        index = unit_need(malloc(len));
        less = len - 1;
        CHECK_EQ(gzlzss_reader_export(r, (gzlzss_index_format)format, index, &less, NULL),
                 GZLZSS_ERROR_ROOM);
        CHECK_EQ(less, len);
        CHECK_EQ(gzlzss_reader_export(r, (gzlzss_index_format)format, index, &less, NULL),
                 GZLZSS_OK);
        CHECK_EQ(less, len);
        gzlzss_reader_free(r);

        r = reader();
        CHECK_EQ(gzlzss_reader_index(r, index, len - 1, NULL), GZLZSS_ERROR_DATA);
        CHECK_EQ(gzlzss_reader_index(r, data, len, NULL), GZLZSS_ERROR_FORMAT);
        CHECK_EQ(gzlzss_reader_index(r, index, len, NULL), GZLZSS_OK);
        read_at_random(r, 30);
        gzlzss_reader_free(r);

        CHECK(fwrite(index, 1, len, file) == len && fflush(file) == 0);
        r = reader();
        CHECK_EQ(gzlzss_reader_index_fd(r, -1, NULL), GZLZSS_ERROR_ARGUMENT);
        CHECK_EQ(gzlzss_reader_index_fd(r, fileno(file), NULL), GZLZSS_OK);
        read_at_random(r, 30);
        gzlzss_reader_free(r);
        fclose(file);
        free(index);
    }
}

/* Files that cannot be read: they are open, but only for writing. */
static void test_unreadable(void)
{
    char path[] = "unreadable-XXXXXX";
    const int made = mkstemp(path), fd = open(path, O_WRONLY);
    gzlzss_reader *r = reader();
    gzlzss_call call = GZLZSS_CALL_INIT;
    uint8_t byte = 0;
    size_t len = 1;

    CHECK(made >= 0 && fd >= 0);
    CHECK_EQ(write(made, packed, 100000), 100000);
    unlink(path);
    CHECK_EQ(gzlzss_reader_index_fd(r, fd, &call), GZLZSS_ERROR_READ);
    CHECK_EQ(call.error_number, EBADF);
    /* The reader goes on without the index. */
    read_at_random(r, 5);
    gzlzss_reader_free(r);
    CHECK_EQ(gzlzss_reader_fd(&r, z, fd, &call), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_read(r, &byte, &len, 0, &call), GZLZSS_ERROR_READ);
    CHECK_EQ(call.error_number, EBADF);
    CHECK_EQ(len, 0);
    gzlzss_reader_free(r);
    close(fd);
    close(made);
}

static void test_errors(void)
{
    gzlzss_reader *r = reader();
    gzlzss_call call = GZLZSS_CALL_INIT;
    uint64_t size;
    uint8_t byte;
    size_t len = 1;

    CHECK_EQ(gzlzss_reader_memory(NULL, z, packed, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_fd(NULL, z, 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_read(NULL, &byte, &len, 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    len = 1;
    CHECK_EQ(gzlzss_reader_read(r, NULL, &len, 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_read(r, &byte, NULL, 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_size(r, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_size(NULL, &size, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_index(r, NULL, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_export(r, GZLZSS_INDEX_GZTOOL, NULL, NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_reader_export(r, (gzlzss_index_format)7, &byte, &len, NULL),
             GZLZSS_ERROR_ARGUMENT);
    call.size = 1;
    len = 1;
    CHECK_EQ(gzlzss_reader_read(r, &byte, &len, 0, &call), GZLZSS_ERROR_ARGUMENT);
    gzlzss_reader_free(r);
    gzlzss_reader_free(NULL);
    CHECK_EQ(gzlzss_reader_memory(&r, NULL, packed, packed_len, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK(r == NULL);

    /* Other formats, and damage. */
    CHECK_EQ(gzlzss_reader_memory(&r, z, data, SIZE, NULL), GZLZSS_OK);
    len = 1;
    CHECK_EQ(gzlzss_reader_read(r, &byte, &len, 0, NULL), GZLZSS_ERROR_FORMAT);
    gzlzss_reader_free(r);
    CHECK_EQ(gzlzss_reader_memory(&r, z, packed, packed_len - 1, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_ERROR_TRUNCATED);
    CHECK(reads_right(r, SIZE / 2, 1000));
    gzlzss_reader_free(r);
    CHECK_EQ(gzlzss_reader_memory(&r, z, NULL, 0, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_ERROR_FORMAT);
    gzlzss_reader_free(r);
}

/* Tells the thread that cancels all calls again and again to end. */
static _Atomic bool stops;

static void *cancel_in_thread(void *ctx)
{
    (void)ctx;
    while (!stops)
        gzlzss_cancel(z, NULL);
    return NULL;
}

static void test_cancel(void)
{
    gzlzss_status status = GZLZSS_OK;
    pthread_t thread;

    stops = false;
    if (pthread_create(&thread, NULL, cancel_in_thread, NULL) != 0)
        abort();
    /* Chance decides which read the other thread cancels. */
    while (status == GZLZSS_OK) {
        gzlzss_reader *r = NULL;
        uint64_t size;

        status = gzlzss_reader_memory(&r, z, packed, packed_len - 8, NULL);
        if (status == GZLZSS_OK)
            status = gzlzss_reader_size(r, &size, NULL);
        if (status == GZLZSS_ERROR_TRUNCATED)
            status = GZLZSS_OK;
        gzlzss_reader_free(r);
    }
    CHECK_EQ(status, GZLZSS_ERROR_CANCELLED);
    stops = true;
    pthread_join(thread, NULL);
}

static void test_fork(void)
{
    gzlzss_reader *r = reader();
    int status = 1;
    pid_t child;

    CHECK(reads_right(r, 5, 5));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        uint8_t byte;
        size_t len = 1;
        const bool ok = gzlzss_reader_read(r, &byte, &len, 0, NULL) == GZLZSS_ERROR_FORKED;

        gzlzss_reader_free(r);
        _exit(ok ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(reads_right(r, 50, 5));
    gzlzss_reader_free(r);
}

/* --- Reads for which all threads decode ----------------------------------------------------- */

/* One thread decodes up to READER_LONG bytes (Makefile.am).  The data of these tests is several
 * times as long, and zlib writes no marks. */
#define LONG ((size_t)(READER_LONG + READER_LONG / 8))
#define LONG_SIZE (3 * LONG + 12345)

static uint8_t *long_data;

/* A .gz of long_data[0..LONG_SIZE), with `members` members. */
struct long_file {
    uint8_t *bytes;
    size_t len;
    size_t ends[8]; /* where each member ends */
};

static struct long_file make_long(int members)
{
    struct long_file f = {.bytes = unit_need(malloc(LONG_SIZE))};

    for (int i = 0; i < members; i++) {
        const size_t from = LONG_SIZE / members * i;
        const size_t to = i + 1 < members ? LONG_SIZE / members * (i + 1) : LONG_SIZE;
        z_stream s = {.next_in = long_data + from,
                      .avail_in = (uInt)(to - from),
                      .next_out = f.bytes + f.len,
                      .avail_out = (uInt)(LONG_SIZE - f.len)};

        CHECK_EQ(deflateInit2(&s, 1, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
        CHECK_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
        f.len = f.ends[i] = LONG_SIZE - s.avail_out;
        deflateEnd(&s);
    }
    return f;
}

static gzlzss *new_object(int threads, gzlzss_format format)
{
    gzlzss_options o = GZLZSS_OPTIONS_INIT;
    gzlzss *object = NULL;

    o.level = 1;
    o.threads = threads;
    o.backend = GZLZSS_CPU;
    o.format = format;
    CHECK_EQ(gzlzss_new(&object, &o), GZLZSS_OK);
    return unit_need(object);
}

static gzlzss *object_with(int threads)
{
    return new_object(threads, GZLZSS_GZIP);
}

/* Compresses long_data[0..LONG_SIZE) to *len bytes. */
static uint8_t *compress_long(gzlzss *object, size_t *len)
{
    uint8_t *bytes;

    *len = gzlzss_bound(object, LONG_SIZE);
    bytes = unit_need(malloc(*len));
    CHECK_EQ(gzlzss_compress(object, bytes, len, long_data, LONG_SIZE, NULL), GZLZSS_OK);
    return bytes;
}

static bool reads_long(gzlzss_reader *r, uint64_t offset, size_t len)
{
    return reads_of(r, long_data, LONG_SIZE, offset, len);
}

static gzlzss_status read_status(gzlzss_reader *r, uint64_t offset, size_t len)
{
    uint8_t *buf = unit_need(malloc(len));
    const gzlzss_status status = gzlzss_reader_read(r, buf, &len, offset, NULL);

    free(buf);
    return status;
}

/* Reads far from earlier reads and near them, many bytes and few, and at the end. */
static void read_long(gzlzss_reader *r, uint64_t *state)
{
    uint64_t size;

    CHECK(reads_long(r, 2 * LONG, 1000));
    CHECK(reads_long(r, 2 * LONG - 500, 1000));
    CHECK(reads_long(r, LONG / 2, LONG + 5));
    CHECK(reads_long(r, 2 * LONG, LONG_SIZE));
    CHECK(reads_long(r, 0, LONG_SIZE + 1));
    CHECK(reads_long(r, LONG_SIZE, 1));
    for (int i = 0; i < 10; i++)
        CHECK(reads_long(r, unit_below(state, LONG_SIZE + 10),
                         unit_below(state, i % 5 == 0 ? 2 * LONG : 100 * 1000)));
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK);
    CHECK_EQ(size, LONG_SIZE);
}

static void test_long(void)
{
    for (int threads = 1; threads <= 8; threads += 7) {
        gzlzss *object = object_with(threads);

        for (int members = 1; members <= 8; members += 7) {
            struct long_file f = make_long(members);
            FILE *file = unit_need(tmpfile());
            uint64_t state = 11, size;
            gzlzss_reader *r;

            CHECK(fwrite(f.bytes, 1, f.len, file) == f.len && fflush(file) == 0);
            CHECK_EQ(lseek(fileno(file), 5, SEEK_SET), 5);
            CHECK_EQ(gzlzss_reader_fd(&r, object, fileno(file), NULL), GZLZSS_OK);
            read_long(r, &state);
            CHECK_EQ(lseek(fileno(file), 0, SEEK_CUR), 5);
            gzlzss_reader_free(r);
            fclose(file);
            CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
            CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK);
            CHECK_EQ(size, LONG_SIZE);
            read_long(r, &state);
            gzlzss_reader_free(r);
            free(f.bytes);
        }
        gzlzss_free(object);
    }
}

/* Files with marks, and BGZF: the reader knows places before it has decoded anything. */
static void test_long_with_hints(void)
{
    for (int is_bgzf = 0; is_bgzf < 2; is_bgzf++) {
        gzlzss *object = new_object(4, is_bgzf ? GZLZSS_BGZF : GZLZSS_GZIP);
        size_t len;
        uint8_t *bytes = compress_long(object, &len);
        uint64_t state = 13;
        gzlzss_reader *r;

        CHECK_EQ(gzlzss_reader_memory(&r, object, bytes, len, NULL), GZLZSS_OK);
        CHECK(reads_long(r, LONG, LONG + 1));
        read_long(r, &state);
        gzlzss_reader_free(r);
        free(bytes);
        gzlzss_free(object);
    }
}

/* An index has no CRCs.  So the points that threads leave after one of its points have none. */
static void test_long_with_index(void)
{
    gzlzss *object = object_with(4);
    struct long_file f = make_long(1);
    size_t len = LONG_SIZE;
    uint8_t *index = unit_need(malloc(len));
    uint64_t state = 19;
    gzlzss_reader *r;

    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_export(r, GZLZSS_INDEX_GZTOOL, index, &len, NULL), GZLZSS_OK);
    gzlzss_reader_free(r);
    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_index(r, index, len, NULL), GZLZSS_OK);
    CHECK(reads_long(r, LONG, LONG + 1));
    CHECK(reads_long(r, 2 * LONG, LONG_SIZE));
    read_long(r, &state);
    gzlzss_reader_free(r);
    free(index);
    free(f.bytes);
    gzlzss_free(object);
}

/* A point that threads have left has the CRC of the data before it.  So a read from there finds a
 * wrong trailer. */
static void test_long_errors(void)
{
    gzlzss *object = object_with(4);
    struct long_file f = make_long(2);
    const size_t first = LONG_SIZE / 2;
    gzlzss_reader *r;
    uint64_t size;

    f.bytes[f.ends[1] - 6] ^= 1;
    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    CHECK(reads_long(r, LONG_SIZE - 200000, 1000));
    CHECK(reads_long(r, 1000, 1000));
    CHECK_EQ(read_status(r, LONG_SIZE - 1000, 1001), GZLZSS_ERROR_DATA);
    CHECK(reads_long(r, LONG_SIZE - LONG, 1000));
    CHECK_EQ(read_status(r, LONG_SIZE - 1000, 1001), GZLZSS_ERROR_DATA);
    CHECK_EQ(read_status(r, first, LONG_SIZE), GZLZSS_ERROR_DATA);
    gzlzss_reader_free(r);

    f.bytes[f.ends[0] - 6] ^= 1;
    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(read_status(r, first + LONG, 1000), GZLZSS_ERROR_DATA);
    CHECK(reads_long(r, first - LONG, LONG));
    CHECK_EQ(read_status(r, first - LONG, LONG + 1), GZLZSS_ERROR_DATA);
    gzlzss_reader_free(r);
    free(f.bytes);

    f = make_long(1);
    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len - 100000, NULL), GZLZSS_OK);
    CHECK_EQ(read_status(r, LONG_SIZE - 1, 1), GZLZSS_ERROR_TRUNCATED);
    CHECK(reads_long(r, 2 * LONG, 1000));
    gzlzss_reader_free(r);
    memset(f.bytes + f.len / 2, 0xff, 1000);
    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_ERROR_DATA);
    CHECK(reads_long(r, LONG, 1000));
    CHECK_EQ(read_status(r, 0, 2 * LONG_SIZE), GZLZSS_ERROR_DATA);
    gzlzss_reader_free(r);
    free(f.bytes);
    gzlzss_free(object);
}

/* --- Input that nothing may read ------------------------------------------------------------ */

/* A copy of a file, in whole pages. */
static uint8_t *in_pages(const uint8_t *bytes, size_t len)
{
    uint8_t *pages = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        abort();
    memcpy(pages, bytes, len);
    return pages;
}

/* From now on, a read of pages[0..len) kills the program, but for the last part of a page. */
static void forbid(uint8_t *pages, size_t len)
{
    CHECK_EQ(mprotect(pages, len - len % (size_t)sysconf(_SC_PAGESIZE), PROT_NONE), 0);
}

static void put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* The points of an index may be further apart than one thread decodes. */
static void test_long_from_a_hint(void)
{
    gzlzss *object = object_with(4);
    struct long_file f = make_long(8);
    uint8_t *pages = in_pages(f.bytes, f.len), index[56];
    /* The first member is decoded and compared.  Nothing after it is read, up to near the point. */
    const size_t from = (size_t)5 << 16, to = f.ends[2] - 4096;
    gzlzss_reader *r;

    /* bgzip's: how many members, and where each starts in the file and in the data */
    put64(index, 3);
    put64(index + 8, f.ends[0]);
    put64(index + 16, LONG_SIZE / 8);
    put64(index + 24, f.ends[2]);
    put64(index + 32, LONG_SIZE / 8 * 3);
    put64(index + 40, f.ends[5]);
    put64(index + 48, LONG_SIZE / 8 * 6);
    CHECK(f.ends[0] < from && from < to);
    forbid(pages + from, to - from);
    CHECK_EQ(gzlzss_reader_memory(&r, object, pages, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_index(r, index, sizeof(index), NULL), GZLZSS_OK);
    CHECK(reads_long(r, LONG_SIZE / 8 * 6 - 100, 90));
    gzlzss_reader_free(r);
    munmap(pages, f.len);
    free(f.bytes);
    gzlzss_free(object);
}

/* All threads decode from a hint that is wrong, as are those after it.  Once a read has found that,
 * nothing that the threads have left may be used. */
static void test_long_from_a_wrong_hint(void)
{
    gzlzss *object = object_with(4);
    struct long_file f = make_long(8);
    uint8_t index[8 + 7 * 16], *buf = unit_need(malloc(LONG_SIZE));
    gzlzss_reader *r;
    uint64_t size;
    size_t len = LONG_SIZE;

    put64(index, 7);
    for (int i = 0; i < 7; i++) {
        put64(index + 8 + 16 * i, f.ends[i]);
        put64(index + 16 + 16 * i, LONG_SIZE / 8 * (size_t)(i + 1) + (i >= 2 ? 100 : 0));
    }
    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_index(r, index, sizeof(index), NULL), GZLZSS_OK);
    /* This read may give wrong bytes. */
    CHECK_EQ(gzlzss_reader_read(r, buf, &len, LONG_SIZE / 8 * 3 + 200, NULL), GZLZSS_OK);
    CHECK(len > LONG_SIZE / 2);
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK);
    /* This read passes the first wrong place. */
    CHECK(reads_long(r, LONG_SIZE / 8 * 2 + 10, LONG_SIZE / 8 + 50));
    for (size_t at = 0; at < LONG_SIZE; at += LONG_SIZE / 20)
        CHECK(reads_long(r, at, 100));
    CHECK(reads_long(r, LONG_SIZE / 2, LONG_SIZE));
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK);
    CHECK_EQ(size, LONG_SIZE);
    gzlzss_reader_free(r);
    free(buf);
    free(f.bytes);
    gzlzss_free(object);
}

/* Short reads that follow one another prove no hint that is further on. */
static void test_long_after_short(void)
{
    gzlzss *object = new_object(4, GZLZSS_BGZF);
    size_t len;
    uint8_t *bytes = compress_long(object, &len), *pages = in_pages(bytes, len);
    gzlzss_reader *r;
    uint64_t size;

    CHECK_EQ(gzlzss_reader_memory(&r, object, pages, len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_size(r, &size, NULL), GZLZSS_OK); /* looks for hints */
    for (size_t at = 0; at < 2 * LONG; at += LONG / 4)
        CHECK(reads_long(r, at, LONG / 4));
    forbid(pages, len / 2);
    CHECK(reads_long(r, 2 * LONG, LONG));
    gzlzss_reader_free(r);
    munmap(pages, len);
    free(bytes);
    gzlzss_free(object);
}

static void test_no_bytes(void)
{
    gzlzss *object = object_with(4);
    struct long_file f = make_long(1);
    uint8_t *pages = in_pages(f.bytes, f.len);
    gzlzss_reader *r;
    size_t len = 0;

    forbid(pages, f.len);
    CHECK_EQ(gzlzss_reader_memory(&r, object, pages, f.len, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_reader_read(r, NULL, &len, 2 * LONG, NULL), GZLZSS_OK);
    CHECK_EQ(len, 0);
    gzlzss_reader_free(r);
    munmap(pages, f.len);
    free(f.bytes);
    gzlzss_free(object);
}

/* A zip file whose only entry is stored. */
static size_t make_zip(uint8_t *to)
{
    uint8_t header[30] = {'P', 'K', 3, 4, 10};

    put64(header + 14, crc32_z(0, long_data, LONG_SIZE) | (uint64_t)LONG_SIZE << 32);
    put64(header + 22, LONG_SIZE);
    memcpy(to, header, sizeof(header));
    memcpy(to + sizeof(header), long_data, LONG_SIZE);
    return sizeof(header) + LONG_SIZE;
}

/* Readers read only gzip's own format, however much a read has to decode. */
static void test_long_in_other_formats(void)
{
    uint8_t *zip = unit_need(malloc(LONG_SIZE + 100)), *buf = unit_need(malloc(LONG_SIZE));
    const size_t len = make_zip(zip);
    gzlzss *object = object_with(4);
    size_t n = LONG_SIZE;
    gzlzss_reader *r;

    CHECK_EQ(gzlzss_decompress(object, buf, &n, zip, len, NULL), GZLZSS_OK);
    CHECK(n == LONG_SIZE && memcmp(buf, long_data, n) == 0);
    CHECK_EQ(gzlzss_reader_memory(&r, object, zip, len, NULL), GZLZSS_OK);
    CHECK_EQ(read_status(r, LONG, 1), GZLZSS_ERROR_FORMAT);
    CHECK_EQ(read_status(r, 0, LONG), GZLZSS_ERROR_FORMAT);
    gzlzss_reader_free(r);
    free(buf);
    free(zip);
    gzlzss_free(object);
}

static void *read_long_in_thread(void *r)
{
    uint64_t state = (uintptr_t)pthread_self();

    read_long(r, &state);
    return NULL;
}

static void test_long_threads(void)
{
    gzlzss *object = object_with(4);
    struct long_file f = make_long(3);
    gzlzss_reader *r;
    pthread_t threads[3];

    CHECK_EQ(gzlzss_reader_memory(&r, object, f.bytes, f.len, NULL), GZLZSS_OK);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, read_long_in_thread, r) != 0)
            abort();
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    gzlzss_reader_free(r);
    free(f.bytes);
    gzlzss_free(object);
}

int main(void)
{
    uint64_t state = 17;

    make();
    long_data = unit_need(malloc(LONG_SIZE));
    fill_words(long_data, LONG_SIZE, &state);
    RUN(test_memory);
    RUN(test_descriptor);
    RUN(test_threads);
    RUN(test_index);
    RUN(test_unreadable);
    RUN(test_errors);
    RUN(test_cancel);
    RUN(test_fork);
    RUN(test_long);
    RUN(test_long_with_hints);
    RUN(test_long_with_index);
    RUN(test_long_errors);
    RUN(test_long_from_a_hint);
    RUN(test_long_from_a_wrong_hint);
    RUN(test_long_after_short);
    RUN(test_no_bytes);
    RUN(test_long_in_other_formats);
    RUN(test_long_threads);
    free(long_data);
    gzlzss_free(z);
    free(packed);
    free(data);
    return unit_done();
}
