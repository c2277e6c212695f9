/*
 * select.c - writes parts of a file's decompressed data: --range and --lines (select.h)
 *
 * If an access reader (access/reader.h) finds an index, BGZF's members or marks, it decodes only
 * the part of the input that holds the range.  These are its hints.  The reader itself decodes a
 * short range.  For a long range, it only checks the point before the range; all threads then
 * decompress from that point.  If there are no hints, or wrong ones, all threads decompress from
 * the start, and the data before the range is thrown away.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/cursor.h"
#include "access/layout.h"
#include "access/reader.h"
#include "access/trail.h"
#include "base/io.h"
#include "src/cleanup.h"
#include "src/decompress.h"
#include "src/indexes.h"
#include "src/select.h"

/* --- Selecting ------------------------------------------------------------------------------ */

/* A selection takes data in order, and writes the part of the data that is in a range. */
struct selection {
    struct file *f;
    bool is_lines;
    uint64_t skip;   /* bytes or lines before the range that are still to come */
    uint64_t left;   /* bytes or lines of the range that are still to come */
    uint64_t seen;   /* bytes taken */
    bool has_failed; /* writing has failed */
};

static bool is_done(const struct selection *s)
{
    return s->left == 0 || s->has_failed;
}

/* Returns how many of bytes[0..len) the first *count lines have; `len` if fewer lines end in these
 * bytes.  Subtracts the number of lines that end in the returned bytes from *count. */
static size_t lines_length(const uint8_t *bytes, size_t len, uint64_t *count)
{
    size_t at = 0;

    while (*count > 0 && at < len) {
        const uint8_t *feed = memchr(bytes + at, '\n', len - at);

        if (feed == NULL)
            return len;
        at = (size_t)(feed - bytes) + 1;
        --*count;
    }
    return at;
}

static size_t bytes_length(size_t len, uint64_t *count)
{
    const size_t n = *count < len ? (size_t)*count : len;

    *count -= n;
    return n;
}

/* Gives the selection the next bytes of data, and writes those that are in the range.  False if an
 * error occurred or the range is complete. */
static bool take(struct selection *s, const uint8_t *bytes, size_t len)
{
    const size_t before =
        s->is_lines ? lines_length(bytes, len, &s->skip) : bytes_length(len, &s->skip);
    size_t n;

    s->seen += len;
    if (s->skip > 0)
        return true;
    n = s->is_lines ? lines_length(bytes + before, len - before, &s->left)
                    : bytes_length(len - before, &s->left);
    if (n > 0 && !io_write(s->f->out_fd, bytes + before, n)) {
        s->has_failed = true;
        return false;
    }
    s->f->out_bytes += n;
    return s->left > 0;
}

static int take_for_stream(void *ctx, const void *buf, size_t len)
{
    return take(ctx, buf, len) ? 0 : -1;
}

/* The state of the work on a file. */
struct ranges {
    struct file *f;
    struct pipeline *p;
    bool is_regular;              /* the input is a regular file, which is read from its start */
    struct access_reader *reader; /* NULL: only decompression from the start is possible */
    struct index_file index;
    enum access_hints hints; /* the kind of hints; ACCESS_UNKNOWN: nobody has looked yet */
    uint8_t *buffer;         /* of BUFFER_SIZE bytes */
    bool has_told;           /* a message has said how the file is read */
    bool wrote_by_hints;     /* data was written that was found by hints */
};

/* --- Decompression by all threads ----------------------------------------------------------- */

/* Bytes that are read from a reader at a time. */
#define BUFFER_SIZE ((size_t)1 << 20)

/* Prints once, for -v, how the file is read. */
static void tell(struct ranges *w, const char *how)
{
    if (w->f->o->verbose > 0 && !w->has_told)
        msg_note(&w->f->m, "%s: %s", w->f->name, how);
    w->has_told = true;
}

/* Goes to byte `at` of the input, unless the input can only be read in order.  False, with a
 * message, if that fails. */
static bool go_to(struct ranges *w, off_t at)
{
    if (!w->is_regular || lseek(w->f->in_fd, at, SEEK_SET) == at)
        return true;
    file_read_error(w->f, errno);
    return false;
}

