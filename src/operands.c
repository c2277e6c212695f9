/*
 * operands.c - one operand after another, through directories, and small files side by side
 *
 * A large file keeps all threads busy by itself: it is worked on alone, by a pipeline that has all
 * threads and perhaps a GPU.  Small ones would leave most threads idle, and so are worked on side
 * by side, one thread and one small pipeline each (pool.h), which does not change what is written.
 * It must not change anything else either:
 *
 * - Files are made final, and messages printed, in order, by the main thread (file_commit).  If
 *   gzip would have ended at a file, those after it are undone.
 * - A file that may have to do with one under way, as its output or as another name of the same,
 *   has to wait for it.  So do all that the user may be asked about, and all that is not just a
 *   regular file.
 * - A file that changed after it was read, as it had to wait for others, is worked on again when its
 *   turn comes.  gzip would not have looked at it before.
 * - Several outputs need more room on the disk before the first input goes, and several threads more
 *   memory.  When a file fails for want of that, it is worked on again, alone, when all files before it
 *   are final and nothing is left of those after it (again).
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/compress.h"
#include "src/decompress.h"
#include "src/files.h"
#include "src/limits.h"
#include "src/list.h"
#include "src/messages.h"
#include "src/names.h"
#include "src/operands.h"
#include "src/pipeline.h"
#include "src/pool.h"
#include "src/progress.h"

/* Files of more bytes than this are worked on alone.  One thread takes a tenth of a second for it
 * at the default level: that is how long the others may have to wait at the end. */
#define SMALL_MAX ((off_t)8 << 20)

/* What the descriptors that there may be are for, beside those that everything needs: a quarter for
 * directories, a quarter for files that wait to be made final, and a quarter for those that are worked on,
 * which have an input and an output. */
#define DESCRIPTORS_SHARE 4

struct job;

/* The most directories of a walk that are open at a time, beside the first. */
#define LEVELS_OPEN_MAX 16

/* A directory that is being gone through (walk). */
struct level {
    struct directory *directory; /* NULL while it is closed */
    bool by_path;                /* its names are used as a whole, and it is never closed */
    dev_t device;                /* which directory it is, to know it again */
    ino_t inode;
    size_t name, end; /* its path is w->path[0..end), and the name in that starts at `name` */
    char *names;      /* of what is in it, as read_names makes them */
    const char *next; /* the first of these that was not worked on yet */
};

/* What all operands have in common. */
struct work {
    const struct options *o;
    struct pipeline_config config; /* o's, with what limits.h says */
    bool knows_limits;
    struct messages *m;
    struct list list;
    struct progress progress;
    struct pipeline *pipeline;   /* for files that are worked on alone; made for the first */
    struct pool *pool;           /* for small ones; made for the first, freed for a large one */
    int pool_threads;            /* 1: there must not be a pool (wants_pool) */
    struct job *again;           /* files in line to be worked on again, */
    struct job **again_end;      /* and where the next one goes */
    long directories;            /* that files in the pool may keep open */
    bool told_temporary;         /* that outputs have temporary names */
    struct directory *directory; /* of the operand before, or NULL; one user of it is this */
    char *directory_name;        /* its name, up to and with the slash */

    char *path;           /* of what is worked on, in `path_room` bytes */
    size_t path_room;     /* at least those of the deepest level's path and its slash */
    struct level *levels; /* levels[0..depth): the directory gone through, after all above it */
    size_t depth, level_room;
};

/* A file in the pool, or one in line to be worked on again. */
struct job {
    struct file file; /* of whose directory the job is a user */
    struct job *next; /* in line */
    uint64_t hash;    /* names_hash of the name */
    char name[];      /* the file's operand */
};

static void out_of_memory(struct work *w)
{
    msg_error(w->m, "memory exhausted");
    w->m->stop = true;
}

/* --- Directories --- */

/* There is a user less; the last one's directory is closed and freed. */
static void release(struct directory *d)
{
    if (d != NULL && --d->users == 0) {
        if (d->is_open)
            close(d->fd);
        free(d);
    }
}

