/*
 * quote.h - text for a terminal, without control characters
 *
 * A file's name, and a name in a header, may have any bytes.  Some of them tell a terminal to do
 * something: to move, to hide text, or to answer.  So what goes to a terminal has such texts
 * quoted, as GNU ls has them: 'a'$'\033''b'.  The result can be given to a shell.  Text without
 * control characters stays as it is.  What goes elsewhere is not quoted, as in gzip, so that
 * programs read the names as they are.
 *
 * Messages are quoted where they are formatted, since a caller that had to quote each name itself
 * could forget one.
 */
#ifndef GZLZSS_QUOTE_H
#define GZLZSS_QUOTE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether text[0..length) has bytes that must not go to a terminal: control characters, or bytes
 * above 0x7f that are not UTF-8. */
bool quote_is_needed(const char *text, size_t length);

/* As vsnprintf, but quotes the argument of each %s that needs it.  The argument of %-s is text of
 * this program, and is never quoted.  Knows the conversions %c, %d, %i, %u, %x, %f, %s and %%, the
 * length modifiers l, ll, z and j, and * as a precision. */
int quote_format(char *to, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Returns the text, quoted if it needs that and if the descriptor fd is a terminal; NULL if memory
 * is short.  The caller frees *memory. */
const char *quote_for(int fd, const char *text, char **memory);

#endif
