/*
 * tree.c - the files of a run, in memory (tree.h)
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/faults/tree.h"

static void die(const char *what)
{
    perror(what);
    exit(3);
}

char *text_of(const char *format, ...)
{
    va_list list;
    char *text;

    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        die("vasprintf");
    va_end(list);
    return text;
}

struct bytes bytes_read(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct bytes data = {0};
    struct stat st;
    ssize_t n = 0;

    if (fd < 0 || fstat(fd, &st) != 0)
        die(path);
    data.at = malloc((size_t)st.st_size + 1);
    if (data.at == NULL)
        die(path);
    while (data.len < (size_t)st.st_size &&
           (n = read(fd, data.at + data.len, (size_t)st.st_size - data.len)) > 0)
        data.len += (size_t)n;
    if (n < 0)
        die(path);
    data.at[data.len] = '\0';
    close(fd);
    return data;
}

void bytes_write(const char *path, struct bytes data)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, data.at, data.len) != (ssize_t)data.len || close(fd) != 0)
        die(path);
}

bool bytes_are_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* --- Compressed data ------------------------------------------------------------------------ */

/* Decompresses one member.  Returns the number of bytes of `data` that it takes; 0 if it is
 * damaged. */
static size_t expand_member(const uint8_t *data, size_t len, struct bytes *out)
{
    z_stream z = {.next_in = (uint8_t *)data, .avail_in = (uInt)len};
    size_t room = out->len;
    int status = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        die("inflateInit2");
    while (status == Z_OK) {
        room += 1 << 20;
        out->at = realloc(out->at, room);
        if (out->at == NULL)
            die("realloc");
        z.next_out = out->at + out->len;
        z.avail_out = (uInt)(room - out->len);
        status = inflate(&z, Z_NO_FLUSH);
        out->len = room - z.avail_out;
    }
    inflateEnd(&z);
    return status == Z_STREAM_END ? len - z.avail_in : 0;
}

static bool is_gzip(const uint8_t *data, size_t len)
{
    return len > 18 && data[0] == 0x1f && data[1] == 0x8b;
}

/* Returns what the data decompresses to; a copy if it is not compressed, or is damaged. */
static struct bytes expand(struct bytes data)
{
    struct bytes out = {0};
    size_t used = 0, n = 1;

    while (n > 0 && is_gzip(data.at + used, data.len - used)) {
        n = expand_member(data.at + used, data.len - used, &out);
        used += n;
    }
    if (used > 0 && n > 0)
        return out;
    free(out.at);
    out.at = malloc(data.len + 1);
    if (out.at == NULL)
        die("malloc");
    memcpy(out.at, data.at, data.len);
    out.len = data.len;
    return out;
}

bool bytes_mean_the_same(struct bytes a, struct bytes b)
{
    struct bytes x = expand(a), y = expand(b);
    const bool equal = bytes_are_equal(x, y);

    free(x.at);
    free(y.at);
    return equal;
}

/* --- Trees ---------------------------------------------------------------------------------- */

void tree_add(struct tree *t, const char *directory, const char *prefix)
{
    DIR *dir = opendir(directory);
    struct dirent *d;

    if (dir == NULL) {
        if (errno != ENOENT && errno != ENOTDIR)
            die(directory);
        return;
    }
    while ((d = readdir(dir)) != NULL) {
        char *full, *path;
        struct stat st;

        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        full = text_of("%s/%s", directory, d->d_name);
        path = text_of("%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", d->d_name);
        if (lstat(full, &st) != 0)
            die(full);
        if (S_ISDIR(st.st_mode)) {
            tree_add(t, full, path);
            free(path);
        } else if (t->count < TREE_MAX) {
            t->entries[t->count++] =
                (struct entry){path, bytes_read(full), st.st_mode, st.st_mtime};
        }
        free(full);
    }
    closedir(dir);
}

void tree_free(struct tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        free(t->entries[i].path);
        free(t->entries[i].data.at);
    }
    t->count = 0;
}

const struct bytes *tree_find(const struct tree *t, const char *path)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->entries[i].path, path) == 0)
            return &t->entries[i].data;
    return NULL;
}

void tree_remove(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *d;

    if (dir == NULL)
        return;
    while ((d = readdir(dir)) != NULL) {
        char *full = text_of("%s/%s", directory, d->d_name);

        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && unlink(full) != 0)
            tree_remove(full);
        free(full);
    }
    closedir(dir);
    rmdir(directory);
}
