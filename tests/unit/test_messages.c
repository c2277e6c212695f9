/*
 * test_messages.c - the command's messages on standard error, and its exit status
 */
#include "config.h"

#include <string.h>

#include "src/messages.h"
#include "tests/unit/capture.h"
#include "tests/unit/unit.h"

static void lines(void)
{
    struct messages m = {.program = "gzip"};

    capture_begin();
    msg_note(&m, "%s: %d%%", "note", 50);
    msg_warning(&m, "warning");
    msg_error(&m, "%s: error", "f");
    msg_data_error(&m, "f.gz: unexpected end of file");
    msg_print(&m, "as it is");
    msg_print(&m, "%s", "");
    CHECK(captured("gzip: note: 50%\n"
                   "gzip: warning\n"
                   "gzip: f: error\n"
                   "\ngzip: f.gz: unexpected end of file\n"
                   "as it is"));

    /* The source of the option is printed, too. */
    m.source = "GZLZSS";
    capture_begin();
    msg_error(&m, "no");
    msg_data_error(&m, "no");
    msg_print(&m, "Try\n");
    CHECK(captured("gzip: GZLZSS: no\n\ngzip: GZLZSS: no\nTry\n"));
}

/* Standard error is no terminal here, so names are quoted only if that is asked for. */
static void quotes(void)
{
    struct messages m = {.program = "p"};

    capture_begin();
    msg_error(&m, "%s: %-s", "a\033b", "c\td");
    m.quotes = true;
    msg_error(&m, "%s: %-s", "a\033b", "c\td");
    msg_print(&m, "%s", "\n");
    CHECK(captured("p: a\033b: c\td\n"
                   "p: 'a'$'\\033''b': c\td\n"
                   "''$'\\n'"));
}

/* An error outranks a warning, in any order.  A note does not change the status. */
static void statuses(void)
{
    struct messages m = {.program = "p"};

    capture_begin();
    msg_note(&m, "n");
    msg_print(&m, "x");
    CHECK_EQ(m.status, STATUS_OK);
    msg_warning(&m, "w");
    CHECK_EQ(m.status, STATUS_WARNING);
    msg_note(&m, "n");
    CHECK_EQ(m.status, STATUS_WARNING);
    msg_error(&m, "e");
    CHECK_EQ(m.status, STATUS_ERROR);
    msg_warning(&m, "w");
    CHECK_EQ(m.status, STATUS_ERROR);
    m.status = STATUS_WARNING;
    msg_data_error(&m, "e");
    CHECK_EQ(m.status, STATUS_ERROR);
    capture_end();
}

/* With `quiet`, warnings are not printed but still count; errors and notes are printed. */
static void quiet(void)
{
    struct messages m = {.program = "p", .quiet = true};

    capture_begin();
    msg_warning(&m, "w");
    CHECK(captured(""));
    CHECK_EQ(m.status, STATUS_WARNING);
    capture_begin();
    msg_note(&m, "n");
    msg_error(&m, "e");
    msg_data_error(&m, "d");
    CHECK(captured("p: n\np: e\n\np: d\n"));
}

static void merged_statuses(void)
{
    static const enum status worse[3][3] = {
        [STATUS_OK] = {STATUS_OK, STATUS_ERROR, STATUS_WARNING},
        [STATUS_ERROR] = {STATUS_ERROR, STATUS_ERROR, STATUS_ERROR},
        [STATUS_WARNING] = {STATUS_WARNING, STATUS_ERROR, STATUS_WARNING},
    };

    for (int to = 0; to < 3; to++)
        for (int from = 0; from < 3; from++) {
            struct messages a = {.status = (enum status)to}, b = {.status = (enum status)from};

            msg_merge_status(&a, &b);
            if (!CHECK_EQ(a.status, worse[to][from]))
                printf("# %d and %d\n", to, from);
            CHECK_EQ(b.status, from);
        }
}

/* Collected messages are printed together, or never; the status changes immediately. */
static void collected(void)
{
    struct messages m = {.program = "p", .collect = true};

    capture_begin();
    msg_print(&m, "f:\t");
    msg_warning(&m, "w");
    msg_error(&m, "e");
    CHECK(captured(""));
    CHECK_EQ(m.status, STATUS_ERROR);
    capture_begin();
    msg_flush(&m);
    CHECK(captured("f:\tp: w\np: e\n"));
    CHECK(m.text == NULL && m.length == 0);

    /* Messages are printed only once.  Later messages are collected again. */
    capture_begin();
    msg_flush(&m);
    msg_note(&m, "next");
    CHECK(captured(""));
    capture_begin();
    msg_discard(&m);
    msg_flush(&m);
    CHECK(captured(""));
}

/* Tests many messages, so that the memory for them grows many times. */
static void much_collected(void)
{
    struct messages m = {.program = "p", .collect = true};
    const char *at;

    capture_begin();
    for (int i = 0; i < 3000; i++)
        msg_note(&m, "%d", i);
    CHECK(captured(""));
    capture_begin();
    msg_flush(&m);
    capture_end();
    at = capture.text;
    for (int i = 0; i < 3000; i++) {
        char line[32];
        const size_t n = (size_t)snprintf(line, sizeof(line), "p: %d\n", i);

        if (!CHECK(strncmp(at, line, n) == 0))
            break;
        at += n;
    }
    CHECK(*at == '\0');
}

/* Tests long names: messages of about MESSAGE_MAX bytes, the longest without allocated memory, and
 * much longer ones. */
static void long_lines(void)
{
    static char name[40000], want[2 * sizeof(name) + 100];

    for (size_t length = 8900; length < sizeof(name);
         length = length < 9100 ? length + 1 : 2 * length) {
        struct messages m = {.program = "program", .source = "source"};
        bool ok;

        for (size_t i = 0; i < length; i++)
            name[i] = (char)('a' + i % 26);
        name[length] = '\0';
        snprintf(want, sizeof(want), "\nprogram: source: %s: end\n%s", name, name);
        capture_begin();
        msg_data_error(&m, "%s: end", name);
        msg_print(&m, "%s", name);
        ok = CHECK(captured(want));
        m.collect = true;
        capture_begin();
        msg_data_error(&m, "%s: end", name);
        msg_print(&m, "%s", name);
        msg_flush(&m);
        if (!(CHECK(captured(want)) && ok)) {
            printf("# %zu bytes\n", length);
            break;
        }
    }
}

int main(void)
{
    RUN(lines);
    RUN(quotes);
    RUN(statuses);
    RUN(quiet);
    RUN(merged_statuses);
    RUN(collected);
    RUN(much_collected);
    RUN(long_lines);
    return unit_done();
}
