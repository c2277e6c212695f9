/*
 * test_paper_codec_kernels.c - a GPU codes and decodes the papers' formats as the CPU does
 *
 * Like test_paper_kernels.c, tests/unit/test_paper_codec_kernels runs on an emulated device, which
 * is slow, and tests/gpu/test_paper_codec_kernels on a real one. The tests go through the list of
 * formats.
 */
#include "config.h"

#include <string.h>

#include "papers/codec/codec.h"
#include "papers/codec/gpu.h"
#include "tests/unit/kernels.h"
#include "tests/unit/methods.h"

/* An input, coded on the CPU. */
struct coded {
    const struct paper_format *format;
    const struct lz_level *level;
    const uint8_t *in;
    size_t len;
    uint16_t *tags;
    uint8_t *file;
    size_t size;
};

static void print_place(const struct coded *c, const char *what, enum paper_gpu_form form)
{
    printf("# %s, form %s, %zu bytes, %s %s\n", c->format->method,
           c->format->form != NULL ? c->format->form : "-", c->len, what,
           paper_gpu_form_name(form));
}

/* Codes in[0..len) on the CPU. LZ_INPUT_PAD bytes after it are readable. */
static struct coded code_on_cpu(const struct paper_format *format, const struct lz_level *level,
                                const uint8_t *in, size_t len)
{
    struct coded c = {format, level, in, len, unit_need(calloc(len + 1, sizeof(*c.tags))), NULL, 0};

    CHECK(paper_match(format, level, in, len, c.tags));
    c.file = unit_need(paper_encode(format, level, in, len, c.tags, &c.size));
    return c;
}

static void free_coded(struct coded *c)
{
    free(c->tags);
    free(c->file);
}

static struct paper_gpu *open_gpu(const struct paper_format *format, const struct lz_level *level,
                                  size_t most)
{
    char error[GPU_ERROR_SIZE] = "";
    struct paper_gpu *g = paper_gpu_open(0, format, level, most, error);

    if (!CHECK(g != NULL)) {
        printf("# %s: %s\n", format->method, error);
        abort();
    }
    return g;
}

/* Checks a step's result. */
static bool is_done(bool result, const char *error)
{
    if (!CHECK(result))
        printf("# %s\n", error);
    return result;
}

/* Lets the device match the plain bytes, which it has. Whether its tags are the CPU's. */
static bool matches_alike(struct paper_gpu *g, const struct coded *c)
{
    uint16_t *tags = unit_need(calloc(c->len + 1, sizeof(*tags)));
    char error[GPU_ERROR_SIZE] = "";
    const bool is_alike =
        is_done(paper_gpu_match(g, error) && paper_gpu_take_tags(g, tags, error), error) &&
        CHECK(memcmp(tags, c->tags, c->len * sizeof(*tags)) == 0);

    free(tags);
    return is_alike;
}

/* Whether the device codes the input to the same bytes in this form. */
static bool codes_so(struct paper_gpu *g, const struct coded *c, enum paper_gpu_form form)
{
    uint8_t *file = unit_need(malloc(c->size + 1));
    char error[GPU_ERROR_SIZE] = "";
    size_t size = 0;
    bool is_alike = is_done(paper_gpu_put_plain(g, c->in, c->len, error), error) &&
                    (form == PAPER_GPU_FUSED || matches_alike(g, c));

    memset(file, 1, c->size);
    is_alike = is_alike && is_done(paper_gpu_code(g, form, &size, error), error) &&
               CHECK_EQ(size, c->size) && is_done(paper_gpu_take_coded(g, file, error), error) &&
               CHECK(memcmp(file, c->file, size) == 0);
    if (!is_alike)
        print_place(c, "coded by", form);
    free(file);
    return is_alike;
}

/* The same for all forms. Each form gets new memory, so that bytes that another form has left there
 * cannot help. */
static bool codes_alike(const struct coded *c)
{
    bool is_alike = true;

    for (enum paper_gpu_form form = 0; is_alike && form < PAPER_GPU_FORMS; form++) {
        struct paper_gpu *g = open_gpu(c->format, c->level, c->len > 0 ? c->len : 1);

        is_alike = !paper_gpu_can_code(g, form) || codes_so(g, c, form);
        paper_gpu_close(g);
    }
    return is_alike;
}

