/*
 * descriptor.c - compress a file to another one, with all cores and a GPU if there is one
 *
 *   cc descriptor.c $(pkg-config --cflags --libs gzlzss) -o descriptor
 *   ./descriptor FILE FILE.gz
 *
 * The header gets the name FILE as it is given, so FILE should be a name without directories.
 */
#include <fcntl.h>
#include <gzlzss.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Prints the bytes read and written so far.  A return value other than 0 would cancel the call. */
static int progress(void *ctx, uint64_t in, uint64_t out)
{
    fprintf(stderr, "\r%s: %llu bytes, %llu compressed", (const char *)ctx, (unsigned long long)in,
            (unsigned long long)out);
    return 0;
}

int main(int argc, char **argv)
{
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss_status status;
    gzlzss *z;
    int in, out;

    if (argc != 3) {
        fprintf(stderr, "usage: descriptor FILE FILE.gz\n");
        return 2;
    }
    in = open(argv[1], O_RDONLY);
    out = in < 0 ? -1 : open(argv[2], O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (out < 0) {
        perror(in < 0 ? argv[1] : argv[2]);
        return 1;
    }
    call.name = argv[1];
    call.progress = progress;
    call.ctx = argv[1];
    status = gzlzss_new(&z, NULL);
    if (status == GZLZSS_OK)
        status = gzlzss_compress_fd(z, out, in, &call);
    gzlzss_free(z);
    fprintf(stderr, "\n");
    if (status == GZLZSS_OK && close(out) == 0)
        return 0;
    /* error_number is 0 unless reading or writing failed. */
    if (status == GZLZSS_OK)
        perror(argv[2]);
    else if (call.error_number != 0)
        fprintf(stderr, "descriptor: %s: %s\n", gzlzss_status_text(status),
                strerror(call.error_number));
    else
        fprintf(stderr, "descriptor: %s\n", gzlzss_status_text(status));
    unlink(argv[2]);
    return 1;
}
