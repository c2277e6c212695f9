/*
 * test_file.c - the library's files (gzlzss_file), and calls whose memory grows with the output
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "include/gzlzss.h"
#include "tests/unit/unit.h"

#define INPUT_SIZE ((size_t)3 << 20)

static uint8_t *input;
static gzlzss *z;
static char directory[] = "/tmp/test_file.XXXXXX";

/* --- A close that fails --------------------------------------------------------------------- */

/* The error that close(2) gives from now on, although it closes the descriptor; 0: none. */
static int close_error;

/* The library calls this function in place of the C library's. */
__attribute__((visibility("default"))) int close(int fd)
{
    const int result = (int)syscall(SYS_close, fd);

    if (close_error == 0)
        return result;
    errno = close_error;
    return -1;
}

/* --- Memory that grows ---------------------------------------------------------------------- */

/* Memory that refuses to grow beyond `most` bytes, or to shrink. */
struct memory {
    size_t most, size;
    int calls;
    bool never_shrinks;
};

static void *resize(void *ctx, void *memory, size_t size)
{
    struct memory *m = ctx;

    m->calls++;
    CHECK(size > 0 && (memory == NULL) == (m->size == 0));
    if (size > m->most || (m->never_shrinks && size < m->size))
        return NULL;
    m->size = size;
    return realloc(memory, size);
}

/* Decompresses packed[0..packed_len), and checks that the output is input[0..len). */
static void check_back(const void *packed, size_t packed_len, size_t len)
{
    struct memory m = {.most = SIZE_MAX};
    void *back;
    size_t back_len;

    CHECK_EQ(gzlzss_decompress_new(z, &back, &back_len, resize, &m, packed, packed_len, NULL),
             GZLZSS_OK);
    CHECK(back_len == len && memcmp(back != NULL ? back : "", input, len) == 0);
    CHECK_EQ(m.size, len);
    /* Memory is asked for once, since the trailer has the right length of the data.  Data of up to
     * 100 bytes is left out, because it may be shorter than the header. */
    if (len > 100)
        CHECK_EQ(m.calls, 1);
    free(back);
}

static void test_new(void)
{
    static const size_t sizes[] = {0, 1, 100, 5000, 131072, 131073, INPUT_SIZE};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct memory m = {.most = SIZE_MAX}, kept = {.most = SIZE_MAX, .never_shrinks = true};
        size_t fixed_len = gzlzss_bound(z, sizes[i]), len;
        uint8_t *fixed = unit_need(malloc(fixed_len));
        void *out;

        CHECK_EQ(gzlzss_compress(z, fixed, &fixed_len, input, sizes[i], NULL), GZLZSS_OK);
        CHECK_EQ(gzlzss_compress_new(z, &out, &len, resize, &m, input, sizes[i], NULL), GZLZSS_OK);
        CHECK(len == fixed_len && memcmp(out, fixed, len) == 0);
        CHECK_EQ(m.size, len);
        CHECK(m.calls <= 6);
        check_back(out, len, sizes[i]);
        free(out);
        CHECK_EQ(gzlzss_compress_new(z, &out, &len, resize, &kept, input, sizes[i], NULL),
                 GZLZSS_OK);
        CHECK(len == fixed_len && memcmp(out, fixed, len) == 0 && kept.size >= len);
        free(out);
        CHECK_EQ(gzlzss_compress_new(z, &out, &len, NULL, NULL, input, sizes[i], NULL), GZLZSS_OK);
        CHECK(len == fixed_len && memcmp(out, fixed, len) == 0);
        free(out);
        free(fixed);
    }
}

