/*
 * files.c - what compression and decompression of a file have in common (files.h)
 *
 * The order of the steps keeps data safe.  The output is created under a name that did not exist.
 * Until the output is complete, any failure and any signal removes the output.  The input is
 * removed only after the output was written, given its attributes and closed without an error.
 * Keep this order when you add a step.
 *
 * Messages, and the order of the checks, are GNU gzip's.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "src/files.h"
#include "src/list.h"
#include "src/names.h"
#include "src/progress.h"

/* Notes whether the error may go away when no other file is under way. */
static void note_retry(struct file *f, int error)
{
    /* A file that hits the limit on file sizes (EFBIG) ends the program by a signal.  If several
     * files are under way, try the file again in its turn, so that earlier files are finished
     * before the program ends. */
    if (error == ENOSPC || error == EDQUOT || (error == EFBIG && f->m.collect))
        f->retry = RETRY_ROOM;
    else if (error == ENOMEM || error == EMFILE || error == ENFILE)
        f->retry = RETRY_MEMORY;
}

/* Prints an error about a file.  As gzip does, leaves out an empty name. */
static void name_error(struct file *f, const char *name, int error)
{
    note_retry(f, error);
    if (name[0] == '\0')
        msg_error(&f->m, "%s", strerror(error));
    else
        msg_error(&f->m, "%s: %s", name, strerror(error));
}

/* Prints an error in reading or writing `name`, and sets f->m.stop. */
static void io_error(struct file *f, const char *name, int error)
{
    note_retry(f, error);
    msg_data_error(&f->m, "%s: %s", name, strerror(error));
    f->m.stop = true;
}

void file_read_error(struct file *f, int error)
{
    io_error(f, f->name, error);
}

void file_write_error(struct file *f, int error)
{
    io_error(f, file_output_in_messages(f), error);
}

void file_became_shorter(struct file *f)
{
    f->retry = RETRY_CHANGED;
    msg_data_error(&f->m, "%s: file became shorter while it was read", f->name);
}

void file_tell_format(struct file *f)
{
    bool is_read;
    const char *format = signatures_match(f->first, f->first_len, &is_read);

    if (format != NULL && !is_read && !f->m.quiet && msg_has_own_name(&f->m))
        msg_note(&f->m, "%s: starts as %s data does, which gzlzss does not read", f->name, format);
}

/* The same for an input that is left alone.  gzip does not read it, and so leaves its time of
 * access as it is.  If that time would change, prints nothing. */
static void tell_format(struct file *f)
{
    ssize_t n = 0;

#ifdef O_NOATIME
    if (S_ISREG(f->in_stat.st_mode) &&
        fcntl(f->in_fd, F_SETFL, fcntl(f->in_fd, F_GETFL) | O_NOATIME) == 0)
        n = io_read_at(f->in_fd, f->first, sizeof(f->first), 0);
#endif
    f->first_len = n > 0 ? (size_t)n : 0;
    file_tell_format(f);
}

void file_out_of_memory(struct file *f)
{
    f->retry = RETRY_MEMORY;
    msg_error(&f->m, "memory exhausted");
    f->m.stop = true;
}

const char *file_output_in_messages(const struct file *f)
{
    return f->output_name != NULL ? f->output_name : "stdout";
}

/* Returns the input's name relative to its directory, for system calls.  The result contains a
 * slash only if the user's suffix contains one. */
static const char *name_within(const struct file *f, const char *name)
{
    return f->directory->is_open ? name + (names_base(f->operand) - f->operand) : name;
}

/* Returns the output's name relative to its directory, for system calls. */
static const char *output_within(const struct file *f)
{
    return f->destination.directory->is_open ? f->output_name + f->output_base : f->output_name;
}

/* Whether the input may be of any kind and have any name.  This is so if the input stays, and the
 * output's name does not depend on the input's name. */
static bool is_only_read(const struct file *f)
{
    return f->to_stdout || (f->o->output != NULL && f->o->keep);
}

