/*
 * shim.c - a library for LD_PRELOAD that makes system calls and allocations fail (faults.h)
 *
 * The library counts the calls that a program makes of the functions in the list of faults.h, on
 * all threads together, and makes those fail that the variable FAULT names.
 *
 * It sees calls of the C library's functions.  It does not see:
 *
 *   - system calls that the C library makes inside a function that is not in the list: output of
 *     printf() and puts() (but fwrite, fflush and fclose are in the list), reads of fopen()ed
 *     files, opendir(), the stack of a new thread, the heap's own growth, and all that the dynamic
 *     loader does, except its allocations in dlopen();
 *   - syscall(), which src/leave.c uses twice, on its way out.
 *
 * Calls that write to standard error by stdio never fail, so that a message can be read.
 *
 * The library needs glibc, whose allocation functions have second names.  With another C library,
 * it does nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <features.h>

#ifdef __GLIBC__

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/faults/faults.h"

#define VISIBLE __attribute__((visibility("default")))
#define EXT4_MAGIC 0xEF53

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* --- What to do ----------------------------------------------------------------------------- */

enum deed { DEED_NONE, DEED_FAIL, DEED_SHORT, DEED_SIGNAL_BEFORE, DEED_SIGNAL_AFTER, DEED_CHANGE };

enum change {
#define CHANGE_ID(name) CHANGE_##name,
    CHANGES(CHANGE_ID)
#undef CHANGE_ID
};

/* Set before main() by set_up, and not changed after that. */
static struct plan {
    bool is_ready; /* false: count nothing, and let nothing fail */
    enum call call;
    long n;
    char mode; /* '+', '/' or 0 */
    enum deed deed;
    int number; /* an errno, a signal, or an enum change */
    size_t least;
    const char *file, *other;
    bool is_ext4;
    uintptr_t begin, end; /* the program itself, if FAULT_OWN is set; otherwise all addresses */
} plan;

static struct shared own, *shared = &own;

static const struct {
    const char *name;
    int number;
} errors[] =
    {
        {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
        {"ENOMEM", ENOMEM}, {"EDQUOT", EDQUOT}, {"EMFILE", EMFILE}, {"EPERM", EPERM},
        {"EACCES", EACCES}, {"EROFS", EROFS},   {"ENOENT", ENOENT}, {"EOPNOTSUPP", EOPNOTSUPP},
        {"EINVAL", EINVAL}, {"EFBIG", EFBIG},   {"EPIPE", EPIPE},   {"EEXIST", EEXIST},
        {"ENOSYS", ENOSYS}, {"ESTALE", ESTALE},
},
  signals[] = {
      {"HUP", SIGHUP}, {"INT", SIGINT}, {"TERM", SIGTERM}, {"KILL", SIGKILL}, {"XCPU", SIGXCPU},
};

static const char *const change_names[] = {
#define CHANGE_NAME(name) #name,
    CHANGES(CHANGE_NAME)
#undef CHANGE_NAME
};

/* Ends the process, since a test with a wrong FAULT would test nothing. */
static void refuse(const char *text)
{
    static const char head[] = "wrong FAULT: ";

    if (write(STDERR_FILENO, head, strlen(head)) < 0 ||
        write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(98);
    _exit(99);
}

static bool parse_signal(const char *what, const char *prefix, enum deed deed)
{
    const size_t length = strlen(prefix);

    if (strncmp(what, prefix, length) != 0)
        return false;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (strcmp(what + length, signals[i].name) == 0)
            plan.number = signals[i].number;
    plan.deed = deed;
    return plan.number != 0;
}

static void parse_what(const char *what)
{
    if (strcmp(what, "short") == 0)
        plan.deed = DEED_SHORT;
    else if (parse_signal(what, "before-", DEED_SIGNAL_BEFORE) ||
             parse_signal(what, "after-", DEED_SIGNAL_AFTER))
        return;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (strcmp(what, errors[i].name) == 0) {
            plan.deed = DEED_FAIL;
            plan.number = errors[i].number;
        }
    for (size_t i = 0; i < sizeof(change_names) / sizeof(change_names[0]); i++)
        if (strcmp(what, change_names[i]) == 0) {
            plan.deed = DEED_CHANGE;
            plan.number = (int)i;
        }
    if (plan.deed == DEED_NONE)
        refuse(what);
}

static void parse(const char *text)
{
    char name[32], what[32];
    const char *end;
    char *rest;

    if (sscanf(text, "%31s", name) != 1)
        refuse(text);
    plan.call = CALL_COUNT;
    for (int i = 0; i < CALL_COUNT; i++)
        if (strcmp(name, call_names[i]) == 0)
            plan.call = (enum call)i;
    end = strchr(text, ' ');
    if (plan.call == CALL_COUNT || end == NULL)
        refuse(text);
    plan.n = strtol(end, &rest, 10);
    if (*rest == '+' || *rest == '/')
        plan.mode = *rest++;
    if (plan.n < 1 || sscanf(rest, " %31s", what) != 1)
        refuse(text);
    parse_what(what);
}

static int note_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        if (plan.begin == 0)
            plan.begin = begin;
        plan.end = begin + info->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the first object is the program */
}

static void open_shared(const char *path)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0)
        at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        refuse(path);
    shared = at;
    syscall(SYS_close, fd);
}

