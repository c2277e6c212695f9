/*
 * recover.c - recovers what is left of a damaged file (recover.h)
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "compat/recover/recover.h"
#include "src/cleanup.h"
#include "src/progress.h"
#include "src/recover.h"

/* The most lines about findings: LINES_FREE, and LINES_PER_MB for each MiB of the input before the
 * finding.  A line of the sums stands for the findings that have none. */
#define LINES_FREE 100
#define LINES_PER_MB 8

/* Findings in a row for which no line was printed. */
struct unlisted {
    uint64_t count;                  /* findings */
    uint64_t places;                 /* damaged places */
    uint64_t in, in_end;             /* bytes of the input */
    uint64_t out, out_end;           /* bytes of the output */
    uint64_t verified, not_verified; /* bytes of the output */
};

/* The context of the functions that gz_recover calls. */
struct recovering {
    struct file *f;
    off_t start;      /* where the input starts in the file */
    uint64_t size;    /* bytes of the input */
    int error;        /* the errno of the first read that failed, or 0 */
    uint64_t in, out; /* bytes of the input that are done, and bytes written */
    /* Verified output of consecutive members: bytes [verified, verified_end).  tell_verified has
     * not printed this range yet. */
    uint64_t verified, verified_end;
    uint64_t lines; /* lines about findings so far */
    struct unlisted unlisted;
    char replaced[32]; /* for messages: what was written in place of lost bytes */
};

static ssize_t read_input(void *ctx, void *buf, size_t len, uint64_t offset)
{
    struct recovering *r = ctx;
    const ssize_t n = io_read_at(r->f->in_fd, buf, len, (uint64_t)r->start + offset);

    if (n < 0 && r->error == 0)
        r->error = errno;
    return n;
}

static int write_output(void *ctx, const void *buf, size_t len)
{
    struct recovering *r = ctx;

    r->out += len;
    progress_update(r->f->progress, &r->f->shown, r->in, r->out, "cpu");
    return r->f->out_fd < 0 || io_write(r->f->out_fd, buf, len) ? 0 : -1;
}

/* Whether `count` more lines may be printed. */
static bool may_print(const struct recovering *r, uint64_t count)
{
    return r->lines + count <= LINES_FREE + LINES_PER_MB * (r->in >> 20);
}

static bool has_unlisted(const struct recovering *r)
{
    return r->unlisted.count > 0;
}

/* Returns the last byte of bytes [from, end), which may be empty. */
static uint64_t last(uint64_t from, uint64_t end)
{
    return end > from ? end - 1 : from;
}

/* Prints the sums of the findings that got no line. */
static void tell_unlisted(struct recovering *r)
{
    const struct unlisted *const u = &r->unlisted;

    if (!has_unlisted(r))
        return;
    msg_warning(&r->f->m,
                "%s: bytes %" PRIu64 " to %" PRIu64 ", output bytes %" PRIu64 " to %" PRIu64
                ": %" PRIu64 " more damaged places, not listed; %" PRIu64
                " bytes verified by CRC, %" PRIu64 " not verified",
                r->f->name, u->in, last(u->in, u->in_end), u->out, last(u->out, u->out_end),
                u->places, u->verified, u->not_verified);
    r->unlisted = (struct unlisted){0};
    r->lines++;
}

/* Adds a finding to those that get no line. */
static void add_unlisted(struct recovering *r, const struct gz_finding *found)
{
    struct unlisted *const u = &r->unlisted;
    const uint64_t written = found->out_end - found->out;
    /* A segment is a part of the finding after it, and has no place in the input. */
    const bool is_segment = found->kind == GZ_FOUND_SEGMENT;
    const uint64_t in = is_segment ? r->in : found->in, in_end = is_segment ? r->in : found->in_end;

    if (u->count++ == 0)
        *u = (struct unlisted){.count = 1, .in = in, .in_end = in, .out = found->out};
    u->in = in < u->in ? in : u->in;
    u->in_end = in_end > u->in_end ? in_end : u->in_end;
    u->out = found->out < u->out ? found->out : u->out;
    u->out_end = found->out_end > u->out_end ? found->out_end : u->out_end;
    u->places += is_segment || found->kind == GZ_FOUND_LOST || found->damage == GZ_DAMAGE_CRC ||
                 found->damage == GZ_DAMAGE_LENGTH;
    u->verified += found->kind == GZ_FOUND_VERIFIED ? written : 0;
    if (found->kind == GZ_FOUND_UNVERIFIED)
        u->not_verified += written - found->unknown - found->filled;
}