/* Whether the device decodes the file to the input, in all forms. */
static bool decodes_alike(struct paper_gpu *g, const struct coded *c)
{
    uint8_t *out = unit_need(malloc(c->len + 1));
    char error[GPU_ERROR_SIZE] = "";
    bool is_alike = true;

    for (enum paper_gpu_form form = 0; is_alike && form < PAPER_GPU_FORMS; form++) {
        size_t len = 0;

        if (!paper_gpu_can_decode(g, form))
            continue;
        memset(out, 1, c->len);
        /* What the form before has made must not help. */
        is_alike = is_done(paper_gpu_put_plain(g, out, c->len, error), error) &&
                   is_done(paper_gpu_put_coded(g, c->file, c->size, error), error) &&
                   is_done(paper_gpu_decode(g, form, &len, error), error) &&
                   CHECK_EQ(len, c->len) && is_done(paper_gpu_take_plain(g, out, error), error) &&
                   CHECK(memcmp(out, c->in, len) == 0);
        if (!is_alike)
            print_place(c, "decoded by", form);
    }
    free(out);
    return is_alike;
}

/* Codes and decodes in[0..len) on both sides. LZ_INPUT_PAD bytes after it are readable. */
static bool compare_bytes(const struct paper_format *format, const struct lz_level *level,
                          const uint8_t *in, size_t len)
{
    struct coded c = code_on_cpu(format, level, in, len);
    struct paper_gpu *g = open_gpu(format, level, len > 0 ? len : 1);
    const bool is_alike = codes_alike(&c) && decodes_alike(g, &c);

    paper_gpu_close(g);
    free_coded(&c);
    return is_alike;
}

static bool compare_input(const struct paper_format *format, const struct lz_level *level,
                          const struct input_kind *k, size_t len)
{
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD));
    bool is_alike;

    fill_kind(in, len, k, LONGEST_TOKEN, 1);
    is_alike = compare_bytes(format, level, in, len);
    if (!is_alike)
        printf("# %s\n", k->name);
    free(in);
    return is_alike;
}

/* The method of a format. */
static const struct paper_method *method_of(const struct paper_format *format)
{
    size_t i = 0;

    while (strcmp(paper_methods[i]->name, format->method) != 0)
        i++;
    return paper_methods[i];
}

/* Calls test(format, level) for each format with the usual values. */
static void for_each_format(void (*test)(const struct paper_format *format,
                                         const struct lz_level *level))
{
    struct lz_level level;

    for (size_t i = 0; paper_formats[i] != NULL; i++) {
        make_variant(method_of(paper_formats[i]), 0, &level);
        if (CHECK(paper_fits(paper_formats[i], &level, (char[PAPER_ERROR_SIZE]){""})))
            test(paper_formats[i], &level);
    }
}

static void compare_kinds(const struct paper_format *format, const struct lz_level *level)
{
    static const struct input_kind *const kinds[] = {&zeros, &period, &random_bytes, &tokens,
                                                     &words};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        compare_input(format, level, kinds[i], 70 * KIB + 77);
}

static void test_kinds(void)
{
    for_each_format(compare_kinds);
}

static void compare_lengths(const struct paper_format *format, const struct lz_level *level)
{
    static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 13, 14, 31, 257, 2047, 2049, 4097, 4099};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        compare_input(format, level, &zeros, lengths[i]);
        compare_input(format, level, &words, lengths[i]);
    }
}

static void test_lengths(void)
{
    for_each_format(compare_lengths);
}

/* Chunks of a MiB, where a format has them, and more than one segment of the others. */
static void compare_long(const struct paper_format *format, const struct lz_level *level)
{
    if (format->layout.has_heads)
        compare_input(format, level, &words, 2 * 1024 * KIB + 33 * KIB + 5);
}

static void test_long(void)
{
    if (!UNIT_SANITIZED)
        for_each_format(compare_long);
}

/* Tests every variant that fits, with matches near the greatest length and distance. */
static void test_variants(void)
{
    const size_t len = 34 * KIB + 5;
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD));
    struct lz_level level;

    for (size_t i = 0; paper_formats[i] != NULL; i++) {
        const struct paper_method *method = method_of(paper_formats[i]);

        for (unsigned n = 0; make_variant(method, n, &level); n += UNIT_SANITIZED ? 3 : 1) {
            if (!paper_fits(paper_formats[i], &level, (char[PAPER_ERROR_SIZE]){""}))
                continue;
            fill_edges(in, len, method, &level, n);
            if (!compare_bytes(paper_formats[i], &level, in, len))
                print_variant(method, &level);
        }
    }
    free(in);
}

