/*
 * line.c - files that are worked on side by side, and made final in the order given (line.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/alone.h"
#include "src/compress.h"
#include "src/decompress.h"
#include "src/line.h"
#include "src/names.h"
#include "src/report.h"

/* At most FILES_PER_THREAD files are under way for each thread.  At the slow levels, the limit is
 * FILES_PER_THREAD_SLOW, because a GPU takes at least 10 ms for a batch there, even for a small
 * batch.  With more, one large file holds up the others less, but a signal undoes more outputs. */
#define FILES_PER_THREAD 64
#define FILES_PER_THREAD_SLOW 256

/* Sizes of two tables that count the files under way, one by the hash of the name, one by the hash
 * of the directory.  With smaller tables, more hashes share a count, so has_relative and
 * line_is_busy search the whole line more often. */
#define NAMES (1 << 14)
#define DIRECTORIES (1 << 10)

struct counts {
    unsigned names[NAMES], directories[DIRECTORIES];
};

/* A file that is under way, or that will be worked on again. */
struct entry {
    struct file file; /* this entry counts as a user of the file's two directories */
    struct pipeline_job job;
    struct line *line;
    struct entry *next; /* the next entry in the line's list `first` or `again` */
    uint64_t hash;      /* names_hash of the name */
    char name[];        /* the file's operand */
};

void line_init(struct line *l, struct run *r)
{
    *l = (struct line){.run = r};
    l->again_end = &l->again;
}

void line_free(struct line *l)
{
    free(l->counts);
}

/* The callbacks of the jobs (struct pipeline_job).  Any thread may call them. */

static bool begin_beside(struct pipeline_job *job)
{
    struct entry *e = job->ctx;

    if (!file_open(&e->file))
        return false;
    if (e->line->run->o->action == ACTION_COMPRESS)
        return compress_begin(&e->file, job);
    decompress_file(&e->file, e->line->run->pipeline);
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

    compress_end(&e->file, e->line->run->pipeline, job);
}

static void free_entry(struct entry *e)
{
    directory_release(e->file.directory);
    directory_release(e->file.destination.directory);
    free(e);
}

/* Removes the file's output, its messages and its part of the progress. */
static void undo(struct entry *e)
{
    progress_update(e->file.progress, &e->file.shown, 0, 0, "");
    file_discard(&e->file);
    msg_discard(&e->file.m);
}

/* Undoes the work on the file, and adds the file to those that will be worked on again. */
static void put_in_line(struct line *l, struct entry *e)
{
    /* Later files must not be made final before this one, so the work on later files would be
     * wasted.  Cancel the jobs that are not done yet. */
    if (l->again == NULL)
        pipeline_cancel(l->run->pipeline);
    undo(e);
    e->next = NULL;
    *l->again_end = e;
    l->again_end = &e->next;
}

/* The count of files under way whose names have this hash (modulo NAMES). */
static unsigned *count_of_name(const struct line *l, uint64_t hash)
{
    return &l->counts->names[hash % NAMES];
}

/* The count of files under way in directories with d's hash (modulo DIRECTORIES). */
static unsigned *count_of_directory(const struct line *l, const struct directory *d)
{
    return &l->counts->directories[(d->inode ^ d->device) % DIRECTORIES];
}

/* Makes the file final, unless its input has changed. */
static bool try_commit(struct entry *e)
{
    report_make(&e->file);
    return file_try_commit(&e->file);
}

/* Waits for the first file under way, and makes it final. */
static void finish_first(struct line *l)
{
    struct entry *e = l->first;

    pipeline_wait(l->run->pipeline, &e->job);
    l->first = e->next;
    l->count--;
    --*count_of_name(l, e->hash);
    --*count_of_directory(l, e->file.directory);
    --*count_of_directory(l, e->file.destination.directory);
    if (l->run->m->stop) {
        undo(e);
    } else if (l->again != NULL || e->file.retry != RETRY_NO || !try_commit(e)) {
        put_in_line(l, e);
        return;
    } else {
        msg_flush(&e->file.m);
        run_account(l->run, &e->file);
        if (l->run->m->stop)
            pipeline_cancel(l->run->pipeline);
    }
    free_entry(e);
}

/* Works on a file again, alone.  If it has become a directory meanwhile, leaves it as it is. */
static void do_again(struct line *l, const struct entry *e)
{
    const int fd = alone_do(l->run, e->name, e->file.directory);

    if (fd >= 0)
        close(fd);
}

/* Works again on the files in l->again, one after the other; no file may be under way.  The first
 * file in the list is the file that failed.  Its field `retry` says how many files may be under way
 * later: with RETRY_ROOM, one; with RETRY_MEMORY, half as many as before; with RETRY_CHANGED, as
 * many as before. */
static void again(struct line *l)
{
    struct entry *e = l->again;

    if (e == NULL)
        return;
    if (e->file.retry == RETRY_ROOM)
        l->run->side_by_side = false;
    else if (e->file.retry == RETRY_MEMORY)
        l->run->side_by_side = pipeline_limit_jobs(l->run->pipeline) > 1;
    l->again = NULL;
    l->again_end = &l->again;
    for (struct entry *next; e != NULL; e = next) {
        next = e->next;
        if (!l->run->m->stop)
            do_again(l, e);
        free_entry(e);
    }
}