/* The directory that fd is, which from now on owns fd, for one user.  With -1, or if it cannot be
 * looked at, it is one that is not open: names are used as they are.  NULL if memory is short. */
static struct directory *new_directory(int fd)
{
    struct directory *d = malloc(sizeof(*d));
    struct stat st;

    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *d = (struct directory){.fd = AT_FDCWD, .users = 1};
    if (fd >= 0 && fstat(fd, &st) == 0) {
        d->fd = fd;
        d->is_open = true;
        d->device = st.st_dev;
        d->inode = st.st_ino;
    } else if (fd >= 0) {
        close(fd);
    }
    return d;
}

/* The directory that an operand is in: opened, unless it was just before.  It is w's: who keeps it
 * has to count as a user.  NULL if memory is short. */
static struct directory *directory_of(struct work *w, const char *operand)
{
    const size_t length = (size_t)(names_base(operand) - operand);
    /* A name that ends with a slash is a directory's, if anything's, and used as a whole. */
    const bool is_whole = operand[length] == '\0';
    char *name;
    int fd = -1;

    if (w->directory != NULL && w->directory->is_open != is_whole &&
        strlen(w->directory_name) == length && memcmp(w->directory_name, operand, length) == 0)
        return w->directory;
    release(w->directory);
    free(w->directory_name);
    w->directory = NULL;
    w->directory_name = name = names_join(operand, length, "");
    if (name == NULL)
        return NULL;
    if (!is_whole)
        fd = open(length == 0 ? "." : name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    w->directory = new_directory(fd);
    return w->directory;
}

/* --- Limits --- */

/* To look takes 0.1 ms, a tenth of what compressing a small file does.  No more bytes than this are one
 * thread's work, of a few MB of memory. */
#define LIMITS_MIN ((off_t)128 << 10)

/* Whether the file is all there is to do, and so small that no limits matter.  (A pipe whose other end is
 * closed has all that there will be.) */
static bool is_minor(const struct work *w, const struct file *f)
{
    struct pollfd p = {.fd = f->in_fd, .events = POLLIN};
    int ready;

    if (w->o->name_count > 1 || w->o->recursive)
        return false;
    if (S_ISFIFO(f->in_stat.st_mode))
        return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0 &&
               ioctl(f->in_fd, FIONREAD, &ready) == 0 && ready <= LIMITS_MIN;
    return S_ISREG(f->in_stat.st_mode) && f->in_stat.st_size <= LIMITS_MIN;
}

/* Has threads take fewer addresses than the 72 MiB that each has by default, for its stack and for malloc.
 * Nothing is changed where there is any number of them: drivers may need a large stack. */
static void save_addresses(void)
{
#ifdef __GLIBC__
    pthread_attr_t attributes;

    mallopt(M_ARENA_MAX, 1);
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, PIPELINE_STACK_SIZE);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
#endif
}

/* Finds out what the system lets the program have, before the first pipeline is made. */
static void need_limits(struct work *w)
{
    struct limits l;

    if (w->knows_limits)
        return;
    w->knows_limits = true;
    limits_read(&l, "");
    if (!w->o->threads_given && l.threads < w->config.threads)
        w->config.threads = l.threads;
    w->config.memory = l.memory;
    w->config.address_space = l.address_space;
    if (l.address_space != UINT64_MAX)
        save_addresses();
    if (w->pool_threads > pipeline_threads(&w->config))
        w->pool_threads = pipeline_threads(&w->config);
}

/* --- Files that are worked on alone --- */

/* Makes the status of a file that is final count. */
static void account(struct work *w, const struct file *f)
{
    if (f->made_temporary && !w->told_temporary && !w->m->quiet) {
        w->told_temporary = true;
        msg_note(w->m, "%s: --atomic works with a temporary name here", f->operand);
    }
    msg_merge_status(w->m, &f->m);
    w->m->stop |= f->m.stop;
    progress_file_done(&w->progress, S_ISREG(f->in_stat.st_mode) ? (uint64_t)f->in_stat.st_size : 0,
                       f->in_bytes, f->out_bytes);
}