/* CULZSS stores a chunk that would not get smaller: 12 literals, a match and two bytes of flags are
 * 16 bytes. */
static void test_stored(void)
{
    static const char text[] = "abcdefghijklabcde";
    uint8_t in[sizeof(text) + LZ_INPUT_PAD] = {0};
    const struct paper_format *format = paper_format_of("culzss", NULL);
    struct lz_level level = *lz_level(LZ_LEVEL_DEFAULT);
    char error[PAPER_ERROR_SIZE];

    CHECK(paper_parse("culzss", &level, error));
    for (size_t len = 15; len < sizeof(text); len++) {
        memset(in, 0, sizeof(in));
        memcpy(in, text, len);
        compare_bytes(format, &level, in, len);
    }
}

/* The bytes that one struct paper_gpu has coded do not change those that it codes later. */
static void compare_in_turn(const struct paper_format *format, const struct lz_level *level)
{
    static const struct input_kind *const kinds[] = {&words, &zeros, &random_bytes, &tokens};
    const size_t most = 40 * KIB;
    uint8_t *in = unit_need(calloc(1, most + LZ_INPUT_PAD));
    struct paper_gpu *g = open_gpu(format, level, most);

    for (size_t i = 0; i <= sizeof(kinds) / sizeof(kinds[0]); i++) {
        const bool is_last = i == sizeof(kinds) / sizeof(kinds[0]);
        const size_t len = is_last ? 0 : most - 7000 * i;
        struct coded c;

        fill_kind(in, len, is_last ? &zeros : kinds[i], LONGEST_TOKEN, i);
        c = code_on_cpu(format, level, in, len);
        for (enum paper_gpu_form form = 0; form < PAPER_GPU_FORMS; form++)
            if (paper_gpu_can_code(g, form))
                codes_so(g, &c, form);
        decodes_alike(g, &c);
        free_coded(&c);
    }
    paper_gpu_close(g);
    free(in);
}

static void test_in_turn(void)
{
    for_each_format(compare_in_turn);
}

/* --- Damaged files ---------------------------------------------------------------------------- */

/* Decodes a file that may be damaged in all forms. Each form must find what the CPU finds. */
static void decode_damaged(struct paper_gpu *g, const struct coded *c, const uint8_t *file,
                           size_t size)
{
    size_t expected_len = 0;
    uint8_t *expected = paper_decode(c->format, c->level, file, size, &expected_len);
    char error[GPU_ERROR_SIZE] = "";

    /* Some changes make the plain size larger than the device has been told to expect. */
    if (expected != NULL && expected_len > c->len) {
        CHECK(!paper_gpu_put_coded(g, file, size, error));
        free(expected);
        return;
    }
    for (enum paper_gpu_form form = 0; form < PAPER_GPU_FORMS; form++) {
        uint8_t *out;
        size_t len = 0;
        bool is_good;

        if (!paper_gpu_can_decode(g, form))
            continue;
        is_good =
            paper_gpu_put_coded(g, file, size, error) && paper_gpu_decode(g, form, &len, error);
        if (!CHECK_EQ(is_good, expected != NULL))
            print_place(c, "damaged, decoded by", form);
        if (!is_good || expected == NULL)
            continue;
        out = unit_need(malloc(len + 1));
        if (!CHECK_EQ(len, expected_len) || !CHECK(paper_gpu_take_plain(g, out, error)) ||
            !CHECK(memcmp(out, expected, len) == 0))
            print_place(c, "damaged, decoded by", form);
        free(out);
    }
    free(expected);
}

static void decode_all_damaged(const struct paper_format *format, const struct lz_level *level,
                               const struct input_kind *k, size_t len, uint64_t seed)
{
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD)), *file;
    struct paper_gpu *g = open_gpu(format, level, len);
    struct coded c;

    fill_kind(in, len, k, LONGEST_TOKEN, seed);
    c = code_on_cpu(format, level, in, len);
    file = unit_need(malloc(c.size + 1));
    for (unsigned i = 0; i < (UNIT_SANITIZED ? 60 : 200); i++) {
        const size_t at = i < 24 ? i % c.size : unit_below(&seed, c.size);

        memcpy(file, c.file, c.size);
        file[at] = (uint8_t)(file[at] ^ (1 + unit_below(&seed, 255)));
        decode_damaged(g, &c, file, c.size);
    }
    for (unsigned i = 0; i < 16; i++) {
        memcpy(file, c.file, c.size);
        decode_damaged(g, &c, file, i == 0 ? c.size - 1 : unit_below(&seed, c.size));
    }
    free(file);
    free_coded(&c);
    paper_gpu_close(g);
    free(in);
}