/* Prints, for -v, which output is verified. */
static void tell_verified(struct recovering *r)
{
    if (r->f->o->verbose > 0 && r->verified_end > r->verified) {
        msg_note(&r->f->m, "%s: output bytes %" PRIu64 " to %" PRIu64 ": verified by CRC",
                 r->f->name, r->verified, r->verified_end - 1);
        r->lines++;
    }
    r->verified = r->verified_end;
}

/* Notes a member's verified output.  If it does not directly follow the output noted before, prints
 * that earlier output first. */
static void add_verified(struct recovering *r, const struct gz_finding *found)
{
    if (found->out != r->verified_end) {
        tell_verified(r);
        r->verified = found->out;
    }
    r->verified_end = found->out_end;
}

/* Says what is wrong with a whole member. */
static void tell_member(struct recovering *r, const struct gz_finding *found)
{
    const char *const what = found->damage == GZ_DAMAGE_CRC ? "CRC" : "length";
    char length[96] = "";

    if ((uint32_t)found->length != found->stored_len)
        snprintf(length, sizeof(length),
                 ": it has %" PRIu64 " bytes, and its trailer says %" PRIu32 "%s", found->length,
                 found->stored_len,
                 found->damage == GZ_DAMAGE_LENGTH ? ", but its CRC is right" : "");
    msg_warning(&r->f->m, "%s: bytes %" PRIu64 " to %" PRIu64 ": a member with the wrong %s%s",
                r->f->name, found->in, found->in_end - 1, what, length);
    r->lines++;
}

static void tell_unverified(struct recovering *r, const struct gz_finding *found)
{
    char unknown[48] = "", doubtful[64] = "";

    if (found->damage == GZ_DAMAGE_CRC)
        tell_member(r, found);
    if (found->out == found->out_end)
        return;
    if (found->unknown > 0)
        snprintf(unknown, sizeof(unknown), ", %" PRIu64 " of them unknown", found->unknown);
    if (found->doubtful > 0)
        snprintf(doubtful, sizeof(doubtful), ", the last %" PRIu64 " doubtful", found->doubtful);
    msg_warning(&r->f->m,
                "%s: output bytes %" PRIu64 " to %" PRIu64
                ": not verified, may be wrong and moved from some byte on%s%s",
                r->f->name, found->out, found->out_end - 1, unknown, doubtful);
    r->lines++;
}

/* Returns what is wrong with the input at the place where data is lost. */
static const char *reason(const struct recovering *r, const struct gz_finding *found)
{
    switch (found->damage) {
    case GZ_DAMAGE_CUT:
        if (found->in_end == r->size)
            return "unexpected end of file";
        break;
    case GZ_DAMAGE_ZEROS:
        return "zeros in place of data";
    case GZ_DAMAGE_HEADER:
        return found->in_end == r->size && found->in > 0 ? "trailing garbage" : "no gzip header";
    default:
        break;
    }
    return "invalid compressed data";
}

/* Writes to what[0..size) what is known about the bytes that are lost. */
static void describe_loss(const struct recovering *r, const struct gz_finding *found, char *what,
                          size_t size)
{
    if (found->lost == GZ_LOST_UNKNOWN && found->in_end == r->size)
        snprintf(what, size, "nothing found from here on");
    else if (found->lost == GZ_LOST_UNKNOWN)
        snprintf(what, size, "data is lost, it is not known how much, at output byte %" PRIu64,
                 found->out);
    else if (found->excess > 0)
        snprintf(what, size,
                 "%" PRIu64 " bytes too many before output byte %" PRIu64
                 ", so what follows is moved",
                 found->excess, found->out);
    else if (found->lost == 0)
        snprintf(what, size, "no bytes are missing at output byte %" PRIu64, found->out);
    else
        snprintf(what, size, "%" PRIu64 " bytes are lost%s%s at output byte %" PRIu64, found->lost,
                 found->gathers ? " here and at earlier places" : "", r->replaced, found->out);
}

static void tell_lost(struct recovering *r, const struct gz_finding *found)
{
    char what[160];

    describe_loss(r, found, what, sizeof(what));
    msg_warning(&r->f->m, "%s: bytes %" PRIu64 " to %" PRIu64 ": %s; %s", r->f->name, found->in,
                last(found->in, found->in_end), reason(r, found), what);
    r->lines++;
}

static void tell_segment(struct recovering *r, const struct gz_finding *found)
{
    const uint64_t right = found->out_end - found->out;

    msg_warning(&r->f->m,
                "%s: output bytes %" PRIu64 " to %" PRIu64 ": doubtful, a segment of %" PRIu64
                " bytes that was %s",
                r->f->name, found->out, found->out_end - 1, found->length,
                found->length > right ? "cut" : "filled up");
    r->lines++;
}

