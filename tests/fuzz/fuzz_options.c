/*
 * fuzz_options.c - any options are accepted, or refused with a message and a status
 *
 * A fuzz target (target.h).  The input is words, each ended by a zero byte: the name by which the
 * command is called, the contents of the variables GZIP and GZLZSS, and the arguments.
 */
#include "config.h"

#include "src/options.h"
#include "tests/fuzz/words.h"

static void check_accepted(const struct options *o, int argc)
{
    const struct pipeline_config *p = &o->pipeline;

    REQUIRE(o->name_count >= 0 && o->name_count < argc);
    REQUIRE(strlen(o->suffix) >= 1 && strlen(o->suffix) <= NAMES_SUFFIX_MAX);
    REQUIRE(p->threads >= 0 && p->threads <= PIPELINE_THREADS_MAX);
    REQUIRE(p->segment_size >= LZ_SEGMENT_MIN && p->segment_size <= LZ_SEGMENT_MAX);
}

void fuzz_options(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len};
    struct fuzz_words w;
    struct options o;
    struct messages m = {.collect = true};

    fuzz_words_read(&w, &in, SIZE_MAX);
    m.program = w.argv[0];
    if (!options_parse(&o, w.argc, w.argv, &m)) {
        REQUIRE(m.status == STATUS_ERROR && m.length > 0);
    } else {
        REQUIRE(m.status != STATUS_ERROR);
        if (o.action <= ACTION_LIST)
            check_accepted(&o, w.argc);
    }
    options_free(&o);
    msg_discard(&m);
    fuzz_words_free(&w);
}