/* Whether this is another rank than the one in which something is to happen. */
static bool is_other_rank(const char *wanted)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (rank == NULL)
        rank = getenv("PMI_RANK");
    return wanted != NULL && rank != NULL && strcmp(rank, wanted) != 0;
}

static __attribute__((constructor)) void set_up(void)
{
    const char *text = getenv("FAULT"), *least = getenv("FAULT_MIN"), *path;

    plan.end = UINTPTR_MAX;
    if (getenv("FAULT_OWN") != NULL)
        dl_iterate_phdr(note_program, NULL);
    plan.least = least != NULL ? (size_t)atol(least) : 1;
    plan.file = getenv("FAULT_FILE");
    plan.other = getenv("FAULT_OTHER");
    plan.is_ext4 = getenv("FAULT_EXT4") != NULL;
    if (text != NULL)
        parse(text);
    path = getenv("FAULT_SHARED");
    if (path != NULL)
        open_shared(path);
    plan.is_ready = !is_other_rank(getenv("FAULT_RANK"));
}

static __attribute__((destructor)) void print_counts(void)
{
    char line[64];

    if (getenv("FAULT_COUNT") == NULL)
        return;
    for (int i = 0; i < CALL_COUNT; i++) {
        const long n = atomic_load(&shared->counts[i]);
        const int length = snprintf(line, sizeof(line), "COUNT %s %ld\n", call_names[i], n);

        if (n > 0 && syscall(SYS_write, STDERR_FILENO, line, (size_t)length) < 0)
            _exit(1);
    }
}

/* --- Doing it ------------------------------------------------------------------------------- */

/* Changes the first byte of a file, and sets its time back. */
static bool rewrite(const char *path)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    struct stat st;
    char byte = 0;
    bool ok;

    if (fd < 0)
        return false;
    ok = syscall(SYS_fstat, fd, &st) == 0 && syscall(SYS_pread64, fd, &byte, 1, 0) == 1;
    byte ^= 1;
    ok = ok && syscall(SYS_pwrite64, fd, &byte, 1, 0) == 1;
    if (ok) {
        const struct timespec times[2] = {st.st_atim, st.st_mtim};

        ok = syscall(SYS_utimensat, fd, NULL, times, 0) == 0;
    }
    syscall(SYS_close, fd);
    return ok;
}

/* Writes the five bytes to a file. */
static bool put_text(const char *path, int flags)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_WRONLY | O_CLOEXEC, 0600);
    bool ok;

    if (fd < 0)
        return false;
    ok = syscall(SYS_write, fd, CHANGE_TEXT, strlen(CHANGE_TEXT)) > 0;
    syscall(SYS_close, fd);
    return ok;
}

/* Cuts off the second half of a file. */
static bool shrink(const char *path)
{
    struct stat st;

    return syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0 &&
           syscall(SYS_truncate, path, (long)(st.st_size / 2)) == 0;
}

static bool rename_raw(const char *from, const char *to)
{
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) == 0;
}

static bool change(enum change change)
{
    const char *file = plan.file;

    if (file == NULL || (plan.other == NULL && (change == CHANGE_replace || change == CHANGE_move)))
        return false;
    switch (change) {
    case CHANGE_grow:
        return put_text(file, O_APPEND);
    case CHANGE_shrink:
        return shrink(file);
    case CHANGE_rewrite:
        return rewrite(file);
    case CHANGE_replace:
        return rename_raw(plan.other, file);
    case CHANGE_remove:
        return syscall(SYS_unlinkat, AT_FDCWD, file, 0) == 0;
    case CHANGE_move:
        return rename_raw(file, plan.other);
    case CHANGE_appear:
        return put_text(file, O_CREAT | O_EXCL);
    }
    return false;
}

