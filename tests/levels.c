/*
 * levels.c - the level table, for tests
 *
 * `levels` prints a line "LEVEL FINDER" for each level, from 0 on.  Functions in tests/helpers.bash
 * use it.
 *
 * `levels FILE...` checks that compressed data depends on the table.  For each row, and each
 * parameter that the row's finder or the encoder reads, the program makes the parameter a little
 * larger and a little smaller, and compresses the files.  If no file's output changes, the program
 * prints the row, the parameter and the value that made no difference.  So if it prints nothing,
 * and the files' digests are recorded for each row (tests/data), no number of the table can change
 * without a test that fails.
 *
 * Three columns are not tested here.  core_guess changes no byte (tests/unit/test_policy.c).
 * segment_default decides where segments end, which the digests of data longer than a segment show
 * by themselves; the format decides it for BGZF.  A finder that is exchanged changes nearly
 * everything.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bgzf.h"
#include "huffman/huffman.h"
#include "lzss/finders.h"
#include "lzss/lzss.h"

/* The most bytes of a file that are read: one segment. */
#define DATA_MAX ((size_t)1 << 20)

/* Room for a compressed file. */
#define ROOM (2 * DATA_MAX)

enum parameter { DEPTH, LONG_DEPTH, LONGEST_DEPTH, NICE, MAX_DISTANCE3, LAZY, PASSES, SPLIT };

static const char *const names[] = {"depth",         "long_depth", "longest_depth", "nice",
                                    "max_distance3", "lazy",       "passes",        "split"};

enum { PARAMETERS = sizeof(names) / sizeof(*names) };

static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* Whether output can depend on a parameter with this finder.  The comments at the finders
 * (lzss/chains.h, optimal.h, tagging.h) say what they read. */
static bool is_read(const struct lz_finder *finder, enum parameter which)
{
    if (which == SPLIT)
        return finder != &lz_finder_optimal; /* which has HUFF_BEST */
    if (finder == &lz_finder_chains)
        return which != LONGEST_DEPTH && which != PASSES;
    if (finder == &lz_finder_optimal)
        return which != MAX_DISTANCE3 && which != LAZY;
    return false;
}

/* The values of a parameter that a row may have. */
static const struct {
    int least, most;
} limits[PARAMETERS] = {
    [DEPTH] = {1, 65535},        [LONG_DEPTH] = {0, 65535},        [LONGEST_DEPTH] = {0, 65535},
    [NICE] = {12, LZ_MAX_MATCH}, [MAX_DISTANCE3] = {0, 32767},     [LAZY] = {0, 2},
    [PASSES] = {1, 255},         [SPLIT] = {HUFF_SPLIT_MIN, 65535}};

static int get(const struct lz_level *l, enum parameter which)
{
    const int values[PARAMETERS] = {l->depth,         l->long_depth, l->longest_depth, l->nice,
                                    l->max_distance3, l->lazy,       l->passes,        l->split};

    return values[which];
}

static void set(struct lz_level *l, enum parameter which, int value)
{
    switch (which) {
    case DEPTH:
        l->depth = (uint16_t)value;
        break;
    case LONG_DEPTH:
        l->long_depth = (uint16_t)value;
        break;
    case LONGEST_DEPTH:
        l->longest_depth = (uint16_t)value;
        break;
    case NICE:
        l->nice = (uint16_t)value;
        break;
    case MAX_DISTANCE3:
        l->max_distance3 = (uint16_t)value;
        break;
    case LAZY:
        l->lazy = (uint8_t)value;
        break;
    case PASSES:
        l->passes = (uint8_t)value;
        break;
    case SPLIT:
        l->split = (uint16_t)value;
        break;
    }
}

/* By how much a parameter is changed.  Few searches have hundreds of candidates, and most of these
 * few look ahead with half of the depth; so a large depth is changed by two. */
static int change(const struct lz_level *l, enum parameter which)
{
    return which == LONG_DEPTH && l->long_depth >= 256 ? 2 : 1;
}

/* A file, and its bytes compressed as a row says. */
struct data {
    uint8_t *bytes, *right;
    size_t len, right_len;
};

/* Compresses a file as `level` says, in segments, to out[0..*out_len). */
static void compress(const struct data *d, const struct lz_level *level, size_t segment,
                     uint8_t *out, size_t *out_len)
{
    struct lz_matcher *m = need(lz_matcher_new(level, segment));
    struct huff_encoder *e = need(huff_encoder_new());

    *out_len = 0;
    for (size_t at = 0, n, wrote; at < d->len; at += n, *out_len += wrote) {
        n = d->len - at < segment ? d->len - at : segment;
        if (!huff_encode_segment(e, d->bytes + at, n, lz_match_segment(m, d->bytes + at, n),
                                 level->split, HUFF_MARK, out + *out_len, &wrote))
            abort();
    }
    huff_encoder_free(e);
    lz_matcher_free(m);
}

/* Whether a file's output differs with `other`, a changed row. */
static bool differs(const struct data *files, int count, const struct lz_level *other,
                    size_t segment)
{
    static uint8_t out[ROOM];
    size_t len;

    for (int i = 0; i < count; i++) {
        compress(&files[i], other, segment, out, &len);
        if (len != files[i].right_len || memcmp(out, files[i].right, len) != 0)
            return true;
    }
    return false;
}

/* Returns how many changes of the row made no difference. */
static int check_row(struct data *files, int count, int row)
{
    const size_t segment = row < LZ_ROW_BGZF ? DATA_MAX : BGZF_DATA_MAX;
    const struct lz_level *level = lz_level(row);
    int same = 0;

    for (int i = 0; i < count; i++)
        compress(&files[i], level, segment, files[i].right, &files[i].right_len);
    for (unsigned which = 0; which < PARAMETERS; which++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const int value = get(level, which) + sign * change(level, which);
            struct lz_level other = *level;

            if (!is_read(level->finder, which) || value < limits[which].least ||
                value > limits[which].most)
                continue;
            set(&other, which, value);
            if (differs(files, count, &other, segment))
                continue;
            printf("row %d: the output is the same with %s %d\n", row, names[which], value);
            same++;
        }
    return same;
}

static void read_file(const char *name, struct data *d)
{
    FILE *file = fopen(name, "rb");

    if (file == NULL) {
        perror(name);
        exit(2);
    }
    d->bytes = need(calloc(DATA_MAX + LZ_INPUT_PAD, 1));
    d->right = need(malloc(ROOM));
    d->len = fread(d->bytes, 1, DATA_MAX, file);
    fclose(file);
}

static int check_files(char **files_named, int count)
{
    struct data *files = need(calloc((size_t)count, sizeof(*files)));
    int same = 0;

    for (int i = 0; i < count; i++)
        read_file(files_named[i], &files[i]);
    for (int row = LZ_LEVEL_MIN; row < LZ_ROWS; row++)
        same += check_row(files, count, row);
    for (int i = 0; i < count; i++) {
        free(files[i].bytes);
        free(files[i].right);
    }
    free(files);
    return same;
}

int main(int argc, char **argv)
{
    int same = 0;

    if (argc > 1)
        same = check_files(argv + 1, argc - 1);
    else
        for (int level = LZ_LEVEL_STORED; level <= LZ_LEVEL_MAX; level++)
            printf("%d %s\n", level, lz_level(level)->finder->name);
    return fflush(stdout) != 0 || same != 0;
}
