/*
 * messages.c - everything the command says on standard error, and the exit status that follows
 * (messages.h)
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/messages.h"

/* Bytes of a message; a longer one is cut.  Names are the only long part: this is room for two of
 * PATH_MAX bytes, the longest that the system takes as an operand. */
#define MESSAGE_MAX 9000

/* Prints the text, or adds it to what is collected.  If memory is short, it comes too early, which
 * is better than not at all. */
static void put(struct messages *m, const char *text, size_t length)
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
        fwrite(text, 1, length, stderr);
    }
}

/* `before`, the program's name, what the format makes, and the line's end.  Standard error has no
 * buffer: what is printed in pieces could be mixed with another process's. */
static void say(struct messages *m, const char *before, const char *format, va_list args)
{
    char line[MESSAGE_MAX];
    int start = snprintf(line, sizeof(line), "%s%s: ", before, m->program);
    size_t length;

    if (start < 0 || (size_t)start >= sizeof(line))
        start = 0;
    vsnprintf(line + start, sizeof(line) - (size_t)start - 1, format, args);
    length = strlen(line);
    line[length++] = '\n';
    put(m, line, length);
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
    char text[MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put(m, text, strlen(text));
}

void msg_flush(struct messages *m)
{
    if (m->length > 0)
        fwrite(m->text, 1, m->length, stderr);
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
