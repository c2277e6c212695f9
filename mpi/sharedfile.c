/*
 * sharedfile.c - the output, which all ranks write to (sharedfile.h)
 */
#include "config.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <time.h>

#include "mpi/sharedfile.h"

/* Between two looks at whether it is written: MPI would look without a pause. */
#define SLEEP_NS 200000L

/* What is written at a time: MPI counts in int. */
#define WRITE_MAX ((size_t)1 << 30)

/* The errno of what MPI says. */
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

int sharedfile_open(struct sharedfile *f, const char *name)
{
    int code;

    *f = (struct sharedfile){.name = name};
    code = MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY, MPI_INFO_NULL, &f->file);
    if (code != MPI_SUCCESS)
        return error_of(f, code);
    f->is_open = true;
    MPI_File_set_errhandler(f->file, MPI_ERRORS_RETURN);
    return 0;
}

int sharedfile_start(struct sharedfile *f, uint64_t offset, const void *bytes, size_t len)
{
    int error = sharedfile_wait(f), code;

    for (; error == 0 && len > WRITE_MAX; len -= WRITE_MAX, offset += WRITE_MAX) {
        error = sharedfile_write(f, offset, bytes, WRITE_MAX);
        bytes = (const uint8_t *)bytes + WRITE_MAX;
    }
    if (error != 0 || len == 0)
        return error;
    code = MPI_File_iwrite_at(f->file, (MPI_Offset)offset, bytes, (int)len, MPI_BYTE, &f->request);
    if (code != MPI_SUCCESS)
        return error_of(f, code);
    f->is_writing = true;
    f->len = len;
    return 0;
}

int sharedfile_wait(struct sharedfile *f)
{
    const struct timespec sleep = {.tv_nsec = SLEEP_NS};
    MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
    int is_done = 0, code = MPI_SUCCESS, written = 0;

    while (f->is_writing) {
        code = MPI_Test(&f->request, &is_done, &status);
        if (is_done || code != MPI_SUCCESS)
            break;
        nanosleep(&sleep, NULL);
    }
    if (!f->is_writing)
        return 0;
    f->is_writing = false;
    /* Some say it in the status alone, some by what was written. */
    if (code == MPI_SUCCESS)
        code = status.MPI_ERROR;
    MPI_Get_count(&status, MPI_BYTE, &written);
    if (code == MPI_SUCCESS && (size_t)written != f->len)
        code = MPI_ERR_IO;
    return error_of(f, code);
}

int sharedfile_write(struct sharedfile *f, uint64_t offset, const void *bytes, size_t len)
{
    int error = sharedfile_start(f, offset, bytes, len);

    return error != 0 ? error : sharedfile_wait(f);
}

int sharedfile_close(struct sharedfile *f, bool sync)
{
    int error, code = MPI_SUCCESS, closed;

    if (!f->is_open)
        return 0;
    error = sharedfile_wait(f);
    if (sync)
        code = MPI_File_sync(f->file);
    closed = MPI_File_close(&f->file);
    f->is_open = false;
    if (code == MPI_SUCCESS)
        code = closed;
    return error != 0 ? error : error_of(f, code);
}
