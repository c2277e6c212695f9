/*
 * mutate_codec.c - damages files in the papers' formats (papers/codec/), and decodes them
 *
 * Small inputs are coded in each format.  Their files are then damaged at random: some as a whole,
 * others only in one chunk, whose size may change, so that the checks of the front do not hide the
 * chunk's decoder.  For position lists, others are damaged before the range coder.  Damaged data
 * may be refused or give other plain bytes.  They are decoded twice, in memory of exactly the right
 * size: both results must be the same, and a chunk that is not refused must set all of its bytes.
 *
 *     mutate_codec           3000 damaged inputs for each format, the same on each run
 *     mutate_codec N [SEED]  N of them, with other damage for another SEED
 */
#include "config.h"

#include <string.h>

#include "papers/codec/codec.h"
#include "papers/codec/position_lists.h"
#include "tests/unit/methods.h"

enum { DEFAULT_RUNS = 3000, FILES = 24, LONGEST = 9000 };

/* A file, and the plain bytes. */
struct sample {
    struct lz_level level;
    uint8_t *coded;
    size_t size;
    uint8_t packed[100000]; /* position lists: the first block before the range coder */
    uint32_t packed_size;
};

static struct sample samples[FILES];
static unsigned long runs = DEFAULT_RUNS;
static uint64_t seed = 1;

/* --- Samples ---------------------------------------------------------------------------------- */

/* Sets the level to one of the method's variants whose keys fit; `number` chooses it. */
static void choose_variant(const struct paper_format *format, unsigned number,
                           struct lz_level *level)
{
    const struct paper_method *method = NULL;
    char error[PAPER_ERROR_SIZE];
    unsigned n = 0, variants = 0;

    for (size_t i = 0; paper_methods[i] != NULL; i++)
        if (strcmp(paper_methods[i]->name, format->method) == 0)
            method = paper_methods[i];
    while (make_variant(method, variants, level))
        variants++;
    for (n = number % variants;; n = (n + 1) % variants)
        if (make_variant(method, n, level) && paper_fits(format, level, error))
            return;
}

static void make_sample(const struct paper_format *format, unsigned number, struct sample *s)
{
    static const struct input_kind kinds[] = {{"words", WORDS, 0},
                                              {"tokens", TOKENS, 100},
                                              {"few", FEW_VALUES, 3},
                                              {"period", PERIOD, 23},
                                              {"zeros", ZEROS, 0}};
    const size_t len = number % 4 == 3 ? LONGEST : 40 + 131 * (number % 7);
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD));
    uint16_t *tags = unit_need(malloc(len * sizeof(*tags)));

    choose_variant(format, number, &s->level);
    fill_kind(in, len, &kinds[number % 5], LONGEST_TOKEN, number);
    CHECK(paper_match(format, &s->level, in, len, tags));
    s->coded = unit_need(paper_encode(format, &s->level, in, len, tags, &s->size));
    if (format->family == CODEC_POSITION_LISTS) {
        const struct codec_shape shape = format->shape(&s->level);
        const uint32_t first = (uint32_t)(len < shape.chunk ? len : shape.chunk);

        s->packed_size = position_lists_pack(&shape, in, tags, first, s->packed);
        CHECK(s->packed_size <= sizeof(s->packed));
    }
    free(tags);
    free(in);
}

/* --- Damage ----------------------------------------------------------------------------------- */

/* Damages bytes[0..*size) in one to three places, or cuts them off.  Returns them in memory of
 * exactly *size bytes, or of one byte if *size is 0. */
static uint8_t *damaged(const uint8_t *bytes, size_t *size, uint64_t *state)
{
    const bool is_front = unit_below(state, 3) == 0;
    uint8_t *copy = unit_need(malloc(*size + 8)), *exact;

    if (*size > 0)
        memcpy(copy, bytes, *size);
    for (uint64_t places = 1 + unit_below(state, 3); places > 0 && *size > 0; places--) {
        const size_t most = is_front && *size > 40 ? 40 : *size, at = unit_below(state, most);

        switch (unit_below(state, 8)) {
        case 0:
            *size = at;
            break;
        case 1:
            copy[at] = 0;
            break;
        case 2:
            copy[at] = 255;
            break;
        case 3:
            memmove(copy + at, copy + at + 1, --*size - at);
            break;
        case 4:
            copy[at] = (uint8_t)unit_rand(state);
            break;
        default:
            copy[at] ^= (uint8_t)(1 << unit_below(state, 8));
        }
    }
    if (unit_below(state, 16) == 0)
        copy[(*size)++] = (uint8_t)unit_rand(state);
    exact = unit_need(malloc(*size > 0 ? *size : 1));
    memcpy(exact, copy, *size);
    free(copy);
    return exact;
}

/* --- Decoding --------------------------------------------------------------------------------- */

/* Checks that paper_open refuses a file, or gives only places that lie in it. */
static void check_places(const struct paper_format *format, const struct sample *s,
                         const uint8_t *bytes, size_t size)
{
    struct codec_file file;

    if (paper_open(&file, format, &s->level, bytes, size))
        for (size_t i = 0; i < (size_t)file.count * format->parts; i++)
            CHECK(file.places[i].at <= size && file.places[i].size <= size - file.places[i].at);
    paper_close(&file);
}

