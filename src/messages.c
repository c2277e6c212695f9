/*
 * messages.c - prints everything that the command says on standard error; keeps the exit status
 * (messages.h)
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/messages.h"
#include "src/progress.h"
#include "src/quote.h"

/* Messages of up to this many bytes are formatted on the stack, which may be small.  Only a long
 * file name makes a message longer. */
#define MESSAGE_MAX 1000

/* Prints the text, or adds it to the collected messages.  If memory is short, prints the text at
 * once, since too early is better than not at all. */
static void append(struct messages *m, const char *text, size_t length)
{
    if (m->collect && m->length + length > m->room) {
        size_t room = 2 * m->room + length;
        char *grown = realloc(m->text, room);

        if (grown != NULL) {
            m->text = grown;
            m->room = room;
        }
    }
    if (m->collect && m->length + length <= m->room) {
        memcpy(m->text + m->length, text, length);
        m->length += length;
    } else {
        progress_pause(m->progress);
        fwrite(text, 1, length, stderr);
        progress_resume(m->progress);
    }
}

/* As vsnprintf.  If the text may go to a terminal, names in it are quoted (quote.h). */
static size_t format_text(const struct messages *m, char *to, size_t size, const char *format,
                          va_list args)
{
    const int error = errno; /* isatty changes it */
    const bool quotes = m->quotes || isatty(STDERR_FILENO);
    const int length =
        quotes ? quote_format(to, size, format, args) : vsnprintf(to, size, format, args);

    errno = error;
    return length > 0 ? (size_t)length : 0;
}

/* Prints line[0..start), the formatted text, and `after`, in one write.  If `line` is too small,
 * allocates memory; if memory is short, cuts the text. */
static void put_line(struct messages *m, char line[MESSAGE_MAX], size_t start, const char *after,
                     const char *format, va_list args)
{
    const size_t end = strlen(after);
    char *text = line;
    size_t length;
    va_list again;

    va_copy(again, args);
    length = start + format_text(m, line + start, MESSAGE_MAX - end - start, format, args);
    if (length + end >= MESSAGE_MAX) {
        text = malloc(length + end + 1);
        if (text != NULL) {
            memcpy(text, line, start);
            format_text(m, text + start, length - start + 1, format, again);
        } else {
            text = line;
            length = strlen(line);
        }
    }
    va_end(again);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): append is told the length */
    memcpy(text + length, after, end);
    append(m, text, length + end);
    if (text != line)
        free(text);
}

/* Formats the start of a line.  Returns its length; 0 if it is too long. */
static size_t format_start(const struct messages *m, char line[MESSAGE_MAX], const char *format,
                           ...)
{
    va_list args;
    size_t length;

    va_start(args, format);
    length = format_text(m, line, MESSAGE_MAX, format, args);
    va_end(args);
    return length < MESSAGE_MAX - 1 ? length : 0;
}

/* Prints `before`, the program's name, the source, the formatted text, and a newline.  Prints all
 * of this in one write, because standard error has no buffer: between several writes, another
 * process could print something. */
static void say(struct messages *m, const char *before, const char *format, va_list args)
{
    char line[MESSAGE_MAX];
    const size_t start =
        format_start(m, line, "%-s%s: %s%-s", before, m->program,
                     m->source != NULL ? m->source : "", m->source != NULL ? ": " : "");

    put_line(m, line, start, "\n", format, args);
}

bool msg_has_own_name(const struct messages *m)
{
    return strstr(m->program, PACKAGE_NAME) != NULL;
}

void msg_error(struct messages *m, const char *format, ...)
{
    va_list args;

    m->status = STATUS_ERROR;
    va_start(args, format);
    say(m, "", format, args);
    va_end(args);
}

void msg_data_error(struct messages *m, const char *format, ...)
{
    va_list args;

    m->status = STATUS_ERROR;
    va_start(args, format);
    say(m, "\n", format, args);
    va_end(args);
}

void msg_warning(struct messages *m, const char *format, ...)
{
    va_list args;

    if (m->status == STATUS_OK)
        m->status = STATUS_WARNING;
    if (m->quiet)
        return;
    va_start(args, format);
    say(m, "", format, args);
    va_end(args);
}

void msg_note(struct messages *m, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(m, "", format, args);
    va_end(args);
}

void msg_print(struct messages *m, const char *format, ...)
{
    char line[MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    put_line(m, line, 0, "", format, args);
    va_end(args);
}

void msg_flush(struct messages *m)
{
    if (m->length > 0) {
        progress_pause(m->progress);
        fwrite(m->text, 1, m->length, stderr);
        progress_resume(m->progress);
    }
    msg_discard(m);
}

void msg_discard(struct messages *m)
{
    free(m->text);
    m->text = NULL;
    m->length = m->room = 0;
}

void msg_merge_status(struct messages *to, const struct messages *from)
{
    if (from->status == STATUS_ERROR || to->status == STATUS_OK)
        to->status = from->status;
}