/* Makes the pipeline with all threads if it is needed and not there yet; false, with a message, if
 * there can be none. */
static bool need_pipeline(struct work *w)
{
    char error[GPU_ERROR_SIZE];

    if (w->o->action != ACTION_COMPRESS || w->pipeline != NULL)
        return true;
    w->pipeline = pipeline_new(&w->config, error);
    if (w->pipeline != NULL)
        return true;
    msg_error(w->m, w->o->pipeline.backend == BACKEND_GPU ? "cannot use a GPU: %s" : "%s", error);
    w->m->stop = true;
    return false;
}

/* Whether a directory that was found as this operand, in that directory, is to be gone through by
 * path.  Beyond a link, names are used as a whole: the system counts the links in them, so that one
 * to a directory above does not go on for ever. */
static bool is_by_path(const char *operand, const struct directory *directory)
{
    const char *base = names_base(operand);
    struct stat st;

    if (base[0] == '\0') /* a name that ends with a slash, which no name found on the way does */
        return false;
    return !directory->is_open ||
           (fstatat(directory->fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode));
}

/* Does the work on a file that file_open opened. */
static void process(struct file *f)
{
    if (f->o->action == ACTION_COMPRESS)
        compress_file(f);
    else
        decompress_file(f);
}

static void enter(struct work *w, int fd, bool by_path);

/* Works on a file now, or enters it if it is a directory and the operand is w->path.  (What has been in the
 * pool was a file.) */
static void do_alone(struct work *w, const char *operand, struct directory *directory)
{
    struct file f = {
        .o = w->o,
        .operand = operand,
        .directory = directory,
        .m = {.program = w->m->program, .quiet = w->m->quiet, .progress = &w->progress},
        .list = &w->list,
        .progress = &w->progress};
    const bool is_open = file_open(&f);

    if (is_open && !is_minor(w, &f))
        need_limits(w);
    if (is_open && need_pipeline(w)) {
        /* If it is to have all threads, the pool must have none, not even idle. */
        if (w->o->action == ACTION_COMPRESS &&
            (!S_ISREG(f.in_stat.st_mode) ||
             f.in_stat.st_size > (off_t)w->o->pipeline.segment_size || w->o->pipeline.rsyncable)) {
            pool_free(w->pool);
            w->pool = NULL;
        }
        f.pipeline = w->pipeline;
        process(&f);
    } else if (f.is_directory && w->o->recursive && operand == w->path) {
        const int fd = f.in_fd;

        f.in_fd = -1;
        file_commit(&f);
        msg_merge_status(w->m, &f.m);
        enter(w, fd, is_by_path(operand, directory));
        return;
    }
    file_commit(&f);
    account(w, &f);
}

/* --- Small files side by side --- */

/* The pool's calls (struct pool_calls). */

static void *open_worker(void *ctx)
{
    const struct work *w = ctx;
    struct pipeline_config config = w->config;
    char error[GPU_ERROR_SIZE];

    config.threads = 1;
    config.backend = BACKEND_CPU;
    return pipeline_new(&config, error);
}

static void close_worker(void *own)
{
    pipeline_free(own);
}

static void do_job(void *own, void *job)
{
    struct file *f = &((struct job *)job)->file;

    f->pipeline = own;
    if (file_open(f))
        process(f);
}

static void free_job(struct job *j)
{
    release(j->file.directory);
    free(j);
}

/* Undoes what was done to a file, and puts it in line to be worked on again. */
static void put_in_line(struct work *w, struct job *j)
{
    file_discard(&j->file);
    msg_discard(&j->file.m);
    j->next = NULL;
    *w->again_end = j;
    w->again_end = &j->next;
}

static void finish_job(void *ctx, void *job)
{
    struct work *w = ctx;
    struct job *j = job;

    if (w->m->stop) {
        file_discard(&j->file);
        msg_discard(&j->file.m);
    } else if (w->again != NULL || j->file.retry != RETRY_NO || !file_try_commit(&j->file)) {
        put_in_line(w, j);
        return;
    } else {
        msg_flush(&j->file.m);
        account(w, &j->file);
    }
    free_job(j);
}