/* With too little memory, calls give an error, and the program keeps the memory that it gave. */
static void test_new_without_memory(void)
{
    struct memory enough = {.most = SIZE_MAX};
    void *packed, *out;
    size_t packed_len, len;

    CHECK_EQ(gzlzss_compress_new(z, &packed, &packed_len, resize, &enough, input, INPUT_SIZE, NULL),
             GZLZSS_OK);
    for (size_t most = 0; most < 2 * packed_len; most += packed_len / 4) {
        struct memory m = {.most = most};
        const bool is_enough = most >= packed_len;

        CHECK_EQ(gzlzss_compress_new(z, &out, &len, resize, &m, input, INPUT_SIZE, NULL),
                 is_enough ? GZLZSS_OK : GZLZSS_ERROR_MEMORY);
        CHECK_EQ(len, is_enough ? packed_len : 0);
        CHECK_EQ(out != NULL, m.size > 0);
        free(out);
    }
    /* Memory that cannot grow by half grows by what the output needs. */
    enough = (struct memory){.most = packed_len};
    CHECK_EQ(gzlzss_compress_new(z, &out, &len, resize, &enough, input, INPUT_SIZE, NULL),
             GZLZSS_OK);
    CHECK(len == packed_len && memcmp(out, packed, len) == 0);
    free(out);
    for (size_t most = 0; most <= INPUT_SIZE; most += INPUT_SIZE / 4) {
        struct memory m = {.most = most};

        CHECK_EQ(gzlzss_decompress_new(z, &out, &len, resize, &m, packed, packed_len, NULL),
                 most == INPUT_SIZE ? GZLZSS_OK : GZLZSS_ERROR_MEMORY);
        CHECK(len <= most && memcmp(out != NULL ? out : "", input, len) == 0);
        CHECK_EQ(out != NULL, m.size > 0);
        free(out);
    }
    free(packed);
}

