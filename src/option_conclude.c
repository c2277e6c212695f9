/*
 * option_conclude.c - decides what options mean together, once all were read (option_rows.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/bgzf.h"
#include "base/limits.h"
#include "papers/papers.h"
#include "src/names.h"
#include "src/option_rows.h"

/* The default number of threads: one for each core that this process may run on. */
static int default_threads(void)
{
    const int n = limits_processors();

    return n > PIPELINE_THREADS_MAX ? PIPELINE_THREADS_MAX : n;
}

/* Replaces the level's match finder by the one that --matcher names.  False, with a message
 * printed, if the name or its parameters are wrong. */
static bool choose_matcher(struct options *o, const struct wishes *w, struct messages *m)
{
    struct lz_level level = *lz_level(o->pipeline.level);
    char error[PAPER_ERROR_SIZE];

    if (o->matcher == NULL)
        return true;
    if (w->strategy != STRATEGY_OF_LEVEL) {
        msg_error(m, "--matcher does not go with --huffman and --rle");
        return false;
    }
    if (lz_is_stored(&level)) {
        msg_error(m, "--matcher does not go with level 0, which finds no matches");
        return false;
    }
    if (!paper_parse(o->matcher, &level, error)) {
        m->source = w->matcher_source;
        msg_error(m, "invalid matcher '%s': %s", o->matcher, error);
        return false;
    }
    o->pipeline.own_level = level;
    return true;
}

/* Returns the usual suffix of a format's files. */
static const char *suffix_of(enum container container)
{
    switch (container) {
    case CONTAINER_ZLIB:
        return NAMES_SUFFIX_ZLIB;
    case CONTAINER_RAW:
        return NAMES_SUFFIX_RAW;
    case CONTAINER_ZIP:
        return NAMES_SUFFIX_ZIP;
    case CONTAINER_GZIP:
    case CONTAINER_BGZF:
        break;
    }
    return NAMES_SUFFIX_DEFAULT;
}

/* Whether the options about segments fit BGZF, whose members are small.  If not, prints why. */
static bool suit_bgzf(const struct options *o, struct messages *m)
{
    if (o->pipeline.rsyncable) {
        msg_error(m, "--rsyncable does not go with --format=bgzf, whose members are short anyway");
        return false;
    }
    if (o->pipeline.segment_size > BGZF_DATA_MAX) {
        msg_error(m, "invalid block size for --format=bgzf: give at most %zu (KiB)",
                  BGZF_DATA_MAX >> 10);
        return false;
    }
    return true;
}

/* Whether the options choose a format other than gzip and BGZF. */
static bool has_other_format(const struct options *o)
{
    return o->pipeline.container != CONTAINER_GZIP && o->pipeline.container != CONTAINER_BGZF;
}

/* Compares --recover with other options, and lets the inputs stay.  False, with a message printed,
 * if --recover contradicts another option. */
static bool conclude_recovery(struct options *o, struct messages *m)
{
    const char *other = o->action == ACTION_LIST                  ? "--list"
                        : o->range_count > 0                      ? "--range and --lines"
                        : o->makes_index || o->index_file != NULL ? "--index"
                                                                  : NULL;

    if (!o->recover)
        return true;
    if (other != NULL) {
        msg_error(m, "--recover does not go with %s", other);
        return false;
    }
    if (has_other_format(o)) {
        msg_error(m, "--recover reads only gzip's own format");
        return false;
    }
    o->keep = true;
    return true;
}

/* Whether standard output would get the data of several inputs in a format whose readers do not
 * find all of it.  Readers of .zip find only the last input's data.  Readers of the other such
 * formats stop after the first input's data. */
static bool joins_outputs(const struct options *o)
{
    const enum container c = o->pipeline.container;

    return o->to_stdout && o->action == ACTION_COMPRESS && !options_name_one(o) &&
           c != CONTAINER_GZIP && c != CONTAINER_BGZF;
}

/* Decides where outputs go, and which inputs stay.  False, with a message printed, if the options
 * contradict each other. */
static bool conclude_files(struct options *o, const struct wishes *w, struct messages *m)
{
    if (o->to_stdout || o->action == ACTION_TEST || o->action == ACTION_LIST)
        o->output = o->output_dir = NULL;
    if (o->output != NULL && o->output_dir != NULL) {
        msg_error(m, "--output does not go with --output-dir");
        return false;
    }
    if (o->files_from != NULL && strcmp(o->files_from, "-") == 0 && options_read_stdin(o)) {
        msg_error(m, "standard input cannot be both a list of files and a file");
        return false;
    }
    if (o->output != NULL && strcmp(o->output, "-") == 0) {
        o->to_stdout = true;
        o->output = NULL;
    }
    if (o->output != NULL && !options_name_one(o)) {
        msg_error(m, "--output takes one input; for several, give --output-dir");
        return false;
    }
    /* Inputs in different directories may have the same name.  Their outputs would then have the
     * same name, too: only the last output would be left, but all these inputs would be removed. */
    if (o->output_dir != NULL && !o->mirror && o->force && w->remove && !options_name_one(o)) {
        msg_error(m, "--output-dir with -f and --rm takes one input; for several, give "
                     "--output-dir-mirror");
        return false;
    }
    if (joins_outputs(o)) {
        msg_error(m, "--stdout takes one input with --format=%s; for several, give --output-dir",
                  option_formats[o->pipeline.container]);
        return false;
    }
    /* If the user has said where outputs go, and has not given --rm, the inputs stay. */
    if ((o->output != NULL || o->output_dir != NULL) && !w->remove)
        o->keep = true;
    if (o->output != NULL && o->action == ACTION_DECOMPRESS)
        o->no_name = true;
    return true;
}