/* Decompresses with all threads up to the end of the selection: along the trail, or from the start
 * of the input if `trail` is NULL. */
static bool select_by_threads(struct ranges *w, struct selection *s, struct access_trail *trail)
{
    struct gz_info info;
    enum gz_status status;

    if (!go_to(w, trail != NULL ? (off_t)access_trail_in(trail) : 0))
        return false;
    status = decompress_through(w->f, w->p, trail, take_for_stream, s, &info);
    if (status == GZ_WRITE_ERROR && is_done(s) && !s->has_failed)
        return true;
    if (status == GZ_WRITE_ERROR && !w->f->m.collect)
        cleanup_signal_for(errno);
    return decompress_judge_status(w->f, status, &info);
}

/* Decompresses from the start of the input up to the end of the selection. */
static bool select_all(struct ranges *w, struct selection *s)
{
    if (w->hints == ACCESS_NOTHING || w->reader == NULL)
        tell(w, "no index and no marks: decompressed from the start");
    return select_by_threads(w, s, NULL);
}

static int discard(void *ctx, const void *buf, size_t len)
{
    (void)buf;
    *(uint64_t *)ctx += len;
    return 0;
}

/* Finds the length of the data by decompressing all of it. */
static bool measure_all(struct ranges *w, uint64_t *size)
{
    struct gz_info info;
    enum gz_status status;

    *size = 0;
    if (!w->is_regular) {
        msg_error(&w->f->m, "%s: a range from the end needs a regular file", w->f->name);
        return false;
    }
    tell(w, "no index and no marks: decompressed twice, first to find its length");
    if (!go_to(w, 0))
        return false;
    status = decompress_through(w->f, w->p, NULL, discard, size, &info);
    return decompress_judge_status(w->f, status, &info);
}

/* The last bytes of the output: bytes[0..len).  Once len is `size`, the oldest is bytes[at]. */
struct tail {
    uint8_t *bytes;
    size_t size; /* bytes to keep */
    size_t len, at;
};

static int keep_tail(void *ctx, const void *buf, size_t len)
{
    struct tail *t = ctx;
    const uint8_t *from = buf;

    if (len > t->size) {
        from += len - t->size;
        len = t->size;
    }
    while (len > 0) {
        const size_t room = t->size - t->at, n = len < room ? len : room;

        memcpy(t->bytes + t->at, from, n);
        from += n;
        len -= n;
        t->len = t->len + n < t->size ? t->len + n : t->size;
        t->at = (t->at + n) % t->size;
    }
    return 0;
}

/* Decompresses all, and writes the first r->length of the last r->from bytes.  r->from is
 * BUFFER_SIZE at most. */
static bool select_last(struct ranges *w, const struct range *r)
{
    struct tail t = {.bytes = w->buffer, .size = (size_t)r->from};
    struct selection s = {.f = w->f, .left = r->length};
    struct gz_info info;
    enum gz_status status;

    tell(w, "no index and no marks: decompressed from the start");
    if (!go_to(w, 0))
        return false;
    status = decompress_through(w->f, w->p, NULL, keep_tail, &t, &info);
    if (!decompress_judge_status(w->f, status, &info))
        return false;
    if (t.len < t.size)
        take(&s, t.bytes, t.len);
    else if (take(&s, t.bytes + t.at, t.len - t.at))
        take(&s, t.bytes, t.at);
    if (s.has_failed)
        file_write_error(w->f, errno);
    return !s.has_failed;
}

/* --- By an access reader -------------------------------------------------------------------- */

/* How a part of the work ended. */
enum outcome {
    DONE,
    FAILED,    /* a message was printed */
    NOT_KNOWN, /* the reader's hints are wrong, or it has none that help */
};

/* Whether wrong hints are the reason for an error of the reader.  If so, prints that. */
static bool are_hints_wrong(struct ranges *w)
{
    const bool knew = w->hints == ACCESS_WRONG_HINTS;

    w->hints = access_look(w->reader, NULL);
    if (w->hints != ACCESS_WRONG_HINTS)
        return false;
    if (!w->f->m.quiet && !knew)
        msg_note(&w->f->m, "%s: %s, so it is decompressed from the start", w->f->name,
                 w->index.is_open ? "the index does not fit it"
                                  : "the marks or members in it are not as expected");
    return true;
}