/* --- The input --- */

/* Sets *id to the id of the file `name` in the directory fd.  If flags contain AT_EMPTY_PATH, sets
 * it to the id of fd itself. */
static void get_id(struct file_id *id, int fd, const char *name, int flags)
{
#ifdef MAX_HANDLE_SZ
    union {
        struct file_handle header;
        unsigned char room[sizeof(struct file_handle) + FILE_HANDLE_MAX];
    } h = {.header.handle_bytes = FILE_HANDLE_MAX};
    int mount;

    id->is_known = name_to_handle_at(fd, name, &h.header, &mount, flags) == 0;
    if (!id->is_known)
        return;
    id->size = h.header.handle_bytes;
    id->type = h.header.handle_type;
    memcpy(id->handle, h.header.f_handle, id->size);
#else
    (void)fd;
    (void)name;
    (void)flags;
    id->is_known = false;
#endif
}

static bool open_stdin(struct file *f)
{
    const struct options *o = f->o;
    const int terminal = o->action == ACTION_COMPRESS ? STDOUT_FILENO : STDIN_FILENO;

    f->is_stdin = true;
    f->to_stdout = o->output == NULL;
    f->name = "stdin";
    if (!o->force && o->action != ACTION_LIST && (o->presume_input_tty || isatty(terminal)) &&
        (f->to_stdout || o->action != ACTION_COMPRESS)) {
        if (!f->m.quiet)
            msg_error(&f->m,
                      "compressed data not %s a terminal. Use -f to force %scompression.\n"
                      "For help, type: %s -h",
                      o->action == ACTION_COMPRESS ? "written to" : "read from",
                      o->action == ACTION_COMPRESS ? "" : "de", f->m.program);
        f->m.status = STATUS_ERROR;
        f->m.stop = true;
        return false;
    }
    if (o->stdin_is_closed || fstat(STDIN_FILENO, &f->in_stat) != 0) {
        name_error(f, "standard input", o->stdin_is_closed ? EBADF : errno);
        f->m.stop = true;
        return false;
    }
    f->in_fd = STDIN_FILENO;
    return true;
}

/* Sets the input's name to the operand followed by a suffix.  False, with a message, if memory is
 * short. */
static bool append_suffix(struct file *f, const char *suffix)
{
    char *name = names_join(f->operand, strlen(f->operand), suffix);

    if (name == NULL) {
        file_out_of_memory(f);
        return false;
    }
    free(f->found_name);
    f->name = f->found_name = name;
    return true;
}

/* With --recursive, treats a FIFO without a writer as empty, as gzip does, because waiting for a
 * writer could take for ever. */
static void skip_idle_fifo(struct file *f)
{
    struct pollfd p = {.fd = f->in_fd, .events = POLLIN};
    int empty;

    if (!f->o->recursive || !S_ISFIFO(f->in_stat.st_mode) || poll(&p, 1, 0) != 0)
        return;
    empty = io_open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (empty >= 0) {
        close(f->in_fd);
        f->in_fd = empty;
    }
}

/* Opens the operand.  Users of gunzip may leave out a suffix.  So if the operand does not exist and
 * the action is not compression, also tries the operand with suffixes. */
