/*
 * library.c - compresses and decompresses through each interface of the library, for library.bats
 *             and tests/faults
 *
 *   library WAY [-d] [-l LEVEL] [-p THREADS] [-s SEGMENT] [-R] [-B auto|cpu|gpu] [-c CHUNK]
 *           [-n NAME] [-f FILE] [-x INDEX]
 *
 * Reads standard input and writes standard output.  On failure, prints the text of the status.
 * WAY is one of:
 *
 *   memory, fd
 *   stream   CHUNK bytes of input and of output at a time; 0: sizes that change
 *   range    CHUNK segments at a time
 *   file     gzlzss_file_ functions, CHUNK bytes at a time; with -f, FILE is the .gz.  With -d,
 *            goes back after the end, and reads a chunk again
 *   reader   decompresses some chunks of standard input, a regular file, then writes an index; with
 *            -x, reads by INDEX
 *   places   as reader, with the input in memory
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/gzlzss.h"

static gzlzss *z;
static gzlzss_call call = GZLZSS_CALL_INIT;

static void check(gzlzss_status status)
{
    if (status >= GZLZSS_OK)
        return;
    fflush(stdout);
    fprintf(stderr, "%s\n", gzlzss_status_text(status));
    exit(1);
}

static void *need(void *memory)
{
    if (memory == NULL)
        check(GZLZSS_ERROR_MEMORY);
    return memory;
}

/* Reads all of standard input. */
static unsigned char *read_all(size_t *len)
{
    size_t room = 1 << 20;
    unsigned char *bytes = need(malloc(room));

    *len = 0;
    for (size_t n; (n = fread(bytes + *len, 1, room - *len, stdin)) > 0;) {
        *len += n;
        if (*len == room)
            bytes = need(realloc(bytes, room *= 2));
    }
    return bytes;
}

static void put(const void *bytes, size_t len)
{
    if (fwrite(bytes, 1, len, stdout) != len)
        check(GZLZSS_ERROR_WRITE);
}

static void by_memory(int expands)
{
    size_t len, out_len;
    unsigned char *in = read_all(&len), *out;
    gzlzss_status status;

    out_len = expands ? 1 << 16 : gzlzss_bound(z, len) + 4096;
    for (;;) {
        const size_t room = out_len;

        out = need(malloc(room));
        status = expands ? gzlzss_decompress(z, out, &out_len, in, len, &call)
                         : gzlzss_compress(z, out, &out_len, in, len, &call);
        if (status != GZLZSS_ERROR_ROOM || !expands)
            break;
        free(out);
        out_len = 4 * room;
    }
    put(out, out_len);
    free(out);
    free(in);
    check(status);
}

static void by_stream(int expands, size_t chunk)
{
    static unsigned char in_bytes[1 << 17], out_bytes[1 << 17];
    gzlzss_in in = {in_bytes, 0, 0};
    gzlzss_out out = {out_bytes, 0, 0};
    gzlzss_status status = GZLZSS_OK;
    gzlzss_stream *s;
    unsigned turn = 0;

    check(expands ? gzlzss_decompress_stream(&s, z, &call) : gzlzss_compress_stream(&s, z, &call));
    while (status == GZLZSS_OK) {
        turn = turn * 1103515245 + 12345;
        if (in.used == in.size && !feof(stdin)) {
            in.size = chunk > 0 ? chunk : (turn >> 8) % sizeof(in_bytes) + 1;
            in.size = fread(in_bytes, 1, in.size, stdin);
            in.used = 0;
        }
        out.size = chunk > 0 ? chunk : (turn >> 12) % sizeof(out_bytes);
        out.used = 0;
        status = gzlzss_stream_run(s, &out, &in, feof(stdin) ? GZLZSS_END : GZLZSS_CONTINUE);
        put(out_bytes, out.used);
    }
    gzlzss_stream_free(s);
    check(status);
}

static void by_range(size_t segments)
{
    size_t len, room, out_len, size;
    unsigned char *in = read_all(&len), *out;
    uint32_t crc = 0, part;

    size = (segments > 0 ? segments : 1) * gzlzss_segment_size(z);
    room = gzlzss_bound(z, len) + 4096;
    out = need(malloc(room));
    out_len = room;
    check(gzlzss_header(z, out, &out_len, &call));
    put(out, out_len);
    for (size_t at = 0; at < len || at == 0; at += size) {
        const size_t n = len - at < size ? len - at : size;

        out_len = room;
        check(gzlzss_compress_range(z, out, &out_len, in + at, n, at + n == len, &part, &call));
        put(out, out_len);
        crc = gzlzss_crc32_combine(crc, part, n);
    }
    gzlzss_trailer(out, crc, len);
    put(out, 8);
    free(out);
    free(in);
}

/* Opens the .gz: the file `path`, or the descriptor if `path` is NULL. */
static gzlzss_file *open_file(const char *path, int fd, gzlzss_file_mode mode)
{
    gzlzss_file *f;

    check(path != NULL ? gzlzss_file_open(&f, z, path, mode, &call)
                       : gzlzss_file_of(&f, z, fd, mode, &call));
    return f;
}