/* Reads up to `len` bytes, but BUFFER_SIZE at most, and passes them to the selection.  Sets *done
 * to the number of bytes read.  After an error, these are the bytes before the damage, which gunzip
 * gives, too. */
static enum outcome read_some(struct ranges *w, struct selection *s, uint64_t offset, size_t len,
                              size_t *done)
{
    struct gz_info info = {0};
    const enum gz_status status = access_read(w->reader, w->buffer, len, offset, done, NULL);
    const int error = errno;

    if (status != GZ_OK && (are_hints_wrong(w) || status == GZ_NOT_GZIP))
        return NOT_KNOWN;
    if (*done > 0 && !take(s, w->buffer, *done) && s->has_failed) {
        if (!w->f->m.collect)
            cleanup_signal_for(errno);
        file_write_error(w->f, errno);
        return FAILED;
    }
    if (status == GZ_OK || is_done(s))
        return DONE;
    errno = error;
    return decompress_judge_status(w->f, status, &info) ? DONE : FAILED;
}

/* Reads from the reader until the selection is complete or the data ends. */
static enum outcome select_from(struct ranges *w, struct selection *s, uint64_t offset)
{
    enum outcome outcome = DONE;
    size_t done = BUFFER_SIZE;

    while (outcome == DONE && !is_done(s) && done == BUFFER_SIZE) {
        outcome = read_some(w, s, offset, BUFFER_SIZE, &done);
        offset += done;
    }
    return outcome;
}

/* Whether the reader is known to have hints. */
static bool has_hints(const struct ranges *w)
{
    return w->hints == ACCESS_INDEX || w->hints == ACCESS_BGZF || w->hints == ACCESS_MARKS;
}

/* What -v prints for each kind of hints. */
static const char *const hints_names[] = {
    [ACCESS_INDEX] = "read by an index",
    [ACCESS_BGZF] = "read by the members of BGZF",
    [ACCESS_MARKS] = "read by the marks between its segments",
};

/* If a range has at most this many bytes, one thread reads it, since starting other threads would
 * take longer.  Without hints, the range must also begin within this distance from the start of the
 * data. */
#define NEAR ((uint64_t)4 << 20)

/* Looks for hints, and returns whether the reader has any.  If an earlier read has found that they
 * are wrong, prints that. */
static bool looks_for_hints(struct ranges *w)
{
    return !are_hints_wrong(w) && has_hints(w);
}

/* Writes the first r->length of the last r->from bytes, by marks near the file's end. */
static enum outcome select_tail(struct ranges *w, const struct range *r)
{
    struct selection s = {.f = w->f, .left = r->length};
    struct access_point p = {.is_hint = true};
    const struct access_source source = {.fd = w->f->in_fd,
                                         .size = (uint64_t)w->f->in_stat.st_size};
    struct access_cursor *c;
    enum gz_status status = GZ_NO_MEMORY;
    uint64_t len;

    if (w->index.is_open ||
        access_marks_tail(&source, r->from, &p.bit, &len) != ACCESS_LAYOUT_FOUND)
        return NOT_KNOWN;
    tell(w, hints_names[ACCESS_MARKS]);
    s.skip = len - r->from;
    c = access_cursor_new(&source);
    if (c != NULL && access_cursor_begin(c, &p, NULL, 0)) {
        do
            status = access_cursor_step(c);
        while (status == GZ_OK && !c->has_ended && take(&s, c->piece, c->piece_len));
    }
    access_cursor_free(c);
    if (status == GZ_OK && s.has_failed)
        file_write_error(w->f, errno);
    else if (status != GZ_OK)
        decompress_judge_status(w->f, status, &(struct gz_info){0});
    return status == GZ_OK && !s.has_failed ? DONE : FAILED;
}

/* Writes a selection of many bytes, which starts at byte `from` of the data.  All threads
 * decompress, beginning at a point before that byte. */
