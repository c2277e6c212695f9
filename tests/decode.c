/*
 * decode.c - decompresses like gzip, and prints everything that compat/status.h reports
 *
 *     decode -c FILE...    as gzip -dc      decode -t FILE...    as gzip -t
 *     decode -f FILE...    as gzip -dcf     decode -l FILE...    as gzip -lv, without the time
 *
 * Messages, the exit status, and which FILEs are left out after an error are the same as gzip's,
 * byte for byte, as tests/formats.bats checks.  With -t and -l, -v affects only the rows of the
 * list, unlike in gzip.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/gunzip.h"

struct file {
    int fd;
    bool discard;
};

static ssize_t read_file(void *ctx, void *buf, size_t len)
{
    const struct file *file = ctx;
    return read(file->fd, buf, len);
}

static int write_data(void *ctx, const void *buf, size_t len)
{
    const struct file *file = ctx;
    if (file->discard)
        return 0;
    return fwrite(buf, 1, len, stdout) == len ? 0 : -1;
}

static void print_row(const struct gz_info *info)
{
    const double in = (double)info->read_bytes - (double)info->header_bytes;
    const double out = (double)info->member_bytes;

    printf("%s ", gz_format_name(info->format));
    if (info->has_crc)
        printf("%08lx", (unsigned long)info->crc);
    else
        printf("ffffffffffffffff");
    printf(" %llu %llu %.1f%%\n", (unsigned long long)info->read_bytes,
           (unsigned long long)info->member_bytes, out == 0 ? 0 : 100 * (out - in) / out);
}

/* Decompresses one file.  Returns whether to go on with the next file. */
static bool decode(const char *name, char mode, int *exit_status)
{
    const bool discard = mode == 't' || mode == 'l';
    struct file file = {.fd = open(name, O_RDONLY), .discard = discard};
    const struct gz_io io = {
        .read = read_file, .write = write_data, .ctx = &file, .copy_unknown = mode == 'f'};
    struct gz_complaint list[GZ_COMPLAINTS_MAX];
    struct gz_info info;

    if (file.fd < 0) {
        perror(name);
        exit(3);
    }
    const enum gz_status status = gz_decompress(&io, &info);
    const size_t n = gz_complaints(status, &info, true, list);
    for (size_t i = 0; i < n; i++) {
        if (list[i].verbose)
            continue;
        fprintf(stderr, "%sgzip: %s%s", list[i].before, name, list[i].after);
        if (!list[i].warning)
            *exit_status = 1;
        else if (*exit_status == 0)
            *exit_status = 2;
    }
    /* If garbage or zeros follow the data, gzip prints no row. */
    if (mode == 'l' && !gz_status_is_error(status, true) && status != GZ_TRAILING_GARBAGE &&
        !info.zeros_follow)
        print_row(&info);
    close(file.fd);
    return !gz_status_is_fatal(status, true, discard);
}

int main(int argc, char **argv)
{
    int exit_status = 0;

    if (argc < 3 || argv[1][0] != '-' || strchr("ctfl", argv[1][1]) == NULL) {
        fprintf(stderr, "usage: decode -c|-t|-f|-l FILE...\n");
        return 3;
    }
    for (int i = 2; i < argc && decode(argv[i], argv[1][1], &exit_status); i++)
        ;
    return fflush(stdout) == 0 ? exit_status : 3;
}
