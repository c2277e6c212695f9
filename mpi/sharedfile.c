/*
 * sharedfile.c - the output, to which all ranks write (sharedfile.h)
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/io.h"
#include "mpi/sharedfile.h"

/* The most bytes of one write.  There is a limit because MPI counts bytes in an int. */
#define WRITE_MAX ((size_t)1 << 30)

/* The errno for an error code of MPI. */
static int error_of(const struct sharedfile *f, int code)
{
    struct statvfs st;
    int class = MPI_ERR_OTHER;

    MPI_Error_class(code, &class);
    switch (class) {
    case MPI_SUCCESS:
        return 0;
    case MPI_ERR_NO_SPACE:
        return ENOSPC;
    case MPI_ERR_QUOTA:
        return EDQUOT;
    case MPI_ERR_READ_ONLY:
        return EROFS;
    case MPI_ERR_ACCESS:
        return EACCES;
    case MPI_ERR_NO_SUCH_FILE:
        return ENOENT;
    case MPI_ERR_NO_MEM:
        return ENOMEM;
    default:
        break;
    }
    return statvfs(f->name, &st) == 0 && st.f_bavail == 0 ? ENOSPC : EIO;
}

/* Returns another name for a file whose directory has a colon in its name.  Returns NULL if there
 * is no other name.  ROMIO, which is in MPICH, takes text before a colon for the name of a file
 * system.  So this function opens the directory, and names the file through that descriptor.  The
 * caller frees the result. */
static char *without_colons(struct sharedfile *f, const char *name)
{
    static const char format[] = "/proc/self/fd/%d/%s";
    const char *slash = strrchr(name, '/'), *base = slash != NULL ? slash + 1 : name;
    char *directory, *other = NULL;
    size_t size;

    if (slash == NULL || strchr(name, ':') == NULL || strchr(base, ':') != NULL)
        return NULL;
    directory = strndup(name, (size_t)(base - name));
    if (directory != NULL)
        f->directory = io_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (f->directory < 0)
        return NULL;
    size = sizeof(format) + 3 * sizeof(int) + strlen(base);
    other = malloc(size);
    if (other != NULL)
        snprintf(other, size, format, f->directory, base);
    return other;
}

static void close_directory(struct sharedfile *f)
{
    if (f->directory >= 0)
        close(f->directory);
    f->directory = -1;
}

int sharedfile_open(struct sharedfile *f, const char *name)
{
    char *other;
    int code;

    *f = (struct sharedfile){.name = name, .directory = -1};
    other = without_colons(f, name);
    code = MPI_File_open(MPI_COMM_SELF, other != NULL ? other : name, MPI_MODE_WRONLY,
                         MPI_INFO_NULL, &f->file);
    free(other);
    if (code != MPI_SUCCESS) {
        close_directory(f);
        return error_of(f, code);
    }
    f->is_open = true;
    MPI_File_set_errhandler(f->file, MPI_ERRORS_RETURN);
    return 0;
}

int sharedfile_write(struct sharedfile *f, uint64_t offset, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;

    while (len > 0) {
        const int some = len < WRITE_MAX ? (int)len : (int)WRITE_MAX;
        MPI_Status status = {0};
        int written = 0;
        const int code =
            MPI_File_write_at(f->file, (MPI_Offset)offset, from, some, MPI_BYTE, &status);

        if (code != MPI_SUCCESS)
            return error_of(f, code);
        /* MPI may have written less than it was asked to, as write(2) may.  The next attempt tells
         * why. */
        MPI_Get_count(&status, MPI_BYTE, &written);
        if (written <= 0 || written > some)
            return error_of(f, MPI_ERR_IO);
        offset += (uint64_t)written;
        from += written;
        len -= (size_t)written;
    }
    return 0;
}

int sharedfile_close(struct sharedfile *f, bool sync)
{
    int code = MPI_SUCCESS, closed;

    if (!f->is_open)
        return 0;
    if (sync)
        code = MPI_File_sync(f->file);
    closed = MPI_File_close(&f->file);
    f->is_open = false;
    close_directory(f);
    if (code == MPI_SUCCESS)
        code = closed;
    return error_of(f, code);
}
