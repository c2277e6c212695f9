/*
 * test_sparse.c - files with holes: writes and reads of any lengths keep the data
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sparse.h"
#include "tests/unit/unit.h"

enum { SIZE = 400000 };

static uint8_t data[SIZE], got[SIZE];

/* Fills `data` with runs of zeros and of other bytes, of all lengths.  Returns the number of
 * bytes. */
static size_t make_data(void)
{
    const size_t size = (size_t)rand() % SIZE;
    bool zeros = rand() % 2 == 0;

    for (size_t at = 0; at < size; zeros = !zeros) {
        size_t n = (size_t)rand() % (rand() % 3 == 0 ? 100000 : 5000);

        n = n < size - at ? n : size - at;
        memset(data + at, zeros ? 0 : 1 + rand() % 255, n);
        at += n;
    }
    return size;
}

/* Writes data[0..size) by calls of any lengths. */
static bool write_data(int fd, size_t size)
{
    struct sparse_output s = {.fd = fd};

    for (size_t at = 0; at < size;) {
        size_t n = (size_t)rand() % 70000;

        n = n < size - at ? n : size - at;
        if (!sparse_write(&s, data + at, n))
            return false;
        at += n;
    }
    return sparse_end(&s);
}

/* Reads the file by calls of any lengths, past its end, too.  Returns the number of bytes. */
static size_t read_data(int fd)
{
    struct sparse_input in = SPARSE_INPUT(fd);
    size_t at = 0;

    for (;;) {
        const size_t most = SIZE - at < 60000 ? SIZE - at : 60000;
        const size_t want = 1 + (size_t)rand() % 60000;
        const size_t len = want < most ? want : most;
        const ssize_t n = sparse_read_at(&in, got + at, len, at);

        if (!CHECK(n >= 0))
            return 0;
        at += (size_t)n;
        if ((size_t)n < len || at == SIZE)
            return at;
    }
}

static int new_file(void)
{
    char name[] = "test_sparse.XXXXXX";
    const int fd = mkstemp(name);

    CHECK(fd >= 0);
    unlink(name);
    return fd;
}

static void round_trips(void)
{
    for (int i = 0; i < 300; i++) {
        const size_t size = make_data();
        const int fd = new_file();
        struct stat st;

        CHECK(sparse_is_possible(fd));
        CHECK(write_data(fd, size));
        CHECK(fstat(fd, &st) == 0 && (size_t)st.st_size == size);
        CHECK_EQ(lseek(fd, 0, SEEK_CUR), (off_t)size);
        memset(got, 0xaa, sizeof(got));
        CHECK_EQ(io_read_at(fd, got, SIZE, 0), (ssize_t)size);
        CHECK(memcmp(got, data, size) == 0);
        memset(got, 0xaa, sizeof(got));
        CHECK_EQ(read_data(fd), size);
        CHECK(memcmp(got, data, size) == 0);
        close(fd);
    }
}

/* Writes `size` bytes with room allocated ahead, and zeros at [hole, hole + hole_len).  Checks the
 * data, and that the file takes no more room than without. */
static void check_allocated(size_t size, size_t hole, size_t hole_len)
{
    uint8_t *bytes = unit_need(malloc(size)), *back = unit_need(malloc(size));
    struct stat st, plain;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i >= hole && i - hole < hole_len ? 0 : 1 + i % 255);
    for (int ahead = 0; ahead < 2; ahead++) {
        const int fd = new_file();
        struct sparse_output s = {.fd = fd, .allocates = ahead};

        for (size_t at = 0; at < size; at += 300000)
            CHECK(sparse_write(&s, bytes + at, size - at < 300000 ? size - at : 300000));
        CHECK(sparse_end(&s));
        CHECK(fsync(fd) == 0);
        CHECK(fstat(fd, ahead ? &st : &plain) == 0);
        memset(back, 0xaa, size);
        CHECK_EQ(io_read_at(fd, back, size, 0), (ssize_t)size);
        CHECK(memcmp(back, bytes, size) == 0);
        close(fd);
    }
    CHECK_EQ(st.st_size, (off_t)size);
    CHECK_EQ(plain.st_size, (off_t)size);
    CHECK(st.st_blocks <= plain.st_blocks + 256);
    free(back);
    free(bytes);
}

static void allocated_ahead(void)
{
    const size_t size = (size_t)20 << 20;

    check_allocated(size, 0, 0);
    check_allocated(size + 12345, size / 2, 100000);
    check_allocated(size, 5000, size - 10000);
    check_allocated(size, size - 3000000, 3000000);
    check_allocated(size + 1, size / 4 * 3, 3 * 4096);
}

/* If a file is shortened between two reads, the missing bytes are not read as zeros. */
static void shortened(void)
{
    const int fd = new_file();
    struct sparse_input in = SPARSE_INPUT(fd);

    CHECK(ftruncate(fd, 300000) == 0);
    CHECK_EQ(sparse_read_at(&in, got, 100000, 0), 100000);
    CHECK(ftruncate(fd, 150000) == 0);
    CHECK_EQ(sparse_read_at(&in, got, 100000, 100000), 50000);
    CHECK_EQ(sparse_read_at(&in, got, 100000, 150000), 0);
    CHECK_EQ(sparse_read_at(&in, got, 100000, 200000), 0);
    close(fd);
}

/* Tests outputs in which no holes may be made. */
static void impossible(void)
{
    const int fd = new_file();
    int ends[2];

    CHECK(pipe(ends) == 0);
    CHECK(!sparse_is_possible(ends[1]));
    CHECK(write(fd, "abc", 3) == 3);
    CHECK(sparse_is_possible(fd));
    CHECK(lseek(fd, 1, SEEK_SET) == 1);
    CHECK(!sparse_is_possible(fd)); /* "bc" would show through a hole */
    CHECK(lseek(fd, 0, SEEK_END) == 3);
    CHECK(fcntl(fd, F_SETFL, O_APPEND) == 0);
    CHECK(!sparse_is_possible(fd)); /* writes ignore the position */
    CHECK(!sparse_is_possible(-1));
    close(ends[0]);
    close(ends[1]);
    close(fd);
}

/* Errors in writing are returned. */
static void errors(void)
{
    struct sparse_output s = {.fd = open("/dev/null", O_RDONLY)};
    struct sparse_input in = SPARSE_INPUT(-1);

    memset(data, 1, 10000);
    CHECK(!sparse_write(&s, data, 10000));
    close(s.fd);
    s = (struct sparse_output){.fd = -1};
    memset(data, 0, 50000);
    CHECK(sparse_write(&s, data, 50000));
    CHECK(!sparse_end(&s));
    CHECK_EQ(sparse_read_at(&in, got, 10, 0), -1);
}

int main(void)
{
    srand(1);
    RUN(round_trips);
    RUN(allocated_ahead);
    RUN(shortened);
    RUN(impossible);
    RUN(errors);
    return unit_done();
}