static void test_new_errors(void)
{
    static const uint8_t text[] = "This is no .gz.";
    gzlzss_call call = GZLZSS_CALL_INIT;
    struct memory m = {.most = SIZE_MAX};
    uint8_t *packed;
    void *made, *out = &m;
    size_t packed_len, len = 1;

    CHECK_EQ(gzlzss_compress_new(z, &out, &len, NULL, NULL, NULL, 1, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK(out == NULL && len == 0);
    CHECK_EQ(gzlzss_decompress_new(z, &out, &len, NULL, NULL, NULL, 1, NULL),
             GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_new(NULL, &out, &len, NULL, NULL, "", 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress_new(NULL, &out, &len, NULL, NULL, "", 0, NULL),
             GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_new(z, NULL, &len, NULL, NULL, "", 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_compress_new(z, &out, NULL, NULL, NULL, "", 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress_new(z, NULL, &len, NULL, NULL, "", 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress_new(z, &out, NULL, NULL, NULL, "", 0, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_decompress_new(z, &out, &len, NULL, NULL, NULL, 0, NULL),
             GZLZSS_ERROR_TRUNCATED);
    CHECK_EQ(gzlzss_decompress_new(z, &out, &len, NULL, NULL, text, sizeof(text), NULL),
             GZLZSS_ERROR_FORMAT);
    CHECK(out == NULL && len == 0);

    CHECK_EQ(gzlzss_compress_new(z, &made, &packed_len, NULL, NULL, input, 500000, NULL),
             GZLZSS_OK);
    /* Other bytes come after the member, and the last of these bytes do not look like a trailer. */
    packed = unit_need(realloc(made, packed_len + 100));
    memset(packed + packed_len, 0xff, 100);
    CHECK_EQ(gzlzss_decompress_new(z, &out, &len, resize, &m, packed, packed_len + 100, &call),
             GZLZSS_ERROR_TRAILING);
    CHECK(len == 500000 && memcmp(out, input, len) == 0);
    CHECK_EQ(m.size, len);
    CHECK_EQ(call.in_bytes, packed_len);
    CHECK_EQ(call.out_bytes, 500000);
    free(out);
    packed[packed_len / 2] ^= 0x55;
    m = (struct memory){.most = SIZE_MAX};
    CHECK_EQ(gzlzss_decompress_new(z, &out, &len, resize, &m, packed, packed_len, NULL),
             GZLZSS_ERROR_DATA);
    CHECK_EQ(m.size, len);
    free(out);
    free(packed);
}

/* --- Files ---------------------------------------------------------------------------------- */

/* Returns the path of file `name` in the test's directory.  The path is valid until the next
 * call. */
static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

/* Writes input[from..to) to the open file, in pieces of up to `most` bytes. */
static void write_input(gzlzss_file *f, size_t from, size_t to, size_t most)
{
    uint64_t state = most;

    while (from < to) {
        const size_t n = 1 + unit_below(&state, most), left = to - from;

        CHECK_EQ(gzlzss_file_write(f, input + from, n < left ? n : left), GZLZSS_OK);
        from += n < left ? n : left;
    }
}

static void make_file(const char *name, size_t len)
{
    gzlzss_file *f;

    CHECK_EQ(gzlzss_file_open(&f, z, path_of(name), GZLZSS_WRITE, NULL), GZLZSS_OK);
    write_input(f, 0, len, 300000);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
}

/* True if zlib reads the file as input[0..len). */
static bool zlib_reads(const char *name, size_t len)
{
    uint8_t *back = unit_need(malloc(len + 1));
    gzFile g = gzopen(path_of(name), "rb");
    bool is = g != NULL && gzread(g, back, (unsigned)len + 1) == (int)len && gzeof(g) != 0 &&
              memcmp(back, input, len) == 0;

    if (g != NULL)
        is = gzclose(g) == Z_OK && is;
    free(back);
    return is;
}

static void test_write(void)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000000};
    static const size_t most[] = {1, 100, 65536, 400000};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (unsigned k = sizes[i] > 100000; k < sizeof(most) / sizeof(*most); k++) {
            gzlzss_file *f;

            CHECK_EQ(gzlzss_file_open(&f, z, path_of("a.gz"), GZLZSS_WRITE, NULL), GZLZSS_OK);
            CHECK_EQ(gzlzss_file_tell(f), 0);
            write_input(f, 0, sizes[i], most[k]);
            CHECK_EQ(gzlzss_file_tell(f), sizes[i]);
            CHECK(!gzlzss_file_eof(f));
            CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
            CHECK(zlib_reads("a.gz", sizes[i]));
        }
}

/* Tests all modes that write, and the header's name and time. */
static void test_modes(void)
{
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_file *f = (gzlzss_file *)&call;
    uint8_t header[20];
    int error;

    unlink(path_of("b.gz"));
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("b.gz"), GZLZSS_READ, &call), GZLZSS_ERROR_READ);
    CHECK(f == NULL && call.error_number == ENOENT);
    call.name = "b";
    call.mtime = 77;
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("b.gz"), GZLZSS_CREATE, &call), GZLZSS_OK);
    write_input(f, 0, 1000, 100);
    CHECK_EQ(gzlzss_file_error(f, &error), GZLZSS_OK);
    CHECK_EQ(error, 0);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    CHECK_EQ(unit_read_file(path_of("b.gz"), header, sizeof(header)), sizeof(header));
    CHECK(header[3] == 8 && header[4] == 77 && header[10] == 'b' && header[11] == 0);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("b.gz"), GZLZSS_CREATE, &call), GZLZSS_ERROR_WRITE);
    CHECK(f == NULL && call.error_number == EEXIST);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("b.gz"), GZLZSS_APPEND, NULL), GZLZSS_OK);
    write_input(f, 1000, 200000, 30000);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    CHECK(zlib_reads("b.gz", 200000));
    make_file("b.gz", 10);
    CHECK(zlib_reads("b.gz", 10));
}

/* What a name stands for stays, but for a regular file's data: the library writes to it, and
 * removes and replaces nothing. */
