/*
 * gzwrite.c - a program that wrote its log with zlib, and now writes it with gzlzss
 *
 *   cc gzwrite.c $(pkg-config --cflags --libs gzlzss) -o gzwrite && ./gzwrite LOG.gz 1000
 *
 * The code below main replaces zlib's gzopen, gzwrite and gzclose.  The rest of the program did not
 * change.
 */
#include <gzlzss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct log_file *gzFile;

gzFile gzopen(const char *path, const char *mode);
int gzwrite(gzFile file, const void *buf, unsigned len);
int gzclose(gzFile file);

int main(int argc, char **argv)
{
    const long lines = argc > 2 ? atol(argv[2]) : 10;
    gzFile file = gzopen(argc > 1 ? argv[1] : "log.gz", "wb");

    if (file == NULL)
        return 1;
    for (long i = 0; i < lines; i++) {
        char line[80];

        snprintf(line, sizeof(line), "%08ld: this was done, and then that\n", i);
        if (gzwrite(file, line, (unsigned)strlen(line)) == 0)
            return 1;
    }
    return gzclose(file) == 0 ? 0 : 1;
}

struct log_file {
    FILE *out;
    gzlzss *z;
    gzlzss_stream *stream;
};

/* Gives input to the stream, and writes the stream's output to the file.  GZLZSS_CONTINUE needs no
 * further call once it has taken all input; GZLZSS_END goes on until GZLZSS_STREAM_END. */
static gzlzss_status run(gzFile file, const void *buf, size_t len, gzlzss_directive directive)
{
    char bytes[1 << 16];
    gzlzss_in in = {buf, len, 0};
    gzlzss_status status;

    do {
        gzlzss_out out = {bytes, sizeof(bytes), 0};

        status = gzlzss_stream_run(file->stream, &out, &in, directive);
        if (fwrite(bytes, 1, out.used, file->out) != out.used)
            return GZLZSS_ERROR_WRITE;
    } while (status == GZLZSS_OK && (directive == GZLZSS_END || in.used < in.size));
    return status;
}

gzFile gzopen(const char *path, const char *mode)
{
    gzFile file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    file->out = fopen(path, mode);
    if (file->out != NULL && gzlzss_new(&file->z, NULL) == GZLZSS_OK &&
        gzlzss_compress_stream(&file->stream, file->z, NULL) == GZLZSS_OK)
        return file;
    gzlzss_free(file->z);
    if (file->out != NULL)
        fclose(file->out);
    free(file);
    return NULL;
}

int gzwrite(gzFile file, const void *buf, unsigned len)
{
    return run(file, buf, len, GZLZSS_CONTINUE) == GZLZSS_OK ? (int)len : 0;
}

int gzclose(gzFile file)
{
    const gzlzss_status status = run(file, NULL, 0, GZLZSS_END);
    int failed = status != GZLZSS_STREAM_END;

    gzlzss_stream_free(file->stream);
    gzlzss_free(file->z);
    failed |= fclose(file->out) != 0;
    free(file);
    return failed ? -1 : 0;
}
