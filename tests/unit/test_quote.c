/*
 * test_quote.c - what a terminal is given of names that have control characters
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "src/quote.h"
#include "tests/unit/unit.h"

static int format(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int format(char *to, size_t size, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = quote_format(to, size, format, args);
    va_end(args);
    return n;
}

/* The quotes are those of GNU ls, for names that have a control character. */
static void quotes(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"plain name's \\n", "plain name's \\n"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"a\nb", "'a'$'\\n''b'"},
        {"x\033[1m", "'x'$'\\033''[1m'"},
        {"\a\b\t\n\v\f\r", "''$'\\a\\b\\t\\n\\v\\f\\r'"},
        {"\177", "''$'\\177'"},
        {"it's\1", "'it'\\''s'$'\\001'"},
        {"x\xc2\x9bz", "'x'$'\\302\\233''z'"},
        {"x\x9bz", "'x'$'\\233''z'"},
        {"\xc3", "''$'\\303'"},
        {"\xe2\x82", "''$'\\342\\202'"},
    };
    char got[100];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const text = cases[i].text;
        const bool is_needed = strcmp(text, cases[i].want) != 0;
        char *memory;

        CHECK_EQ(quote_is_needed(text, strlen(text)), is_needed);
        /* A descriptor that is no terminal gets the text as it is. */
        CHECK(quote_for(-1, text, &memory) == text && memory == NULL);
        format(got, sizeof(got), "%s", text);
        if (!CHECK(strcmp(got, cases[i].want) == 0))
            printf("# \"%s\", not \"%s\"\n", got, cases[i].want);
    }
}

#define SAME(...)                                                  \
    do {                                                           \
        char got_[200], want_[200];                                \
        const int n_ = format(got_, sizeof(got_), __VA_ARGS__);    \
        CHECK_EQ(n_, snprintf(want_, sizeof(want_), __VA_ARGS__)); \
        if (!CHECK(strcmp(got_, want_) == 0))                      \
            printf("# \"%s\", not \"%s\"\n", got_, want_);         \
    } while (0)

/* Where nothing has to be quoted, the text is that of printf. */
static void formats(void)
{
    SAME("no conversion");
    SAME("100%%, %c, %s: %s", 'c', "text", "");
    SAME("%d %i %u %x %5d %-5d| %05d", -1, -2, 3000000000u, 0xabcu, 42, 42, 42);
    SAME("%ld %lu %lx", -1L, ~0UL, 0xdeadbeefUL);
    SAME("%lld %llu %zu", -1LL, ~0ULL, (size_t)77);
    SAME("%" PRIu64 " %" PRId64 " %" PRIx64, UINT64_MAX, INT64_MIN, UINT64_MAX);
    SAME("%jd %f %.2f %.0f%%", (intmax_t)-5, 0.5, 3.14159, 99.6);
    SAME("%.*s|%.*s", 3, "abcdef", 9, "ab");
    SAME("%-s", "own\ntext\n");
    SAME("%u%c%d%s%" PRIu64 "%s%f", 1u, '2', 3, "4", UINT64_C(5), "6", 7.0);
}

static void quoted_arguments(void)
{
    char got[100];

    CHECK_EQ(format(got, sizeof(got), "%s:\t%s\n%-s", "a\nb", "ok", "\n"), 17);
    CHECK(strcmp(got, "'a'$'\\n''b':\tok\n\n") == 0);
    CHECK_EQ(format(got, sizeof(got), "-- '%c'", 27), 14);
    CHECK(strcmp(got, "-- '''$'\\033''") == 0);
    /* A buffer that is too small has the first bytes, and a zero byte. */
    memset(got, 'x', sizeof(got));
    CHECK_EQ(format(got, 5, "%s", "a\nb"), 11);
    CHECK(memcmp(got, "'a'$\0x", 6) == 0);
    CHECK_EQ(format(got, 0, "%s", "a\nb"), 11);
}

int main(void)
{
    RUN(quotes);
    RUN(formats);
    RUN(quoted_arguments);
    return unit_done();
}
