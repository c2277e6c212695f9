/*
 * stream.c - compress standard input, or decompress it with -d, one buffer at a time
 *
 *   cc stream.c $(pkg-config --cflags --libs gzlzss) -o stream
 *   ./stream <FILE >FILE.gz && ./stream -d <FILE.gz
 */
#include <gzlzss.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static char in_bytes[1 << 18], out_bytes[1 << 18];
    const int expands = argc > 1 && strcmp(argv[1], "-d") == 0;
    gzlzss_in in = {in_bytes, 0, 0};
    gzlzss_stream *s = NULL;
    gzlzss_status status;
    gzlzss *z;

    status = gzlzss_new(&z, NULL);
    if (status == GZLZSS_OK)
        status =
            expands ? gzlzss_decompress_stream(&s, z, NULL) : gzlzss_compress_stream(&s, z, NULL);
    while (status == GZLZSS_OK) {
        gzlzss_out out = {out_bytes, sizeof(out_bytes), 0};

        if (in.used == in.size && !feof(stdin)) {
            in.size = fread(in_bytes, 1, sizeof(in_bytes), stdin);
            in.used = 0;
        }
        status = gzlzss_stream_run(s, &out, &in, feof(stdin) ? GZLZSS_END : GZLZSS_CONTINUE);
        if (ferror(stdin) || fwrite(out_bytes, 1, out.used, stdout) != out.used) {
            perror("stream");
            return 1;
        }
    }
    gzlzss_stream_free(s);
    gzlzss_free(z);
    if (status != GZLZSS_STREAM_END) {
        fprintf(stderr, "stream: %s\n", gzlzss_status_text(status));
        return 1;
    }
    if (fflush(stdout) != 0) {
        perror("stream");
        return 1;
    }
    return 0;
}