static void send_signal(void)
{
    syscall(SYS_kill, (pid_t)syscall(SYS_getpid), plan.number);
}

/* Whether call number n is one at which something happens. */
static bool is_chosen(long n)
{
    if (plan.mode == '/')
        return n % plan.n == 0;
    return n == plan.n || (plan.mode == '+' && n > plan.n);
}

static bool is_written(int fd)
{
    const long flags = fd < 0 || fd == STDERR_FILENO ? -1 : syscall(SYS_fcntl, fd, F_GETFL);
    struct stat st;

    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && syscall(SYS_fstat, fd, &st) == 0 &&
           S_ISREG(st.st_mode);
}

/* Notes whether the main thread is before or in unlinkat when another thread makes the change: the
 * main thread's last call before the change, or its first call after it. */
static void note_beside(enum call call, bool fires)
{
    static atomic_int last;
    static atomic_bool awaits;
    const bool is_main = syscall(SYS_gettid) == syscall(SYS_getpid);

    if (!is_main && fires) {
        atomic_store(&awaits, true);
        if (atomic_load(&last) == CALL_unlinkat)
            atomic_store(&shared->beside, 1);
    }
    if (is_main && atomic_exchange(&awaits, false) && call == CALL_unlinkat)
        atomic_store(&shared->beside, 1);
    if (is_main)
        atomic_store(&last, (int)call);
}

/* Counts the call.  Does what has to be done before it, and returns what else has to be done.  If
 * that is DEED_FAIL, sets errno; otherwise leaves it alone.  fd: the call's descriptor, or -1. */
static enum deed count(enum call call, int fd, const void *caller)
{
    const int error = errno;
    long n, all = 0;
    bool fires;

    if (!plan.is_ready || (uintptr_t)caller < plan.begin || (uintptr_t)caller >= plan.end)
        return DEED_NONE;
    n = atomic_fetch_add(&shared->counts[call], 1) + 1;
    if (call != CALL_memory)
        all = atomic_fetch_add(&shared->counts[CALL_any], 1) + 1;
    fires = plan.deed != DEED_NONE &&
            (plan.call == CALL_any ? all > 0 && is_chosen(all) : plan.call == call && is_chosen(n));
    if (plan.deed == DEED_CHANGE && call != CALL_memory)
        note_beside(call, fires);
    if (!fires)
        return DEED_NONE;
    if (atomic_fetch_add(&shared->fired, 1) == 0) {
        atomic_store(&shared->at, (int)call);
        atomic_store(&shared->writable, is_written(fd));
    }
    if (plan.deed == DEED_SIGNAL_BEFORE)
        send_signal();
    else if (plan.deed == DEED_CHANGE && change((enum change)plan.number))
        atomic_store(&shared->changed, 1);
    errno = plan.deed == DEED_FAIL ? plan.number : error;
    return plan.deed;
}

/* Does what has to be done after a call. */
static void after(enum deed deed)
{
    const int error = errno;

    if (deed == DEED_SIGNAL_AFTER)
        send_signal();
    errno = error;
}

static size_t shorter(enum deed deed, size_t length)
{
    return deed == DEED_SHORT && length > 1 ? length / 2 : length;
}

/* --- The calls ------------------------------------------------------------------------------ */