static void test_names(void)
{
    struct stat link, st;
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_file *f;

    CHECK_EQ(symlink("a.gz", path_of("c.gz")), 0);
    CHECK_EQ(lstat(path_of("c.gz"), &link), 0);
    make_file("a.gz", 10);
    make_file("c.gz", 20);
    CHECK(zlib_reads("a.gz", 20));
    CHECK(lstat(path_of("c.gz"), &st) == 0 && st.st_ino == link.st_ino);
    CHECK_EQ(unlink(path_of("a.gz")), 0);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("c.gz"), GZLZSS_CREATE, &call), GZLZSS_ERROR_WRITE);
    CHECK(f == NULL && call.error_number == EEXIST);
    CHECK(lstat(path_of("a.gz"), &st) != 0);
    unlink(path_of("c.gz"));
    CHECK_EQ(mkdir(path_of("c.gz"), 0700), 0);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("c.gz"), GZLZSS_WRITE, &call), GZLZSS_ERROR_WRITE);
    CHECK(f == NULL && call.error_number == EISDIR);
    rmdir(path_of("c.gz"));
    /* A device like /dev/null.  Never the real one: an error here would replace it. */
    if (mknod(path_of("c.gz"), S_IFCHR | 0600, makedev(1, 3)) != 0)
        return;
    if (access(path_of("c.gz"), W_OK) == 0 &&
        gzlzss_file_open(&f, z, path_of("c.gz"), GZLZSS_WRITE, &call) == GZLZSS_OK) {
        write_input(f, 0, 1000, 100);
        CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    }
    CHECK(lstat(path_of("c.gz"), &st) == 0 && S_ISCHR(st.st_mode));
    unlink(path_of("c.gz"));
}

static void test_read(void)
{
    static const size_t most[] = {1, 50, 4096, 70000, INPUT_SIZE};

    make_file("c.gz", INPUT_SIZE);
    for (unsigned i = 0; i < sizeof(most) / sizeof(*most); i++) {
        const size_t end = most[i] == 1 ? 200000 : INPUT_SIZE;
        uint8_t *back = unit_need(malloc(INPUT_SIZE));
        uint64_t state = i;
        size_t at = 0;
        gzlzss_file *f;

        CHECK_EQ(gzlzss_file_open(&f, z, path_of("c.gz"), GZLZSS_READ, NULL), GZLZSS_OK);
        while (at < end) {
            const size_t n = 1 + unit_below(&state, most[i]), left = INPUT_SIZE - at;
            size_t len = n;

            CHECK_EQ(gzlzss_file_read(f, back, &len), GZLZSS_OK);
            CHECK_EQ(len, n < left ? n : left);
            if (!CHECK(len > 0 && memcmp(back, input + at, len) == 0))
                break;
            at += len;
            CHECK_EQ(gzlzss_file_tell(f), at);
        }
        if (end == INPUT_SIZE) {
            size_t len = 10;

            CHECK_EQ(gzlzss_file_read(f, back, &len), GZLZSS_OK);
            CHECK_EQ(len, 0);
            CHECK(gzlzss_file_eof(f));
        }
        CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
        free(back);
    }
}

/* Goes to `offset`, and reads there. */
static void check_at(gzlzss_file *f, uint64_t offset)
{
    const uint64_t place = offset < INPUT_SIZE ? offset : INPUT_SIZE;
    const size_t left = (size_t)(INPUT_SIZE - place);
    uint8_t back[300];
    size_t len = sizeof(back);

    CHECK_EQ(gzlzss_file_seek(f, offset), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_tell(f), place);
    CHECK_EQ(gzlzss_file_read(f, back, &len), GZLZSS_OK);
    CHECK_EQ(len, left < sizeof(back) ? left : sizeof(back));
    CHECK(memcmp(back, input + place, len) == 0);
    CHECK_EQ(gzlzss_file_eof(f), left < sizeof(back));
}

