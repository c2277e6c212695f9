/*
 * operands.c - one operand after another, through directories, and files side by side
 *
 * All files of a run are jobs of one pipeline, whose threads, and perhaps GPUs, work on several of
 * them at a time.  That does not change what is written.  It must not change anything else either:
 *
 * - Files are made final, and messages printed, in order, by the main thread (file_commit).  If
 *   gzip would have ended at a file, those after it are undone.
 * - A file waits for one under way that may be its output, or another name of it.
 * - Files that the user may be asked about, and all that are not regular files, are worked on
 *   alone.
 * - A file may change after it was read, while it waits for others.  It is worked on again when its
 *   turn comes.  gzip would not have looked at it before.
 * - Several files at a time need more room on the disk, more memory and more descriptors.  A file
 *   that fails for want of these is worked on again, alone (again).  Before that, all files before
 *   it are made final, and those after it are undone.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compat/crc.h"
#include "src/compress.h"
#include "src/decompress.h"
#include "src/files.h"
#include "base/limits.h"
#include "src/list.h"
#include "src/messages.h"
#include "src/names.h"
#include "src/operands.h"
#include "pipeline/pipeline.h"
#include "src/progress.h"
#include "src/testing.h"

/* Files under way for each thread; and at the levels at which a GPU takes 10 ms and more for a
 * batch, however little is in it.  With more of them, others get further ahead of a file that takes
 * long, and a signal undoes more outputs. */
#define FILES_PER_THREAD 64
#define FILES_PER_THREAD_SLOW 256

/* A quarter of all descriptors is for directories, a quarter for files that wait to be made
 * final, and a quarter for files that are worked on, each with an input and an output.  The rest
 * is for all else. */
#define DESCRIPTORS_SHARE 4

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

/* How many files under way have a hash of that, modulo these. */
#define NAMES (1 << 14)
#define DIRECTORIES (1 << 10)

struct counts {
    unsigned names[NAMES], directories[DIRECTORIES];
};

/* What all operands have in common. */
struct work {
    const struct options *o;
    struct pipeline_config config; /* o's, with what limits.h says */
    bool knows_limits;
    struct messages *m;
    struct list list;
    struct progress progress;
    struct pipeline *pipeline;   /* made when it is needed first */
    bool side_by_side;           /* files may be worked on so (may_be_side_by_side) */
    bool may_ask;                /* if so: the user, whether a file is to be overwritten */
    struct entry *first, *last;  /* those under way, in order, */
    size_t count, most;          /* how many, and how many there may be; 0: not known yet */
    struct counts *counts;       /* of these; NULL until there may be some */
    struct entry *again;         /* files in line to be worked on again, */
    struct entry **again_end;    /* and where the next one goes */
    long descriptors;            /* that there may be */
    long directories;            /* that files under way may keep open */
    uint64_t to_come;            /* files that were found and not looked at yet */
    bool told_temporary;         /* that outputs have temporary names */
    struct directory *directory; /* of the operand before, or NULL; one user of it is this */
    char *directory_name;        /* its name, up to and with the slash */

    char *path;           /* of what is worked on, in `path_room` bytes */
    size_t path_room;     /* at least those of the deepest level's path and its slash */
    struct level *levels; /* levels[0..depth): the directory gone through, after all above it */
    size_t depth, level_room;
};

/* A file under way beside others, or one in line to be worked on again. */
struct entry {
    struct file file; /* of whose directory the entry is a user */
    struct pipeline_job job;
    struct work *work;
    struct entry *next; /* under way, or in line */
    uint64_t hash;      /* names_hash of the name */
    char name[];        /* the file's operand */
};

static void drain(struct work *w);

/* Whether the command line names one file, or standard input. */
static bool has_one_operand(const struct options *o)
{
    return o->name_count <= 1 && !o->recursive;
}

/* The end, for want of memory.  What is under way comes first. */
static void out_of_memory(struct work *w)
{
    drain(w);
    msg_error(w->m, "memory exhausted");
    w->m->stop = true;
}

/* --- Directories --- */