void line_drain(struct line *l)
{
    while (l->first != NULL)
        finish_first(l);
    again(l);
}

/* Whether the file, or its output, is in this directory. */
static bool touches(const struct entry *e, const struct directory *d)
{
    return directory_is_same(e->file.directory, d) ||
           directory_is_same(e->file.destination.directory, d);
}

/* Whether one of the two files may be the other's output, or both files may have the same output.
 * Each file has two directories, its own and its output's.  The files are related if their names
 * have the same hash, and the two files have a directory in common. */
static bool is_related(const struct entry *a, const struct entry *b)
{
    return a->hash == b->hash &&
           (touches(a, b->file.directory) || touches(a, b->file.destination.directory));
}

/* Whether any file under way is related to the file `with`. */
static bool has_relative(const struct line *l, const struct entry *with)
{
    if (*count_of_name(l, with->hash) == 0)
        return false;
    for (const struct entry *e = l->first; e != NULL; e = e->next)
        if (is_related(e, with))
            return true;
    return false;
}

bool line_is_busy(const struct line *l, const struct directory *d)
{
    if (l->count == 0 || *count_of_directory(l, d) == 0)
        return false;
    for (const struct entry *e = l->first; e != NULL; e = e->next)
        if (touches(e, d))
            return true;
    return false;
}

/* Finds out how many files may be under way, and makes the pipeline.  False if no files can be
 * worked on side by side. */
static bool ready_for_side_by_side(struct line *l)
{
    if (!run_need_limits(l->run))
        return false;
    if (l->most == 0) {
        const long share = l->run->descriptors / RUN_DESCRIPTORS_SHARE;
        const size_t most_waiting = (size_t)(share / (l->run->o->atomic ? 2 : 1) + 1);

        l->most = (size_t)pipeline_threads(&l->run->config) *
                  (pipeline_level(&l->run->config)->finder->is_slow ? FILES_PER_THREAD_SLOW
                                                                    : FILES_PER_THREAD);
        if (l->most > most_waiting)
            l->most = most_waiting;
        l->counts = calloc(1, sizeof(*l->counts));
        l->run->side_by_side = l->run->side_by_side && l->counts != NULL;
    }
    return l->run->side_by_side && run_need_pipeline(l->run, 0) && l->run->pipeline != NULL;
}

/* Makes the entry for a file; NULL if memory is short. */
static struct entry *new_entry(struct line *l, const char *name, struct directory *directory,
                               uint64_t size, uint64_t to_come)
{
    struct entry *e = calloc(1, sizeof(*e) + strlen(name) + 1);

    if (e == NULL)
        return NULL;
    strcpy(e->name, name);
    e->hash = names_hash(names_base(name), l->run->o->suffix);
    e->line = l;
    e->file = (struct file){.o = l->run->o,
                            .operand = e->name,
                            .directory = directory,
                            .progress = &l->run->progress,
                            .in_fd = -1,
                            .out_fd = -1,
                            .output.fd = -1,
                            .m = {.program = l->run->m->program,
                                  .quiet = l->run->m->quiet,
                                  .progress = &l->run->progress,
                                  .collect = true}};
    e->job = (struct pipeline_job){.begin = begin_beside,
                                   .wrote = wrote_beside,
                                   .end = end_beside,
                                   .ctx = e,
                                   .size = size,
                                   .more = to_come};
    e->file.is_cancelled = &e->job.is_cancelled;
    return e;
}

bool line_submit(struct line *l, const char *name, struct directory *directory, uint64_t size,
                 uint64_t to_come)
{
    struct entry *e;

    if (!ready_for_side_by_side(l))
        return false;
    e = new_entry(l, name, directory, size, to_come);
    if (e == NULL)
        return false;
    if (!destination_find(&e->file.destination, &l->run->outputs, l->run->o, name, directory)) {
        free(e);
        return false;
    }
    l->directories += directory_is_unshared(directory);
    if (e->file.destination.directory != directory)
        l->directories += directory_is_unshared(e->file.destination.directory);
    if (has_relative(l, e) || l->directories > l->run->descriptors / RUN_DESCRIPTORS_SHARE) {
        line_drain(l);
        l->directories = 1;
    }
    while (l->count >= l->most)
        finish_first(l);
    if (l->again != NULL)
        line_drain(l);
    /* While this function finished other files, the run may have ended, or working side by side may
     * have been given up. */
    if (l->run->m->stop || !l->run->side_by_side || !pipeline_submit(l->run->pipeline, &e->job)) {
        free(e);
        return false;
    }
    directory_use(directory);
    directory_use(e->file.destination.directory);
    if (l->first == NULL)
        l->first = e;
    else
        l->last->next = e;
    l->last = e;
    l->count++;
    ++*count_of_name(l, e->hash);
    ++*count_of_directory(l, directory);
    ++*count_of_directory(l, e->file.destination.directory);
    while (l->first != NULL && pipeline_is_over(&l->first->job))
        finish_first(l);
    if (l->again != NULL)
        line_drain(l);
    return true;
}
