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

/* Prints, for -v, which output is verified. */
static void tell_verified(struct recovering *r)
{
    if (r->f->o->verbose > 0 && r->verified_end > r->verified)
        msg_note(&r->f->m, "%s: output bytes %" PRIu64 " to %" PRIu64 ": verified by CRC",
                 r->f->name, r->verified, r->verified_end - 1);
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

static void tell_unverified(struct recovering *r, const struct gz_finding *found)
{
    const uint64_t written = found->out_end - found->out;
    char unknown[48] = "", doubtful[64] = "", length[64] = "";

    if (found->damage == GZ_DAMAGE_CRC) {
        if (found->length != written)
            snprintf(length, sizeof(length), ", and %" PRIu64 " bytes too %s",
                     found->length < written ? written - found->length : found->length - written,
                     found->length < written ? "few" : "many");
        msg_warning(&r->f->m, "%s: bytes %" PRIu64 " to %" PRIu64 ": a member with the wrong CRC%s",
                    r->f->name, found->in, found->in_end - 1, length);
    }
    if (found->out == found->out_end)
        return;
    if (found->unknown > 0)
        snprintf(unknown, sizeof(unknown), ", %" PRIu64 " of them unknown", found->unknown);
    if (found->doubtful > 0)
        snprintf(doubtful, sizeof(doubtful), ", the last %" PRIu64 " doubtful", found->doubtful);
    msg_warning(&r->f->m, "%s: output bytes %" PRIu64 " to %" PRIu64 ": not verified%s%s",
                r->f->name, found->out, found->out_end - 1, unknown, doubtful);
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

static void tell_lost(struct recovering *r, const struct gz_finding *found)
{
    char what[128];

    if (found->lost == GZ_LOST_UNKNOWN && found->in_end == r->size)
        snprintf(what, sizeof(what), "nothing found from here on");
    else if (found->lost == GZ_LOST_UNKNOWN)
        snprintf(what, sizeof(what),
                 "data is lost, it is not known how much, at output byte %" PRIu64, found->out);
    else if (found->lost == 0)
        snprintf(what, sizeof(what), "no bytes are missing at output byte %" PRIu64, found->out);
    else
        snprintf(what, sizeof(what), "%" PRIu64 " bytes are lost%s at output byte %" PRIu64,
                 found->lost, r->replaced, found->out);
    msg_warning(&r->f->m, "%s: bytes %" PRIu64 " to %" PRIu64 ": %s; %s", r->f->name, found->in,
                found->in_end > found->in ? found->in_end - 1 : found->in, reason(r, found), what);
}

static void tell_segment(struct recovering *r, const struct gz_finding *found)
{
    const uint64_t right = found->out_end - found->out;

    msg_warning(&r->f->m,
                "%s: output bytes %" PRIu64 " to %" PRIu64 ": doubtful, a segment of %" PRIu64
                " bytes that was %s",
                r->f->name, found->out, found->out_end - 1, found->length,
                found->length > right ? "cut" : "filled up");
}

static void tell(void *ctx, const struct gz_finding *found)
{
    struct recovering *r = ctx;

    if (found->kind != GZ_FOUND_VERIFIED)
        tell_verified(r);
    switch (found->kind) {
    case GZ_FOUND_VERIFIED:
        add_verified(r, found);
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
    r->in = found->in_end > r->in ? found->in_end : r->in;
}

/* Prints how many bytes of the output are verified, not verified, and unknown or lost. */
static void report(struct recovering *r, const struct gz_recovered *sums)
{
    msg_note(&r->f->m,
             "%s: %" PRIu64 " bytes %s: %" PRIu64 " verified by CRC, %" PRIu64
             " not verified, %" PRIu64 " unknown or lost%s",
             r->f->name, r->out, r->f->out_fd < 0 ? "found" : "written", sums->verified,
             sums->unverified, sums->unknown + sums->filled, r->replaced);
    if (sums->gaps > 0)
        msg_note(&r->f->m,
                 "%s: it is not known how much is lost at %" PRIu64 " place%s, so what comes after "
                 "may be moved",
                 r->f->name, sums->gaps, sums->gaps == 1 ? "" : "s");
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
    errno = error;
    f->in_bytes = r.size;
    f->out_bytes = r.out;
    return judge(&r, status, &sums);
}

void recover_file(struct file *f)
{
    file_finish(f, recover(f));
}
