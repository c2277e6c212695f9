/*
 * destination.c - where an input's output goes (destination.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "src/destination.h"
#include "src/names.h"

/* --- Before the first file ------------------------------------------------------------------ */

/* Whether *st belongs to the file that is standard output. */
static bool is_stdout(const struct stat *st)
{
    struct stat out;

    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

bool destination_is_kept(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 &&
           (is_stdout(&st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)));
}

int destination_open_kept(const char *name)
{
    struct stat st;

    /* A name may lead to standard output where it cannot be opened again, as a socket cannot. */
    if (stat(name, &st) == 0 && is_stdout(&st))
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return io_open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

/* If --output names a file that is kept, makes that file the standard output.  Without this,
 * -f -o /dev/null would replace the device by a file. */
static bool take_as_stdout(struct options *o, struct messages *m)
{
    int fd;

    if (!destination_is_kept(o->output))
        return true;
    fd = destination_open_kept(o->output);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        msg_error(m, "%s: %s", o->output, strerror(errno));
        return false;
    }
    close(fd);
    o->to_stdout = true;
    o->output = NULL;
    return true;
}

/* Makes sure that the directory of --output-dir or --output-dir-mirror exists. */
static bool need_directory(const struct options *o, struct messages *m)
{
    struct stat st;
    int error = 0;

    if ((o->mirror && mkdir(o->output_dir, DIRECTORY_MODE) != 0 && errno != EEXIST) ||
        stat(o->output_dir, &st) != 0)
        error = errno;
    else if (!S_ISDIR(st.st_mode))
        error = ENOTDIR;
    if (error != 0)
        msg_error(m, "%s: %s", o->output_dir, strerror(error));
    return error == 0;
}

bool destination_prepare(struct options *o, struct messages *m)
{
    if (o->output != NULL)
        return take_as_stdout(o, m);
    return o->output_dir == NULL || need_directory(o, m);
}

/* --- For each file -------------------------------------------------------------------------- */

bool destination_goes_up(const struct options *o, const char *operand)
{
    if (o->output_dir == NULL || !o->mirror)
        return false;
    for (const char *part = operand; *part != '\0'; part += part[0] == '/') {
        const size_t length = strcspn(part, "/");

        if (length == 2 && memcmp(part, "..", 2) == 0)
            return true;
        part += length;
    }
    return false;
}

char *destination_path(const struct options *o, const char *name)
{
    const size_t length = o->output_dir != NULL ? strlen(o->output_dir) : 0;
    char *beginning, *path;

    if (o->output != NULL)
        return strdup(o->output);
    if (o->output_dir == NULL)
        return strdup(name);
    beginning = names_join(o->output_dir, length,
                           length > 0 && o->output_dir[length - 1] == '/' ? "" : "/");
    path = beginning == NULL ? NULL
                             : names_join(beginning, strlen(beginning),
                                          o->mirror ? name + strspn(name, "/") : names_base(name));
    free(beginning);
    return path;
}

bool destination_find(struct destination *d, struct last_directory *last, const struct options *o,
                      const char *operand, struct directory *directory)
{
    char *path;

    *d = (struct destination){.directory = directory};
    if (o->output == NULL && o->output_dir == NULL)
        return true;
    path = destination_path(o, operand);
    if (path == NULL)
        return false;
    d->directory = o->output_dir != NULL && o->mirror
                       ? directory_below(last, o->output_dir, path, &d->error)
                       : directory_of(last, path);
    free(path);
    return d->directory != NULL;
}