/* Decodes the damaged file twice. Returns whether it was decoded. */
static bool decode_file(const struct paper_format *format, const struct sample *s, uint64_t *state)
{
    size_t size = s->size, lens[2] = {0, 0};
    uint8_t *const file = damaged(s->coded, &size, state);
    uint8_t *const one = paper_decode(format, &s->level, file, size, &lens[0]);
    uint8_t *const two = paper_decode(format, &s->level, file, size, &lens[1]);
    const bool is_good = one != NULL;

    check_places(format, s, file, size);
    CHECK_EQ(is_good, two != NULL);
    if (is_good && two != NULL)
        CHECK(lens[0] == lens[1] && memcmp(one, two, lens[0]) == 0);
    free(one);
    free(two);
    free(file);
    return is_good;
}

/* Decodes chunk i of the file bytes[] into memory that was filled with 0, then with 255.  Returns
 * whether it was decoded. */
static bool decode_chunk(const struct codec_file *file, uint32_t i, const uint8_t *bytes)
{
    const uint32_t plain = paper_plain(file, i);
    uint8_t *const one = unit_need(calloc(1, plain));
    uint8_t *const two = unit_need(malloc(plain));
    bool is_good;

    memset(two, 255, plain);
    is_good = file->format->decode(file, i, bytes, one);
    CHECK_EQ(is_good, file->format->decode(file, i, bytes, two));
    CHECK(!is_good || memcmp(one, two, plain) == 0);
    free(one);
    free(two);
    return is_good;
}

/* Damages one part of one chunk, and decodes the chunk. */
static bool decode_part(const struct paper_format *format, const struct sample *s, uint64_t *state)
{
    struct codec_file file;
    uint8_t *part;
    size_t size;
    uint32_t chunk, other;
    bool is_good = false;

    if (CHECK(paper_open(&file, format, &s->level, s->coded, s->size))) {
        const uint32_t parts = format->parts;
        struct codec_place *place;

        chunk = (uint32_t)unit_below(state, file.count);
        other = parts == 2 ? (uint32_t)unit_below(state, 2) : 0;
        place = &file.places[(size_t)chunk * parts];
        size = place[other].size;
        part = damaged(s->coded + place[other].at, &size, state);
        if (parts == 2) {
            /* Both parts must be in one piece of memory.  The damaged part is at its end, so that
             * a sanitizer sees reads past it. */
            const uint32_t kept = place[1 - other].size;
            uint8_t *const both = unit_need(malloc(kept + size + 1));

            memcpy(both, s->coded + place[1 - other].at, kept);
            memcpy(both + kept, part, size);
            free(part);
            part = unit_need(realloc(both, kept + size > 0 ? kept + size : 1));
            place[1 - other].at = 0;
            place[other].at = kept;
        } else {
            place->at = 0;
        }
        place[other].size = (uint32_t)size;
        is_good = decode_chunk(&file, chunk, part);
        free(part);
    }
    paper_close(&file);
    return is_good;
}

/* Damages the packed block, and decodes it after range-coding it. */
static bool decode_packed(const struct paper_format *format, const struct sample *s,
                          uint64_t *state)
{
    size_t size = s->packed_size;
    uint8_t *const packed = damaged(s->packed, &size, state);
    uint64_t counts[256] = {0};
    struct codec_file file;
    uint8_t *ranged = unit_need(malloc(range_bound(size)));
    bool is_good = false;

    if (CHECK(paper_open(&file, format, &s->level, s->coded, s->size))) {
        for (size_t i = 0; i < size; i++)
            counts[packed[i]]++;
        counts[0]++; /* no packed block is empty */
        paper_set_model(&file.model, counts);
        file.places[0].at = 0;
        file.places[0].size = range_encode(&file.model, packed, (uint32_t)size, ranged);
        ranged = unit_need(realloc(ranged, file.places[0].size));
        is_good = decode_chunk(&file, 0, ranged);
    }
    paper_close(&file);
    free(ranged);
    free(packed);
    return is_good;
}

static void damage_format(const struct paper_format *format)
{
    uint64_t state = seed;
    unsigned long good = 0;

    for (unsigned i = 0; i < FILES; i++)
        make_sample(format, i, &samples[i]);
    for (unsigned long i = 0; i < runs; i++) {
        const struct sample *const s = &samples[unit_below(&state, FILES)];
        const unsigned kind = i % (format->family == CODEC_POSITION_LISTS ? 3 : 2);

        good += kind == 0   ? decode_file(format, s, &state)
                : kind == 1 ? decode_part(format, s, &state)
                            : decode_packed(format, s, &state);
    }
    for (unsigned i = 0; i < FILES; i++)
        free(samples[i].coded);
    printf("# %s%s%s: %lu damaged inputs, %lu of them decoded\n", format->method,
           format->form != NULL ? ", form " : "", format->form != NULL ? format->form : "", runs,
           good);
    CHECK(good < runs);
}

static void test_damaged(void)
{
    for (size_t f = 0; paper_formats[f] != NULL; f++)
        damage_format(paper_formats[f]);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        runs = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    RUN(test_damaged);
    return unit_done();
}