/* Works on the files in line, one after the other; the pool has no jobs.  The first one is the one that
 * failed: from now on, there is less side by side. */
static void again(struct work *w)
{
    struct job *j = w->again;

    if (j == NULL)
        return;
    if (j->file.retry == RETRY_ROOM)
        w->pool_threads = 1;
    else if (j->file.retry == RETRY_MEMORY)
        w->pool_threads = (w->pool_threads + 1) / 2;
    if (j->file.retry != RETRY_CHANGED && j->file.retry != RETRY_NO) {
        pool_free(w->pool);
        w->pool = NULL;
    }
    w->again = NULL;
    w->again_end = &w->again;
    for (struct job *next; j != NULL; j = next) {
        next = j->next;
        if (!w->m->stop)
            do_alone(w, j->name, j->file.directory);
        free_job(j);
    }
}

/* Waits until nothing is under way. */
static void drain(struct work *w)
{
    if (w->pool != NULL)
        pool_drain(w->pool);
    again(w);
}

/* Whether two jobs may have to do with each other: in the same directory, by names of which one may
 * be the other's output. */
static bool is_related(void *job, const void *with)
{
    const struct job *a = job, *b = with;

    return a->hash == b->hash && a->file.directory->device == b->file.directory->device &&
           a->file.directory->inode == b->file.directory->inode;
}

/* Whether a file is one that can be worked on beside others. */
static bool is_small(const struct work *w, const struct stat *st)
{
    return w->pool_threads > 1 && S_ISREG(st->st_mode) && st->st_size <= SMALL_MAX &&
           /* Hard links are different names of one file, which is then worked on under each. */
           (st->st_nlink == 1 || !w->o->force);
}

/* Whether there already is an output, which -f removes: were it worked on beside others, that would
 * be done even if the program ends at a file before it. */
static bool has_output(const struct work *w, const char *name, const struct directory *directory)
{
    const char *base = names_base(name), *suffix = names_suffix(base, w->o->suffix);
    char *output = NULL;
    struct stat st;
    bool is_there;

    if (w->o->action == ACTION_TEST)
        return false;
    /* One that will have to be shortened may become another's. */
    if (strlen(base) + strlen(w->o->suffix) > NAME_MAX)
        return true;
    if (!w->o->force || w->o->atomic)
        return false;
    if (w->o->action == ACTION_COMPRESS)
        output = names_join(base, strlen(base), w->o->suffix);
    else if (suffix != NULL)
        output = names_decompressed(base, suffix);
    is_there = output == NULL || fstatat(directory->fd, output, &st, AT_SYMLINK_NOFOLLOW) == 0;
    free(output);
    return is_there;
}

/* Makes the pool; without memory for it, there is none. */
static void make_pool(struct work *w, long descriptors)
{
    const struct pool_calls calls = {
        .open = open_worker, .close = close_worker, .work = do_job, .finish = finish_job, .ctx = w};
    const long share = descriptors / DESCRIPTORS_SHARE;
    const long most_threads = share / 2 + 1;
    const long most_waiting = share / (w->o->atomic ? 2 : 1) + 1;

    w->pool = pool_new(w->pool_threads < most_threads ? w->pool_threads : (int)most_threads,
                       (size_t)most_waiting, &calls);
}