static void damage(const struct paper_format *format, const struct lz_level *level)
{
    decode_all_damaged(format, level, &words, 5000, 1);
    decode_all_damaged(format, level, &tokens, 9000, 2);
}

static void test_damaged(void)
{
    for_each_format(damage);
}

/* Returns a copy of the file, which the caller frees, in which part number `which` of all parts has
 * `more` bytes more, or fewer. Added bytes have the value `fill`, and come before the part's bytes
 * or after them. *size becomes the file's size. Returns NULL if the part has not so many bytes. */
static uint8_t *resize_part(const struct coded *c, size_t which, int more, uint8_t fill,
                            bool is_before, size_t *size)
{
    struct codec_file from, to;
    uint8_t *bytes = NULL;

    if (CHECK(paper_open(&from, c->format, c->level, c->file, c->size) &&
              paper_open(&to, c->format, c->level, c->file, c->size)) &&
        (int64_t)to.places[which].size + more >= 0) {
        to.places[which].size = (uint32_t)((int64_t)to.places[which].size + more);
        paper_place(&to);
        *size = (size_t)to.size;
        bytes = unit_need(malloc(*size + 1));
        memset(bytes, fill, *size);
        for (size_t i = 0; i < (size_t)to.count * c->format->parts; i++) {
            const struct codec_place *old = &from.places[i], *place = &to.places[i];
            const uint32_t some = old->size < place->size ? old->size : place->size;

            memcpy(bytes + place->at + (is_before ? place->size - some : 0), c->file + old->at,
                   some);
        }
        paper_front(&to, bytes);
    }
    paper_close(&from);
    paper_close(&to);
    return bytes;
}

/* Decodes files with a part that is too long or too short, though the sizes in the file say so. */
static void decode_resized(const struct paper_format *format, const struct lz_level *level)
{
    static const int sizes[] = {-4, -3, -2, -1, 1, 2, 3, 4};
    const size_t len = 3000;
    uint8_t *in = unit_need(calloc(1, len + LZ_INPUT_PAD));
    struct paper_gpu *g = open_gpu(format, level, len);
    struct coded c;

    fill_kind(in, len, &words, LONGEST_TOKEN, 3);
    c = code_on_cpu(format, level, in, len);
    for (unsigned i = 0; i < 4 * format->parts * sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t size = 0;
        uint8_t *file = resize_part(&c, i / 4 % format->parts, sizes[i / 4 / format->parts],
                                    i % 2 == 0 ? 0 : 255, i / 2 % 2 == 0, &size);

        if (file != NULL)
            decode_damaged(g, &c, file, size);
        free(file);
    }
    free_coded(&c);
    paper_gpu_close(g);
    free(in);
}

static void test_resized(void)
{
    for_each_format(decode_resized);
}

/* Symbols of other widths, whose tokens have other sizes. */
static void test_damaged_symbols(void)
{
    static const char *const symbols[] = {"gpulz,symbol=2", "gpulz,symbol=3", "gpulz,symbol=4"};
    char error[PAPER_ERROR_SIZE];

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        struct lz_level level = *lz_level(LZ_LEVEL_DEFAULT);

        if (!CHECK(paper_parse(symbols[i], &level, error)))
            continue;
        decode_all_damaged(paper_format_of("gpulz", NULL), &level, &period, 5001, i);
        decode_resized(paper_format_of("gpulz", NULL), &level);
    }
}

/* Keys that the fields of a format cannot hold. */
static void test_refused(void)
{
    struct lz_level level = *lz_level(LZ_LEVEL_DEFAULT);
    char error[GPU_ERROR_SIZE] = "";

    CHECK(paper_parse("culzss,window=4096", &level, error));
    CHECK(paper_gpu_open(0, paper_format_of("culzss", NULL), &level, 4096, error) == NULL);
    CHECK(strstr(error, "window") != NULL);
}

int main(void)
{
    RUN(test_kinds);
    RUN(test_lengths);
    RUN(test_long);
    RUN(test_variants);
    RUN(test_stored);
    RUN(test_in_turn);
    RUN(test_damaged);
    RUN(test_resized);
    RUN(test_damaged_symbols);
    RUN(test_refused);
    return unit_done();
}