static bool open_by_name(struct file *f)
{
    const struct options *o = f->o;
    /* An input that will be removed must be a regular file.  O_NONBLOCK keeps open from waiting for
     * the other end if the input is a FIFO.  O_NOFOLLOW is needed because only -f follows symbolic
     * links. */
    const int flags = O_RDONLY | O_NOCTTY | O_CLOEXEC |
                      (is_only_read(f) && !o->recursive ? 0 : O_NONBLOCK) |
                      (is_only_read(f) || o->force ? 0 : O_NOFOLLOW);
    const char *suffix;
    int error;

    f->in_fd = io_open_at(f->directory->fd, name_within(f, f->operand), flags, 0);
    error = errno;
    if (f->in_fd < 0 && error == ENOENT && o->action != ACTION_COMPRESS &&
        names_packed_suffix(f->operand, o->suffix) == NULL) {
        for (int i = 0; f->in_fd < 0 && error == ENOENT; i++) {
            suffix = names_guess(i, o->suffix);
            if (suffix == NULL)
                break;
            if (!append_suffix(f, suffix))
                return false;
            f->in_fd = io_open_at(f->directory->fd, name_within(f, f->name), flags, 0);
            error = errno;
        }
        /* If no name with a suffix exists either, the message gives the operand with the user's
         * suffix. */
        if (f->in_fd < 0 && error == ENOENT && !append_suffix(f, o->suffix))
            return false;
    }
    if (f->in_fd >= 0 && fstat(f->in_fd, &f->in_stat) == 0) {
        skip_idle_fifo(f);
        /* While the file waits for earlier files, it is closed.  Before it is removed, its id tells
         * whether its name still means the same file. */
        if (f->m.collect && !o->keep && !f->to_stdout)
            get_id(&f->in_id, f->in_fd, "", AT_EMPTY_PATH);
        return true;
    }
    name_error(f, f->name, f->in_fd >= 0 ? errno : error);
    return false;
}

/* Whether the input is a file that may be removed once its output is complete.  If not, prints
 * why. */
static bool may_be_replaced(struct file *f)
{
    const struct stat *st = &f->in_stat;

    if (!S_ISREG(st->st_mode)) {
        msg_warning(&f->m, "%s is not a directory or a regular file - ignored", f->name);
    } else if ((st->st_mode & S_ISUID) != 0) {
        msg_warning(&f->m, "%s is set-user-ID on execution - ignored", f->name);
    } else if ((st->st_mode & S_ISGID) != 0) {
        msg_warning(&f->m, "%s is set-group-ID on execution - ignored", f->name);
    } else if (!f->o->force && (st->st_mode & S_ISVTX) != 0) {
        msg_warning(&f->m, "%s has the sticky bit set - file ignored", f->name);
    } else if (!f->o->force && st->st_nlink > 1) {
        unsigned long others = (unsigned long)st->st_nlink - 1;

        msg_warning(&f->m, "%s has %lu other link%s -- file ignored", f->name, others,
                    others == 1 ? "" : "s");
    } else {
        return true;
    }
    return false;
}

/* Sets the output's name to `path`, with its last `removed` bytes (a suffix) replaced by `added`,
 * and frees `path`.  False, with a message, if memory is short, also if `path` is NULL. */
static bool set_output_name(struct file *f, char *path, size_t removed, const char *added)
{
    if (path != NULL) {
        f->output_base = (size_t)(names_base(path) - path);
        f->output_name = names_join(path, strlen(path) - removed, added);
        free(path);
    }
    if (f->output_name == NULL)
        file_out_of_memory(f);
    return f->output_name != NULL;
}

/* Decides the output's name.  False if the file must be left alone; in most cases, a message says
 * why. */
static bool name_output(struct file *f)
{
    const struct options *o = f->o;
    const char *suffix = o->action == ACTION_COMPRESS ? names_suffix(f->name, o->suffix)
                                                      : names_packed_suffix(f->name, o->suffix);
    /* With --recursive, thousands of files may be skipped here.  So print no message about them,
     * and do not change the exit status. */
    const bool is_told = o->verbose > 0 || (!o->recursive && !f->m.quiet);

    if (o->output != NULL)
        return set_output_name(f, destination_path(o, f->name), 0, "");
    if (o->action == ACTION_COMPRESS) {
        if (suffix != NULL && !o->force) {
            if (is_told)
                msg_note(&f->m, "%s already has %s suffix -- unchanged", f->name, suffix);
            return false;
        }
        return set_output_name(f, destination_path(o, f->name), 0, o->suffix);
    }
    if (suffix != NULL)
        return set_output_name(f, destination_path(o, f->name), strlen(suffix),
                               names_replacement(suffix));
    if (!o->recursive && o->action != ACTION_DECOMPRESS)
        return set_output_name(f, destination_path(o, f->name), 0, "");
    if (is_told) {
        msg_warning(&f->m, "%s: unknown suffix -- ignored", f->name);
        tell_format(f);
    }
    return false;
}