/* Takes one user off; without users, the directory is closed and freed. */
static void release(struct directory *d)
{
    if (d != NULL && --d->users == 0) {
        if (d->is_open)
            close(d->fd);
        free(d);
    }
}

/* Makes a directory of fd, which it owns from now on, for one user.  If fd is -1 or fstat fails,
 * the directory is not open: names are used as they are.  NULL if memory is short. */
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

/* Opens the directory that an operand is in, unless it is that of the operand before.  w owns
 * it; whoever keeps it must count as a user.  Standard input is in none.  NULL if memory is short. */
static struct directory *directory_of(struct work *w, const char *operand)
{
    const size_t length = (size_t)(names_base(operand) - operand);
    /* A name that ends with a slash is a directory's, if anything's, and used as a whole. */
    const bool is_whole = operand[length] == '\0' || strcmp(operand, "-") == 0;
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

/* The limits do not matter for a single file of up to this size, a segment: it takes a few MB of
 * memory, and 1 MB for each thread that takes a part of it, which 64 KiB are worth; and less
 * processor time than a quota gives at once.  To look at them takes 0.5 ms, a tenth of what 2 MB
 * take at level 1. */
#define LIMITS_MIN ((off_t)2 << 20)

/* Whether the file is all there is to do, and so small that no limits matter.  (A pipe whose other
 * end is closed has all that there will be.) */
static bool is_minor(const struct work *w, const struct file *f)
{
    struct pollfd p = {.fd = f->in_fd, .events = POLLIN};
    struct rlimit addresses;
    int ready;

    if (!has_one_operand(w->o) || getrlimit(RLIMIT_AS, &addresses) != 0 ||
        addresses.rlim_cur != RLIM_INFINITY)
        return false;
    if (S_ISFIFO(f->in_stat.st_mode))
        return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0 &&
               ioctl(f->in_fd, FIONREAD, &ready) == 0 && ready <= LIMITS_MIN;
    return S_ISREG(f->in_stat.st_mode) && f->in_stat.st_size <= LIMITS_MIN;
}

/* Makes malloc take fewer addresses than the default, 64 MiB for each thread. */
static void save_addresses(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* Lets malloc keep what the decompression of a file took, 0.7 MB, for the next.  Otherwise it gives
 * that back to the system and gets it again, page by page: a quarter of the time that a small file
 * takes. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

/* As many descriptors are asked for as some thousand small files need, side by side. */
#define DESCRIPTORS_WANTED 16384

/* Descriptors that there may be, after the limit was raised as far as it may be and is wanted.
 * (Usually it is 1024 only for programs that use select().) */
static long most_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return _POSIX_OPEN_MAX;
    if (limit.rlim_cur < DESCRIPTORS_WANTED && limit.rlim_cur < limit.rlim_max) {
        const struct rlimit raised = {limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max
                                                                          : DESCRIPTORS_WANTED,
                                      limit.rlim_max};

        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    return limit.rlim_cur < INT_MAX ? (long)limit.rlim_cur : INT_MAX;
}

/* Finds out how many threads and how much memory the system allows, before the first pipeline is
 * made. */
static void need_limits(struct work *w)
{
    struct limits l;

    if (w->knows_limits)
        return;
    w->knows_limits = true;
    limits_read(&l, "");
    if (!w->o->threads_given && l.threads < w->config.threads)
        w->config.threads = l.threads;
    w->descriptors = most_descriptors();
    w->config.open_jobs = (unsigned)(w->descriptors / DESCRIPTORS_SHARE / 2 + 1);
    w->config.memory = l.memory;
    w->config.address_space = l.address_space;
    if (l.address_space != UINT64_MAX)
        save_addresses();
    if (pipeline_threads(&w->config) == 1)
        w->side_by_side = false;
}

/* --- Files that are worked on alone --- */

/* Makes the status of a file that is final count. */
static void account(struct work *w, const struct file *f)
{
    if (f->made_temporary && !w->told_temporary && !w->m->quiet) {
        w->told_temporary = true;
        msg_note(w->m, "%s: --atomic uses a temporary name here", f->operand);
    }
    msg_merge_status(w->m, &f->m);
    w->m->stop |= f->m.stop;
    progress_file_done(&w->progress, &f->shown, file_regular_size(f), f->in_bytes, f->out_bytes);
}

/* Makes the pipeline if it is not there yet; false, with a message, if there can be none.  `size` is that of
 * the regular file for which it is needed, 0 if it is for something else. */
static bool need_pipeline(struct work *w, uint64_t size)
{
    char error[GPU_ERROR_SIZE];

    if (w->pipeline != NULL)
        return true;
    /* One file of up to the smallest segment's size has the same output with any segment size.  Memory for
     * larger segments takes a new process 30 us to map and to give back.  (If the file grows before it is
     * read, the output is right, but up to a tenth larger.  Size 0 says nothing: files of /proc have it.) */
    if (has_one_operand(w->o) && size > 0 && size <= LZ_SEGMENT_MIN &&
        w->o->action == ACTION_COMPRESS)
        w->config.segment_size = LZ_SEGMENT_MIN;
    gz_crc32_prepare(has_one_operand(w->o) && size > 0 ? size : UINT64_MAX);
    w->pipeline = pipeline_new(&w->config, error);
    if (w->pipeline != NULL)
        return true;
    msg_error(w->m, w->o->pipeline.backend == BACKEND_GPU ? "cannot use a GPU: %s" : "%s", error);
    w->m->stop = true;
    return false;
}

/* Whether names in the directory that this operand names, in `directory`, are used as a whole.
 * They are if the operand is a link: the system counts the links in a path, so that a link to a
 * directory above does not go on for ever. */
static bool is_by_path(const char *operand, const struct directory *directory)
{
    const char *base = names_base(operand);
    struct stat st;

    if (base[0] == '\0') /* a name that ends with a slash, which no name found on the way does */
        return false;
    return !directory->is_open ||
           (fstatat(directory->fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode));
}

/* The callback of a job alone. */
static void wrote_alone(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    compress_wrote(job->ctx, in, out, engine);
}

/* Does the work on a file that file_open opened, with no other under way. */
static void process_alone(struct work *w, struct file *f)
{
    struct pipeline_job job = {.wrote = wrote_alone, .ctx = f};

    if (w->o->action != ACTION_COMPRESS) {
        decompress_file(f, w->pipeline);
    } else if (compress_begin(f, &job)) {
        job.status = pipeline_run(w->pipeline, &job);
        compress_end(f, w->pipeline, &job);
    }
}

static void enter(struct work *w, int fd, bool by_path);

/* Whether the work on a file that file_open opened, minor or not, takes more than one thread. */
static bool needs_crew(const struct work *w, const struct file *f, bool minor)
{
    return w->o->action == ACTION_COMPRESS ||
           (w->o->action != ACTION_LIST &&
            (S_ISREG(f->in_stat.st_mode) || S_ISFIFO(f->in_stat.st_mode)) &&
            (!minor || testing_stretch() > 0) && pipeline_threads(&w->config) > 1);
}

/* Works on a file now, with no other under way; or enters it if it is a directory and the
 * operand is w->path.  (A file in line to be worked on again is no directory.) */
static void do_alone(struct work *w, const char *operand, struct directory *directory)
{
    struct file f = {
        .o = w->o,
        .operand = operand,
        .directory = directory,
        .m = {.program = w->m->program, .quiet = w->m->quiet, .progress = &w->progress},
        .list = &w->list,
        .progress = &w->progress};
    const bool is_open = file_open(&f), minor = is_open && is_minor(w, &f);

    if (is_open && !minor)
        need_limits(w);
    if (is_open && (!needs_crew(w, &f, minor) || need_pipeline(w, file_regular_size(&f)))) {
        process_alone(w, &f);
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

/* --- Files side by side --- */

/* The callbacks of jobs beside others (struct pipeline_job), which any thread calls. */

static bool begin_beside(struct pipeline_job *job)
{
    struct entry *e = job->ctx;

    if (!file_open(&e->file))
        return false;
    if (e->work->o->action == ACTION_COMPRESS)
        return compress_begin(&e->file, job);
    decompress_file(&e->file, e->work->pipeline);
    return false;
}

static void wrote_beside(struct pipeline_job *job, uint64_t in, uint64_t out, const char *engine)
{
    struct entry *e = job->ctx;

    compress_wrote(&e->file, in, out, engine);
}

static void end_beside(struct pipeline_job *job)
{
    struct entry *e = job->ctx;

    compress_end(&e->file, e->work->pipeline, job);
}

static void free_entry(struct entry *e)
{
    release(e->file.directory);
    free(e);
}

/* Undoes what was done to a file. */
static void undo(struct entry *e)
{
    progress_update(e->file.progress, &e->file.shown, 0, 0, "");
    file_discard(&e->file);
    msg_discard(&e->file.m);
}

/* Undoes it, and puts the file in line to be worked on again. */
static void put_in_line(struct work *w, struct entry *e)
{
    /* Those after it cannot be made final before it: what is not done yet, need not be. */
    if (w->again == NULL)
        pipeline_cancel(w->pipeline);
    undo(e);
    e->next = NULL;
    *w->again_end = e;
    w->again_end = &e->next;
}

/* The counts that a file under way is in. */
static unsigned *count_of_name(const struct work *w, uint64_t hash)
{
    return &w->counts->names[hash % NAMES];
}

static unsigned *count_of_directory(const struct work *w, const struct directory *d)
{
    return &w->counts->directories[(d->inode ^ d->device) % DIRECTORIES];
}

/* Waits for the first file under way, and makes it final. */
static void finish_first(struct work *w)
{
    struct entry *e = w->first;

    pipeline_wait(w->pipeline, &e->job);
    w->first = e->next;
    w->count--;
    --*count_of_name(w, e->hash);
    --*count_of_directory(w, e->file.directory);
    if (w->m->stop) {
        undo(e);
    } else if (w->again != NULL || e->file.retry != RETRY_NO || !file_try_commit(&e->file)) {
        put_in_line(w, e);
        return;
    } else {
        msg_flush(&e->file.m);
        account(w, &e->file);
        if (w->m->stop)
            pipeline_cancel(w->pipeline);
    }
    free_entry(e);
}

/* Works on the files in line, one after the other; none is under way.  The first in line is the
 * one that failed.  If it had no room on the disk, no files are worked on side by side from now
 * on; if it had no memory or descriptors, half as many. */
static void again(struct work *w)
{
    struct entry *e = w->again;

    if (e == NULL)
        return;
    if (e->file.retry == RETRY_ROOM)
        w->side_by_side = false;
    else if (e->file.retry == RETRY_MEMORY)
        w->side_by_side = pipeline_limit_jobs(w->pipeline) > 1;
    w->again = NULL;
    w->again_end = &w->again;
    for (struct entry *next; e != NULL; e = next) {
        next = e->next;
        if (!w->m->stop)
            do_alone(w, e->name, e->file.directory);
        free_entry(e);
    }
}

/* Waits until nothing is under way. */
static void drain(struct work *w)
{
    while (w->first != NULL)
        finish_first(w);
    again(w);
}

/* Whether one of two files may be the other's output: by their names, in the same directory. */
static bool is_related(const struct entry *a, const struct entry *b)
{
    return a->hash == b->hash && a->file.directory->device == b->file.directory->device &&
           a->file.directory->inode == b->file.directory->inode;
}

/* Whether any file under way is related to this one. */
static bool has_relative(const struct work *w, const struct entry *with)
{
    if (*count_of_name(w, with->hash) == 0)
        return false;
    for (const struct entry *e = w->first; e != NULL; e = e->next)
        if (is_related(e, with))
            return true;
    return false;
}

/* Whether any file under way is in this directory. */
static bool is_busy(const struct work *w, const struct directory *d)
{
    if (w->count == 0 || *count_of_directory(w, d) == 0)
        return false;
    for (const struct entry *e = w->first; e != NULL; e = e->next)
        if (e->file.directory->device == d->device && e->file.directory->inode == d->inode)
            return true;
    return false;
}

/* Whether a file is one that can be worked on beside others. */
static bool is_plain(const struct work *w, const struct stat *st)
{
    return w->side_by_side && S_ISREG(st->st_mode) &&
           /* Hard links are different names of one file, which is then worked on under each. */
           (st->st_nlink == 1 || !w->o->force);
}

/* Whether the output exists already, so that -f removes it, or the user is asked.  Beside others,
 * it would be removed even if the program then ends at an earlier file, and the question could come
 * before those about earlier files. */
static bool has_output(const struct work *w, const char *name, const struct directory *directory)
{
    const char *base = names_base(name), *suffix = names_suffix(base, w->o->suffix);
    char *output = NULL;
    struct stat st;
    bool is_there;

    if (w->o->action == ACTION_TEST)
        return false;
    /* A name that has to be shortened may become that of another output. */
    if (strlen(base) + strlen(w->o->suffix) > NAME_MAX)
        return true;
    if (!w->may_ask && (!w->o->force || w->o->atomic))
        return false;
    if (w->o->action == ACTION_COMPRESS)
        output = names_join(base, strlen(base), w->o->suffix);
    else if (suffix != NULL)
        output = names_decompressed(base, suffix);
    is_there = output == NULL || fstatat(directory->fd, output, &st, AT_SYMLINK_NOFOLLOW) == 0;
    free(output);
    return is_there;
}

/* Finds out how many files may be under way, and makes the pipeline; false if there can be none. */
static bool ready_for_side_by_side(struct work *w)
{
    need_limits(w);
    if (w->most == 0) {
        const long share = w->descriptors / DESCRIPTORS_SHARE;
        const size_t most_waiting = (size_t)(share / (w->o->atomic ? 2 : 1) + 1);

        w->most = (size_t)pipeline_threads(&w->config) *
                  (pipeline_level(&w->config)->finder->is_slow ? FILES_PER_THREAD_SLOW
                                                               : FILES_PER_THREAD);
        if (w->most > most_waiting)
            w->most = most_waiting;
        w->counts = calloc(1, sizeof(*w->counts));
        w->side_by_side = w->side_by_side && w->counts != NULL;
    }
    return w->side_by_side && need_pipeline(w, 0);
}

/* The entry for a file; NULL if memory is short. */
static struct entry *new_entry(struct work *w, const char *name, struct directory *directory,
                               uint64_t size)
{
    struct entry *e = calloc(1, sizeof(*e) + strlen(name) + 1);

    if (e == NULL)
        return NULL;
    strcpy(e->name, name);
    e->hash = names_hash(names_base(name), w->o->suffix);
    e->work = w;
    e->file = (struct file){.o = w->o,
                            .operand = e->name,
                            .directory = directory,
                            .progress = &w->progress,
                            .in_fd = -1,
                            .out_fd = -1,
                            .output.fd = -1,
                            .m = {.program = w->m->program,
                                  .quiet = w->m->quiet,
                                  .progress = &w->progress,
                                  .collect = true}};
    e->job = (struct pipeline_job){.begin = begin_beside,
                                   .wrote = wrote_beside,
                                   .end = end_beside,
                                   .ctx = e,
                                   .size = size,
                                   .more = w->to_come};
    e->file.is_cancelled = &e->job.is_cancelled;
    return e;
}

/* Submits a file as a job beside others.  False: it is to be worked on alone. */
static bool submit(struct work *w, const char *name, struct directory *directory, uint64_t size)
{
    struct entry *e;

    if (!ready_for_side_by_side(w))
        return false;
    e = new_entry(w, name, directory, size);
    if (e == NULL)
        return false;
    if (directory->users == 1)
        w->directories++;
    if (has_relative(w, e) || w->directories > w->descriptors / DESCRIPTORS_SHARE) {
        drain(w);
        w->directories = 1;
    }
    while (w->count >= w->most)
        finish_first(w);
    if (w->again != NULL)
        drain(w);
    /* By now the run may have ended, or there is nothing side by side any more. */
    if (w->m->stop || !w->side_by_side || !pipeline_submit(w->pipeline, &e->job)) {
        free(e);
        return false;
    }
    directory->users++;
    if (w->first == NULL)
        w->first = e;
    else
        w->last->next = e;
    w->last = e;
    w->count++;
    ++*count_of_name(w, e->hash);
    ++*count_of_directory(w, directory);
    while (w->first != NULL && pipeline_is_over(&w->first->job))
        finish_first(w);
    if (w->again != NULL)
        drain(w);
    return true;
}

/* Decides how an operand, or a file found in a directory, is worked on; `name` is w->path. */
static void do_file(struct work *w, const char *name, struct directory *directory)
{
    const bool is_known =
        directory->is_open && names_base(name)[0] != '\0' && strcmp(name, "-") != 0;
    struct stat st = {0};
    int fd;

    w->to_come -= w->to_come > 0;
    if (w->m->stop)
        return;
    if (is_known && fstatat(directory->fd, names_base(name), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        /* Every entry has a copy of its name.  Names of any length could take too much memory. */
        if (is_plain(w, &st) && strlen(name) < PATH_MAX && !has_output(w, name, directory) &&
            submit(w, name, directory, (uint64_t)st.st_size))
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
        /* Files under way that are in it keep it open as long as they need it. */
        if (!above->by_path)
            close_level(above);
    }
    return true;
}

/* Begins to go through the directory whose path is w->path.  fd is that directory; it is closed. */
static void enter(struct work *w, int fd, bool by_path)
{
    struct level l = {.by_path = by_path, .end = strlen(w->path)};
    int copy = by_path ? -1 : dup(fd), error = 0;
    long found;
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
    /* A directory may be named twice: partial outputs in it must not be found. */
    if (l.directory != NULL && is_busy(w, l.directory))
        drain(w);
    if (error == 0) {
        l.names = read_names(dir);
        error = l.names == NULL ? errno : l.directory == NULL ? ENOMEM : 0;
    }
    if (dir != NULL)
        closedir(dir);
    found = count_names(l.names);
    w->to_come += (uint64_t)found;
    progress_found(&w->progress, found - 1);
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
    const int again = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error;

    if (again < 0)
        return -1;
    error = fstat(again, &st) != 0                            ? errno
            : st.st_dev != l->device || st.st_ino != l->inode ? ENOENT
                                                              : 0;
    if (error == 0)
        return again;
    close(again);
    errno = error;
    return -1;
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
static bool may_be_side_by_side(const struct options *o)
{
    const bool one_file = has_one_operand(o);
    const bool in_order = o->action == ACTION_LIST || (o->to_stdout && o->action != ACTION_TEST);
    /* A stored name may be any: nobody knows which file could be another's output. */
    const bool restores_names = o->action == ACTION_DECOMPRESS && !o->no_name;
    /* Nor with a suffix that may be a part of others (as z makes a.gz of a.g), or of ".tar". */
    const bool plain_suffix = o->suffix[0] == '.' && strpbrk(o->suffix + 1, "./") == NULL;

    return o->pipeline.threads > 1 && !one_file && !in_order && !restores_names && plain_suffix;
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
                     .side_by_side = may_be_side_by_side(o),
                     .to_come = (uint64_t)o->name_count};
    bool may_exit = true;

    w.may_ask = w.side_by_side && !o->force && (o->presume_input_tty || isatty(STDIN_FILENO));
    w.again_end = &w.again;
    w.config.caller_works = true;
    if (o->action != ACTION_COMPRESS)
        w.config.backend = BACKEND_CPU;
    if (o->action != ACTION_COMPRESS && !has_one_operand(o))
        keep_memory();
    /* If a GPU is asked for and there is none, that is said before anything is done. */
    if (w.config.backend == BACKEND_GPU) {
        need_limits(&w);
        if (!need_pipeline(&w, 0))
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
    progress_end(&w.progress);
    m->progress = NULL;
    if (o->action == ACTION_COMPRESS && o->verbose > 1 && w.pipeline != NULL && !has_one_operand(o))
        compress_report_run(m, w.pipeline);
    if (o->action == ACTION_LIST && o->name_count > 1 && !m->quiet && !m->stop)
        list_print_totals(&w.list);
    release(w.directory);
    free(w.directory_name);
    free(w.counts);
    free(w.path);
    free(w.levels);
    if (w.pipeline != NULL)
        may_exit = pipeline_leave(w.pipeline);
    return may_exit;
}
