/*
 * messages.c - everything the command says on standard error, and the exit status that follows
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "src/messages.h"

static void say(const struct messages *m, const char *name, const char *format, va_list args)
{
    fprintf(stderr, "%s: ", m->program);
    if (name != NULL)
        fprintf(stderr, "%s: ", name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

void msg_error(struct messages *m, const char *name, const char *format, ...)
{
    va_list args;

    m->status = STATUS_ERROR;
    va_start(args, format);
    say(m, name, format, args);
    va_end(args);
}

void msg_warning(struct messages *m, const char *name, const char *format, ...)
{
    va_list args;

    if (m->status == STATUS_OK)
        m->status = STATUS_WARNING;
    if (m->quiet)
        return;
    va_start(args, format);
    say(m, name, format, args);
    va_end(args);
}

void msg_note(struct messages *m, const char *name, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(m, name, format, args);
    va_end(args);
}