/* Whether --exclude-compressed leaves the input alone, since it is compressed already. */
static bool is_excluded(struct file *f)
{
    const char *format = NULL;

    if (f->o->exclude_compressed && f->o->action == ACTION_COMPRESS && S_ISREG(f->in_stat.st_mode))
        format = signatures_find(f->in_fd);
    if (format != NULL && f->o->verbose > 0)
        msg_note(&f->m, "%s: starts as %s data does -- unchanged", f->name, format);
    return format != NULL;
}

bool file_open(struct file *f)
{
    const enum action action = f->o->action;

    f->began = clock_seconds();
    f->name = f->operand;
    f->in_fd = f->out_fd = f->output.fd = -1;
    f->to_stdout = f->o->to_stdout || action == ACTION_TEST || action == ACTION_LIST;
    if (strcmp(f->operand, "-") == 0)
        return open_stdin(f) && (f->to_stdout || name_output(f));
    if (!open_by_name(f))
        return false;
    if (S_ISDIR(f->in_stat.st_mode)) {
        f->is_directory = true;
        if (!f->o->recursive)
            msg_warning(&f->m, "%s is a directory -- ignored", f->name);
        return false;
    }
    if ((!is_only_read(f) && !may_be_replaced(f)) || is_excluded(f))
        return false;
    /* With -c, the suffix does not matter.  With -t and -l, the suffix matters only if --recursive
     * is given; name_output looks at that. */
    return (f->to_stdout && action != ACTION_TEST && action != ACTION_LIST) || name_output(f);
}

/* --- The output --- */

/* Whether an existing output may be overwritten.  With -f, it may.  Otherwise asks the user, if
 * there is a terminal.  If the answer is not yes, prints that the file stays. */
static bool may_overwrite(struct file *f)
{
    const bool asks = cleanup_is_foreground() && (f->o->presume_input_tty || isatty(STDIN_FILENO));
    bool yes = false;
    int c;

    if (f->o->force)
        return true;
    /* While other files are under way, ask only when this file's turn comes, so that questions
     * about earlier files come first.  The output is new: if has_output in operands.c had seen it,
     * this file would not be worked on beside others. */
    if (asks && f->m.collect) {
        f->retry = RETRY_CHANGED;
        return false;
    }
    msg_print(&f->m, "%s: %s already exists;", f->m.program, f->output_name);
    if (asks) {
        msg_print(&f->m, " do you wish to overwrite (y or n)? ");
        c = getchar();
        yes = c == 'y' || c == 'Y';
        while (c != '\n' && c != EOF)
            c = getchar();
    }
    if (!yes) {
        msg_print(&f->m, "\tnot overwritten\n");
        if (f->m.status == STATUS_OK)
            f->m.status = STATUS_WARNING;
    }
    return yes;
}

/* Whether the user has said where the output goes.  Otherwise, the output goes beside the input. */
static bool is_redirected(const struct file *f)
{
    return f->o->output != NULL || f->o->output_dir != NULL;
}

/* Whether the existing file `old`, which has the output's name, is the input itself.  It is the
 * input if the two names are equal, which can happen because a header may store any name.  It is
 * also the input if the input's name is a symbolic link to `old`.  If the user has said where the
 * output goes, any other name of the input counts, too. */
static bool is_input(const struct file *f, const struct stat *old)
{
    struct stat operand;

    return old->st_dev == f->in_stat.st_dev && old->st_ino == f->in_stat.st_ino &&
           (is_redirected(f) || strcmp(f->output_name, f->name) == 0 ||
            (fstatat(f->directory->fd, name_within(f, f->name), &operand, AT_SYMLINK_NOFOLLOW) ==
                 0 &&
             S_ISLNK(operand.st_mode)));
}