/* Declares `next`, a pointer to the function that the program would call without this library. */
#define NEXT(type, name, parameters)       \
    static _Atomic(void *) found;          \
    type(*next) parameters;                \
    void *address = atomic_load(&found);   \
    if (address == NULL) {                 \
        address = dlsym(RTLD_NEXT, #name); \
        atomic_store(&found, address);     \
    }                                      \
    memcpy(&next, &address, sizeof(next))

/* Defines the function `name`, which counts as `call`, and returns `failure` if it fails.
 * Otherwise it does `first`, then calls the real function. */
#define DEFINE(type, name, call, fd, failure, first, parameters, arguments)         \
    VISIBLE type name parameters                                                    \
    {                                                                               \
        const enum deed deed = count(CALL_##call, fd, __builtin_return_address(0)); \
        type result;                                                                \
        NEXT(type, name, parameters);                                               \
        if (deed == DEED_FAIL)                                                      \
            return failure;                                                         \
        first;                                                                      \
        result = next arguments;                                                    \
        after(deed);                                                                \
        return result;                                                              \
    }

#define WRAP(type, name, call, fd, failure, parameters, arguments) \
    DEFINE(type, name, call, fd, failure, (void)0, parameters, arguments)

#define INT_CALL(name, fd, parameters, arguments) \
    WRAP(int, name, name, fd, -1, parameters, arguments)

/* A function that transfers `length` bytes, perhaps fewer. */
#define TRANSFER(name, call, fd, parameters, arguments) \
    DEFINE(ssize_t, name, call, fd, -1, length = shorter(deed, length), parameters, arguments)

/* Fortified programs call the functions whose names end in _chk. */
ssize_t __read_chk(int fd, void *bytes, size_t length, size_t room);
ssize_t __pread_chk(int fd, void *bytes, size_t length, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *bytes, size_t length, off64_t offset, size_t room);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);
int __poll_chk(struct pollfd *fds, nfds_t number, int timeout, size_t room);

TRANSFER(read, read, fd, (int fd, void *bytes, size_t length), (fd, bytes, length))
TRANSFER(__read_chk, read, fd, (int fd, void *bytes, size_t length, size_t room),
         (fd, bytes, length, room))
TRANSFER(pread, pread, fd, (int fd, void *bytes, size_t length, off_t offset),
         (fd, bytes, length, offset))
TRANSFER(pread64, pread, fd, (int fd, void *bytes, size_t length, off64_t offset),
         (fd, bytes, length, offset))
TRANSFER(__pread_chk, pread, fd, (int fd, void *bytes, size_t length, off_t offset, size_t room),
         (fd, bytes, length, offset, room))
TRANSFER(__pread64_chk, pread, fd,
         (int fd, void *bytes, size_t length, off64_t offset, size_t room),
         (fd, bytes, length, offset, room))
TRANSFER(write, write, fd, (int fd, const void *bytes, size_t length), (fd, bytes, length))
TRANSFER(pwrite, pwrite, fd, (int fd, const void *bytes, size_t length, off_t offset),
         (fd, bytes, length, offset))
TRANSFER(pwrite64, pwrite, fd, (int fd, const void *bytes, size_t length, off64_t offset),
         (fd, bytes, length, offset))
TRANSFER(tee, tee, fd, (int fd, int to, size_t length, unsigned flags), (fd, to, length, flags))
TRANSFER(splice, splice, fd,
         (int fd, off64_t *from, int to, off64_t *at, size_t length, unsigned flags),
         (fd, from, to, at, length, flags))

VISIBLE ssize_t writev(int fd, const struct iovec *parts, int number)
{
    const enum deed deed = count(CALL_writev, fd, __builtin_return_address(0));
    struct iovec half;
    ssize_t result;

    NEXT(ssize_t, writev, (int, const struct iovec *, int));
    if (deed == DEED_FAIL)
        return -1;
    if (deed == DEED_SHORT && number > 0) {
        half = (struct iovec){parts[0].iov_base, shorter(deed, parts[0].iov_len)};
        parts = &half;
        number = 1;
    }
    result = next(fd, parts, number);
    after(deed);
    return result;
}

/* Linux closes the descriptor even if close() fails. */
VISIBLE int close(int fd)
{
    const enum deed deed = count(CALL_close, fd, __builtin_return_address(0));
    const int error = errno;
    int result;

    NEXT(int, close, (int));
    result = next(fd);
    after(deed);
    if (deed != DEED_FAIL)
        return result;
    errno = error;
    return -1;
}

INT_CALL(fsync, fd, (int fd), (fd))
INT_CALL(fchmod, fd, (int fd, mode_t mode), (fd, mode))
INT_CALL(fchown, fd, (int fd, uid_t user, gid_t group), (fd, user, group))
INT_CALL(futimens, fd, (int fd, const struct timespec times[2]), (fd, times))
INT_CALL(fallocate, fd, (int fd, int mode, off_t offset, off_t length), (fd, mode, offset, length))
WRAP(int, fallocate64, fallocate, fd, -1, (int fd, int mode, off64_t offset, off64_t length),
     (fd, mode, offset, length))
INT_CALL(ftruncate, fd, (int fd, off_t length), (fd, length))
WRAP(int, ftruncate64, ftruncate, fd, -1, (int fd, off64_t length), (fd, length))
WRAP(off_t, lseek, lseek, fd, -1, (int fd, off_t offset, int whence), (fd, offset, whence))
WRAP(off64_t, lseek64, lseek, fd, -1, (int fd, off64_t offset, int whence), (fd, offset, whence))
INT_CALL(fstat, fd, (int fd, struct stat *st), (fd, st))
WRAP(int, fstat64, fstat, fd, -1, (int fd, struct stat64 *st), (fd, st))
INT_CALL(dup, fd, (int fd), (fd))

VISIBLE int fstatfs(int fd, struct statfs *fs)
{
    const enum deed deed = count(CALL_fstatfs, fd, __builtin_return_address(0));
    int result;

    NEXT(int, fstatfs, (int, struct statfs *));
    if (deed == DEED_FAIL)
        return -1;
    result = next(fd, fs);
    if (plan.is_ext4)
        fs->f_type = EXT4_MAGIC;
    after(deed);
    return result;
}

/* For functions with a variable number of arguments: calls the next one with one more argument,
 * which is harmless. */
#define VARIABLE(name, call, fd, last, parameters, arguments, types)                \
    VISIBLE int name parameters                                                     \
    {                                                                               \
        const enum deed deed = count(CALL_##call, fd, __builtin_return_address(0)); \
        va_list list;                                                               \
        void *more;                                                                 \
        int result;                                                                 \
        NEXT(int, name, types);                                                     \
        va_start(list, last);                                                       \
        more = va_arg(list, void *);                                                \
        va_end(list);                                                               \
        if (deed == DEED_FAIL)                                                      \
            return -1;                                                              \
        result = next arguments;                                                    \
        after(deed);                                                                \
        return result;                                                              \
    }

VARIABLE(fcntl, fcntl, fd, command, (int fd, int command, ...), (fd, command, more),
         (int, int, ...))
VARIABLE(fcntl64, fcntl, fd, command, (int fd, int command, ...), (fd, command, more),
         (int, int, ...))
VARIABLE(ioctl, ioctl, fd, command, (int fd, unsigned long command, ...), (fd, command, more),
         (int, unsigned long, ...))
VARIABLE(open, open, -1, flags, (const char *path, int flags, ...), (path, flags, more),
         (const char *, int, ...))
VARIABLE(open64, open, -1, flags, (const char *path, int flags, ...), (path, flags, more),
         (const char *, int, ...))
VARIABLE(openat, openat, -1, flags, (int directory, const char *path, int flags, ...),
         (directory, path, flags, more), (int, const char *, int, ...))
VARIABLE(openat64, openat, -1, flags, (int directory, const char *path, int flags, ...),
         (directory, path, flags, more), (int, const char *, int, ...))
WRAP(int, __open_2, open, -1, -1, (const char *path, int flags), (path, flags))
WRAP(int, __open64_2, open, -1, -1, (const char *path, int flags), (path, flags))
WRAP(int, __openat_2, openat, -1, -1, (int directory, const char *path, int flags),
     (directory, path, flags))
WRAP(int, __openat64_2, openat, -1, -1, (int directory, const char *path, int flags),
     (directory, path, flags))

INT_CALL(linkat, -1, (int from_fd, const char *from, int to_fd, const char *to, int flags),
         (from_fd, from, to_fd, to, flags))
INT_CALL(renameat, -1, (int from_fd, const char *from, int to_fd, const char *to),
         (from_fd, from, to_fd, to))
INT_CALL(renameat2, -1, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
         (from_fd, from, to_fd, to, flags))
INT_CALL(unlinkat, -1, (int fd, const char *path, int flags), (fd, path, flags))
INT_CALL(mkdir, -1, (const char *path, mode_t mode), (path, mode))
INT_CALL(mkdirat, -1, (int fd, const char *path, mode_t mode), (fd, path, mode))
INT_CALL(fstatat, -1, (int fd, const char *path, struct stat *st, int flags), (fd, path, st, flags))
WRAP(int, fstatat64, fstatat, -1, -1, (int fd, const char *path, struct stat64 *st, int flags),
     (fd, path, st, flags))
INT_CALL(stat, -1, (const char *path, struct stat *st), (path, st))
WRAP(int, stat64, stat, -1, -1, (const char *path, struct stat64 *st), (path, st))
WRAP(ssize_t, readlink, readlink, -1, -1, (const char *path, char *text, size_t room),
     (path, text, room))
WRAP(char *, realpath, realpath, -1, NULL, (const char *path, char *resolved), (path, resolved))
INT_CALL(access, -1, (const char *path, int mode), (path, mode))
INT_CALL(name_to_handle_at, -1,
         (int fd, const char *path, struct file_handle *handle, int *mount, int flags),
         (fd, path, handle, mount, flags))
WRAP(DIR *, fdopendir, fdopendir, fd, NULL, (int fd), (fd))
WRAP(struct dirent *, readdir, readdir, -1, NULL, (DIR * directory), (directory))
WRAP(struct dirent64 *, readdir64, readdir, -1, NULL, (DIR * directory), (directory))
WRAP(FILE *, fopen, fopen, -1, NULL, (const char *path, const char *mode), (path, mode))
WRAP(FILE *, fopen64, fopen, -1, NULL, (const char *path, const char *mode), (path, mode))
WRAP(FILE *, fdopen, fdopen, fd, NULL, (int fd, const char *mode), (fd, mode))

VISIBLE size_t fwrite(const void *bytes, size_t size, size_t number, FILE *stream)
{
    const void *caller = __builtin_return_address(0);
    const enum deed deed = stream == stderr ? DEED_NONE : count(CALL_fwrite, -1, caller);
    size_t result;

    NEXT(size_t, fwrite, (const void *, size_t, size_t, FILE *));
    if (deed == DEED_FAIL)
        return 0;
    result = next(bytes, size, number, stream);
    after(deed);
    return result;
}

VISIBLE int fflush(FILE *stream)
{
    const void *caller = __builtin_return_address(0);
    const enum deed deed = stream == stderr ? DEED_NONE : count(CALL_fflush, -1, caller);
    int result;

    NEXT(int, fflush, (FILE *));
    if (deed == DEED_FAIL)
        return EOF;
    result = next(stream);
    after(deed);
    return result;
}

VISIBLE int fclose(FILE *stream)
{
    const enum deed deed = count(CALL_fclose, fileno(stream), __builtin_return_address(0));
    const int error = errno;
    int result;

    NEXT(int, fclose, (FILE *));
    result = next(stream);
    after(deed);
    if (deed != DEED_FAIL)
        return result;
    errno = error;
    return EOF;
}

INT_CALL(pipe2, -1, (int ends[2], int flags), (ends, flags))
INT_CALL(poll, -1, (struct pollfd * fds, nfds_t number, int timeout), (fds, number, timeout))
WRAP(int, __poll_chk, poll, -1, -1, (struct pollfd * fds, nfds_t number, int timeout, size_t room),
     (fds, number, timeout, room))
WRAP(ssize_t, getrandom, getrandom, -1, -1, (void *bytes, size_t length, unsigned flags),
     (bytes, length, flags))
WRAP(void *, dlopen, dlopen, -1, NULL, (const char *name, int flags), (name, flags))
INT_CALL(madvise, -1, (void *at, size_t length, int advice), (at, length, advice))

VISIBLE int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                           void *(*start)(void *), void *argument)
{
    const enum deed deed = count(CALL_pthread_create, -1, __builtin_return_address(0));
    int result;

    NEXT(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *));
    if (deed == DEED_FAIL)
        return plan.number;
    result = next(thread, attributes, start, argument);
    after(deed);
    return result;
}