static void test_seek(void)
{
    static const uint64_t places[] = {
        0,       1,      0, 65536,      65535,          65236,      130000,  70000,
        1000000, 999000, 5, INPUT_SIZE, INPUT_SIZE - 1, UINT64_MAX, 2000000, 300};
    uint64_t state = 5;
    gzlzss_file *f;
    size_t len = 1;
    uint8_t byte;

    make_file("c.gz", INPUT_SIZE);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("c.gz"), GZLZSS_READ, NULL), GZLZSS_OK);
    for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
        check_at(f, places[i]);
    for (int i = 0; i < 60; i++)
        check_at(f, unit_below(&state, INPUT_SIZE + 1000));
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);

    CHECK_EQ(gzlzss_file_open(&f, z, path_of("d.gz"), GZLZSS_WRITE, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_seek(f, 0), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_read(f, &byte, &len), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
}

/* Tests going back after a large read, whose bytes do not go through the file's buffer. */
static void test_seek_after_large_read(void)
{
    const size_t large = 300000;
    uint8_t *back = malloc(large);
    size_t len = large;
    gzlzss_file *f;

    CHECK(back != NULL);
    make_file("c.gz", INPUT_SIZE);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("c.gz"), GZLZSS_READ, NULL), GZLZSS_OK);
    check_at(f, 70000);
    CHECK_EQ(gzlzss_file_read(f, back, &len), GZLZSS_OK);
    CHECK_EQ(len, large);
    CHECK(memcmp(back, input + 70300, large) == 0);
    check_at(f, 70300 + large - 100);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    free(back);
}