/* Looks at the existing file that has the output's name.  False, with a message, if it must stay
 * whatever the user says. */
static bool may_be_removed(struct file *f)
{
    struct stat old;

    if (fstatat(f->destination.directory->fd, output_within(f), &old, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (is_input(f, &old)) {
        msg_error(&f->m, "%s: input and output are the same file", f->output_name);
        return false;
    }
    if ((f->o->atomic || is_redirected(f)) && S_ISDIR(old.st_mode)) {
        name_error(f, f->output_name, EISDIR);
        return false;
    }
    return true;
}

/* Removes the file that has the output's name, if it may be overwritten; with --atomic, lets
 * output_commit replace it.  False, with a message, if the file must stay. */
static bool replace_old_output(struct file *f)
{
    /* As in gzip, ask the user before looking at the old file.  But if the user has named the
     * output, look at the old file first.  If the old file is the input, it must not be
     * overwritten, so there is nothing to ask. */
    if (is_redirected(f) ? !may_be_removed(f) || !may_overwrite(f)
                         : !may_overwrite(f) || !may_be_removed(f))
        return false;
    f->output.replaces = true;
    if (!f->o->atomic && io_unlink_at(f->destination.directory->fd, output_within(f)) != 0) {
        name_error(f, f->output_name, errno);
        return false;
    }
    return true;
}

/* Whether the output gets the input's attributes.  It gets them if the input is a regular file and
 * not standard input. */
static bool has_attributes(const struct file *f)
{
    return !f->is_stdin && S_ISREG(f->in_stat.st_mode);
}

bool file_open_output(struct file *f)
{
    const bool compress = f->o->action == ACTION_COMPRESS;
    bool shortened = false;
    int error;

    if (f->o->action == ACTION_TEST || f->o->action == ACTION_LIST)
        return true;
    if (f->to_stdout) {
        f->out_fd = STDOUT_FILENO;
        return true;
    }
    if (f->destination.error != 0) {
        name_error(f, f->output_name, f->destination.error);
        return false;
    }
    f->output.is_public = !has_attributes(f);
    while ((error = output_create(&f->output, f->destination.directory->fd, output_within(f),
                                  f->o->atomic)) != 0) {
        if (error == ENAMETOOLONG && f->o->output == NULL &&
            names_shorten(f->output_name, compress ? f->o->suffix : NULL)) {
            shortened = true;
        } else if (error != EEXIST) {
            name_error(f, f->output_name, error);
            return false;
        } else if (!replace_old_output(f)) {
            return false;
        }
    }
    f->out_fd = f->output.fd;
    f->made_temporary = f->output.kind == OUTPUT_TEMPORARY;
    f->is_shortened = shortened;
    if (shortened && compress) {
        if (!f->m.quiet && f->o->verbose == 0) /* -v prints the output's name anyway */
            msg_note(&f->m, "%s compressed to %s", f->name, f->output_name);
    } else if (shortened)
        msg_warning(&f->m, "%s: warning, name truncated", f->output_name);
    return true;
}

static void ignore_failure(int result)
{
    (void)result;
}

/*
 * Copies the input's times, group, mode and owner to the output, in this order, if has_attributes.
 * The group comes before the mode, since the mode gives rights to the group.  The owner comes last,
 * because a process with CAP_CHOWN, but without root's other rights, can give a file to another
 * owner, and cannot change the file after that.
 */
static void copy_attributes(struct file *f)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
    const mode_t mode = f->in_stat.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);

    if (has_attributes(f)) {
        times[0] = f->in_stat.st_atim;
        times[1] = f->in_stat.st_mtim;
    }
    if (f->stored_time != 0)
        times[1] = (struct timespec){.tv_sec = f->stored_time};
    if (io_set_times(f->out_fd, times) != 0)
        msg_warning(&f->m, "%s: %s", f->output_name, strerror(errno));
    if (!has_attributes(f))
        return;
    /* Without the right to change the group, fchown fails.  gzip ignores that, too. */
    ignore_failure(io_set_owner(f->out_fd, (uid_t)-1, f->in_stat.st_gid));
    if (io_set_mode(f->out_fd, mode) != 0)
        msg_warning(&f->m, "%s: %s", f->output_name, strerror(errno));
    /* A new file belongs to the process's user, so often there is nothing to do. */
    if (f->in_stat.st_uid != geteuid())
        ignore_failure(io_set_owner(f->out_fd, f->in_stat.st_uid, (gid_t)-1));
}

