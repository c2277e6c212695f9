/*
 * library.c - compresses and decompresses through each interface of the library, for library.bats
 *
 *   library WAY [-d] [-l LEVEL] [-p THREADS] [-s SEGMENT] [-R] [-B auto|cpu|gpu] [-c CHUNK]
 *           [-n NAME]
 *
 * Reads standard input and writes standard output.  WAY is memory, fd, stream (CHUNK bytes of input
 * and of output at a time; 0: sizes that change) or range (CHUNK segments at a time).  On failure,
 * prints the text of the status.
 */
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

int main(int argc, char **argv)
{
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    const char *way = argc > 1 ? argv[1] : "";
    size_t chunk = 0;
    int expands = 0, letter;

    optind = 2;
    while ((letter = getopt(argc, argv, "dl:p:s:RB:c:n:")) != -1)
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
    else
        check(GZLZSS_ERROR_ARGUMENT);
    gzlzss_free(z);
    if (fflush(stdout) != 0)
        check(GZLZSS_ERROR_WRITE);
    return 0;
}