/* A descriptor is read and written from its position on, and stays open. */
static void test_descriptor(void)
{
    uint8_t back[500];
    size_t len = sizeof(back);
    const int fd = open(path_of("e.gz"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    gzlzss_file *f;

    CHECK(fd >= 0 && write(fd, "before", 6) == 6);
    CHECK_EQ(gzlzss_file_of(&f, z, fd, GZLZSS_WRITE, NULL), GZLZSS_OK);
    write_input(f, 0, 100000, 1000);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    CHECK_EQ(lseek(fd, 6, SEEK_SET), 6);
    CHECK_EQ(gzlzss_file_of(&f, z, fd, GZLZSS_READ, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_seek(f, 99000), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_read(f, back, &len), GZLZSS_OK);
    CHECK(len == sizeof(back) && memcmp(back, input + 99000, len) == 0);
    CHECK_EQ(gzlzss_file_seek(f, 1000), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_read(f, back, &len), GZLZSS_OK);
    CHECK(len == sizeof(back) && memcmp(back, input + 1000, len) == 0);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    CHECK_EQ(close(fd), 0);
}

static void *write_main(void *argument)
{
    gzlzss_file *f = argument;

    for (size_t i = 0; i < 300; i++) {
        CHECK_EQ(gzlzss_file_write(f, input + 100 * i, 100), GZLZSS_OK);
        CHECK_EQ(gzlzss_file_flush(f, i % 50 == 49 ? GZLZSS_FULL_FLUSH : GZLZSS_FLUSH), GZLZSS_OK);
    }
    return NULL;
}

/* After a flush on one side of a pipe, the other side can read all bytes at once.  If it could not,
 * both sides would wait. */
static void test_pipe(void)
{
    gzlzss_file *from, *to;
    int ends[2];
    pthread_t thread;

    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(gzlzss_file_of(&to, z, ends[1], GZLZSS_WRITE, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_of(&from, z, ends[0], GZLZSS_READ, NULL), GZLZSS_OK);
    for (size_t i = 0; i < 100; i++) {
        uint8_t bytes[700];
        size_t len = 1 + 7 * i % sizeof(bytes);

        CHECK_EQ(gzlzss_file_write(to, input, len), GZLZSS_OK);
        CHECK_EQ(gzlzss_file_flush(to, GZLZSS_FLUSH), GZLZSS_OK);
        CHECK_EQ(gzlzss_file_read(from, bytes, &len), GZLZSS_OK);
        CHECK(len == 1 + 7 * i % sizeof(bytes) && memcmp(bytes, input, len) == 0);
    }
    CHECK_EQ(gzlzss_file_seek(from, 0), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_error(from, NULL), GZLZSS_OK);
    if (pthread_create(&thread, NULL, write_main, to) != 0)
        abort();
    for (size_t i = 0; i < 300; i++) {
        uint8_t bytes[100];
        size_t len = sizeof(bytes);

        CHECK_EQ(gzlzss_file_read(from, bytes, &len), GZLZSS_OK);
        CHECK(len == sizeof(bytes) && memcmp(bytes, input + 100 * i, len) == 0);
    }
    pthread_join(thread, NULL);
    CHECK_EQ(gzlzss_file_close(to), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_close(from), GZLZSS_OK);
    close(ends[0]);
    close(ends[1]);
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* A thread that opens a FIFO. */
struct waiting {
    pthread_t thread;
    const char *path;
};

/* Interrupts the thread, which waits for the FIFO's other end, and then opens that end.  The signal
 * handler does not open it: ThreadSanitizer calls handlers only when a call has ended. */
static void *interrupt(void *waiting)
{
    const struct waiting *w = waiting;
    const struct timespec pause = {0, 20000000};

    for (int i = 0; i < 5; i++) {
        nanosleep(&pause, NULL);
        CHECK_EQ(pthread_kill(w->thread, SIGALRM), 0);
    }
    nanosleep(&pause, NULL);
    CHECK(open(w->path, O_RDWR | O_NONBLOCK) >= 0);
    return NULL;
}

/* A signal that interrupts the wait for a FIFO's other end is no error. */
static void test_interrupted_open(void)
{
    const struct sigaction action = {.sa_handler = do_nothing}; /* without SA_RESTART */
    struct waiting self = {pthread_self(), path_of("h.gz")};
    pthread_t other;
    gzlzss_file *f;

    CHECK_EQ(mkfifo(self.path, 0600), 0);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(pthread_create(&other, NULL, interrupt, &self), 0);
    CHECK_EQ(gzlzss_file_open(&f, z, self.path, GZLZSS_READ, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    pthread_join(other, NULL);
}

/* Writes or reads a file whose close fails with `error`.  Returns gzlzss_file_close's result. */
static gzlzss_status close_with(int error, gzlzss_file_mode mode, int *error_number)
{
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_status status;
    gzlzss_file *f;
    char byte;
    size_t len = 1;

    CHECK_EQ(gzlzss_file_open(&f, z, path_of("i.gz"), mode, &call), GZLZSS_OK);
    if (mode == GZLZSS_READ)
        CHECK_EQ(gzlzss_file_read(f, &byte, &len), GZLZSS_OK);
    else
        CHECK_EQ(gzlzss_file_write(f, "a", 1), GZLZSS_OK);
    close_error = error;
    status = gzlzss_file_close(f);
    close_error = 0;
    *error_number = call.error_number;
    return status;
}

/* If close fails, a file that was written may not be on the disk.  EINTR says nothing of the kind,
 * and a file that was read has no more to lose. */
static void test_failed_close(void)
{
    static const gzlzss_file_mode modes[] = {GZLZSS_WRITE, GZLZSS_APPEND, GZLZSS_READ};
    int error;

    for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        const gzlzss_status expected = modes[i] == GZLZSS_READ ? GZLZSS_OK : GZLZSS_ERROR_WRITE;

        CHECK_EQ(close_with(EIO, modes[i], &error), expected);
        CHECK_EQ(error, expected == GZLZSS_OK ? 0 : EIO);
        CHECK_EQ(close_with(ENOSPC, modes[i], &error), expected);
        CHECK_EQ(error, expected == GZLZSS_OK ? 0 : ENOSPC);
        CHECK_EQ(close_with(EINTR, modes[i], &error), GZLZSS_OK);
        CHECK_EQ(error, 0);
    }
}

/* A write to a pipe without a reader fails with EPIPE.  It leaves no signal pending, and the same
 * signals blocked as before. */
static void test_mask_after_a_failed_write(void)
{
    static const int signals[] = {SIGPIPE, SIGXFSZ};

    for (int blocked = 0; blocked <= 1; blocked++) {
        sigset_t set, before, after;
        gzlzss_file *f;
        int ends[2];

        sigemptyset(&set);
        sigaddset(&set, SIGPIPE);
        pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, &before);
        if (pipe(ends) != 0)
            abort();
        close(ends[0]);
        CHECK_EQ(gzlzss_file_of(&f, z, ends[1], GZLZSS_WRITE, NULL), GZLZSS_OK);
        CHECK_EQ(gzlzss_file_write(f, "a", 1), GZLZSS_OK);
        CHECK_EQ(gzlzss_file_flush(f, GZLZSS_FLUSH), GZLZSS_ERROR_WRITE);
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        CHECK_EQ(sigismember(&after, SIGPIPE), blocked);
        CHECK_EQ(sigismember(&after, SIGXFSZ), 0);
        CHECK_EQ(sigpending(&set), 0);
        for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
            CHECK_EQ(sigismember(&set, signals[i]), 0);
        CHECK_EQ(gzlzss_file_close(f), GZLZSS_ERROR_WRITE);
        close(ends[1]);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
}

/* An error stays until the program goes back to a place before it. */
static void test_errors(void)
{
    uint8_t *bytes = unit_need(malloc(INPUT_SIZE));
    size_t len;
    int ends[2], fd, error;
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_file *f;

    make_file("f.gz", INPUT_SIZE);
    fd = open(path_of("f.gz"), O_RDWR);
    len = (size_t)lseek(fd, 0, SEEK_END);
    CHECK_EQ(ftruncate(fd, (off_t)len - 100000), 0);
    lseek(fd, 0, SEEK_SET);
    CHECK_EQ(gzlzss_file_of(&f, z, fd, GZLZSS_READ, &call), GZLZSS_OK);
    for (int i = 0; i < 2; i++) {
        len = INPUT_SIZE;
        CHECK_EQ(gzlzss_file_read(f, bytes, &len), GZLZSS_ERROR_TRUNCATED);
        CHECK(len > 0 && memcmp(bytes, input, len) == 0);
        len = 1;
        CHECK_EQ(gzlzss_file_read(f, bytes, &len), GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(len, 0);
        CHECK(!gzlzss_file_eof(f));
        CHECK_EQ(gzlzss_file_error(f, &error), GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(error, 0);
        CHECK_EQ(gzlzss_file_seek(f, INPUT_SIZE), GZLZSS_ERROR_TRUNCATED);
        CHECK_EQ(gzlzss_file_seek(f, 0), GZLZSS_OK);
        CHECK_EQ(gzlzss_file_error(f, &error), GZLZSS_OK);
    }
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    close(fd);

    /* A directory can be neither read nor written. */
    fd = open(directory, O_RDONLY);
    CHECK_EQ(gzlzss_file_of(&f, z, fd, GZLZSS_READ, &call), GZLZSS_OK);
    len = 1;
    CHECK_EQ(gzlzss_file_read(f, bytes, &len), GZLZSS_ERROR_READ);
    CHECK_EQ(call.error_number, EISDIR);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_ERROR_READ);
    CHECK_EQ(gzlzss_file_of(&f, z, fd, GZLZSS_WRITE, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_write(f, "a", 1), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_flush(f, GZLZSS_FLUSH), GZLZSS_ERROR_WRITE);
    CHECK_EQ(gzlzss_file_error(f, &error), GZLZSS_ERROR_WRITE);
    CHECK_EQ(error, EBADF);
    CHECK_EQ(gzlzss_file_write(f, "a", 1), GZLZSS_ERROR_WRITE);
    CHECK_EQ(gzlzss_file_flush(f, GZLZSS_FLUSH), GZLZSS_ERROR_WRITE);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_ERROR_WRITE);
    close(fd);

    /* Writing to a pipe without a reader gives an error, and no SIGPIPE, which would end the
     * test. */
    CHECK_EQ(pipe(ends), 0);
    close(ends[0]);
    CHECK_EQ(gzlzss_file_of(&f, z, ends[1], GZLZSS_WRITE, &call), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_ERROR_WRITE);
    CHECK_EQ(call.error_number, EPIPE);
    close(ends[1]);
    free(bytes);
}

/* Returns the lowest number that no descriptor has. */
static int free_descriptor(void)
{
    const int fd = dup(STDERR_FILENO);

    close(fd);
    return fd;
}

/* If no stream can be made for a file, gzlzss_file_open closes the file again. */
static void test_failed_open(void)
{
    const int before = free_descriptor();
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_file *f;

    call.level = 99;
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("failed"), GZLZSS_WRITE, &call),
             GZLZSS_ERROR_ARGUMENT);
    CHECK(f == NULL);
    CHECK_EQ(free_descriptor(), before);
}

static void test_arguments(void)
{
    gzlzss_call bad = GZLZSS_CALL_INIT;
    uint8_t byte = 0;
    size_t len = 1;
    gzlzss_file *f = (gzlzss_file *)&byte;

    bad.size = 1;
    CHECK_EQ(gzlzss_file_open(NULL, z, "x", GZLZSS_READ, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_open(&f, NULL, "x", GZLZSS_READ, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK(f == NULL);
    CHECK_EQ(gzlzss_file_open(&f, z, NULL, GZLZSS_READ, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_open(&f, z, "x", (gzlzss_file_mode)4, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("new"), GZLZSS_WRITE, &bad), GZLZSS_ERROR_ARGUMENT);
    CHECK(access(path_of("new"), F_OK) != 0);
    CHECK_EQ(gzlzss_file_of(NULL, z, 0, GZLZSS_READ, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_of(&f, z, -1, GZLZSS_READ, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_of(&f, NULL, 0, GZLZSS_READ, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_of(&f, z, 0, GZLZSS_READ, &bad), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_read(NULL, &byte, &len), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(len, 0);
    CHECK_EQ(gzlzss_file_write(NULL, &byte, 1), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_flush(NULL, GZLZSS_FLUSH), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_seek(NULL, 0), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_tell(NULL), 0);
    CHECK_EQ(gzlzss_file_eof(NULL), 0);
    CHECK_EQ(gzlzss_file_error(NULL, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_close(NULL), GZLZSS_OK);

    make_file("g.gz", 10);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("g.gz"), GZLZSS_READ, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_read(f, &byte, NULL), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_read(f, NULL, &len), GZLZSS_OK);
    len = 1;
    CHECK_EQ(gzlzss_file_read(f, NULL, &len), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_write(f, &byte, 1), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_flush(f, GZLZSS_FLUSH), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_open(&f, z, path_of("g.gz"), GZLZSS_WRITE, NULL), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_flush(f, GZLZSS_END), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_flush(f, GZLZSS_CONTINUE), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_write(f, NULL, 1), GZLZSS_ERROR_ARGUMENT);
    CHECK_EQ(gzlzss_file_write(f, NULL, 0), GZLZSS_OK);
    CHECK_EQ(gzlzss_file_close(f), GZLZSS_OK);
}

/* Makes bytes that compress to about half. */
static void make_input(void)
{
    uint64_t state = 3;

    input = unit_need(malloc(INPUT_SIZE));
    for (size_t i = 0; i < INPUT_SIZE; i++)
        input[i] = (uint8_t)(unit_rand(&state) & unit_rand(&state) & 0x77);
}

int main(void)
{
    static const char *const names[] = {"a.gz", "b.gz", "c.gz", "d.gz", "e.gz",
                                        "f.gz", "g.gz", "h.gz", "i.gz"};
    gzlzss_options o = GZLZSS_OPTIONS_INIT;

    o.threads = 3;
    o.backend = GZLZSS_CPU;
    o.segment_size = 128 << 10;
    make_input();
    if (mkdtemp(directory) == NULL || gzlzss_new(&z, &o) != GZLZSS_OK)
        abort();
    RUN(test_new);
    RUN(test_new_without_memory);
    RUN(test_new_errors);
    RUN(test_write);
    RUN(test_modes);
    RUN(test_names);
    RUN(test_read);
    RUN(test_seek);
    RUN(test_seek_after_large_read);
    RUN(test_descriptor);
    RUN(test_pipe);
    RUN(test_interrupted_open);
    RUN(test_failed_close);
    RUN(test_mask_after_a_failed_write);
    RUN(test_errors);
    RUN(test_failed_open);
    RUN(test_arguments);
    gzlzss_free(z);
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        unlink(path_of(names[i]));
    rmdir(directory);
    free(input);
    return unit_done();
}
