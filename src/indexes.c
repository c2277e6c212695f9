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
#include "src/destination.h"
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

/* Whether an index beside the file belongs to the user, to root or to the file's owner.  Anybody
 * else may have made it to show wrong data, where many can write to the directory. */
static bool is_trusted(const struct file *f, const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0 || st->st_uid == f->in_stat.st_uid;
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
    if (!is_trusted(f, &st)) {
        trouble = "the index belongs to another user";
    } else if (st.st_mtim.tv_sec >= f->in_stat.st_mtim.tv_sec) {
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

/* Whether `name` in `directory` is a regular file, and no link, that begins as an index does. */
static bool is_index(int directory, const char *name)
{
    const int fd =
        io_open_at(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    struct stat st;
    bool is;

    if (fd < 0)
        return false;
    is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
         access_index_begins(&(struct access_source){.fd = fd, .size = (uint64_t)st.st_size});
    close(fd);
    return is;
}

/* Whether a regular file has the name name[0..length) followed by `suffix`. */
static bool has_file(int directory, const char *name, size_t length, const char *suffix)
{
    char *const path = names_join(name, length, suffix);
    struct stat st;
    const bool has = path != NULL && fstatat(directory, path, &st, 0) == 0 && S_ISREG(st.st_mode);

    free(path);
    return has;
}

bool indexes_is_beside(int directory, const char *name, const char *suffix)
{
    const char *const end = strrchr(names_base(name), '.');
    const size_t length = end != NULL ? (size_t)(end - name) : 0;

    if (end == NULL || (strcmp(end, SUFFIX) != 0 && strcmp(end, SUFFIX_INDEXED_GZIP) != 0) ||
        !is_index(directory, name))
        return false;
    /* The last two are for gztool's names: it gives the index of FILE.gz the name FILE.gzi. */
    return has_file(directory, name, length, "") || has_file(directory, name, length, suffix) ||
           has_file(directory, name, length, NAMES_SUFFIX_DEFAULT);
}

/* --- Writing -------------------------------------------------------------------------------- */

static bool put(void *ctx, const void *bytes, size_t len)
{
    return fwrite(bytes, 1, len, ctx) == len;
}

/* Whether the name belongs to the input or the output.  Both may go to one device, such as
 * /dev/null. */
static bool is_own(const struct file *f, const struct stat *st)
{
    struct stat out;

    if (S_ISCHR(st->st_mode))
        return false;
    return (st->st_dev == f->in_stat.st_dev && st->st_ino == f->in_stat.st_ino) ||
           (f->out_fd >= 0 && fstat(f->out_fd, &out) == 0 && st->st_dev == out.st_dev &&
            st->st_ino == out.st_ino);
}

/* How an index gets its name. */
enum way {
    WAY_NEW,     /* nothing has the name */
    WAY_REPLACE, /* the index takes the place of what has the name */
    WAY_KEEP,    /* the index is written to the device or the pipe that has the name */
    WAY_FOREIGN, /* something has the name that must stay */
    WAY_ERROR,   /* errno says why there is no way */
};

/* Looks at what has the index's name. */
static enum way find_way(const struct file *f, const char *name)
{
    struct stat st;

    if (stat(name, &st) == 0) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : is_own(f, &st) ? EEXIST : 0;
        if (errno != 0)
            return WAY_ERROR;
    }
    if (f->o->index_file != NULL && destination_is_kept(name))
        return WAY_KEEP;
    if (lstat(name, &st) != 0)
        return errno == ENOENT ? WAY_NEW : WAY_ERROR;
    return f->o->force || is_index(AT_FDCWD, name) ? WAY_REPLACE : WAY_FOREIGN;
}

/* Returns the index's name, for the caller to free.  NULL if memory is short. */
static char *name_of(const struct file *f, const char *name)
{
    return f->o->index_file != NULL ? names_join(f->o->index_file, strlen(f->o->index_file), "")
                                    : names_join(name, strlen(name), SUFFIX);
}

/* Prints why the index `to` cannot be written.  Returns false. */
static bool refuse(struct file *f, const char *to, enum way way, int error)
{
    if (way == WAY_FOREIGN)
        msg_error(&f->m, "%s: exists and is no index -- not overwritten without -f", to);
    else
        msg_error(&f->m, "%s: %s", to, strerror(error));
    return false;
}

bool indexes_may_write(struct file *f, const char *name)
{
    char *const to = name_of(f, name);
    const enum way way = to != NULL ? find_way(f, to) : WAY_ERROR;
    const int error = to != NULL ? errno : ENOMEM;
    const bool may = way != WAY_FOREIGN && way != WAY_ERROR;

    if (!may)
        refuse(f, to != NULL ? to : name, way, error);
    free(to);
    return may;
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

/* An index to write, and the facts about its file. */
struct writing {
    struct access_builder *b;
    enum access_format format;
    uint64_t file_size, size;
};

/* Writes the index to the device or the pipe `to`.  Returns 0 or an errno. */
static int write_kept(const char *to, const struct writing *w)
{
    const int fd = destination_open_kept(to);
    int error = 0;

    if (fd < 0)
        return errno;
    if (!write_to(fd, w->b, w->format, w->file_size, w->size))
        error = errno;
    return io_close(fd) != 0 && error == 0 ? errno : error;
}

/* Writes the index to a new file, which then gets the name `to`.  Returns 0 or an errno. */
static int write_new(const struct file *f, const char *to, bool replaces, const struct writing *w)
{
    struct output output = {.replaces = replaces};
    int error = output_create(&output, AT_FDCWD, to, true);

    if (error == 0 &&
        (!write_to(output.fd, w->b, w->format, w->file_size, w->size) || !set_mode(f, output.fd)))
        error = errno;
    if (error == 0)
        error = output_finish(&output);
    if (error == 0)
        error = commit(&output);
    output_discard(&output);
    return error;
}

bool indexes_write(struct file *f, struct access_builder *b, const char *name, uint64_t file_size,
                   uint64_t size)
{
    struct writing w = {b, ACCESS_GZTOOL, file_size, size};
    char *const to = name_of(f, name);
    const char *const end = to != NULL ? strrchr(to, '.') : NULL;
    const enum way way = to != NULL ? find_way(f, to) : WAY_ERROR;
    int error = to != NULL ? errno : ENOMEM;
    bool ok = way != WAY_ERROR && way != WAY_FOREIGN;

    if (end != NULL && strcmp(end, SUFFIX_INDEXED_GZIP) == 0)
        w.format = ACCESS_INDEXED_GZIP;
    if (ok) {
        error = way == WAY_KEEP ? write_kept(to, &w) : write_new(f, to, way == WAY_REPLACE, &w);
        ok = error == 0;
    }
    if (!ok)
        refuse(f, to != NULL ? to : name, way, error);
    else if (f->o->verbose > 0)
        msg_note(&f->m, "%s: index written%s", to,
                 access_builder_is_bgzf(b)         ? " (bgzip's format)"
                 : w.format == ACCESS_INDEXED_GZIP ? " (indexed_gzip's format)"
                                                   : " (gztool's format)");
    free(to);
    return ok;
}