/* Writes the entries of the output's directory to the disk.  Returns 0 or an errno.  A directory
 * that the user may not read cannot be opened for that, so EACCES counts as success. */
static int synchronize_directory(const struct file *f)
{
    const int fd =
        io_open_at(f->destination.directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int error = 0;

    if (fd < 0)
        return errno == EACCES ? 0 : errno;
    if (io_synchronize(fd) != 0 && errno != EINVAL)
        error = errno;
    close(fd);
    return error;
}

/* Writes the output's data to the disk.  If the output has its final name already, also writes the
 * name to the disk.  Returns 0 or an errno. */
static int synchronize(const struct file *f)
{
    if (io_synchronize(f->out_fd) != 0 && errno != EINVAL)
        return errno;
    return f->output.kind == OUTPUT_NAMED ? synchronize_directory(f) : 0;
}

/* Sets the output's attributes and closes it.  False, with a message, if its data may be incomplete
 * on the disk. */
static bool finish_output(struct file *f)
{
    int error, close_error;

    if (f->output.kind == OUTPUT_NONE)
        return true;
    copy_attributes(f);
    error = f->o->synchronous ? synchronize(f) : 0;
    close_error = output_finish(&f->output);
    if (error == 0)
        error = close_error;
    if (error != 0)
        io_error(f, f->output_name, error);
    return error == 0;
}

/* --- Whether the input has changed --- */

/* Whether the commit removes the input. */
static bool removes_input(const struct file *f)
{
    return f->output.kind != OUTPUT_NONE && !f->o->keep && !f->is_stdin;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* What the input's name means now: the file as it was read; that file, changed since; another file;
 * no file; or not known, with the reason in errno. */
enum input { INPUT_AS_READ, INPUT_CHANGED, INPUT_REPLACED, INPUT_GONE, INPUT_UNKNOWN };

/* Looks up the input's name again, and sets *st to the attributes of the file that it names.  Here,
 * INPUT_AS_READ only means that the name still means the same file; is_as_read tells whether the
 * file's data has changed. */
static enum input look_at_name(const struct file *f, struct stat *st)
{
    const char *name = name_within(f, f->name);
    struct file_id id = {.is_known = false};
    int error = 0;

    /* Look at the attributes last, just before the input is removed: if the file changes after that
     * look, the change is lost. */
    if (f->in_fd < 0) {
        get_id(&id, f->directory->fd, name, AT_SYMLINK_FOLLOW);
        error = errno;
    }
    if (fstatat(f->directory->fd, name, st, 0) != 0)
        return errno == ENOENT ? INPUT_GONE : INPUT_UNKNOWN;
    if (st->st_dev != f->in_stat.st_dev || st->st_ino != f->in_stat.st_ino)
        return INPUT_REPLACED;
    if (f->in_fd >= 0)
        return INPUT_AS_READ;
    if (!id.is_known) {
        errno = error;
        return INPUT_UNKNOWN;
    }
    return id.size == f->in_id.size && id.type == f->in_id.type &&
                   memcmp(id.handle, f->in_id.handle, id.size) == 0
               ? INPUT_AS_READ
               : INPUT_REPLACED;
}

/* Whether the input's data is unchanged since it was opened.  *st: the input's attributes now.
 *
 * A program that writes to the file can set st_mtim back, but not st_ctim.  However, st_ctim also
 * changes with the mode, the owner, the group and the number of links.  If one of these differs, it
 * explains a new st_ctim, and the data counts as unchanged. */
static bool is_as_read(const struct file *f, const struct stat *st)
{
    const struct stat *read = &f->in_stat;

    return st->st_size == read->st_size && same_time(&st->st_mtim, &read->st_mtim) &&
           (same_time(&st->st_ctim, &read->st_ctim) || st->st_mode != read->st_mode ||
            st->st_uid != read->st_uid || st->st_gid != read->st_gid ||
            st->st_nlink != read->st_nlink);
}

bool file_is_unchanged(struct file *f)
{
    struct stat st;

    if (!removes_input(f) || f->m.collect)
        return true;
    if (look_at_name(f, &st) == INPUT_AS_READ) {
        if (is_as_read(f, &st))
            return true;
    } else if (fstat(f->in_fd, &st) != 0 ||
               (st.st_size == f->in_stat.st_size && same_time(&st.st_mtim, &f->in_stat.st_mtim))) {
        return true;
    }
    f->retry = RETRY_CHANGED;
    msg_data_error(&f->m, "%s: file changed while it was read", f->name);
    return false;
}

/* --- Reports --- */

void file_report(struct file *f, uint64_t deflated, uint64_t original)
{
    char ratio[LIST_RATIO_SIZE];

    if (f->o->verbose == 0 || f->o->json || (f->is_stdin && f->o->action == ACTION_DECOMPRESS))
        return;
    if (f->o->action == ACTION_TEST) {
        msg_print(&f->m, " OK\n");
        return;
    }
    /* gzip sets the output's time before it prints the report, so this line comes first. */
    if (f->output.kind != OUTPUT_NONE && f->o->verbose > 1 && f->stored_time != 0 &&
        (f->in_stat.st_mtim.tv_sec != (time_t)f->stored_time || f->in_stat.st_mtim.tv_nsec != 0))
        msg_print(&f->m, "%s: timestamp restored\n", f->output_name);
    list_format_ratio(ratio, (double)original - (double)deflated, (double)original);
    if (f->is_stdin)
        msg_print(&f->m, "%s%s\n", ratio, f->result.is_verified ? " -- verified" : "");
    else
        msg_print(&f->m, "%s -- %s%s %s\n", ratio, f->result.is_verified ? "verified, " : "",
                  f->o->keep ? "created" : "replaced with", file_output_in_messages(f));
}

/* Whether -v prints a line that begins with the file's name (file_announce) and ends with
 * file_report.  With --json, there is no such line. */
static bool is_reported(const struct file *f)
{
    return f->o->verbose > 0 && !f->o->json && !f->is_stdin && f->o->action != ACTION_LIST;
}

uint64_t file_regular_size(const struct file *f)
{
    return S_ISREG(f->in_stat.st_mode) ? (uint64_t)f->in_stat.st_size : 0;
}

void file_announce(struct file *f)
{
    if (is_reported(f))
        msg_print(&f->m, "%s:\t", f->name);
    if (!f->m.collect)
        progress_file(f->progress, f->name, file_regular_size(f));
}

void file_announce_again(struct file *f)
{
    int error = errno;

    if (!f->m.collect && is_reported(f) && progress_erase(f->progress))
        msg_print(&f->m, "%s:\t", f->name);
    errno = error;
}

/* --- The end --- */

static void close_input(struct file *f)
{
    if (f->in_fd >= 0 && !f->is_stdin)
        close(f->in_fd);
    f->in_fd = -1;
}

void file_finish(struct file *f, bool ok)
{
    if (!ok || !finish_output(f)) {
        output_discard(&f->output);
        f->result.is_known = false;
    }
    f->result.has_ended = true;
    f->result.seconds = clock_seconds() - f->began;
    /* An input that will be removed stays open, so that no other file gets its inode number.  If
     * in_id has the input's id, the inode number does not matter, so close the input.  This saves
     * time: removing files that were open made a run a quarter longer (16 cores, tmpfs, 20,000
     * files of 4 KiB). */
    if (!removes_input(f) || f->in_id.is_known)
        close_input(f);
}

/* Closes and frees everything that the file still has. */
static void end(struct file *f)
{
    output_discard(&f->output);
    close_input(f);
    free(f->found_name);
    free(f->output_name);
    free(f->header);
    f->found_name = f->output_name = NULL;
    f->header = NULL;
}

/* Finds out whether the input may be removed.  *error becomes the errno for INPUT_UNKNOWN,
 * otherwise 0. */
static enum input look_at_input(const struct file *f, int *error)
{
    struct stat st;
    const enum input input = look_at_name(f, &st);

    *error = input == INPUT_UNKNOWN ? errno : 0;
    return input == INPUT_AS_READ && !is_as_read(f, &st) ? INPUT_CHANGED : input;
}

/* Removes the input if `input` says that it is unchanged; otherwise prints why not, since the
 * output lacks the newer data.  error: the errno for INPUT_UNKNOWN. */
static void remove_input(struct file *f, enum input input, int error)
{
    if (input == INPUT_CHANGED)
        msg_error(&f->m, "%s: changed meanwhile -- not removed", f->name);
    else if (input == INPUT_REPLACED)
        msg_warning(&f->m, "%s: replaced by another file meanwhile -- not removed", f->name);
    else if (input == INPUT_UNKNOWN)
        msg_warning(&f->m, "%s: %s", f->name, strerror(error));
    else if (io_unlink_at(f->directory->fd, name_within(f, f->name)) != 0)
        msg_warning(&f->m, "%s: %s", f->name, strerror(errno));
}

/* Makes the output final.  False, with a message, if that fails. */
static bool commit_output(struct file *f)
{
    /* If the output had its final name from the start, finish_output has written the name to the
     * disk. */
    const bool synchronize_name = f->o->synchronous && f->output.kind != OUTPUT_NAMED;
    int error = output_commit(&f->output);

    if (error == 0 && synchronize_name)
        error = synchronize_directory(f);
    if (error == EEXIST)
        msg_error(&f->m, "%s: appeared meanwhile -- not overwritten", f->output_name);
    else if (error != 0)
        name_error(f, f->output_name, error);
    return error == 0;
}

/* Makes the output final and removes the input.  If the input has changed since it was read,
 * may_change says what to do.  If may_change is true, makes the output final and keeps the input.
 * If may_change is false, does nothing and returns false. */
static bool commit(struct file *f, bool may_change)
{
    const bool collect = f->m.collect, removes = removes_input(f);
    enum input input = INPUT_AS_READ;
    sigset_t before;
    int error = 0;

    if (f->output.kind == OUTPUT_NONE)
        return true;
    cleanup_hold(&before);
    /* Collect messages here, and print them after cleanup_release.  Printing to a stopped terminal
     * waits, and the program must not wait while signals are blocked. */
    f->m.collect = true;
    if (removes)
        input = look_at_input(f, &error);
    if (may_change || input == INPUT_AS_READ) {
        const bool takes_time = f->output.kind != OUTPUT_NAMED;

        may_change = true;
        if (commit_output(f) && removes) {
            if (takes_time)
                input = look_at_input(f, &error);
            remove_input(f, input, error);
        }
    }
    cleanup_release(&before);
    f->m.collect = collect;
    if (!collect)
        msg_flush(&f->m);
    errno = error;
    return may_change;
}

void file_commit(struct file *f)
{
    commit(f, true);
    end(f);
}

bool file_try_commit(struct file *f)
{
    if (!commit(f, false))
        return false;
    end(f);
    return true;
}

void file_discard(struct file *f)
{
    end(f);
    free(f->report);
    f->report = NULL;
}