/* Puts a file into the pool; false if memory is short, for which working on it alone may do. */
static bool submit(struct work *w, const char *name, struct directory *directory)
{
    struct job *j = malloc(sizeof(*j) + strlen(name) + 1);
    const long limit = sysconf(_SC_OPEN_MAX);
    const long descriptors = limit >= 0 ? limit : INT_MAX; /* -1 is no limit */

    need_limits(w);
    if (j != NULL && w->pool == NULL && w->pool_threads > 1)
        make_pool(w, descriptors);
    if (j == NULL || w->pool == NULL) {
        free(j);
        return false;
    }
    strcpy(j->name, name);
    j->hash = names_hash(names_base(name), w->o->suffix);
    j->file = (struct file){.o = w->o,
                            .operand = j->name,
                            .directory = directory,
                            .m = {.program = w->m->program,
                                  .quiet = w->m->quiet,
                                  .progress = &w->progress,
                                  .collect = true}};
    if (directory->users == 1)
        w->directories++;
    if (pool_any(w->pool, is_related, j) || w->directories > descriptors / DESCRIPTORS_SHARE) {
        drain(w);
        w->directories = 1;
    }
    if (w->pool == NULL || w->m->stop) {
        /* That had to be done with less, or was the end. */
        free(j);
        return false;
    }
    directory->users++;
    pool_submit(w->pool, j);
    if (w->again != NULL)
        drain(w);
    return true;
}

/* Whether a job's file is in this directory. */
static bool is_in(void *job, const void *with)
{
    const struct directory *a = ((const struct job *)job)->file.directory, *b = with;

    return a->device == b->device && a->inode == b->inode;
}