/* Prints the lines about a finding. */
static void tell_finding(struct recovering *r, const struct gz_finding *found)
{
    switch (found->kind) {
    case GZ_FOUND_VERIFIED:
        if (found->damage == GZ_DAMAGE_LENGTH)
            tell_member(r, found);
        break;
    case GZ_FOUND_UNVERIFIED:
        tell_unverified(r, found);
        break;
    case GZ_FOUND_LOST:
        tell_lost(r, found);
        break;
    case GZ_FOUND_SEGMENT:
        tell_segment(r, found);
        break;
    }
}

static void tell(void *ctx, const struct gz_finding *found)
{
    struct recovering *r = ctx;
    const bool is_right = found->kind == GZ_FOUND_VERIFIED && found->damage == GZ_DAMAGE_NONE;
    /* A finding has up to two lines, after those about what was before it. */
    const bool has_room = may_print(r, 4);

    r->in = found->in_end > r->in ? found->in_end : r->in;
    if (has_room)
        tell_unlisted(r);
    if (found->kind == GZ_FOUND_VERIFIED && !has_unlisted(r) && (has_room || is_right))
        add_verified(r, found);
    if (is_right && !has_unlisted(r))
        return;
    tell_verified(r);
    if (has_room)
        tell_finding(r, found);
    else
        add_unlisted(r, found);
}

/* Prints how many bytes of the output are verified, not verified, and unknown or lost. */
static void report(struct recovering *r, const struct gz_recovered *sums)
{
    msg_note(&r->f->m,
             "%s: %" PRIu64 " bytes %s: %" PRIu64 " verified by CRC, %" PRIu64
             " not verified%s, %" PRIu64 " unknown or lost%s",
             r->f->name, r->out, r->f->out_fd < 0 ? "found" : "written", sums->verified,
             sums->unverified, sums->unverified > 0 ? " (they may be wrong)" : "",
             sums->unknown + sums->filled, r->replaced);
    if (sums->gaps > 0)
        msg_note(&r->f->m,
                 "%s: at %" PRIu64
                 " place%s, bytes may be missing or too many, so what comes after "
                 "may be moved",
                 r->f->name, sums->gaps, sums->gaps == 1 ? "" : "s");
    if (sums->passed > 0)
        msg_note(&r->f->m,
                 "%s: too many damaged places: %" PRIu64
                 " bytes of the file were passed over, without searching them for data",
                 r->f->name, sums->passed);
}

/* Prints how the recovery ended.  True if the output is to be kept. */
static bool judge(struct recovering *r, enum gz_status status, const struct gz_recovered *sums)
{
    struct file *const f = r->f;

    switch (status) {
    case GZ_OK:
        if (f->o->verbose > 0)
            msg_note(&f->m, "%s: not damaged", f->name);
        return true;
    case GZ_BAD_DATA:
        if (!f->m.quiet)
            report(r, sums);
        return true;
    case GZ_WRITE_ERROR:
        cleanup_signal_for(errno);
        file_write_error(f, errno);
        return false;
    case GZ_NO_MEMORY:
        file_out_of_memory(f);
        return false;
    default:
        if (r->error != 0)
            file_read_error(f, r->error);
        else
            msg_error(&f->m, "%s: no compressed data found", f->name);
        return false;
    }
}

static bool recover(struct file *f)
{
    struct recovering r = {.f = f, .start = lseek(f->in_fd, 0, SEEK_CUR)};
    struct gz_recover_io io = {.read_at = read_input,
                               .write = write_output,
                               .tell = tell,
                               .ctx = &r,
                               .fill = (uint8_t)f->o->fill};
    struct gz_recovered sums;
    enum gz_status status;
    int error;

    if (r.start < 0 && errno != ESPIPE) {
        file_read_error(f, errno);
        return false;
    }
    if (!S_ISREG(f->in_stat.st_mode) || r.start < 0) {
        msg_error(&f->m, "%s: --recover needs a regular file, which it reads twice", f->name);
        return false;
    }
    if (!file_open_output(f))
        return false;
    if (f->out_fd >= 0)
        snprintf(r.replaced, sizeof(r.replaced), " and replaced by byte %d", f->o->fill);
    r.size = io.size = r.start < f->in_stat.st_size ? (uint64_t)(f->in_stat.st_size - r.start) : 0;
    progress_file(f->progress, f->name, r.size);
    status = gz_recover(&io, &sums);
    error = errno;
    tell_verified(&r);
    tell_unlisted(&r);
    errno = error;
    f->in_bytes = r.size;
    f->out_bytes = r.out;
    return judge(&r, status, &sums);
}

void recover_file(struct file *f)
{
    file_finish(f, recover(f));
}
