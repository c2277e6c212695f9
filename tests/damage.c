/*
 * damage.c - damages a .gz at random, recovers it, and compares the output with the original
 *
 *     tests/damage ORIGINAL FILE.gz COUNT [SEED]
 *
 * damages FILE.gz, which must decompress to ORIGINAL, COUNT times: each time in one to three
 * places, in one of several ways (damage_names).  Each damaged file is recovered twice, with
 * different fill bytes.  The two outputs differ in exactly the bytes that are not known.  The
 * program fails if
 *
 *   - verified output is not a member of the original, or members are in the wrong order;
 *   - a file is reported as undamaged, but its output is not the original (or, since the damage may
 *     cut off whole members, some members of the original);
 *   - the outputs do not differ in as many bytes as were reported as unknown or lost;
 *   - the outputs differ in verified bytes;
 *   - the reported stretches do not add up to the output, or the sums are wrong.
 *
 * For each kind of damage, the program prints how much of the original was written.  Of these
 * bytes, the program prints how many are verified, right (but not verified), wrong, and unknown or
 * lost.  A byte is right if the original has it at this place.  Lost data may move the bytes after
 * it, so a byte is also right in a line of 16 bytes that the original has near this place.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/recover/recover.h"
#include "tests/unit/streams.h"

enum { DAMAGES = 10, FILLS = 2, PAGE = 4096 };

static const char *const damage_names[DAMAGES] = {"flips",   "zeros",  "noise", "cut",   "inserts",
                                                  "deletes", "header", "front", "reads", "rereads"};

/* A recovery's input and results. */
struct recovery {
    struct bytes in, out;
    uint64_t unreadable; /* reading from the page that starts here fails; UINT64_MAX: no page */
    unsigned good_reads; /* so many reads from that page succeed before one fails */
    unsigned reads;      /* reads from that page so far */
    struct gz_finding *found;
    size_t count, room;
    struct gz_recovered sums;
    enum gz_status status;
};

/* A member of the original: bytes [from, to). */
struct member {
    uint64_t from, to;
};

static struct member *members;
static size_t member_count;
static struct bytes original;

static void die(const char *what)
{
    fprintf(stderr, "damage: %s\n", what);
    exit(EXIT_FAILURE);
}

/* --- Recovering ----------------------------------------------------------------------------- */

static ssize_t read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
    struct recovery *const r = ctx;
    const struct bytes *const in = &r->in;
    const size_t left = offset < in->len ? in->len - (size_t)offset : 0;
    const size_t n = len < left ? len : left;

    if (r->unreadable < offset + n && offset < r->unreadable + PAGE &&
        r->reads++ >= r->good_reads) {
        errno = EIO;
        return -1;
    }
    if (n > 0)
        memcpy(buf, in->data + offset, n);
    return (ssize_t)n;
}

static int write_all(void *ctx, const void *buf, size_t len)
{
    add(&((struct recovery *)ctx)->out, buf, len);
    return 0;
}

static void tell(void *ctx, const struct gz_finding *found)
{
    struct recovery *const r = ctx;

    if (r->count == r->room) {
        r->room = 2 * r->room + 16;
        r->found = unit_need(realloc(r->found, r->room * sizeof(*r->found)));
    }
    r->found[r->count++] = *found;
}

static void recover(struct recovery *r, uint8_t fill)
{
    const struct gz_recover_io io = {.read_at = read_at,
                                     .write = write_all,
                                     .tell = tell,
                                     .ctx = r,
                                     .size = r->in.len,
                                     .fill = fill};

    r->out.len = r->count = 0;
    r->reads = 0;
    r->status = gz_recover(&io, &r->sums);
}

/* --- Checking ------------------------------------------------------------------------------- */

/* Finds the first member, from members[*at] on, that has these bytes, and sets *at to the number of
 * the member after it.  Returns false if no member has these bytes. */
static bool find_member(const uint8_t *bytes, uint64_t len, size_t *at)
{
    for (size_t i = *at; i < member_count; i++) {
        const struct member *const m = &members[i];

        if (m->to - m->from == len &&
            (len == 0 || memcmp(original.data + m->from, bytes, (size_t)len) == 0)) {
            *at = i + 1;
            return true;
        }
    }
    return false;
}