/* Decides how an operand, or a file found in a directory, is worked on; `name` is w->path. */
static void do_file(struct work *w, const char *name, struct directory *directory)
{
    const bool is_known =
        directory->is_open && names_base(name)[0] != '\0' && strcmp(name, "-") != 0;
    struct stat st = {0};
    int fd;

    if (w->m->stop)
        return;
    if (is_known && fstatat(directory->fd, names_base(name), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        /* Every job has a copy of its name: those of any length could be too much. */
        if (is_small(w, &st) && strlen(name) < PATH_MAX && !has_output(w, name, directory) &&
            submit(w, name, directory))
            return;
        if (S_ISDIR(st.st_mode) && w->o->recursive) {
            fd = openat(directory->fd, names_base(name),
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (fd >= 0) {
                enter(w, fd, false);
                return;
            }
        }
    }
    drain(w);
    if (!w->m->stop)
        do_alone(w, name, directory);
}

/* --- Directories that are gone through --- */

/*
 * Files are reached through their directory's descriptor, never by a path, so that there may be any
 * number of levels.  Neither the stack nor the number of descriptors bounds it: levels are in an
 * array, and only the first and the last few of them are open.  One that was closed is opened anew
 * on the way back, as ".." of the one below, or else by its name in those above; it has to be the
 * same directory.
 */

/* Makes w->path that of a name in the directory whose path is its first `length` bytes; false if
 * memory is short. */
static bool set_path(struct work *w, size_t length, const char *name)
{
    const size_t size = strlen(name) + 1;

    if (length + size + 1 > w->path_room) {
        const size_t room = 2 * (length + size + 1);
        char *grown = realloc(w->path, room);

        if (grown == NULL)
            return false;
        w->path = grown;
        w->path_room = room;
    }
    if (length > 0 && w->path[length - 1] != '/')
        w->path[length++] = '/';
    memcpy(w->path + length, name, size);
    return true;
}

/* All names in a directory but . and .., one after the other, the last followed by an empty one;
 * NULL with errno set. */
static char *read_names(DIR *dir)
{
    char *names = malloc(1);
    size_t length = 0, room = 1;
    const struct dirent *entry;

    while (names != NULL) {
        size_t size;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        size = strlen(entry->d_name) + 1;
        if (length + size + 1 > room) {
            char *grown = realloc(names, room = 2 * room + size);

            if (grown == NULL) {
                free(names);
                errno = ENOMEM;
                return NULL;
            }
            names = grown;
        }
        memcpy(names + length, entry->d_name, size);
        length += size;
    }
    if (names != NULL && errno != 0) {
        int error = errno;

        free(names);
        errno = error;
        return NULL;
    }
    if (names != NULL)
        names[length] = '\0';
    return names;
}

/* How many names read_names has found. */
static long count_names(const char *names)
{
    long count = 0;

    for (const char *n = names; n != NULL && *n != '\0'; n += strlen(n) + 1)
        count++;
    return count;
}

/* How many levels may be open beside the first. */
static size_t levels_open(void)
{
    const long most = sysconf(_SC_OPEN_MAX); /* -1: no limit */
    const long share = most / 16;

    return most < 0 || share > LEVELS_OPEN_MAX ? LEVELS_OPEN_MAX : share < 1 ? 1 : (size_t)share;
}

static void close_level(struct level *l)
{
    release(l->directory);
    l->directory = NULL;
}

/* Adds a level, for one user of the directory; false if memory is short. */
static bool add_level(struct work *w, const struct level *l)
{
    const size_t keep = levels_open();
    struct level *above;

    if (w->depth == w->level_room) {
        const size_t room = 2 * w->level_room + 16;
        struct level *grown = realloc(w->levels, room * sizeof(*grown));

        if (grown == NULL)
            return false;
        w->levels = grown;
        w->level_room = room;
    }
    w->levels[w->depth++] = *l;
    if (w->depth > keep + 1) {
        above = &w->levels[w->depth - 1 - keep];
        /* Files in the pool that are in it keep it open as long as they need it. */
        if (!above->by_path)
            close_level(above);
    }
    return true;
}

/* Begins to go through the directory whose path is w->path.  fd, which is closed, is the directory.
 */
static void enter(struct work *w, int fd, bool by_path)
{
    struct level l = {.by_path = by_path, .end = strlen(w->path)};
    int copy = by_path ? -1 : dup(fd), error = 0;
    DIR *dir;

    if (!by_path && copy < 0) {
        drain(w);
        copy = dup(fd);
        error = copy < 0 ? errno : 0;
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        error = errno;
        close(fd);
    }
    l.directory = new_directory(copy);
    /* What is half done is not to be found, as it might be when a directory is named twice. */
    if (w->pool != NULL && l.directory != NULL && pool_any(w->pool, is_in, l.directory))
        drain(w);
    if (error == 0) {
        l.names = read_names(dir);
        error = l.names == NULL ? errno : l.directory == NULL ? ENOMEM : 0;
    }
    if (dir != NULL)
        closedir(dir);
    progress_found(&w->progress, count_names(l.names) - 1);
    if (error == 0) {
        l.name = (size_t)(names_base(w->path) - w->path);
        l.next = l.names;
        l.device = l.directory->device;
        l.inode = l.directory->inode;
        error = add_level(w, &l) ? 0 : ENOMEM;
    }
    if (error != 0) {
        drain(w);
        msg_error(w->m, "%s: %s", w->path, strerror(error));
        free(l.names);
        release(l.directory);
    }
}

/* Opens `name` in the directory fd, if that is the level's directory; -1 and errno if not. */
static int open_again(int fd, const char *name, const struct level *l)
{
    struct stat st;
    int again = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (again >= 0 && (fstat(again, &st) != 0 || st.st_dev != l->device || st.st_ino != l->inode)) {
        close(again);
        again = -1;
        errno = ENOENT;
    }
    return again;
}

/* Opens the deepest level's directory through all those above; -1 and errno if it is not there. */
static int open_from_first(struct work *w)
{
    int fd = -1;

    for (size_t i = 1; i < w->depth && (i == 1 || fd >= 0); i++) {
        const struct level *l = &w->levels[i];
        const char after = w->path[l->end];
        const int above = fd;

        w->path[l->end] = '\0';
        fd = open_again(i == 1 ? w->levels[0].directory->fd : above, w->path + l->name, l);
        w->path[l->end] = after;
        if (above >= 0)
            close(above);
    }
    return fd;
}

/* Makes the deepest level's directory open; false, with a message, if it cannot be. */
static bool reopen(struct work *w)
{
    struct level *l = &w->levels[w->depth - 1];
    int fd = open_from_first(w);

    if (fd < 0) {
        drain(w); /* which gives descriptors back */
        fd = open_from_first(w);
    }
    if (fd >= 0) {
        l->directory = new_directory(fd);
        if (l->directory == NULL)
            out_of_memory(w);
    } else {
        msg_error(w->m, "%.*s: %s", (int)l->end, w->path, strerror(errno));
    }
    return l->directory != NULL;
}

/* Goes back to the level above. */
static void leave(struct work *w)
{
    struct level *l = &w->levels[--w->depth];

    if (w->depth > 0 && l[-1].directory == NULL && l->directory != NULL && l->directory->is_open) {
        const int fd = open_again(l->directory->fd, "..", &l[-1]);

        /* Where this fails, reopen may do it, if there still is anything to be done. */
        if (fd >= 0)
            l[-1].directory = new_directory(fd);
    }
    close_level(l);
    free(l->names);
}

/* Works on all that is in the directory that was entered, if one was. */
static void walk(struct work *w)
{
    while (w->depth > 0) {
        struct level *l = &w->levels[w->depth - 1];
        const char *name = l->next;

        if (*name == '\0' || w->m->stop || (l->directory == NULL && !reopen(w))) {
            leave(w);
            continue;
        }
        l->next += strlen(name) + 1;
        if (set_path(w, l->end, name))
            do_file(w, w->path, l->directory);
        else
            out_of_memory(w);
    }
}

/* --- All of them --- */

/* Whether files may be worked on side by side at all. */
static bool wants_pool(const struct options *o)
{
    const bool one_file = o->name_count <= 1 && !o->recursive;
    const bool in_order = o->action == ACTION_LIST || (o->to_stdout && o->action != ACTION_TEST);
    const bool may_ask = !o->force && (o->presume_input_tty || isatty(STDIN_FILENO));
    /* The name stored may be anything, so which files have to do with each other is not known. */
    const bool restores_names = o->action == ACTION_DECOMPRESS && !o->no_name;
    /* Nor is it with a suffix that may be a part of others (as z makes a.gz of a.g), or of ".tar". */
    const bool plain_suffix = o->suffix[0] == '.' && strpbrk(o->suffix + 1, "./") == NULL;

    return o->pipeline.threads > 1 && o->pipeline.backend != BACKEND_GPU && !one_file &&
           !in_order && !may_ask && !restores_names && plain_suffix;
}

static void do_operand(struct work *w, const char *operand)
{
    struct directory *directory = directory_of(w, operand);

    if (directory != NULL && set_path(w, 0, operand)) {
        do_file(w, w->path, directory);
        walk(w);
    } else {
        out_of_memory(w);
    }
}

bool operands_process(const struct options *o, struct messages *m)
{
    struct work w = {.o = o,
                     .config = o->pipeline,
                     .m = m,
                     .list = {.verbose = o->verbose > 0, .quiet = m->quiet},
                     .pool_threads = wants_pool(o) ? o->pipeline.threads : 1};
    bool may_exit = true;

    w.again_end = &w.again;
    /* Who asks for a GPU that is not there is told so before anything is done. */
    if (o->pipeline.backend == BACKEND_GPU) {
        need_limits(&w);
        if (!need_pipeline(&w))
            return true;
    }
    progress_start(&w.progress, &(struct progress_run){
                                    .asked = o->progress,
                                    .verbose = o->verbose > 0,
                                    .to_stdout = o->to_stdout || o->action == ACTION_LIST ||
                                                 (o->name_count == 0 && o->action != ACTION_TEST),
                                    .expanding = o->action != ACTION_COMPRESS,
                                    .recursive = o->recursive,
                                    .names = o->names,
                                    .name_count = o->name_count,
                                });
    m->progress = &w.progress;
    if (o->name_count == 0)
        do_operand(&w, "-");
    for (int i = 0; i < o->name_count && !m->stop; i++)
        do_operand(&w, o->names[i]);
    drain(&w);
    pool_free(w.pool);
    progress_erase(&w.progress);
    m->progress = NULL;
    if (o->action == ACTION_LIST && o->name_count > 1 && !m->quiet && !m->stop)
        list_print_totals(&w.list);
    release(w.directory);
    free(w.directory_name);
    free(w.path);
    free(w.levels);
    if (w.pipeline != NULL)
        may_exit = pipeline_free(w.pipeline);
    return may_exit;
}