/* Flushes after every fourth chunk. */
static void write_file(const char *path, size_t chunk)
{
    gzlzss_file *f = open_file(path, STDOUT_FILENO, GZLZSS_WRITE);
    unsigned char *bytes = need(malloc(chunk));
    unsigned chunks = 0;

    for (size_t n; (n = fread(bytes, 1, chunk, stdin)) > 0;) {
        check(gzlzss_file_write(f, bytes, n));
        if (++chunks % 4 == 0)
            check(gzlzss_file_flush(f, GZLZSS_FLUSH));
    }
    free(bytes);
    check(gzlzss_file_close(f));
}

static size_t read_chunk(gzlzss_file *f, void *bytes, size_t chunk)
{
    size_t n = chunk;
    const gzlzss_status status = gzlzss_file_read(f, bytes, &n);

    put(bytes, n);
    check(status);
    return n;
}

static void read_file(const char *path, size_t chunk)
{
    gzlzss_file *f = open_file(path, STDIN_FILENO, GZLZSS_READ);
    unsigned char *bytes = need(malloc(chunk));

    while (read_chunk(f, bytes, chunk) > 0)
        ;
    check(gzlzss_file_seek(f, gzlzss_file_tell(f) / 2));
    read_chunk(f, bytes, chunk);
    free(bytes);
    check(gzlzss_file_close(f));
}

static void put_index(gzlzss_reader *r)
{
    size_t len = 0;
    void *index;

    if (gzlzss_reader_export(r, GZLZSS_INDEX_GZTOOL, NULL, &len, &call) != GZLZSS_ERROR_ROOM)
        check(GZLZSS_ERROR_DATA);
    index = need(malloc(len));
    check(gzlzss_reader_export(r, GZLZSS_INDEX_GZTOOL, index, &len, &call));
    put(index, len);
    free(index);
}

/* Reads a chunk near the end, one in the middle, and one at the start. */
static void read_places(gzlzss_reader *r, size_t chunk)
{
    unsigned char *bytes = need(malloc(chunk));
    uint64_t size;

    check(gzlzss_reader_size(r, &size, &call));
    for (int quarter = 3; quarter >= 0; quarter--) {
        size_t len = chunk;

        check(gzlzss_reader_read(r, bytes, &len, size / 4 * (uint64_t)quarter, &call));
        put(bytes, len);
    }
    free(bytes);
}

static void by_reader(int in_memory, const char *index, size_t chunk)
{
    size_t len = 0;
    unsigned char *in = in_memory ? read_all(&len) : NULL;
    int fd = -1;
    gzlzss_reader *r;

    check(in_memory ? gzlzss_reader_memory(&r, z, in, len, &call)
                    : gzlzss_reader_fd(&r, z, STDIN_FILENO, &call));
    if (index != NULL) {
        do
            fd = open(index, O_RDONLY | O_CLOEXEC);
        while (fd < 0 && errno == EINTR);
        check(fd < 0 ? GZLZSS_ERROR_READ : gzlzss_reader_index_fd(r, fd, &call));
    }
    read_places(r, chunk);
    put_index(r);
    gzlzss_reader_free(r);
    if (fd >= 0)
        close(fd);
    free(in);
}

int main(int argc, char **argv)
{
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    const char *way = argc > 1 ? argv[1] : "", *file = NULL, *index = NULL;
    size_t chunk = 0;
    int expands = 0, letter;

    optind = 2;
    while ((letter = getopt(argc, argv, "dl:p:s:RB:c:n:f:x:")) != -1)
        switch (letter) {
        case 'd':
            expands = 1;
            break;
        case 'l':
            options.level = atoi(optarg);
            break;
        case 'p':
            options.threads = atoi(optarg);
            break;
        case 's':
            options.segment_size = (size_t)atol(optarg);
            break;
        case 'R':
            options.rsyncable = 1;
            break;
        case 'B':
            options.backend = optarg[0] == 'c'   ? GZLZSS_CPU
                              : optarg[0] == 'g' ? GZLZSS_GPU
                                                 : GZLZSS_AUTO;
            break;
        case 'c':
            chunk = (size_t)atol(optarg);
            break;
        case 'n':
            call.name = optarg;
            break;
        case 'f':
            file = optarg;
            break;
        case 'x':
            index = optarg;
            break;
        default:
            return 2;
        }
    check(gzlzss_new(&z, &options));
    if (strcmp(way, "memory") == 0)
        by_memory(expands);
    else if (strcmp(way, "fd") == 0)
        check(expands ? gzlzss_decompress_fd(z, 1, 0, &call) : gzlzss_compress_fd(z, 1, 0, &call));
    else if (strcmp(way, "stream") == 0)
        by_stream(expands, chunk);
    else if (strcmp(way, "range") == 0)
        by_range(chunk);
    else if (strcmp(way, "file") == 0 && expands)
        read_file(file, chunk);
    else if (strcmp(way, "file") == 0)
        write_file(file, chunk);
    else if (strcmp(way, "reader") == 0 || strcmp(way, "places") == 0)
        by_reader(way[0] == 'p', index, chunk);
    else
        check(GZLZSS_ERROR_ARGUMENT);
    gzlzss_free(z);
    if (fflush(stdout) != 0)
        check(GZLZSS_ERROR_WRITE);
    return 0;
}