/* Whether all compressed data is in files with names, from which the indexes' names can be made. */
static bool names_compressed(const struct options *o)
{
    if (o->action == ACTION_COMPRESS)
        return !o->to_stdout && (o->output != NULL || !options_read_stdin(o));
    return !options_read_stdin(o);
}

/* Compares --index, or --index-file without a range, with other options.  False, with a message
 * printed, if it contradicts another option. */
static bool conclude_index(const struct options *o, struct messages *m)
{
    if (o->action == ACTION_LIST) {
        msg_error(m, "--index does not go with -l");
        return false;
    }
    if (has_other_format(o)) {
        msg_error(m, "only a file in gzip's own format can have an index");
        return false;
    }
    if (o->action == ACTION_COMPRESS && o->pipeline.rsyncable) {
        msg_error(m, "--index does not go with --rsyncable: make the index afterwards, with -t");
        return false;
    }
    if (o->index_file == NULL && !names_compressed(o)) {
        msg_error(m, "--index needs --index-file, since the compressed data has no name");
        return false;
    }
    return true;
}

/* Applies bgzip's -b and -s: both write to standard output, and -b decompresses.  As in bgzip, -s
 * says nothing about compression, and both say nothing about -t and -r. */
static bool conclude_bgzip(struct options *o, const struct wishes *w, struct messages *m)
{
    if (w->test || (!w->has_offset && !w->has_size))
        return true;
    if (o->output == NULL && o->output_dir == NULL)
        o->to_stdout = true;
    if (!w->has_offset && !w->decompress)
        return true;
    /* Other options of bgzip make no ranges. */
    free(o->ranges);
    o->range_count = 0;
    o->ranges = malloc(sizeof(*o->ranges));
    if (o->ranges == NULL) {
        msg_error(m, "memory exhausted");
        return false;
    }
    o->ranges[o->range_count++] =
        (struct range){.from = w->offset, .length = w->has_size ? w->size : UINT64_MAX};
    return true;
}

/* Decides what --range, --lines, --index and --index-file mean.  Call this after conclude_files.
 * False, with a message printed, if the options contradict each other. */
static bool conclude_parts(struct options *o, const struct wishes *w, struct messages *m)
{
    if (w->only_names_index && !o->makes_index && o->range_count == 0)
        o->index_file = NULL;
    if (o->index_file != NULL && !options_name_one(o)) {
        msg_error(m, "--index-file is for one file");
        return false;
    }
    if (o->range_count == 0) {
        o->makes_index |= o->index_file != NULL;
        return !o->makes_index || conclude_index(o, m);
    }
    if (o->action != ACTION_DECOMPRESS) {
        msg_error(m, "--range and --lines do not go with -t and -l");
        return false;
    }
    if (o->makes_index) {
        msg_error(m, "--index does not go with --range and --lines");
        return false;
    }
    if (o->output == NULL && o->output_dir == NULL)
        o->to_stdout = true;
    o->keep = true;
    return true;
}

bool options_conclude(struct options *o, const struct wishes *w, struct messages *m)
{
    size_t suffix;

    o->suffix = w->suffix != NULL ? w->suffix : suffix_of(o->pipeline.container);
    suffix = strlen(o->suffix);
    if (!conclude_bgzip(o, w, m))
        return false;
    if (o->action == ACTION_COMPRESS &&
        (w->decompress || w->test || w->list || o->recover || o->range_count > 0))
        o->action = w->list ? ACTION_LIST : w->test ? ACTION_TEST : ACTION_DECOMPRESS;
    if (!conclude_recovery(o, m))
        return false;
    o->no_name = w->no_name < 0 ? o->action != ACTION_COMPRESS : w->no_name;
    o->no_time = w->no_time < 0 ? o->action != ACTION_COMPRESS : w->no_time;
    if (suffix == 0 || suffix > NAMES_SUFFIX_MAX) {
        m->source = w->suffix_source;
        msg_error(m, "invalid suffix '%s'", o->suffix);
        return false;
    }
    if (o->pipeline.rsyncable && o->pipeline.backend == BACKEND_GPU) {
        msg_error(m, "--rsyncable does not go with --backend=gpu");
        return false;
    }
    if (o->pipeline.container == CONTAINER_BGZF && !suit_bgzf(o, m))
        return false;
    if (!choose_matcher(o, w, m) || !conclude_files(o, w, m) || !conclude_parts(o, w, m))
        return false;
    /* Level 0 stores with any strategy, as in zlib. */
    if (w->strategy != STRATEGY_OF_LEVEL && o->pipeline.level != LZ_LEVEL_STORED)
        o->pipeline.own_level = w->strategy == STRATEGY_HUFFMAN ? lz_huffman_only : lz_run_length;
    if (w->ascii && !m->quiet)
        msg_note(m, "option --ascii ignored on this system");
    o->threads_given = o->pipeline.threads > 0;
    if (!o->threads_given)
        o->pipeline.threads = default_threads();
    if (o->pipeline.segment_size == 0)
        o->pipeline.segment_size = pipeline_segment_default(&o->pipeline);
    return true;
}