/* --- Memory --------------------------------------------------------------------------------- */

static bool has_memory(size_t size, const void *caller)
{
    return size < plan.least || count(CALL_memory, -1, caller) != DEED_FAIL;
}

VISIBLE void *malloc(size_t size)
{
    return has_memory(size, __builtin_return_address(0)) ? __libc_malloc(size) : NULL;
}

VISIBLE void *calloc(size_t number, size_t size)
{
    return has_memory(number * size, __builtin_return_address(0)) ? __libc_calloc(number, size)
                                                                  : NULL;
}

VISIBLE void *realloc(void *memory, size_t size)
{
    return has_memory(size, __builtin_return_address(0)) ? __libc_realloc(memory, size) : NULL;
}

VISIBLE void *aligned_alloc(size_t alignment, size_t size)
{
    return has_memory(size, __builtin_return_address(0)) ? __libc_memalign(alignment, size) : NULL;
}

VISIBLE int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *const at =
        has_memory(size, __builtin_return_address(0)) ? __libc_memalign(alignment, size) : NULL;

    if (at == NULL)
        return ENOMEM;
    *memory = at;
    return 0;
}

static void *map(void *at, size_t size, int protection, int flags, int fd, off_t offset,
                 const void *caller)
{
    const bool is_memory = (flags & MAP_ANONYMOUS) != 0;

    if (is_memory ? !has_memory(size, caller) : count(CALL_mmap, fd, caller) == DEED_FAIL)
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

VISIBLE void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return map(at, size, protection, flags, fd, offset, __builtin_return_address(0));
}

VISIBLE void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return map(at, size, protection, flags, fd, offset, __builtin_return_address(0));
}

#endif