/* Compares the two outputs of a file with the findings.  Returns an error's text, or NULL. */
static const char *judge(const struct recovery *r)
{
    uint64_t out = 0, in_verified = 0, differences = 0;
    size_t member = 0;

    if (r[0].status != r[1].status || r[0].out.len != r[1].out.len || r[0].count != r[1].count)
        return "the fill byte matters";
    if (r[0].status == GZ_NOT_GZIP)
        return r[0].out.len == 0 ? NULL : "output of nothing";
    if (r[0].status != GZ_OK && r[0].status != GZ_BAD_DATA)
        return "the status is wrong";
    for (size_t i = 0; i < r[0].count; i++) {
        const struct gz_finding *const f = &r[0].found[i];

        if (f->kind == GZ_FOUND_SEGMENT)
            continue;
        if (f->out != out || f->out_end < f->out || f->in_end < f->in || f->in_end > r[0].in.len)
            return "stretches do not follow each other";
        out = f->out_end;
        if (f->kind != GZ_FOUND_VERIFIED) {
            if (r[0].status == GZ_OK)
                return "damage, and a good status";
            continue;
        }
        in_verified += f->out_end - f->out;
        if (!find_member(r[0].out.data + f->out, f->out_end - f->out, &member))
            return "verified output is wrong";
        if (memcmp(r[0].out.data + f->out, r[1].out.data + f->out, (size_t)(f->out_end - f->out)) !=
            0)
            return "verified output has fill bytes";
    }
    if (out != r[0].out.len || in_verified != r[0].sums.verified)
        return "the stretches do not make the output";
    for (size_t i = 0; i < out; i++)
        differences += r[0].out.data[i] != r[1].out.data[i];
    if (differences != r[0].sums.unknown + r[0].sums.filled)
        return "the number of unknown bytes is wrong";
    if (r[0].sums.verified + r[0].sums.unverified + differences != out)
        return "the sums are wrong";
    return NULL;
}

/* --- Counting ------------------------------------------------------------------------------- */

/* The program searches for a line within NEAR bytes of the place where it should be.  If a line is
 * not there, the program searches within FAR bytes, but only for every FAR_EVERY-th such line. */
enum { LINE = 16, NEAR = 1 << 11, FAR = 1 << 20, FAR_EVERY = 64 };

/* How many bytes of the output there are of each kind. */
struct score {
    uint64_t verified, right, wrong, unknown;
};

/* Looks for the line in the original, within `around` bytes of *place.  If the line is there, sets
 * *place to its place and returns true. */
static bool find_line(const uint8_t *line, size_t *place, size_t around)
{
    const size_t from = *place < around ? 0 : *place - around;
    const size_t to = *place + around < original.len ? *place + around : original.len;
    const uint8_t *found;

    if (*place + LINE <= original.len && memcmp(original.data + *place, line, LINE) == 0)
        return true;
    if (from + LINE > to)
        return false;
    found = memmem(original.data + from, to - from, line, LINE);
    if (found != NULL)
        *place = (size_t)(found - original.data);
    return found != NULL;
}

/* Counts the bytes of the output [from, to), which is not verified. */
static void count(const struct recovery *r, uint64_t from, uint64_t to, struct score *score)
{
    const uint8_t *const one = r[0].out.data, *const other = r[1].out.data;
    size_t place = (size_t)from, missed = 0;

    for (size_t at = (size_t)from, n; at < to; at += n, place += n) {
        const bool is_known = at + LINE <= to && memcmp(one + at, other + at, LINE) == 0;

        n = is_known ? LINE : 1;
        if (is_known && find_line(one + at, &place, missed++ % FAR_EVERY == 0 ? FAR : NEAR)) {
            score->right += n;
            missed = 1;
            continue;
        }
        n = 1;
        if (one[at] != other[at])
            score->unknown++;
        else if (place < original.len && one[at] == original.data[place])
            score->right++;
        else
            score->wrong++;
    }
}

static void add_score(const struct recovery *r, struct score *score)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct gz_finding *const f = &r->found[i];

        if (f->kind == GZ_FOUND_VERIFIED)
            score->verified += f->out_end - f->out;
        else if (f->kind != GZ_FOUND_SEGMENT)
            count(r, f->out, f->out_end, score);
    }
}

/* --- Damage --------------------------------------------------------------------------------- */

/* Replaces in[at..at + out) by `in` bytes of noise. */
static void replace(struct bytes *b, size_t at, size_t out, size_t in, uint64_t *state)
{
    struct bytes rest = {0};

    if (out > b->len - at)
        out = b->len - at;
    add(&rest, b->data + at + out, b->len - at - out);
    b->len = at;
    for (; in > 0; in--)
        add(b, &(uint8_t){(uint8_t)unit_rand(state)}, 1);
    add(b, rest.data, rest.len);
    drop(&rest);
}

