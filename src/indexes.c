/*
 * indexes.c - finds, reads and makes index files beside compressed files (indexes.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "src/indexes.h"
#include "src/names.h"

/* Suffixes that make a file's name the name of its index.  SUFFIX is the suffix of bgzip, and of
 * new indexes by default.  SUFFIX_INDEXED_GZIP is the usual suffix of indexed_gzip.  If the name in
 * --index-file has that suffix, the new index is in indexed_gzip's format. */
#define SUFFIX ".gzi"
#define SUFFIX_INDEXED_GZIP ".gzidx"

/* --- Reading -------------------------------------------------------------------------------- */

static const char *const troubles[] = {
    [ACCESS_INDEX_UNKNOWN] = "not an index that gzlzss reads",
    [ACCESS_INDEX_DAMAGED] = "the index is damaged",
    [ACCESS_INDEX_OTHER] = "the index belongs to another file",
    [ACCESS_INDEX_READ_ERROR] = "cannot read the index",
    [ACCESS_INDEX_NO_MEMORY] = "memory exhausted",
};

/* Opens the regular file `name`.  False with errno set if there is no such file. */
static bool open_file(const char *name, struct index_file *index, struct stat *st)
{
    const int fd = io_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int error;

    if (fd < 0)
        return false;
    error = fstat(fd, st) != 0      ? errno
            : S_ISDIR(st->st_mode)  ? EISDIR
            : !S_ISREG(st->st_mode) ? EINVAL
                                    : 0;
    if (error == 0) {
        index->source = (struct access_source){.fd = fd, .size = (uint64_t)st->st_size};
        index->is_open = true;
        return true;
    }
    close(fd);
    errno = error;
    return false;
}

void indexes_close(struct index_file *index)
{
    if (index->is_open)
        close(index->source.fd);
    index->is_open = false;
}

/* Gives the reader the index that --index-file names. */
static bool open_given(struct file *f, struct index_file *index, struct access_reader *reader)
{
    const char *name = f->o->index_file;
    enum access_index_status status;
    struct stat st;

    if (!open_file(name, index, &st)) {
        msg_error(&f->m, "%s: %s", name, strerror(errno));
        return false;
    }
    status = access_use_index(reader, &index->source);
    if (status != ACCESS_INDEX_OK)
        msg_error(&f->m, "%s: %s", name, troubles[status]);
    return status == ACCESS_INDEX_OK;
}

/* Gives the reader the index `name` if there is one and it is usable.  True if the reader has the
 * index now. */
static bool try(struct file *f, const char *name, struct index_file *index,
                struct access_reader *reader)
{
    enum access_index_status status;
    const char *trouble = "the index is older than the file";
    struct stat st;

    if (name == NULL || !open_file(name, index, &st))
        return false;
    if (st.st_mtim.tv_sec >= f->in_stat.st_mtim.tv_sec) {
        status = access_use_index(reader, &index->source);
        if (status == ACCESS_INDEX_OK)
            return true;
        trouble = troubles[status];
    }
    if (!f->m.quiet)
        msg_note(&f->m, "%s: %s, so it is ignored", name, trouble);
    indexes_close(index);
    return false;
}

bool indexes_open(struct file *f, struct index_file *index, struct access_reader *reader)
{
    const char *suffix = names_suffix(f->name, f->o->suffix);
    char *names[3];

    if (f->o->index_file != NULL)
        return open_given(f, index, reader);
    if (f->is_stdin)
        return true;
    names[0] = names_join(f->name, strlen(f->name), SUFFIX);
    names[1] = names_join(f->name, strlen(f->name), SUFFIX_INDEXED_GZIP);
    /* gztool gives the index of FILE.gz the name FILE.gzi. */
    names[2] = suffix != NULL ? names_join(f->name, (size_t)(suffix - f->name), SUFFIX) : NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!index->is_open)
            try(f, names[i], index, reader);
        free(names[i]);
    }
    return true;
}

/* --- Writing -------------------------------------------------------------------------------- */

static bool put(void *ctx, const void *bytes, size_t len)
{
    return fwrite(bytes, 1, len, ctx) == len;
}

/* Whether the name belongs to the input or the output. */
static bool is_own(const struct file *f, const struct stat *st)
{
    struct stat out;

    return (st->st_dev == f->in_stat.st_dev && st->st_ino == f->in_stat.st_ino) ||
           (f->out_fd >= 0 && fstat(f->out_fd, &out) == 0 && st->st_dev == out.st_dev &&
            st->st_ino == out.st_ino);
}

/* Returns why an index must not replace what the name stands for, as an errno, or 0. */
static int why_not(const struct file *f, const char *name)
{
    struct stat st;

    if (stat(name, &st) != 0)
        return 0;
    /* To rename a file to "." is EBUSY, which says less. */
    return S_ISDIR(st.st_mode) ? EISDIR : is_own(f, &st) ? EEXIST : 0;
}

/* Writes the index to descriptor fd, which stays open.  False with errno set. */
static bool write_to(int fd, struct access_builder *b, enum access_format format,
                     uint64_t file_size, uint64_t size)
{
    const int copy = dup(fd);
    FILE *const stream = copy >= 0 ? fdopen(copy, "w") : NULL;
    bool ok;

    if (stream == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    errno = 0;
    ok = access_builder_write(b, format, file_size, size, put, stream);
    if (!ok && errno == 0)
        errno = ENOMEM;
    return fclose(stream) == 0 && ok;
}

/* Gives the index the permissions of the file, since its windows are parts of the file's data.
 * False with errno set. */
static bool set_mode(const struct file *f, int fd)
{
    return !S_ISREG(f->in_stat.st_mode) || io_set_mode(fd, f->in_stat.st_mode & 0666) == 0;
}

/* Gives the finished index its name.  Returns 0 or an errno. */
static int commit(struct output *output)
{
    sigset_t before;
    int error;

    cleanup_hold(&before);
    error = output_commit(output);
    cleanup_release(&before);
    return error;
}

bool indexes_write(struct file *f, struct access_builder *b, const char *name, uint64_t file_size,
                   uint64_t size)
{
    struct output output = {.replaces = true};
    char *const own = f->o->index_file == NULL ? names_join(name, strlen(name), SUFFIX) : NULL;
    const char *const to = own != NULL ? own : f->o->index_file;
    const char *const end = to != NULL ? strrchr(to, '.') : NULL;
    const enum access_format format =
        end != NULL && strcmp(end, SUFFIX_INDEXED_GZIP) == 0 ? ACCESS_INDEXED_GZIP : ACCESS_GZTOOL;
    int error = to == NULL ? ENOMEM : why_not(f, to);

    if (error == 0)
        error = output_create(&output, AT_FDCWD, to, true);
    if (error == 0 && (!write_to(output.fd, b, format, file_size, size) || !set_mode(f, output.fd)))
        error = errno;
    if (error == 0)
        error = output_finish(&output);
    if (error == 0)
        error = commit(&output);
    output_discard(&output);
    if (error != 0)
        msg_error(&f->m, "%s: %s", to != NULL ? to : name, strerror(error));
    else if (f->o->verbose > 0)
        msg_note(&f->m, "%s: index written%s", to,
                 access_builder_is_bgzf(b)       ? " (bgzip's format)"
                 : format == ACCESS_INDEXED_GZIP ? " (indexed_gzip's format)"
                                                 : " (gztool's format)");
    free(own);
    return error == 0;
}
