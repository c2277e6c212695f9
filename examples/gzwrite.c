/*
 * gzwrite.c - a program that wrote its log with zlib, and now writes it with gzlzss
 *
 *   cc gzwrite.c $(pkg-config --cflags --libs gzlzss) -o gzwrite && ./gzwrite LOG.gz 1000
 *
 * The code below main replaces zlib's gzopen, gzwrite, gzflush and gzclose.  The rest of the
 * program did not change.
 */
#include <gzlzss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct log_file *gzFile;

gzFile gzopen(const char *path, const char *mode);
int gzwrite(gzFile file, const void *buf, unsigned len);
int gzflush(gzFile file);
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
        /* From now on, a reader of the log sees these lines. */
        if (i % 100 == 99 && gzflush(file) != 0)
            return 1;
    }
    return gzclose(file) == 0 ? 0 : 1;
}

struct log_file {
    gzlzss *z;
    gzlzss_file *out;
};

gzFile gzopen(const char *path, const char *mode)
{
    gzFile file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    if (gzlzss_new(&file->z, NULL) == GZLZSS_OK &&
        gzlzss_file_open(&file->out, file->z, path, mode[0] == 'a' ? GZLZSS_APPEND : GZLZSS_WRITE,
                         NULL) == GZLZSS_OK)
        return file;
    gzlzss_free(file->z);
    free(file);
    return NULL;
}

int gzwrite(gzFile file, const void *buf, unsigned len)
{
    return gzlzss_file_write(file->out, buf, len) == GZLZSS_OK ? (int)len : 0;
}

int gzflush(gzFile file)
{
    return gzlzss_file_flush(file->out, GZLZSS_FLUSH) == GZLZSS_OK ? 0 : -1;
}

int gzclose(gzFile file)
{
    const gzlzss_status status = gzlzss_file_close(file->out);

    gzlzss_free(file->z);
    free(file);
    return status == GZLZSS_OK ? 0 : -1;
}