static enum outcome select_from_point(struct ranges *w, struct selection *s, uint64_t from)
{
    struct access_trail *trail;
    struct selection nothing = {.f = w->f};
    enum outcome outcome;
    size_t done;

    /* Reading one byte makes the reader check the point. */
    outcome = read_some(w, &nothing, from, 1, &done);
    if (outcome != DONE)
        return outcome;
    trail = access_trail_new(w->reader, from);
    if (trail == NULL) {
        file_out_of_memory(w->f);
        return FAILED;
    }
    s->skip = from - access_trail_out(trail);
    outcome = select_by_threads(w, s, trail) ? DONE : FAILED;
    access_trail_free(trail);
    return outcome;
}

/* Writes `length` bytes of the data, from byte `from` on. */
static enum outcome select_bytes(struct ranges *w, uint64_t from, uint64_t length)
{
    const uint64_t written = w->f->out_bytes;
    struct selection s = {.f = w->f, .left = length};
    enum outcome outcome = NOT_KNOWN;

    if (w->reader != NULL && from > NEAR && looks_for_hints(w)) {
        const uint64_t size = access_size_hint(w->reader, NULL),
                       behind = from < size ? size - from : 0;

        tell(w, hints_names[w->hints]);
        outcome = length <= NEAR || behind <= NEAR ? select_from(w, &s, from)
                                                   : select_from_point(w, &s, from);
        w->wrote_by_hints |= w->f->out_bytes > written;
    } else if (w->reader != NULL && from <= NEAR && length <= NEAR) {
        outcome = select_from(w, &s, from);
    }
    if (outcome != NOT_KNOWN)
        return outcome;
    s.skip = from + s.seen;
    s.left = length - s.seen;
    return select_all(w, &s) ? DONE : FAILED;
}

/* --- Lines ---------------------------------------------------------------------------------- */

/* Whether the line feeds in the stretch are as many as the index says. */
static bool check_lines(struct ranges *w, const struct access_stretch *t)
{
    uint64_t lines = t->lines_to - t->lines_from, at = t->from;

    while (at < t->to) {
        const uint64_t left = t->to - at;
        size_t done, n = left < BUFFER_SIZE ? (size_t)left : BUFFER_SIZE;

        if (access_read(w->reader, w->buffer, n, at, &done, NULL) != GZ_OK || done < n)
            return false;
        for (size_t i = 0; i < n; i++) {
            const uint8_t *feed = memchr(w->buffer + i, '\n', n - i);

            if (feed == NULL)
                break;
            if (lines-- == 0)
                return false;
            i = (size_t)(feed - w->buffer);
        }
        at += n;
    }
    return lines == 0;
}

/* Whether the line feeds before the first place with a line number are as many as the index says.
 * Numbers that are all wrong by the same number of lines agree with each other, but not with these.
 * Does not look if these are many bytes, or were counted already in the stretch t. */
static bool check_first_lines(struct ranges *w, const struct access_stretch *t)
{
    struct access_stretch first;

    return !access_find_line(w->reader, 1, &first) || first.from == t->from ||
           first.to > ACCESS_START_MAX || check_lines(w, &first);
}

/* Writes lines from line `from` on, counted from 0, by the line numbers in the index. */
static enum outcome select_indexed_lines(struct ranges *w, uint64_t from, uint64_t count)
{
    struct selection s = {.f = w->f, .is_lines = true, .left = count};
    struct access_stretch t;
    enum outcome outcome;

    if (w->reader == NULL || from == 0 || !looks_for_hints(w) || w->hints != ACCESS_INDEX ||
        !access_find_line(w->reader, from, &t))
        return NOT_KNOWN;
    if (!check_lines(w, &t) || !check_first_lines(w, &t)) {
        if (!w->f->m.quiet)
            msg_note(&w->f->m, "%s: the index does not fit it, so it is ignored", w->f->name);
        return NOT_KNOWN;
    }
    tell(w, hints_names[ACCESS_INDEX]);
    s.skip = from - t.lines_from;
    outcome = select_from(w, &s, t.from);
    w->wrote_by_hints = true;
    /* Lines that were written cannot be taken back.  So if the index proves wrong only after that,
     * the work has failed. */
    return outcome == NOT_KNOWN && s.seen > 0 ? FAILED : outcome;
}