static void damage_once(struct bytes *b, int how, uint64_t *state)
{
    const size_t at = (size_t)unit_below(state, b->len);
    const size_t some = 1 + (size_t)unit_below(state, 600);

    switch (how) {
    case 0:
        b->data[at] ^= (uint8_t)(1u << unit_below(state, 8));
        break;
    case 1:
        for (size_t i = at / 512 * 512, n = 512 << unit_below(state, 4); n > 0 && i < b->len; n--)
            b->data[i++] = 0;
        break;
    case 2:
        replace(b, at, some, some < b->len - at ? some : b->len - at, state);
        break;
    case 3:
        b->len = at + 1;
        break;
    case 4:
        replace(b, at, 0, some, state);
        break;
    case 5:
        if (b->len > some)
            replace(b, at, some, 0, state);
        break;
    case 6:
        replace(b, 0, 1 + some % 30, 1 + some % 30, state);
        break;
    default:
        replace(b, 0, 0, some, state);
    }
}

static void damage(struct bytes *b, int how, uint64_t *state)
{
    for (uint64_t n = how < 6 ? 1 + unit_below(state, 3) : 1; n > 0 && b->len > 0; n--)
        damage_once(b, how, state);
}

/* --- All of it ------------------------------------------------------------------------------ */

static void read_whole(struct bytes *b, const char *name)
{
    static uint8_t part[1 << 16];
    FILE *const file = fopen(name, "rb");
    size_t n;

    if (file == NULL)
        die("cannot open a file");
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        add(b, part, n);
    fclose(file);
}

/* Finds the members of the undamaged file. */
static void find_members(const struct bytes *good)
{
    struct recovery r = {.in = *good, .unreadable = UINT64_MAX};

    recover(&r, 0);
    if (r.status != GZ_OK || !same(&r.out, &original))
        die("the undamaged file is not recovered");
    members = unit_need(calloc(r.count + 1, sizeof(*members)));
    for (size_t i = 0; i < r.count; i++)
        members[member_count++] = (struct member){r.found[i].out, r.found[i].out_end};
    free(r.found);
    drop(&r.out);
}

static void print_score(const char *name, const struct score *score, uint64_t files)
{
    const uint64_t all = score->verified + score->right + score->wrong + score->unknown;

    printf("%-8s files %" PRIu64 ", of the original %.2f%% written; of this %.2f%% verified, "
           "%.2f%% right, %.3f%% wrong, %.3f%% unknown\n",
           name, files, 100.0 * (double)all / ((double)original.len * (double)files + 1e-9),
           100.0 * (double)score->verified / ((double)all + 1e-9),
           100.0 * (double)score->right / ((double)all + 1e-9),
           100.0 * (double)score->wrong / ((double)all + 1e-9),
           100.0 * (double)score->unknown / ((double)all + 1e-9));
}

int main(int argc, char **argv)
{
    struct score scores[DAMAGES] = {{0}};
    uint64_t files[DAMAGES] = {0}, state;
    struct recovery r[FILLS] = {{.count = 0}};
    struct bytes good = {0};
    bool is_wrong = false;

    if (argc < 4)
        die("give the original, the compressed file, and a count");
    read_whole(&original, argv[1]);
    read_whole(&good, argv[2]);
    find_members(&good);
    state = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    for (long i = 0, many = strtol(argv[3], NULL, 10); i < many; i++) {
        const int how = (int)(i % DAMAGES);
        const uint64_t seed = state;
        const char *what;

        r[0].in.len = 0;
        add(&r[0].in, good.data, good.len);
        r[0].unreadable = UINT64_MAX;
        if (how < DAMAGES - 2)
            damage(&r[0].in, how, &state);
        else
            r[0].unreadable = unit_below(&state, good.len) / PAGE * PAGE;
        r[0].good_reads = how == DAMAGES - 1;
        r[1].in = r[0].in;
        r[1].unreadable = r[0].unreadable;
        r[1].good_reads = r[0].good_reads;
        for (int fill = 0; fill < FILLS; fill++)
            recover(&r[fill], fill == 0 ? 0 : 0xff);
        what = judge(r);
        if (what != NULL) {
            printf("# %s, damage %s, seed %" PRIu64 ", file %ld: %s\n", argv[2], damage_names[how],
                   seed, i, what);
            is_wrong = true;
        }
        files[how]++;
        add_score(r, &scores[how]);
    }
    for (int how = 0; how < DAMAGES; how++)
        if (files[how] > 0)
            print_score(damage_names[how], &scores[how], files[how]);
    for (int fill = 0; fill < FILLS; fill++) {
        drop(&r[fill].out);
        free(r[fill].found);
    }
    drop(&r[0].in);
    drop(&good);
    drop(&original);
    free(members);
    return is_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