static enum outcome select_lines(struct ranges *w, uint64_t from, uint64_t count)
{
    struct selection s = {.f = w->f, .is_lines = true, .skip = from, .left = count};
    const enum outcome outcome = select_indexed_lines(w, from, count);

    if (outcome != NOT_KNOWN)
        return outcome;
    return select_all(w, &s) ? DONE : FAILED;
}

/* --- All ranges ----------------------------------------------------------------------------- */

static enum outcome do_range(struct ranges *w, const struct range *r)
{
    uint64_t size = UINT64_MAX, from;

    if (r->length == 0 || (r->is_from_end && r->from == 0))
        return DONE;
    if (r->is_lines)
        return select_lines(w, r->from, r->length);
    if (!r->is_from_end)
        return select_bytes(w, r->from, r->length);
    if (w->reader != NULL) {
        const enum outcome outcome = select_tail(w, r);

        if (outcome != NOT_KNOWN)
            return outcome;
        if (looks_for_hints(w) && access_size(w->reader, &size, NULL) != GZ_OK) {
            are_hints_wrong(w);
            size = UINT64_MAX;
        }
    }
    if (size == UINT64_MAX && r->from <= BUFFER_SIZE)
        return select_last(w, r) ? DONE : FAILED;
    if (size == UINT64_MAX && !measure_all(w, &size))
        return FAILED;
    from = r->from < size ? size - r->from : 0;
    return select_bytes(w, from, r->length);
}

/* Opens a reader, and its index, if the input is a regular file that may be in gzip's format. */
static bool open_reader(struct ranges *w)
{
    struct file *f = w->f;
    const struct access_source source = {.fd = f->in_fd, .size = (uint64_t)f->in_stat.st_size};

    w->buffer = malloc(BUFFER_SIZE);
    if (w->buffer == NULL) {
        file_out_of_memory(f);
        return false;
    }
    w->is_regular = S_ISREG(f->in_stat.st_mode) && lseek(f->in_fd, 0, SEEK_CUR) == 0;
    if (!w->is_regular || decompress_container(f) != CONTAINER_GZIP) {
        if (f->o->index_file != NULL)
            msg_error(&f->m, "%s: only a regular file in gzip's own format can have an index",
                      f->name);
        return f->o->index_file == NULL;
    }
    w->reader = access_open(&source);
    if (w->reader == NULL) {
        file_out_of_memory(f);
        return false;
    }
    access_set_strict(w->reader, true);
    if (!indexes_open(f, &w->index, w->reader))
        return false;
    w->hints = w->index.is_open ? ACCESS_INDEX : ACCESS_UNKNOWN;
    return true;
}

/* Whether data was written by hints that a later read has found wrong.  If so, prints that. */
static bool is_doubtful(struct ranges *w)
{
    if (!w->wrote_by_hints || !access_had_wrong_hints(w->reader))
        return false;
    msg_data_error(&w->f->m,
                   "%s: the index, marks or members were found wrong too late: "
                   "what was written may be wrong",
                   w->f->name);
    return true;
}

static bool do_ranges(struct ranges *w)
{
    const struct options *o = w->f->o;
    bool ok = open_reader(w) && file_open_output(w->f);

    if (ok && !w->is_regular && o->range_count > 1) {
        msg_error(&w->f->m, "%s: several ranges need a regular file", w->f->name);
        ok = false;
    }
    for (size_t i = 0; ok && i < o->range_count; i++)
        ok = do_range(w, &o->ranges[i]) == DONE;
    ok = ok && !is_doubtful(w);
    access_close(w->reader);
    indexes_close(&w->index);
    free(w->buffer);
    return ok && file_is_unchanged(w->f);
}

void select_file(struct file *f, struct pipeline *p)
{
    struct ranges w = {.f = f, .p = p};

    file_finish(f, do_ranges(&w));
}
